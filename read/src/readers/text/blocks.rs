//! One pass over text: blocks under headings, sentences in blocks.

use std::ops::Range;

use super::opening::{Opening, closes_block, goes_on, heading_level, opening};
use super::shortened;
use crate::collect::{Collector, Piece};
use crate::encoding::Decoded;
use crate::query::{Hit, Mask};
use crate::readers::sentences::{points_back, sentences};

/// Longest text that is shown for one sentence, in bytes.
const SHOWN: usize = 700;
/// Longest block that is shown whole around a sentence.
const BLOCK: usize = 360;

#[derive(Default)]
pub(super) struct State {
    /// Line at which the text begins.
    line: u64,
    /// Open headings: level, terms, text.
    headings: Vec<(usize, Mask, String)>,
    /// The line that introduced a list, or the header of a table.
    intro: Option<(Mask, String)>,
    in_rows: bool,
}

impl State {
    pub fn new() -> Self {
        Self {
            line: 1,
            ..Self::default()
        }
    }

    pub fn scan(&mut self, decoded: &Decoded<'_>, offset: u64, sink: &mut Collector<'_>) {
        let text: &str = &decoded.text;
        let mut hits = Vec::new();
        sink.query.hits(text, &mut hits);
        hits.sort_by_key(|hit| hit.start);
        let mut next_hit = 0;
        let mut block: Option<(Range<usize>, u64)> = None;
        let mut start = 0;
        let mut previous = "";
        for end in memchr::memchr_iter(b'\n', text.as_bytes())
            .map(|at| at + 1)
            .chain((!text.ends_with('\n')).then_some(text.len()))
        {
            let line = text.get(start..end).unwrap_or_default();
            let empty = line.trim().is_empty();
            let too_long = block
                .as_ref()
                .is_some_and(|(range, _)| end - range.start > 6_000);
            let opens = match opening(line) {
                Opening::Surely => true,
                Opening::Maybe => !goes_on(previous),
                Opening::Not => false,
            };
            if empty
                || too_long
                || opens
                || block
                    .as_ref()
                    .is_some_and(|(range, _)| text.get(range.clone()).is_some_and(closes_block))
            {
                self.close(
                    &mut block,
                    text,
                    &hits,
                    &mut next_hit,
                    decoded,
                    offset,
                    sink,
                );
            }
            if !empty {
                block = match block.take() {
                    Some((range, first)) => Some((range.start..end, first)),
                    None => Some((start..end, self.line)),
                };
            }
            self.line += 1;
            previous = line;
            start = end;
        }
        self.close(
            &mut block,
            text,
            &hits,
            &mut next_hit,
            decoded,
            offset,
            sink,
        );
        if !text.ends_with('\n') {
            self.line -= u64::from(!text.is_empty());
        }
    }

    /// Ends a block: remembers it as heading or introduction, or offers its sentences.
    #[expect(clippy::too_many_arguments, reason = "the running state of one pass")]
    fn close(
        &mut self,
        block: &mut Option<(Range<usize>, u64)>,
        text: &str,
        hits: &[Hit],
        next_hit: &mut usize,
        decoded: &Decoded<'_>,
        offset: u64,
        sink: &mut Collector<'_>,
    ) {
        let Some((range, first_line)) = block.take() else {
            return;
        };
        while hits
            .get(*next_hit)
            .is_some_and(|hit| hit.start < range.start)
        {
            *next_hit += 1;
        }
        let begin = *next_hit;
        while hits.get(*next_hit).is_some_and(|hit| hit.start < range.end) {
            *next_hit += 1;
        }
        let inside = hits.get(begin..*next_hit).unwrap_or_default();
        let body = text.get(range.clone()).unwrap_or_default();
        let own = inside.iter().fold(0, |mask, hit| mask | (1 << hit.term));
        if let Some(level) = heading_level(body) {
            self.headings.retain(|(other, ..)| *other < level);
            self.headings
                .push((level, own, shortened(body.trim_start_matches('#'), 120)));
            self.intro = None;
        }
        let is_row = body.trim_start().starts_with('|');
        let is_item = is_row || opening(body) != Opening::Not;
        if !is_item || (is_row && !self.in_rows) {
            self.intro = None;
        }
        if own == 0 {
            sink.count_empty(1);
        } else {
            sink.count(own);
            self.offer(body, range.start, first_line, inside, decoded, offset, sink);
        }
        if body.trim_end().ends_with([':', '：']) || (is_row && !self.in_rows) {
            self.intro = Some((own, shortened(body, 120)));
        }
        self.in_rows = is_row;
    }

