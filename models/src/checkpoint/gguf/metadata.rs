//! What does a metadata key say, and where exactly does it say something else?

use serde_json::{Value as Json, json};

use super::header::Header;
use super::value::{Array, Value};
use crate::ModelError;

/// Metadata of one file, with its name, so that every error names both.
#[derive(Debug, Clone, Copy)]
pub(super) struct Metadata<'a> {
    pub(super) file: &'a str,
    pub(super) header: &'a Header<'a>,
}

impl<'a> Metadata<'a> {
    /// An error about `key`.
    pub(super) fn refuse(
        &self,
        key: &str,
        found: impl std::fmt::Display,
        expected: impl Into<String>,
    ) -> ModelError {
        ModelError::Config {
            place: self.file.into(),
            field: key.into(),
            found: found.to_string(),
            expected: expected.into(),
        }
    }

    pub(super) fn get(&self, key: &str) -> Option<Value<'a>> {
        self.header.get(key)
    }

    /// The value that `read` makes of a key; `None` where the key is absent.
    fn optional<T>(
        &self,
        key: &str,
        expected: &str,
        read: impl FnOnce(Value<'a>) -> Option<T>,
    ) -> Result<Option<T>, ModelError> {
        match self.get(key) {
            None => Ok(None),
            Some(value) => match read(value) {
                Some(read) => Ok(Some(read)),
                None => Err(self.refuse(key, show(&value), expected)),
            },
        }
    }

    /// An error where the key is absent.
    pub(super) fn need<T>(
        &self,
        key: &str,
        expected: &str,
        value: Option<T>,
    ) -> Result<T, ModelError> {
        value.ok_or_else(|| self.refuse(key, "nothing", expected))
    }

    /// A number from 1 to 2^31.
    pub(super) fn optional_count(&self, key: &str) -> Result<Option<usize>, ModelError> {
        self.optional(key, COUNT, |value| match value {
            Value::Integer(n) if (1..1 << 31).contains(&n) => usize::try_from(n).ok(),
            _ => None,
        })
    }

    pub(super) fn count(&self, key: &str) -> Result<usize, ModelError> {
        let count = self.optional_count(key)?;
        self.need(key, COUNT, count)
    }

    pub(super) fn optional_id(&self, key: &str) -> Result<Option<u32>, ModelError> {
        self.optional(key, "a token id", |value| match value {
            Value::Integer(n) => u32::try_from(n).ok(),
            _ => None,
        })
    }

    /// A positive number.
    pub(super) fn optional_positive(&self, key: &str) -> Result<Option<f64>, ModelError> {
        self.optional(key, POSITIVE, |value| {
            number(&value).filter(|n| n.is_finite() && *n > 0.0)
        })
    }

    pub(super) fn positive(&self, key: &str) -> Result<f64, ModelError> {
        let number = self.optional_positive(key)?;
        self.need(key, POSITIVE, number)
    }

    pub(super) fn optional_text(&self, key: &str) -> Result<Option<&'a str>, ModelError> {
        self.optional(key, "a string", |value| match value {
            Value::Text(text) => Some(text),
            _ => None,
        })
    }

    pub(super) fn text(&self, key: &str) -> Result<&'a str, ModelError> {
        let text = self.optional_text(key)?;
        self.need(key, "a string", text)
    }

    pub(super) fn flag(&self, key: &str) -> Result<Option<bool>, ModelError> {
        self.optional(key, "true or false", |value| match value {
            Value::Bool(flag) => Some(flag),
            _ => None,
        })
    }

    pub(super) fn array(&self, key: &str) -> Result<Option<Array<'a>>, ModelError> {
        self.optional(key, "an array", |value| match value {
            Value::Array(array) => Some(array),
            _ => None,
        })
    }

    /// Three or four whole numbers from 0.
    pub(super) fn counts(&self, key: &str) -> Result<Vec<usize>, ModelError> {
        let expected = "an array of 3 or 4 whole numbers from 0";
        let counts = self.optional(key, expected, |value| match value {
            Value::Array(array) if array.len() <= 4 => array
                .iter()
                .map(|n| match n {
                    Value::Integer(n) => usize::try_from(n).ok(),
                    _ => None,
                })
                .collect::<Option<Vec<_>>>(),
            _ => None,
        })?;
        self.need(key, expected, counts)
    }

    /// Three numbers, one a channel.
    pub(super) fn channels(&self, key: &str) -> Result<Json, ModelError> {
        let expected = "an array of 3 numbers";
        let channels = self.optional(key, expected, |value| match value {
            Value::Array(array) if array.len() == 3 => array
                .iter()
                .map(|n| number(&n).filter(|n| n.is_finite()))
                .collect::<Option<Vec<f64>>>(),
            _ => None,
        })?;
        Ok(json!(self.need(key, expected, channels)?))
    }

    /// Refuses every key `prefix.*` but `known`: what is not understood may change what the model computes.
    pub(super) fn only(&self, prefix: &str, known: &[&str]) -> Result<(), ModelError> {
        for (key, value) in self.header.entries() {
            let rest = key.strip_prefix(prefix).and_then(|k| k.strip_prefix('.'));
            if rest.is_some_and(|rest| !known.contains(&rest)) {
                let expected = format!("only what is understood: {}", known.join(", "));
                return Err(self.refuse(key, show(value), expected));
            }
        }
        Ok(())
    }
}

const COUNT: &str = "a whole number from 1 to 2147483647";
const POSITIVE: &str = "a positive number";

/// A float as the decimal that was rounded to it: 1e-6 is stored as 9.99999997e-7, and config.json says 1e-6.
fn number(value: &Value<'_>) -> Option<f64> {
    match value {
        Value::F32(n) => n.to_string().parse().ok(),
        Value::F64(n) => Some(*n),
        Value::Integer(n) => Some(*n as f64),
        _ => None,
    }
}

/// A value for a message.
fn show(value: &Value<'_>) -> String {
    match value {
        Value::Integer(n) => n.to_string(),
        Value::F32(n) => n.to_string(),
        Value::F64(n) => n.to_string(),
        Value::Bool(flag) => flag.to_string(),
        Value::Text(text) => super::bytes::shown(text),
        Value::Array(array) => format!("an array of {}", array.len()),
    }
}
