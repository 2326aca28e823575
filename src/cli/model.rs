//! `--model`: which checkpoint does the user mean, and what has to be fetched for it? The one place that reads the variables of huggingface_hub.

use std::io::IsTerminal;
use std::path::Path;

use crate::hub::{self, HubError, ModelId, Settings, Transfer, Watch};
use crate::{Engine, Error, WeightDtype};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

pub(crate) const EXPECTED: &str = "board, a checkpoint folder or owner/name[@revision]";

/// A folder that is there, else a repository of the hub: from the cache or, with feature `hub`, downloaded.
pub(crate) fn load(model: &str, dtype: WeightDtype) -> Result<Engine, Error> {
    let folder = Path::new(model);
    if folder.exists() {
        return Engine::load(folder, dtype);
    }
    let id = ModelId::parse(model).map_err(|error| match error {
        HubError::Id { why, .. } => Error::Option {
            option: "--model",
            found: format!("`{model}`, which is no folder here and no repository's name ({why})"),
            expected: EXPECTED.into(),
        },
        other => other.into(),
    })?;
    let bar = bar();
    let report = |transfer: Transfer<'_>| {
        bar.set_length(transfer.total);
        bar.set_position(transfer.done);
        bar.set_message(transfer.file.to_owned());
    };
    let watch = Watch::none().with_progress(&report);
    let resolved = hub::resolve(&id, &settings()?, &watch);
    bar.finish_and_clear();
    let resolved = resolved?;
    if let Some(error) = resolved.unreachable {
        eprintln!("spare: {error}");
        eprintln!("spare: going on with the snapshot in the cache; {id} may be newer");
    }
    let snapshot = resolved.snapshot;
    eprintln!("spare: {} at commit {}", snapshot.repo, snapshot.commit);
    Ok(Engine::load(&snapshot.folder, dtype)?.with_source(snapshot.repo, snapshot.commit))
}

/// What the environment says of cache, hub and token.
pub(crate) fn settings() -> Result<Settings, Error> {
    Ok(Settings::from_env(|name| std::env::var(name).ok())?)
}

fn bar() -> ProgressBar {
    let target = match std::io::stderr().is_terminal() {
        true => ProgressDrawTarget::stderr(),
        false => ProgressDrawTarget::hidden(),
    };
    let bar = ProgressBar::with_draw_target(Some(0), target);
    let style = "{bar:30} {bytes}/{total_bytes} {bytes_per_sec} {eta} {msg}";
    if let Ok(style) = ProgressStyle::with_template(style) {
        bar.set_style(style);
    }
    bar
}
