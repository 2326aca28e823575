//! The reasoning fields of chat messages: `reasoning_content` (DeepSeek, Kimi, Qwen, vLLM, SGLang), its newer name `reasoning` (vLLM,
//! OpenRouter), and the entries of OpenRouter's `reasoning_details`. Equal copies are one text that changes in all its places.

use serde_json::Value;

use super::openai_chat::shape;
use super::{Edit, FormatError};
use crate::trajectory::{Frozen, Place, Reasoning, Segment};

/// The reasoning of one message. An empty text may stand in its place: the key stays, as a string.
pub(crate) fn read(value: &Value, at: &str) -> Result<Option<Reasoning>, FormatError> {
    let mut found: Option<Reasoning> = None;
    for key in ["reasoning_content", "reasoning"] {
        let pointer = format!("{at}/{key}");
        match value.get(key) {
            None | Some(Value::Null) => {}
            Some(Value::String(text)) => add(&mut found, text, vec![whole(text, pointer)]),
            Some(other) => return Err(shape(&pointer, other, "a string or null")),
        }
    }
    match value.get("reasoning_details") {
        Some(Value::Array(details)) if !details.is_empty() => match plain(details, at) {
            Some((text, places)) => add(&mut found, &text, places),
            None => {
                if let Some(found) = &mut found {
                    found.frozen = Some(Frozen::ReasoningDetails);
                }
            }
        },
        _ => {}
    }
    Ok(found)
}

fn whole(text: &str, pointer: String) -> Place {
    Place {
        pointer,
        range: 0..text.len(),
    }
}

fn add(found: &mut Option<Reasoning>, text: &str, places: Vec<Place>) {
    match found {
        None => {
            *found = Some(Reasoning {
                text: text.to_owned(),
                places,
                frozen: None,
                may_be_empty: true,
            });
        }
        Some(first) if first.text == text => first.places.extend(places),
        Some(first) => first.frozen = Some(Frozen::CopiesDisagree),
    }
}

/// The text of entries that are plain text, without signature, with the place of each. None where one of them is anything else:
/// what is signed, encrypted or unknown goes back to the provider unchanged.
fn plain(details: &[Value], at: &str) -> Option<(String, Vec<Place>)> {
    let (mut text, mut places) = (String::new(), Vec::new());
    for (index, entry) in details.iter().enumerate() {
        let set = |key: &str| {
            entry
                .get(key)
                .is_some_and(|v| !v.is_null() && v.as_str() != Some(""))
        };
        if entry.get("type")? != "reasoning.text" || set("signature") || set("data") {
            return None;
        }
        let piece = entry.get("text")?.as_str()?;
        text.push_str(piece);
        places.push(whole(piece, format!("{at}/reasoning_details/{index}/text")));
    }
    Some((text, places))
}

/// Puts `text` in every place. The entries of `reasoning_details` hold it together: the first takes all of it and the others leave.
pub(crate) fn edits(segment: &Segment, text: &str) -> Vec<Edit> {
    let mut taken = false;
    let edit = |place: &Place| {
        let in_details = |p: &&str| p.contains("/reasoning_details/");
        let entry = place.pointer.strip_suffix("/text").filter(in_details);
        match entry {
            Some(entry) if std::mem::replace(&mut taken, true) => Edit::Remove {
                pointer: entry.to_owned(),
            },
            _ => Edit::Text {
                place: place.clone(),
                text: text.to_owned(),
            },
        }
    };
    segment.places.iter().map(edit).collect()
}
