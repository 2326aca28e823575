//! What does the header of an mmproj GGUF say in the words of config.json and preprocessor_config.json?

use serde_json::{Value as Json, json};

use super::bytes::shown;
use super::family::Family;
use super::metadata::Metadata;
use super::value::Value;
use crate::ModelError;

/// Settings of the tower that are read or that change nothing.
const KNOWN: [&str; 24] = [
    "has_audio_encoder",
    "has_llava_projector",
    "has_qwen2vl_merger",
    "has_text_encoder",
    "has_vision_encoder",
    "projector_type",
    "use_gelu",
    "use_silu",
    "vision.attention.head_count",
    // The converter writes the text model's; transformers has 1e-6 in its code.
    "vision.attention.layer_norm_epsilon",
    "vision.block_count",
    "vision.embedding_length",
    "vision.feed_forward_length",
    "vision.image_max_pixels",
    "vision.image_mean",
    "vision.image_min_pixels",
    "vision.image_size",
    "vision.image_std",
    "vision.is_deepstack_layers",
    "vision.n_wa_pattern",
    "vision.patch_size",
    "vision.projection_dim",
    "vision.projector_type",
    "vision.spatial_merge_size",
];

/// A key that only newer converters write; [`WINDOW`] otherwise.
const WINDOW_KEY: &str = "vision.window_size";

/// Pixels of a window's side in Qwen2.5-VL; llama.cpp has it in its code.
const WINDOW: usize = 112;

/// Patches of a merged cell's side; llama.cpp has it in its code for the families whose files lack it.
const MERGE: usize = 2;

/// Smallest and largest number of pixels of a picture, as released with Qwen2-VL and Qwen2.5-VL.
const PIXELS_QWEN2: [usize; 2] = [3136, 12_845_056];

/// The same, as released with Qwen3-VL.
const PIXELS_QWEN3: [usize; 2] = [65_536, 16_777_216];

/// What the mmproj says.
#[derive(Debug)]
pub(super) struct Tower {
    /// `vision_config` of config.json.
    pub(super) config: Json,
    /// preprocessor_config.json.
    pub(super) preprocessor: Json,
    /// Tower blocks behind which features are tapped, ascending.
    pub(super) taps: Vec<usize>,
    /// Width of the tower.
    pub(super) hidden: usize,
    /// Width of what the projector gives: the text model's.
    pub(super) out: usize,
}

/// The projector type of an mmproj.
///
/// # Errors
/// Where the file is no mmproj.
pub(super) fn projector<'a>(metadata: &Metadata<'a>) -> Result<&'a str, ModelError> {
    let key = "general.architecture";
    let architecture = metadata.text(key)?;
    if architecture != "clip" {
        let expected = "\"clip\", as in a file made with --mmproj";
        return Err(metadata.refuse(key, shown(architecture), expected));
    }
    match metadata.optional_text("clip.vision.projector_type")? {
        Some(projector) => Ok(projector),
        None => metadata.text("clip.projector_type"),
    }
}

