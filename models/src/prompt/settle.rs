//! How is each part marked so that the rendering stays the same?

use super::error::PromptError;
use super::shape::ladder;
use super::trial::{Mark, Renderer, Seen, Trial};

impl Renderer<'_> {
    /// Finds a shape for each part, alone or together with others that need no special one.
    pub(super) fn settle(
        &mut self,
        leaves: &[usize],
        laddered: &mut Vec<usize>,
    ) -> Result<(), PromptError> {
        let marks = self.marks(leaves);
        if let Some(trial) = self.trial(&marks) {
            let doubtful: Vec<usize> = leaves
                .iter()
                .copied()
                .filter(|&leaf| !self.is_clear(&trial, &marks, leaf))
                .collect();
            for leaf in doubtful {
                self.climb(leaf)?;
                laddered.push(leaf);
            }
            return Ok(());
        }
        if let &[leaf] = leaves {
            self.climb(leaf)?;
            laddered.push(leaf);
            return Ok(());
        }
        let (left, right) = leaves.split_at(leaves.len() / 2);
        self.settle(left, laddered)?;
        self.settle(right, laddered)
    }

    /// A part shown whole once, or not at all and with nothing inside by which it could have been cut.
    fn is_clear(&self, trial: &Trial, marks: &[Mark], leaf: usize) -> bool {
        let open = marks.iter().position(|mark| mark.leaf == leaf);
        let text = self
            .leaf(leaf)
            .map(|leaf| leaf.text.as_str())
            .unwrap_or_default();
        let has_literal = || {
            let literals = self.template.cut_literals();
            literals.iter().any(|literal| text.contains(literal))
        };
        match open.map(|open| (open, trial.pair(open))) {
            Some((open, Seen::Once(span))) => {
                let at = |i: usize| marks.get(i).map_or(0, |mark| mark.at);
                // Both ends may be shown although the middle was cut out and put together anew.
                self.is_verbatim(leaf, &(at(open)..at(open + 1)), &span) || !has_literal()
            }
            None | Some((_, Seen::Not)) => !has_literal(),
            Some((_, Seen::Twice | Seen::Half)) => false,
        }
    }

    /// Tries the shapes from the outside in.
    fn climb(&mut self, leaf: usize) -> Result<(), PromptError> {
        let mut failure = self.opaque(leaf);
        for shape in ladder() {
            if let Some(slot) = self.shapes.get_mut(leaf) {
                *slot = shape;
            }
            let marks = self.marks(&[leaf]);
            let Some(trial) = self.trial(&marks) else {
                continue;
            };
            let pairs = || (0..marks.len()).step_by(2).map(|open| trial.pair(open));
            if pairs().any(|seen| matches!(seen, Seen::Twice)) {
                failure = PromptError::ShownTwice {
                    pointer: self.pointer(leaf),
                };
            } else if pairs().any(|seen| matches!(seen, Seen::Half)) {
                if !matches!(failure, PromptError::ShownTwice { .. }) {
                    failure = PromptError::Torn {
                        pointer: self.pointer(leaf),
                    };
                }
            } else if shape.between_literals || self.is_clear(&trial, &marks, leaf) {
                return Ok(());
            }
        }
        Err(failure)
    }

    /// All shapes together must still reproduce the plain rendering; names the first part that does not fit in.
    pub(super) fn verify_jointly(
        &self,
        shown: &[usize],
        laddered: &[usize],
    ) -> Result<(), PromptError> {
        if self.trial(&self.marks(shown)).is_some() {
            return Ok(());
        }
        let mut leaves: Vec<usize> = shown
            .iter()
            .copied()
            .filter(|leaf| !laddered.contains(leaf))
            .collect();
        for &leaf in laddered {
            leaves.push(leaf);
            if self.trial(&self.marks(&leaves)).is_none() {
                return Err(self.opaque(leaf));
            }
        }
        Ok(())
    }
}
