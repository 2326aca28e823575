//! How is each part marked so that the rendering stays the same?

use std::collections::BTreeMap;

use super::error::PromptError;
use super::shape::{Shape, ladder};
use super::trial::{Mark, Renderer, Seen, Trial};

impl Renderer<'_> {
    /// Finds shapes under which marks around all of `leaves` change nothing: whole where that works, else one shape
    /// for each kind of part (a template trims all reasoning or none), else one for each part. Parts that got a
    /// shape of their own are added to `laddered`.
    pub(super) fn settle(
        &mut self,
        leaves: &[usize],
        laddered: &mut Vec<usize>,
    ) -> Result<(), PromptError> {
        let mut unsettled = leaves.to_vec();
        let marks = self.marks(leaves);
        if let Some(trial) = self.trial(&marks) {
            unsettled.clear();
            for (leaf, pairs) in self.pairs(leaves, &marks) {
                if self.flaw(&trial, &marks, leaf, pairs).is_some() {
                    unsettled.push(leaf);
                }
            }
        }
        let mut kinds: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        for &leaf in &unsettled {
            let kind = self.input.leaves.get(leaf).map_or("", |l| l.kind.as_str());
            kinds.entry(kind).or_default().push(leaf);
        }
        for kind in kinds.into_values().collect::<Vec<_>>() {
            self.settle_kind(&kind, laddered)?;
        }
        Ok(())
    }

    fn settle_kind(
        &mut self,
        leaves: &[usize],
        laddered: &mut Vec<usize>,
    ) -> Result<(), PromptError> {
        match self.climb(leaves) {
            Ok(()) => {
                laddered.extend_from_slice(leaves);
                Ok(())
            }
            Err(failure) if leaves.len() == 1 => Err(failure),
            Err(_) => {
                let (left, right) = leaves.split_at(leaves.len() / 2);
                self.settle_kind(left, laddered)?;
                self.settle_kind(right, laddered)
            }
        }
    }

    /// Tries the shapes from the outside in, the same for all of `leaves`.
    fn climb(&mut self, leaves: &[usize]) -> Result<(), PromptError> {
        let mut failure = self.opaque(leaves.first().copied().unwrap_or(0));
        let mut tried: Vec<Vec<Mark>> = Vec::new();
        for shape in ladder() {
            self.set_shapes(leaves, shape);
            let marks = self.marks(leaves);
            if tried.contains(&marks) && !shape.between_literals {
                continue;
            }
            if let Some(trial) = self.trial(&marks) {
                let flaws = self.pairs(leaves, &marks).into_iter();
                let mut flaws =
                    flaws.filter_map(|(leaf, pairs)| self.flaw(&trial, &marks, leaf, pairs));
                match flaws.next() {
                    None => return Ok(()),
                    // Shown twice says more than torn, and torn more than opaque.
                    Some(flaw) if !matches!(failure, PromptError::ShownTwice { .. }) => {
                        failure = flaw
                    }
                    Some(_) => {}
                }
            }
            tried.push(marks);
        }
        self.set_shapes(leaves, Shape::WHOLE);
        Err(failure)
    }

    fn set_shapes(&mut self, leaves: &[usize], shape: Shape) {
        for &leaf in leaves {
            if let Some(slot) = self.shapes.get_mut(leaf) {
                *slot = shape;
            }
        }
    }

    /// For each of `leaves` the numbers of its pairs of marks.
    fn pairs(&self, leaves: &[usize], marks: &[Mark]) -> Vec<(usize, Vec<usize>)> {
        let mut pairs: BTreeMap<usize, Vec<usize>> =
            leaves.iter().map(|&l| (l, Vec::new())).collect();
        for (number, mark) in marks.iter().enumerate().step_by(2) {
            pairs.entry(mark.leaf).or_default().push(number);
        }
        pairs.into_iter().collect()
    }

    /// Why a verified rendering does not yet say where `leaf` stands.
    fn flaw(
        &self,
        trial: &Trial,
        marks: &[Mark],
        leaf: usize,
        pairs: Vec<usize>,
    ) -> Option<PromptError> {
        let pointer = || self.pointer(leaf);
        let shape = self.shapes.get(leaf).copied().unwrap_or(Shape::WHOLE);
        // A literal inside is a place where the template may have cut without touching either end.
        let cuttable = !shape.between_literals && {
            let text = self.text(leaf);
            let literals = self.template.cut_literals();
            literals.iter().any(|literal| text.contains(literal))
        };
        if pairs.is_empty() && cuttable {
            return Some(PromptError::Torn { pointer: pointer() });
        }
        pairs.into_iter().find_map(|open| {
            let at = |i: usize| marks.get(i).map_or(0, |mark| mark.at);
            let whole = match trial.pair(open) {
                Seen::Twice => return Some(PromptError::ShownTwice { pointer: pointer() }),
                Seen::Half => false,
                Seen::Not => !cuttable,
                Seen::Once(span) => {
                    !cuttable || self.is_verbatim(leaf, &(at(open)..at(open + 1)), &span)
                }
            };
            (!whole).then(|| PromptError::Torn { pointer: pointer() })
        })
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
        Err(self.opaque(shown.first().copied().unwrap_or(0)))
    }
}
