//! OpenAI Chat Completions: pairs of calls and results, no empty message, pictures in user messages only, arguments as a string.

use serde_json::Value;

use super::chat::{ChatMessage, messages, pairing};
use super::empty::emptiness;
use super::{Provider, Violation};
use crate::trajectory::Trajectory;

/// OpenAI's Chat Completions.
pub struct OpenAi;

const NAME: &str = "openai";

impl Provider for OpenAi {
    fn name(&self) -> &'static str {
        NAME
    }

    /// Chat Completions take no reasoning, so none of it is protected. Signed copies are frozen where they are read.
    fn protect(&self, _: &Value, _: &mut Trajectory) {}

    fn find(&self, root: &Value) -> Vec<Violation> {
        let mut out = pairing(NAME, root);
        out.extend(emptiness(NAME, root));
        for message in messages(root) {
            if matches!(message.role, "assistant" | "tool") {
                for (at, part) in message.parts().iter().enumerate() {
                    let kind = part.get("type").and_then(Value::as_str).unwrap_or_default();
                    if matches!(kind, "image_url" | "input_image" | "image") {
                        let what = format!(
                            "found a picture in a message of role `{}`, expected pictures in user messages only",
                            message.role
                        );
                        out.push(message.breaks(
                            NAME,
                            "picture_outside_user",
                            format!("/content/{at}"),
                            what,
                        ));
                    }
                }
            }
            for (at, call) in message.calls().iter().enumerate() {
                let arguments = ChatMessage::arguments(call);
                if arguments.is_some_and(|a| !a.is_string()) {
                    let below = format!("/tool_calls/{at}/function/arguments");
                    out.push(message.breaks(
                        NAME,
                        "arguments_not_a_string",
                        &below,
                        "found another value, expected a string of JSON",
                    ));
                }
            }
        }
        out.sort_by_key(|violation| violation.message);
        out
    }
}
