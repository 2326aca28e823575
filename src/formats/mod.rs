//! How is a run written in a file, and how does an edit get back into the same bytes? One file a wire format.
//! Bytes outside an edit come back unchanged; that is a property of this room, not of its callers.

mod edit;
mod located;
pub mod openai_chat;
mod records;

pub use edit::{Edit, EditError, Replaced, apply};
pub use records::{Container, Record, Records, detect};

/// What is wrong with a run, and where.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FormatError {
    /// The text is not JSON.
    #[error("not JSON: {message}")]
    NotJson {
        /// The parser's words, with line and column.
        message: String,
    },
    /// A value of another shape than the format has there.
    #[error("{}: found {found}, expected {expected}", at(pointer))]
    Shape {
        /// JSON pointer of the value.
        pointer: String,
        /// What stands there.
        found: String,
        /// What the format has there.
        expected: String,
    },
    /// A run without messages.
    #[error("{}: found an empty list, expected at least one message", at(pointer))]
    Empty {
        /// JSON pointer of the list.
        pointer: String,
    },
    /// A tool result whose call is not in the run.
    #[error(
        "{pointer}: found a result for call `{id}`, expected an earlier assistant message with that call"
    )]
    ResultWithoutCall {
        /// JSON pointer of the message.
        pointer: String,
        /// The id it names.
        id: String,
    },
    /// A picture address that is not opened.
    #[error(
        "{pointer}: found {found}, expected a data URI or a relative path inside the picture folder"
    )]
    PictureAddress {
        /// JSON pointer of the address.
        pointer: String,
        /// The address, shortened.
        found: String,
    },
}

fn at(pointer: &str) -> &str {
    if pointer.is_empty() {
        "top level"
    } else {
        pointer
    }
}
