//! What does the header of a text GGUF say in the words of config.json?

use serde_json::{Map, Value as Json, json};

use super::family::Family;
use super::metadata::Metadata;
use super::names::Cuts;
use super::rope;
use super::tokens::Tokens;
use crate::ModelError;

/// Settings of the text architecture that are read or that change nothing.
const KNOWN: [&str; 22] = [
    "attention.head_count",
    "attention.head_count_kv",
    "attention.key_length",
    "attention.layer_norm_rms_epsilon",
    "attention.value_length",
    "block_count",
    "context_length",
    "embedding_length",
    "expert_count",
    "expert_feed_forward_length",
    "expert_used_count",
    "feed_forward_length",
    "n_deepstack_layers",
    "rope.dimension_count",
    "rope.dimension_sections",
    "rope.freq_base",
    "rope.scaling.factor",
    "rope.scaling.finetuned",
    "rope.scaling.original_context_length",
    "rope.scaling.type",
    "tensor_data_layout",
    "vocab_size",
];

/// Experts of all layers; the largest models known have a quarter of it.
const MAX_EXPERTS: usize = 1 << 15;

/// The text model's part of config.json, and the numbers by which tensors are cut.
pub(super) fn text(
    metadata: &Metadata<'_>,
    family: Family,
    architecture: &str,
    tokens: &Tokens<'_>,
    bytes: &[u8],
) -> Result<(Map<String, Json>, Cuts), ModelError> {
    metadata.only(architecture, &KNOWN)?;
    let key = |name: &str| format!("{architecture}.{name}");
    let hidden = metadata.count(&key("embedding_length"))?;
    let heads = metadata.count(&key("attention.head_count"))?;
    let kv_heads = metadata.optional_count(&key("attention.head_count_kv"))?;
    let kv_heads = kv_heads.unwrap_or(heads);
    let head_dim = head_dim(metadata, architecture, hidden, heads)?;
    let layers = at_most(
        metadata,
        &key("block_count"),
        metadata.header.tensors().len(),
        "one a tensor",
    )?;
    let mut rope = rope::parameters(metadata, architecture, head_dim, bytes)?;
    if family != Family::Llama && family != Family::Qwen3 {
        rope["mrope_section"] = json!(sections(metadata, architecture, head_dim)?);
        if family.is_qwen3_tower() {
            rope["mrope_interleaved"] = json!(true);
        }
    }
    let (_, model_type) = family.names();
    let mut config = Map::new();
    let mut set = |name: &str, value: Json| config.insert(name.into(), value);
    set("model_type", json!(model_type));
    set("vocab_size", json!(vocabulary(metadata, architecture)?));
    set("hidden_size", json!(hidden));
    set("num_hidden_layers", json!(layers));
    set("num_attention_heads", json!(heads));
    set("num_key_value_heads", json!(kv_heads));
    let experts = match family {
        Family::Qwen3VlMoe => {
            let most = MAX_EXPERTS / layers;
            let experts = at_most(
                metadata,
                &key("expert_count"),
                most,
                "experts a layer may have",
            )?;
            set("num_experts", json!(experts));
            let used = at_most(metadata, &key("expert_used_count"), experts, "all experts")?;
            set("num_experts_per_tok", json!(used));
            let inner = metadata.count(&key("expert_feed_forward_length"))?;
            set("moe_intermediate_size", json!(inner));
            // What llama.cpp does for this architecture; the file does not say.
            set("norm_topk_prob", json!(true));
            set("decoder_sparse_step", json!(1));
            set("mlp_only_layers", json!([]));
            experts
        }
        _ => {
            if let Some(experts) = metadata.optional_count(&key("expert_count"))? {
                let expected = format!("no experts in {architecture}");
                return Err(metadata.refuse(&key("expert_count"), experts, expected));
            }
            0
        }
    };
    match metadata.optional_count(&key("feed_forward_length"))? {
        Some(inner) => set("intermediate_size", json!(inner)),
        None if experts > 0 => None,
        None => return Err(metadata.refuse(&key("feed_forward_length"), "nothing", "a count")),
    };
    set("hidden_act", json!("silu"));
    let eps = metadata.positive(&key("attention.layer_norm_rms_epsilon"))?;
    set("rms_norm_eps", json!(eps));
    if let Some(context) = metadata.optional_count(&key("context_length"))? {
        set("max_position_embeddings", json!(context));
    }
    set("rope_parameters", rope);
    if matches!(family, Family::Qwen2Vl | Family::Qwen25Vl) {
        // These two have biases on q, k and v alone and no fields that say so.
        set("use_sliding_window", json!(false));
    } else {
        set("head_dim", json!(head_dim));
        let biased = metadata.header.tensor("blk.0.attn_q.bias").is_some();
        set("attention_bias", json!(biased));
    }
    if family == Family::Llama {
        set("mlp_bias", json!(false));
    }
    for name in ["bos_token_id", "eos_token_id"] {
        if let Some(id) = tokens.named(metadata, name)? {
            set(name, json!(id));
        }
    }
    let tied = metadata.header.tensor("output.weight").is_none();
    set("tie_word_embeddings", json!(tied));
    Ok((
        config,
        Cuts {
            layers,
            heads,
            kv_heads,
            experts,
        },
    ))
}

