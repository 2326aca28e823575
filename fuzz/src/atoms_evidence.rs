//! Any text: its values lie on borders and occur where they were found, and what is extracted from it is faithful.
//! A line `----` parts the segment from the call of its turn.

use std::ops::Range;

use spare::evidence::{
    BoxOrder, BoxSpace, BoxUnit, Evidence, Layout, Mark, Source, check, extract_within,
    is_evidence, mark, render,
};
use spare::trajectory::{atoms, occurs};

use super::dice::Dice;

pub fn atoms_evidence(data: &[u8]) {
    let Ok(input) = std::str::from_utf8(data) else {
        return;
    };
    let (text, call) = input.split_once("\n----\n").unwrap_or((input, ""));
    let mut dice = Dice::of(data);
    let found = atoms(text);
    let mut last = 0;
    for atom in &found {
        assert!(last <= atom.start && atom.start < atom.end);
        assert!(text.is_char_boundary(atom.start) && text.is_char_boundary(atom.end));
        assert!(occurs(text, atom.text(text)), "{:?}", atom.text(text));
        last = atom.end;
    }
    assert!(last <= text.len());
    let _ = occurs(text, call);

    let chance = 1 + dice.below(4);
    let mut some = |n: usize| -> Vec<usize> { (0..n).filter(|_| dice.one_in(chance)).collect() };
    let (only_here, superseded) = (some(found.len()), some(found.len() / 2));
    let sensitive: Vec<Range<usize>> = some(text.len())
        .into_iter()
        .map(|at| at..at + 1 + at % 5)
        .collect();
    let spaces = [
        None,
        Some(BoxSpace {
            order: Some(BoxOrder::Xyxy),
            unit: Some(BoxUnit::Pixels),
            picture: Some(call.into()),
            picture_size: None,
        }),
    ];
    let source = Source {
        text,
        call,
        visible: &text[dice.range(text)],
        sensitive: &sensitive,
        only_here: &only_here,
        superseded: &superseded,
        space: spaces[dice.below(2)].clone(),
    };
    for words in [12, dice.below(14)] {
        let layout = Layout {
            words,
            labels: dice.one_in(2),
        };
        let evidence = extract_within(&source, layout);
        assert_eq!(check(&source, &evidence.lines), Ok(()), "{evidence:?}");
        let shown = render(&evidence, Mark { pruned: None }, None);
        assert_eq!(shown.split('\n').count(), evidence.lines.len() + 1);
        assert_eq!(is_evidence(&shown), Some(Mark { pruned: None }));
    }
    if let Some(Mark {
        pruned: Some((n, m)),
    }) = is_evidence(text)
    {
        assert_eq!(
            text.trim_start().lines().next().map(str::trim_end),
            Some(mark(n, m).as_str())
        );
    }
    let written = Evidence::from_text(text);
    let _ = check(&source, &written.lines);
}
