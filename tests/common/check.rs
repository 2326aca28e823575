//! What must hold for every record of every format, however it is pruned.
#![allow(dead_code, clippy::unwrap_used)]

use serde_json::Value;
use spare::formats::parse;
use spare::plan::restore;
use spare::trajectory::{Message, Part, Role, Segment};

use super::prune::{Pruned, Said, Settings, prune, read, words};

/// Prunes a record with a summary from outside, words as tokens; `sensitive` says of each segment whether every word of it is. Then what must hold
/// for every record of every format: an edit can be undone, the pruned run is of its format, a second pruning changes nothing, no value is lost, only reasoning changes.
pub fn check(text: &str, sigma: Option<&str>, sensitive: &dyn Fn(&Segment) -> bool) -> Pruned {
    let settings = Settings {
        given: sigma.map(str::to_owned),
        split: words,
        ..Settings::default()
    };
    let all = |s: &Segment, is: bool| {
        let tokens = if is {
            (0..words(&s.text).len()).collect()
        } else {
            Vec::new()
        };
        Said::Shown(is, tokens)
    };
    let pruned = prune(text, &settings, |s| all(s, sensitive(s)));
    assert_eq!(restore(&pruned.after, &pruned.receipt).unwrap(), text);
    let (_, format) = read(&pruned.after);
    assert_eq!(
        format.name(),
        pruned.format,
        "the pruned run is still of its format"
    );
    // What was decided is not decided again, whatever the scores say now; an event that was left alone gets the same scores.
    let left = pruned.plans().into_iter().filter(|p| !p.changes());
    let left: Vec<&Segment> = left
        .flat_map(|p| &p.segments)
        .map(|p| &pruned.segments[p.segment])
        .collect();
    let same = |s: &Segment| {
        left.iter()
            .find(|l| (l.message, l.slot, &l.text) == (s.message, s.slot, &s.text))
    };
    let scores = |s: &Segment| same(s).map_or_else(|| !sensitive(s), |l| sensitive(l));
    let again = prune(&pruned.after, &settings, |s| all(s, scores(s)));
    assert_eq!(again.after, pruned.after, "pruning again changes nothing");
    for plan in pruned.plans() {
        assert_eq!(plan.survival.lost, Vec::<String>::new());
    }
    only_reasoning_changed(text, &pruned);
    pruned
}

/// Calls, results, people's words and pictures stay, and what is signed or encrypted is exact or absent.
pub fn only_reasoning_changed(text: &str, pruned: &Pruned) {
    let (before, after) = (read(text).0, read(&pruned.after).0);
    assert_eq!(before.messages.len(), after.messages.len());
    assert_eq!(before.tools, after.tools);
    for (old, new) in before.messages.iter().zip(&after.messages) {
        assert_eq!((old.role, &old.calls), (new.role, &new.calls));
        assert_eq!(old.answers, new.answers);
        let pictures = old.pictures().map(|p| &p.source);
        assert!(pictures.eq(new.pictures().map(|p| &p.source)));
        if old.role != Role::Assistant {
            assert_eq!(shown(old), shown(new));
        }
    }
    let (mut old, mut new) = (Vec::new(), Vec::new());
    bound(&parse(text).unwrap(), &mut old);
    bound(&parse(&pruned.after).unwrap(), &mut new);
    let mut rest = old.iter();
    assert!(
        new.iter().all(|object| rest.any(|known| known == object)),
        "{}",
        pruned.after
    );
}

/// What a message says, wherever in the file it stands.
fn shown(message: &Message) -> Vec<String> {
    let part = |part: &Part| match part {
        Part::Text(text) => text.text.clone(),
        Part::Picture(picture) => format!("{:?}", picture.source),
        other => format!("{other:?}"),
    };
    message.parts.iter().map(part).collect()
}

/// Objects that a signature or encrypted content binds, as text.
fn bound(value: &Value, out: &mut Vec<String>) {
    const KEYS: [&str; 4] = [
        "signature",
        "thoughtSignature",
        "thought_signature",
        "encrypted_content",
    ];
    match value {
        Value::Array(items) => items.iter().for_each(|item| bound(item, out)),
        Value::Object(fields) => {
            let text = |key: &str| fields.get(key).and_then(Value::as_str).unwrap_or_default();
            if KEYS.iter().any(|key| !text(key).is_empty()) || text("type") == "redacted_thinking" {
                out.push(value.to_string());
            }
            fields.values().for_each(|item| bound(item, out));
        }
        _ => {}
    }
}
