//! What did the model write after an event, in the context of this history? Offline only: a live event has no recorded future.

use std::ops::Range;

use spare_models::prompt::{Chat, Cut, Prompter};

use crate::error::Error;
use crate::trajectory::{Part, Role, Segment, Slot, Trajectory};

/// Tokens of a future that are looked at.
pub const MAX_FUTURE_TOKENS: usize = 512;

/// A history with what came after it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Future {
    /// Token ids of everything up to the last token of the future, image pads expanded.
    pub ids: Vec<u32>,
    /// Pictures in order: their pad tokens and keys.
    pub pictures: Vec<(Range<usize>, String)>,
    /// The tokens that the model wrote after the event, in order, at most [`MAX_FUTURE_TOKENS`].
    pub written: Vec<usize>,
    /// The tokens of the segments that were asked for; none where the template does not show one.
    pub segments: Vec<Option<Range<usize>>>,
}

impl Future {
    /// The rows that predict the written tokens.
    pub fn predicting(&self) -> Vec<usize> {
        self.written.iter().map(|t| t.saturating_sub(1)).collect()
    }

    /// Ids of the written tokens.
    pub fn recorded(&self) -> Vec<u32> {
        let ids = self.written.iter().filter_map(|t| self.ids.get(*t));
        ids.copied().collect()
    }
}

/// Renders the first `end` messages of `run`: everything the assistant wrote from message `from` on is the future.
/// `pictures`: tokens and key of each picture before `end`, in order.
pub fn future(
    prompter: &Prompter,
    run: &Trajectory,
    from: usize,
    end: usize,
    segments: &[&Segment],
    pictures: &[(usize, String)],
) -> Result<Future, Error> {
    let mut places = Vec::new();
    for segment in segments {
        places.push((segment.message, segment.slot, segment.range.clone()));
    }
    let asked = places.len();
    for (index, message) in run.messages.iter().enumerate().take(end).skip(from) {
        if message.role != Role::Assistant {
            continue;
        }
        for (slot, reasoning) in message.reasoning.iter().enumerate() {
            places.push((index, Slot::Reasoning(slot), 0..reasoning.text.len()));
        }
        for (slot, part) in message.parts.iter().enumerate() {
            if let Part::Text(text) = part {
                places.push((index, Slot::Part(slot), 0..text.text.len()));
            }
        }
    }
    places.retain(|(_, _, range)| !range.is_empty());
    let cuts = places.iter().filter_map(|(message, slot, range)| {
        let place = run.template_place(*message, *slot, range)?;
        Some(Cut {
            pointer: place.pointer,
            range: place.range,
        })
    });
    let cuts: Vec<Cut> = cuts.collect();
    let chat = Chat {
        messages: run.template_messages(end),
        tools: run.tools.clone(),
        ..Chat::default()
    };
    let rendering = prompter.render_with(&chat, &cuts)?;
    let counts: Vec<usize> = pictures.iter().map(|(count, _)| *count).collect();
    let encoded = prompter.encode(&rendering, &counts)?;
    let tokens: Vec<Option<Range<usize>>> = rendering
        .cuts
        .iter()
        .map(|cut| cut.clone().map(|bytes| encoded.tokens_overlapping(bytes)))
        .collect();
    let asked = asked.min(tokens.len());
    let (own, later) = tokens.split_at(asked);
    let mut written: Vec<usize> = later.iter().flatten().cloned().flatten().collect();
    written.sort_unstable();
    written.dedup();
    written.truncate(MAX_FUTURE_TOKENS);
    let mut ids = encoded.ids;
    ids.truncate(written.last().map_or(ids.len(), |last| last + 1));
    let pairs = encoded.pictures.into_iter().zip(pictures);
    let pictures = pairs.map(|(tokens, (_, key))| (tokens, key.clone()));
    Ok(Future {
        pictures: pictures.filter(|(t, _)| t.end <= ids.len()).collect(),
        ids,
        written,
        segments: own.to_vec(),
    })
}
