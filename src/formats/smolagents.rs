//! smolagents memory: the list of steps that `agent.memory.get_full_steps()` gives, or an object with that list as `steps`.
//! Steps carry no type: a task has `task`, a plan has `plan`, an action has `model_output`. Reasoning is the plan, and the text of
//! `model_output` before its code or call. `model_input_messages` repeats the whole history in every step and `model_output_message`
//! repeats the step's own output: those are copies, and an edit changes them all.
//! Source: huggingface/smolagents `src/smolagents/memory.py`.

mod copies;

use serde_json::{Value, json};

use super::openai_chat::{keys, shape, text_part};
use super::picture::picture_part;
use super::python_call::literal_calls;
use super::{FormatError, WireFormat};
use crate::trajectory::{Frozen, Message, Part, Place, Role, Text, ToolCall, Trajectory};

/// Memory steps of smolagents.
pub struct Smolagents;

/// Rule: a thought inside JSON text would need its escapes twice.
const THOUGHT_IN_JSON: Frozen = Frozen::Rule(
    "smolagents_thought_in_json",
    "the thought stands inside JSON text that the agent parses, and is left as it is",
);

impl WireFormat for Smolagents {
    fn name(&self) -> &'static str {
        "smolagents"
    }

    fn providers(&self) -> &[&'static str] {
        &[]
    }

    fn detect(&self, root: &Value) -> bool {
        let Some(steps) = steps(root)
            .map(|(steps, _)| steps)
            .filter(|s| !s.is_empty())
        else {
            return false;
        };
        let has = |step: &Value, key: &str| step.get(key).is_some();
        let action = |s: &Value| has(s, "model_output") && has(s, "step_number");
        let plan = |s: &Value| has(s, "plan") && has(s, "model_output_message");
        let known = |s: &Value| {
            action(s) || plan(s) || has(s, "task") || has(s, "system_prompt") || has(s, "output")
        };
        let no_role = |s: &Value| s.is_object() && !has(s, "role");
        steps.iter().all(|s| no_role(s) && known(s))
            && steps
                .iter()
                .any(|s| action(s) || plan(s) || has(s, "task_images"))
    }

    fn read(&self, root: &Value) -> Result<Trajectory, FormatError> {
        let Some((steps, at)) = steps(root) else {
            return Err(shape(
                "",
                root,
                "a list of smolagents steps, or an object with `steps`",
            ));
        };
        if steps.is_empty() {
            return Err(FormatError::Empty { pointer: at.into() });
        }
        let mut run = Trajectory::default();
        for (index, value) in steps.iter().enumerate() {
            step(value, &format!("{at}/{index}"), &mut run)?;
        }
        copies::find(steps, at, &mut run);
        Ok(run)
    }
}

fn steps(root: &Value) -> Option<(&Vec<Value>, &'static str)> {
    match root {
        Value::Array(steps) => Some((steps, "")),
        other => other
            .get("steps")
            .and_then(Value::as_array)
            .map(|steps| (steps, "/steps")),
    }
}

fn step(value: &Value, at: &str, run: &mut Trajectory) -> Result<(), FormatError> {
    let string = |key: &str| match value.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.as_str())),
        Some(other) => Err(shape(&format!("{at}/{key}"), other, "a string or null")),
    };
    if value.get("task").is_some() {
        let mut message = Message::user("");
        message.parts.clear();
        message
            .parts
            .extend(string("task")?.map(|text| text_part(text, format!("{at}/task"))));
        pictures(
            value.get("task_images"),
            &format!("{at}/task_images"),
            &mut message.parts,
        )?;
        message.content_is_list = true;
        run.messages.push(message);
    } else if value.get("plan").is_some() {
        let mut message = Message::user("");
        message.role = Role::Assistant;
        message.parts = string("plan")?
            .map(|plan| plan_part(plan, format!("{at}/plan")))
            .into_iter()
            .collect();
        run.messages.push(message);
    } else if value.get("system_prompt").is_some() {
        let mut message = Message::system("");
        message.parts = string("system_prompt")?
            .map(|t| text_part(t, format!("{at}/system_prompt")))
            .into_iter()
            .collect();
        run.messages.push(message);
    } else if value.get("model_output").is_some() || value.get("step_number").is_some() {
        action(value, at, run)?;
    } else if let Some(output) = value.get("output") {
        let mut message = Message::assistant(None, "", Vec::new());
        message.parts = vec![match output {
            Value::String(text) => text_part(text, format!("{at}/output")),
            other => Part::Other(other.clone()),
        }];
        run.messages.push(message);
    } else {
        return Err(FormatError::Shape {
            pointer: at.into(),
            found: format!("an object without any key of a step{}", keys(value)),
            expected: "a smolagents step: an object with `task`, `plan`, `system_prompt` or `model_output`".into(),
        });
    }
    Ok(())
}

