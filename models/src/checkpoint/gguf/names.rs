//! What does transformers call the tensors of a text GGUF?

use super::entry::{Entries, Entry, Part, Transform};
use super::family::Family;
use super::table::TensorInfo;
use crate::WeightProblem;

/// Numbers from the metadata that tell how tensors are cut.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cuts {
    pub(super) layers: usize,
    pub(super) heads: usize,
    pub(super) kv_heads: usize,
    pub(super) experts: usize,
}

/// Factors of the rotary frequencies; [`super::rope`] reads them.
pub(super) const ROPE_FREQS: &str = "rope_freqs.weight";

/// Adds the tensors of the text file.
pub(super) fn text(
    family: Family,
    cuts: Cuts,
    file: usize,
    tensors: &[TensorInfo<'_>],
    entries: &mut Entries,
) {
    let (prefix, _) = family.prefixes();
    for tensor in tensors {
        let name = match tensor.name {
            "token_embd.weight" => format!("{prefix}embed_tokens.weight"),
            "output_norm.weight" => format!("{prefix}norm.weight"),
            "output.weight" => "lm_head.weight".into(),
            ROPE_FREQS if family == Family::Llama => continue,
            other => match block(other) {
                Some((layer, leaf)) if layer < cuts.layers => {
                    let layer = format!("{prefix}layers.{layer}.");
                    of_layer(family, cuts, file, tensor, &layer, leaf, entries);
                    continue;
                }
                _ => {
                    entries.unexpected(tensor);
                    continue;
                }
            },
        };
        entries.plain(name, file, tensor);
    }
}

/// `blk.N.LEAF`, N without leading zeros.
pub(super) fn block(name: &str) -> Option<(usize, &str)> {
    let (number, leaf) = name.strip_prefix("blk.")?.split_once('.')?;
    Some((index(number)?, leaf))
}

/// A decimal as it would be written.
pub(super) fn index(number: &str) -> Option<usize> {
    let index: usize = number.parse().ok()?;
    (index.to_string() == number).then_some(index)
}

fn of_layer(
    family: Family,
    cuts: Cuts,
    file: usize,
    tensor: &TensorInfo<'_>,
    layer: &str,
    leaf: &str,
    entries: &mut Entries,
) {
    let Some((part, kind)) = leaf.rsplit_once('.') else {
        return entries.unexpected(tensor);
    };
    let weight = kind == "weight";
    let attention = matches!(part, "attn_q" | "attn_k" | "attn_v" | "attn_output");
    if !(weight || kind == "bias" && attention) {
        return entries.unexpected(tensor);
    }
    let expert = |of: &'static str| move |e: usize| format!("{layer}mlp.experts.{e}.{of}.weight");
    let module = match part {
        "attn_norm" => "input_layernorm",
        "ffn_norm" => "post_attention_layernorm",
        "attn_q" => "self_attn.q_proj",
        "attn_k" => "self_attn.k_proj",
        "attn_v" => "self_attn.v_proj",
        "attn_output" => "self_attn.o_proj",
        "attn_q_norm" => "self_attn.q_norm",
        "attn_k_norm" => "self_attn.k_norm",
        "ffn_gate" => "mlp.gate_proj",
        "ffn_up" => "mlp.up_proj",
        "ffn_down" => "mlp.down_proj",
        "ffn_gate_inp" => "mlp.gate",
        "ffn_gate_exps" => return entries.stacked(file, tensor, cuts.experts, expert("gate_proj")),
        "ffn_up_exps" => return entries.stacked(file, tensor, cuts.experts, expert("up_proj")),
        "ffn_down_exps" => return entries.stacked(file, tensor, cuts.experts, expert("down_proj")),
        _ => return entries.unexpected(tensor),
    };
    let name = format!("{layer}{module}.{kind}");
    match part {
        "attn_q" if family.permuted() => permuted(name, cuts.heads, file, tensor, entries),
        "attn_k" if family.permuted() => permuted(name, cuts.kv_heads, file, tensor, entries),
        _ => entries.plain(name, file, tensor),
    }
}

fn permuted(
    name: String,
    heads: usize,
    file: usize,
    tensor: &TensorInfo<'_>,
    entries: &mut Entries,
) {
    // A bias is one row in the file, of which each element is a row of the weight; it must not be in blocks.
    let rows = tensor.shape.first().copied().unwrap_or_default();
    let movable = tensor.shape.len() > 1 || tensor.dtype.block_size() == 1;
    if heads == 0 || !rows.is_multiple_of(2 * heads) || !movable {
        let mut expected = tensor.shape.clone();
        if let Some(rows) = expected.first_mut() {
            *rows = rows.next_multiple_of(2 * heads.max(1));
        }
        return entries.problems.push(WeightProblem::Shape {
            name: tensor.name.into(),
            found: tensor.shape.clone(),
            expected,
        });
    }
    let entry = Entry {
        shape: tensor.shape.clone(),
        transform: Transform::UnpermuteHeads(heads),
        parts: vec![Part::of(file, tensor)],
    };
    entries.add(name, entry, tensor.name);
}
