//! Writing an edit back: which bytes of the record change, and nothing else.

use std::collections::{BTreeSet, HashMap};
use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::located::{Kind, Located, escaped, locate_all, raw_range};
use crate::trajectory::Place;

/// One change of a record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Edit {
    /// Other text at some bytes of a string.
    Text {
        /// Where.
        place: Place,
        /// What stands there afterwards, decoded.
        text: String,
    },
    /// Another JSON value.
    Value {
        /// JSON pointer of the old one.
        pointer: String,
        /// The new one, as JSON text.
        json: String,
    },
    /// One element less in an array, with its comma.
    Remove {
        /// JSON pointer of the element.
        pointer: String,
    },
}

impl Edit {
    /// The place it touches.
    pub fn pointer(&self) -> &str {
        match self {
            Edit::Text { place, .. } => &place.pointer,
            Edit::Value { pointer, .. } | Edit::Remove { pointer } => pointer,
        }
    }
}

/// An edit that does not fit the text it was made for.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EditError {
    /// No string at the place, or not that long.
    #[error("{pointer}: found no string with bytes {}..{}", range.start, range.end)]
    NoSuchPlace {
        /// JSON pointer.
        pointer: String,
        /// Bytes of the decoded string.
        range: Range<usize>,
    },
    /// Two edits of the same bytes.
    #[error("{pointer}: two edits touch the same bytes")]
    Overlap {
        /// JSON pointer of the later one.
        pointer: String,
    },
}

/// One replacement of bytes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Replaced {
    /// First byte in the old text.
    pub start: usize,
    /// The bytes that stood there.
    pub old: String,
    /// Length in bytes of what stands there now.
    pub new_len: usize,
}

/// The record with all edits made, and what was replaced, in the order of the text.
pub fn apply(text: &str, edits: &[Edit]) -> Result<(String, Vec<Replaced>), EditError> {
    let none = |edit: &Edit| EditError::NoSuchPlace {
        pointer: edit.pointer().to_owned(),
        range: match edit {
            Edit::Text { place, .. } => place.range.clone(),
            _ => 0..0,
        },
    };
    let Some(first) = edits.first() else {
        return Ok((text.to_owned(), Vec::new()));
    };
    // Elements to take out, by their array.
    let mut removed: HashMap<&str, BTreeSet<usize>> = HashMap::new();
    for edit in edits {
        if let Edit::Remove { pointer } = edit {
            let (array, index) = element(pointer).ok_or_else(|| none(edit))?;
            removed.entry(array).or_default().insert(index);
        }
    }
    let arrays: Vec<&str> = removed.keys().copied().collect();
    let pointers: Vec<&str> = edits
        .iter()
        .map(Edit::pointer)
        .chain(arrays.iter().copied())
        .collect();
    let mut values = locate_all(text, &pointers).map_err(|_| none(first))?;
    let mut elements: HashMap<&str, Vec<Range<usize>>> = HashMap::new();
    for (array, value) in arrays.iter().zip(values.split_off(edits.len())) {
        let items: Vec<Located<'_>> = value.and_then(|v| v.elements().ok()).unwrap_or_default();
        elements.insert(array, items.iter().map(Located::span).collect());
    }

    let mut found = Vec::with_capacity(edits.len());
    for (edit, value) in edits.iter().zip(values) {
        let value = value.ok_or_else(|| none(edit))?;
        let (range, new) = match edit {
            Edit::Text { place, text } => {
                if value.kind() != Kind::String {
                    return Err(none(edit));
                }
                let inner = raw_range(value.raw(), &place.range).ok_or_else(|| none(edit))?;
                let start = value.span().start;
                (start + inner.start..start + inner.end, escaped(text))
            }
            Edit::Value { json, .. } => (value.span(), json.clone()),
            Edit::Remove { pointer } => {
                let range = element(pointer).and_then(|(array, index)| {
                    removal(elements.get(array)?, index, removed.get(array)?)
                });
                (range.ok_or_else(|| none(edit))?, String::new())
            }
        };
        found.push((range, new, edit));
    }
    found.sort_by_key(|(range, ..)| (range.start, range.end));
    let (mut out, mut replaced, mut done) = (String::with_capacity(text.len()), Vec::new(), 0);
    for (range, new, edit) in found {
        let overlap = || EditError::Overlap {
            pointer: edit.pointer().to_owned(),
        };
        out.push_str(text.get(done..range.start).ok_or_else(overlap)?);
        out.push_str(&new);
        replaced.push(Replaced {
            start: range.start,
            old: text.get(range.clone()).ok_or_else(overlap)?.to_owned(),
            new_len: new.len(),
        });
        done = range.end;
    }
    out.push_str(text.get(done..).unwrap_or_default());
    Ok((out, replaced))
}

