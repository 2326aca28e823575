//! Where may a segment be cut into sentences, clauses and words without cutting a value or a character?

use std::ops::Range;

use crate::trajectory::atom::{Atom, AtomKind, is_boundary, is_unspaced};

/// What one word counts; a character of a script without spaces counts half a word.
pub(super) const WORD: usize = 2;

/// An atom, or text between atoms without whitespace.
#[derive(Clone, Debug)]
pub(super) struct Piece {
    pub(super) start: usize,
    pub(super) end: usize,
    /// Half words.
    pub(super) weight: usize,
    /// Index of the atom it is.
    pub(super) atom: Option<usize>,
    /// A comma, colon, dash or semicolon ends a clause here.
    pub(super) ends_clause: bool,
    /// It is a number.
    pub(super) is_number: bool,
}

/// A segment in pieces.
pub(super) struct Pieces {
    pub(super) all: Vec<Piece>,
    /// Ranges of `all`, in order, none empty, each behind the other.
    pub(super) sentences: Vec<Range<usize>>,
    /// Half words, and words that are no values, before each piece and at the end.
    sums: Vec<(usize, usize)>,
}

impl Pieces {
    /// Half words in a range of pieces.
    pub(super) fn weight(&self, range: Range<usize>) -> usize {
        self.sum(range).0
    }

    /// Words in a range of pieces that are no values.
    pub(super) fn words(&self, range: Range<usize>) -> usize {
        self.sum(range).1
    }

    fn sum(&self, range: Range<usize>) -> (usize, usize) {
        match (self.sums.get(range.start), self.sums.get(range.end)) {
            (Some(start), Some(end)) => {
                (end.0.saturating_sub(start.0), end.1.saturating_sub(start.1))
            }
            _ => (0, 0),
        }
    }

    /// The sentence that ends before piece `end`.
    pub(super) fn sentence_to(&self, end: usize) -> Option<&Range<usize>> {
        let at = self.sentences.partition_point(|s| s.end < end);
        self.sentences.get(at).filter(|s| s.end == end)
    }

    fn count(mut self, text: &str) -> Self {
        let mut sum = (0, 0);
        self.sums = vec![sum];
        for piece in &self.all {
            let shown = text.get(piece.start..piece.end).unwrap_or("");
            let word = piece.atom.is_none() && shown.contains(char::is_alphabetic);
            sum = (sum.0 + piece.weight, sum.1 + usize::from(word));
            self.sums.push(sum);
        }
        self
    }
}

/// Abbreviations whose full stop ends no sentence.
const ABBREVIATIONS: &[&str] = &[
    "e.g.", "i.e.", "approx.", "no.", "vs.", "fig.", "mr.", "mrs.", "ms.", "dr.", "st.", "ca.",
    "cf.",
];

/// Cuts `text`, whose atoms are `atoms`.
pub(super) fn pieces(text: &str, atoms: &[Atom]) -> Pieces {
    let mut out = Pieces {
        all: Vec::new(),
        sentences: Vec::new(),
        sums: Vec::new(),
    };
    let mut first = 0; // first piece of the sentence
    let mut at = 0;
    let mut coming = atoms.iter().enumerate().peekable();
    while let Some(c) = text.get(at..).and_then(|rest| rest.chars().next()) {
        let atom = coming.next_if(|(_, a)| a.start <= at);
        let limit = coming.peek().map_or(text.len(), |(_, a)| a.start);
        let piece = match atom {
            Some((index, a)) => atom_piece(text, index, a),
            None if c.is_whitespace() => {
                let space: usize = text.get(at..limit).map_or(1, |t| {
                    t.chars()
                        .take_while(|c| c.is_whitespace())
                        .map(char::len_utf8)
                        .sum()
                });
                if breaks_line(text, at, at + space) {
                    close(&mut out, &mut first);
                }
                at += space.max(1);
                continue;
            }
            None => word_piece(text, at, limit),
        };
        at = piece.end;
        let ends = ends_sentence(text, &piece, atom.map(|(_, a)| a.kind));
        out.all.push(piece);
        if ends {
            close(&mut out, &mut first);
        }
    }
    close(&mut out, &mut first);
    out.count(text)
}

