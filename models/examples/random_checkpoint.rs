//! Writes a checkpoint of a released shape with random weights: for measuring loading, memory and speed without a download.
//!
//! ```text
//! cargo run --release -p spare-models --example random_checkpoint -- qwen3-vl-2b OUT [--headers]
//! ```
//!
//! bf16, normally distributed with a standard deviation of 0.02 (norm weights 1), one file a 2 GB, an index. With
//! `--headers` every file ends with its header: enough for `spare doctor`. The sizes are those of the released configs.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use half::bf16;
use serde_json::{Value, json};
use spare_models::{Checkpoint, WeightProblem};

/// Bytes of tensors in one file.
const FILE_BYTES: usize = 2_000_000_000;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let (Some(shape), Some(out)) = (args.first(), args.get(1)) else {
        return Err("usage: random_checkpoint qwen3-vl-2b|qwen3-vl-30b-a3b OUT [--headers]".into());
    };
    let config = config(shape).ok_or("known shapes: qwen3-vl-2b, qwen3-vl-30b-a3b")?;
    write(
        &config,
        Path::new(out),
        args.iter().any(|a| a == "--headers"),
    )
}

/// config.json of a shape.
pub fn config(shape: &str) -> Option<Value> {
    let (text, vision) = match shape {
        "qwen3-vl-2b" => (
            json!({"hidden_size": 2048, "intermediate_size": 6144, "num_hidden_layers": 28, "num_attention_heads": 16,
                   "num_key_value_heads": 8}),
            json!({"depth": 24, "hidden_size": 1024, "intermediate_size": 4096, "out_hidden_size": 2048,
                   "deepstack_visual_indexes": [5, 11, 17]}),
        ),
        "qwen3-vl-30b-a3b" => (
            json!({"hidden_size": 2048, "intermediate_size": 6144, "num_hidden_layers": 48, "num_attention_heads": 32,
                   "num_key_value_heads": 4, "num_experts": 128, "num_experts_per_tok": 8, "moe_intermediate_size": 768,
                   "decoder_sparse_step": 1, "mlp_only_layers": [], "norm_topk_prob": true}),
            json!({"depth": 27, "hidden_size": 1152, "intermediate_size": 4304, "out_hidden_size": 2048,
                   "deepstack_visual_indexes": [8, 16, 24]}),
        ),
        _ => return None,
    };
    let moe = text.get("num_experts").is_some();
    let with = |common: Value, own: Value| {
        let fields = |v: Value| v.as_object().cloned().unwrap_or_default();
        fields(common)
            .into_iter()
            .chain(fields(own))
            .collect::<serde_json::Map<_, _>>()
    };
    let text = with(
        json!({"vocab_size": 151936, "head_dim": 128, "hidden_act": "silu", "rms_norm_eps": 1e-6, "attention_bias": false,
               "rope_theta": 5_000_000, "max_position_embeddings": 262144,
               "rope_scaling": {"rope_type": "default", "mrope_section": [24, 20, 20], "mrope_interleaved": true}}),
        text,
    );
    let vision = with(
        json!({"num_heads": 16, "in_channels": 3, "patch_size": 16, "temporal_patch_size": 2, "spatial_merge_size": 2,
               "num_position_embeddings": 2304, "hidden_act": "gelu_pytorch_tanh"}),
        vision,
    );
    Some(json!({
        "architectures": [if moe { "Qwen3VLMoeForConditionalGeneration" } else { "Qwen3VLForConditionalGeneration" }],
        "model_type": if moe { "qwen3_vl_moe" } else { "qwen3_vl" },
        "text_config": text, "vision_config": vision, "tie_word_embeddings": !moe,
        "image_token_id": 151655, "video_token_id": 151656, "vision_start_token_id": 151652, "vision_end_token_id": 151653,
        "eos_token_id": 151645,
    }))
}

