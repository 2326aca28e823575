//! Which calls does the text under an action label make? JSON, code, or the name of a tool with its input under a label of its own.

use serde_json::Value;

use super::label::{Label, Word};
use crate::formats::python_call::{literal_call, literal_calls};
use crate::trajectory::ToolCall;

/// Calls of all actions.
pub(super) fn actions(text: &str, found: &[Label]) -> Vec<ToolCall> {
    let body = |at: usize| {
        let end = found.get(at + 1).map_or(text.len(), |l| l.start);
        let body = found.get(at).and_then(|l| text.get(l.body..end));
        body.unwrap_or_default().trim()
    };
    let mut out = Vec::new();
    for (at, _) in found
        .iter()
        .enumerate()
        .filter(|(_, l)| l.word == Word::Action)
    {
        let input = found.get(at + 1).filter(|l| l.word == Word::Input);
        out.extend(action(body(at), input.map(|_| body(at + 1))));
    }
    out
}

/// Calls of one action, with the text under its own `Action Input:`, if it has one.
fn action(action: &str, input: Option<&str>) -> Vec<ToolCall> {
    if let Some(input) = input {
        let name = action.trim_matches(['`', '"', '*']);
        return named(name, &Value::String(input.to_owned()))
            .into_iter()
            .collect();
    }
    if let Some(code) = fenced(action) {
        if let Some(calls) = json_calls(code) {
            return calls;
        }
        let block = ToolCall {
            id: None,
            name: "python".into(),
            arguments: Value::String(code.to_owned()),
        };
        return std::iter::once(block).chain(literal_calls(code)).collect();
    }
    let tagged = action
        .split_once("<tool_call>")
        .and_then(|(_, rest)| rest.split("</tool_call>").next());
    json_calls(tagged.unwrap_or(action).trim())
        .unwrap_or_else(|| literal_call(action).into_iter().collect())
}

/// The inside of the first fenced block.
fn fenced(text: &str) -> Option<&str> {
    let (_, rest) = text.split_once("```")?;
    let (_, code) = rest.split_once('\n')?;
    Some(code.split_once("```").map_or(code, |(code, _)| code))
}

/// A call, or several, as JSON objects.
fn json_calls(text: &str) -> Option<Vec<ToolCall>> {
    let calls = match serde_json::from_str(text).ok()? {
        Value::Array(calls) => calls,
        call @ Value::Object(_) => vec![call],
        _ => return None,
    };
    calls
        .iter()
        .map(|call| {
            let first = |keys: &[&str]| keys.iter().find_map(|key| call.get(*key));
            let name = first(&["name", "API_name", "tool", "action"])?.as_str()?;
            let none = Value::Object(serde_json::Map::new());
            let arguments = first(&[
                "arguments",
                "args",
                "parameters",
                "API_params",
                "action_input",
            ]);
            named(name, arguments.unwrap_or(&none))
        })
        .collect()
}

fn named(name: &str, arguments: &Value) -> Option<ToolCall> {
    let arguments = match arguments {
        Value::String(_) | Value::Object(_) => arguments.clone(),
        other => Value::String(other.to_string()),
    };
    let name = name.trim();
    (!name.is_empty() && !name.contains('\n')).then(|| ToolCall {
        id: None,
        name: name.to_owned(),
        arguments,
    })
}
