//! From decisions to a new history: what must hold for every run and every decision. No model and no recogniser: the generator planted
//! the values itself.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod common;

use std::collections::BTreeSet;

use common::planted::{Form, Run, Turn, runs, stands};
use common::prune::{Done, Pruned, Said, Settings, count, prune, tokens};
use common::spell;
use proptest::prelude::*;
use serde_json::Value;
use spare::evidence::is_evidence;
use spare::formats::openai_chat;
use spare::plan::{PlanOptions, Reason, Trigger, Verdict, events, restore};
use spare::summary::{SigmaSource, SummaryTool};
use spare::trajectory::{Segment, VisibleText, segments};

const LABELS: [&str; 6] = ["Box: ", "List: ", "Text: ", "Code: ", "Number: ", "Name: "];
const NOTE: &str = " (order, unit and picture not stated)";

/// A pruned run with all that the generator knows of it.
struct Case {
    run: Run,
    source: String,
    out: Pruned,
}

impl Case {
    fn new(run: Run) -> Self {
        let source = spell(&run.json(), &mut run.seed.clone());
        let out = prune(&source, &settings(&run), |s| said(&run, s));
        Self { run, source, out }
    }

    fn turn(&self, segment: &Segment) -> &Turn {
        &self.run.turns[self.run.turn_of(segment.message)]
    }

    /// The planted piece that a segment is: in the order of a turn's segments.
    fn piece(&self, segment: &Segment) -> usize {
        self.out
            .segments
            .iter()
            .filter(|s| s.message == segment.message && s.index < segment.index)
            .count()
    }

    /// What stands where the segment stood, marks, labels and notes left out; its own text if it stays.
    fn values_text(&self, done: &Done, entry: usize) -> String {
        let plan = &done.plan.segments[entry];
        match &plan.text {
            Some(text) => body(text, sigma_written(done))
                .iter()
                .map(|l| bare(l))
                .collect::<Vec<_>>()
                .join("\n"),
            None => self.out.segments[plan.segment].text.clone(),
        }
    }
}

fn settings(run: &Run) -> Settings {
    let visible = if run.form == Form::FieldAndVisible {
        VisibleText::Prune
    } else {
        VisibleText::Auto
    };
    let trigger = match (run.given.is_some(), run.seed % 3) {
        (true, 0) => Trigger::Fixed(1 + (run.seed / 3) as usize % 3),
        (true, 1) => Trigger::PreAnswer,
        _ => Trigger::Model,
    };
    let plan = PlanOptions {
        keep_atoms: run.keep_atoms,
        ..PlanOptions::default()
    };
    Settings {
        trigger,
        visible,
        given: run.sigma(),
        plan,
        ..Settings::default()
    }
}

fn said(run: &Run, segment: &Segment) -> Said {
    let turn = &run.turns[run.turn_of(segment.message)];
    if turn.hidden {
        return Said::Hidden;
    }
    let mut seed = run.seed ^ (segment.index as u64) << 7;
    let chosen = (0..tokens(&segment.text).len()).filter(|_| {
        seed = seed
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        (seed >> 60) < u64::from(turn.density) * 2
    });
    Said::Shown(turn.sensitive, chosen.collect())
}

/// The summary that had to be written into the history, if it had to.
fn sigma_written(done: &Done) -> Option<&str> {
    done.sigma
        .as_ref()
        .filter(|s| s.source != SigmaSource::Call)
        .map(|s| s.text.as_str())
}

/// Lines of a new text behind its first line and a task state.
fn body<'a>(text: &'a str, sigma: Option<&str>) -> Vec<&'a str> {
    let rest = text.split_once('\n').map_or("", |(_, rest)| rest);
    let state = sigma.map(|s| format!("Task state: {s}"));
    let rest = state
        .and_then(|s| rest.strip_prefix(s.as_str()))
        .unwrap_or(rest);
    rest.lines().filter(|l| !l.is_empty()).collect()
}

/// A line without what the template adds.
fn bare(line: &str) -> &str {
    let line = LABELS
        .iter()
        .find_map(|l| line.strip_prefix(l))
        .unwrap_or(line);
    line.strip_suffix(NOTE).unwrap_or(line)
}

