//! Qwen-Agent's own rules: one system message first, then the user, results as many as calls and in their order, no message without content.
//! Source: QwenLM/Qwen-Agent, `qwen_agent/llm/base.py` and `function_calling.py`.

use serde_json::Value;

use super::{Provider, Violation};
use crate::formats::qwen_agent::{list, messages_of};
use crate::trajectory::Trajectory;

/// The library that reads the messages back.
pub struct QwenAgentLibrary;

const NAME: &str = "qwen-agent";

impl Provider for QwenAgentLibrary {
    fn name(&self) -> &'static str {
        NAME
    }

    /// Reasoning is free text; the format itself keeps a message from becoming empty.
    fn protect(&self, _: &Value, _: &mut Trajectory) {}

    fn find(&self, root: &Value) -> Vec<Violation> {
        let Some((pointer, messages)) = list(root) else {
            return Vec::new();
        };
        let numbers = messages_of(messages);
        let mut found: Vec<(usize, &'static str, &'static str, String)> = Vec::new();
        order(messages, &mut found);
        pairs(messages, &mut found);
        for (index, message) in messages.iter().enumerate() {
            let keys = ["content", "reasoning_content", "function_call"];
            if role(message) == "assistant"
                && keys.iter().all(|key| message.get(*key).is_none_or(blank))
            {
                let what =
                    "found an assistant message without text, reasoning or call, expected one"
                        .into();
                found.push((index, "/content", "empty_message", what));
            }
        }
        found.sort_by_key(|(index, ..)| *index);
        let broken = |(index, key, rule, what): (usize, &str, &'static str, String)| Violation {
            provider: NAME,
            rule,
            message: numbers.get(index).copied(),
            path: format!("{pointer}/{index}{key}"),
            what,
        };
        found.into_iter().map(broken).collect()
    }
}

type Found = Vec<(usize, &'static str, &'static str, String)>;

fn role(message: &Value) -> &str {
    message.get("role").and_then(Value::as_str).unwrap_or("")
}

fn blank(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.trim().is_empty(),
        Value::Array(items) => items.iter().all(|item| item.get("text").is_some_and(blank)),
        _ => false,
    }
}

fn order(messages: &[Value], out: &mut Found) {
    let systems = messages
        .iter()
        .enumerate()
        .filter(|(_, m)| role(m) == "system");
    for (index, _) in systems.filter(|(index, _)| *index > 0) {
        let what =
            "found a system message behind the first message, expected one at most, and first"
                .into();
        out.push((index, "/role", "system_first", what));
    }
    let first = messages.iter().position(|m| role(m) != "system");
    if let Some((index, message)) = first.and_then(|index| Some((index, messages.get(index)?)))
        && role(message) != "user"
    {
        let what = format!("found `{}` as the first role, expected user", role(message));
        out.push((index, "/role", "user_first", what));
    }
}

fn pairs(messages: &[Value], out: &mut Found) {
    let number = |m: &Value| m.pointer("/extra/function_id").map(Value::to_string);
    // Calls that wait for a result, in order.
    let mut open: Vec<(usize, String, Option<String>)> = Vec::new();
    for (index, message) in messages.iter().enumerate() {
        if let Some(call) = message.get("function_call").filter(|c| c.is_object()) {
            let name = call.get("name").and_then(Value::as_str).unwrap_or("");
            open.push((index, name.to_owned(), number(message)));
        }
        if role(message) != "function" {
            continue;
        }
        let name = message.get("name").and_then(Value::as_str).unwrap_or("");
        if open.is_empty() {
            let what = format!("found a result of `{name}`, expected its call before it");
            out.push((index, "", "result_without_call", what));
            continue;
        }
        let (_, called, id) = open.remove(0);
        if called != name {
            let what = format!(
                "found a result of `{name}`, expected one of `{called}`: results come in the order of the calls"
            );
            out.push((index, "/name", "result_order", what));
        } else if id.is_some() && number(message).is_some() && id != number(message) {
            let what =
                "found the number of another call, expected results in the order of the calls"
                    .into();
            out.push((index, "/extra/function_id", "result_order", what));
        }
    }
    for (index, name, _) in open {
        let what = format!("found a call of `{name}` without a result, expected one behind it");
        out.push((index, "/function_call", "call_without_result", what));
    }
}
