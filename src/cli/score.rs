//! `spare score`: the numbers of every reasoning token, one JSON object an event.

use serde::Serialize;

use super::decided;
use super::options::Common;
use super::output::print;
use crate::{Error, EventOutcome, Pruned};

/// Print the divergence of every reasoning token, one JSON object an event.
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    common: Common,
    /// Print JSON lines instead of a table.
    #[arg(long)]
    json: bool,
    /// Add the student's and the teacher's whole token ids, image pads expanded.
    #[arg(long, requires = "json")]
    contexts: bool,
}

#[derive(Serialize)]
struct Line<'a> {
    schema: u32,
    record: usize,
    event: usize,
    segments: Vec<Scored<'a>>,
}

#[derive(Serialize)]
struct Scored<'a> {
    segment: usize,
    message: usize,
    path: &'a str,
    start: usize,
    end: usize,
    token_ids: &'a [u32],
    d_topk: &'a [f64],
    d_full: &'a [f64],
    d_norm: &'a [f64],
    logp: &'a [f64],
    logq: &'a [f64],
    student_ids: Vec<u32>,
    teacher_ids: Vec<u32>,
}

pub(crate) fn run(args: &Args) -> Result<(), Error> {
    decided::each(&args.common, |decided| {
        let (number, pruned) = (decided.number, decided.pruned);
        for outcome in &pruned.events {
            let text = match (&outcome.skipped, args.json) {
                (_, true) => json(number, pruned, outcome, args.contexts),
                (None, false) => table(number, pruned, outcome),
                (Some(why), false) => {
                    let event = outcome.event.index;
                    format!("run {number}, event {event}: not scored: {why}\n")
                }
            };
            print(text.as_bytes())?;
        }
        Ok(())
    })
}

fn json(record: usize, pruned: &Pruned, outcome: &EventOutcome, contexts: bool) -> String {
    let normalised = outcome.scores.normalised();
    let mut segments = Vec::new();
    for (scores, d_norm) in outcome.scores.segments.iter().zip(&normalised) {
        let Some(segment) = pruned.segments.get(scores.segment) else {
            continue;
        };
        let Some(place) = segment.places.first() else {
            continue;
        };
        let branch = outcome.replay.as_ref().and_then(|plan| {
            let branch = plan.branches.iter().find(|b| b.segment == scores.segment)?;
            Some((plan.student_ids(branch), plan.teacher_ids(branch)))
        });
        let (student_ids, teacher_ids) = branch.filter(|_| contexts).unwrap_or_default();
        segments.push(Scored {
            segment: scores.segment,
            message: segment.message,
            path: &place.pointer,
            start: place.range.start,
            end: place.range.end,
            token_ids: &scores.token_ids,
            d_topk: &scores.d_topk,
            d_full: &scores.d_full,
            d_norm,
            logp: &scores.logp,
            logq: &scores.logq,
            student_ids,
            teacher_ids,
        });
    }
    let line = Line {
        schema: 1,
        record,
        event: outcome.event.index,
        segments,
    };
    format!("{}\n", serde_json::json!(line))
}

fn table(record: usize, pruned: &Pruned, outcome: &EventOutcome) -> String {
    let (min, max) = outcome.scores.range();
    let mut out = format!(
        "run {record}, event {} before message {}: {} tokens pushed, d from {min:.3} to {max:.3} nats\n",
        outcome.event.index, outcome.event.at, outcome.scores.pushed
    );
    out.push_str("segment  message  tokens  mean d   max d  mean log p  mean log q\n");
    for scores in &outcome.scores.segments {
        let message = pruned.segments.get(scores.segment).map_or(0, |s| s.message);
        let d = scores.d(outcome.scores.kl);
        let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len().max(1) as f64;
        out.push_str(&format!(
            "{:>7}  {message:>7}  {:>6}  {:>6.3}  {:>6.3}  {:>10.3}  {:>10.3}\n",
            scores.segment,
            d.len(),
            mean(d),
            d.iter().copied().fold(0.0, f64::max),
            mean(&scores.logp),
            mean(&scores.logq),
        ));
    }
    out
}
