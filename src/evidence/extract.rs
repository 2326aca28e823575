//! Which lines keep the values of a segment, with rules over its text alone?
//!
//! No model: every line is a stretch of the segment, word for word, behind a label that says what kind of value
//! it keeps. Where a line would break a rule of [`super::check()`] the bare value stands instead.

use std::collections::HashSet;
use std::ops::Range;

use super::check::{self, Rules};
use super::lines::Lines;
use super::piece::{Pieces, WORD, pieces};
use super::window::Wanted;
use super::{Evidence, Line, Source, Standing, Texts, space};
use crate::trajectory::atom::{Atom, atoms, occurs};

/// How much stands around the values of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Words a line may hold, unless its values alone are longer; 0 gives bare values.
    pub words: usize,
    /// Whether a line begins with the kind of its value (`Text: `).
    pub labels: bool,
}

impl Layout {
    /// From the most readable to the shortest: a caller with a token limit takes the first that fits. Labels go
    /// first: in a clause they say little, and small tokenizers spend five tokens on one.
    pub const ALL: [Self; 4] = [
        Self {
            words: 12,
            labels: true,
        },
        Self {
            words: 12,
            labels: false,
        },
        Self {
            words: 6,
            labels: false,
        },
        Self {
            words: 0,
            labels: false,
        },
    ];
}

/// Values of fewer bytes mean something only with their context, so each mention is kept, not each value.
const SHORT_BYTES: usize = 4;

/// The lines that must stand where `source.text` stood; none if no value must stay.
#[must_use]
pub fn extract(source: &Source<'_>) -> Evidence {
    let [first, ..] = Layout::ALL;
    extract_within(source, first)
}

/// [`extract`] with less around the values, for a caller with a token limit (see [`Layout::ALL`]).
#[must_use]
pub fn extract_within(source: &Source<'_>, layout: Layout) -> Evidence {
    let text = source.text;
    let atoms = atoms(text);
    let (call, visible) = (Texts::of_call(source.call), Texts::of(source.visible));
    let call = Standing::of(&call);
    let required = source.required_beside(&atoms, &call, &Standing::of(&visible));
    if required.is_empty() {
        return Evidence::default();
    }
    let rules = Rules::new(source, &atoms, &required, &call);
    let flags = |indexes: &[usize]| {
        let mut out = vec![false; atoms.len()];
        for flag in indexes {
            if let Some(flag) = out.get_mut(*flag) {
                *flag = true;
            }
        }
        out
    };
    let (needed, superseded) = (flags(&required), flags(source.superseded));
    let pieces = pieces(text, &atoms);
    let is = |test: &dyn Fn(usize, &Atom) -> bool| -> Vec<bool> {
        let atom = |index: usize| atoms.get(index).is_some_and(|a| test(index, a));
        pieces
            .all
            .iter()
            .map(|p| p.atom.is_some_and(atom))
            .collect()
    };
    let wanted = Wanted {
        text,
        pieces: &pieces,
        required: &is(&|index, _| is_set(&needed, index)),
        barred: &is(&|index, a| {
            !is_set(&needed, index) && (is_set(&superseded, index) || rules.bars(a))
        }),
        limit: WORD.saturating_mul(layout.words),
    };
    let mut out = Writer {
        text,
        rules: &rules,
        labels: layout.labels,
        atoms: &atoms,
        pieces: &pieces,
        lines: Vec::new(),
        shown: Lines::default(),
        seen: HashSet::new(),
    };
    for sentence in &pieces.sentences {
        for window in wanted.windows(sentence) {
            let values: Vec<&Atom> = out
                .atoms_in(&window)
                .filter(|(i, _)| is_set(&needed, *i))
                .map(|(_, a)| a)
                .collect();
            out.write(&window, &values);
        }
    }
    let lines = out.lines.into_iter();
    Evidence {
        lines: lines.map(|text| Line { text, anchor: None }).collect(),
    }
}

fn is_set(flags: &[bool], index: usize) -> bool {
    flags.get(index).copied().unwrap_or(false)
}

