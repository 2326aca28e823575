//! What had been seen when a summary was asked for, and what did it say?

use serde_json::{Map, Value, json};

use crate::error::Error;
use crate::formats::{self, FormatError};
use crate::plan::{Trigger, events};
use crate::replay::PictureRoot;
use crate::summary::SummaryTool;
use crate::trajectory::{Message, Part, Picture, Trajectory, VisibleText, segments};

/// A history and the summary that belongs behind it.
#[derive(Clone, Debug)]
pub struct Pair {
    /// The run's id, if it has one.
    pub id: Option<String>,
    /// Where the run stands: file and line. Pairs of one run share it.
    pub source: String,
    /// Which of the run's summaries.
    pub event: usize,
    /// The tool whose argument the summary is.
    pub tool: SummaryTool,
    /// Everything before the turn that carries the summary.
    pub history: Trajectory,
    /// What that turn thought before it called.
    pub thought: Option<String>,
    /// What it said before it called.
    pub said: String,
    /// The summary.
    pub summary: String,
    /// Where relative picture paths start.
    pub pictures: PictureRoot,
}

/// Why a summary of a run makes no pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Skipped {
    /// The call holds no text in the argument.
    NoText,
    /// The history was pruned at this summary already: it is not what the summary was written from.
    Pruned,
}

impl Skipped {
    /// The reason in words.
    pub fn reason(self) -> &'static str {
        match self {
            Skipped::NoText => "the call holds no summary",
            Skipped::Pruned => {
                "the history was pruned at it (spare restore brings the original back)"
            }
        }
    }
}

/// The pairs of one run, and what made none, by its event.
#[derive(Clone, Debug, Default)]
pub struct Collected {
    /// Pairs in order.
    pub pairs: Vec<Pair>,
    /// Summaries that make no pair.
    pub skipped: Vec<(usize, Skipped)>,
}

impl Pair {
    /// Every summary of a run with the history before it. A later history is taken as the run holds it, reasoning before earlier summaries
    /// included.
    ///
    /// # Errors
    /// [`Error::Part`] where a history holds a part that no model is shown.
    pub fn of_run(
        run: &Trajectory,
        tool: &SummaryTool,
        pictures: &PictureRoot,
        source: &str,
    ) -> Result<Collected, Error> {
        let mut out = Collected::default();
        let segments = segments(run, VisibleText::Auto);
        for event in events(run, &segments, Trigger::Model, tool, false) {
            let Some(sigma) = event.recorded else {
                out.skipped.push((event.index, Skipped::NoText));
                continue;
            };
            if event.decided {
                out.skipped.push((event.index, Skipped::Pruned));
                continue;
            }
            let history = Trajectory {
                messages: run.messages.get(..event.at).unwrap_or_default().to_vec(),
                ..run.clone()
            };
            let turn = run.messages.get(event.at);
            // Where calls stand in the text, the text holds the summary itself.
            let turn = turn.filter(|turn| !turn.calls_in_text);
            let pair = Self {
                id: run.id.clone(),
                source: source.to_owned(),
                event: event.index,
                tool: tool.clone(),
                history,
                thought: turn.and_then(Message::reasoning_text),
                said: turn.map(Message::text).unwrap_or_default(),
                summary: sigma.text,
                pictures: pictures.clone(),
            };
            pair.check()?;
            out.pairs.push(pair);
        }
        Ok(out)
    }

    /// Whether a JSON record is a pair and not a run: it has `messages` and, beside them, a `summary`.
    pub fn is_pair(value: &Value) -> bool {
        value.get("messages").is_some() && value.get("summary").is_some()
    }

