//! What was done to a record, why, and everything needed to undo it. One JSON line a record.

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::build::EventPlan;
use super::observation::MaskedReceipt;
use super::reason::Verdict;
use super::survival::Survival;
use crate::evidence::Line;
use crate::formats::{Container, Mend, Replaced};
use crate::summary::SigmaSource;

/// SHA-256 in lower-case hex.
pub fn sha256(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

/// Bytes in lower-case hex.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}

/// A text by its hash and length.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TextHash {
    /// SHA-256 of the bytes.
    pub sha256: String,
    /// Length in bytes.
    pub bytes: usize,
}

impl TextHash {
    /// Of a text.
    pub fn of(text: &str) -> Self {
        Self::of_bytes(text.as_bytes())
    }

    /// Of bytes that may be no text.
    pub fn of_bytes(bytes: &[u8]) -> Self {
        Self {
            sha256: sha256(bytes),
            bytes: bytes.len(),
        }
    }
}

/// What scored the record.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelCard {
    /// Name, folder name, or `owner/name` of a repository.
    pub name: String,
    /// The repository's commit, where the checkpoint comes from one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revision: Option<String>,
    /// SHA-256 over config and weights.
    pub weights: String,
    /// SHA-256 of the chat template.
    pub template: String,
    /// Weight type in memory.
    pub dtype: String,
    /// The resizer of pictures.
    pub resizer: String,
}

/// One candidate's line.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SegmentReceipt {
    /// Its number in the run.
    pub segment: usize,
    /// Its message.
    pub message: usize,
    /// What became of it.
    pub verdict: Verdict,
    /// Why: a short code.
    pub reason: String,
    /// Tokens of the reasoning.
    pub tokens: usize,
    /// Sensitive ones.
    pub sensitive: usize,
    /// Whether the loaded model wrote the evidence.
    #[serde(default, skip_serializing_if = "is_false")]
    pub written: bool,
    /// Lines of evidence whose values an answer of `spare read` showed, with its anchor.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub evidence: Vec<Line>,
}

/// The summary that an event was decided with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SummaryReceipt {
    /// Who wrote it.
    pub source: SigmaSource,
    /// SHA-256 of its text.
    pub sha256: String,
}

/// One event.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct EventReceipt {
    /// Its number in the run.
    pub event: usize,
    /// The trunk is the messages before this one.
    pub at: usize,
    /// Why nothing was decided, where nothing was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skipped: Option<String>,
    /// The summary.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<SummaryReceipt>,
    /// Smallest and largest divergence of the event, in nats.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nats: Option<(f64, f64)>,
    /// Whether the largest divergence lies below the rule's floor, so that the event says nothing.
    #[serde(default, skip_serializing_if = "is_false")]
    pub uninformative: bool,
    /// Candidates in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub segments: Vec<SegmentReceipt>,
    /// Values that stood in reasoning only, and those lost.
    #[serde(default)]
    pub atoms: Survival,
}

fn is_false(value: &bool) -> bool {
    !value
}

/// The receipt of a record.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Receipt {
    /// Version of this shape: 1.
    pub schema: u32,
    /// The record's number in the file, from 0.
    pub record: usize,
    /// The record's own id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// How the records lie in the file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub container: Option<Container>,
    /// Why the record was carried through unread, where it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// What was mended before anything else, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mends: Vec<Mend>,
    /// The text before.
    pub before: TextHash,
    /// The text after.
    pub after: TextHash,
    /// Replaced bytes in the order of the text; offsets count in the text before, as the mends left it.
    pub replaced: Vec<Replaced>,
    /// Who decided: rule, thresholds, divergence, form of the summary block.
    #[serde(default, skip_serializing_if = "serde_json::Value::is_null")]
    pub rule: serde_json::Value,
    /// What scored it; absent where nothing was scored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<ModelCard>,
    /// Whether the model read every picture as a word, so that nothing here was decided by looking.
    #[serde(default, skip_serializing_if = "is_false")]
    pub blind: bool,
    /// Events in order.
    pub events: Vec<EventReceipt>,
    /// Observations that became one line.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub masked: Vec<MaskedReceipt>,
}

impl EventReceipt {
    /// Copies what a plan decided.
    pub fn record(&mut self, plan: &EventPlan, messages: impl Fn(usize) -> usize) {
        self.atoms = plan.survival.clone();
        self.segments = plan
            .segments
            .iter()
            .map(|s| SegmentReceipt {
                segment: s.segment,
                message: messages(s.segment),
                verdict: s.verdict,
                reason: s.reason.code().to_owned(),
                tokens: s.tokens,
                sensitive: s.sensitive.len(),
                written: s.written,
                evidence: (s.evidence.iter())
                    .filter(|line| line.anchor.is_some())
                    .cloned()
                    .collect(),
            })
            .collect();
    }
}
