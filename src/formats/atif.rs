//! ATIF, the Agent Trajectory Interchange Format (Harbor RFC 0001), versions 1.0 to 1.8: one document with `steps` of the system, the user
//! and the agent; each agent step holds its message, `reasoning_content`, calls and their results.
//! Source: the RFC, and the field rules of its reference models. Embedded `subagent_trajectories` are runs of their own and stay as they are.

use std::collections::HashSet;

use serde_json::{Value, json};

use super::openai_chat::{keys, shape, text_part};
use super::picture::picture_part;
use super::{FormatError, WireFormat};
use crate::trajectory::{Frozen, Message, Part, Place, Reasoning, Role, ToolCall, Trajectory};

/// ATIF documents.
pub struct Atif;

/// Rule: a step without a model call holds no reasoning of the model.
const NO_MODEL_CALL: Frozen = Frozen::Rule(
    "atif_no_model_call",
    "`llm_call_count` is 0: no model wrote this step, so it holds no reasoning",
);

impl WireFormat for Atif {
    fn name(&self) -> &'static str {
        "atif"
    }

    fn providers(&self) -> &[&'static str] {
        &[]
    }

    fn detect(&self, root: &Value) -> bool {
        let version = root.get("schema_version").and_then(Value::as_str);
        let named = version.is_some_and(|v| v.starts_with("ATIF-v1"));
        let steps = root.get("steps").and_then(Value::as_array);
        let shaped = |steps: &Vec<Value>| {
            !steps.is_empty()
                && steps
                    .iter()
                    .all(|s| s.get("step_id").is_some() && s.get("source").is_some())
        };
        named || steps.is_some_and(shaped)
    }

    fn read(&self, root: &Value) -> Result<Trajectory, FormatError> {
        let steps = match root.get("steps") {
            Some(Value::Array(steps)) => steps,
            Some(other) => return Err(shape("/steps", other, "an array of steps")),
            None => {
                return Err(missing(
                    "",
                    root,
                    "`steps`",
                    "an ATIF document with `steps`",
                ));
            }
        };
        if steps.is_empty() {
            return Err(FormatError::Empty {
                pointer: "/steps".into(),
            });
        }
        let id = root.get("trajectory_id").or_else(|| root.get("session_id"));
        let mut run = Trajectory {
            id: id.and_then(Value::as_str).map(str::to_owned),
            tools: tools(root)?,
            messages: Vec::new(),
        };
        let mut calls = HashSet::new();
        for (index, value) in steps.iter().enumerate() {
            step(value, &format!("/steps/{index}"), &mut calls, &mut run)?;
        }
        Ok(run)
    }
}

/// `agent.tool_definitions`, which are OpenAI function definitions.
fn tools(root: &Value) -> Result<Vec<Value>, FormatError> {
    match root.pointer("/agent/tool_definitions") {
        None | Some(Value::Null) => Ok(Vec::new()),
        Some(Value::Array(tools)) => Ok(tools.clone()),
        Some(other) => Err(shape(
            "/agent/tool_definitions",
            other,
            "an array of tool definitions",
        )),
    }
}

fn step(
    value: &Value,
    at: &str,
    calls: &mut HashSet<String>,
    run: &mut Trajectory,
) -> Result<(), FormatError> {
    if !value.is_object() {
        return Err(shape(
            at,
            value,
            "a step: an object with `source` and `message`",
        ));
    }
    let role = match value.get("source") {
        Some(Value::String(source)) if source == "agent" => Role::Assistant,
        Some(Value::String(source)) if source == "user" => Role::User,
        Some(Value::String(source)) if source == "system" => Role::System,
        Some(other) => {
            return Err(shape(
                &format!("{at}/source"),
                other,
                "system, user or agent",
            ));
        }
        None => {
            return Err(missing(
                at,
                value,
                "`source`",
                "a step of the system, user or agent",
            ));
        }
    };
    let mut message = Message::user("");
    message.role = role;
    message.content_is_list = matches!(value.get("message"), Some(Value::Array(_)));
    message.parts = content(value.get("message"), &format!("{at}/message"))?;
    if role == Role::Assistant {
        message.reasoning.extend(reasoning(value, at)?);
        message.calls = tool_calls(value, at)?;
        if value.get("llm_call_count").and_then(Value::as_u64) == Some(0) {
            freeze(&mut message);
        }
    }
    calls.extend(message.calls.iter().filter_map(|call| call.id.clone()));
    run.messages.push(message);
    observation(value, at, calls, run)
}

fn freeze(message: &mut Message) {
    for reasoning in &mut message.reasoning {
        reasoning.frozen = Some(NO_MODEL_CALL);
    }
    for part in &mut message.parts {
        if let Part::Text(text) = part {
            text.frozen = Some(NO_MODEL_CALL);
        }
    }
}

