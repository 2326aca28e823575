//! `spare eval future`: how much does what the model wrote after an event hang on each segment before it?

use std::sync::Arc;

use crate::Error;
use crate::cli::decided::{self, Decided};
use crate::cli::options::Common;
use crate::cli::output::print;
use crate::eval::hold;
use crate::pruner::EventContext;
use crate::score::LocalScorer;
use crate::trajectory::Segment;

/// Leave one segment after the other out of a run, and measure what that does to what the model wrote afterwards.
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    common: Common,
}

pub(super) fn run(args: &Args) -> Result<(), Error> {
    decided::each(&args.common, |decided| print(table(decided)?.as_bytes()))
}

/// The first event of a run: later ones stand behind edits.
fn table(decided: &Decided<'_>) -> Result<String, Error> {
    let Decided {
        number,
        run,
        pruned,
        pruner,
        root,
    } = decided;
    let decided = pruned
        .events
        .iter()
        .find_map(|e| Some((e, e.sigma.as_ref()?)));
    let Some((outcome, sigma)) = decided else {
        return Ok(format!("run {number}: no summary\n"));
    };
    let scored = outcome.scores.segments.iter();
    let shown: Vec<&Segment> = scored
        .filter_map(|s| pruned.segments.get(s.segment))
        .collect();
    let engine = pruner.engine();
    let mut scorer = LocalScorer::new(Arc::clone(engine));
    let context = EventContext {
        run,
        segments: &pruned.segments,
        event: &outcome.event,
        sigma: &sigma.text,
    };
    let held = hold(engine, &mut scorer, &context, &shown, root)?;
    let planned = outcome.plan.segments.iter();
    let edits = planned.filter_map(|p| Some((pruned.segments.get(p.segment)?, p.text.as_deref()?)));
    let plan = held.without(engine, &scorer, &edits.collect::<Vec<_>>())?;
    let say = |kl: Option<f64>| kl.map_or("-".to_owned(), |kl| format!("{kl:.3}"));
    let mut out = format!(
        "run {number}: {} tokens written after the event; KL summed over them, in nats, without\nsegment  counterfactual  knockout\n",
        held.tokens
    );
    for left in &held.segments {
        out.push_str(&format!(
            "{:>7}  {:>14}  {:>8}\n",
            left.segment,
            say(left.counterfactual),
            say(left.knockout)
        ));
    }
    out.push_str(&format!("{:>7}  {:>14}\n", "plan", say(plan.map(|d| d.kl))));
    Ok(out)
}