/// The trimmed text of a plan; where a sentence introduces it in a fence, the inside of the fence is the plan.
fn plan_part(plan: &str, pointer: String) -> Part {
    let (mut text, lead) = trimmed(plan, pointer);
    let inner = text.text.find("```\n").map(|open| open + 4);
    let close = text.text.ends_with("```").then(|| text.text.len() - 3);
    text.thought = match (inner, close) {
        (Some(inner), Some(close)) if inner < close => Some(inner..close),
        _ => Some(0..text.text.len()),
    };
    shift(&mut text, lead);
    Part::Text(text)
}

/// A text without the white space around it, as smolagents sends it on, and the bytes before it.
fn trimmed(text: &str, pointer: String) -> (Text, usize) {
    let lead = text.len() - text.trim_start().len();
    let text = Text {
        text: text.trim().to_owned(),
        place: Some(Place {
            pointer,
            range: 0..0,
        }),
        ..Text::default()
    };
    (text, lead)
}

fn shift(text: &mut Text, lead: usize) {
    let range = lead..lead + text.text.len();
    if let Some(place) = &mut text.place {
        place.range = range;
    }
}

fn action(value: &Value, at: &str, run: &mut Trajectory) -> Result<(), FormatError> {
    let mut message = Message::user("");
    message.role = Role::Assistant;
    message.parts.clear();
    message.calls = calls(value, at)?;
    let code = value.get("code_action").and_then(Value::as_str);
    match value.get("model_output") {
        None | Some(Value::Null) => {}
        Some(Value::String(output)) => message.parts.push(output_part(
            output,
            format!("{at}/model_output"),
            &message.calls,
        )),
        Some(Value::Array(parts)) => {
            for (index, part) in parts.iter().enumerate() {
                let pointer = format!("{at}/model_output/{index}/text");
                message
                    .parts
                    .push(match part.get("text").and_then(Value::as_str) {
                        Some(text) => output_part(text, pointer, &message.calls),
                        None => Part::Other(part.clone()),
                    });
            }
            message.content_is_list = true;
        }
        Some(other) => {
            return Err(shape(
                &format!("{at}/model_output"),
                other,
                "a string, null or an array of parts",
            ));
        }
    }
    if let Some(code) = code {
        // The code stands in the output; a call of the summary tool is found in it.
        message.calls_in_text = true;
        message.calls.extend(literal_calls(code));
    }
    let mut result = Message::user("");
    result.parts.clear();
    if !message.calls.is_empty() {
        result.role = Role::Tool;
        result.answers = message.calls.first().and_then(|call| call.id.clone());
    }
    run.messages.push(message);
    pictures(
        value.get("observations_images"),
        &format!("{at}/observations_images"),
        &mut result.parts,
    )?;
    for (pointer, key) in [
        ("/observations", "observations"),
        ("/error/message", "error/message"),
    ] {
        match value.pointer(pointer) {
            None | Some(Value::Null) => {}
            Some(Value::String(text)) => result.parts.push(text_part(text, format!("{at}/{key}"))),
            Some(other) => return Err(shape(&format!("{at}/{key}"), other, "a string or null")),
        }
    }
    if !result.parts.is_empty() {
        result.content_is_list = !matches!(result.parts.as_slice(), [Part::Text(_)]);
        run.messages.push(result);
    }
    Ok(())
}

