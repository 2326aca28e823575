//! Is there anything that the marks of the parts cannot see?

use super::error::PromptError;
use super::rendering::PartSpan;
use super::shape::replace;
use super::trial::{Mark, Renderer};

impl Renderer<'_> {
    /// A part without a shown mark may still show its middle; marks between its words would tell.
    pub(super) fn refuse_inner_pieces(&self, hidden: &[usize]) -> Result<(), PromptError> {
        // Between literals the pieces have been looked at already, and a mark beside a literal stands in what is trimmed.
        let whole = |leaf: &&usize| {
            self.shapes
                .get(**leaf)
                .is_some_and(|shape| !shape.between_literals)
        };
        let whole = hidden.iter().filter(whole);
        let marks: Vec<Mark> = whole.flat_map(|&leaf| self.words(leaf)).collect();
        let Some(trial) = self.trial(&marks) else {
            return Ok(());
        };
        let torn = trial.places.iter().position(|places| !places.is_empty());
        match torn.and_then(|number| marks.get(number)) {
            Some(mark) => Err(PromptError::Torn {
                pointer: self.pointer(mark.leaf),
            }),
            None => Ok(()),
        }
    }

    /// A part shown in other words than its own (in capitals, indented) must still show all of them, in order.
    pub(super) fn refuse_gaps(&self, parts: &[PartSpan]) -> Result<(), PromptError> {
        for part in parts {
            let mut leaves = self.input.leaves.iter();
            let Some(leaf) = leaves.position(|leaf| leaf.pointer == part.pointer) else {
                continue;
            };
            if self.is_verbatim(leaf, &part.trimmed, &part.span) {
                continue;
            }
            let inside = |mark: &Mark| part.trimmed.start < mark.at && mark.at < part.trimmed.end;
            let marks: Vec<Mark> = self.words(leaf).into_iter().filter(inside).collect();
            let trial = self.trial(&marks).ok_or_else(|| self.opaque(leaf))?;
            let in_order = trial.places.iter().flatten().is_sorted();
            if !in_order || trial.places.iter().any(|places| places.len() != 1) {
                return Err(PromptError::Torn {
                    pointer: part.pointer.clone(),
                });
            }
        }
        Ok(())
    }

    /// Special tokens spelt by what cannot be marked (roles, ids, keys) would count as the template's own.
    pub(super) fn refuse_special_structure(&self) -> Result<(), PromptError> {
        for fixed in &self.input.fixed {
            let Some(literal) = self
                .special
                .iter()
                .find(|s| fixed.text.contains(s.as_str()))
            else {
                continue;
            };
            let mut changed = String::new();
            for (i, c) in fixed.text.chars().enumerate() {
                if i > 0 {
                    changed.push(self.alphabet.guard());
                }
                changed.push(c);
            }
            let mut root = self.input.root.clone();
            replace(&mut root, &fixed.pointer, fixed.key, &changed);
            let shown = self
                .write(root)
                .map_or(true, |text| text.contains(self.alphabet.guard()));
            if shown {
                return Err(PromptError::SpecialInStructure {
                    pointer: fixed.pointer.clone(),
                    literal: literal.clone(),
                });
            }
        }
        Ok(())
    }
}
