//! Labelled runs with their numbers: those that a file holds already, and the rest from the model.

use std::collections::HashMap;
use std::fs;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use indicatif::{ProgressBar, ProgressStyle};

use super::read;
use crate::eval::{Measured, Subject};
use crate::replay::PictureRoot;
use crate::score::LocalScorer;
use crate::{Engine, Error};

/// The runs of a file, in order.
pub(super) fn subjects(path: &Path) -> Result<Vec<Subject>, Error> {
    let text = read(path)?;
    let lines = text.lines().filter(|line| !line.trim().is_empty());
    lines
        .map(|line| Subject::read(crate::formats::parse(line)?))
        .collect()
}

/// Every run under every one of its summaries. What `store` holds is not measured again; the rest is added to it as it comes, so that an
/// interrupted measurement goes on.
pub(super) fn measured(
    engine: &Arc<Engine>,
    subjects: &[Subject],
    root: &PictureRoot,
    store: &Path,
) -> Result<Vec<Measured>, Error> {
    let known = if store.exists() {
        read(store)?
    } else {
        String::new()
    };
    let mut known: HashMap<(String, usize), Measured> = known
        .lines()
        // The last line of an interrupted measurement may be torn.
        .filter_map(|line| serde_json::from_str::<Measured>(line).ok())
        .map(|m| ((m.id.clone(), m.variant), m))
        .collect();
    let io = |source| Error::Io {
        path: store.into(),
        action: "writing",
        source,
    };
    let mut file = fs::OpenOptions::new()
        .create(true)
        .append(true)
        .open(store)
        .map_err(io)?;
    let total: usize = subjects.iter().map(|s| s.labels.variants.len()).sum();
    let bar = ProgressBar::new(total as u64);
    if let Ok(style) = ProgressStyle::with_template("{bar:30} {pos}/{len} replays, {eta} left") {
        bar.set_style(style);
    }
    let mut out = Vec::with_capacity(total);
    for subject in subjects {
        let mut scorer = LocalScorer::new(Arc::clone(engine));
        for variant in 0..subject.labels.variants.len() {
            bar.inc(1);
            if let Some(found) = known.remove(&(subject.id().to_owned(), variant)) {
                out.push(found);
                continue;
            }
            if let Some(found) = subject.measure(engine, &mut scorer, variant, root)? {
                writeln!(file, "{}", serde_json::json!(found)).map_err(io)?;
                out.push(found);
            }
        }
    }
    bar.finish_and_clear();
    Ok(out)
}
