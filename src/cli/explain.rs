//! `spare explain`: why did a segment go? Every segment with its shaded tokens, verdict, reason and what replaces it.

use super::decided;
use super::options::Common;
use super::output::print;
use super::shade::{Ink, When, shade, visible};
use crate::plan::SegmentPlan;
use crate::{Error, EventOutcome, Pruned};

/// Show every segment, its tokens shaded by divergence, its verdict, the reason and what replaces it.
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    common: Common,
    /// Colours: on a terminal, always, or never.
    #[arg(long, value_enum, default_value_t = When::Auto)]
    color: When,
}

pub(crate) fn run(args: &Args) -> Result<(), Error> {
    let ink = Ink::choose(args.color);
    decided::each(&args.common, |decided| {
        let (number, pruned) = (decided.number, decided.pruned);
        print(page(number, pruned, ink).as_bytes())
    })
}

fn page(number: usize, pruned: &Pruned, ink: Ink) -> String {
    let id = pruned
        .history
        .id
        .as_deref()
        .map(|id| format!(" ({})", visible(id)))
        .unwrap_or_default();
    let mut out = format!("{}\n", ink.bold(&format!("run {number}{id}")));
    if pruned.segments.is_empty() {
        out.push_str("  no reasoning: nothing to decide\n");
    }
    for outcome in &pruned.events {
        event(&mut out, pruned, outcome, ink);
    }
    let decided: Vec<usize> = pruned
        .events
        .iter()
        .flat_map(|e| e.event.candidates.iter().copied())
        .collect();
    for segment in pruned
        .segments
        .iter()
        .filter(|s| !decided.contains(&s.index))
    {
        out.push_str(&format!(
            "\n  {}\n    {}\n",
            ink.bold(&format!(
                "segment {} (message {}): no event stands behind it, it stays",
                segment.index, segment.message
            )),
            indented(&visible(&segment.text))
        ));
    }
    out.push('\n');
    out
}

fn event(out: &mut String, pruned: &Pruned, outcome: &EventOutcome, ink: Ink) {
    let title = format!(
        "event {} before message {}",
        outcome.event.index, outcome.event.at
    );
    out.push_str(&format!("\n  {}\n", ink.bold(&title)));
    if let Some(sigma) = &outcome.sigma {
        out.push_str(&format!(
            "    summary: {}\n",
            indented(&visible(&sigma.text))
        ));
    }
    if let Some(why) = &outcome.skipped {
        out.push_str(&format!("    left as it is: {why}\n"));
        return;
    }
    let (min, max) = outcome.scores.range();
    out.push_str(&format!("    divergence from {min:.3} to {max:.3} nats\n"));
    for lost in &outcome.plan.survival.lost {
        out.push_str(&format!(
            "    lost: {} stands nowhere any more\n",
            visible(lost)
        ));
    }
    let normalised = outcome.scores.normalised();
    for plan in &outcome.plan.segments {
        let Some(segment) = pruned.segments.get(plan.segment) else {
            continue;
        };
        out.push_str(&format!(
            "\n    {}\n",
            ink.bold(&format!(
                "segment {} (message {}): {}",
                plan.segment,
                segment.message,
                verdict(plan)
            ))
        ));
        let scored = outcome
            .scores
            .segments
            .iter()
            .zip(&normalised)
            .find(|(s, _)| s.segment == plan.segment);
        let text = match scored {
            Some((scores, norm)) => shade(&segment.text, &scores.spans, norm, &plan.sensitive, ink),
            None => visible(&segment.text),
        };
        out.push_str(&format!("      {}\n", indented(&text)));
        if let Some(new) = &plan.text {
            let new = if new.is_empty() { "(nothing)" } else { new };
            out.push_str(&format!("    becomes\n      {}\n", indented(&visible(new))));
        }
        let values = crate::trajectory::atoms(&segment.text);
        for found in &plan.superseded {
            let value = values.get(found.atom).map_or("", |a| a.text(&segment.text));
            out.push_str(&format!(
                "    corrected by the summary: {} is {} there\n",
                visible(value),
                visible(&found.by)
            ));
        }
    }
}

fn verdict(plan: &SegmentPlan) -> String {
    let name = plan.verdict.name();
    let count = if plan.tokens > 0 && plan.needed > 0 {
        format!(
            " [{} sensitive tokens of {}, {} needed]",
            plan.sensitive.len(),
            plan.tokens,
            plan.needed
        )
    } else {
        String::new()
    };
    format!("{name}: {}{count}", plan.reason)
}

fn indented(text: &str) -> String {
    text.replace('\n', "\n      ")
}
