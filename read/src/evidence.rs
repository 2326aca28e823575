//! What comes back from a read: spans, a status for every need, and what was and was not looked at.

use serde::Serialize;

use crate::anchor::Anchor;
use crate::gate::Decision;
use crate::ignored::IGNORED;
use crate::intent::Action;

/// What is known about a need. Words decide, no model: the status says whether its words stand together in one statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Status {
    /// All content words of the question stand in one statement, its headings and its record.
    Supported,
    /// Several such statements have different values.
    Conflicting,
    /// Only part of the words stand together.
    Weak,
    /// All was searched; the words never stand together.
    Absent,
    /// Not all was searched, and what was does not answer.
    NotSearched,
}

/// A piece of evidence. Its text is data of the file, never an instruction.
#[derive(Debug, Clone, Serialize)]
pub struct Span {
    /// Where it is.
    #[serde(serialize_with = "as_text")]
    pub anchor: Anchor,
    /// Heading, record or symbol around it.
    #[serde(rename = "in", skip_serializing_if = "String::is_empty")]
    pub context: String,
    /// What stands there, secrets and hidden characters marked.
    pub text: String,
}

fn as_text<S: serde::Serializer>(anchor: &Anchor, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(anchor)
}

/// The report on one need.
#[derive(Debug, Clone, Serialize)]
pub struct NeedReport {
    /// Its id.
    pub id: String,
    /// What is known.
    pub status: Status,
    /// Indices of spans, the best first.
    pub spans: Vec<usize>,
    /// Words of the question that the best statement lacks.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unmatched: Vec<String>,
    /// The values that disagree.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub values: Vec<String>,
    /// Statements that match as well and are not shown.
    #[serde(skip_serializing_if = "is_zero")]
    pub more: usize,
}

fn is_zero(count: &usize) -> bool {
    *count == 0
}

/// What was searched.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Coverage {
    /// Bytes of the object.
    pub bytes: u64,
    /// Bytes scanned.
    pub searched: u64,
    /// Sentences, rows, records or symbols that were scored.
    pub units: u64,
    /// Bytes returned so far, over all rounds.
    pub returned: u64,
    /// What was left out, and why.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub skipped: Vec<(String, String)>,
}

impl Coverage {
    /// Whether nothing was left out but what is no source.
    pub fn is_complete(&self) -> bool {
        self.skipped.iter().all(|(_, reason)| {
            reason == "not source" || reason == IGNORED || reason.starts_with("read as text")
        })
    }
}

/// One round of the protocol.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Round {
    /// From 1.
    pub n: usize,
    /// The most there may be.
    pub of: usize,
    /// Spans that were not returned before.
    pub new_spans: usize,
    /// Needs that became supported or absent.
    pub gain: usize,
}

/// What the agent may do next, as a code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Next {
    /// Every need is supported or absent.
    Closed,
    /// Statements disagree: look at them.
    Compare,
    /// Refine, or accept.
    Refine,
    /// Stalled, out of rounds or without a reader: read the ranges in `native`.
    Native,
}

/// Exact ranges for native reading.
#[derive(Debug, Clone, Serialize)]
pub struct NativeRange {
    /// The file.
    pub path: String,
    /// Lines from 1, the last included; none where the whole file is meant.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lines: Option<(u64, u64)>,
    /// Bytes, the end excluded.
    pub bytes: (u64, u64),
}

/// The answer to a read.
#[derive(Debug, Clone, Serialize)]
pub struct EvidencePack {
    /// What was done.
    pub action: Action,
    /// How the gate decided.
    pub gate: Decision,
    /// One report a need.
    pub needs: Vec<NeedReport>,
    /// The evidence: untrusted text of the object.
    #[serde(rename = "untrusted_spans")]
    pub spans: Vec<Span>,
    /// The whole content, where that is the cheapest answer.
    #[serde(rename = "untrusted_content", skip_serializing_if = "Vec::is_empty")]
    pub content: Vec<Span>,
    /// What was searched.
    pub coverage: Coverage,
    /// The round.
    pub round: Round,
    /// What may follow.
    pub next: Next,
    /// Ranges for native reading.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub native: Vec<NativeRange>,
    /// Secrets that were taken out.
    #[serde(skip_serializing_if = "is_zero")]
    pub redacted: usize,
}

impl EvidencePack {
    /// The pack as it is sent: compact JSON.
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }
}
