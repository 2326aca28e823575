//! From a rule's decisions to a total plan of one event: every candidate named once, with its verdict, its reason and its new text.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::ops::Range;

use super::event::Event;
use super::reason::{Reason, Verdict};
use super::space::box_space;
use super::survival::{Correction, Survival, content_around, only_in_reasoning};
use crate::evidence::{
    Anchored, Evidence, HEADER, Layout, Line, Mark, Source, anchored, check, extract_within, fill,
    own_words, render,
};
use crate::rules::{Decision, Superseded};
use crate::score::EventScores;
use crate::summary::{Sigma, SigmaSource};
use crate::trajectory::{Haystack, Segment, SegmentKind, Trajectory, atoms, is_free_of_tags};

/// The plan for one candidate.
#[derive(Clone, Debug, PartialEq)]
pub struct SegmentPlan {
    /// The segment's number in the run.
    pub segment: usize,
    /// What becomes of it.
    pub verdict: Verdict,
    /// Why.
    pub reason: Reason,
    /// Its tokens in the rendered prompt; 0 where it was not scored.
    pub tokens: usize,
    /// Its sensitive tokens, as indexes.
    pub sensitive: Vec<usize>,
    /// Sensitive tokens that were needed.
    pub needed: usize,
    /// What replaces it, decoded; None leaves it.
    pub text: Option<String>,
    /// Whether somebody wrote the evidence, rather than rules over the text.
    pub written: bool,
    /// The lines of evidence that stand in `text`, with where their values were read.
    pub evidence: Vec<Line>,
    /// Values that are no evidence, since the summary corrects them.
    pub superseded: Vec<Superseded>,
}

/// Settings of [`build`].
#[derive(Clone, Debug, PartialEq)]
pub struct PlanOptions {
    /// Keep every value that would otherwise be lost as evidence.
    pub keep_atoms: bool,
    /// Evidence longer than this share of the segment's tokens is not evidence.
    pub evidence_limit: f64,
}

impl Default for PlanOptions {
    fn default() -> Self {
        Self {
            keep_atoms: false,
            evidence_limit: 0.6,
        }
    }
}

/// The plan for one event.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct EventPlan {
    /// One entry a candidate, in order.
    pub segments: Vec<SegmentPlan>,
    /// Values that would stand nowhere afterwards.
    pub survival: Survival,
    /// Tokens of the evidence and marks that are written.
    pub evidence_tokens: usize,
    /// Tokens of a summary that had to be written into the history.
    pub summary_tokens: usize,
}

impl EventPlan {
    /// Whether anything changes.
    pub fn changes(&self) -> bool {
        self.segments.iter().any(|s| s.text.is_some())
    }

    /// Tokens of the candidates' reasoning that was scored.
    pub fn reasoning_tokens(&self) -> usize {
        self.segments.iter().map(|s| s.tokens).sum()
    }
}

/// What is known of an event when its plan is made.
pub struct EventInput<'a> {
    /// The history as it stands at the event.
    pub run: &'a Trajectory,
    /// The event.
    pub event: &'a Event,
    /// All segments of the run, by number.
    pub segments: &'a [Segment],
    /// The summary.
    pub sigma: &'a Sigma,
    /// Scores of the visible candidates.
    pub scores: &'a EventScores,
    /// The rule's decisions on them.
    pub decisions: &'a [Decision],
    /// Candidates that the template does not show.
    pub hidden: &'a [usize],
    /// Tokens of a text, by the engine's tokenizer.
    pub count: &'a dyn Fn(&str) -> usize,
    /// Writes evidence for a segment; what it writes counts only if it is faithful and short enough, else rules over the text do it.
    pub writer: Option<&'a Writer<'a>>,
}

/// Somebody who writes evidence, such as the loaded model; None where nothing came of it.
pub type Writer<'a> = dyn Fn(&Source<'_>) -> Option<Evidence> + 'a;

