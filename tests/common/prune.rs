//! A whole pruning without a model: the caller says which segments are sensitive, words count as tokens.
#![allow(dead_code, clippy::unwrap_used)]

use std::ops::Range;

use spare::formats::{self, Edit, WireFormat, provider};
use spare::plan::{EventInput, EventPlan, PlanOptions, Receipt, TextHash, Trigger, build, events};
use spare::rules::Decision;
use spare::score::{EventScores, SegmentScores};
use spare::summary::{Sigma, SummaryTool};
use spare::trajectory::{Segment, Trajectory, VisibleText, segments};

pub struct Pruned {
    pub format: &'static str,
    pub segments: Vec<Segment>,
    pub plans: Vec<EventPlan>,
    pub text: String,
    pub receipt: Receipt,
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

/// Byte ranges of the words of a text.
pub fn words(text: &str) -> Vec<Range<usize>> {
    let start = |word: &str| word.as_ptr() as usize - text.as_ptr() as usize;
    text.split_whitespace().map(|w| start(w)..start(w) + w.len()).collect()
}

/// Prunes a record with a summary from outside; `sensitive` says of each segment whether every word of it is.
pub fn prune(text: &str, sigma: Option<&str>, options: &PlanOptions, sensitive: &dyn Fn(&Segment) -> bool) -> Pruned {
    let (mut run, format) = read(text);
    let segments = segments(&run, VisibleText::Auto);
    let events = events(&run, &segments, Trigger::Model, &SummaryTool::default(), sigma.is_some());
    let (mut plans, mut edits) = (Vec::new(), Vec::new());
    for event in events.iter().filter(|e| !e.decided && !e.candidates.is_empty()) {
        let Some(sigma) = sigma.map(Sigma::given).or_else(|| event.recorded.clone()) else { continue };
        let (mut scores, mut decisions) = (EventScores::default(), Vec::new());
        for segment in event.candidates.iter().map(|i| &segments[*i]).filter(|s| s.frozen.is_none()) {
            let spans = words(&segment.text);
            let tokens = if sensitive(segment) { (0..spans.len()).collect() } else { Vec::new() };
            decisions.push(Decision { segment: segment.index, sensitive: sensitive(segment), tokens, needed: 2 });
            scores.segments.push(SegmentScores {
                segment: segment.index,
                token_ids: vec![0; spans.len()],
                spans,
                ..SegmentScores::default()
            });
        }
        let input = EventInput {
            run: &run,
            event,
            segments: &segments,
            sigma: &sigma,
            scores: &scores,
            decisions: &decisions,
            hidden: &[],
            count: &|text| text.split_whitespace().count(),
        };
        let plan = build(&input, options);
        for (s, new) in plan.segments.iter().filter_map(|p| Some((&segments[p.segment], p.text.as_ref()?))) {
            edits.extend(format.edits(s, new));
            set(&mut run, s, new);
        }
        plans.push(plan);
    }
    let (after, replaced) = formats::apply(text, &edits).unwrap();
    let receipt = Receipt { schema: 1, before: TextHash::of(text), after: TextHash::of(&after), replaced, ..Receipt::default() };
    Pruned { format: format.name(), segments, plans, text: after, receipt }
}

/// What later events see of an edit.
fn set(run: &mut Trajectory, segment: &Segment, new: &str) {
    use spare::trajectory::{Part, Slot};
    let message = &mut run.messages[segment.message];
    let text = match segment.slot {
        Slot::Reasoning(i) => &mut message.reasoning[i].text,
        Slot::Part(i) => match &mut message.parts[i] {
            Part::Text(text) => &mut text.text,
            _ => return,
        },
    };
    text.replace_range(segment.range.clone(), new);
}

/// The edits of a format as a check on itself: no edit without a place.
pub fn touched(edits: &[Edit]) -> Vec<&str> {
    edits.iter().map(Edit::pointer).collect()
}

/// What must hold for every record of every format: unedited text comes back, an edit can be undone, and a second pruning changes nothing.
/// Returns the pruned text.
pub fn check(text: &str, sigma: Option<&str>, sensitive: &dyn Fn(&Segment) -> bool) -> Pruned {
    let pruned = prune(text, sigma, &PlanOptions::default(), sensitive);
    assert_eq!(spare::plan::restore(&pruned.text, &pruned.receipt).unwrap(), text);
    let (_, format) = read(&pruned.text);
    assert_eq!(format.name(), pruned.format, "the pruned run is still of its format");
    // Where an event was left as it was nothing marks it, so only the same scores decide the same; a marked one holds against any.
    let marked = pruned.plans.iter().all(EventPlan::changes);
    let again = prune(&pruned.text, sigma, &PlanOptions::default(), &|s| sensitive(s) != marked);
    assert_eq!(again.text, pruned.text, "pruning again changes nothing");
    for plan in &pruned.plans {
        assert_eq!(plan.survival.lost, Vec::<String>::new());
    }
    pruned
}
