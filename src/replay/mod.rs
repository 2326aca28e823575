//! Which contexts does the model have to see? One trunk and one branch a candidate, as token ids: a value that can be printed, stored and tested alone.

mod bare;
mod build;
mod future;
mod pictures;

pub use bare::{BarePlan, Sentence, build_bare};
pub use build::build;
pub(crate) use build::{student_rows, trunk_ids};
pub use future::{Future, MAX_FUTURE_TOKENS, future};
pub use pictures::PictureRoot;
pub(crate) use pictures::at as picture_error;

use std::ops::Range;

use serde::{Deserialize, Serialize};

/// How the summary enters the teacher's context. SPARE says `rho_i || sigma`; the form is our choice:
/// one user message with `<task_state>` around the summary, rendered in a chat of its own and spliced as tokens just before the assistant header of the turn.
pub const SIGMA_FORM: &str = "user:<task_state>";

/// The text of the user message that carries `sigma`.
pub fn sigma_message(sigma: &str) -> String {
    format!("<task_state>\n{sigma}\n</task_state>")
}

/// A picture in the trunk.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlannedPicture {
    /// Its pad tokens in the trunk.
    pub tokens: Range<usize>,
    /// SHA-256 over its bytes and the preprocessing, lower-case hex.
    pub key: String,
}

/// The teacher's context of one candidate: `trunk[..at] + block + trunk[at..tokens.end]`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Branch {
    /// The segment's number in the run.
    pub segment: usize,
    /// Index of the first token of the turn's assistant header in the trunk.
    pub at: usize,
    /// The segment's tokens in the trunk.
    pub tokens: Range<usize>,
    /// Bytes of the segment's text that each of its tokens covers.
    pub spans: Vec<Range<usize>>,
}

/// All contexts of one event.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
    /// Token ids of the history at the event, image pads expanded.
    pub trunk: Vec<u32>,
    /// Pictures in order.
    pub pictures: Vec<PlannedPicture>,
    /// The summary block's token ids, the same for every branch.
    pub block: Vec<u32>,
    /// One entry a visible candidate, in order.
    pub branches: Vec<Branch>,
    /// Candidates that the template does not show.
    pub hidden: Vec<usize>,
}

impl Plan {
    /// Student ids of a branch, up to and with the segment's last token.
    pub fn student_ids(&self, branch: &Branch) -> Vec<u32> {
        self.trunk
            .get(..branch.tokens.end)
            .unwrap_or_default()
            .to_vec()
    }

    /// Teacher ids of a branch: the student's with the block before the turn's header.
    pub fn teacher_ids(&self, branch: &Branch) -> Vec<u32> {
        let mut ids = self.trunk.get(..branch.at).unwrap_or_default().to_vec();
        ids.extend(&self.block);
        ids.extend(
            self.trunk
                .get(branch.at..branch.tokens.end)
                .unwrap_or_default(),
        );
        ids
    }

    /// Recorded token ids of a branch.
    pub fn recorded(&self, branch: &Branch) -> Vec<u32> {
        self.trunk
            .get(branch.tokens.clone())
            .unwrap_or_default()
            .to_vec()
    }

    /// Tokens that the event costs when `cached` tokens of the trunk are known: `L + sum(|block| + header + |h_i|)` less those.
    pub fn cost(&self, cached: usize) -> u64 {
        let branches: usize = self
            .branches
            .iter()
            .map(|b| self.block.len() + b.tokens.end - b.at)
            .sum();
        (self.trunk.len().saturating_sub(cached) + branches) as u64
    }
}
