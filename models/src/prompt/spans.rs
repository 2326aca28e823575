//! At which bytes of the rendering does each part of the chat stand?
//!
//! Every part is marked inside the input and the marks are read off the output; taking them out must give the plain
//! rendering byte for byte. A part whose marks change the rendering (a template trims it, or cuts it at `</think>`)
//! is marked further inside until they do not; one that allows no mark is refused by name.

use super::error::PromptError;
use super::rendering::{Cut, PartSpan, Rendering};
use super::shape::literals;
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
        let mut marks = self.marks(&shown);
        self.add_inner_literals(&shown, &mut marks)?;
        let trial = self.trial(&marks).ok_or_else(|| self.opaque(0))?;
        let (parts, seen) = self.read_parts(&trial, &marks);
        self.refuse_gaps(&parts)?;
        let hidden: Vec<usize> = (0..self.input.leaves.len())
            .filter(|leaf| !seen.contains(leaf))
            .collect();
        self.refuse_inner_pieces(&hidden)?;
        let cuts = self.locate(cuts, &marks)?;
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

    /// In a part that is marked between literals, the literals that pass through are text of the run as well: a mark
    /// inside one survives exactly then.
    fn add_inner_literals(
        &self,
        shown: &[usize],
        marks: &mut Vec<Mark>,
    ) -> Result<(), PromptError> {
        for &leaf in shown {
            if !self
                .shapes
                .get(leaf)
                .is_some_and(|shape| shape.between_literals)
            {
                continue;
            }
            let text = self
                .leaf(leaf)
                .map(|leaf| leaf.text.clone())
                .unwrap_or_default();
            for literal in literals(&text, self.template.cut_literals()) {
                let first = text.get(literal.clone()).and_then(|t| t.chars().next());
                let inside = Mark {
                    leaf,
                    at: literal.start + first.map_or(0, char::len_utf8),
                };
                let number = marks.len();
                marks.push(inside);
                let passes = self
                    .trial(marks)
                    .is_some_and(|trial| trial.places.get(number).is_some_and(|at| at.len() == 1));
                if !passes {
                    marks.pop();
                }
            }
        }
        Ok(())
    }

    fn read_parts(&self, trial: &Trial, marks: &[Mark]) -> (Vec<PartSpan>, Vec<usize>) {
        let (mut parts, mut seen) = (Vec::new(), Vec::new());
        let mut number = 0;
        while let Some(&Mark { leaf, at }) = marks.get(number) {
            // Marks of one piece come in pairs; marks inside literals follow all of them, alone.
            let text = self
                .leaf(leaf)
                .map(|leaf| leaf.text.as_str())
                .unwrap_or_default();
            let literals = literals(text, self.template.cut_literals());
            let between = self
                .shapes
                .get(leaf)
                .is_some_and(|shape| shape.between_literals);
            let inside = literals
                .into_iter()
                .find(|l| between && l.start < at && at < l.end);
            let (span, trimmed) = if let Some(literal) = inside {
                let place = trial.places.get(number).and_then(|places| places.first());
                number += 1;
                let start = place.and_then(|place| place.checked_sub(at - literal.start));
                let span = start.map(|start| start..start + literal.len());
                let whole = span.filter(|s| self.plain.get(s.clone()) == text.get(literal.clone()));
                (whole, literal)
            } else {
                let end = marks.get(number + 1).map_or(at, |mark| mark.at);
                let pair = trial.pair(number);
                number += 2;
                match pair {
                    Seen::Once(span) => (Some(span), at..end),
                    _ => (None, at..end),
                }
            };
            if let Some(span) = span {
                seen.push(leaf);
                parts.push(PartSpan {
                    pointer: self.pointer(leaf),
                    span,
                    trimmed,
                });
            }
        }
        parts.sort_by_key(|part| (part.span.start, part.span.end));
        (parts, seen)
    }
}