fn spaced(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn cases() -> impl Strategy<Value = Case> {
    runs().prop_map(Case::new)
}

impl std::fmt::Debug for Case {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        writeln!(f, "{:?}\n{}\n{}", self.run, self.run.json(), self.out.after)?;
        for done in &self.out.events {
            writeln!(f, "{:?}\n{:?}\n{:#?}", done.event, done.sigma, done.plan)?;
        }
        Ok(())
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, max_shrink_iters: 3000, ..ProptestConfig::default() })]

    #[test]
    fn every_candidate_is_named_once_and_verdict_and_text_agree(case in cases()) {
        let mut seen = BTreeSet::new();
        for done in &case.out.events {
            for candidate in &done.event.candidates {
                prop_assert!(seen.insert(*candidate), "segment {candidate} is a candidate twice");
            }
            if done.plan.segments.is_empty() {
                continue;
            }
            let named: Vec<usize> = done.plan.segments.iter().map(|s| s.segment).collect();
            prop_assert_eq!(&named, &done.event.candidates);
            for plan in &done.plan.segments {
                let stays = matches!(plan.verdict, Verdict::Keep | Verdict::Frozen | Verdict::Invisible);
                prop_assert_eq!(plan.text.is_none(), stays, "{:?}", plan);
                let segment = &case.out.segments[plan.segment];
                prop_assert_eq!(plan.verdict == Verdict::Frozen, segment.frozen.is_some());
                prop_assert_eq!(segment.frozen.is_some(), case.turn(segment).frozen);
                prop_assert_eq!(plan.verdict == Verdict::Invisible, done.hidden.contains(&plan.segment));
            }
        }
    }

    #[test]
    fn evidence_holds_every_sensitive_value_and_nothing_else(case in cases()) {
        let after: Value = serde_json::from_str(&case.out.after).unwrap();
        for done in &case.out.events {
            for (entry, plan) in done.plan.segments.iter().enumerate() {
                let Some(text) = plan.text.as_ref().filter(|_| plan.verdict == Verdict::Evidence) else { continue };
                let segment = &case.out.segments[plan.segment];
                let turn = case.turn(segment);
                let planted = &turn.reasoning[case.piece(segment)];
                prop_assert_eq!(&planted.text, &segment.text);
                let shown = case.values_text(done, entry);
                let visible = remaining_visible(&after, segment, &case);
                let spans = tokens(&segment.text);
                let decision = done.decisions.iter().find(|d| d.segment == plan.segment).unwrap();
                for (value, bytes) in &planted.mentions {
                    let touched = decision.tokens.iter().any(|t| spans[*t].start < bytes.end && bytes.start < spans[*t].end);
                    let text = &case.run.values[*value];
                    let kept = stands(&shown, text) || turn.in_call.contains(value) || turn.summary.iter().flatten().any(|v| v == value);
                    prop_assert!(!touched || kept || stands(&visible, text), "lost {text}\nin {shown}\nbeside {visible}");
                }
                let whole = spaced(&segment.text);
                let lines = body(text, sigma_written(done));
                prop_assert!(!lines.is_empty());
                for line in &lines {
                    prop_assert!(whole.contains(&spaced(bare(line))), "{line} is not in {whole}");
                }
                let cost = count(&format!("Evidence:\n{}", lines.join("\n")));
                prop_assert!(cost as f64 <= 0.6 * plan.tokens as f64, "{cost} of {}", plan.tokens);
            }
        }
    }

    #[test]
    fn no_value_is_lost_without_being_named(case in cases()) {
        let mut earlier: BTreeSet<usize> = BTreeSet::new(); // values that earlier events left in reasoning
        for done in &case.out.events {
            let candidates = || done.event.candidates.iter().map(|i| &case.out.segments[*i]);
            let mentioned = |s: &Segment| -> Vec<usize> {
                case.turn(s).reasoning[case.piece(s)].mentions.iter().map(|m| m.0).collect()
            };
            if done.plan.segments.is_empty() {
                prop_assert!(done.event.candidates.is_empty());
                continue;
            }
            let elsewhere = case.run.elsewhere(done.event.at);
            let only: BTreeSet<usize> = candidates()
                .filter(|s| !case.turn(s).hidden)
                .flat_map(&mentioned)
                .filter(|v| !elsewhere.contains(v) && !earlier.contains(v))
                .collect();
            prop_assert_eq!(done.plan.survival.only_in_reasoning, only.len(), "{:?}", &only);

            let mut texts: Vec<String> = (0..done.plan.segments.len())
                .filter(|e| done.plan.segments[*e].verdict != Verdict::Invisible)
                .map(|e| case.values_text(done, e))
                .collect();
            let visible_now = texts.clone();
            let sigma = done.sigma.as_ref().unwrap();
            if sigma.source == SigmaSource::Call || done.plan.changes() {
                texts.push(sigma.text.clone());
            }
            let gone: BTreeSet<String> = only
                .iter()
                .map(|v| case.run.values[*v].clone())
                .filter(|v| !texts.iter().any(|t| stands(t, v)))
                .collect();
            if case.run.keep_atoms {
                prop_assert_eq!(&gone, &BTreeSet::new());
            }
            let lost: BTreeSet<String> = done.plan.survival.lost.iter().cloned().collect();
            prop_assert_eq!(lost, gone);
            // What is hidden is not decided again, so a later event cannot know that it is.
            earlier.extend(candidates().filter(|s| case.turn(s).hidden).flat_map(&mentioned));
            for (value, text) in case.run.values.iter().enumerate() {
                let written = sigma_written(done).filter(|_| done.plan.changes()).is_some_and(|s| stands(s, text));
                if written || visible_now.iter().any(|t| stands(t, text)) {
                    earlier.insert(value);
                }
            }
        }
    }

    #[test]
    fn a_changed_event_has_one_mark_and_one_summary_and_is_shorter(case in cases()) {
        for done in &case.out.events {
            let edited: Vec<_> = done.plan.segments.iter().filter(|s| s.text.is_some()).collect();
            let Some((last, others)) = edited.split_last() else {
                prop_assert_eq!((done.plan.evidence_tokens, done.plan.summary_tokens), (0, 0));
                continue;
            };
            let text = last.text.as_deref().unwrap();
            let mark = format!("Evidence ({} of {} steps pruned):", edited.len(), done.event.candidates.len());
            prop_assert_eq!(text.lines().next(), Some(mark.as_str()));
            for other in others {
                let text = other.text.as_deref().unwrap();
                prop_assert!(text.is_empty() || text.lines().next() == Some("Evidence:"), "{text}");
                prop_assert!(!text.contains("Task state:"));
            }
            match sigma_written(done) {
                Some(sigma) => prop_assert!(text[mark.len()..].starts_with(&format!("\nTask state: {sigma}")), "{text}"),
                None => prop_assert!(!text.contains("Task state:")),
            }
            let written: usize = edited.iter().map(|s| count(s.text.as_deref().unwrap())).sum();
            let removed: usize = edited.iter().map(|s| count(&case.out.segments[s.segment].text)).sum();
            prop_assert!(written < removed, "{written} tokens for {removed}");
            prop_assert_eq!(done.plan.evidence_tokens + done.plan.summary_tokens, written);
        }
    }

    #[test]
    fn restore_is_the_identity_and_pruning_again_changes_nothing(case in cases(), flip: bool) {
        if !case.out.edits.is_empty() {
            prop_assert_eq!(&restore(&case.out.after, &case.out.receipt).unwrap(), &case.source);
        }
        let settings = settings(&case.run);
        let read = openai_chat::read(&case.out.after).unwrap();
        let all = segments(&read, settings.visible);
        let again = events(&read, &all, settings.trigger, &SummaryTool::default(), settings.given.is_some());
        prop_assert_eq!(again.len(), case.out.events.len());
        for (event, done) in again.iter().zip(&case.out.events) {
            prop_assert_eq!(event.at, done.event.at);
            prop_assert_eq!(event.decided, done.plan.changes());
        }
        for segment in &all {
            prop_assert!(is_evidence(&segment.text).is_none(), "{}", segment.text);
            prop_assert!(case.out.segments.iter().any(|s| s.message == segment.message && s.text == segment.text));
        }
        // Events that changed something are not decided again, whatever the rule would say now.
        let contrary = prune(&case.out.after, &settings, |s| Said::Shown(flip, (0..tokens(&s.text).len()).collect()));
        for (now, before) in contrary.events.iter().zip(&case.out.events) {
            prop_assert!(!before.plan.changes() || !now.plan.changes());
        }
        // With the same rule nothing changes at all.
        let run = &case.run;
        let same = prune(&case.out.after, &settings, |s| {
            let old = case.out.segments.iter().find(|o| o.message == s.message && o.text == s.text).unwrap();
            said(run, old)
        });
        prop_assert_eq!(&same.after, &case.out.after);
    }

    #[test]
    fn nothing_but_reasoning_changes_and_no_message_becomes_empty(case in cases()) {
        let before: Value = serde_json::from_str(&case.source).unwrap();
        let after: Value = serde_json::from_str(&case.out.after).unwrap();
        let changed: BTreeSet<usize> = case.out.events.iter()
            .flat_map(|d| &d.plan.segments)
            .filter(|s| s.text.is_some())
            .map(|s| s.segment)
            .collect();
        let (mut blank_before, mut blank_after) = (before.clone(), after.clone());
        for segment in &case.out.segments {
            for place in &segment.places {
                let old = before.pointer(&place.pointer).unwrap().as_str().unwrap();
                // Text beside calls that leaves whole becomes null, which more servers take than an empty string.
                let new = after.pointer(&place.pointer).unwrap();
                prop_assert!(new.is_string() || (new.is_null() && changed.contains(&segment.index)));
                let new = new.as_str().unwrap_or_default();
                let tail = &old[place.range.end..];
                prop_assert!(new.starts_with(&old[..place.range.start]) && new.ends_with(tail));
                if !changed.contains(&segment.index) {
                    prop_assert_eq!(old, new);
                }
                *blank_before.pointer_mut(&place.pointer).unwrap() = Value::Null;
                *blank_after.pointer_mut(&place.pointer).unwrap() = Value::Null;
            }
        }
        prop_assert_eq!(blank_before, blank_after);
        for message in after["messages"].as_array().unwrap() {
            let calls = message.get("tool_calls").is_some();
            match &message["content"] {
                Value::Array(parts) => {
                    for part in parts {
                        prop_assert!(!part["text"].as_str().unwrap().trim().is_empty());
                    }
                }
                content => prop_assert!(calls || !content.as_str().unwrap().trim().is_empty()),
            }
        }
    }

    #[test]
    fn an_event_that_changes_nothing_says_why(case in cases()) {
        for done in &case.out.events {
            for plan in &done.plan.segments {
                let agrees = match (&plan.verdict, &plan.reason) {
                    (Verdict::Delete, Reason::Covered)
                    | (Verdict::Evidence, Reason::Sensitive | Reason::OnlyHere)
                    | (Verdict::Frozen, Reason::Frozen(_))
                    | (Verdict::Invisible, Reason::Hidden) => true,
                    (Verdict::Keep, reason) => !matches!(reason, Reason::Covered | Reason::OnlyHere | Reason::Sensitive),
                    _ => false,
                };
                prop_assert!(agrees, "{:?}", plan);
            }
            let entry = case.out.receipt.events.iter().find(|e| e.segments.first().map(|s| s.segment) == done.event.candidates.first().copied());
            if done.plan.changes() {
                let lines: Vec<(usize, Verdict)> = entry.unwrap().segments.iter().map(|s| (s.segment, s.verdict)).collect();
                let plans: Vec<(usize, Verdict)> = done.plan.segments.iter().map(|s| (s.segment, s.verdict)).collect();
                prop_assert_eq!(lines, plans);
            }
        }
    }
}

