//! Which words around a value make it understandable, and no more?
//!
//! A window is a range of pieces that stands in the segment word for word. A short sentence is taken whole; of a long
//! one the clause of the value, with more to the left where the clause says too little, and never without a word
//! that turns or weakens it (`not`, `might`).

use std::ops::Range;

use super::piece::{Pieces, WORD};
use super::word;

/// What decides about the windows of a segment.
pub(super) struct Wanted<'a> {
    pub(super) text: &'a str,
    pub(super) pieces: &'a Pieces,
    /// For each piece: it is a value that must be kept.
    pub(super) required: &'a [bool],
    /// For each piece: it must not appear.
    pub(super) barred: &'a [bool],
    /// Half words a window may count.
    pub(super) limit: usize,
}

impl Wanted<'_> {
    fn is_required(&self, piece: usize) -> bool {
        self.required.get(piece).copied().unwrap_or(false)
    }

    fn is_barred(&self, piece: usize) -> bool {
        self.barred.get(piece).copied().unwrap_or(false)
    }

    fn word(&self, piece: usize) -> &str {
        let range = self
            .pieces
            .all
            .get(piece)
            .filter(|p| p.atom.is_none())
            .map(|p| p.start..p.end);
        range.and_then(|r| self.text.get(r)).unwrap_or("")
    }

    fn ends_clause(&self, piece: usize) -> bool {
        self.pieces.all.get(piece).is_some_and(|p| p.ends_clause)
    }

    fn fits(&self, range: Range<usize>, limit: usize) -> bool {
        self.pieces.weight(range) <= limit
    }

    /// Words that are not values.
    fn context(&self, range: Range<usize>) -> usize {
        self.pieces.words(range)
    }

    /// First piece of the clause that `piece` lies in, not before `floor`.
    fn clause_start(&self, piece: usize, floor: usize) -> usize {
        (floor..piece)
            .rev()
            .find(|&p| self.ends_clause(p))
            .map_or(floor, |p| p + 1)
    }

    /// One past the last piece of the clause, at most `ceiling`.
    fn clause_end(&self, piece: usize, ceiling: usize) -> usize {
        (piece..ceiling)
            .find(|&p| self.ends_clause(p))
            .map_or(ceiling, |p| p + 1)
    }

    /// The windows of one sentence, in order and without overlap; together they hold all its required pieces.
    pub(super) fn windows(&self, sentence: &Range<usize>) -> Vec<Range<usize>> {
        let whole = self.fits(sentence.clone(), self.limit);
        let mut groups: Vec<Range<usize>> = Vec::new();
        for piece in sentence.clone().filter(|&p| self.is_required(p)) {
            match groups.last_mut() {
                Some(last) if self.joins(last.start..piece + 1, whole) => last.end = piece + 1,
                _ => groups.push(piece..piece + 1),
            }
        }
        let mut windows: Vec<Range<usize>> = Vec::new();
        for (at, group) in groups.iter().enumerate() {
            let before = windows.last().map_or(sentence.start, |w| w.end);
            let after = groups.get(at + 1).map_or(sentence.end, |g| g.start);
            let floor = (before..group.start)
                .rev()
                .find(|&p| self.is_barred(p))
                .map_or(before, |p| p + 1);
            let ceiling = (group.end..after)
                .find(|&p| self.is_barred(p))
                .unwrap_or(after);
            let window = self.window(group, floor, ceiling);
            windows.push(if floor == sentence.start {
                self.with_antecedent(window, sentence)
            } else {
                window
            });
        }
        windows
    }

    /// `true` if the values from the first to the last piece of `span` share one line: a short sentence, or values
    /// with little between them, as in an enumeration.
    fn joins(&self, span: Range<usize>, whole: bool) -> bool {
        let between = span.clone().filter(|&p| !self.is_required(p));
        let weight: usize = between.clone().map(|p| self.pieces.weight(p..p + 1)).sum();
        !between.clone().any(|p| self.is_barred(p))
            && (whole || (3 * weight <= self.limit && self.fits(span, self.limit)))
    }

    fn window(&self, group: &Range<usize>, floor: usize, ceiling: usize) -> Range<usize> {
        let head: Vec<&str> = (floor..group.start)
            .map(|p| self.word(p))
            .take_while(|w| !w.is_empty())
            .collect();
        let floor = floor + word::filler(&head);
        // an enumeration may be half as long again: its values are what it says
        let share = 2 * self.pieces.weight(group.clone()) >= self.pieces.weight(floor..ceiling);
        if self.fits(
            floor..ceiling,
            if share {
                self.limit * 3 / 2
            } else {
                self.limit
            },
        ) {
            return self.without_tail(floor..ceiling, group, ceiling);
        }
        let mut start = self.grow_left(group, group.start, floor);
        let mut end = group.end;
        let clause = self.clause_end(group.end.saturating_sub(1), ceiling);
        if self.fits(start..clause, self.limit) {
            end = clause;
        }
        // a clause that says too little by itself: take more from the left, then from the right
        while start > floor && self.context(start..end) < 2 {
            let further = self.grow_left(&(start..end), start - 1, floor);
            if further >= start {
                break;
            }
            start = further;
        }
        let number = self
            .pieces
            .all
            .get(group.end.saturating_sub(1))
            .is_some_and(|p| p.is_number);
        let more = match self.context(start..end) {
            0 | 1 => 6,
            _ if number && end == group.end => 1, // the noun that a number counts
            _ => 0,
        };
        let reach = (end..=clause)
            .rev()
            .find(|&e| self.context(end..e) <= more && self.fits(start..e, self.limit));
        self.without_tail(
            self.with_hedges(start..reach.unwrap_or(end).max(end), floor, ceiling),
            group,
            clause,
        )
    }

    /// Without words at the end that lead on to something, where the window stops short of the clause.
    fn without_tail(
        &self,
        window: Range<usize>,
        group: &Range<usize>,
        clause: usize,
    ) -> Range<usize> {
        let Range { start, mut end } = window;
        let sentence_ends = self.pieces.sentence_to(end).is_some();
        while end > group.end
            && !sentence_ends
            && (end <= clause)
            && word::leads_on(self.word(end - 1))
        {
            end -= 1;
        }
        start..end
    }

    /// The start of the clause of `from`, or as near to it as the limit lets.
    fn grow_left(&self, group: &Range<usize>, from: usize, floor: usize) -> usize {
        let clause = self.clause_start(from, floor);
        (clause..=from)
            .find(|&s| self.fits(s..group.end, self.limit))
            .unwrap_or(group.start)
    }

    /// Widened, up to twice the limit, by hedges of the same clause and by a next clause that takes back.
    fn with_hedges(&self, window: Range<usize>, floor: usize, ceiling: usize) -> Range<usize> {
        let Range { mut start, mut end } = window;
        let clause = self.clause_start(start, floor);
        if let Some(hedge) = (clause..start).find(|&p| word::is_hedge(self.word(p)))
            && self.fits(hedge..end, 2 * self.limit)
        {
            start = hedge;
        }
        let rest = self.clause_end(end.saturating_sub(1), ceiling);
        let next = self.clause_end(rest, ceiling);
        let takes_back = (end..next.min(rest + 5)).any(|p| word::is_hedge(self.word(p)));
        let within = (end..rest).any(|p| word::is_hedge(self.word(p)));
        if within && self.fits(start..rest, 2 * self.limit) {
            end = rest;
        }
        if takes_back && self.fits(start..next, 2 * self.limit) {
            end = next;
        }
        start..end
    }

    /// `It reads "x"`: with the noun phrase at the end of the sentence before, where that is near and short.
    fn with_antecedent(&self, window: Range<usize>, sentence: &Range<usize>) -> Range<usize> {
        let opens = (sentence.start..window.start).all(|p| !self.word(p).is_empty());
        if !opens || !word::is_pronoun(self.word(window.start)) {
            return window;
        }
        let Some(before) = self.pieces.sentence_to(sentence.start) else {
            return window;
        };
        let gap = |a: usize, b: usize| {
            let end = self.pieces.all.get(a).map_or(0, |p| p.end);
            let start = self.pieces.all.get(b).map_or(0, |p| p.start);
            self.text.get(end..start).is_some_and(|t| !t.contains('\n'))
        };
        if !gap(before.end.saturating_sub(1), sentence.start) {
            return window;
        }
        let near = before
            .clone()
            .rev()
            .take_while(|&p| !self.is_barred(p) && self.fits(p..window.end, self.limit + 2 * WORD))
            .filter(|&p| word::is_determiner(self.word(p)))
            .last();
        near.map_or(window.clone(), |start| start..window.end)
    }
}
