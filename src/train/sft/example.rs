//! What does the model read when it is asked for a summary, and which tokens of it are the summary?

use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use spare_models::prompt::{Chat, Cut, Encoded, PartSpan, PromptError, Rendering};
use spare_models::train::{Sequence, TrainPicture};

use super::Pair;
use crate::engine::Engine;
use crate::error::Error;
use crate::plan::hex;
use crate::replay::{self, PictureRoot};
use crate::summary::REQUEST;
use crate::trajectory::{Message, Picture, ToolCall, Trajectory};

/// What a learnt token is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum SummaryToken {
    /// Text.
    Word = 0,
    /// Text with a digit: most values.
    Digit = 1,
    /// What ends the summary and its turn.
    End = 2,
}

impl SummaryToken {
    /// All, with their names.
    pub const ALL: [(Self, &'static str); 3] = [
        (Self::Word, "word"),
        (Self::Digit, "digit"),
        (Self::End, "end"),
    ];
}

/// A pair as token ids; its pictures are opened when it is learnt.
#[derive(Clone, Debug)]
pub struct Example {
    /// The history, the opening of the summary, the summary and the end of its turn.
    pub ids: Vec<u32>,
    /// The tokens that are learnt: all from the summary's first one on.
    pub learnt: Range<usize>,
    /// For each of them what it is.
    pub kinds: Vec<SummaryToken>,
    pictures: Vec<Picture>,
    root: PictureRoot,
}

/// Bytes of prepared pictures that are kept.
const KEPT_BYTES: usize = 512 << 20;

/// Prepared pictures by the hash of their encoded bytes, up to 512 MB.
#[derive(Debug, Default)]
pub struct Gallery(Mutex<Shelf>);

#[derive(Debug, Default)]
struct Shelf {
    known: HashMap<[u8; 32], Prepared>,
    bytes: usize,
}

#[derive(Clone, Debug)]
struct Prepared {
    tokens: usize,
    key: String,
    picture: TrainPicture,
}

impl Gallery {
    fn get(
        &self,
        engine: &Engine,
        picture: &Picture,
        root: &PictureRoot,
    ) -> Result<Prepared, Error> {
        let bytes = root.open(picture)?;
        let content: [u8; 32] = Sha256::digest(&bytes).into();
        let lock = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let known = lock().known.get(&content).cloned();
        if let Some(known) = known {
            return Ok(known);
        }
        let ready = engine.ready(picture, &bytes)?;
        let prepared = Prepared {
            tokens: ready.tokens,
            key: hex(&ready.key),
            picture: TrainPicture {
                grid: ready.pixels.grid,
                values: Arc::new(ready.pixels.values),
            },
        };
        let mut shelf = lock();
        shelf.bytes += 4 * prepared.picture.values.len();
        if shelf.bytes > KEPT_BYTES {
            shelf.known.clear();
            shelf.bytes = 4 * prepared.picture.values.len();
        }
        shelf.known.insert(content, prepared.clone());
        Ok(prepared)
    }
}

/// The pair as this engine's model reads it: the history, the turn up to the argument of the summary call as its template writes it, the
/// summary, and the end of the turn. A template that shows no calls is asked in a user message, as [`crate::summary::generate`] does it. The
/// summary begins a token of its own, as it does where a model goes on behind the opening.
///
/// # Errors
/// Those of rendering and of opening pictures; [`Error::Option`] for a model without an end of sequence.
pub fn example(engine: &Engine, pair: &Pair, gallery: &Gallery) -> Result<Example, Error> {
    let history = engine.view(&pair.history, usize::MAX)?;
    let mut counts = Vec::new();
    let mut pictures = Vec::new();
    for picture in history.messages.iter().flat_map(Message::pictures) {
        let ready = gallery.get(engine, picture, &pair.pictures)?;
        counts.push((ready.tokens, ready.key));
        pictures.push(picture.clone());
    }
    let opening = engine
        .prompter
        .call_opening(&pair.tool.name, &pair.tool.argument);
    let (mut ids, target) = match opening {
        Ok(_) => called(engine, &history, pair, &counts)?,
        Err(PromptError::NotShown { .. }) => asked(engine, &history, pair, &counts)?,
        Err(error) => return Err(error.into()),
    };
    let start = ids.len();
    ids.extend(&target.ids);
    Ok(Example {
        learnt: start..ids.len(),
        ids,
        kinds: target.kinds,
        pictures,
        root: pair.pictures.clone(),
    })
}

impl Example {
    /// The sequence that is learnt: the summary's tokens count 1, everything else 0.
    ///
    /// # Errors
    /// Where a picture can no longer be opened.
    pub fn sequence(&self, engine: &Engine, gallery: &Gallery) -> Result<Sequence, Error> {
        let mut weights = vec![0f32; self.ids.len()];
        let mut kinds = vec![0u8; self.ids.len()];
        let learnt = self.learnt.clone().zip(&self.kinds);
        for (token, kind) in learnt {
            if let (Some(w), Some(k)) = (weights.get_mut(token), kinds.get_mut(token)) {
                (*w, *k) = (1.0, *kind as u8);
            }
        }
        let pictures = self.pictures.iter();
        let pictures = pictures.map(|p| Ok(gallery.get(engine, p, &self.root)?.picture));
        Ok(Sequence {
            ids: self.ids.clone(),
            weights,
            kinds,
            pictures: pictures.collect::<Result<_, Error>>()?,
        })
    }
}

/// Ids of a summary and of what ends its turn.
struct Target {
    ids: Vec<u32>,
    kinds: Vec<SummaryToken>,
}

/// The history with the turn that calls, cut where the summary begins.
fn called(
    engine: &Engine,
    history: &Trajectory,
    pair: &Pair,
    counts: &[(usize, String)],
) -> Result<(Vec<u32>, Target), Error> {
    let prompter = &engine.prompter;
    let at = history.messages.len();
    let argument = pair.tool.argument.as_str();
    let function = format!("/messages/{at}/tool_calls/0/function/arguments");
    let chat = |arguments: Value| {
        let mut run = history.clone();
        let call = ToolCall {
            id: Some("summary00".into()),
            name: pair.tool.name.clone(),
            arguments,
        };
        let (thought, said) = (pair.thought.clone(), pair.said.clone());
        run.push(Message::assistant(thought, said, vec![call]));
        Chat {
            messages: run.template_messages(usize::MAX),
            tools: run.tools,
            ..Chat::default()
        }
    };
    let arguments = json!({argument: pair.summary});
    let escaped = argument.replace('~', "~0").replace('/', "~1");
    let pointer = format!("{function}/{escaped}");
    let own = prompter.render(&chat(arguments.clone()));
    let place = own.as_ref().ok().and_then(|rendering| {
        let mut spans = rendering.spans(&pointer).map(|part| part.span.clone());
        let first = spans.next()?;
        Some(first.start..spans.last().map_or(first.end, |last| last.end))
    });
    let (rendering, value) = match place {
        Some(value) => (own?, value),
        // Some templates want the arguments as the JSON text that the wire carries.
        None => {
            let text = arguments.to_string();
            let quoted = json!(pair.summary).to_string();
            let start = text.rfind(&quoted).map_or(0, |at| at + 1);
            let cut = Cut {
                pointer: function,
                range: start..start + quoted.len() - 2,
            };
            let rendering = prompter.render_with(&chat(json!(text)), &[cut])?;
            let value = rendering.cuts.first().cloned().flatten();
            let value = value.ok_or(PromptError::NotShown { pointer })?;
            (rendering, value)
        }
    };
    let counts: Vec<usize> = counts.iter().map(|(count, _)| *count).collect();
    let before = prompter.encode(&piece(&rendering, 0..value.start), &counts)?;
    let behind = piece(&rendering, value.start..rendering.text.len());
    let behind = prompter.encode(&behind, &[])?;
    Ok((before.ids, ended(engine, &behind, value.len())))
}

/// Some bytes of a rendering.
fn piece(rendering: &Rendering, bytes: Range<usize>) -> Rendering {
    let clip = |at: usize| at.clamp(bytes.start, bytes.end) - bytes.start;
    let parts = rendering.parts.iter().map(|part| PartSpan {
        span: clip(part.span.start)..clip(part.span.end),
        ..part.clone()
    });
    Rendering {
        text: rendering
            .text
            .get(bytes.clone())
            .unwrap_or_default()
            .to_owned(),
        parts: parts.filter(|part| !part.span.is_empty()).collect(),
        hidden: Vec::new(),
        cuts: Vec::new(),
    }
}

/// The summary's `length` bytes and what stands behind them up to the first end of sequence.
fn ended(engine: &Engine, behind: &Encoded, length: usize) -> Target {
    let eos = engine.model.eos();
    let summary = behind.tokens_overlapping(0..length);
    let later = behind.ids.get(summary.end..).unwrap_or_default();
    let stop = later.iter().position(|id| eos.contains(id));
    let end = stop.map_or(behind.ids.len(), |stop| summary.end + stop + 1);
    let kind = |token: usize| {
        let bytes = behind.offsets.get(token).cloned().unwrap_or(0..0);
        let text = behind.text.get(bytes.start..bytes.end.min(length));
        match text {
            Some(text) if token < summary.end => of(text),
            _ => SummaryToken::End,
        }
    };
    Target {
        ids: behind.ids.get(..end).unwrap_or_default().to_vec(),
        kinds: (0..end).map(kind).collect(),
    }
}

/// The history with the request in a user message; the answer is the summary.
fn asked(
    engine: &Engine,
    history: &Trajectory,
    pair: &Pair,
    counts: &[(usize, String)],
) -> Result<(Vec<u32>, Target), Error> {
    let prompter = &engine.prompter;
    let trunk = replay::trunk_ids(prompter, history, history.messages.len(), counts)?;
    let ids = [trunk.ids, prompter.user_request(REQUEST)?].concat();
    let Some(eos) = engine.model.eos().first() else {
        return Err(Error::Option {
            option: "--model",
            found: "a checkpoint without an end of sequence".into(),
            expected: "`eos_token_id` in generation_config.json or config.json".into(),
        });
    };
    let mut target = Target {
        ids: prompter.encode_text(&pair.summary)?,
        kinds: Vec::new(),
    };
    for id in &target.ids {
        target.kinds.push(of(&prompter.decode(&[*id])?));
    }
    target.ids.push(*eos);
    target.kinds.push(SummaryToken::End);
    Ok((ids, target))
}

fn of(text: &str) -> SummaryToken {
    match text.bytes().any(|b| b.is_ascii_digit()) {
        true => SummaryToken::Digit,
        false => SummaryToken::Word,
    }
}

#[cfg(all(test, feature = "embedded-model"))]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::path::Path;

