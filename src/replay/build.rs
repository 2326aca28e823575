//! From a run to token ids: the trunk is rendered once by the model's own template, and every candidate is found in it by its span.

use std::ops::Range;

use spare_models::prompt::{Chat, Cut, Encoded, Prompter};

use super::{Branch, Plan, PlannedPicture, sigma_message};
use crate::error::Error;
use crate::plan::Event;
use crate::trajectory::{Part, Segment, Trajectory};

/// The contexts of one event. `pictures`: tokens and key of each picture before the event, in order.
pub fn build(
    prompter: &Prompter,
    run: &Trajectory,
    event: &Event,
    segments: &[Segment],
    sigma: &str,
    pictures: &[(usize, String)],
) -> Result<Plan, Error> {
    let candidates: Vec<&Segment> = event
        .candidates
        .iter()
        .filter_map(|index| segments.get(*index))
        .filter(|segment| segment.frozen.is_none())
        .collect();
    let (encoded, shown) = trunk(prompter, run, event.at, &candidates, pictures)?;
    let block = prompter.user_block(&sigma_message(sigma))?;
    let mut plan = Plan {
        pictures: encoded
            .pictures
            .iter()
            .zip(pictures)
            .map(|(tokens, (_, key))| PlannedPicture {
                tokens: tokens.clone(),
                key: key.clone(),
            })
            .collect(),
        trunk: Vec::new(),
        block,
        branches: Vec::new(),
        hidden: Vec::new(),
    };
    for (segment, shown) in candidates.iter().zip(shown) {
        match shown.and_then(|bytes| branch(prompter, &encoded, segment, bytes)) {
            Some(branch) => plan.branches.push(branch),
            None => plan.hidden.push(segment.index),
        }
    }
    plan.trunk = encoded.ids;
    Ok(plan)
}

/// Bytes of the rendering for each candidate; None where the template does not show it.
type Shown = Vec<Option<Range<usize>>>;

/// Renders and encodes the first `at` messages; for each candidate the bytes where it is shown.
fn trunk(
    prompter: &Prompter,
    run: &Trajectory,
    at: usize,
    candidates: &[&Segment],
    pictures: &[(usize, String)],
) -> Result<(Encoded, Shown), Error> {
    for (message, value) in run.messages.iter().take(at).enumerate() {
        for (part, value) in value.parts.iter().enumerate() {
            if let Part::Other(value) = value {
                let found = value
                    .get("type")
                    .and_then(|t| t.as_str())
                    .unwrap_or("unknown")
                    .to_owned();
                return Err(Error::Part {
                    message,
                    part,
                    found,
                });
            }
        }
    }
    let chat = Chat {
        messages: run.template_messages(at),
        tools: run.tools.clone(),
        ..Chat::default()
    };
    let cuts: Vec<Cut> = candidates
        .iter()
        .filter_map(|s| run.template_place(s.message, s.slot, &s.range))
        .map(|place| Cut {
            pointer: place.pointer,
            range: place.range,
        })
        .collect();
    let rendering = prompter.render_with(&chat, &cuts)?;
    let counts: Vec<usize> = pictures.iter().map(|(count, _)| *count).collect();
    let encoded = prompter.encode(&rendering, &counts)?;
    Ok((encoded, rendering.cuts))
}

fn branch(
    prompter: &Prompter,
    encoded: &Encoded,
    segment: &Segment,
    bytes: Range<usize>,
) -> Option<Branch> {
    let tokens = encoded.tokens_overlapping(bytes.clone());
    if tokens.is_empty() {
        return None;
    }
    let at = prompter.turn_start(encoded, tokens.start)?;
    // The template may have trimmed the text; what it shows is the text behind `lead`.
    let shown = encoded.text.get(bytes.clone())?;
    let trimmed = segment.text.len() - segment.text.trim_start().len();
    let lead = if segment.text.starts_with(shown) {
        0
    } else {
        trimmed
    };
    let spans = encoded
        .offsets
        .get(tokens.clone())?
        .iter()
        .map(|offset| {
            let start = offset.start.clamp(bytes.start, bytes.end) - bytes.start + lead;
            let end = offset.end.clamp(bytes.start, bytes.end) - bytes.start + lead;
            start.min(segment.text.len())..end.min(segment.text.len())
        })
        .collect();
    Some(Branch {
        segment: segment.index,
        at,
        tokens,
        spans,
    })
}

/// The trunk's ids alone, for a generated summary: the history as the event sees it.
pub(crate) fn trunk_ids(
    prompter: &Prompter,
    run: &Trajectory,
    at: usize,
    pictures: &[(usize, String)],
) -> Result<Encoded, Error> {
    Ok(trunk(prompter, run, at, &[], pictures)?.0)
}

/// The history's first `at` messages, and the rows of its trunk that predict the tokens of `candidates`.
pub(crate) fn student_rows(
    prompter: &Prompter,
    run: &Trajectory,
    at: usize,
    candidates: &[&Segment],
    pictures: &[(usize, String)],
) -> Result<(Encoded, Vec<usize>), Error> {
    let (encoded, shown) = trunk(prompter, run, at, candidates, pictures)?;
    let tokens = shown.into_iter().flatten();
    let tokens = tokens.map(|bytes| encoded.tokens_overlapping(bytes));
    let mut rows: Vec<usize> = tokens.flatten().map(|t| t.saturating_sub(1)).collect();
    rows.dedup();
    Ok((encoded, rows))
}
