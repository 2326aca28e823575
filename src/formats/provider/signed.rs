//! What a signature binds is exact or absent, in whose block it may stand: routers write one provider's history in another's shape.

use serde_json::Value;

use crate::trajectory::{Frozen, Part, Role, Trajectory};

const SIGNED_TEXT: Frozen = Frozen::Rule(
    "signed_text",
    "a signature stands beside the text and binds it: it goes back exactly as it came",
);

const KEYS: [&str; 4] = [
    "signature",
    "thoughtSignature",
    "thought_signature",
    "encrypted_content",
];

/// Freezes every text of the model whose block carries a signature. Blocks of reasoning have rules of their own: some may leave whole.
pub(super) fn freeze(root: &Value, run: &mut Trajectory) {
    let said = run
        .messages
        .iter_mut()
        .filter(|m| m.role == Role::Assistant);
    for part in said.flat_map(|m| &mut m.parts) {
        let Part::Text(text) = part else { continue };
        let block = text
            .place
            .as_ref()
            .and_then(|place| root.pointer(place.pointer.rsplit_once('/')?.0));
        if text.frozen.is_none() && block.is_some_and(is_signed) {
            text.frozen = Some(SIGNED_TEXT);
        }
    }
}

fn is_signed(block: &Value) -> bool {
    let set = |key: &&str| {
        let value = block.get(*key);
        value.is_some_and(|v| !v.is_null() && v.as_str() != Some(""))
    };
    KEYS.iter().any(set)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::formats::{format_of, provider};
    use serde_json::json;

    /// The frozen texts of the model, by the names of their rules.
    fn frozen(root: &Value) -> Vec<Option<&'static str>> {
        let format = format_of(root, None).unwrap();
        let mut run = format.read(root).unwrap();
        for provider in provider::of(format, None).unwrap() {
            provider.freeze(root, &mut run);
        }
        let said = run.messages.iter().filter(|m| m.role == Role::Assistant);
        said.flat_map(|m| &m.parts)
            .filter_map(|part| match part {
                Part::Text(text) => Some(text.frozen.map(Frozen::code)),
                _ => None,
            })
            .collect()
    }

    #[test]
    fn a_text_with_a_signature_beside_it_is_frozen_in_every_shape() {
        let text = |key: &str, value: Value| {
            let mut block = json!({"type": "text", "text": "I crop the sign."});
            block[key] = value;
            [block, json!({"type": "text", "text": "And I look."})]
        };
        let call =
            json!([{"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}]);
        let calls = json!([{"id": "c", "name": "f", "args": {}, "type": "tool_call"}]);
        for (key, value, rule) in [
            ("signature", json!("s"), Some("signed_text")),
            ("thought_signature", json!("s"), Some("signed_text")),
            ("thoughtSignature", json!("s"), Some("signed_text")),
            ("encrypted_content", json!("s"), Some("signed_text")),
            ("signature", json!(""), None),
            ("signature", Value::Null, None),
            ("id", json!("s"), None),
        ] {
            let blocks = text(key, value);
            let chat = json!({"messages": [{"role": "user", "content": "q"}, {"role": "assistant", "content": blocks, "tool_calls": call},
                {"role": "tool", "tool_call_id": "c", "content": "r"}, {"role": "user", "content": "q"}]});
            let langchain = json!([{"type": "human", "content": "q"}, {"type": "ai", "content": blocks, "tool_calls": calls},
                {"type": "tool", "content": "r", "tool_call_id": "c"}]);
            let mut all = blocks.to_vec();
            all.push(json!({"type": "tool_use", "id": "c", "name": "f", "input": {}}));
            let anthropic = json!({"system": "s", "messages": [{"role": "user", "content": "q"}, {"role": "assistant", "content": all},
                {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c", "content": "r"}]}, {"role": "user", "content": "q"}]});
            for run in [chat, langchain, anthropic] {
                assert_eq!(frozen(&run), [rule, None], "{run}");
            }
        }
    }
}