    use super::*;
    use crate::formats;
    use crate::summary::SummaryTool;

    fn pairs() -> Vec<Pair> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/board");
        let text = std::fs::read_to_string(folder.join("runs.jsonl")).unwrap();
        let root = PictureRoot::new(&folder);
        let of_line = |line: &str| {
            let value = formats::parse(line).unwrap();
            let run = formats::format_of(&value, None)
                .unwrap()
                .read(&value)
                .unwrap();
            Pair::of_run(&run, &SummaryTool::default(), &root, "runs")
                .unwrap()
                .pairs
        };
        text.lines().flat_map(of_line).collect()
    }

    /// Without a thought the context is what [`crate::summary::generate`] hands to the model, and the summary is what it reads back.
    #[test]
    fn the_context_is_that_of_a_generated_summary() {
        let engine = Engine::board().unwrap();
        let gallery = Gallery::default();
        let all = pairs();
        assert!(all.len() >= 8);
        for pair in all {
            let tool = &pair.tool;
            let bare = Pair {
                thought: None,
                said: String::new(),
                ..pair.clone()
            };
            let found = example(&engine, &bare, &gallery).unwrap();
            let counts: Vec<(usize, String)> = bare
                .shown()
                .map(|p| gallery.get(&engine, p, &bare.pictures).unwrap())
                .map(|p| (p.tokens, p.key))
                .collect();
            let trunk =
                replay::trunk_ids(&engine.prompter, &bare.history, usize::MAX, &counts).unwrap();
            let opening = engine
                .prompter
                .call_opening(&tool.name, &tool.argument)
                .unwrap();
            let context = [trunk.ids, opening.ids].concat();
            assert_eq!(found.ids[..found.learnt.start], context);
            let learnt = engine
                .prompter
                .decode(&found.ids[found.learnt.clone()])
                .unwrap();
            let (summary, end) = learnt.split_at(learnt.rfind('"').unwrap());
            let quoted = format!("\"{summary}\"");
            assert_eq!(
                serde_json::from_str::<String>(&quoted).unwrap(),
                pair.summary
            );
            assert_eq!(end, "\"}}\n</tool_call><|im_end|>");
            // The turn's own thought stands before the call where there is one.
            let whole = example(&engine, &pair, &gallery).unwrap();
            let before = engine
                .prompter
                .decode(&whole.ids[..whole.learnt.start])
                .unwrap();
            assert!(before.contains(&format!(
                "<think>\n{}\n</think>",
                pair.thought.clone().unwrap()
            )));
            assert_eq!(
                whole.ids[whole.learnt.clone()],
                found.ids[found.learnt.clone()]
            );
            assert_eq!(whole.kinds, found.kinds);
        }
    }

    #[test]
    fn only_the_summary_counts_and_values_are_told_from_words() {
        let engine = Engine::board().unwrap();
        let gallery = Gallery::default();
        let pair = pairs().remove(0);
        let found = example(&engine, &pair, &gallery).unwrap();
        let sequence = found.sequence(&engine, &gallery).unwrap();
        let counted: Vec<usize> = (0..sequence.ids.len())
            .filter(|i| sequence.weights[*i] > 0.0)
            .collect();
        assert_eq!(counted, found.learnt.clone().collect::<Vec<_>>());
        assert!(sequence.weights.iter().all(|w| [0.0, 1.0].contains(w)));
        let text = |kind: SummaryToken| -> String {
            let own = found
                .learnt
                .clone()
                .zip(&found.kinds)
                .filter(|(_, k)| **k == kind);
            let ids: Vec<u32> = own.map(|(token, _)| found.ids[token]).collect();
            engine.prompter.decode(&ids).unwrap()
        };
        let digits: String = pair.summary.chars().filter(char::is_ascii_digit).collect();
        let found: String = text(SummaryToken::Digit)
            .chars()
            .filter(char::is_ascii_digit)
            .collect();
        assert_eq!(found, digits);
        assert!(text(SummaryToken::End).ends_with("</tool_call><|im_end|>"));
        assert!(text(SummaryToken::Word).starts_with("Question:"));
    }
}
