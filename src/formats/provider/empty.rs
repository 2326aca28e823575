//! What all servers of OpenAI's chat messages refuse: messages with nothing in them.

use serde_json::Value;

use super::Violation;
use super::chat::{Below, messages};

/// Assistant messages that say and call nothing, and text parts without text.
pub(super) fn emptiness(provider: &'static str, root: &Value) -> Vec<Violation> {
    let mut out = Vec::new();
    for message in messages(root) {
        for (below, text) in message.texts() {
            if text.is_empty() && below != Below::Content {
                out.push(message.breaks(
                    provider,
                    "empty_text_part",
                    below,
                    "found an empty text part, expected text",
                ));
            }
        }
        let calls = !message.calls().is_empty()
            || ["function_call", "refusal", "audio"]
                .iter()
                .any(|key| message.has(key));
        let other = message
            .parts()
            .iter()
            .any(|part| part.get("text").is_none());
        if message.role != "assistant"
            || calls
            || other
            || message.texts().any(|(_, text)| !text.trim().is_empty())
        {
            continue;
        }
        let thinks = ["reasoning_content", "reasoning"].iter().any(|key| {
            let text = message.value.get(*key).and_then(Value::as_str);
            text.is_some_and(|t| !t.trim().is_empty())
        });
        let found = if thinks { "reasoning alone" } else { "nothing" };
        let what = format!("found {found} in an assistant message, expected content or tool calls");
        out.push(message.breaks(provider, "empty_assistant", "/content", what));
    }
    out
}
