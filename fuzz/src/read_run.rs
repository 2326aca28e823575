//! Any text as a run of every format: read or refused in words; every violation names a value that is there; an edit of reasoning changes its
//! own values and is undone byte for byte; a plan with made-up decisions names every candidate once, loses no value that it was to keep, is known
//! again in the pruned text and is not made twice.

use serde_json::Value;
use spare::formats::{self, Edit, FORMATS, WireFormat, provider::PROVIDERS};
use spare::plan::{PlanOptions, Trigger, Verdict, events, restore};
use spare::summary::SummaryTool;
use spare::trajectory::{Segment, VisibleText, segments};

use super::check::only_reasoning_changed;
use super::dice::Dice;
use super::prune::{Said, Settings, prune, read, words};
use super::undone::edited;

pub fn read_run(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    // serde_json reads an object with this key as the JSON inside its string.
    if text.contains("serde_json") || text.contains('\\') && text.contains("private") {
        return;
    }
    let root = match formats::parse(text) {
        Ok(root) => root,
        Err(error) => return assert!(!error.to_string().is_empty()),
    };
    for format in FORMATS {
        let _ = format.detect(&root);
        match format.read(&root) {
            Ok(run) => assert!(!run.to_json().is_empty()),
            Err(error) => assert!(!error.to_string().is_empty()),
        }
    }
    for violation in PROVIDERS.iter().flat_map(|p| p.check(&root)) {
        assert!(root.pointer(&violation.path).is_some(), "{violation}");
    }
    let own = formats::format_of(&root, None).expect("no name was given");
    if own.read(&root).is_err() {
        return;
    }
    let mut dice = Dice::of(data);
    for visible in [VisibleText::Auto, VisibleText::Prune, VisibleText::Keep] {
        let (run, format) = read(text);
        edit_some(text, format, &segments(&run, visible), &mut dice);
        for trigger in [
            Trigger::Model,
            Trigger::PreAnswer,
            Trigger::Fixed(1 + dice.below(3)),
        ] {
            let settings = Settings {
                trigger,
                visible,
                given: dice.one_in(2).then(|| format!("seen {}", dice.text(text))),
                plan: PlanOptions {
                    keep_atoms: dice.one_in(2),
                    ..PlanOptions::default()
                },
                split: words,
            };
            prune_once(text, &settings, &mut dice);
        }
    }
}

/// Exchanges the text of some segments.
fn edit_some(text: &str, format: &dyn WireFormat, all: &[Segment], dice: &mut Dice) {
    let mut edits = Vec::new();
    for segment in all.iter().filter(|s| s.frozen.is_none()) {
        assert!(!segment.text.trim().is_empty());
        if dice.one_in(2) {
            edits.extend(format.edits(segment, &dice.text(text)));
        }
    }
    let after = edited(text, &edits);
    let mut wanted = formats::parse(text).expect("it was read");
    // From the last on, so that the places of the others hold.
    let start = |edit: &&Edit| match edit {
        Edit::Text { place, .. } => place.range.start,
        _ => 0,
    };
    let mut ordered: Vec<&Edit> = edits.iter().collect();
    ordered.sort_by_key(|edit| std::cmp::Reverse(start(edit)));
    ordered.iter().for_each(|edit| change(&mut wanted, edit));
    let mut removed: Vec<(&str, usize)> = edits.iter().filter_map(element).collect();
    removed.sort_unstable_by(|a, b| b.cmp(a));
    removed.dedup();
    for (array, index) in removed {
        let array = wanted.pointer_mut(array).and_then(Value::as_array_mut);
        array.expect("an array").remove(index);
    }
    assert_eq!(formats::parse(&after).ok(), Some(wanted), "{after}");
}

fn change(wanted: &mut Value, edit: &Edit) {
    match edit {
        Edit::Text { place, text } => {
            let Some(Value::String(old)) = wanted.pointer_mut(&place.pointer) else {
                panic!("no string")
            };
            old.replace_range(place.range.clone(), text);
        }
        Edit::Value { pointer, json } => {
            *wanted.pointer_mut(pointer).expect("a value") =
                serde_json::from_str(json).expect("JSON");
        }
        _ => {}
    }
}

fn element(edit: &Edit) -> Option<(&str, usize)> {
    let Edit::Remove { pointer } = edit else {
        return None;
    };
    let (array, index) = pointer.rsplit_once('/')?;
    Some((array, index.parse().ok()?))
}

fn prune_once(text: &str, settings: &Settings, dice: &mut Dice) {
    let out = prune(text, settings, |segment| {
        let tokens = words(&segment.text).len();
        let chosen = (0..tokens).filter(|_| dice.one_in(3)).collect();
        match dice.one_in(8) {
            true => Said::Hidden,
            false => Said::Shown(dice.one_in(2), chosen),
        }
    });
    assert_eq!(restore(&out.after, &out.receipt).as_deref(), Ok(text));
    only_reasoning_changed(text, &out);
    for done in out.events.iter().filter(|d| !d.plan.segments.is_empty()) {
        let plan = &done.plan;
        let named: Vec<usize> = plan.segments.iter().map(|s| s.segment).collect();
        assert_eq!(named, done.event.candidates);
        assert!(
            !settings.plan.keep_atoms || plan.survival.lost.is_empty(),
            "lost {:?}",
            plan.survival.lost
        );
        for entry in &plan.segments {
            let stays = matches!(
                entry.verdict,
                Verdict::Keep | Verdict::Frozen | Verdict::Invisible
            );
            assert_eq!(entry.text.is_none(), stays);
        }
    }
    let (run, format) = read(&out.after);
    assert_eq!(format.name(), out.format);
    let left = segments(&run, settings.visible);
    for segment in &left {
        let same = |s: &Segment| s.message == segment.message && s.text == segment.text;
        assert!(out.segments.iter().any(same), "{:?}", segment.text);
    }
    let supplied = settings.given.is_some();
    let again = events(
        &run,
        &left,
        settings.trigger,
        &SummaryTool::default(),
        supplied,
    );
    assert_eq!(again.len(), out.events.len());
    for (now, done) in again.iter().zip(&out.events) {
        let decided = done.event.decided || done.plan.changes();
        assert_eq!((now.at, now.decided), (done.event.at, decided));
    }
}
