//! What does the model say next, and what does that mean?

use serde_json::value::RawValue;
use spare_models::{Control, PreparedPrompt};

use crate::engine::Engine;
use crate::error::Error;
use crate::replay::{self, PictureRoot};
use crate::score::LocalScorer;
use crate::trajectory::{Message, ToolCall, Trajectory};

/// Tokens that one turn may have.
const MAX_TOKENS: usize = 256;

/// What a model wrote.
#[derive(Clone, Debug, PartialEq)]
pub enum Turn {
    /// Reasoning, if any, and a call.
    Call(Message),
    /// Reasoning, if any, and the answer.
    Answer(Message),
    /// Something that is neither, or did not end.
    Broken(String),
}

/// A call as it is written.
#[derive(serde::Deserialize)]
struct Written<'a> {
    name: String,
    #[serde(borrow)]
    arguments: &'a RawValue,
}

/// Reads a turn as the board template writes it: `<think>` reasoning, then one `<tool_call>` or an answer. `id` is that of the call.
pub fn parse(text: &str, id: &str) -> Turn {
    let broken = || Turn::Broken(text.to_owned());
    let (thought, rest) = match text.strip_prefix("<think>") {
        None => (None, text),
        Some(rest) => match rest.split_once("</think>") {
            None => return broken(),
            Some((thought, rest)) => (Some(thought.trim_matches('\n').to_owned()), rest),
        },
    };
    let rest = rest.trim();
    let Some(call) = rest.strip_prefix("<tool_call>") else {
        let stray = ["<tool_call>", "<think>", "</think>", "<tool_response>"];
        if rest.is_empty() || stray.iter().any(|tag| rest.contains(tag)) {
            return broken();
        }
        return Turn::Answer(Message::assistant(thought, rest, Vec::new()));
    };
    let Some((call, "")) = call.split_once("</tool_call>") else {
        return broken();
    };
    let Ok(call) = serde_json::from_str::<Written>(call.trim()) else {
        return broken();
    };
    // The arguments stay as the model wrote them, so that it reads its own words again.
    let arguments = call.arguments.get().to_owned();
    if !arguments.starts_with('{') {
        return broken();
    }
    let call = ToolCall::written(id, call.name, arguments);
    Turn::Call(Message::assistant(thought, "", vec![call]))
}

/// Reads `run` and the header of the model's next turn into the scorer's cache.
pub(super) fn read(
    engine: &Engine,
    scorer: &mut LocalScorer,
    run: &Trajectory,
    control: &Control<'_>,
) -> Result<PreparedPrompt, Error> {
    let end = run.messages.len();
    let pictures = scorer.pictures(run, end, &PictureRoot::new("."))?;
    let trunk = replay::trunk_ids(&engine.prompter, run, end, &pictures)?;
    let keys = pictures.into_iter().map(|(_, key)| key);
    let spans: Vec<_> = trunk.pictures.iter().cloned().zip(keys).collect();
    let ids = [trunk.ids, engine.prompter.encode_header()?].concat();
    let prompt = scorer.prepare(ids, &spans)?;
    scorer.advance(prompt.clone(), &[], control)?;
    Ok(prompt)
}

/// Lets the model write the next turn of `run`, greedily. `id` is that of a call.
pub(super) fn next(
    engine: &Engine,
    scorer: &mut LocalScorer,
    run: &Trajectory,
    id: &str,
    control: &Control<'_>,
) -> Result<Turn, Error> {
    let prompt = read(engine, scorer, run, control)?;
    let mut cache = scorer.fork();
    let stop = engine.model.eos();
    let written = engine
        .model
        .greedy(&prompt, &mut cache, MAX_TOKENS, stop, control)?;
    let ended = written.last().is_some_and(|id| stop.contains(id));
    let own = written.len() - usize::from(ended);
    let text = engine
        .prompter
        .decode(written.get(..own).unwrap_or_default())?;
    Ok(match ended {
        true => parse(&text, id),
        false => Turn::Broken(text),
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic)]
    use super::*;

    #[test]
    fn calls_answers_and_what_is_neither() {
        let call = "<think>\nI look.\n</think>\n\n<tool_call>\n{\"name\": \"crop\", \"arguments\": {\"cell\": [0, 2]}}\n</tool_call>";
        let Turn::Call(message) = parse(call, "call_7") else {
            panic!("no call");
        };
        assert_eq!(message.reasoning_text().as_deref(), Some("I look."));
        assert_eq!(message.calls[0].arguments_text(), "{\"cell\": [0, 2]}");
        let Turn::Answer(message) = parse("<think>\nDone.\n</think>\n\ntotal = 12", "x") else {
            panic!("no answer");
        };
        assert_eq!(message.text(), "total = 12");
        assert!(matches!(parse("total = 12", "x"), Turn::Answer(_)));
        let wrong = [
            "",
            "<think>\nno end",
            "<think>\nx\n</think>\n\n",
            "<tool_call>\n{\"name\": \"crop\"}\n</tool_call>",
            "<tool_call>\n{\"name\": \"crop\", \"arguments\": {}}",
            "<tool_call>\n{]\n</tool_call>",
            "a <tool_call>",
        ];
        for text in wrong {
            assert!(matches!(parse(text, "x"), Turn::Broken(_)), "{text}");
        }
    }
}
