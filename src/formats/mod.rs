//! How is a run written in a file, and how does an edit get back into the same bytes? One file a wire format.
//! Bytes outside an edit come back unchanged; that is a property of this room, not of its callers.

mod anthropic;
mod atif;
mod chat_part;
mod chat_reasoning;
mod check;
mod claude_code;
mod container;
mod edit;
mod gemini;
mod langchain;
mod llama_factory;
mod located;
pub mod openai_chat;
mod openai_responses;
mod picture;
mod position;
pub mod provider;
mod qwen_agent;
mod records;
mod repair;
mod share_gpt;
mod turns;

pub use anthropic::Anthropic;
pub use check::{Checked, check, worse};
pub use claude_code::ClaudeCode;
pub use container::{Replayed, detect};
mod python_call;
mod react;
mod smolagents;

#[cfg(feature = "engine")]
pub(crate) use python_call::literal_call;

pub use atif::Atif;
pub use edit::{Edit, EditError, Replaced, apply};
pub use gemini::Gemini;
pub use langchain::LangChain;
pub use llama_factory::LlamaFactory;
pub use openai_chat::OpenAiChat;
pub use openai_responses::OpenAiResponses;
pub use qwen_agent::QwenAgent;
pub use react::ReAct;
pub use records::{Container, Record, Records};
pub use repair::{Mend, repair};
pub use share_gpt::ShareGpt;
pub use smolagents::Smolagents;

use serde_json::Value;

use crate::trajectory::{Segment, Trajectory};

/// One way of writing a run. Reading gives every text its place; an edit goes back into that place.
pub trait WireFormat: Send + Sync {
    /// Its name for `--format` and receipts.
    fn name(&self) -> &'static str;

    /// Whether a record looks like this format. Looks at shape, never at names of files.
    fn detect(&self, root: &Value) -> bool;

    /// Reads one run. Errors name the place by JSON pointer, what was found and what was expected.
    fn read(&self, root: &Value) -> Result<Trajectory, FormatError>;

    /// Names of the providers whose rules are known for it.
    fn providers(&self) -> &[&'static str];

    /// What changes in the source when `text` replaces a segment. `text` may be empty where the segment says so.
    fn edits(&self, segment: &Segment, text: &str) -> Vec<Edit> {
        let edit = |place: &crate::trajectory::Place| Edit::Text {
            place: place.clone(),
            text: text.to_owned(),
        };
        segment.places.iter().map(edit).collect()
    }
}

/// Every format, the most particular first: the first that detects a record reads it.
pub const FORMATS: &[&dyn WireFormat] = &[
    &ClaudeCode,
    &Anthropic,
    &Gemini,
    &LangChain,
    &ShareGpt,
    &LlamaFactory,
    &OpenAiResponses,
    &QwenAgent,
    &Atif,
    &Smolagents,
    &ReAct,
    &OpenAiChat,
];

/// The format of a record: the one called `forced`, else the first that detects it.
pub fn format_of(
    root: &Value,
    forced: Option<&str>,
) -> Result<&'static dyn WireFormat, FormatError> {
    let names = || {
        FORMATS
            .iter()
            .map(|f| f.name())
            .collect::<Vec<_>>()
            .join(", ")
    };
    let found = match forced {
        Some(name) => FORMATS.iter().find(|f| f.name() == name),
        None => FORMATS.iter().find(|f| f.detect(root)),
    };
    match found {
        Some(format) => Ok(*format),
        // The commonest shape says best what is wrong.
        None if forced.is_none() => Ok(&OpenAiChat),
        None => Err(FormatError::Shape {
            pointer: String::new(),
            found: format!("the format name `{}`", forced.unwrap_or_default()),
            expected: format!("one of {}", names()),
        }),
    }
}

/// The record's JSON. A whole parse: it alone sees lone surrogates and nesting that is too deep, and knows line and column.
/// A text of several lines that is no single value is the list of its lines.
pub fn parse(text: &str) -> Result<Value, FormatError> {
    serde_json::from_str(text).or_else(|whole| {
        let mut values = Vec::new();
        for (number, line) in text.split('\n').enumerate() {
            match serde_json::from_str(line) {
                _ if is_blank(line) => {}
                Ok(value) => values.push(value),
                // Behind a line that is a value of its own, the line that is none is what is wrong.
                Err(error) if !values.is_empty() => {
                    return Err(not_json(line, &error, Some(number + 1)));
                }
                Err(_) => break,
            }
        }
        match values.len() {
            0 | 1 => Err(not_json(text, &whole, None)),
            _ => Ok(Value::Array(values)),
        }
    })
}

/// A line that holds no value: white space, or the NUL bytes that a crash leaves.
pub(crate) fn is_blank(line: &str) -> bool {
    line.trim_matches(|c: char| c.is_whitespace() || c == '\0')
        .is_empty()
}

/// `line`: which line of the record `text` is, where it is only one of them.
fn not_json(text: &str, error: &serde_json::Error, line: Option<usize>) -> FormatError {
    let mut message = position::describe(text, error);
    if let Some(line) = line {
        message = format!("line {line}: {message}");
    }
    let half = message.contains("hex escape") || message.contains("surrogate");
    let hint = if half {
        " (a \\u escape that is half of a surrogate pair?)"
    } else {
        ""
    };
    FormatError::NotJson {
        message: message + hint,
    }
}

/// What is wrong with a run, and where.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FormatError {
    /// The text is not JSON.
    #[error("not JSON: {message}")]
    NotJson {
        /// The JSON pointer that was reached, and the parser's words with line and column.
        message: String,
    },
    /// Bytes that are no text.
    #[error(
        "not UTF-8: found the byte 0x{found:02X} at byte {byte} of the record, expected UTF-8 text"
    )]
    NotUtf8 {
        /// Offset in the record.
        byte: usize,
        /// The byte there.
        found: u8,
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
}

fn at(pointer: &str) -> &str {
    if pointer.is_empty() {
        "top level"
    } else {
        pointer
    }
}
