//! `--model`: which checkpoint does the user mean, and what has to be fetched for it? The one place that reads the variables of huggingface_hub.

use std::io::IsTerminal;
use std::path::Path;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use spare_models::Checkpoint;

use crate::hub::{self, HubError, ModelId, Settings, Snapshot, Transfer, Watch};
use crate::{DeviceChoice, Engine, Error, WeightDtype};

pub(crate) const EXPECTED: &str =
    "board, a checkpoint folder, a GGUF file or owner/name[@revision]";

/// Loads the checkpoint that [`open`] finds.
pub(crate) fn load(
    model: &str,
    mmproj: Option<&Path>,
    dtype: WeightDtype,
    device: DeviceChoice,
) -> Result<Engine, Error> {
    let (checkpoint, source) = open(model, mmproj)?;
    let engine = Engine::from_checkpoint(checkpoint, dtype, &device.open()?)?;
    Ok(match source {
        None => engine,
        Some(snapshot) => engine.with_source(snapshot.repo, snapshot.commit),
    })
}

/// A folder or GGUF file that is there, else a repository of the hub: from the cache or, with feature `hub`, downloaded.
pub(crate) fn open(
    model: &str,
    mmproj: Option<&Path>,
) -> Result<(Checkpoint, Option<Snapshot>), Error> {
    let path = Path::new(model);
    if let Some(mmproj) = mmproj {
        if path.is_file() {
            return Ok((Checkpoint::open_gguf(path, Some(mmproj))?, None));
        }
        return Err(Error::Option {
            option: "--mmproj",
            found: format!("`{}` beside a model that is no file", mmproj.display()),
            expected: "a GGUF file as --model".into(),
        });
    }
    if path.exists() {
        return Ok((Checkpoint::open(path)?, None));
    }
    let snapshot = snapshot(model)?;
    Ok((Checkpoint::open(&snapshot.folder)?, Some(snapshot)))
}

fn snapshot(model: &str) -> Result<Snapshot, Error> {
    let id = ModelId::parse(model).map_err(|error| match error {
        HubError::Id { why, .. } => Error::Option {
            option: "--model",
            found: format!("`{model}`, which is neither there nor a repository's name ({why})"),
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
    Ok(snapshot)
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
