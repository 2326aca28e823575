//! ShareGPT as LLaMA-Factory reads it: `conversations` of `from` and `value`, pictures in `images` and as `<image>` in the texts.
//!
//! A placeholder is a slot and never moves: reasoning on both sides of one is edited apart. Where the texts of people and tools
//! fill `images` already, `<image>` in the model's own text is only a word.

mod text;

use serde_json::{Value, json};

use super::openai_chat::{keys, shape, short, text_part};
use super::{Edit, FormatError, WireFormat};
use crate::trajectory::{Message, Part, Role, Segment, ToolCall, Trajectory};

pub(crate) use text::{MEDIA, occurrences};

/// ShareGPT and LLaMA-Factory.
pub struct ShareGpt;

impl WireFormat for ShareGpt {
    fn name(&self) -> &'static str {
        "sharegpt"
    }

    fn providers(&self) -> &[&'static str] {
        &["llama-factory"]
    }

    fn detect(&self, root: &Value) -> bool {
        let turn = |t: &Value| {
            t.get("from").is_some_and(Value::is_string)
                && t.get("value").is_some_and(Value::is_string)
        };
        turns(root).is_some_and(|(_, turns)| !turns.is_empty() && turns.iter().all(turn))
    }

    fn read(&self, root: &Value) -> Result<Trajectory, FormatError> {
        read(root)
    }

    fn edits(&self, segment: &Segment, text: &str) -> Vec<Edit> {
        // A placeholder in new text would be one slot too many.
        let mut text = text.to_owned();
        for (token, _) in MEDIA {
            text = text.replace(token, token.trim_matches(['<', '>']));
        }
        let edit = |place: &crate::trajectory::Place| Edit::Text {
            place: place.clone(),
            text: text.clone(),
        };
        segment.places.iter().map(edit).collect()
    }
}

/// Where the turns stand, and the turns.
pub(crate) fn turns(root: &Value) -> Option<(&'static str, &Vec<Value>)> {
    ["/conversations", "/conversation"]
        .into_iter()
        .find_map(|pointer| Some((pointer, root.pointer(pointer)?.as_array()?)))
}

/// Who speaks. The last two are names that LLaMA-Factory does not use, but saved sets do.
pub(crate) fn role(from: &str) -> Option<Role> {
    match from {
        "system" => Some(Role::System),
        "human" | "user" => Some(Role::User),
        "gpt" | "function_call" | "assistant" | "model" | "bing" | "chatgpt" => {
            Some(Role::Assistant)
        }
        "observation" | "tool" | "function_response" => Some(Role::Tool),
        _ => None,
    }
}

/// The addresses of a record's pictures with their JSON pointers: `images`, or `image` as Qwen-VL's finetuning names it.
pub(crate) fn media(root: &Value, key: &str) -> Vec<(String, Value)> {
    let single = key.strip_suffix('s').unwrap_or(key);
    for key in [key, single] {
        match root.get(key) {
            Some(Value::Array(items)) => {
                let at = |(index, item): (usize, &Value)| (format!("/{key}/{index}"), item.clone());
                return items.iter().enumerate().map(at).collect();
            }
            Some(item @ Value::String(_)) => return vec![(format!("/{key}"), item.clone())],
            _ => {}
        }
    }
    Vec::new()
}

