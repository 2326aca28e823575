//! The way of a run without a model: events, made-up scores, plan, edits, receipt. Follows `Pruner` step by step.

use std::ops::Range;

use spare::formats::{Edit, apply, openai_chat};
use spare::plan::{
    Event, EventInput, EventPlan, EventReceipt, PlanOptions, Receipt, TextHash, Trigger, build,
    events,
};
use spare::rules::Decision;
use spare::score::{EventScores, SegmentScores};
use spare::summary::{Sigma, SummaryTool};
use spare::trajectory::{Segment, VisibleText, segments};

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

/// What the test's rule says of one segment: not shown, or (sensitive, sensitive tokens).
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
    pub segments: Vec<Segment>,
    pub events: Vec<Done>,
    pub edits: Vec<Edit>,
    pub after: String,
    pub receipt: Receipt,
}

pub struct Settings {
    pub trigger: Trigger,
    pub visible: VisibleText,
    pub given: Option<String>,
    pub plan: PlanOptions,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            trigger: Trigger::Model,
            visible: VisibleText::Auto,
            given: None,
            plan: PlanOptions::default(),
        }
    }
}

/// Prunes a text with a rule of the test.
pub fn prune(text: &str, settings: &Settings, rule: &dyn Fn(&Segment) -> Said) -> Pruned {
    let run = openai_chat::read(text).unwrap();
    let all = segments(&run, settings.visible);
    let given = settings.given.is_some();
    let tool = SummaryTool::default();
    let mut out = Pruned {
        events: Vec::new(),
        edits: Vec::new(),
        after: text.to_owned(),
        receipt: Receipt::default(),
        segments: all.clone(),
    };
    for event in events(&run, &all, settings.trigger, &tool, given) {
        // Later events see the edits of earlier ones.
        let history = openai_chat::read(&out.after).unwrap();
        let sigma = match &settings.given {
            Some(text) => Some(Sigma::given(text.trim())),
            None => event.recorded.clone(),
        };
        let mut done = Done {
            sigma,
            decisions: Vec::new(),
            hidden: Vec::new(),
            plan: EventPlan::default(),
            event,
        };
        if let Some(sigma) = done.sigma.clone().filter(|s| !s.text.trim().is_empty())
            && !done.event.decided
            && !done.event.candidates.is_empty()
        {
            let mut scores = EventScores::default();
            for segment in done
                .event
                .candidates
                .iter()
                .map(|i| &all[*i])
                .filter(|s| s.frozen.is_none())
            {
                match rule(segment) {
                    Said::Hidden => done.hidden.push(segment.index),
                    Said::Shown(sensitive, chosen) => {
                        let spans = tokens(&segment.text);
                        done.decisions.push(Decision {
                            segment: segment.index,
                            sensitive,
                            tokens: chosen,
                            needed: 2,
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
                run: &history,
                event: &done.event,
                segments: &all,
                sigma: &sigma,
                scores: &scores,
                decisions: &done.decisions,
                hidden: &done.hidden,
                count: &count,
                writer: None,
            };
            done.plan = build(&input, &settings.plan);
            for plan in &done.plan.segments {
                let Some(new) = &plan.text else { continue };
                let edit = |place: &spare::trajectory::Place| Edit::Text {
                    place: place.clone(),
                    text: new.clone(),
                };
                out.edits.extend(all[plan.segment].places.iter().map(edit));
            }
            let (after, replaced) = apply(text, &out.edits).unwrap();
            let mut events = std::mem::take(&mut out.receipt.events);
            let mut entry = EventReceipt::default();
            entry.record(&done.plan, |s| all[s].message);
            events.push(entry);
            out.receipt = Receipt {
                schema: 1,
                before: TextHash::of(text),
                after: TextHash::of(&after),
                replaced,
                events,
                ..Receipt::default()
            };
            out.after = after;
        }
        out.events.push(done);
    }
    out
}
