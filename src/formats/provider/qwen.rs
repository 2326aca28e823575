//! Qwen3 and Qwen3-VL chat templates: what they would leave out of the prompt without a word, or take for something else.
//! Source: the published templates. A server refuses a prompt whose picture tokens are not as many as its pictures; the other rules name
//! what is lost in silence.

use serde_json::Value;

use super::chat::{Below, ChatMessage, messages};
use super::{Provider, Violation};
use crate::trajectory::Trajectory;

/// Qwen's chat templates.
pub struct Qwen;

const NAME: &str = "qwen";

/// Tokens that stand for pixels.
const PICTURE_TOKENS: [&str; 4] = [
    "<|image_pad|>",
    "<|video_pad|>",
    "<|vision_start|>",
    "<|vision_end|>",
];

/// Tokens that begin and end messages.
const MESSAGE_TOKENS: [&str; 2] = ["<|im_start|>", "<|im_end|>"];

impl Provider for Qwen {
    fn name(&self) -> &'static str {
        NAME
    }

    /// Reasoning is free text. The template itself leaves old reasoning out.
    fn protect(&self, _: &Value, _: &mut Trajectory) {}

    fn find(&self, root: &Value) -> Vec<Violation> {
        let mut out = Vec::new();
        for message in messages(root) {
            tokens(&message, &mut out);
            shown(&message, &mut out);
            for (at, call) in message.calls().iter().enumerate() {
                let arguments = ChatMessage::arguments(call).and_then(Value::as_str);
                if arguments
                    .is_some_and(|a| serde_json::from_str::<serde::de::IgnoredAny>(a).is_err())
                {
                    let what = "found text that is not JSON, which the template writes into the call's JSON as it is; expected JSON";
                    let below = format!("/tool_calls/{at}/function/arguments");
                    out.push(message.breaks(NAME, "arguments_not_json", below, what));
                }
            }
        }
        out.sort_by_key(|violation| violation.message);
        out
    }
}

/// Special tokens in text become the real ones when the prompt is encoded.
fn tokens(message: &ChatMessage<'_>, out: &mut Vec<Violation>) {
    let reasoning = message
        .value
        .get("reasoning_content")
        .and_then(Value::as_str);
    let reasoning = reasoning.map(|text| (Below::Reasoning, text));
    for (below, text) in message.texts().chain(reasoning) {
        if let Some(token) = PICTURE_TOKENS.iter().find(|token| text.contains(**token)) {
            let what = format!(
                "found `{token}` in a text, where it counts as a picture; expected as many picture tokens as pictures"
            );
            out.push(message.breaks(NAME, "picture_token_in_text", below, what));
        }
        if let Some(token) = MESSAGE_TOKENS.iter().find(|token| text.contains(**token)) {
            let what = format!(
                "found `{token}` in a text, where it ends or begins a message; expected text without it"
            );
            out.push(message.breaks(NAME, "message_token_in_text", below, what));
        }
    }
}

/// What the template does not show.
fn shown(message: &ChatMessage<'_>, out: &mut Vec<Violation>) {
    let first = message.index == 0;
    match message.role {
        "user" | "assistant" | "tool" => {}
        "system" if first => {}
        role => {
            let place = if role == "system" {
                " behind the first message"
            } else {
                ""
            };
            let what = format!(
                "found role `{role}`{place}, which the template leaves out; expected user, assistant, tool, or system first"
            );
            out.push(message.breaks(NAME, "message_not_shown", "/role", what));
        }
    }
    if matches!(message.role, "assistant" | "system") {
        for (at, part) in message.parts().iter().enumerate() {
            let kind = part.get("type").and_then(Value::as_str).unwrap_or_default();
            if matches!(kind, "image_url" | "input_image" | "image" | "video") {
                let what = format!(
                    "found a picture in a message of role `{}`, which the template leaves out; expected it in a user or tool message",
                    message.role
                );
                out.push(message.breaks(NAME, "picture_not_shown", format!("/content/{at}"), what));
            }
        }
    }
    // The template takes what stands behind the last closing tag for the answer.
    let own_field = message
        .value
        .get("reasoning_content")
        .is_some_and(Value::is_string);
    if message.role == "assistant" && !own_field {
        for (below, text) in message
            .texts()
            .filter(|(_, text)| text.matches("</think>").count() > 1)
        {
            let lost = text.split("</think>").nth(1).unwrap_or_default().trim();
            if !lost.is_empty() {
                let what = "found `</think>` more than once; the template leaves out what stands between, expected one";
                out.push(message.breaks(NAME, "answer_before_think_tag", below, what));
            }
        }
    }
}
