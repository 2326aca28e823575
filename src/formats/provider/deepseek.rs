//! DeepSeek, and Kimi behind the same messages: where thinking is on, every assistant message with tool calls gives its reasoning back,
//! in all turns. The key has to be there as a string; it may be empty. Pairs of calls and results are as OpenAI has them.

use serde_json::Value;

use super::chat::{ChatMessage, messages, pairing};
use super::empty::emptiness;
use super::{Provider, Violation};
use crate::formats::openai_responses::{items, kind, messages_of};
use crate::trajectory::Trajectory;

/// DeepSeek and Kimi.
pub struct DeepSeek;

const NAME: &str = "deepseek";

impl Provider for DeepSeek {
    fn name(&self) -> &'static str {
        NAME
    }

    /// The text may change and may become empty; an edit of it leaves the key where it is.
    fn protect(&self, _: &Value, _: &mut Trajectory) {}

    fn find(&self, root: &Value) -> Vec<Violation> {
        let mut out = pairing(NAME, root);
        out.extend(emptiness(NAME, root));
        let all = messages(root);
        let own = || all.iter().filter(|m| m.role == "assistant");
        if thinking(root).unwrap_or_else(|| own().any(|m| key(m).is_some())) {
            for message in own().filter(|m| !m.calls().is_empty() || m.has("function_call")) {
                match key(message) {
                    None => {
                        let found = match message.value.get("reasoning_content") {
                            Some(Value::Null) => "null",
                            Some(_) => "another value",
                            None => "no such key",
                        };
                        let what = format!(
                            "found {found} beside tool calls of a run with reasoning, expected a string, which may be empty"
                        );
                        out.push(message.breaks(
                            NAME,
                            "reasoning_key_missing",
                            "/reasoning_content",
                            what,
                        ));
                    }
                    Some((name, ".")) => {
                        let below = format!("/{name}");
                        out.push(message.breaks(
                            NAME,
                            "reasoning_placeholder",
                            &below,
                            "found `.`, expected reasoning or an empty string",
                        ));
                    }
                    Some(_) => {}
                }
            }
        }
        out.extend(items_without_reasoning(root));
        out.sort_by_key(|violation| violation.message);
        out
    }
}

/// The same behind the Responses API: in a turn with reasoning as text, each call has such an item of its own before it.
fn items_without_reasoning(root: &Value) -> Vec<Violation> {
    let Some((pointer, items)) = items(root) else {
        return Vec::new();
    };
    let thought = |item: &Value| {
        let content = item.get("content").and_then(Value::as_array);
        let texts = content.into_iter().flatten();
        kind(item) == "reasoning" && texts.map(kind).any(|of| of == "reasoning_text")
    };
    let messages = messages_of(root);
    let mut out = Vec::new();
    let (mut turn, mut last) = (false, false);
    for (index, item) in items.iter().enumerate() {
        if item.get("role").is_some_and(|role| role == "user") {
            turn = false;
        }
        turn |= thought(item);
        if kind(item) == "function_call" && turn && !last {
            out.push(Violation {
                provider: NAME,
                rule: "call_without_reasoning",
                message: messages.get(index).copied(),
                path: format!("{pointer}/{index}"),
                what: "found a call without a reasoning item of its own in a turn with reasoning, expected one with `reasoning_text` right before it".into(),
            });
        }
        last = thought(item);
    }
    out
}

/// The reasoning key of a message, by its old or its new name, where it holds a string.
fn key<'a>(message: &ChatMessage<'a>) -> Option<(&'static str, &'a str)> {
    let value = message.value;
    ["reasoning_content", "reasoning"]
        .into_iter()
        .find_map(|name| Some((name, value.get(name)?.as_str()?)))
}

/// What the request itself says about thinking.
fn thinking(root: &Value) -> Option<bool> {
    let kind = root
        .pointer("/thinking/type")
        .or_else(|| root.pointer("/extra_body/thinking/type"));
    let switch = root
        .pointer("/chat_template_kwargs/enable_thinking")
        .or_else(|| root.get("enable_thinking"));
    match kind.and_then(Value::as_str) {
        Some("disabled") => Some(false),
        Some("enabled") => Some(true),
        _ => switch.and_then(Value::as_bool),
    }
}