/// The text of a model's output with its thought: what stands before the code or the call, behind a `Thought:` label.
fn output_part(output: &str, pointer: String, calls: &[ToolCall]) -> Part {
    let (mut text, lead) = trimmed(output, pointer);
    let body = text.text.as_str();
    if body.starts_with('{')
        && serde_json::from_str::<Value>(body).is_ok_and(|v| v.get("thought").is_some())
    {
        text.thought = Some(0..body.len());
        text.frozen = Some(THOUGHT_IN_JSON);
    } else {
        let label = ["Thought:", "THOUGHT:"]
            .into_iter()
            .find(|label| body.starts_with(label));
        let start = label.map_or(0, str::len);
        let end = code_start(body);
        // Without code, a call or a label there is nothing but an answer.
        if end.is_some() || !calls.is_empty() {
            text.thought = Some(start..end.unwrap_or(body.len()).max(start));
        }
    }
    shift(&mut text, lead);
    Part::Text(text)
}

/// Where the code or the call begins: a code tag, a fence, or a label at a line start.
fn code_start(text: &str) -> Option<usize> {
    let marks = ["<code>", "```"]
        .into_iter()
        .filter_map(|mark| text.find(mark));
    let mut line_start = 0;
    let label = text.split_inclusive('\n').find_map(|line| {
        let start = line_start;
        line_start += line.len();
        let trimmed = line.trim_start();
        let is_label = ["Code:", "Action:", "Calling tools:"]
            .iter()
            .any(|l| trimmed.starts_with(l));
        is_label.then_some(start)
    });
    marks.chain(label).min()
}

fn calls(value: &Value, at: &str) -> Result<Vec<ToolCall>, FormatError> {
    let at = format!("{at}/tool_calls");
    let calls = match value.get("tool_calls") {
        None | Some(Value::Null) => return Ok(Vec::new()),
        Some(Value::Array(calls)) => calls,
        Some(other) => return Err(shape(&at, other, "an array of tool calls")),
    };
    let call = |(index, call): (usize, &Value)| {
        let at = format!("{at}/{index}");
        let function = call.get("function").unwrap_or(call);
        let Some(Value::String(name)) = function.get("name") else {
            return Err(shape(&at, call, "a tool call with `function.name`"));
        };
        let arguments = match function.get("arguments") {
            Some(value @ (Value::Object(_) | Value::String(_))) => value.clone(),
            None | Some(Value::Null) => json!({}),
            Some(other) => Value::String(other.to_string()),
        };
        Ok(ToolCall {
            id: call.get("id").and_then(Value::as_str).map(str::to_owned),
            name: name.clone(),
            arguments,
        })
    };
    calls.iter().enumerate().map(call).collect()
}

/// Pictures are paths, data URIs or base64 where whoever saved the steps made them so; raw pixels without a size are carried.
fn pictures(value: Option<&Value>, at: &str, parts: &mut Vec<Part>) -> Result<(), FormatError> {
    let images = match value {
        None | Some(Value::Null) => return Ok(()),
        Some(Value::Array(images)) => images,
        Some(other) => return Err(shape(at, other, "an array of images or null")),
    };
    for (index, image) in images.iter().enumerate() {
        let pointer = format!("{at}/{index}");
        let named = ["image", "path", "url"]
            .iter()
            .find_map(|key| image.get(*key)?.as_str());
        let address = image
            .as_str()
            .or(named)
            .filter(|a| !a.starts_with("b'") && !a.starts_with("b\""));
        parts.push(match address {
            Some(address) => picture_part(address, pointer),
            None => Part::Other(image.clone()),
        });
    }
    Ok(())
}
