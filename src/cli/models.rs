//! `spare models`: which architectures load, and which checkpoints are in the cache?

use std::path::Path;

use indicatif::HumanBytes;
use serde_json::Value;
use spare_models::Family;

use super::model::settings;
use super::output::print;
use super::shade::visible;
use crate::Error;
use crate::hub::CachedSnapshot;

/// List the architectures that load and the checkpoints in the cache of the Hugging Face Hub.
#[derive(clap::Args)]
pub(crate) struct Args {}

pub(crate) fn run(_: &Args) -> Result<(), Error> {
    let mut out = String::from("architectures that load\n");
    for family in Family::ALL {
        out.push_str(&format!("  {family}\n"));
    }
    #[cfg(feature = "embedded-model")]
    out.push_str("compiled in\n  board\n");
    let cache = settings()?.cache;
    let snapshots = cache.list()?;
    out.push_str(&format!("in the cache {}\n", cache.root().display()));
    if snapshots.is_empty() {
        out.push_str("  nothing\n");
    }
    for cached in &snapshots {
        out.push_str(&line(cached));
    }
    print(out.as_bytes())
}

fn line(cached: &CachedSnapshot) -> String {
    let snapshot = &cached.snapshot;
    let state = match (snapshot.missing(), architecture(&snapshot.folder)) {
        (Err(error), _) => error.to_string(),
        (Ok(missing), _) if !missing.is_empty() => format!("incomplete: no {}", missing.join(", ")),
        (_, Some(name)) if Family::ALL.iter().any(|f| f.architecture() == name) => name,
        (_, Some(name)) => format!("{name}, which does not load"),
        (_, None) => "config.json names no architecture".into(),
    };
    let refs = match cached.refs.as_slice() {
        [] => String::new(),
        refs => format!("  {}", refs.join(" ")),
    };
    visible(&format!(
        "  {}  {}{refs}  {}  {state}\n",
        snapshot.repo,
        snapshot.commit,
        HumanBytes(cached.bytes)
    ))
}

/// The first architecture of config.json.
fn architecture(folder: &Path) -> Option<String> {
    let config = std::fs::read(folder.join("config.json")).ok()?;
    let config: Value = serde_json::from_slice(&config).ok()?;
    Some(config.get("architectures")?.get(0)?.as_str()?.to_owned())
}