/// Visible text of the turn that is left: the content without reasoning and what took its place.
fn remaining_visible(after: &Value, segment: &Segment, case: &Case) -> String {
    let run = openai_chat::read(&after.to_string()).unwrap();
    let message = &run.messages[segment.message];
    let mut text = message.text();
    for done in &case.out.events {
        for (entry, plan) in done.plan.segments.iter().enumerate() {
            let own = &case.out.segments[plan.segment];
            if own.message != segment.message || own.index == segment.index {
                continue;
            }
            // A sibling that stays or was rebuilt says its values there.
            text.push('\n');
            text.push_str(&case.values_text(done, entry));
        }
    }
    match text.split_once("</think>") {
        Some((_, rest)) => rest.to_owned(),
        None => text,
    }
}

#[test]
fn the_generator_reaches_every_verdict_and_reason() {
    use proptest::strategy::ValueTree;
    use proptest::test_runner::TestRunner;
    let mut runner = TestRunner::deterministic();
    let mut seen = std::collections::BTreeMap::<String, usize>::new();
    for _ in 0..1500 {
        let case = cases().new_tree(&mut runner).unwrap().current();
        for done in &case.out.events {
            for plan in &done.plan.segments {
                *seen
                    .entry(format!("{:?} {}", plan.verdict, plan.reason.code()))
                    .or_default() += 1;
            }
            let changed = if done.plan.changes() {
                "event changed"
            } else {
                "event unchanged"
            };
            *seen.entry(changed.into()).or_default() += 1;
            *seen.entry("values only in reasoning".into()).or_default() +=
                done.plan.survival.only_in_reasoning;
            *seen.entry("values lost".into()).or_default() += done.plan.survival.lost.len();
        }
    }
    println!("{seen:#?}");
    for wanted in [
        "Delete covered",
        "Evidence covered_but_only_here",
        "Evidence sensitive",
        "Keep evidence_too_long",
        "Keep no_saving",
        "Keep sensitive_without_value",
        "Frozen copies_disagree",
        "Frozen reasoning_details",
        "Frozen unclosed_think",
        "Invisible hidden_by_template",
        "event changed",
        "event unchanged",
        "values only in reasoning",
        "values lost",
    ] {
        assert!(
            seen.get(wanted).is_some_and(|n| *n >= 20),
            "{wanted}: {seen:#?}"
        );
    }
}
