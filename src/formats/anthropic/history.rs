//! Which message holds which blocks, and in which does a person speak? What the provider's rules look at.

use serde_json::Value;

use super::{kind, list};

/// One message as providers see it, for their rules.
pub(crate) struct Entry<'a> {
    /// Its number in the list, or the number of its first line.
    pub index: usize,
    /// JSON pointer of the message.
    pub pointer: String,
    /// Whether the model wrote it.
    pub assistant: bool,
    /// Whether a person speaks in it, which closes the turn before.
    pub person: bool,
    /// Each content value with its JSON pointer: more than one where a log writes a message in pieces.
    pub contents: Vec<(String, &'a Value)>,
}

impl<'a> Entry<'a> {
    /// Every content block with its JSON pointer.
    pub fn blocks(&self) -> Vec<(String, &'a Value)> {
        let list = self
            .contents
            .iter()
            .filter_map(|(at, v)| Some((at, v.as_array()?)));
        list.flat_map(|(at, blocks)| {
            blocks
                .iter()
                .enumerate()
                .map(move |(i, block)| (format!("{at}/{i}"), block))
        })
        .collect()
    }
}

/// A message with a result in it belongs to the open loop, even where text stands beside the result: that only freezes more.
pub(crate) fn person_speaks(content: &Value) -> bool {
    match content {
        Value::Array(blocks) => !blocks.iter().any(|b| kind(b) == "tool_result"),
        _ => true,
    }
}

/// The messages of a body or a bare list.
pub(crate) fn entries<'a>(root: &'a Value) -> Vec<Entry<'a>> {
    let Some((at, messages)) = list(root) else {
        return Vec::new();
    };
    let entry = |(index, message): (usize, &'a Value)| {
        let role = message.get("role")?.as_str()?;
        let content = message.get("content")?;
        let pointer = format!("{at}/{index}");
        Some(Entry {
            index,
            assistant: role == "assistant",
            person: role == "user" && person_speaks(content),
            contents: vec![(format!("{pointer}/content"), content)],
            pointer,
        })
    };
    messages.iter().enumerate().filter_map(entry).collect()
}
