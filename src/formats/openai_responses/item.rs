//! What is an item of a Responses list, which turn does it belong to, and which call does it name?

use serde_json::Value;

use crate::trajectory::Role;

/// Where the list of items stands, and the list.
pub(crate) fn items(root: &Value) -> Option<(&'static str, &Vec<Value>)> {
    if let Value::Array(items) = root {
        return Some(("", items));
    }
    ["/input", "/output", "/items"]
        .into_iter()
        .find_map(|pointer| Some((pointer, root.pointer(pointer)?.as_array()?)))
}

pub(crate) fn kind(item: &Value) -> &str {
    item.get("type").and_then(Value::as_str).unwrap_or("")
}

/// What an item is for the one who reads the turns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Item {
    Reasoning,
    Call,
    Output,
    Message,
    Unknown,
}

pub(crate) fn item(value: &Value) -> Item {
    match kind(value) {
        "reasoning" => Item::Reasoning,
        "function_call" | "custom_tool_call" | "computer_call" | "local_shell_call"
        | "shell_call" | "apply_patch_call" => Item::Call,
        "message" | "" if value.get("role").is_some() => Item::Message,
        other if other.ends_with("_call_output") => Item::Output,
        _ => Item::Unknown,
    }
}

/// Whether an item has a shape that no other format has.
pub(super) fn own(value: &Value) -> bool {
    match item(value) {
        Item::Reasoning => value.get("summary").is_some() || value.get("content").is_some(),
        Item::Call => value.get("call_id").is_some() || kind(value) == "local_shell_call",
        Item::Output => true,
        Item::Message => {
            let parts = value.get("content").and_then(Value::as_array);
            let typed = ["input_text", "input_image", "output_text"];
            kind(value) == "message"
                || parts.is_some_and(|p| p.iter().any(|p| typed.contains(&kind(p))))
        }
        Item::Unknown => ["item_reference", "compaction"].contains(&kind(value)),
    }
}

pub(super) fn role(value: &Value) -> Option<Role> {
    match value.get("role").and_then(Value::as_str)? {
        "system" | "developer" => Some(Role::System),
        "user" => Some(Role::User),
        "assistant" => Some(Role::Assistant),
        _ => None,
    }
}

/// The message of the run that each item belongs to, in item order.
pub(crate) fn messages_of(root: &Value) -> Vec<usize> {
    let Some((_, items)) = items(root) else {
        return Vec::new();
    };
    let mut next = usize::from(root.get("instructions").is_some_and(Value::is_string));
    // Whether a turn is open, and whether it holds more than reasoning yet.
    let mut turn = None;
    let mut out = Vec::with_capacity(items.len());
    for value in items {
        let opens = match (item(value), turn) {
            (Item::Output, _) => None,
            (Item::Message, _) if role(value) != Some(Role::Assistant) => None,
            (Item::Reasoning, Some(true)) | (_, None) => Some(true),
            _ => Some(false),
        };
        if opens != Some(false) {
            next += 1;
        }
        let said = item(value) != Item::Reasoning;
        turn = match opens {
            None => None,
            Some(true) => Some(said),
            Some(false) => turn.map(|before| before || said),
        };
        out.push(next - 1);
    }
    out
}

/// The id that a call and its output share.
pub(crate) fn call_id(value: &Value) -> Option<&str> {
    let shell = kind(value).starts_with("local_shell_call");
    let own = value.get("call_id").and_then(Value::as_str);
    own.or_else(|| value.get("id").filter(|_| shell)?.as_str())
}

/// Whether the list may refer to calls that it does not hold: the server keeps the rest.
pub(crate) fn calls_elsewhere(root: &Value, items: &[Value]) -> bool {
    let named = |key: &str| root.get(key).is_some_and(|v| !v.is_null());
    named("previous_response_id")
        || named("conversation")
        || items
            .iter()
            .any(|i| ["item_reference", "compaction"].contains(&kind(i)))
}
