//! Who speaks in a text run, and in which of the many ways?

use super::phrase::{self, Ways};
use crate::eval::thought::Thought;
use crate::eval::{MentionKind, Random};

/// Who speaks: choices, and whether the sentences that only test runs have are among them.
pub(super) struct Voice<'r> {
    pub(super) random: &'r mut Random,
    pub(super) test: bool,
}

impl Voice<'_> {
    fn way(&mut self, ways: &Ways) -> &'static str {
        let count = ways.all.len() + if self.test { ways.test.len() } else { 0 };
        let at = self.random.below(count);
        ways.all
            .iter()
            .chain(ways.test)
            .nth(at)
            .copied()
            .unwrap_or("")
    }

    /// A sentence without a value.
    pub(super) fn plain(&mut self, thought: &mut Thought, ways: &Ways, about: &str) {
        let sentence = self.way(ways).replace("{a}", about);
        thought.push(&capital(&sentence));
    }

    /// A sentence with one value.
    pub(super) fn say(
        &mut self,
        thought: &mut Thought,
        ways: &Ways,
        about: &str,
        value: &str,
        kind: MentionKind,
        fact: Option<usize>,
    ) {
        let sentence = capital(&self.way(ways).replace("{a}", about));
        thought.state(&sentence, value, kind, fact);
    }

    /// `count` sentences that carry nothing.
    pub(super) fn filler(&mut self, thought: &mut Thought, count: usize) {
        for _ in 0..count {
            self.plain(thought, &phrase::FILLER, "");
        }
    }
}

/// The text with a capital first letter.
pub(super) fn capital(text: &str) -> String {
    let mut chars = text.chars();
    match chars.next() {
        Some(first) => first.to_uppercase().chain(chars).collect(),
        None => String::new(),
    }
}
