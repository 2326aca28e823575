//! At which bytes of the rendering does each part of the chat stand?
//!
//! Every part is marked inside the input and the marks are read off the output; taking them out must give the plain
//! rendering byte for byte. A part whose marks change the rendering (a template trims it, or cuts it at `</think>`)
//! is marked further inside until they do not; one that allows no mark is refused by name.

use std::collections::HashSet;
use std::ops::Range;

use super::error::PromptError;
use super::rendering::{Cut, PartSpan, Rendering};
use super::shape::{Trim, literals, trim};
use super::trial::{Mark, Renderer, Seen, Trial};

impl Renderer<'_> {
    /// The rendering and where everything stands in it.
    pub(super) fn finish(mut self, cuts: &[Cut]) -> Result<Rendering, PromptError> {
        self.refuse_special_structure()?;
        let shown: Vec<usize> = (0..self.input.leaves.len())
            .filter(|&leaf| self.leaf(leaf).is_some_and(|leaf| !leaf.text.is_empty()))
            .collect();
        let mut laddered = Vec::new();
        self.settle(&shown, &mut laddered)?;
        if !laddered.is_empty() {
            self.verify_jointly(&shown, &laddered)?;
        }
        let marks = self.marks(&shown);
        let trial = self.trial(&marks).ok_or_else(|| self.opaque(0))?;
        let mut parts = self.read_parts(&trial, &marks);
        parts.extend(
            shown
                .iter()
                .flat_map(|&leaf| self.inner_literals(leaf, &marks)),
        );
        parts.sort_by_key(|part| (part.span.start, part.span.end));
        self.refuse_gaps(&parts)?;
        let seen: HashSet<&str> = parts.iter().map(|part| part.pointer.as_str()).collect();
        let hidden: Vec<usize> = (0..self.input.leaves.len())
            .filter(|&leaf| {
                self.leaf(leaf)
                    .is_some_and(|leaf| !seen.contains(leaf.pointer.as_str()))
            })
            .collect();
        self.refuse_inner_pieces(&hidden)?;
        let cuts = self.locate(cuts, &marks, &trial)?;
        Ok(Rendering {
            text: self.plain,
            parts,
            hidden: hidden
                .iter()
                .filter_map(|&leaf| self.input.leaves.get(leaf))
                .filter(|leaf| !leaf.media)
                .map(|leaf| leaf.pointer.clone())
                .collect(),
            cuts,
        })
    }

    /// In a part that is marked between literals, a special token's literal that passes through is text of the run as well. A mark
    /// inside it survives then; but it also keeps the template from cutting there, so all other marks, among them
    /// one at each end of the part, must stay where they are.
    fn inner_literals(&self, leaf: usize, marks: &[Mark]) -> Vec<PartSpan> {
        let text = match (self.leaf(leaf), self.shapes.get(leaf)) {
            (Some(leaf), Some(shape)) if shape.between_literals => leaf.text.as_str(),
            _ => return Vec::new(),
        };
        // Only a special token reads differently as text.
        let is_special = |literal: &Range<usize>| {
            let literal = text.get(literal.clone()).unwrap_or_default();
            self.special
                .iter()
                .any(|special| literal.contains(special.as_str()))
        };
        let mut passing = literals(text, self.template.cut_literals());
        passing.retain(is_special);
        if passing.is_empty() {
            return Vec::new();
        }
        let whole = trim(text, &(0..text.len()), Trim::Space, Trim::Space);
        let mut marks = marks.to_vec();
        marks.extend([whole.start, whole.end].map(|at| Mark { leaf, at }));
        let Some(unbroken) = self.trial(&marks) else {
            return Vec::new();
        };
        let passing = passing.into_iter().filter_map(|literal| {
            let first = text.get(literal.clone())?.chars().next()?.len_utf8();
            let at = literal.start + first;
            let probe: Vec<Mark> = marks.iter().copied().chain([Mark { leaf, at }]).collect();
            let broken = self.trial(&probe)?.places;
            let (inside, others) = broken.split_last()?;
            let &[place] = inside.as_slice() else {
                return None;
            };
            let start = place.checked_sub(first)?;
            let span = start..start + literal.len();
            let passes = others == unbroken.places && self.is_verbatim(leaf, &literal, &span);
            passes.then(|| PartSpan {
                pointer: self.pointer(leaf),
                span,
                trimmed: literal,
            })
        });
        passing.collect()
    }

    /// The pieces whose pair of marks came out.
    fn read_parts(&self, trial: &Trial, marks: &[Mark]) -> Vec<PartSpan> {
        let mut parts = Vec::new();
        for (number, pair) in marks.chunks(2).enumerate() {
            let (&[open, close], Seen::Once(span)) = (pair, trial.pair(2 * number)) else {
                continue;
            };
            parts.push(PartSpan {
                pointer: self.pointer(open.leaf),
                span,
                trimmed: open.at..close.at,
            });
        }
        parts
    }
}