/// A pointer's array and the index in it.
fn element(pointer: &str) -> Option<(&str, usize)> {
    let (array, index) = pointer.rsplit_once('/')?;
    Some((array, index.parse().ok()?))
}

/// Bytes of an array element and one comma: the one before it, or the one behind where nothing before it stays.
fn removal(
    elements: &[Range<usize>],
    index: usize,
    removed: &BTreeSet<usize>,
) -> Option<Range<usize>> {
    let own = elements.get(index)?.clone();
    // The removed ones are sorted, so the first gap in them is the first element that stays.
    let first_kept = removed
        .iter()
        .enumerate()
        .take_while(|(i, r)| i == *r)
        .count();
    if first_kept < index {
        let before = elements.get(index.checked_sub(1)?)?;
        return Some(before.end..own.end);
    }
    match elements.get(index + 1) {
        Some(next) => Some(own.start..next.start),
        None => Some(own),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use serde_json::{Value, json};

    #[test]
    fn removing_any_elements_leaves_an_array_of_the_others() {
        let text = r#"{"a": [ 0 , {"b": ","},"]", 3 ] }"#;
        let all = [json!(0), json!({"b": ","}), json!("]"), json!(3)];
        for mask in 0u32..16 {
            let gone = |i: &usize| mask >> i & 1 == 1;
            let edits: Vec<Edit> = (0..4)
                .filter(gone)
                .map(|i| Edit::Remove {
                    pointer: format!("/a/{i}"),
                })
                .collect();
            let (out, replaced) = apply(text, &edits).unwrap();
            let kept: Vec<Value> = (0..4)
                .filter(|i| !gone(i))
                .map(|i| all[i].clone())
                .collect();
            assert_eq!(
                serde_json::from_str::<Value>(&out).unwrap(),
                json!({"a": kept}),
                "{out}"
            );
            assert_eq!(replaced.len(), edits.len());
        }
    }

    /// A walk of the whole text for each edit would take minutes here.
    #[test]
    fn many_edits_are_one_walk() {
        let body = vec![r#"{"a": ["x", "y"]}"#; 20_000].join(",");
        let text = format!("[{body}]");
        let mut edits = Vec::new();
        for i in 0..20_000 {
            edits.push(Edit::Remove {
                pointer: format!("/{i}/a/0"),
            });
            edits.push(Edit::Text {
                place: Place {
                    pointer: format!("/{i}/a/1"),
                    range: 0..1,
                },
                text: "z".into(),
            });
        }
        let (out, replaced) = apply(&text, &edits).unwrap();
        assert_eq!(out, text.replace(r#""x", "y""#, r#""z""#));
        assert_eq!(replaced.len(), edits.len());
    }

    #[test]
    fn a_value_is_replaced_whole() {
        let edit = Edit::Value {
            pointer: "/0".into(),
            json: r#"{"type": "text"}"#.into(),
        };
        assert_eq!(
            apply(r#"[ {"x":1}, 2]"#, &[edit]).unwrap().0,
            r#"[ {"type": "text"}, 2]"#
        );
    }
}
