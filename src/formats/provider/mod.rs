//! What does a provider refuse? Its rules as code, one file a provider: what must stay as it is, and what a history may not look like.

mod anthropic;
mod gemini;

use std::collections::HashSet;
mod chat;
mod deepseek;
mod empty;
mod langchain;
mod llama_factory;
mod openai;
mod qwen;
mod qwen_agent;
mod responses;
mod signed;

use serde_json::Value;

use super::{FormatError, WireFormat};
use crate::trajectory::{Frozen, Part, Role, Trajectory};

pub use anthropic::Anthropic;
pub use gemini::Gemini;

pub use langchain::LangChainCore;
pub use llama_factory::LlamaFactoryLoader;
pub use qwen_agent::QwenAgentLibrary;
pub use responses::Responses;

pub use deepseek::DeepSeek;
pub use openai::OpenAi;
pub use qwen::Qwen;

/// A rule that a history breaks.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Violation {
    /// Whose rule.
    pub provider: &'static str,
    /// Its name.
    pub rule: &'static str,
    /// The message it concerns, counted in the run.
    pub message: Option<usize>,
    /// JSON pointer of the place.
    pub path: String,
    /// What was found there and what was expected.
    pub what: String,
}

impl std::fmt::Display for Violation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}, {}", self.provider, self.rule)?;
        if let Some(message) = self.message {
            write!(f, ", message {message}")?;
        }
        let path = Some(self.path.as_str()).filter(|path| !path.is_empty());
        write!(f, ": {}: {}", path.unwrap_or("top level"), self.what)
    }
}

/// The rules of one provider.
pub trait Provider: Send + Sync {
    /// Its name for `--provider`.
    fn name(&self) -> &'static str;

    /// Marks the reasoning of `run` (read from `root`) that its own rules do not let anyone edit.
    fn protect(&self, root: &Value, run: &mut Trajectory);

    /// Marks all that nobody may edit in a history for this provider: what its rules name, and every text with a signature beside it.
    fn freeze(&self, root: &Value, run: &mut Trajectory) {
        self.protect(root, run);
        signed::freeze(root, run);
    }

    /// What its rules find in a history as it is written, in order. The path of what is missing may name a key that is not there.
    fn find(&self, root: &Value) -> Vec<Violation>;

    /// Every violation in a history, in order. Each path names a value of the history: where a key is missing, the value that lacks it, and the
    /// words name the key.
    fn check(&self, root: &Value) -> Vec<Violation> {
        placed(root, self.find(root))
    }
}

/// Every provider whose rules are known.
pub const PROVIDERS: &[&dyn Provider] = &[
    &Anthropic,
    &Gemini,
    &Responses,
    &LlamaFactoryLoader,
    &LangChainCore,
    &OpenAi,
    &DeepSeek,
    &Qwen,
    &QwenAgentLibrary,
];

/// The providers whose rules a record of `format` has to obey: the one called `name`, or all that are known for the format
/// (`strict`, and without a name).
pub fn of(
    format: &dyn WireFormat,
    name: Option<&str>,
) -> Result<Vec<&'static dyn Provider>, FormatError> {
    let known = format.providers();
    match name {
        None | Some("strict") => Ok(PROVIDERS
            .iter()
            .copied()
            .filter(|p| known.contains(&p.name()))
            .collect()),
        Some(name) => match PROVIDERS.iter().find(|p| p.name() == name) {
            Some(provider) => Ok(vec![*provider]),
            None => Err(FormatError::Shape {
                pointer: String::new(),
                found: format!("the provider name `{name}`"),
                expected: format!("strict or one of {}", names()),
            }),
        },
    }
}

fn names() -> String {
    let names: Vec<&str> = PROVIDERS.iter().map(|p| p.name()).collect();
    names.join(", ")
}

/// Freezes every text of the model that stands at one of these JSON pointers or below, unless it is frozen already.
fn frozen_below(run: &mut Trajectory, pointers: &HashSet<String>, why: Frozen) {
    let inside = |pointer: &str| {
        let mut ends = pointer.rmatch_indices('/').map(|(end, _)| end);
        pointers.contains(pointer)
            || ends.any(|end| pointer.get(..end).is_some_and(|p| pointers.contains(p)))
    };
    for message in run
        .messages
        .iter_mut()
        .filter(|m| m.role == Role::Assistant)
    {
        for reasoning in &mut message.reasoning {
            if reasoning.frozen.is_none() && reasoning.places.iter().any(|p| inside(&p.pointer)) {
                reasoning.frozen = Some(why);
            }
        }
        for part in &mut message.parts {
            if let Part::Text(text) = part {
                let here = text.place.as_ref().is_some_and(|p| inside(&p.pointer));
                if text.frozen.is_none() && here {
                    text.frozen = Some(why);
                }
            }
        }
    }
}

/// Violations at places that are there: what is missing is named in words at the nearest value around it.
fn placed(root: &Value, mut found: Vec<Violation>) -> Vec<Violation> {
    for violation in &mut found {
        let mut end = violation.path.len();
        while root
            .pointer(violation.path.get(..end).unwrap_or_default())
            .is_none()
        {
            let before = violation.path.get(..end).unwrap_or_default();
            end = before.rfind('/').unwrap_or(0);
        }
        let missing = violation.path.split_off(end);
        let key = format!("`{}`", missing.trim_start_matches('/'));
        if !missing.is_empty() && !violation.what.contains(&key) {
            violation.what = format!("{key}: {}", violation.what);
        }
    }
    found
}
