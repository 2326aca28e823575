//! Does restore notice damage? A pruned text or a receipt with one thing wrong never gives a text back. No model.
#![allow(clippy::unwrap_used)]

use spare::formats::Replaced;
use spare::plan::{Receipt, TextHash, restore};

const RUN: &str = r#"{"messages": [{"role": "user", "content": "q"},
 {"role": "assistant", "content": "a", "reasoning_content": "The sign says 4471."},
 {"role": "assistant", "content": "b", "reasoning_content": "The plate says 4477."}]}"#;

/// The run with the first reasoning gone and the second replaced, and its receipt.
fn pruned() -> (String, Receipt) {
    let edits = [
        ("The sign says 4471.", ""),
        ("The plate says 4477.", "Evidence:"),
    ];
    let replaced = edits.map(|(old, new)| Replaced {
        start: RUN.find(old).unwrap(),
        old: old.to_owned(),
        new_len: new.len(),
    });
    let after = edits
        .iter()
        .fold(RUN.to_owned(), |text, (old, new)| text.replace(old, new));
    let receipt = Receipt {
        schema: 1,
        before: TextHash::of(RUN),
        after: TextHash::of(&after),
        replaced: replaced.into(),
        ..Receipt::default()
    };
    (after, receipt)
}

#[test]
fn an_undamaged_pair_restores() {
    let (text, receipt) = pruned();
    assert_eq!(restore(&text, &receipt).unwrap(), RUN);
}

#[test]
fn one_damage_is_enough() {
    type Damage = fn(&mut String, &mut Receipt);
    let damages: [(&str, Damage); 9] = [
        ("another digit in the text", |t, _| *t = t.replace('q', "p")),
        ("a longer text", |t, _| t.push('\n')),
        ("another digit in what was removed", |_, r| {
            r.replaced[0].old = "The sign says 4472.".into()
        }),
        ("what was removed in another order", |_, r| {
            let (first, second) = r.replaced.split_at_mut(1);
            std::mem::swap(&mut first[0].old, &mut second[0].old);
        }),
        ("a range moved by one", |_, r| r.replaced[0].start += 1),
        ("a range before the one in front of it", |_, r| {
            r.replaced[1].start = 0
        }),
        ("a new length off by one", |_, r| r.replaced[1].new_len += 1),
        ("a range forgotten", |_, r| drop(r.replaced.pop())),
        ("another schema", |_, r| r.schema = 2),
    ];
    for (name, damage) in damages {
        let (mut text, mut receipt) = pruned();
        damage(&mut text, &mut receipt);
        assert!(restore(&text, &receipt).is_err(), "{name}");
    }
}