/// Name and shape of every tensor, as the loader asks for them; experts fused as the released files have them.
fn tensors(config: &Value) -> Result<BTreeMap<String, Vec<usize>>, Box<dyn std::error::Error>> {
    let empty = Checkpoint::from_bytes(&serde_json::to_vec(config)?, None, Vec::new())?;
    let mut all = BTreeMap::new();
    for problem in empty.inspect()?.problems {
        let WeightProblem::Missing { name, expected } = problem else {
            return Err(problem.into());
        };
        match name.split_once(".experts.") {
            None => drop(all.insert(name, expected)),
            Some((layer, _)) => {
                let size =
                    |field: &str| config["text_config"][field].as_u64().unwrap_or(0) as usize;
                let (count, hidden, inner) = (
                    size("num_experts"),
                    size("hidden_size"),
                    size("moe_intermediate_size"),
                );
                all.insert(
                    format!("{layer}.experts.gate_up_proj"),
                    vec![count, hidden, 2 * inner],
                );
                all.insert(
                    format!("{layer}.experts.down_proj"),
                    vec![count, inner, hidden],
                );
            }
        }
    }
    if config["tie_word_embeddings"] == json!(false) {
        let embeddings = all
            .iter()
            .find(|(name, _)| name.ends_with("embed_tokens.weight"));
        let shape = embeddings
            .map(|(_, shape)| shape.clone())
            .unwrap_or_default();
        all.insert("lm_head.weight".into(), shape);
    }
    Ok(all)
}

/// Writes config.json, the files and their index into `out`.
pub fn write(config: &Value, out: &Path, headers: bool) -> Result<(), Box<dyn std::error::Error>> {
    std::fs::create_dir_all(out)?;
    std::fs::write(out.join("config.json"), serde_json::to_vec_pretty(config)?)?;
    let mut files: Vec<Vec<(String, Vec<usize>)>> = vec![Vec::new()];
    let mut filled = 0;
    for (name, shape) in tensors(config)? {
        let bytes = 2 * shape.iter().product::<usize>();
        if filled > 0 && filled + bytes > FILE_BYTES {
            files.push(Vec::new());
            filled = 0;
        }
        filled += bytes;
        if let Some(file) = files.last_mut() {
            file.push((name, shape));
        }
    }
    let mut map = serde_json::Map::new();
    let mut random = Random(7);
    for (i, tensors) in files.iter().enumerate() {
        let name = format!("model-{:05}-of-{:05}.safetensors", i + 1, files.len());
        let mut header = serde_json::Map::new();
        let mut at = 0;
        for (tensor, shape) in tensors {
            let end = at + 2 * shape.iter().product::<usize>();
            header.insert(
                tensor.clone(),
                json!({"dtype": "BF16", "shape": shape, "data_offsets": [at, end]}),
            );
            map.insert(tensor.clone(), name.clone().into());
            at = end;
        }
        let header = serde_json::to_vec(&header)?;
        let mut file = BufWriter::with_capacity(1 << 20, File::create(out.join(&name))?);
        file.write_all(&(header.len() as u64).to_le_bytes())?;
        file.write_all(&header)?;
        for (tensor, shape) in tensors.iter().filter(|_| !headers) {
            let norm = shape.len() == 1 && tensor.ends_with("weight");
            for _ in 0..shape.iter().product::<usize>() {
                let value = if norm { 1.0 } else { 0.02 * random.normal() };
                file.write_all(&bf16::from_f32(value).to_le_bytes())?;
            }
        }
        file.flush()?;
        println!("{name}: {} tensors, {at} bytes", tensors.len());
    }
    let index = json!({"metadata": {}, "weight_map": map});
    std::fs::write(
        out.join("model.safetensors.index.json"),
        serde_json::to_vec(&index)?,
    )?;
    Ok(())
}

/// SplitMix64.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Nearly normal: the sum of four uniform values, scaled to a standard deviation of 1.
    fn normal(&mut self) -> f32 {
        let bits = self.next();
        let sum: f32 = (0..4)
            .map(|i| ((bits >> (16 * i)) & 0xffff) as f32 / 65536.0)
            .sum();
        (sum - 2.0) * 3f32.sqrt()
    }
}
