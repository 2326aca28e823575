//! JSON with the place of every value, through serde_json's raw values; each level is scanned once more than the one above it.

use std::fmt;
use std::ops::Range;

use serde::de::{Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

use super::{Fault, Node, Value};

/// The children of one value as they stand in the text.
enum Level<'a> {
    Scalar,
    Array(Vec<&'a RawValue>),
    Object(Vec<(String, &'a RawValue)>),
}

impl<'de: 'a, 'a> serde::Deserialize<'de> for Level<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Levels;
        impl<'de> Visitor<'de> for Levels {
            type Value = Level<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an array or an object")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Self::Value, A::Error> {
                let mut values = Vec::new();
                while let Some(value) = items.next_element()? {
                    values.push(value);
                }
                Ok(Level::Array(values))
            }

            fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Self::Value, A::Error> {
                let mut values = Vec::new();
                while let Some(entry) = entries.next_entry()? {
                    values.push(entry);
                }
                Ok(Level::Object(values))
            }
        }
        deserializer.deserialize_any(Levels)
    }
}

/// Parses one JSON value. Below `depth` levels a value is kept as text.
pub(super) fn parse(text: &str, depth: usize) -> Result<Node, Fault> {
    let raw: &RawValue = serde_json::from_str(text).map_err(|error| fault(text, 0, &error))?;
    node(text, raw.get(), depth)
}

fn fault(text: &str, start: usize, error: &serde_json::Error) -> Fault {
    let before: usize = text
        .get(start..)
        .unwrap_or_default()
        .split_inclusive('\n')
        .take(error.line().saturating_sub(1))
        .map(str::len)
        .sum();
    Fault {
        place: start + before + error.column().saturating_sub(1),
        found: error.to_string(),
        expected: "one JSON value",
    }
}

fn place(text: &str, part: &str) -> Range<usize> {
    let start = (part.as_ptr() as usize).saturating_sub(text.as_ptr() as usize);
    start..start + part.len()
}

fn node(text: &str, raw: &str, depth: usize) -> Result<Node, Fault> {
    let place = place(text, raw);
    let level = if raw.starts_with(['{', '[']) && depth > 0 {
        serde_json::from_str(raw).map_err(|error| fault(text, place.start, &error))?
    } else {
        Level::Scalar
    };
    let value = match level {
        Level::Scalar => Value::Scalar(
            serde_json::from_str::<String>(raw).unwrap_or_else(|_| super::shortened(raw, 4_000)),
        ),
        Level::Array(items) => Value::Array(
            items
                .into_iter()
                .map(|item| node(text, item.get(), depth - 1))
                .collect::<Result<_, _>>()?,
        ),
        Level::Object(entries) => Value::Object(
            entries
                .into_iter()
                .map(|(name, item)| Ok((name, node(text, item.get(), depth - 1)?)))
                .collect::<Result<_, Fault>>()?,
        ),
    };
    Ok(Node { place, value })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn values_know_their_bytes_and_deep_ones_are_text() {
        let text = " {\"a\": [1, \"b\\n\"], \"a\": {}}";
        let root = parse(text, 8).ok().unwrap();
        let Value::Object(entries) = &root.value else {
            return;
        };
        assert_eq!(entries.len(), 2);
        assert_eq!(&text[entries[0].1.place.clone()], "[1, \"b\\n\"]");
        assert!(parse(&"[".repeat(100_000), 8).is_err());
        assert!(parse(&("[".repeat(5_000) + &"]".repeat(5_000)), 8).is_ok());
    }
}
