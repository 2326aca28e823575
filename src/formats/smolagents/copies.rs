//! Where does a thought of a smolagents step stand once more? In the step's raw answer, and in the input of every later step.

use std::ops::Range;

use serde_json::Value;

use crate::trajectory::{Part, Place, Role, Trajectory};

/// Finds the copies of every thought: in the step's own `model_output_message`, and in order in the `model_input_messages` of every later step.
pub(super) fn find(steps: &[Value], at: &str, run: &mut Trajectory) {
    let mut strings = Vec::new();
    for (index, step) in steps.iter().enumerate() {
        if let Some(Value::Array(messages)) = step.get("model_input_messages") {
            let mut found = Vec::new();
            for (m, message) in messages.iter().enumerate() {
                let role = message
                    .get("role")
                    .and_then(Value::as_str)
                    .unwrap_or_default();
                if role.to_ascii_lowercase().ends_with("assistant") {
                    let content = message.get("content").unwrap_or(&Value::Null);
                    collect(
                        content,
                        format!("{at}/{index}/model_input_messages/{m}/content"),
                        &mut found,
                    );
                }
            }
            strings.push((index, found));
        }
    }
    for message in run
        .messages
        .iter_mut()
        .filter(|m| m.role == Role::Assistant)
    {
        for part in &mut message.parts {
            let Part::Text(text) = part else { continue };
            let own = text.place.as_ref().and_then(|p| step_of(&p.pointer, at));
            let (Some(own), Some(thought)) = (own, text.thought.clone()) else {
                continue;
            };
            if text
                .text
                .get(thought.clone())
                .is_none_or(|t| t.trim().is_empty())
            {
                continue;
            }
            let mut outputs = Vec::new();
            if let Some(output) = steps.get(own).and_then(|s| s.get("model_output_message")) {
                collect(
                    output,
                    format!("{at}/{own}/model_output_message"),
                    &mut outputs,
                );
            }
            for string in &mut outputs {
                text.copies.extend(string.take(&text.text, &thought));
            }
            for (_, found) in strings.iter_mut().filter(|(index, _)| *index > own) {
                let place = found
                    .iter_mut()
                    .find_map(|string| string.take(&text.text, &thought));
                text.copies.extend(place);
            }
        }
    }
}

/// The step that a pointer lies in.
fn step_of(pointer: &str, at: &str) -> Option<usize> {
    pointer.strip_prefix(at)?.split('/').nth(1)?.parse().ok()
}

/// A string that may hold copies, and how far it is used up: equal texts of two steps stand in it twice.
struct Holder<'a> {
    text: &'a str,
    pointer: String,
    used: usize,
}

impl Holder<'_> {
    /// Where the thought stands in the next copy of `text`, or alone where no more than it is repeated.
    fn take(&mut self, text: &str, thought: &Range<usize>) -> Option<Place> {
        let rest = self.text.get(self.used..)?;
        let whole = text.get(thought.clone())?;
        let body = whole.trim();
        let inner = thought.start + (whole.len() - whole.trim_start().len());
        let start = match rest.find(text) {
            Some(found) => self.used + found + inner,
            None if rest.trim() == body => self.used + rest.find(body)?,
            None => return None,
        };
        self.used = start + body.len();
        Some(Place {
            pointer: self.pointer.clone(),
            range: start..self.used,
        })
    }
}

fn collect<'a>(value: &'a Value, pointer: String, out: &mut Vec<Holder<'a>>) {
    match value {
        Value::String(text) => out.push(Holder {
            text,
            pointer,
            used: 0,
        }),
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                collect(item, format!("{pointer}/{index}"), out);
            }
        }
        Value::Object(fields) => {
            for (key, item) in fields {
                let key = key.replace('~', "~0").replace('/', "~1");
                collect(item, format!("{pointer}/{key}"), out);
            }
        }
        _ => {}
    }
}