/// The byte ranges of the sentences of `text`, whose atoms are `atoms`; none cuts one.
pub(crate) fn sentences(text: &str, atoms: &[Atom]) -> Vec<Range<usize>> {
    let Pieces { all, sentences, .. } = pieces(text, atoms);
    let ends = sentences.iter().filter_map(|s| all.get(s.clone()));
    ends.filter_map(|pieces| Some(pieces.first()?.start..pieces.last()?.end))
        .collect()
}

/// The byte ranges of the clauses of `text`, whose atoms are `atoms`: up to a comma, a semicolon or the end of a sentence; what a colon
/// announces belongs to what stands before it.
pub(crate) fn clauses(text: &str, atoms: &[Atom]) -> Vec<Range<usize>> {
    let Pieces { all, sentences, .. } = pieces(text, atoms);
    let mut out = Vec::new();
    for sentence in sentences {
        let all = all.get(sentence).unwrap_or(&[]);
        let parts = all.split_inclusive(|piece| {
            let piece = text.get(piece.start..piece.end).unwrap_or("");
            piece.ends_with([',', ';', '，', '；', '、'])
        });
        out.extend(parts.filter_map(|part| Some(part.first()?.start..part.last()?.end)));
    }
    out
}

fn close(out: &mut Pieces, first: &mut usize) {
    if *first < out.all.len() {
        out.sentences.push(*first..out.all.len());
        *first = out.all.len();
    }
}

fn atom_piece(text: &str, index: usize, atom: &Atom) -> Piece {
    let words = atom.text(text).split_whitespace().count();
    let unspaced = atom.text(text).chars().filter(|&c| is_unspaced(c)).count();
    Piece {
        start: atom.start,
        end: atom.end,
        weight: WORD * words.max(1) + unspaced,
        atom: Some(index),
        ends_clause: false,
        is_number: atom.kind == AtomKind::Number,
    }
}

/// From `at` up to whitespace, `limit` (the next atom) or a border beside a character of a script without spaces.
fn word_piece(text: &str, at: usize, limit: usize) -> Piece {
    let mut end = at;
    let mut unspaced = false;
    for c in text.get(at..limit).unwrap_or("").chars() {
        // closing marks stay with what they close
        let cut = end > at
            && (unspaced || is_unspaced(c))
            && is_boundary(text, end)
            && c.is_alphanumeric();
        if c.is_whitespace() || cut {
            break;
        }
        unspaced = is_unspaced(c);
        end += c.len_utf8();
    }
    let word = text.get(at..end).unwrap_or("");
    let weight = match word.chars().find(|c| c.is_alphanumeric()) {
        Some(c) if is_unspaced(c) => 1,
        Some(_) => WORD,
        None => 0,
    };
    let ends_clause =
        word.ends_with([',', ';', ':', '–', '—', '，', '；', '：', '、']) || word == "-";
    Piece {
        start: at,
        end,
        weight,
        atom: None,
        ends_clause,
        is_number: false,
    }
}

/// A blank line, or a new line that does not simply go on.
fn breaks_line(text: &str, start: usize, end: usize) -> bool {
    let space = text.get(start..end).unwrap_or("");
    let goes_on = text
        .get(end..)
        .and_then(|rest| rest.chars().next())
        .is_some_and(char::is_lowercase);
    match space.matches('\n').count() {
        0 => false,
        1 => !goes_on,
        _ => true,
    }
}

fn ends_sentence(text: &str, piece: &Piece, kind: Option<AtomKind>) -> bool {
    let shown = text.get(piece.start..piece.end).unwrap_or("");
    let rest = text.get(piece.end..).unwrap_or("");
    let body = shown.trim_end_matches(['"', '\'', '”', '’', ')', ']', '*', '_', '`', '」', '』']);
    let full = body.ends_with(['.', '!', '?', '…']);
    if let Some(kind) = kind {
        // He read "Stop." Then
        let mut after = rest.trim_start().chars();
        return kind == AtomKind::Quoted
            && full
            && rest.starts_with(' ')
            && after.next().is_some_and(char::is_uppercase);
    }
    let known = ABBREVIATIONS
        .iter()
        .any(|a| shown.trim_start_matches('(').eq_ignore_ascii_case(a));
    body.ends_with(['。', '！', '？'])
        || (full && !known && rest.chars().next().is_none_or(char::is_whitespace))
}
