//! Where does a piece of a part stand? (the reasoning between think tags, a paragraph)

use std::ops::Range;

use super::error::PromptError;
use super::rendering::Cut;
use super::shape::{trim, trims};
use super::trial::{Mark, Renderer, Seen, Trial};

impl Renderer<'_> {
    /// Finds the requested pieces beside the marks of the parts.
    pub(super) fn locate(
        &self,
        cuts: &[Cut],
        marks: &[Mark],
        unbroken: &Trial,
    ) -> Result<Vec<Option<Range<usize>>>, PromptError> {
        let mut wanted = Vec::with_capacity(cuts.len());
        for cut in cuts {
            let fail = |reason| PromptError::cut(&cut.pointer, &cut.range, reason);
            let found = self.input.leaves.iter().enumerate();
            let found = found
                .into_iter()
                .find(|(_, leaf)| leaf.pointer == cut.pointer);
            let (leaf, text) = found.ok_or_else(|| fail("no such part in the chat"))?;
            match text.text.get(cut.range.clone()) {
                None => return Err(fail("not a range of the part's string")),
                Some("") => return Err(fail("the range is empty")),
                Some(_) => wanted.push((leaf, cut.range.clone())),
            }
        }
        let with = |ranges: &[(usize, Range<usize>)]| {
            let mut all = marks.to_vec();
            // What is empty after trimming is white space that the template strips: nothing to find.
            for (leaf, range) in ranges.iter().filter(|(_, range)| !range.is_empty()) {
                all.extend([range.start, range.end].map(|at| Mark { leaf: *leaf, at }));
            }
            all
        };
        let read = |trial: &Trial, i: usize| trial.pair(marks.len() + 2 * i);
        // A mark inside a literal may turn the template's way round; then the marks of the parts move.
        let is_good = |trial: &Trial| {
            let pairs = (trial.places.len() - unbroken.places.len()) / 2;
            trial.places.starts_with(&unbroken.places)
                && (0..pairs).all(|i| matches!(read(trial, i), Seen::Not | Seen::Once(_)))
        };
        // One trim for all, as the parts of one kind are trimmed alike; else one for each.
        let mut trial = None;
        let all_alike = trims().into_iter().find_map(|(left, right)| {
            let trimmed: Vec<_> = wanted
                .iter()
                .map(|(leaf, range)| (*leaf, trim(self.text(*leaf), range, left, right)))
                .collect();
            trial = self.trial(&with(&trimmed)).filter(is_good);
            trial.is_some().then_some(trimmed)
        });
        if let Some(trimmed) = all_alike {
            wanted = trimmed;
        } else {
            for (cut, slot) in cuts.iter().zip(&mut wanted) {
                let text = self.text(slot.0);
                let raw = slot.1.clone();
                let candidates = trims().map(|(left, right)| trim(text, &raw, left, right));
                let fits = |range: &Range<usize>| {
                    let trial = self.trial(&with(&[(slot.0, range.clone())]));
                    trial.as_ref().is_some_and(is_good)
                };
                let fitting = candidates.into_iter().find(fits);
                slot.1 = fitting.ok_or_else(|| {
                    PromptError::cut(
                        &cut.pointer,
                        &cut.range,
                        "the template allows no mark around it",
                    )
                })?;
            }
            trial = self.trial(&with(&wanted)).filter(is_good);
        }
        let Some(trial) = trial else {
            return match cuts.first() {
                Some(cut) => Err(PromptError::cut(
                    &cut.pointer,
                    &cut.range,
                    "the cuts disturb each other",
                )),
                None => Ok(Vec::new()),
            };
        };
        let mut pairs = 0..;
        let mut span = |range: &Range<usize>| {
            let pair = (!range.is_empty()).then(|| pairs.next())??;
            match read(&trial, pair) {
                Seen::Once(span) => Some(span),
                _ => None,
            }
        };
        Ok(wanted.iter().map(|(_, range)| span(range)).collect())
    }
}
