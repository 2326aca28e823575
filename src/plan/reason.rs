//! What may become of a segment, and why?

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::trajectory::Frozen;

/// What becomes of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// Covered: it goes.
    Delete,
    /// Rebuilt as structured evidence.
    Evidence,
    /// It stays as it is.
    Keep,
    /// A rule forbids the edit.
    Frozen,
    /// The template does not show it.
    Invisible,
}

impl Verdict {
    /// Its name in receipts.
    pub fn name(self) -> &'static str {
        match self {
            Verdict::Delete => "delete",
            Verdict::Evidence => "evidence",
            Verdict::Keep => "keep",
            Verdict::Frozen => "frozen",
            Verdict::Invisible => "invisible",
        }
    }
}

/// Why a segment got its verdict.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Reason {
    /// Fewer sensitive tokens than needed.
    Covered,
    /// Covered, but it holds values that stand nowhere else.
    OnlyHere,
    /// Enough sensitive tokens.
    Sensitive,
    /// The summary does not cover it, and it holds no value that evidence could carry.
    NoValue,
    /// Evidence longer than the limit is not evidence.
    EvidenceTooLong {
        /// Tokens of the evidence.
        evidence: usize,
    },
    /// The history would not have become shorter.
    NoSaving,
    /// The text that would stand there holds a think tag, which would cut the message elsewhere.
    NoPlace,
    /// A rule forbids the edit.
    Frozen(Frozen),
    /// The chat template already leaves it out.
    Hidden,
}

impl Reason {
    /// The short name in receipts.
    pub fn code(&self) -> &'static str {
        match self {
            Reason::Covered => "covered",
            Reason::OnlyHere => "covered_but_only_here",
            Reason::Sensitive => "sensitive",
            Reason::NoValue => "sensitive_without_value",
            Reason::EvidenceTooLong { .. } => "evidence_too_long",
            Reason::NoSaving => "no_saving",
            Reason::NoPlace => "no_place",
            Reason::Frozen(rule) => rule.code(),
            Reason::Hidden => "hidden_by_template",
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reason::Covered => f.write_str("the summary covers it"),
            Reason::OnlyHere => {
                f.write_str("the summary covers it, but these values stand nowhere else")
            }
            Reason::Sensitive => f.write_str("the summary does not cover it"),
            Reason::NoValue => f.write_str(
                "the summary does not cover it, and it holds no value that evidence could carry",
            ),
            Reason::EvidenceTooLong { evidence } => {
                write!(
                    f,
                    "its evidence would take {evidence} tokens, too many to be shorter"
                )
            }
            Reason::NoSaving => f.write_str("pruning it would not make the history shorter"),
            Reason::NoPlace => f.write_str(
                "what would stand there holds a think tag, which would cut the message elsewhere",
            ),
            Reason::Frozen(rule) => f.write_str(rule.reason()),
            Reason::Hidden => f.write_str("the chat template leaves it out already"),
        }
    }
}
