//! The way of one run without a model: the caller says what of each segment is sensitive; all else (reading, events, plan, edits, receipt) is the
//! library's. Follows `Pruner` step by step. Tests and fuzz bodies go this way.
#![allow(dead_code, clippy::unwrap_used)]

use std::ops::Range;

use spare::formats::{self, Edit, WireFormat, provider};
use spare::plan::{
    Event, EventInput, EventPlan, EventReceipt, PlanOptions, Receipt, TextHash, Trigger, build,
    events,
};
use spare::rules::Decision;
use spare::score::{EventScores, SegmentScores};
use spare::summary::{Sigma, SummaryTool};
use spare::trajectory::{Segment, Trajectory, VisibleText, segments};

/// What decides beside the caller's rule.
pub struct Settings {
    pub trigger: Trigger,
    pub visible: VisibleText,
    /// A summary from outside.
    pub given: Option<String>,
    pub plan: PlanOptions,
    /// Byte ranges of a text's tokens.
    pub split: fn(&str) -> Vec<Range<usize>>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            trigger: Trigger::Model,
            visible: VisibleText::Auto,
            given: None,
            plan: PlanOptions {
                keep_atoms: true,
                ..PlanOptions::default()
            },
            split: tokens,
        }
    }
}

/// What the caller's rule says of one segment: not shown, or whether it is sensitive, and which of its tokens are.
pub enum Said {
    Hidden,
    Shown(bool, Vec<usize>),
}

/// One event and what came of it.
pub struct Done {
    pub event: Event,
    pub sigma: Option<Sigma>,
    pub decisions: Vec<Decision>,
    pub hidden: Vec<usize>,
    pub plan: EventPlan,
}

/// A pruned run.
pub struct Pruned {
    pub format: &'static str,
    pub segments: Vec<Segment>,
    pub events: Vec<Done>,
    pub edits: Vec<Edit>,
    pub after: String,
    pub receipt: Receipt,
}

impl Pruned {
    /// Plans of the events that were decided.
    pub fn plans(&self) -> Vec<&EventPlan> {
        let plans = self.events.iter().map(|done| &done.plan);
        plans.filter(|plan| !plan.segments.is_empty()).collect()
    }
}

/// Reads a record as `spare prune` does.
pub fn read(text: &str) -> (Trajectory, &'static dyn WireFormat) {
    let value = formats::parse(text).unwrap();
    let format = formats::format_of(&value, None).unwrap();
    let mut run = format.read(&value).unwrap();
    for provider in provider::of(format, None).unwrap() {
        provider.freeze(&value, &mut run);
    }
    (run, format)
}

/// Tokens of a text: up to three letters or digits with the white space before them, or one other character.
pub fn tokens(text: &str) -> Vec<Range<usize>> {
    let mut out: Vec<Range<usize>> = Vec::new();
    let (mut start, mut letters) = (0, 0);
    for (at, c) in text.char_indices() {
        let end = at + c.len_utf8();
        if c.is_whitespace() {
            letters = 0;
        } else if c.is_alphanumeric() && letters > 0 && letters < 3 {
            letters += 1;
            if let Some(last) = out.last_mut() {
                last.end = end;
            }
            start = end;
        } else {
            letters = usize::from(c.is_alphanumeric());
            out.push(start..end);
            start = end;
        }
    }
    if start < text.len() {
        out.push(start..text.len());
    }
    out
}

/// How many tokens a text has.
pub fn count(text: &str) -> usize {
    tokens(text).len()
}

/// Byte ranges of the words of a text.
pub fn words(text: &str) -> Vec<Range<usize>> {
    let start = |word: &str| word.as_ptr() as usize - text.as_ptr() as usize;
    text.split_whitespace()
        .map(|w| start(w)..start(w) + w.len())
        .collect()
}

/// Prunes a text that is a run.
pub fn prune(text: &str, settings: &Settings, mut rule: impl FnMut(&Segment) -> Said) -> Pruned {
    let (mut run, format) = read(text);
    let segments = segments(&run, settings.visible);
    let tool = SummaryTool::default();
    let mut out = Pruned {
        format: format.name(),
        segments,
        events: Vec::new(),
        edits: Vec::new(),
        after: text.to_owned(),
        receipt: Receipt::default(),
    };
    let supplied = settings.given.is_some();
    for event in events(&run, &out.segments, settings.trigger, &tool, supplied) {
        let done = decide(&run, &out.segments, event, settings, &mut rule);
        // Later events see the edits of earlier ones.
        for plan in &done.plan.segments {
            if let Some(new) = &plan.text {
                let segment = &out.segments[plan.segment];
                out.edits.extend(format.edits(segment, new));
                run.replace(segment.message, segment.slot, &segment.range, new);
            }
        }
        out.events.push(done);
    }
    let (after, replaced) = formats::apply(text, &out.edits).unwrap();
    out.receipt = Receipt {
        schema: 1,
        before: TextHash::of(text),
        after: TextHash::of(&after),
        replaced,
        ..Receipt::default()
    };
    for done in &out.events {
        let mut entry = EventReceipt::default();
        entry.record(&done.plan, |s| out.segments[s].message);
        out.receipt.events.push(entry);
    }
    out.after = after;
    out
}

fn decide(
    run: &Trajectory,
    segments: &[Segment],
    event: Event,
    settings: &Settings,
    rule: &mut impl FnMut(&Segment) -> Said,
) -> Done {
    let given = settings.given.as_deref().map(|t| Sigma::given(t.trim()));
    let mut done = Done {
        sigma: given.or_else(|| event.recorded.clone()),
        decisions: Vec::new(),
        hidden: Vec::new(),
        plan: EventPlan::default(),
        event,
    };
    let sigma = done.sigma.clone().filter(|s| !s.text.trim().is_empty());
    let Some(sigma) = sigma.filter(|_| !done.event.decided && !done.event.candidates.is_empty())
    else {
        return done;
    };
    let mut scores = EventScores::default();
    let shown = done.event.candidates.iter().map(|i| &segments[*i]);
    for segment in shown.filter(|s| s.frozen.is_none()) {
        let spans = (settings.split)(&segment.text);
        match rule(segment) {
            Said::Hidden => done.hidden.push(segment.index),
            Said::Shown(sensitive, tokens) => {
                done.decisions.push(Decision {
                    segment: segment.index,
                    sensitive,
                    tokens,
                    needed: 2,
                    ..Decision::default()
                });
                scores.segments.push(SegmentScores {
                    segment: segment.index,
                    token_ids: vec![0; spans.len()],
                    spans,
                    ..SegmentScores::default()
                });
            }
        }
    }
    let input = EventInput {
        run,
        event: &done.event,
        segments,
        sigma: &sigma,
        scores: &scores,
        decisions: &done.decisions,
        hidden: &done.hidden,
        count: &|text| (settings.split)(text).len(),
        writer: None,
    };
    done.plan = build(&input, &settings.plan);
    done
}
