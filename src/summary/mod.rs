//! Where does the task-state summary (sigma) come from, and which tool asks for it?

#[cfg(feature = "engine")]
mod generate;

mod says;

pub use says::{Says, Statements};

#[cfg(feature = "train")]
pub(crate) use generate::REQUEST;
#[cfg(feature = "engine")]
pub use generate::{MAX_SUMMARY_TOKENS, Unusable, generate};

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// The tool whose call carries the summary.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SummaryTool {
    /// Function name.
    pub name: String,
    /// The argument that holds the summary.
    pub argument: String,
}

impl Default for SummaryTool {
    fn default() -> Self {
        Self {
            name: "summarize_the_task".into(),
            argument: "summary".into(),
        }
    }
}

impl SummaryTool {
    /// From `NAME` or `NAME.ARG`.
    pub fn parse(text: &str) -> Option<Self> {
        let (name, argument) = text.split_once('.').unwrap_or((text, "summary"));
        (!name.is_empty() && !argument.is_empty()).then(|| Self {
            name: name.into(),
            argument: argument.into(),
        })
    }

    /// The tool definition for a chat request. SPARE (arXiv 2608.22963): question, completed calls, visual evidence so far, what is still open.
    pub fn schema(&self) -> Value {
        json!({
            "type": "function",
            "function": {
                "name": self.name,
                "description": "Note the question, the calls done, the evidence seen and what is still open.",
                "parameters": {
                    "type": "object",
                    "properties": {(self.argument.as_str()): {"type": "string"}},
                    "required": [self.argument]
                }
            }
        })
    }
}

/// The definition of `summarize_the_task`, to offer the model.
pub fn summarize_the_task() -> Value {
    SummaryTool::default().schema()
}

/// The answer that a call of `summarize_the_task` gets.
pub const SUMMARY_ANSWER: &str = "noted";

/// Who wrote a summary.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SigmaSource {
    /// The argument of the run's own call: it stands in the history already.
    Call,
    /// The caller.
    Given,
    /// The loaded model, when asked.
    Generated,
}

/// A task-state summary.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sigma {
    /// Its text.
    pub text: String,
    /// Who wrote it.
    pub source: SigmaSource,
}

impl Sigma {
    /// The run's own.
    pub fn from_call(text: String) -> Self {
        Self {
            text,
            source: SigmaSource::Call,
        }
    }

    /// The caller's.
    pub fn given(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            source: SigmaSource::Given,
        }
    }

    /// SHA-256 of the text, lower-case hex.
    pub fn sha256(&self) -> String {
        crate::plan::sha256(self.text.as_bytes())
    }
}

/// Which summary an event is decided with.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum SummaryChoice {
    /// The run's own call.
    #[default]
    Run,
    /// The loaded model writes it.
    Generate,
    /// This text.
    Given(String),
}
