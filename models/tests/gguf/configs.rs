//! config.json, generation_config.json and preprocessor_config.json say what those of the source said.

use serde_json::{Value, json};

use super::{FAMILIES, data, family, json};

/// Every field of `made` has the value of `source`; fields of `extra` are not in it.
fn held(place: &str, made: &Value, source: &Value, extra: &[&str]) {
    let made = made.as_object().unwrap();
    for (field, value) in made {
        let place = format!("{place}.{field}");
        match source.get(field) {
            Some(there) if value.is_object() => held(&place, value, there, extra),
            Some(there) => assert_eq!(value, there, "{place}"),
            None => assert!(extra.contains(&field.as_str()), "{place}: {value}"),
        }
    }
}

/// What follows from the class in transformers and does not stand in its config.json, or stands there under another name.
const EXTRA: [&str; 3] = ["norm_topk_prob", "num_experts", "tie_word_embeddings"];

#[test]
fn config_holds_the_values_of_the_source() {
    for (name, ..) in FAMILIES {
        let made = json(family(name).config());
        let source = std::fs::read(data(&format!("gguf/{name}/config.json"))).unwrap();
        let source = json(&source);
        held(name, &made, &source, &EXTRA);
        // What a reader cannot do without is there.
        let text = made.get("text_config").unwrap_or(&made);
        for field in [
            "vocab_size",
            "hidden_size",
            "num_hidden_layers",
            "num_attention_heads",
            "num_key_value_heads",
            "rms_norm_eps",
            "intermediate_size",
            "hidden_act",
            "rope_parameters",
            "max_position_embeddings",
        ] {
            assert!(text.get(field).is_some(), "{name}: {field}");
        }
        let wanted = source.get("text_config").unwrap_or(&source);
        assert_eq!(text["rope_parameters"], wanted["rope_parameters"], "{name}");
        assert_eq!(made["architectures"], source["architectures"], "{name}");
        let tied = made.get("tie_word_embeddings").unwrap();
        assert_eq!(tied, &source["tie_word_embeddings"], "{name}");
    }
}

#[test]
fn towers_have_all_fields_of_the_source_that_shape_them() {
    for (name, fields) in [
        (
            "qwen2_vl",
            &[
                "depth",
                "embed_dim",
                "hidden_size",
                "mlp_ratio",
                "num_heads",
            ][..],
        ),
        (
            "qwen2_5_vl",
            &[
                "depth",
                "hidden_size",
                "intermediate_size",
                "out_hidden_size",
                "window_size",
                "fullatt_block_indexes",
                "tokens_per_second",
            ],
        ),
        (
            "qwen3_vl",
            &[
                "depth",
                "hidden_size",
                "intermediate_size",
                "out_hidden_size",
                "num_position_embeddings",
                "deepstack_visual_indexes",
            ],
        ),
    ] {
        let made = json(family(name).config());
        let common = [
            "in_channels",
            "patch_size",
            "spatial_merge_size",
            "temporal_patch_size",
            "hidden_act",
        ];
        for field in fields.iter().chain(&common) {
            assert!(
                made["vision_config"].get(field).is_some(),
                "{name}: {field}"
            );
        }
        for field in [
            "image_token_id",
            "video_token_id",
            "vision_start_token_id",
            "vision_end_token_id",
        ] {
            assert!(made[field].is_u64(), "{name}: {field}");
        }
    }
}

#[test]
fn experts_are_counted() {
    let made = json(family("qwen3_vl_moe").config());
    let text = &made["text_config"];
    assert_eq!(text["num_experts"], json!(3));
    assert_eq!(text["num_experts_per_tok"], json!(2));
    assert_eq!(text["moe_intermediate_size"], json!(8));
    assert_eq!(text["norm_topk_prob"], json!(true));
}

#[test]
fn generation_config_names_the_ids_of_the_file() {
    for (name, ..) in FAMILIES {
        let made = json(family(name).generation_config());
        let wanted = json!({"bos_token_id": 272, "eos_token_id": [274], "pad_token_id": 272});
        assert_eq!(made, wanted, "{name}");
    }
}

/// The file holds means and deviations in f32; so does the preprocessor.
#[test]
fn preprocessing_is_that_of_the_release() {
    for (name, processor, pixels) in [
        ("qwen2_vl", "Qwen2VLImageProcessor", [3136, 12_845_056]),
        ("qwen2_5_vl", "Qwen2VLImageProcessor", [3136, 12_845_056]),
        (
            "qwen3_vl",
            "Qwen2VLImageProcessorFast",
            [65_536, 16_777_216],
        ),
        (
            "qwen3_vl_moe",
            "Qwen2VLImageProcessorFast",
            [65_536, 16_777_216],
        ),
    ] {
        let checkpoint = family(name);
        let text = checkpoint.preprocessor().unwrap();
        let mut made = json(text.as_bytes());
        for (field, wanted) in [
            ("image_mean", [0.48145466, 0.4578275, 0.40821073]),
            ("image_std", [0.26862954, 0.26130258, 0.27577711]),
        ] {
            let found = made.as_object_mut().unwrap().remove(field).unwrap();
            let found: Vec<f64> = serde_json::from_value(found).unwrap();
            let found: Vec<f32> = found.iter().map(|n| *n as f32).collect();
            assert_eq!(found, wanted.map(|n: f64| n as f32), "{name}: {field}");
        }
        let wanted = json!({
            "image_processor_type": processor,
            "size": {"shortest_edge": pixels[0], "longest_edge": pixels[1]},
            "patch_size": 4, "temporal_patch_size": 2, "merge_size": 2,
        });
        assert_eq!(made, wanted, "{name}");
        spare_models::image::Preprocessor::from_json(text).unwrap();
    }
    assert!(family("llama").preprocessor().is_none());
}