    /// Reads a pair: `messages` and `tools` as in any chat format, `summary`, and what [`to_json`](Self::to_json) adds. `source` counts where the
    /// pair names none.
    ///
    /// # Errors
    /// [`FormatError`] with the JSON pointer of what is wrong.
    pub fn read(value: &Value, pictures: &PictureRoot, source: &str) -> Result<Self, Error> {
        let history = match value.get("calls_in_text") {
            Some(Value::Bool(true)) => formats::openai_chat::read_with_calls_in_text(value)?,
            _ => formats::format_of(value, None)?.read(value)?,
        };
        let text = |pointer: &str| -> Result<Option<String>, FormatError> {
            match value.pointer(pointer) {
                None | Some(Value::Null) => Ok(None),
                Some(Value::String(text)) => Ok(Some(text.clone())),
                Some(other) => Err(formats::openai_chat::shape(pointer, other, "a string")),
            }
        };
        let wrong = |pointer: &str, found: String, expected: &str| FormatError::Shape {
            pointer: pointer.into(),
            found,
            expected: expected.into(),
        };
        let summary = text("/summary")?.unwrap_or_default();
        if summary.trim().is_empty() {
            let found = format!("the string `{summary}`");
            return Err(wrong("/summary", found, "the text of a summary").into());
        }
        let tool = match text("/tool")? {
            None => SummaryTool::default(),
            Some(name) => SummaryTool::parse(&name).ok_or_else(|| {
                wrong("/tool", format!("the string `{name}`"), "NAME or NAME.ARG")
            })?,
        };
        let event = match value.get("event") {
            None => 0,
            Some(event) => event.as_u64().map_or_else(
                || {
                    Err(formats::openai_chat::shape(
                        "/event",
                        event,
                        "a whole number",
                    ))
                },
                |event| Ok(event as usize),
            )?,
        };
        let pair = Self {
            id: text("/id")?,
            source: text("/source")?.unwrap_or_else(|| source.to_owned()),
            event,
            tool,
            history,
            thought: text("/turn/reasoning_content")?,
            said: text("/turn/content")?.unwrap_or_default(),
            summary,
            pictures: pictures.clone(),
        };
        pair.check()?;
        Ok(pair)
    }

    /// The pair as one JSON object. `addresses` are those of its pictures, in order.
    pub fn to_json(&self, addresses: &[String]) -> Value {
        let mut out = Map::new();
        if let Some(id) = &self.id {
            out.insert("id".into(), json!(id));
        }
        out.insert("source".into(), json!(self.source));
        out.insert("event".into(), json!(self.event));
        let tool = format!("{}.{}", self.tool.name, self.tool.argument);
        out.insert("tool".into(), json!(tool));
        out.insert("tools".into(), json!(self.history.tools));
        // Such calls are no part of a chat: their results stand without one.
        if self.history.messages.iter().any(|m| m.calls_in_text) {
            out.insert("calls_in_text".into(), json!(true));
        }
        let mut messages = self.history.template_messages(usize::MAX);
        let mut addresses = addresses.iter();
        for (message, value) in self.history.messages.iter().zip(&mut messages) {
            let Some(parts) = value.get_mut("content").and_then(Value::as_array_mut) else {
                continue;
            };
            for (part, value) in message.parts.iter().zip(parts) {
                let Part::Picture(_) = part else {
                    continue;
                };
                if let Some(url) = addresses.next() {
                    *value = json!({"type": "image_url", "image_url": {"url": url}});
                }
            }
        }
        out.insert("messages".into(), Value::Array(messages));
        let mut turn = Map::new();
        if let Some(thought) = &self.thought {
            turn.insert("reasoning_content".into(), json!(thought));
        }
        if !self.said.is_empty() {
            turn.insert("content".into(), json!(self.said));
        }
        if !turn.is_empty() {
            out.insert("turn".into(), Value::Object(turn));
        }
        out.insert("summary".into(), json!(self.summary));
        Value::Object(out)
    }

    /// Pictures of the history in order.
    pub fn shown(&self) -> impl Iterator<Item = &Picture> {
        self.history.messages.iter().flat_map(Message::pictures)
    }

    fn check(&self) -> Result<(), Error> {
        for (message, value) in self.history.messages.iter().enumerate() {
            for (part, value) in value.parts.iter().enumerate() {
                if let Part::Other(value) = value {
                    let kind = value.get("type").and_then(Value::as_str);
                    return Err(Error::Part {
                        message,
                        part,
                        found: kind.unwrap_or("unknown").to_owned(),
                    });
                }
            }
        }
        Ok(())
    }
}
