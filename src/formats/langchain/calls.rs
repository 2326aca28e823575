//! Which calls does a LangChain message make? The same call may stand in `tool_calls`, in the content and in `additional_kwargs`.

use serde_json::{Value, json};

use crate::trajectory::ToolCall;

/// The places, in the order in which LangChain trusts them.
const PLACES: [&str; 4] = [
    "tool_calls",
    "content",
    "additional_kwargs",
    "invalid_tool_calls",
];

/// Every call once: one that an earlier place has by its id is a copy, and a place of calls without ids counts only where no other has any.
pub(crate) fn all(fields: &Value) -> Vec<ToolCall> {
    let mut out: Vec<ToolCall> = Vec::new();
    for place in copies(fields) {
        let first = out.is_empty();
        for call in place.1 {
            let new = match &call.id {
                Some(id) => !out.iter().any(|c| c.id.as_ref() == Some(id)),
                None => first,
            };
            // Ids may repeat within one place; that is for the check to say.
            if new || first {
                out.push(call);
            }
        }
    }
    out
}

/// The calls of each place that has any.
pub(crate) fn copies(fields: &Value) -> Vec<(&'static str, Vec<ToolCall>)> {
    let list = |value: Option<&Value>| value.and_then(Value::as_array).cloned().unwrap_or_default();
    let found = PLACES.map(|place| {
        let calls: Vec<ToolCall> = match place {
            "additional_kwargs" => {
                let kwargs = fields.get("additional_kwargs");
                let listed = list(kwargs.and_then(|k| k.get("tool_calls")));
                let one = kwargs.and_then(|k| k.get("function_call")).cloned();
                listed.iter().chain(&one).filter_map(call).collect()
            }
            "content" => list(fields.get("content"))
                .iter()
                .filter(|block| {
                    let kind = block.get("type").and_then(Value::as_str);
                    matches!(
                        kind,
                        Some("tool_use" | "tool_call" | "function_call" | "invalid_tool_call")
                    )
                })
                .filter_map(call)
                .collect(),
            _ => list(fields.get(place)).iter().filter_map(call).collect(),
        };
        (place, calls)
    });
    found
        .into_iter()
        .filter(|(_, calls)| !calls.is_empty())
        .collect()
}

/// A call in any of its spellings.
fn call(value: &Value) -> Option<ToolCall> {
    let function = value
        .get("function")
        .filter(|f| f.is_object())
        .unwrap_or(value);
    let arguments = ["args", "arguments", "input"]
        .into_iter()
        .find_map(|key| function.get(key));
    let id = value.get("call_id").or_else(|| value.get("id"));
    Some(ToolCall {
        id: id.and_then(Value::as_str).map(str::to_owned),
        name: function.get("name")?.as_str()?.to_owned(),
        arguments: arguments.cloned().unwrap_or_else(|| json!({})),
    })
}

/// The call that a tool message answers.
pub(crate) fn answered(fields: &Value) -> Option<&str> {
    fields.get("tool_call_id").and_then(Value::as_str)
}
