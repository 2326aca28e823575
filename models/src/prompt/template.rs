//! What text does a checkpoint's own chat template make of a chat?
//!
//! The template runs in minijinja, set up as transformers sets up Jinja2 (`utils/chat_template_utils.py`, 5.24).

use std::fmt::Write as _;
use std::time::{SystemTime, UNIX_EPOCH};

use minijinja::syntax::SyntaxConfig;
use minijinja::value::{Kwargs, Serde, ValueKind};
use minijinja::{Environment, Error, ErrorKind, Value};
use serde_json::{Map, Value as Json};
use sha2::{Digest, Sha256};

use super::error::PromptError;
use super::{clock, literals, python};

const NAME: &str = "chat_template";

/// A compiled chat template. Immutable; renders are independent of each other.
pub struct ChatTemplate {
    environment: Environment<'static>,
    source: String,
    hash: String,
    cut_literals: Vec<String>,
}

impl ChatTemplate {
    /// Compiles the text of a `chat_template.jinja`.
    ///
    /// `strftime_now` is frozen at this moment (UTC), so that two renderings of one chat are equal.
    ///
    /// # Errors
    /// [`PromptError::Template`] with the line when the source does not compile.
    pub fn new(source: &str) -> Result<Self, PromptError> {
        let now = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .map_or(0, |d| i64::try_from(d.as_secs()).unwrap_or(0));
        Self::at(source, now)
    }

    /// As [`ChatTemplate::new`], with `strftime_now` frozen at `unix_seconds` (UTC).
    ///
    /// # Errors
    /// [`PromptError::Template`] with the line when the source does not compile.
    pub fn at(source: &str, unix_seconds: i64) -> Result<Self, PromptError> {
        let mut environment = Environment::new();
        let mut syntax = SyntaxConfig::builder();
        syntax.trim_blocks(true).lstrip_blocks(true);
        environment.set_syntax(syntax.build().map_err(template_error)?);
        environment
            .set_unknown_method_callback(minijinja_contrib::pycompat::unknown_method_callback);
        environment.add_filter("tojson", |value: &Value, kwargs: Kwargs| {
            python::tojson(value, kwargs)
        });
        environment.add_filter("string", |value: &Value| -> Result<Value, Error> {
            Ok(match value.kind() {
                ValueKind::Number => Value::from(python::number(value)?),
                ValueKind::String => value.clone(),
                _ => Value::from(value.to_string()),
            })
        });
        // In Jinja2 whatever has a length and items is a sequence, strings and mappings included.
        environment.add_test("sequence", |value: &Value| {
            matches!(
                value.kind(),
                ValueKind::Seq | ValueKind::String | ValueKind::Map
            )
        });
        environment.add_function(
            "raise_exception",
            |message: String| -> Result<Value, Error> {
                Err(Error::new(ErrorKind::InvalidOperation, message))
            },
        );
        environment.add_function("strftime_now", move |format: &str| {
            clock::strftime(format, unix_seconds).map_err(|code| {
                Error::new(
                    ErrorKind::InvalidOperation,
                    format!("strftime_now: unknown code %{code}"),
                )
            })
        });
        environment.set_formatter(|out, state, value| {
            if value.kind() == ValueKind::Number {
                return out
                    .write_str(&python::number(value)?)
                    .map_err(|_| ErrorKind::WriteFailure.into());
            }
            minijinja::escape_formatter(out, state, value)
        });
        environment
            .add_template_owned(NAME, source.to_owned())
            .map_err(template_error)?;
        Ok(Self {
            environment,
            source: source.to_owned(),
            hash: hex(&Sha256::digest(source.as_bytes())),
            cut_literals: literals::cut_literals(source),
        })
    }

    /// SHA-256 of the source, in hex.
    pub fn hash(&self) -> &str {
        &self.hash
    }

    pub(super) fn source(&self) -> &str {
        &self.source
    }

    /// The literals by which the template may cut a message's text (`</think>` in `content.split('</think>')`).
    pub(super) fn cut_literals(&self) -> &[String] {
        &self.cut_literals
    }

    /// Renders with exactly these variables.
    pub(super) fn render(&self, variables: &Map<String, Json>) -> Result<String, PromptError> {
        self.environment
            .get_template(NAME)
            .and_then(|template| template.render(Value::from(Serde(variables))))
            .map_err(template_error)
    }
}

impl std::fmt::Debug for ChatTemplate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ChatTemplate")
            .field("hash", &self.hash)
            .finish_non_exhaustive()
    }
}

fn template_error(error: Error) -> PromptError {
    let mut message = match error.detail() {
        // raise_exception: the template's own words are the whole message
        Some(detail) if error.kind() == ErrorKind::InvalidOperation => detail.to_owned(),
        Some(detail) => format!("{}: {detail}", error.kind()),
        None => error.kind().to_string(),
    };
    let mut source = std::error::Error::source(&error);
    while let Some(cause) = source {
        message = format!("{message}: {cause}");
        source = cause.source();
    }
    PromptError::Template {
        message,
        line: error.line(),
    }
}

pub(super) fn hex(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(2 * bytes.len());
    for byte in bytes {
        let _ = write!(out, "{byte:02x}");
    }
    out
}
