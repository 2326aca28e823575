//! How does the reasoning of one turn grow sentence by sentence, with every value's place known?

use super::{Mention, MentionKind};

/// The reasoning of one turn.
#[derive(Default)]
pub(super) struct Thought {
    pub(super) text: String,
    values: Vec<Mention>,
}

impl Thought {
    /// Adds a sentence; the byte where it begins.
    pub(super) fn push(&mut self, sentence: &str) -> usize {
        if !self.text.is_empty() {
            self.text.push(' ');
        }
        let start = self.text.len();
        self.text.push_str(sentence);
        start
    }

    /// Adds a sentence with `value` in the place of `{v}`, where it has one.
    pub(super) fn state(
        &mut self,
        sentence: &str,
        value: &str,
        kind: MentionKind,
        fact: Option<usize>,
    ) {
        let start = self.push(&sentence.replace("{v}", value));
        if let Some(at) = sentence.find("{v}") {
            self.values.push(Mention {
                message: 0,
                start: start + at,
                end: start + at + value.len(),
                value: value.to_owned(),
                kind,
                fact,
            });
        }
    }

    /// Its values, as those of a message.
    pub(super) fn mentions(self, message: usize) -> impl Iterator<Item = Mention> {
        let values = self.values.into_iter();
        values.map(move |value| Mention { message, ..value })
    }
}
