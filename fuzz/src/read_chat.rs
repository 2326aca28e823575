//! Any run: read or refused in words; an edit of its reasoning is undone byte for byte; a plan with made-up decisions names every
//! candidate once, is known again in the pruned text and is not made twice.

use std::ops::Range;

use serde_json::Value;
use spare::formats::{Edit, apply, openai_chat};
use spare::plan::{
    EventInput, PlanOptions, Receipt, TextHash, Trigger, Verdict, build, events, restore,
};
use spare::rules::Decision;
use spare::score::{EventScores, SegmentScores};
use spare::summary::{Sigma, SummaryTool};
use spare::trajectory::{Segment, VisibleText, segments};

use super::dice::Dice;

pub fn read_chat(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    // serde_json reads an object with this key as the JSON inside its string.
    if text.contains("serde_json") || text.contains('\\') && text.contains("private") {
        return;
    }
    let run = match openai_chat::read(text) {
        Ok(run) => run,
        Err(error) => {
            assert!(!error.to_string().is_empty());
            return;
        }
    };
    assert!(!run.to_json().is_empty());
    let mut dice = Dice::of(data);
    for visible in [VisibleText::Auto, VisibleText::Prune, VisibleText::Keep] {
        let all = segments(&run, visible);
        edit_some(text, &all, &mut dice);
        for trigger in [
            Trigger::Model,
            Trigger::PreAnswer,
            Trigger::Fixed(1 + dice.below(3)),
        ] {
            let keep_atoms = dice.one_in(2);
            let given = dice.one_in(2).then(|| format!("seen {}", dice.text(text)));
            prune_once(
                text,
                visible,
                trigger,
                given.as_deref(),
                keep_atoms,
                &mut dice,
            );
        }
    }
}

fn edit_some(text: &str, all: &[Segment], dice: &mut Dice) {
    let mut edits = Vec::new();
    for segment in all.iter().filter(|s| s.frozen.is_none()) {
        assert!(!segment.text.trim().is_empty());
        if dice.one_in(2) {
            let new = dice.text(text);
            edits.extend(segment.places.iter().map(|place| Edit::Text {
                place: place.clone(),
                text: new.clone(),
            }));
        }
    }
    let after = change(text, &edits);
    let mut wanted: Value = serde_json::from_str(text).expect("it was read");
    for edit in &edits {
        let Edit::Text { place, text } = edit else {
            continue;
        };
        let Some(Value::String(old)) = wanted.pointer_mut(&place.pointer) else {
            panic!("no string")
        };
        old.replace_range(place.range.clone(), text);
    }
    assert_eq!(serde_json::from_str::<Value>(&after).ok(), Some(wanted));
}

/// The edited text, after a round trip through `restore`.
fn change(text: &str, edits: &[Edit]) -> String {
    let (after, replaced) = apply(text, edits).expect("segments have places");
    let receipt = Receipt {
        schema: 1,
        before: TextHash::of(text),
        after: TextHash::of(&after),
        replaced,
        ..Receipt::default()
    };
    assert_eq!(restore(&after, &receipt).as_deref(), Ok(text));
    after
}

fn words(text: &str) -> Vec<Range<usize>> {
    let start = |word: &str| word.as_ptr() as usize - text.as_ptr() as usize;
    text.split_whitespace()
        .map(|w| start(w)..start(w) + w.len())
        .collect()
}

fn count(text: &str) -> usize {
    text.split_whitespace().count()
}

fn prune_once(
    text: &str,
    visible: VisibleText,
    trigger: Trigger,
    given: Option<&str>,
    keep_atoms: bool,
    dice: &mut Dice,
) {
    let tool = SummaryTool::default();
    let run = openai_chat::read(text).expect("it was read before");
    let all = segments(&run, visible);
    let before = events(&run, &all, trigger, &tool, given.is_some());
    let options = PlanOptions {
        keep_atoms,
        ..PlanOptions::default()
    };
    let mut edits = Vec::new();
    let mut changed = vec![false; before.len()];
    for event in &before {
        let sigma = given.map(Sigma::given).or_else(|| event.recorded.clone());
        let Some(sigma) = sigma.filter(|_| !event.decided && !event.candidates.is_empty()) else {
            continue;
        };
        let history = openai_chat::read(&change(text, &edits)).expect("it is still a run");
        let shown = event
            .candidates
            .iter()
            .map(|i| &all[*i])
            .filter(|s| s.frozen.is_none());
        let (mut scores, mut decisions) = (EventScores::default(), Vec::new());
        for segment in shown {
            let spans = words(&segment.text);
            let tokens = (0..spans.len()).filter(|_| dice.one_in(3)).collect();
            decisions.push(Decision {
                segment: segment.index,
                sensitive: dice.one_in(2),
                tokens,
                needed: 2,
            });
            scores.segments.push(SegmentScores {
                segment: segment.index,
                token_ids: vec![0; spans.len()],
                spans,
                ..SegmentScores::default()
            });
        }
        let input = EventInput {
            run: &history,
            event,
            segments: &all,
            sigma: &sigma,
            scores: &scores,
            decisions: &decisions,
            hidden: &[],
            count: &count,
            writer: None,
        };
        let plan = build(&input, &options);
        let named: Vec<usize> = plan.segments.iter().map(|s| s.segment).collect();
        assert_eq!(named, event.candidates);
        assert!(
            !keep_atoms || plan.survival.lost.is_empty(),
            "lost {:?}",
            plan.survival.lost
        );
        for entry in &plan.segments {
            let stays = matches!(
                entry.verdict,
                Verdict::Keep | Verdict::Frozen | Verdict::Invisible
            );
            assert_eq!(entry.text.is_none(), stays);
            let places = &all[entry.segment].places;
            edits.extend(entry.text.iter().flat_map(|new| {
                places.iter().map(|place| Edit::Text {
                    place: place.clone(),
                    text: new.clone(),
                })
            }));
        }
        changed[event.index] = plan.changes();
    }
    let after = openai_chat::read(&change(text, &edits)).expect("it is still a run");
    let left = segments(&after, visible);
    for segment in &left {
        assert!(
            all.iter()
                .any(|s| s.message == segment.message && s.text == segment.text),
            "{:?}",
            segment.text
        );
    }
    let again = events(&after, &left, trigger, &tool, given.is_some());
    assert_eq!(again.len(), before.len());
    for ((now, old), changed) in again.iter().zip(&before).zip(changed) {
        assert_eq!((now.at, now.decided), (old.at, old.decided || changed));
    }
}
