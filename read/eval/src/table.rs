//! The table of evidence: recall at budgets, false ready, absent, replay, tokens.

use std::collections::BTreeMap;
use std::fmt::Write;

use spare_read::Status;

use crate::case::Set;
use crate::measure::Outcome;
use crate::statistics::{quantile, rate};

/// One line a set.
pub fn evidence(outcomes: &[Outcome]) -> String {
    let mut groups: BTreeMap<Set, Vec<&Outcome>> = BTreeMap::new();
    for outcome in outcomes {
        groups.entry(outcome.set).or_default().push(outcome);
    }
    let mut out = String::from(
        "| set | asked | recall % | false ready % | absent reported % | false absent % | anchors replayed % | response tokens p50 / p95 | precision % | ms p50 / p95 |\n|---|---|---|---|---|---|---|---|---|---|\n",
    );
    for (set, outcomes) in groups {
        let name = serde_json::to_string(&set).unwrap_or_default();
        let _ = writeln!(out, "| {} | {} |", name.trim_matches('"'), cells(&outcomes));
    }
    out
}

fn cells(outcomes: &[&Outcome]) -> String {
    let there: Vec<&&Outcome> = outcomes
        .iter()
        .filter(|outcome| outcome.golds > 0)
        .collect();
    let absent: Vec<&&Outcome> = outcomes
        .iter()
        .filter(|outcome| outcome.golds == 0)
        .collect();
    let spans: usize = outcomes.iter().map(|outcome| outcome.spans).sum();
    let broken: usize = outcomes.iter().map(|outcome| outcome.broken_anchors).sum();
    let mut tokens: Vec<f64> = outcomes
        .iter()
        .map(|outcome| outcome.tokens as f64)
        .collect();
    let mut seconds: Vec<f64> = outcomes
        .iter()
        .map(|outcome| outcome.seconds * 1e3)
        .collect();
    let found: usize = there.iter().map(|outcome| outcome.hit).sum();
    let all: usize = there.iter().map(|outcome| outcome.spans).sum();
    [
        outcomes.len().to_string(),
        rate(
            there.iter().filter(|outcome| outcome.is_recalled()).count(),
            there.len(),
        ),
        rate(
            outcomes
                .iter()
                .filter(|outcome| outcome.is_false_ready())
                .count(),
            outcomes.len(),
        ),
        rate(
            absent
                .iter()
                .filter(|outcome| outcome.status == Some(Status::Absent))
                .count(),
            absent.len(),
        ),
        rate(
            there
                .iter()
                .filter(|outcome| outcome.is_false_absent())
                .count(),
            there.len(),
        ),
        rate(spans - broken, spans),
        format!(
            "{:.0} / {:.0}",
            quantile(&mut tokens, 0.5),
            quantile(&mut tokens, 0.95)
        ),
        if all == 0 {
            "-".into()
        } else {
            format!("{:.0}", 100.0 * found as f64 / all as f64)
        },
        format!(
            "{:.1} / {:.1}",
            quantile(&mut seconds, 0.5),
            quantile(&mut seconds, 0.95)
        ),
    ]
    .join(" | ")
}

/// The same by kind of question and by kind of case.
pub fn breakdown(outcomes: &[Outcome]) -> String {
    let mut groups: BTreeMap<(Set, String), Vec<&Outcome>> = BTreeMap::new();
    for outcome in outcomes {
        groups
            .entry((outcome.set, format!("question: {}", outcome.kind)))
            .or_default()
            .push(outcome);
        groups
            .entry((outcome.set, format!("case: {}", outcome.case)))
            .or_default()
            .push(outcome);
    }
    let mut out = String::from(
        "| set | part | asked | recall % | supported | conflicting | weak | absent | not searched | false ready |\n|---|---|---|---|---|---|---|---|---|---|\n",
    );
    for ((set, part), outcomes) in groups {
        let there = outcomes.iter().filter(|outcome| outcome.golds > 0).count();
        let of = |status: Status| {
            outcomes
                .iter()
                .filter(|outcome| outcome.status == Some(status))
                .count()
        };
        let name = serde_json::to_string(&set).unwrap_or_default();
        let _ = writeln!(
            out,
            "| {} | {part} | {} | {} | {} | {} | {} | {} | {} | {} |",
            name.trim_matches('"'),
            outcomes.len(),
            rate(
                outcomes
                    .iter()
                    .filter(|outcome| outcome.is_recalled())
                    .count(),
                there
            ),
            of(Status::Supported),
            of(Status::Conflicting),
            of(Status::Weak),
            of(Status::Absent),
            of(Status::NotSearched),
            outcomes
                .iter()
                .filter(|outcome| outcome.is_false_ready())
                .count(),
        );
    }
    out
}
