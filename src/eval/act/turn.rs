//! What does a turn mean that a model wrote in the form that it was trained for?

use serde_json::{Map, Value};

use crate::eval::agent::Turn;
use crate::trajectory::{Message, ToolCall};

/// Reads a turn as Qwen models write it: reasoning in `<think>` tags or none, text, then `<tool_call>`s of JSON, of which the first counts. A turn
/// without a call is an answer. `id` is that of the call.
pub fn parse(text: &str, id: &str) -> Turn {
    let broken = || Turn::Broken(text.to_owned());
    // Some templates open the tag themselves, so that the model only closes it.
    let (thought, rest) = match text.split_once("</think>") {
        Some((thought, rest)) => {
            let thought = thought.trim_start().trim_start_matches("<think>");
            (Some(thought.trim_matches('\n').to_owned()), rest)
        }
        None if text.contains("<think>") => return broken(),
        None => (None, text),
    };
    let Some((said, call)) = rest.split_once("<tool_call>") else {
        let answer = rest.trim();
        if answer.is_empty() || rest.contains("<tool_response>") {
            return broken();
        }
        return Turn::Answer(Message::assistant(thought, answer, Vec::new()));
    };
    let Some((call, _)) = call.split_once("</tool_call>") else {
        return broken();
    };
    let Ok(Value::Object(call)) = serde_json::from_str::<Value>(call.trim()) else {
        return broken();
    };
    let Some(name) = call.get("name").and_then(Value::as_str) else {
        return broken();
    };
    let arguments = match call.get("arguments") {
        Some(Value::Object(arguments)) => Value::Object(arguments.clone()),
        None => Value::Object(Map::new()),
        Some(_) => return broken(),
    };
    let mut own = ToolCall::new(id, name, Value::Null);
    own.arguments = arguments;
    Turn::Call(Message::assistant(thought, said.trim(), vec![own]))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic)]
    use super::*;

    #[test]
    fn what_instruct_and_thinking_models_write() {
        let call = "I look closer.\n<tool_call>\n{\"name\": \"crop\", \"arguments\": {\"box\": [0, 2]}}\n</tool_call>";
        for (text, thought, said) in [
            (call.to_owned(), None, "I look closer."),
            (
                format!("<think>\nHm.\n</think>\n\n{call}"),
                Some("Hm."),
                "I look closer.",
            ),
            (
                format!("Hm.\n</think>\n\n{call}"),
                Some("Hm."),
                "I look closer.",
            ),
        ] {
            let Turn::Call(message) = parse(&text, "c") else {
                panic!("no call in {text}");
            };
            assert_eq!(message.reasoning_text().as_deref(), thought);
            assert_eq!(message.text(), said);
            assert_eq!(message.calls[0].arguments_text(), "{\"box\":[0,2]}");
        }
        let Turn::Answer(message) = parse("<think>\n\n</think>\n\n(B)", "c") else {
            panic!("no answer");
        };
        assert_eq!(message.text(), "(B)");
        let wrong = [
            "",
            "<think>\nno end",
            "<think>x</think> \n",
            "<tool_call>\n{\"name\": \"crop\"",
            "<tool_call>\n{\"arguments\": {}}\n</tool_call>",
            "<tool_call>\n{\"name\": \"a\", \"arguments\": [1]}\n</tool_call>",
            "<tool_call>\n[1]\n</tool_call>",
        ];
        for text in wrong {
            assert!(matches!(parse(text, "c"), Turn::Broken(_)), "{text}");
        }
    }
}