struct Writer<'a> {
    text: &'a str,
    rules: &'a Rules<'a>,
    labels: bool,
    atoms: &'a [Atom],
    pieces: &'a Pieces,
    lines: Vec<String>,
    /// What the lines say, without labels and notes.
    shown: Lines,
    seen: HashSet<String>,
}

impl<'a> Writer<'a> {
    fn atoms_in(&self, window: &Range<usize>) -> impl Iterator<Item = (usize, &'a Atom)> + use<'a> {
        let atoms = self.atoms;
        let pieces = self.pieces.all.get(window.clone()).unwrap_or(&[]);
        pieces
            .iter()
            .filter_map(move |p| p.atom.and_then(|i| atoms.get(i).map(|a| (i, a))))
    }

    /// Adds the line of a window that keeps `values`, unless earlier lines keep all of them.
    fn write(&mut self, window: &Range<usize>, values: &[&Atom]) {
        let text = self.text;
        let kept = |value: &str| value.len() >= SHORT_BYTES && self.shown.hold(value);
        if values.iter().all(|a| kept(a.text(text))) {
            return;
        }
        let line = self.line(window, values);
        // The words of the segment may end as a note does, and a value in a note is not kept.
        let shown = self.rules.variable(&line);
        if self.rules.line(&line).is_ok() && values.iter().all(|a| occurs(shown, a.text(text))) {
            self.push(line);
            return;
        }
        for value in values {
            self.push(self.labelled(&[value], &one_line(value.text(text))));
        }
    }

    fn push(&mut self, line: String) {
        if self.seen.insert(line.clone()) {
            self.shown.push(self.rules.variable(&line).to_owned());
            self.lines.push(line);
        }
    }

    fn line(&self, window: &Range<usize>, values: &[&Atom]) -> String {
        let text = self.text;
        let pieces = self.pieces.all.get(window.clone()).unwrap_or(&[]);
        let (start, end) = (
            pieces.first().map_or(0, |p| p.start),
            pieces.last().map_or(0, |p| p.end),
        );
        // marks at the ends go, but never a character of a value
        let first = pieces
            .iter()
            .find(|p| p.atom.is_some())
            .map_or(end, |p| p.start);
        let last = pieces
            .iter()
            .rfind(|p| p.atom.is_some())
            .map_or(start, |p| p.end);
        let head = text.get(start..first).unwrap_or("");
        let tail = text.get(last..end).unwrap_or("");
        let body = text.get(first..last).unwrap_or("");
        let closes = body.contains(')') || tail.contains(')');
        let head = head.trim_start_matches(|c: char| {
            c.is_whitespace() || "*#>-–—•,;:.)]}！。，".contains(c) || (c == '(' && !closes)
        });
        let opens = head.contains('(') || body.contains('(');
        let tail = tail.trim_end_matches(|c: char| {
            c.is_whitespace() || "*,;:.–—([{。，；：、".contains(c) || (c == ')' && !opens)
        });
        self.labelled(values, &one_line(&format!("{head}{body}{tail}")))
    }

    /// `Text: ...`, and behind boxes how to read them.
    fn labelled(&self, values: &[&Atom], shown: &str) -> String {
        let text = self.text;
        let kinds = values.iter().map(|a| (a.kind, space::is_box(a, text)));
        let label = if self.labels { check::label(kinds) } else { "" };
        let boxed = atoms(shown).iter().any(|a| space::is_box(a, shown));
        let note = if boxed {
            format!(" {}", self.rules.note)
        } else {
            String::new()
        };
        format!("{label}{shown}{note}")
    }
}

/// Line breaks and tabs as one space; other spaces as they are.
fn one_line(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        if !c.is_whitespace() {
            out.push(c);
            continue;
        }
        let mut space = String::from(c);
        while let Some(more) = chars.next_if(|c| c.is_whitespace()) {
            space.push(more);
        }
        out.push_str(if space.chars().any(char::is_control) {
            " "
        } else {
            &space
        });
    }
    out
}