/// Makes the plan. Total: every candidate is named once.
pub fn build(input: &EventInput<'_>, options: &PlanOptions) -> EventPlan {
    let candidates: Vec<&Segment> = input
        .event
        .candidates
        .iter()
        .filter_map(|index| input.segments.get(*index))
        .collect();
    let only = only_in_reasoning(input.run, input.event.at, &candidates, input.hidden);
    let mut plans: Vec<SegmentPlan> = candidates.iter().map(|s| first_verdict(input, s)).collect();

    let read = anchored(input.run, input.event.at);
    // Values still to be kept: newest mention first, so that a value stands once, where it was settled.
    let mut open: Vec<&String> = only.iter().collect();
    settle(&mut open, &input.sigma.text);
    for (plan, segment) in plans.iter().zip(&candidates) {
        if plan.text.is_none() && plan.verdict != Verdict::Invisible {
            settle(&mut open, &segment.text);
        }
    }
    for (plan, segment) in plans.iter_mut().zip(&candidates).rev() {
        if plan.text.is_none() {
            continue;
        }
        let keep: Vec<&str> = if options.keep_atoms {
            let own = Haystack::new(&segment.text);
            let held = open.iter().filter(|atom| own.holds(atom));
            held.map(|a| a.as_str()).collect()
        } else {
            Vec::new()
        };
        rebuild(input, segment, (&candidates, &read), plan, &keep, options);
        settle(&mut open, &stays(input.run, segment, plan));
    }
    finish(input, &candidates, only, plans)
}

/// Takes out the values that stand in `text`.
fn settle(values: &mut Vec<&String>, text: &str) {
    let text = Haystack::new(text);
    values.retain(|atom| !text.holds(atom));
}

/// What stands where the segment stood, without marks.
fn stays<'a>(run: &Trajectory, segment: &'a Segment, plan: &'a SegmentPlan) -> Cow<'a, str> {
    match &plan.text {
        Some(text) => own_words(text, box_space(run, segment.message).as_ref()),
        None => Cow::Borrowed(&segment.text),
    }
}

fn first_verdict(input: &EventInput<'_>, segment: &Segment) -> SegmentPlan {
    let mut plan = SegmentPlan {
        segment: segment.index,
        verdict: Verdict::Invisible,
        reason: Reason::Hidden,
        tokens: 0,
        sensitive: Vec::new(),
        needed: 0,
        text: None,
        written: false,
        evidence: Vec::new(),
        superseded: Vec::new(),
    };
    if let Some(scored) = input
        .scores
        .segments
        .iter()
        .find(|s| s.segment == segment.index)
    {
        plan.tokens = scored.token_ids.len();
    }
    if let Some(rule) = segment.frozen {
        (plan.verdict, plan.reason) = (Verdict::Frozen, Reason::Frozen(rule));
        return plan;
    }
    let decision = input.decisions.iter().find(|d| d.segment == segment.index);
    if let Some(decision) = decision.filter(|_| !input.hidden.contains(&segment.index)) {
        (plan.verdict, plan.reason) = if decision.sensitive {
            (Verdict::Evidence, Reason::Sensitive)
        } else {
            (Verdict::Delete, Reason::Covered)
        };
        plan.sensitive.clone_from(&decision.tokens);
        plan.needed = decision.needed;
        plan.superseded.clone_from(&decision.superseded);
        plan.text = Some(String::new());
    }
    plan
}