fn read(root: &Value) -> Result<Trajectory, FormatError> {
    let Some((pointer, turns)) = turns(root) else {
        return Err(FormatError::Shape {
            pointer: String::new(),
            found: format!("a value without a list `conversations`{}", keys(root)),
            expected: "a ShareGPT record: an object with `conversations`".into(),
        });
    };
    if turns.is_empty() {
        let pointer = pointer.into();
        return Err(FormatError::Empty { pointer });
    }
    let id = root.get("id").and_then(Value::as_str).map(str::to_owned);
    let tools = tools(root.get("tools"))?;
    let mut run = Trajectory {
        id,
        tools,
        messages: Vec::new(),
    };
    if let Some(Value::String(text)) = root.get("system") {
        let mut system = Message::system("");
        system.parts = vec![text_part(text, "/system".into())];
        run.push(system);
    }
    let mut slots = text::Slots::of(root, turns);
    let unshown = slots.without_placeholder();
    let mut first_user = true;
    for (index, value) in turns.iter().enumerate() {
        let at = format!("{pointer}/{index}");
        let (Some(Value::String(from)), Some(Value::String(value))) =
            (value.get("from"), value.get("value"))
        else {
            return Err(shape(
                &at,
                value,
                "a turn: an object with strings `from` and `value`",
            ));
        };
        let Some(role) = role(from) else {
            return Err(FormatError::Shape {
                pointer: format!("{at}/from"),
                found: format!("`{}`", short(from)),
                expected: "human, gpt, system, function_call or observation".into(),
            });
        };
        let mut message = Message::user("");
        message.role = role;
        let at = format!("{at}/value");
        if from == "function_call" {
            let body = text::behind_think(value);
            message.calls = calls(value.get(body..).unwrap_or_default(), &at)?;
            message.parts = slots.parts(value, 0..body, &at, role);
        } else {
            (message.parts, message.calls) = text::spoken(&mut slots, value, &at, role);
        }
        if role == Role::User && std::mem::take(&mut first_user) {
            // A record whose texts name no picture shows them all before the first question.
            message.parts.splice(0..0, unshown.iter().cloned());
        }
        message.content_is_list = message
            .parts
            .iter()
            .any(|part| !matches!(part, Part::Text(_)));
        if message.parts.is_empty() {
            message.parts.push(Part::text(""));
        }
        run.messages.push(message);
    }
    Ok(run)
}

/// The calls of a `function_call` turn: one object, or a list of parallel ones.
fn calls(body: &str, at: &str) -> Result<Vec<ToolCall>, FormatError> {
    let bad = |found: &str| FormatError::Shape {
        pointer: at.to_owned(),
        found: format!("`{}`", short(found)),
        expected: "the JSON of a call with `name` and `arguments`, or of a list of them".into(),
    };
    let value: Value = serde_json::from_str(body).map_err(|_| bad(body))?;
    let list = match &value {
        Value::Array(calls) => calls.iter().map(call).collect(),
        one => call(one).map(|call| vec![call]),
    };
    list.ok_or_else(|| bad(body))
}

/// A call as these records write it. None where it has no name.
pub(crate) fn call(value: &Value) -> Option<ToolCall> {
    let value = value
        .get("function")
        .filter(|f| f.is_object())
        .unwrap_or(value);
    Some(ToolCall {
        id: value.get("id").and_then(Value::as_str).map(str::to_owned),
        name: value.get("name")?.as_str()?.to_owned(),
        arguments: value.get("arguments").cloned().unwrap_or_else(|| json!({})),
    })
}

/// `tools` is a string of JSON here.
pub(crate) fn tools(value: Option<&Value>) -> Result<Vec<Value>, FormatError> {
    let parsed: Value;
    let list = match value {
        None | Some(Value::Null) => return Ok(Vec::new()),
        Some(Value::String(text)) if text.trim().is_empty() => return Ok(Vec::new()),
        Some(text @ Value::String(raw)) => {
            let expected = "the JSON of an array of tool definitions";
            parsed = serde_json::from_str(raw).map_err(|_| shape("/tools", text, expected))?;
            &parsed
        }
        Some(list) => list,
    };
    match list {
        Value::Array(tools) => Ok(tools.iter().map(wrapped_tool).collect()),
        other => Err(shape("/tools", other, "an array of tool definitions")),
    }
}

/// A function's definition as templates know it.
pub(crate) fn wrapped_tool(tool: &Value) -> Value {
    match tool.get("name") {
        Some(_) if tool.get("function").is_none() => json!({"type": "function", "function": tool}),
        _ => tool.clone(),
    }
}
