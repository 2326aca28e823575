//! What does transformers call the tensors of an mmproj GGUF?

use std::collections::BTreeMap;

use super::entry::{Entries, Entry, Part, Transform};
use super::family::Family;
use super::names::{block, index};
use super::table::TensorInfo;
use crate::WeightProblem;

/// Adds the tensors of the mmproj. `taps` are the tower blocks behind which features are tapped, ascending; `hidden` is
/// the tower's width.
pub(super) fn tower(
    family: Family,
    taps: &[usize],
    hidden: usize,
    file: usize,
    tensors: &[TensorInfo<'_>],
    entries: &mut Entries,
) {
    let (_, prefix) = family.prefixes();
    let swapped = family == Family::Qwen2Vl && swapped(tensors, hidden);
    // Pieces of one entry, each of which may stand anywhere in the table.
    let mut pieces: BTreeMap<String, [Option<&TensorInfo<'_>>; 3]> = BTreeMap::new();
    for tensor in tensors {
        match place(family, taps, swapped, tensor.name) {
            Some(Place::Whole(name)) => entries.plain(format!("{prefix}{name}"), file, tensor),
            Some(Place::Piece(name, i)) => {
                let pieces = pieces.entry(format!("{prefix}{name}")).or_default();
                if let Some(piece) = pieces.get_mut(i) {
                    *piece = Some(tensor);
                }
            }
            None => entries.unexpected(tensor),
        }
    }
    for (name, pieces) in pieces {
        match pieces {
            [Some(first), Some(second), None] => slices(name, [first, second], file, entries),
            [Some(q), Some(k), Some(v)] => rows(name, [q, k, v], file, entries),
            // A piece is missing: the weight is reported as missing under its whole name.
            _ => {}
        }
    }
}

enum Place {
    Whole(String),
    /// One of the pieces of an entry.
    Piece(String, usize),
}

const PATCH: &str = "patch_embed.proj.weight";

fn place(family: Family, taps: &[usize], swapped: bool, name: &str) -> Option<Place> {
    let qwen3 = family.is_qwen3_tower();
    let whole = |name: String| Some(Place::Whole(name));
    match name {
        "v.patch_embd.weight" => return Some(Place::Piece(PATCH.into(), 0)),
        "v.patch_embd.weight.1" => return Some(Place::Piece(PATCH.into(), 1)),
        "v.patch_embd.bias" if qwen3 => return whole("patch_embed.proj.bias".into()),
        "v.position_embd.weight" if qwen3 => return whole("pos_embed.weight".into()),
        _ => {}
    }
    let (module, kind) = name.rsplit_once('.')?;
    if !matches!(kind, "weight" | "bias") {
        return None;
    }
    let merger = match (module, qwen3) {
        ("v.post_ln", false) => "ln_q",
        ("v.post_ln", true) => "norm",
        ("mm.0", false) => "mlp.0",
        ("mm.0", true) => "linear_fc1",
        ("mm.2", false) => "mlp.2",
        ("mm.2", true) => "linear_fc2",
        _ => "",
    };
    if !merger.is_empty() {
        return whole(format!("merger.{merger}.{kind}"));
    }
    if let Some(tap) = module.strip_prefix("v.deepstack.").filter(|_| qwen3) {
        let (block, leaf) = tap.split_once('.')?;
        // The file counts tower blocks, transformers the taps.
        let block = index(block)?;
        let k = taps.iter().position(|tap| *tap == block)?;
        let leaf = match leaf {
            "norm" => "norm",
            "fc1" => "linear_fc1",
            "fc2" => "linear_fc2",
            _ => return None,
        };
        return whole(format!("deepstack_merger_list.{k}.{leaf}.{kind}"));
    }
    let (layer, leaf) = block(module.strip_prefix("v.")?)?;
    let qkv = |i| Some(Place::Piece(format!("blocks.{layer}.attn.qkv.{kind}"), i));
    let leaf = match (leaf, family) {
        ("attn_q", _) => return qkv(0),
        ("attn_k", _) => return qkv(1),
        ("attn_v", _) => return qkv(2),
        ("attn_qkv", _) => "attn.qkv",
        ("attn_out", _) => "attn.proj",
        ("ln1", _) => "norm1",
        ("ln2", _) => "norm2",
        ("ffn_up", Family::Qwen2Vl) => ["mlp.fc1", "mlp.fc2"][usize::from(swapped)],
        ("ffn_down", Family::Qwen2Vl) => ["mlp.fc2", "mlp.fc1"][usize::from(swapped)],
        ("ffn_gate", Family::Qwen25Vl) => "mlp.gate_proj",
        ("ffn_up", Family::Qwen25Vl) => "mlp.up_proj",
        ("ffn_down", Family::Qwen25Vl) => "mlp.down_proj",
        ("ffn_up", _) if qwen3 => "mlp.linear_fc1",
        ("ffn_down", _) if qwen3 => "mlp.linear_fc2",
        _ => return None,
    };
    whole(format!("blocks.{layer}.{leaf}.{kind}"))
}

/// The first converters of Qwen2-VL called the MLP's way up `ffn_down`. Shapes tell: the way up reads `hidden` numbers.
fn swapped(tensors: &[TensorInfo<'_>], hidden: usize) -> bool {
    let down = tensors.iter().find(|t| t.name == "v.blk.0.ffn_down.weight");
    down.is_some_and(
        |down| matches!(down.shape[..], [out, into] if into == hidden && out != hidden),
    )
}

/// `[hidden, 3, patch, patch]` twice to `[hidden, 3, 2, patch, patch]`.
fn slices(name: String, slices: [&TensorInfo<'_>; 2], file: usize, entries: &mut Entries) {
    let [first, second] = slices;
    let [hidden, channels, height, width] = first.shape[..] else {
        return entries.unexpected(first);
    };
    if second.shape != first.shape {
        return entries.problems.push(WeightProblem::Shape {
            name: second.name.into(),
            found: second.shape.clone(),
            expected: first.shape.clone(),
        });
    }
    let entry = Entry {
        shape: vec![hidden, channels, 2, height, width],
        transform: Transform::JoinTimeSlices,
        parts: slices.map(|slice| Part::of(file, slice)).into(),
    };
    entries.add(name, entry, first.name);
}

/// q, k and v of one shape to one projection.
fn rows(name: String, qkv: [&TensorInfo<'_>; 3], file: usize, entries: &mut Entries) {
    let [q, ..] = qkv;
    if let Some(other) = qkv.iter().find(|tensor| tensor.shape != q.shape) {
        return entries.problems.push(WeightProblem::Shape {
            name: other.name.into(),
            found: other.shape.clone(),
            expected: q.shape.clone(),
        });
    }
    let mut shape = q.shape.clone();
    if let Some(rows) = shape.first_mut() {
        *rows = rows.saturating_mul(3);
    }
    let entry = Entry {
        shape,
        transform: Transform::ConcatRows,
        parts: qkv.map(|tensor| Part::of(file, tensor)).into(),
    };
    entries.add(name, entry, q.name);
}