/// A count that cannot be above the number of things that it counts, so that nobody loops over an absurd one.
fn at_most(
    metadata: &Metadata<'_>,
    key: &str,
    most: usize,
    what: &str,
) -> Result<usize, ModelError> {
    let count = metadata.count(key)?;
    if count > most {
        let expected = format!("at most {most} ({what})");
        return Err(metadata.refuse(key, count, expected));
    }
    Ok(count)
}

fn head_dim(
    metadata: &Metadata<'_>,
    architecture: &str,
    hidden: usize,
    heads: usize,
) -> Result<usize, ModelError> {
    let (key, value) = ("attention.key_length", "attention.value_length");
    let (key, value) = (
        format!("{architecture}.{key}"),
        format!("{architecture}.{value}"),
    );
    let head_dim = match metadata.optional_count(&key)? {
        Some(length) => length,
        None if hidden.is_multiple_of(heads) => hidden / heads,
        None => {
            let expected = format!("a length, as {heads} heads do not divide {hidden}");
            return Err(metadata.refuse(&key, "nothing", expected));
        }
    };
    if !head_dim.is_multiple_of(2) {
        return Err(metadata.refuse(&key, head_dim, "an even number"));
    }
    match metadata.optional_count(&value)? {
        Some(length) if length != head_dim => {
            Err(metadata.refuse(&value, length, format!("{head_dim}, as {key}")))
        }
        _ => Ok(head_dim),
    }
}

/// Rows of the embedding.
fn vocabulary(metadata: &Metadata<'_>, architecture: &str) -> Result<usize, ModelError> {
    let table = metadata.header.tensor("token_embd.weight");
    let rows = table.and_then(|table| table.shape.first().copied());
    let rows = metadata.need("token_embd.weight", "the embedding", rows)?;
    let key = format!("{architecture}.vocab_size");
    match metadata.optional_count(&key)? {
        Some(stated) if stated != rows => {
            let expected = format!("{rows}, the rows of token_embd.weight");
            Err(metadata.refuse(&key, stated, expected))
        }
        _ => Ok(rows),
    }
}

/// Time, height and width; the fourth section of the format belongs to models that have four axes.
fn sections(
    metadata: &Metadata<'_>,
    architecture: &str,
    head_dim: usize,
) -> Result<Vec<usize>, ModelError> {
    let key = format!("{architecture}.rope.dimension_sections");
    let sections = metadata.counts(&key)?;
    match sections[..] {
        [t, h, w] | [t, h, w, 0]
            if t.checked_add(h).and_then(|n| n.checked_add(w)) == Some(head_dim / 2) =>
        {
            Ok(vec![t, h, w])
        }
        _ => {
            let expected = format!("three counts that add up to {}, and 0", head_dim / 2);
            Err(metadata.refuse(&key, format!("{sections:?}"), expected))
        }
    }
}
