//! What all servers of OpenAI's chat messages refuse: calls and results that do not pair.

use std::fmt;

use serde_json::Value;

use super::Violation;

/// The place of a text below a message; spelled only where a rule is broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Below {
    Content,
    Part(usize),
    Reasoning,
}

impl fmt::Display for Below {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Content => f.write_str("/content"),
            Self::Part(index) => write!(f, "/content/{index}/text"),
            Self::Reasoning => f.write_str("/reasoning_content"),
        }
    }
}

/// A message as it is written.
pub(super) struct ChatMessage<'a> {
    pub(super) index: usize,
    /// Where the list of messages stands.
    list: &'static str,
    pub(super) role: &'a str,
    pub(super) value: &'a Value,
}

impl<'a> ChatMessage<'a> {
    /// A violation at a place below this message.
    pub(super) fn breaks(
        &self,
        provider: &'static str,
        rule: &'static str,
        below: impl fmt::Display,
        what: impl Into<String>,
    ) -> Violation {
        Violation {
            provider,
            rule,
            message: Some(self.index),
            path: format!("{}/{}{below}", self.list, self.index),
            what: what.into(),
        }
    }

    fn array(&self, key: &str) -> &'a [Value] {
        self.value
            .get(key)
            .and_then(Value::as_array)
            .map_or(&[], Vec::as_slice)
    }

    /// Its calls in order.
    pub(super) fn calls(&self) -> &'a [Value] {
        self.array("tool_calls")
    }

    /// The arguments of a call.
    pub(super) fn arguments(call: &Value) -> Option<&Value> {
        call.get("function")?.get("arguments")
    }

    /// Its parts, if its content is a list.
    pub(super) fn parts(&self) -> &'a [Value] {
        self.array("content")
    }

    /// Its texts with their places below the message.
    pub(super) fn texts(&self) -> impl Iterator<Item = (Below, &'a str)> + use<'a> {
        let string = self.value.get("content").and_then(Value::as_str);
        let parts = self.parts().iter().enumerate();
        let parts =
            parts.filter_map(|(i, part)| Some((Below::Part(i), part.get("text")?.as_str()?)));
        string
            .map(|text| (Below::Content, text))
            .into_iter()
            .chain(parts)
    }

    /// Whether a field is there and not null.
    pub(super) fn has(&self, key: &str) -> bool {
        self.value.get(key).is_some_and(|v| !v.is_null())
    }
}

/// The messages of a record: its `messages`, or the record itself.
pub(super) fn messages(root: &Value) -> Vec<ChatMessage<'_>> {
    let (values, list) = match root.get("messages") {
        Some(values) => (values, "/messages"),
        None => (root, ""),
    };
    let values = values.as_array().into_iter().flatten().enumerate();
    let message = |(index, value): (usize, _)| {
        let value: &Value = value;
        let role = value.get("role").and_then(Value::as_str);
        ChatMessage {
            index,
            list,
            role: role.unwrap_or_default(),
            value,
        }
    };
    values.map(message).collect()
}

/// A call that waits for its result.
struct Waiting<'a> {
    message: &'a ChatMessage<'a>,
    at: usize,
    id: Option<&'a str>,
    answered: bool,
}

/// Calls and results, paired in order: a call arms its id, a result uses it up. Ids may come again in later messages.
pub(super) fn pairing(provider: &'static str, root: &Value) -> Vec<Violation> {
    let all = messages(root);
    let mut out = Vec::new();
    let mut waiting: Vec<Waiting<'_>> = Vec::new();
    let mut function: Option<&str> = None;
    // The role of a message between the calls and this place.
    let mut between: Option<&str> = None;
    for message in &all {
        match message.role {
            "assistant" => {
                unanswered(provider, &waiting, &mut out);
                (waiting, between) = (calls(message), None);
                let call = message.value.get("function_call");
                function = call.and_then(|call| call.get("name")?.as_str());
                for (at, call) in waiting.iter().enumerate() {
                    if call.id.is_some() && waiting.iter().take(at).any(|c| c.id == call.id) {
                        let id = call.id.unwrap_or_default();
                        let what = format!(
                            "found the id `{id}` a second time in one message, expected ids of their own"
                        );
                        out.push(message.breaks(
                            provider,
                            "repeated_call_id",
                            format!("/tool_calls/{at}/id"),
                            what,
                        ));
                    }
                }
            }
            "tool" => {
                let id = message.value.get("tool_call_id").and_then(Value::as_str);
                match waiting
                    .iter_mut()
                    .find(|w| !w.answered && (id.is_none() || w.id == id))
                {
                    Some(call) => {
                        call.answered = true;
                        if let Some(role) = between.take() {
                            let what = format!(
                                "found a {role} message between the call and this result, expected the result right behind its call"
                            );
                            out.push(message.breaks(provider, "result_apart_from_call", "", what));
                        }
                    }
                    None => {
                        let id = id.unwrap_or("(no id)");
                        let known = waiting.iter().any(|w| w.id == Some(id));
                        let what = match known {
                            true => format!("found a second result for call `{id}`, expected one"),
                            false => format!(
                                "found a result for `{id}`, expected it behind the assistant message with that call"
                            ),
                        };
                        out.push(message.breaks(
                            provider,
                            "result_without_call",
                            "/tool_call_id",
                            what,
                        ));
                    }
                }
            }
            "function" => {
                let name = message.value.get("name").and_then(Value::as_str);
                if function.take().is_none_or(|called| name != Some(called)) {
                    let what = format!(
                        "found a result of `{}`, expected it behind a `function_call` of that name",
                        name.unwrap_or("(no name)")
                    );
                    out.push(message.breaks(provider, "result_without_call", "/name", what));
                }
            }
            role => {
                if waiting.iter().any(|w| !w.answered) {
                    between = Some(role);
                }
            }
        }
    }
    unanswered(provider, &waiting, &mut out);
    out
}

fn calls<'a>(message: &'a ChatMessage<'a>) -> Vec<Waiting<'a>> {
    let calls = message.calls().iter().enumerate();
    calls
        .map(|(at, call)| Waiting {
            message,
            at,
            id: call.get("id").and_then(Value::as_str),
            answered: false,
        })
        .collect()
}

fn unanswered(provider: &'static str, waiting: &[Waiting<'_>], out: &mut Vec<Violation>) {
    for call in waiting.iter().filter(|w| !w.answered) {
        let id = call.id.unwrap_or("(no id)");
        let what = format!(
            "found no result for call `{id}`, expected a tool message with it right behind"
        );
        out.push(call.message.breaks(
            provider,
            "call_without_result",
            format!("/tool_calls/{}", call.at),
            what,
        ));
    }
}
