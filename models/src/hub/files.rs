//! Which files of a repository does a checkpoint need?

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;

/// Without one of these nothing loads.
pub(super) const REQUIRED: [&str; 2] = ["config.json", "tokenizer.json"];

/// Read where they are there; a model without a tower has no preprocessing. The chat template stands in one of the last three.
#[cfg(feature = "hub")]
pub(super) const OPTIONAL: [&str; 5] = [
    "preprocessor_config.json",
    "generation_config.json",
    "chat_template.jinja",
    "chat_template.json",
    "tokenizer_config.json",
];

/// Where a chat template may stand.
const TEMPLATES: [&str; 3] = [
    "chat_template.jinja",
    "chat_template.json",
    "tokenizer_config.json",
];

/// All weights in one file.
pub(super) const SINGLE: &str = "model.safetensors";

/// Where the tensors of several files stand.
pub(super) const INDEX: &str = "model.safetensors.index.json";

/// Everything but the shards of which `has` says that it is not there.
pub(super) fn missing(has: impl Fn(&str) -> bool) -> Vec<String> {
    let mut missing: Vec<String> = REQUIRED
        .iter()
        .filter(|name| !has(name))
        .map(|name| (*name).to_owned())
        .collect();
    if !TEMPLATES.iter().any(|name| has(name)) {
        missing.push(TEMPLATES.join(" or "));
    }
    if !has(SINGLE) && !has(INDEX) {
        missing.push(format!("{SINGLE} or {INDEX}"));
    }
    missing
}

#[derive(Deserialize)]
struct Index {
    weight_map: BTreeMap<String, String>,
}

/// The shards that an index names, in order.
///
/// # Errors
/// What is wrong with it, in words: not JSON, no `weight_map`, a shard that is no plain safetensors file name.
pub(super) fn shards(index: &[u8]) -> Result<Vec<String>, String> {
    let index: Index = serde_json::from_slice(index).map_err(|error| error.to_string())?;
    let shards: BTreeSet<String> = index.weight_map.into_values().collect();
    if shards.is_empty() {
        return Err("weight_map: found no file, expected one for each tensor".into());
    }
    // A plain name only: an index must not make us write or open files elsewhere.
    let plain = |name: &str| {
        let byte = |b: u8| b.is_ascii_alphanumeric() || b"-_.".contains(&b);
        name.ends_with(".safetensors") && !name.starts_with('.') && name.bytes().all(byte)
    };
    match shards.iter().find(|name| !plain(name)) {
        Some(name) => Err(format!(
            "weight_map: found {name:?}, expected the name of a .safetensors file without folders"
        )),
        None => Ok(shards.into_iter().collect()),
    }
}
