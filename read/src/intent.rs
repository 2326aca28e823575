//! What does the agent want to know?

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};

/// Most needs of one intent.
pub const MOST_NEEDS: usize = 12;

/// The macro actions, with the paper's meanings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Action {
    /// Map the information space.
    Scout,
    /// Locate bounded evidence.
    #[default]
    Focus,
    /// Satisfy several needs at once.
    Collect,
    /// Resolve the gaps that remain, outside of what was returned.
    Refine,
    /// Check a claim.
    Verify,
}

/// The form of the evidence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Want {
    /// One fact.
    #[default]
    Fact,
    /// How many.
    Count,
    /// The words themselves.
    Verbatim,
    /// Rows.
    Table,
    /// The shape.
    Schema,
    /// All that match.
    List,
}

/// What the agent will do with the object; the gate asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Purpose {
    /// Find facts.
    #[default]
    Lookup,
    /// Compute over all of it.
    Compute,
    /// Change or run it.
    Edit,
    /// Read all of it.
    Whole,
}

/// Where a need is looked for, relative to what was returned before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Scope {
    /// Everywhere.
    #[default]
    New,
    /// Within what was returned.
    Narrow,
    /// Outside of what was returned.
    Expand,
}

/// One thing to find.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Need {
    /// A name for it.
    pub id: String,
    /// The question.
    pub question: String,
    /// Words that may stand for the thing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub aliases: Vec<String>,
}

/// A read intent.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Intent {
    /// The goal in words.
    pub goal: String,
    /// Exact strings to look for.
    pub needles: Vec<String>,
    /// The form of the evidence.
    pub want: Want,
    /// Where.
    pub scope: Scope,
    /// What for.
    pub purpose: Purpose,
    /// Strings that evidence must contain.
    pub must_keep: Vec<String>,
    /// What to find; without any, the goal is the one need.
    pub needs: Vec<Need>,
}

impl Intent {
    /// One question.
    pub fn question(question: impl Into<String>) -> Self {
        Self {
            goal: question.into(),
            ..Self::default()
        }
    }

    /// The needs, the goal standing in where there is none.
    ///
    /// # Errors
    /// No goal, needle or need; too many needs; an id twice.
    pub fn all_needs(&self) -> Result<Vec<Need>> {
        if self.needs.len() > MOST_NEEDS {
            return Err(Error::Intent {
                field: "needs",
                found: self.needs.len().to_string(),
                expected: "at most 12",
            });
        }
        for (at, need) in self.needs.iter().enumerate() {
            if need.question.trim().is_empty() {
                return Err(Error::Intent {
                    field: "needs",
                    found: format!("need `{}` without a question", need.id),
                    expected: "a question",
                });
            }
            if self
                .needs
                .iter()
                .skip(at + 1)
                .any(|other| other.id == need.id)
            {
                return Err(Error::Intent {
                    field: "needs",
                    found: format!("id `{}` twice", need.id),
                    expected: "each id once",
                });
            }
        }
        if !self.needs.is_empty() {
            return Ok(self.needs.clone());
        }
        let question = if self.goal.trim().is_empty() {
            self.needles.join(" ")
        } else {
            self.goal.clone()
        };
        if question.trim().is_empty() {
            return Err(Error::Intent {
                field: "goal",
                found: "nothing".into(),
                expected: "a goal, a needle or a need",
            });
        }
        Ok(vec![Need {
            id: "n1".into(),
            question,
            aliases: Vec::new(),
        }])
    }
}
