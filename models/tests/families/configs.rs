//! Configurations that this implementation does not compute are refused by field.

use serde_json::{Value, json};

use crate::broken::refused;

#[test]
fn configurations_that_are_not_computed_are_refused_by_field() {
    let set = |path: &'static str, value: Value| {
        refused(move |c| *path.split('.').fold(c, |v, key| &mut v[key]) = value)
    };
    let cases = [
        (
            "text_config.hidden_act",
            json!("gelu"),
            "text_config.hidden_act: found \"gelu\", expected \"silu\"",
        ),
        (
            "text_config.attention_bias",
            json!(true),
            "text_config.attention_bias: found true, expected false",
        ),
        (
            "text_config.head_dim",
            Value::Null,
            "text_config.head_dim: found nothing, expected a whole number",
        ),
        (
            "text_config.rms_norm_eps",
            json!("x"),
            "text_config.rms_norm_eps: found \"x\", expected a positive number",
        ),
        (
            "text_config.num_hidden_layers",
            json!(0),
            "text_config.num_hidden_layers: found 0",
        ),
        (
            "text_config.num_key_value_heads",
            json!(2),
            "text_config.num_key_value_heads: found 2, expected a divisor of 3",
        ),
        (
            "text_config.rope_parameters.rope_type",
            json!("yarn"),
            "rope_parameters.rope_type: found \"yarn\"",
        ),
        (
            "text_config.rope_parameters.rope_theta",
            Value::Null,
            "rope_parameters.rope_theta: found nothing",
        ),
        (
            "text_config.rope_parameters.mrope_section",
            Value::Null,
            "rope_parameters.mrope_section: found nothing",
        ),
        (
            "text_config.rope_parameters.mrope_section",
            json!([4, 4, 5]),
            "rope_parameters.mrope_section: found [4, 4, 5]",
        ),
        (
            "text_config.rope_parameters.mrope_interleaved",
            json!(false),
            "rope_parameters.mrope_interleaved: found false",
        ),
        (
            "text_config.rope_parameters",
            Value::Null,
            "text_config.rope_scaling: found nothing",
        ),
        (
            "vision_config.hidden_act",
            json!("gelu"),
            "vision_config.hidden_act: found \"gelu\"",
        ),
        (
            "vision_config.out_hidden_size",
            json!(35),
            "vision_config.out_hidden_size: found 35, expected 36",
        ),
        (
            "vision_config.num_position_embeddings",
            json!(24),
            "vision_config.num_position_embeddings: found 24",
        ),
        (
            "vision_config.deepstack_visual_indexes",
            json!([1, 1]),
            "vision_config.deepstack_visual_indexes: found [1, 1]",
        ),
        (
            "vision_config.deepstack_visual_indexes",
            json!([3]),
            "vision_config.deepstack_visual_indexes: found [3]",
        ),
        (
            "vision_config.patch_size",
            json!([4, 4]),
            "vision_config.patch_size: found [4,4]",
        ),
        (
            "quantization_config",
            json!({"bits": 4}),
            "quantization_config: found {\"bits\":4}",
        ),
        (
            "image_token_id",
            json!(203),
            "image_token_id: found 203, expected an id below vocab_size 203",
        ),
        (
            "vision_config",
            Value::Null,
            "vision_config: found nothing, expected an object",
        ),
    ];
    for (path, value, message) in cases {
        let error = set(path, value);
        assert!(error.contains(message), "{path}: {error}");
    }
    let other = set("architectures", json!(["MistralForCausalLM"]));
    assert!(other.contains("found \"MistralForCausalLM\""), "{other}");
    for known in [
        "Qwen2VLForConditionalGeneration",
        "Qwen2_5_VLForConditionalGeneration",
        "Qwen3VLForConditionalGeneration",
        "Qwen3VLMoeForConditionalGeneration",
        "Qwen3ForCausalLM",
        "LlamaForCausalLM",
    ] {
        assert!(other.contains(known), "{other}");
    }
}

/// A size that does not fit the file is a shape error, not an allocation.
#[test]
fn huge_sizes_do_not_allocate() {
    let error = refused(|c| c["text_config"]["intermediate_size"] = json!(2_147_483_647));
    assert!(error.contains("expected [2147483647, 36]"), "{error}");
}