/// Turns a provisional verdict into a final one, with its text.
fn rebuild(
    input: &EventInput<'_>,
    segment: &Segment,
    (candidates, read): (&[&Segment], &[Anchored]),
    plan: &mut SegmentPlan,
    keep: &[&str],
    options: &PlanOptions,
) {
    let found = atoms(&segment.text);
    let keep: HashSet<&str> = keep.iter().copied().collect();
    let only_here: Vec<usize> = (0..found.len())
        .filter(|index| {
            found
                .get(*index)
                .is_some_and(|atom| keep.contains(atom.text(&segment.text)))
        })
        .collect();
    let spans: Vec<Range<usize>> = input
        .scores
        .segments
        .iter()
        .find(|s| s.segment == segment.index)
        .map(|s| {
            plan.sensitive
                .iter()
                .filter_map(|k| s.spans.get(*k).cloned())
                .collect()
        })
        .unwrap_or_default();
    let (call, visible) = beside(input.run, segment, candidates);
    let superseded: Vec<usize> = plan.superseded.iter().map(|s| s.atom).collect();
    let mut source = Source {
        text: &segment.text,
        // Covered words leave nothing; but what becomes evidence holds every sensitive value.
        sensitive: if plan.verdict == Verdict::Evidence || !only_here.is_empty() {
            &spans
        } else {
            &[]
        },
        call: &call,
        visible: &visible,
        only_here: &only_here,
        superseded: &superseded,
        space: box_space(input.run, segment.message),
    };
    let limit = options.evidence_limit * plan.tokens as f64;
    let mut fitted = fit(&source, limit, input.count);
    let whole = 0..segment.text.len();
    if plan.verdict == Verdict::Evidence && matches!(&fitted, Ok(evidence) if evidence.is_empty()) {
        // Sensitive in words only: its values are what evidence can carry.
        source.sensitive = std::slice::from_ref(&whole);
        fitted = fit(&source, limit, input.count);
        if matches!(&fitted, Ok(evidence) if evidence.is_empty()) {
            (plan.verdict, plan.reason, plan.text) = (Verdict::Keep, Reason::NoValue, None);
            return;
        }
    }
    if plan.verdict == Verdict::Evidence
        && let Some(evidence) = input.writer.and_then(|write| write(&source))
        && !evidence.is_empty()
        && check(&source, &evidence.lines).is_ok()
        && (input.count)(&render(&evidence, Mark { pruned: None }, None)) as f64 <= limit
    {
        plan.written = true;
        fitted = Ok(evidence);
    }
    match fitted {
        Err(evidence) => {
            (plan.verdict, plan.reason, plan.text) =
                (Verdict::Keep, Reason::EvidenceTooLong { evidence }, None);
        }
        Ok(evidence) if evidence.is_empty() && segment.may_be_empty => {
            plan.text = Some(String::new());
        }
        Ok(evidence) if evidence.is_empty() => {
            if (input.count)(HEADER) < plan.tokens {
                plan.text = Some(HEADER.to_owned());
            } else {
                (plan.verdict, plan.reason, plan.text) = (Verdict::Keep, Reason::NoSaving, None);
            }
        }
        Ok(mut evidence) => {
            if plan.verdict == Verdict::Delete {
                (plan.verdict, plan.reason) = (Verdict::Evidence, Reason::OnlyHere);
            }
            let text = render(&evidence, Mark { pruned: None }, None);
            if may_stand(segment, &text) {
                plan.text = Some(text);
                fill(&mut evidence, read, segment.message);
                plan.evidence = evidence.lines;
            } else {
                (plan.verdict, plan.reason, plan.text) = (Verdict::Keep, Reason::NoPlace, None);
            }
        }
    }
}

/// Whether the message is read as before with `text` in the segment's place.
fn may_stand(segment: &Segment, text: &str) -> bool {
    segment.kind == SegmentKind::Field || is_free_of_tags(text)
}

/// Ways of writing evidence, tried in turn until it is short enough. Never bare values: "9" alone says something else than "it looks like 9".
fn layouts() -> impl Iterator<Item = Layout> {
    Layout::ALL.into_iter().filter(|layout| layout.words > 0)
}

/// Evidence of at most `limit` tokens with as much context as fits; its smallest size where nothing does.
fn fit(source: &Source<'_>, limit: f64, count: &dyn Fn(&str) -> usize) -> Result<Evidence, usize> {
    let mut smallest = usize::MAX;
    for layout in layouts() {
        let evidence = extract_within(source, layout);
        let cost = if evidence.is_empty() {
            0
        } else {
            count(&render(&evidence, Mark { pruned: None }, None))
        };
        if cost as f64 <= limit {
            return Ok(evidence);
        }
        smallest = smallest.min(cost);
    }
    Err(smallest)
}

/// What stays in the same turn: its calls, and its visible text without any candidate of the event.
fn beside(run: &Trajectory, segment: &Segment, candidates: &[&Segment]) -> (String, String) {
    let Some(message) = run.messages.get(segment.message) else {
        return Default::default();
    };
    let calls: Vec<String> = message
        .calls
        .iter()
        .map(|c| format!("{} {}", c.name, c.arguments_text()))
        .collect();
    let visible = content_around(message, segment.message, candidates);
    (calls.join("\n"), visible.join("\n"))
}