    #[expect(clippy::too_many_arguments, reason = "the running state of one pass")]
    fn offer(
        &self,
        body: &str,
        start: usize,
        first_line: u64,
        hits: &[Hit],
        decoded: &Decoded<'_>,
        offset: u64,
        sink: &mut Collector<'_>,
    ) {
        let around = self
            .headings
            .iter()
            .map(|(_, mask, _)| *mask)
            .chain(self.intro.iter().map(|(mask, _)| *mask))
            .fold(0, |all, mask| all | mask);
        let pieces = sentences(body);
        let mut before: (Mask, Option<usize>) = (0, None);
        for (at, sentence) in pieces.iter().enumerate() {
            let first = hits.partition_point(|hit| hit.start < start + sentence.start);
            let last = hits.partition_point(|hit| hit.start < start + sentence.end);
            let inside = || hits.get(first..last).unwrap_or_default().iter();
            let own = inside().fold(0, |mask, hit| mask | (1 << hit.term));
            let words = body.get(sentence.clone()).unwrap_or_default();
            let back = at > 0 && points_back(words);
            let inherited = if back { before.0 } else { 0 };
            if own != 0 {
                let spread = inside()
                    .map(|hit| hit.end)
                    .max()
                    .unwrap_or(0)
                    .saturating_sub(inside().map(|hit| hit.start).min().unwrap_or(0));
                let quality =
                    1.0 / (1.0 + spread as f32 / 200.0) + 0.5 / (1.0 + words.len() as f32 / 200.0);
                let centre = inside()
                    .next()
                    .map_or(sentence.start, |hit| hit.start - start);
                let from = if back {
                    before.1.unwrap_or(sentence.start)
                } else {
                    sentence.start
                };
                sink.offer(own, inherited | around, quality, || {
                    let shown = shown(body, &pieces, at, from, centre);
                    let lines = |place: usize| {
                        first_line
                            + memchr::memchr_iter(
                                b'\n',
                                body.as_bytes().get(..place).unwrap_or_default(),
                            )
                            .count() as u64
                    };
                    let byte = |place: usize| offset + decoded.byte(start + place) as u64;
                    let context: Vec<&str> = self
                        .headings
                        .iter()
                        .map(|(.., text)| text.as_str())
                        .chain(self.intro.iter().map(|(_, text)| text.as_str()))
                        .collect();
                    Piece {
                        file: 0,
                        bytes: byte(shown.start)..byte(shown.end),
                        lines: (lines(shown.start), lines(shown.end)),
                        at: None,
                        context: context.join(" > "),
                        core: words.trim().to_owned(),
                        text: body.get(shown).unwrap_or_default().to_owned(),
                    }
                });
                if let Some(found) = inside().next() {
                    debug_assert!(found.start >= start);
                }
            }
            before = (
                own | inherited,
                Some(from_of(back, before.1, sentence.start)),
            );
        }
    }
}

fn from_of(back: bool, before: Option<usize>, start: usize) -> usize {
    if back { before.unwrap_or(start) } else { start }
}

/// What is shown of a block around a sentence: all of a short block; else the sentence, from the one that it points back to; else the place of the first term.
fn shown(
    body: &str,
    pieces: &[Range<usize>],
    at: usize,
    from: usize,
    centre: usize,
) -> Range<usize> {
    let trimmed = body.trim_end().len();
    let Some(sentence) = pieces.get(at) else {
        return 0..trimmed;
    };
    if trimmed <= BLOCK {
        return 0..trimmed;
    }
    let mut start = from.min(sentence.start);
    if sentence.end - start > SHOWN {
        start = sentence.start;
    }
    let mut end = start
        + body
            .get(start..sentence.end)
            .unwrap_or_default()
            .trim_end()
            .len();
    if end - start > SHOWN {
        let boundary = |mut at: usize| {
            while !body.is_char_boundary(at) {
                at -= 1;
            }
            at
        };
        start = boundary(centre.saturating_sub(SHOWN / 3).max(start));
        end = boundary((start + SHOWN).min(end));
    }
    start..end
}
