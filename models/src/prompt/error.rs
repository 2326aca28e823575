//! What can go wrong between a recorded chat and its token ids?

use std::ops::Range;

/// Why a prompt could not be prepared. Every variant names the place.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PromptError {
    /// The template does not compile, raised an exception, or failed while rendering.
    #[error("chat template{}: {message}", at_line(*.line))]
    Template {
        /// What the template engine, or the template's own `raise_exception`, said.
        message: String,
        /// Line of the template, counted from 1, where known.
        line: Option<usize>,
    },
    /// The tokenizer file or its configuration cannot be used.
    #[error("tokenizer: {message}")]
    Tokenizer {
        /// What is wrong with it.
        message: String,
    },
    /// The chat does not have the shape that chat templates read.
    #[error("{pointer}: found {found}, expected {expected}")]
    Shape {
        /// JSON pointer of the value.
        pointer: String,
        /// What stands there.
        found: &'static str,
        /// What should stand there.
        expected: &'static str,
    },
    /// The template shows one part twice, so its place in the prompt is not one place.
    #[error("{pointer}: the template shows this part more than once")]
    ShownTwice {
        /// JSON pointer of the part.
        pointer: String,
    },
    /// The template shows a piece of a part that it cuts out in a way that cannot be followed.
    #[error(
        "{pointer}: the template shows only a piece of this part, and cuts it where no mark survives"
    )]
    Torn {
        /// JSON pointer of the part.
        pointer: String,
    },
    /// Marking the part changes what the template renders, so its place cannot be proven.
    #[error("{pointer}: the template's output depends on this part in a way that hides its place")]
    Opaque {
        /// JSON pointer of the part.
        pointer: String,
    },
    /// A requested piece of a part cannot be located.
    #[error("{pointer} bytes {start}..{end}: {reason}")]
    Cut {
        /// JSON pointer of the part.
        pointer: String,
        /// First byte of the requested piece in the part's string.
        start: usize,
        /// End of the requested piece in the part's string.
        end: usize,
        /// Why it cannot be located.
        reason: &'static str,
    },
    /// Every block of private-use characters occurs in the chat, so no sentinel is unique.
    #[error("no unused private-use characters: the chat contains every one of them")]
    NoSentinel,
    /// A special token is spelt by a role, an id or an object key that the template shows.
    #[error(
        "{pointer}: found special token {literal:?} where the template shows a role, type, id or key"
    )]
    SpecialInStructure {
        /// JSON pointer of the value, or of the value under the key.
        pointer: String,
        /// The special token's literal.
        literal: String,
    },
    /// Pictures and placeholders do not pair up.
    #[error(
        "found {found} picture placeholders in the prompt, expected {expected} (one for each picture)"
    )]
    PictureCount {
        /// Placeholders that the template wrote.
        found: usize,
        /// Pictures that the caller gave.
        expected: usize,
    },
    /// Two placeholders touch, so their runs of pads could not be told apart.
    #[error("pictures {first} and {second} touch: found no token between their placeholders, expected a separator", second = first + 1)]
    TouchingPictures {
        /// Index of the first of the two.
        first: usize,
    },
    /// A picture with no tokens.
    #[error("picture {index}: found 0 tokens, expected at least 1")]
    EmptyPicture {
        /// Index of the picture.
        index: usize,
    },
    /// The template does not begin a message with a special token.
    #[error(
        "chat template: found no special token before a user message, expected one that starts a message"
    )]
    NoMessageStart,
    /// The template does not show a part that was asked for.
    #[error("{pointer}: the template does not show this part")]
    NotShown {
        /// JSON pointer of the part.
        pointer: String,
    },
}

impl PromptError {
    pub(super) fn cut(pointer: &str, range: &Range<usize>, reason: &'static str) -> Self {
        Self::Cut {
            pointer: pointer.to_owned(),
            start: range.start,
            end: range.end,
            reason,
        }
    }

    pub(super) fn tokenizer(message: impl std::fmt::Display) -> Self {
        Self::Tokenizer {
            message: message.to_string(),
        }
    }
}

fn at_line(line: Option<usize>) -> String {
    line.map(|line| format!(" line {line}")).unwrap_or_default()
}
