//! What is true of every value of a run, and which summaries is the run tried with?

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Something the run found out and its answer needs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Fact {
    /// What it is about, as the reasoning says it.
    pub about: String,
    /// Its value as the reasoning writes it.
    pub value: String,
    /// What sort of value: `plate`, `count`, `sum`, ...
    pub kind: String,
    /// As a summary states it.
    pub statement: String,
    /// Whether a picture that the model sees, or an observation or call that stays, shows it as well.
    pub rereadable: bool,
}

/// What a value at one place of the reasoning is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MentionKind {
    /// A fact's value.
    Fact,
    /// A guess that the fact of the same number corrects later.
    Stale,
    /// The same value stands in the call of the turn.
    Place,
    /// Nothing needs it.
    Filler,
}

/// A value in the reasoning of one message.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Mention {
    /// The message.
    pub message: usize,
    /// First byte in the message's reasoning.
    pub start: usize,
    /// One past the last byte.
    pub end: usize,
    /// The value.
    pub value: String,
    /// What it is.
    pub kind: MentionKind,
    /// The fact that it states or guesses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fact: Option<usize>,
}

/// A summary to try the run with.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Variant {
    /// `complete`, `omit`, `half` (some facts only), `added` (`half` and one more), `wrong` (one value falsified).
    pub name: String,
    /// Facts it states, right or wrong.
    pub states: Vec<usize>,
    /// The fact that was left out, put in or falsified.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fact: Option<usize>,
    /// The summary.
    pub text: String,
}

/// Everything that is known of a run. Stands in its `metadata`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Labels {
    /// `text` or `board`.
    pub setting: String,
    /// How much is said around the values.
    pub verbosity: String,
    /// What the run found out, in order.
    pub facts: Vec<Fact>,
    /// Every value of the reasoning before the summary.
    pub mentions: Vec<Mention>,
    /// Summaries.
    pub variants: Vec<Variant>,
}

/// The four labels of a value under one summary, and filler.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Standing {
    /// The summary states it.
    Covered,
    /// What stays shows it.
    Rereadable,
    /// Needed, and nowhere else.
    Needed,
    /// A guess that is corrected later.
    Stale,
    /// Nothing needs it.
    Filler,
}

impl Labels {
    /// The label of a mention under a summary.
    pub fn standing(&self, mention: &Mention, variant: &Variant) -> Standing {
        let fact = mention.fact.and_then(|f| self.facts.get(f));
        let stated = mention.fact.is_some_and(|f| variant.states.contains(&f));
        match (mention.kind, fact) {
            (MentionKind::Stale, _) => Standing::Stale,
            (MentionKind::Place, _) => Standing::Rereadable,
            (MentionKind::Fact, Some(_)) if stated => Standing::Covered,
            (MentionKind::Fact, Some(fact)) if fact.rereadable => Standing::Rereadable,
            (MentionKind::Fact, Some(_)) => Standing::Needed,
            (MentionKind::Filler | MentionKind::Fact, _) => Standing::Filler,
        }
    }
}

/// A run with its labels and the files that it names.
#[derive(Clone, Debug, PartialEq)]
pub struct Labelled {
    /// The run in OpenAI Chat form, labels in `metadata`.
    pub json: Value,
    /// Pictures by their path relative to the run's file.
    pub pictures: Vec<(String, Vec<u8>)>,
}
