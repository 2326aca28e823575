//! Which tokens of a run are learnt, and how much does each count?

use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use spare_models::prompt::Encoded;
use spare_models::train::{Sequence, TrainPicture};

use crate::engine::Engine;
use crate::error::Error;
use crate::eval::world;
use crate::plan::hex;
use crate::replay::{self, PictureRoot};
use crate::trajectory::Trajectory;

/// What a learnt token says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum TokenKind {
    /// A word.
    Word = 0,
    /// A digit of a reading or of what follows from one.
    Reading = 1,
    /// A token of the answer: its first word says what was asked for.
    Answer = 2,
    /// A coordinate in reasoning.
    Place = 3,
    /// A coordinate in a call.
    Call = 4,
    /// A digit in a summary.
    Summary = 5,
    /// A token of a guess: nobody can know it, so it is not learnt.
    Guess = 6,
    /// A token of a colour or a figure: which thing is meant stands in the question.
    Name = 7,
}

impl TokenKind {
    /// All that are learnt, with their names.
    pub const LEARNT: [(Self, &'static str); 7] = [
        (Self::Word, "word"),
        (Self::Reading, "reading"),
        (Self::Answer, "answer"),
        (Self::Place, "place"),
        (Self::Call, "call"),
        (Self::Summary, "summary"),
        (Self::Name, "name"),
    ];
}

/// How much tokens count.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Targets {
    /// Words.
    pub word: f32,
    /// Digits, and every token of an answer.
    pub digit: f32,
    /// Coordinates in reasoning, and in calls without reasoning.
    pub place: f32,
    /// Colours and figures.
    pub name: f32,
}

impl Default for Targets {
    fn default() -> Self {
        Self {
            word: 1.0,
            digit: 5.0,
            place: 10.0,
            name: 1.0,
        }
    }
}

/// What of a run is learnt.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Learnt<'a> {
    /// Sentences that are not.
    pub(crate) guesses: &'a [String],
    /// Turns at its beginning that are not.
    pub(crate) skipped: usize,
    /// How much tokens count.
    pub(crate) targets: Targets,
}

/// Pictures that were prepared before, by their bytes.
pub(crate) type Pictures = Mutex<HashMap<[u8; 32], (usize, [u8; 32], TrainPicture)>>;

/// A run as token ids. Every token of an assistant turn behind its header is learnt, the one that ends it included; `guesses` are sentences
/// that are not.
///
/// # Errors
/// Those of rendering and of opening pictures.
pub fn sequence(
    engine: &Engine,
    run: &Trajectory,
    guesses: &[String],
    targets: Targets,
) -> Result<Sequence, Error> {
    let learnt = Learnt {
        guesses,
        skipped: 0,
        targets,
    };
    sequence_with(engine, run, learnt, &Pictures::default())
}

pub(crate) fn sequence_with(
    engine: &Engine,
    run: &Trajectory,
    learnt: Learnt<'_>,
    known: &Pictures,
) -> Result<Sequence, Error> {
    let root = PictureRoot::new(".");
    let (mut counts, mut pictures) = (Vec::new(), Vec::new());
    for picture in run.messages.iter().flat_map(|m| m.pictures()) {
        let bytes = root.open(picture)?;
        let content: [u8; 32] = Sha256::digest(&bytes).into();
        let lock = || known.lock().unwrap_or_else(PoisonError::into_inner);
        let found = lock().get(&content).cloned();
        let (tokens, key, ready) = match found {
            Some(found) => found,
            None => {
                let ready = engine.ready(picture, &bytes)?;
                let picture = TrainPicture {
                    grid: ready.pixels.grid,
                    values: Arc::new(ready.pixels.values),
                };
                let found = (ready.tokens, ready.key, picture);
                lock().insert(content, found.clone());
                found
            }
        };
        counts.push((tokens, hex(&key)));
        pictures.push(ready);
    }
    let end = run.messages.len();
    let encoded = replay::trunk_ids(&engine.prompter, run, end, &counts)?;
    let header = engine.prompter.encode_header()?;
    let mut weights = vec![0f32; encoded.ids.len()];
    let mut kinds = vec![TokenKind::Word as u8; encoded.ids.len()];
    let eos = engine.model.eos();
    let Learnt {
        guesses,
        skipped,
        targets,
    } = learnt;
    for turn in turns(&encoded.ids, &header, eos).into_iter().skip(skipped) {
        for (token, kind) in classify(&encoded, turn, guesses) {
            let weight = match kind {
                TokenKind::Word => targets.word,
                TokenKind::Place => targets.place,
                TokenKind::Name => targets.name,
                TokenKind::Guess => 0.0,
                _ => targets.digit,
            };
            if let (Some(w), Some(k)) = (weights.get_mut(token), kinds.get_mut(token)) {
                (*w, *k) = (weight, kind as u8);
            }
        }
    }
    Ok(Sequence {
        ids: encoded.ids,
        weights,
        kinds,
        pictures,
    })
}