pub(super) fn tower(metadata: &Metadata<'_>, family: Family) -> Result<Tower, ModelError> {
    let known: Vec<&str> = KNOWN.iter().copied().chain([WINDOW_KEY]).collect();
    metadata.only("clip", &known)?;
    let key = |name: &str| format!("clip.vision.{name}");
    if metadata.flag("clip.has_audio_encoder")? == Some(true) {
        let expected = "false: only pictures are read";
        return Err(metadata.refuse("clip.has_audio_encoder", "true", expected));
    }
    let depth = metadata.count(&key("block_count"))?;
    let tensors = metadata.header.tensors().len();
    if depth > tensors {
        let expected = format!("at most {tensors}, the number of tensors");
        return Err(metadata.refuse(&key("block_count"), depth, expected));
    }
    let hidden = metadata.count(&key("embedding_length"))?;
    let out = metadata.count(&key("projection_dim"))?;
    let patch = metadata.count(&key("patch_size"))?;
    let merge = metadata.optional_count(&key("spatial_merge_size"))?;
    let merge = merge.unwrap_or(MERGE);
    let mut config = json!({
        "depth": depth,
        "num_heads": metadata.count(&key("attention.head_count"))?,
        "in_channels": 3,
        "patch_size": patch,
        "spatial_merge_size": merge,
        // The file has two time slices of the patch embedding.
        "temporal_patch_size": 2,
    });
    let mut taps = Vec::new();
    match family {
        Family::Qwen2Vl => {
            config["embed_dim"] = json!(hidden);
            config["hidden_size"] = json!(out);
            config["mlp_ratio"] = json!(mlp_ratio(metadata, hidden)?);
            config["hidden_act"] = json!("quick_gelu");
        }
        Family::Qwen25Vl => {
            config["hidden_size"] = json!(hidden);
            config["out_hidden_size"] = json!(out);
            let inner = metadata.count(&key("feed_forward_length"))?;
            config["intermediate_size"] = json!(inner);
            config["hidden_act"] = json!("silu");
            let window = metadata.optional_count(&format!("clip.{WINDOW_KEY}"))?;
            config["window_size"] = json!(window.unwrap_or(WINDOW));
            // Every n-th block sees whole frames.
            let n = metadata.count(&key("n_wa_pattern"))?;
            let whole: Vec<usize> = (1..=depth).filter(|i| i.is_multiple_of(n)).collect();
            config["fullatt_block_indexes"] = whole.iter().map(|i| json!(i - 1)).collect();
            config["tokens_per_second"] = json!(2);
        }
        _ => {
            config["hidden_size"] = json!(hidden);
            config["out_hidden_size"] = json!(out);
            let inner = metadata.count(&key("feed_forward_length"))?;
            config["intermediate_size"] = json!(inner);
            config["hidden_act"] = json!("gelu_pytorch_tanh");
            let table = metadata.header.tensor("v.position_embd.weight");
            let rows = table.and_then(|table| table.shape.first().copied());
            let rows = metadata.need("v.position_embd.weight", "the position table", rows)?;
            config["num_position_embeddings"] = json!(rows);
            taps = self::taps(metadata, depth)?;
            config["deepstack_visual_indexes"] = json!(taps);
        }
    }
    Ok(Tower {
        config,
        preprocessor: preprocessor(metadata, family, patch, merge)?,
        taps,
        hidden,
        out,
    })
}

/// How many times wider than the tower its MLP is. The file's feed_forward_length is the text model's width for
/// Qwen2-VL, so the tensor tells.
fn mlp_ratio(metadata: &Metadata<'_>, hidden: usize) -> Result<usize, ModelError> {
    let (up, down) = ("v.blk.0.ffn_up.weight", "v.blk.0.ffn_down.weight");
    let shape = |name| metadata.header.tensor(name).map(|t| t.shape.as_slice());
    let inner = match (shape(up), shape(down)) {
        (Some([a, b]), Some([c, d])) if a == d && b == c => [a, b].into_iter().max(),
        _ => None,
    };
    let inner = metadata.need(up, "the two matrices of an MLP", inner)?;
    if !inner.is_multiple_of(hidden) {
        let expected = format!("a multiple of embedding_length {hidden}");
        return Err(metadata.refuse(up, inner, expected));
    }
    Ok(inner / hidden)
}

fn taps(metadata: &Metadata<'_>, depth: usize) -> Result<Vec<usize>, ModelError> {
    let key = "clip.vision.is_deepstack_layers";
    let expected = format!("{depth} booleans, one a block");
    let array = metadata.need(key, &expected, metadata.array(key)?)?;
    let flag = |value| match value {
        Value::Bool(flag) => Some(flag),
        _ => None,
    };
    let right = (array.len() == depth).then_some(array);
    let flags: Option<Vec<bool>> = right.and_then(|array| array.iter().map(flag).collect());
    let found = format!("an array of {}", array.len());
    let flags = flags.ok_or_else(|| metadata.refuse(key, found, expected))?;
    let tapped = flags.iter().enumerate().filter(|(_, tapped)| **tapped);
    Ok(tapped.map(|(block, _)| block).collect())
}

fn preprocessor(
    metadata: &Metadata<'_>,
    family: Family,
    patch: usize,
    merge: usize,
) -> Result<Json, ModelError> {
    let (processor, [min, max]) = if family.is_qwen3_tower() {
        ("Qwen2VLImageProcessorFast", PIXELS_QWEN3)
    } else {
        ("Qwen2VLImageProcessor", PIXELS_QWEN2)
    };
    let min_key = metadata.optional_count("clip.vision.image_min_pixels")?;
    let max_key = metadata.optional_count("clip.vision.image_max_pixels")?;
    Ok(json!({
        "image_processor_type": processor,
        "size": {"shortest_edge": min_key.unwrap_or(min), "longest_edge": max_key.unwrap_or(max)},
        "patch_size": patch,
        "temporal_patch_size": 2,
        "merge_size": merge,
        "image_mean": metadata.channels("clip.vision.image_mean")?,
        "image_std": metadata.channels("clip.vision.image_std")?,
    }))
}