fn reasoning(value: &Value, at: &str) -> Result<Option<Reasoning>, FormatError> {
    let pointer = format!("{at}/reasoning_content");
    match value.get("reasoning_content") {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(Reasoning {
            text: text.clone(),
            places: vec![Place {
                pointer,
                range: 0..text.len(),
            }],
            frozen: None,
            may_be_empty: true,
        })),
        Some(other) => Err(shape(&pointer, other, "a string or null")),
    }
}

fn tool_calls(value: &Value, at: &str) -> Result<Vec<ToolCall>, FormatError> {
    let at = format!("{at}/tool_calls");
    let calls = match value.get("tool_calls") {
        None | Some(Value::Null) => return Ok(Vec::new()),
        Some(Value::Array(calls)) => calls,
        Some(other) => return Err(shape(&at, other, "an array of tool calls")),
    };
    let call = |(index, call): (usize, &Value)| {
        let at = format!("{at}/{index}");
        let Some(Value::String(name)) = call.get("function_name") else {
            return Err(shape(
                &at,
                call,
                "a tool call with a string `function_name`",
            ));
        };
        let arguments = match call.get("arguments") {
            Some(value @ (Value::Object(_) | Value::String(_))) => value.clone(),
            None | Some(Value::Null) => json!({}),
            Some(other) => return Err(shape(&format!("{at}/arguments"), other, "an object")),
        };
        Ok(ToolCall {
            id: call
                .get("tool_call_id")
                .and_then(Value::as_str)
                .map(str::to_owned),
            name: name.clone(),
            arguments,
        })
    };
    calls.iter().enumerate().map(call).collect()
}

/// Each result is a message of its own. A result may name its call; one that names none comes from elsewhere than a tool.
fn observation(
    value: &Value,
    at: &str,
    calls: &HashSet<String>,
    run: &mut Trajectory,
) -> Result<(), FormatError> {
    let at = format!("{at}/observation/results");
    let results = match value.pointer("/observation/results") {
        None | Some(Value::Null) => return Ok(()),
        Some(Value::Array(results)) => results,
        Some(other) => return Err(shape(&at, other, "an array of results")),
    };
    for (index, result) in results.iter().enumerate() {
        let at = format!("{at}/{index}");
        let mut message = Message::user("");
        message.role = Role::Tool;
        message.answers = match result.get("source_call_id") {
            None | Some(Value::Null) => None,
            Some(Value::String(id)) if calls.contains(id) => Some(id.clone()),
            Some(Value::String(id)) => {
                return Err(FormatError::ResultWithoutCall {
                    pointer: at,
                    id: id.clone(),
                });
            }
            Some(other) => {
                return Err(shape(
                    &format!("{at}/source_call_id"),
                    other,
                    "a string or null",
                ));
            }
        };
        message.content_is_list = matches!(result.get("content"), Some(Value::Array(_)));
        message.parts = content(result.get("content"), &format!("{at}/content"))?;
        run.messages.push(message);
    }
    Ok(())
}

fn content(value: Option<&Value>, at: &str) -> Result<Vec<Part>, FormatError> {
    match value {
        None | Some(Value::Null) => Ok(vec![Part::text("")]),
        Some(Value::String(text)) => Ok(vec![text_part(text, at.to_owned())]),
        Some(Value::Array(parts)) => {
            let part = |(index, value): (usize, &Value)| part(value, &format!("{at}/{index}"));
            parts.iter().enumerate().map(part).collect()
        }
        Some(other) => Err(shape(at, other, "a string, null or an array of parts")),
    }
}

fn part(value: &Value, at: &str) -> Result<Part, FormatError> {
    match value.get("type").and_then(Value::as_str) {
        Some("text") => match value.get("text") {
            Some(Value::String(text)) => Ok(text_part(text, format!("{at}/text"))),
            Some(other) => Err(shape(&format!("{at}/text"), other, "a string")),
            None => Err(missing(at, value, "`text`", "a text part with `text`")),
        },
        Some("image") => match value.pointer("/source/path") {
            Some(Value::String(path)) => Ok(picture_part(path, format!("{at}/source/path"))),
            Some(other) => Err(shape(&format!("{at}/source/path"), other, "a string")),
            None => Err(missing(
                at,
                value,
                "`source.path`",
                "an image part with `source.path`",
            )),
        },
        Some(_) => Ok(Part::Other(value.clone())),
        None => Err(missing(
            at,
            value,
            "a string `type`",
            "a content part: an object with `type`",
        )),
    }
}

fn missing(at: &str, value: &Value, what: &str, expected: &str) -> FormatError {
    if !value.is_object() {
        return shape(at, value, expected);
    }
    FormatError::Shape {
        pointer: at.into(),
        found: format!("an object without {what}{}", keys(value)),
        expected: expected.into(),
    }
}