/// Tokens of every assistant turn: behind its header, up to and with the one that ends it.
fn turns(ids: &[u32], header: &[u32], eos: &[u32]) -> Vec<Range<usize>> {
    let mut out = Vec::new();
    let mut at = 0;
    while let Some(rest) = ids.get(at..) {
        if header.is_empty() || !rest.starts_with(header) {
            if rest.is_empty() {
                break;
            }
            at += 1;
            continue;
        }
        let start = at + header.len();
        let own = ids.get(start..).unwrap_or_default();
        let len = own.iter().position(|id| eos.contains(id));
        let end = start + len.map_or(own.len(), |len| len + 1);
        out.push(start..end);
        at = end;
    }
    out
}

/// The kind of every token of a turn.
fn classify<'a>(
    encoded: &'a Encoded,
    turn: Range<usize>,
    guesses: &[String],
) -> impl Iterator<Item = (usize, TokenKind)> + 'a {
    let offsets = encoded.offsets.get(turn.clone()).unwrap_or_default();
    let start = offsets.first().map_or(0, |o| o.start);
    let end = offsets.last().map_or(0, |o| o.end);
    let text = encoded.text.get(start..end).unwrap_or("");
    let thought = text.find("</think>").unwrap_or(0);
    let answer = text.find("</think>").map_or(0, |at| at + "</think>".len());
    let call = text.find("<tool_call>").unwrap_or(text.len());
    let summary = text.contains("\"summarize_the_task\"");
    let guessed: Vec<Range<usize>> = guesses
        .iter()
        .flat_map(|g| text.match_indices(g.as_str()))
        .map(|(at, g)| at..at + g.len())
        .collect();
    let names: Vec<Range<usize>> = world::names()
        .flat_map(|name| text.match_indices(name))
        .map(|(at, name)| at..at + name.len())
        .collect();
    turn.zip(offsets).map(move |(token, offset)| {
        let at = offset.start - start..offset.end - start;
        let own = text.get(at.clone()).unwrap_or("").trim();
        let before = text.get(..at.start).unwrap_or("");
        let digit = !own.is_empty() && own.bytes().all(|b| b.is_ascii_digit());
        let kind = if guessed
            .iter()
            .any(|g| g.start <= at.start && at.end <= g.end)
        {
            TokenKind::Guess
        } else if names.iter().any(|n| n.start < at.end && at.start < n.end) {
            TokenKind::Name
        } else if !digit && (own.is_empty() || at.start < answer || at.start >= call) {
            TokenKind::Word
        } else if at.start < thought {
            match in_place(before) {
                true => TokenKind::Place,
                false => TokenKind::Reading,
            }
        } else if at.start < call {
            TokenKind::Answer
        } else if summary {
            TokenKind::Summary
        } else if thought == 0 {
            TokenKind::Place
        } else {
            TokenKind::Call
        };
        (token, kind)
    })
}

/// Whether a digit behind `before` is a coordinate: `cell (`, `cell (1, `.
fn in_place(before: &str) -> bool {
    let before = before.trim_end();
    let first = before.trim_end_matches(|c: char| c.is_ascii_digit() || c == ',' || c == ' ');
    first.ends_with("cell (")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn coordinates_and_turns() {
        assert!(in_place("The card is in cell ("));
        assert!(in_place("sits in cell (1, ") && in_place("sits in cell (1,"));
        assert!(!in_place("sits in cell (1, 2). It might be a "));
        let ids = [1, 7, 8, 3, 4, 2, 9, 1, 7, 8, 5, 2];
        assert_eq!(turns(&ids, &[1, 7, 8], &[2]), [3..6, 10..12]);
        let found = turns(&ids, &[1, 7, 8, 5], &[3]);
        assert_eq!((found.len(), found.first()), (1, Some(&(11..12))));
        assert!(turns(&[], &[1], &[2]).is_empty());
    }
}
