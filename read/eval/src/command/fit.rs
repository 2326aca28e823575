//! The gate's weights.

use spare_read::Gate;
use spare_read_eval::{Error, fit, seeds};

use crate::Options;

/// Fits on the development seeds at both prompts, with the purpose known and not.
pub(crate) fn fit(options: &Options) -> Result<(), Error> {
    let mut all = Vec::new();
    for (fixed, purpose_known) in [
        (4_000.0, true),
        (12_000.0, true),
        (4_000.0, false),
        (12_000.0, false),
    ] {
        all.extend(fit::costs(seeds::DEV, fixed, purpose_known)?);
    }
    let weights = fit::fit(
        &all,
        &format!("spare-read-eval fit, seeds {:?}", seeds::DEV),
    )?;
    let text = serde_json::to_string_pretty(&weights)? + "\n";
    match options.value("--out") {
        Some(path) => std::fs::write(path, &text)?,
        None => print!("{text}"),
    }
    let (above, modes) = fit::regret(&all, &Gate::new(weights)?);
    eprintln!(
        "{} cases, {:.2} % above the oracle; force, advisory, native, inline: {modes:?}",
        all.len(),
        above * 100.0
    );
    Ok(())
}