/// Values whose every mention in an edited segment the summary corrects, and what it says instead.
fn corrected<'s>(plans: &[SegmentPlan], candidates: &[&'s Segment]) -> HashMap<&'s str, String> {
    let (mut out, mut valid) = (HashMap::new(), HashSet::new());
    for (plan, segment) in plans.iter().zip(candidates) {
        for (index, atom) in atoms(&segment.text).iter().enumerate() {
            let value = atom.text(&segment.text);
            match plan.superseded.iter().find(|s| s.atom == index) {
                Some(found) => {
                    out.insert(value, found.by.clone());
                }
                None => {
                    valid.insert(value);
                }
            }
        }
    }
    out.retain(|value, _| !valid.contains(value));
    out
}

/// Marks the event, writes a summary that stands nowhere else, and counts what is lost.
fn finish(
    input: &EventInput<'_>,
    candidates: &[&Segment],
    only: Vec<String>,
    mut plans: Vec<SegmentPlan>,
) -> EventPlan {
    let pruned = plans.iter().filter(|p| p.text.is_some()).count();
    let total = plans.len();
    let mut summary_tokens = 0;
    let mut undo = None;
    let edited = plans.iter_mut().zip(candidates).rev();
    if let Some((last, segment)) = edited.into_iter().find(|(p, _)| p.text.is_some()) {
        let old = last.text.take().unwrap_or_default();
        let lines = old
            .strip_prefix(HEADER)
            .unwrap_or(&old)
            .trim_start_matches('\n');
        let inserted =
            (input.sigma.source != SigmaSource::Call).then_some(input.sigma.text.as_str());
        let mark = render(
            &Evidence::default(),
            Mark {
                pruned: Some((pruned, total)),
            },
            inserted,
        );
        if let Some(state) = inserted {
            summary_tokens = (input.count)(state.trim());
        }
        let text = if lines.is_empty() {
            mark
        } else {
            format!("{mark}\n{lines}")
        };
        // Nothing may go where the summary cannot stand.
        undo = (!may_stand(segment, &text)).then_some(Reason::NoPlace);
        last.text = Some(text);
    }
    let written: usize = plans
        .iter()
        .filter_map(|p| p.text.as_deref())
        .map(|t| (input.count)(t))
        .sum();
    let removed: usize = plans
        .iter()
        .filter(|p| p.text.is_some())
        .map(|p| p.tokens)
        .sum();
    if pruned > 0 && written >= removed {
        undo = undo.or(Some(Reason::NoSaving));
    }
    if let Some(reason) = undo {
        for plan in plans.iter_mut().filter(|p| p.text.is_some()) {
            (plan.verdict, plan.reason, plan.text) = (Verdict::Keep, reason.clone(), None);
            plan.evidence.clear();
        }
        summary_tokens = 0;
    }
    let changes = plans.iter().any(|p| p.text.is_some());
    let mut after: Vec<Cow<'_, str>> = plans
        .iter()
        .zip(candidates)
        .filter(|(plan, _)| plan.verdict != Verdict::Invisible)
        .map(|(plan, segment)| stays(input.run, segment, plan))
        .collect();
    if input.sigma.source == SigmaSource::Call {
        after.push(Cow::Borrowed(&input.sigma.text));
    }
    let mut lost: Vec<&String> = only.iter().collect();
    for text in after {
        settle(&mut lost, &text);
    }
    let corrected = corrected(&plans, candidates);
    let (superseded, lost): (Vec<&String>, Vec<&String>) = lost
        .into_iter()
        .partition(|value| corrected.contains_key(value.as_str()));
    let by = |value: &String| Correction {
        value: value.clone(),
        by: corrected.get(value.as_str()).cloned().unwrap_or_default(),
    };
    EventPlan {
        survival: Survival {
            only_in_reasoning: only.len(),
            superseded: superseded.into_iter().map(by).collect(),
            lost: lost.into_iter().cloned().collect(),
        },
        evidence_tokens: if changes {
            written.saturating_sub(summary_tokens)
        } else {
            0
        },
        summary_tokens,
        segments: plans,
    }
}
