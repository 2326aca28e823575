//! What is left to predict a value from, once the reasoning is gone? The history at the event without any candidate's text, the summary
//! block once, and every sentence that holds a value as a branch of its own behind the header of its turn: a conclusion cannot lean on
//! its own derivation, and two segments that state one fact cannot excuse each other.

use std::ops::Range;

use serde::{Deserialize, Serialize};
use spare_models::prompt::Prompter;

use super::build::trunk_ids;
use super::{Plan, PlannedPicture};
use crate::error::Error;
use crate::evidence::sentences;
use crate::plan::Event;
use crate::score::overlapping;
use crate::trajectory::{Segment, Trajectory, atoms};

/// One sentence behind the bare history: `trunk + block + header + ids`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sentence {
    /// The segment's number in the run.
    pub segment: usize,
    /// What stands between the start of the turn and the segment's text.
    pub header: Vec<u32>,
    /// Its tokens among the segment's.
    pub tokens: Range<usize>,
    /// Recorded token ids.
    pub ids: Vec<u32>,
}

impl Sentence {
    /// Tokens that it costs.
    pub fn cost(&self) -> usize {
        self.header.len() + self.ids.len()
    }
}

/// The contexts of a bare pass.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BarePlan {
    /// Token ids of the history without any candidate's text.
    pub trunk: Vec<u32>,
    /// Pictures in order.
    pub pictures: Vec<PlannedPicture>,
    /// The summary block's token ids.
    pub block: Vec<u32>,
    /// Sentences that hold a value, in order.
    pub sentences: Vec<Sentence>,
}

impl BarePlan {
    /// Tokens that the pass costs when `cached` tokens of its trunk are known.
    pub fn cost(&self, cached: usize) -> u64 {
        let sentences = self.sentences.iter().map(Sentence::cost);
        (self.trunk.len().saturating_sub(cached) + self.block.len() + sentences.sum::<usize>())
            as u64
    }
}

/// The bare contexts of the event that `plan` replays.
pub fn build_bare(
    prompter: &Prompter,
    run: &Trajectory,
    event: &Event,
    segments: &[Segment],
    pictures: &[(usize, String)],
    plan: &Plan,
) -> Result<BarePlan, Error> {
    let mut bare = run.clone();
    let candidates = event.candidates.iter().filter_map(|c| segments.get(*c));
    for segment in candidates.filter(|s| s.frozen.is_none()) {
        bare.replace(segment.message, segment.slot, &segment.range, "");
    }
    let encoded = trunk_ids(prompter, &bare, event.at, pictures)?;
    let pairs = encoded.pictures.into_iter().zip(pictures);
    let mut out = BarePlan {
        trunk: encoded.ids,
        pictures: pairs
            .map(|(tokens, (_, key))| PlannedPicture {
                tokens,
                key: key.clone(),
            })
            .collect(),
        block: plan.block.clone(),
        sentences: Vec::new(),
    };
    for branch in &plan.branches {
        let Some(segment) = segments.get(branch.segment) else {
            continue;
        };
        let header = plan.trunk.get(branch.at..branch.tokens.start);
        let recorded = plan.recorded(branch);
        let values = atoms(&segment.text);
        for bytes in sentences(&segment.text, &values) {
            let holds = |a: &crate::trajectory::Atom| a.start < bytes.end && bytes.start < a.end;
            if !values.iter().any(holds) {
                continue;
            }
            let tokens = overlapping(&branch.spans, &bytes);
            let ids = recorded.get(tokens.clone()).unwrap_or_default().to_vec();
            if !ids.is_empty() {
                out.sentences.push(Sentence {
                    segment: branch.segment,
                    header: header.unwrap_or_default().to_vec(),
                    tokens,
                    ids,
                });
            }
        }
    }
    Ok(out)
}
