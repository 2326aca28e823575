//! Should this read be sparse at all? Algorithm 2 of the paper: hard constraints, then the margin `b = w_s s - w_c c - w_r r` against two thresholds; and `inline-all` for what is cheapest returned whole.

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::intent::{Intent, Purpose, Want};

/// Tokens of an answer besides its evidence.
pub const ENVELOPE_TOKENS: f64 = 190.0;
/// Tokens of evidence that one need is expected to take.
const NEED_TOKENS: f64 = 110.0;
/// Tokens of one more request besides its answer.
const ROUND_TOKENS: f64 = 120.0;

/// What the gate decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// Enter the protocol first.
    Force,
    /// Both ways are open; the agent chooses.
    Advisory,
    /// Read natively.
    Native,
    /// Return the whole: it fits one cheap answer.
    InlineAll,
}

/// Weights and thresholds; `spare-read-eval fit` writes them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Weights {
    /// Of avoidable exposure.
    pub w_s: f64,
    /// Of protocol cost.
    pub w_c: f64,
    /// Of omission risk.
    pub w_r: f64,
    /// At or below: native.
    pub theta_native: f64,
    /// At or above: force.
    pub theta_force: f64,
    /// Objects of at most so many tokens are returned whole.
    pub inline_tokens: f64,
    /// Which seeds they were fitted on.
    pub fitted_on: String,
}

impl Default for Weights {
    fn default() -> Self {
        let fallback = || Self {
            w_s: 1.0,
            w_c: 1.0,
            w_r: 1.0,
            theta_native: 0.0,
            theta_force: 0.3,
            inline_tokens: 900.0,
            fitted_on: "built in".into(),
        };
        serde_json::from_str(include_str!("gate.json")).unwrap_or_else(|_| fallback())
    }
}

/// What is known of an object before it is read.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ObjectSize {
    /// Estimated tokens of all of it.
    pub tokens: f64,
    /// Files.
    pub files: usize,
    /// Files that no reader reads.
    pub unreadable: usize,
}

/// A decision with everything it was made of.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Decision {
    /// What to do.
    pub mode: Mode,
    /// Why, as a code.
    pub reason: &'static str,
    /// Avoidable exposure, protocol cost, omission risk, margin.
    pub s: f64,
    /// See `s`.
    pub c: f64,
    /// See `s`.
    pub r: f64,
    /// See `s`.
    pub b: f64,
    /// `w_s`, `w_c`, `w_r`, `theta_native`, `theta_force`.
    pub weights: [f64; 5],
}

/// The gate.
#[derive(Debug, Clone, Default)]
pub struct Gate {
    weights: Weights,
}

const ALL_OF_IT: &str = "average mean median sum total totals overall percentage distribution histogram aggregate count group ranking rank sort translate proofread summarise summarize summary rewrite rename refactor \
    convert reformat every entire whole complete everything средний сумма итого всего перевести весь 平均 总和 总计 合计 统计 翻译 全文 総計 集計 翻訳 要約 المتوسط مجموع ترجم كامل";

/// How much of the goal asks for all of the object, and how little it says what to look for.
fn risk(intent: &Intent, size: ObjectSize) -> f64 {
    let goal = intent
        .needs
        .iter()
        .map(|need| need.question.as_str())
        .chain([intent.goal.as_str()])
        .collect::<Vec<_>>()
        .join(" ")
        .to_lowercase();
    let asks_all = ALL_OF_IT.split_whitespace().any(|word| {
        if word.is_ascii() || word.chars().any(|letter| ('а'..='я').contains(&letter)) {
            goal.split(|letter: char| !letter.is_alphanumeric())
                .any(|part| part == word)
        } else {
            goal.contains(word)
        }
    });
    let by_goal = if asks_all { 0.6 } else { 0.0 };
    let by_want = match intent.want {
        Want::Count => 0.3,
        Want::List | Want::Table => 0.15,
        Want::Fact | Want::Verbatim | Want::Schema => 0.0,
    };
    let by_files = if size.files == 0 {
        0.0
    } else {
        0.5 * size.unreadable as f64 / size.files as f64
    };
    (by_goal + by_want + by_files).min(1.0)
}

impl Gate {
    /// A gate with other weights.
    ///
    /// # Errors
    /// Weights that are not above zero, or thresholds out of order.
    pub fn new(weights: Weights) -> Result<Self> {
        for (field, value) in [
            ("w_s", weights.w_s),
            ("w_c", weights.w_c),
            ("w_r", weights.w_r),
        ] {
            if value.is_nan() || value <= 0.0 {
                return Err(Error::Weights {
                    field,
                    found: value.to_string(),
                    expected: "a number above 0",
                });
            }
        }
        if weights.theta_native >= weights.theta_force {
            return Err(Error::Weights {
                field: "theta_native",
                found: weights.theta_native.to_string(),
                expected: "a number below theta_force",
            });
        }
        Ok(Self { weights })
    }

    /// The weights.
    pub fn weights(&self) -> &Weights {
        &self.weights
    }

    /// Decides for an object and an intent. Names and order of files play no part.
    pub fn decide(&self, size: ObjectSize, intent: &Intent) -> Decision {
        let w = &self.weights;
        let full = size.tokens.max(1.0);
        let needs = (intent.needs.len().max(1) + intent.needles.len()) as f64;
        let sparse = ENVELOPE_TOKENS + NEED_TOKENS * needs;
        let s = if size.tokens <= w.inline_tokens {
            0.0
        } else {
            (1.0 - sparse / full).max(0.0)
        };
        let c = ((ENVELOPE_TOKENS + ROUND_TOKENS) / full).min(1.0);
        let r = risk(intent, size);
        let b = w.w_s * s - w.w_c * c - w.w_r * r;
        let hard = if size.files > 0 && size.unreadable == size.files {
            Some("no-reader")
        } else {
            match intent.purpose {
                Purpose::Whole => Some("full-fidelity"),
                Purpose::Edit => Some("write-target"),
                Purpose::Compute => Some("whole-computation"),
                Purpose::Lookup => None,
            }
        };
        let (mode, reason) = match hard {
            Some(reason) => (Mode::Native, reason),
            None if size.tokens <= w.inline_tokens => (Mode::InlineAll, "fits-one-answer"),
            None if b >= w.theta_force => (Mode::Force, "sparse"),
            None if b <= w.theta_native => (Mode::Native, "no-benefit"),
            None => (Mode::Advisory, "boundary"),
        };
        let short = |value: f64| (value * 1_000.0).round() / 1_000.0;
        Decision {
            mode,
            reason,
            s: short(s),
            c: short(c),
            r: short(r),
            b: short(b),
            weights: [w.w_s, w.w_c, w.w_r, w.theta_native, w.theta_force],
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn size(tokens: f64) -> ObjectSize {
        ObjectSize {
            tokens,
            files: 1,
            unreadable: 0,
        }
    }

    #[test]
    fn purposes_that_need_all_are_native_and_small_objects_are_returned_whole() {
        let gate = Gate::default();
        let mode = |tokens, purpose| {
            gate.decide(
                size(tokens),
                &Intent {
                    purpose,
                    ..Intent::question("port of the gateway")
                },
            )
            .mode
        };
        assert_eq!(mode(100_000.0, Purpose::Lookup), Mode::Force);
        assert_eq!(mode(100.0, Purpose::Lookup), Mode::InlineAll);
        for purpose in [Purpose::Compute, Purpose::Edit, Purpose::Whole] {
            assert_eq!(mode(100_000.0, purpose), Mode::Native);
            assert_eq!(mode(100.0, purpose), Mode::Native);
        }
        assert_eq!(
            gate.decide(
                ObjectSize {
                    tokens: 1e6,
                    files: 2,
                    unreadable: 2
                },
                &Intent::question("port")
            )
            .reason,
            "no-reader"
        );
    }

    #[test]
    fn weights_out_of_order_are_refused() {
        let refuse = |change: fn(&mut Weights)| {
            let mut weights = Weights::default();
            change(&mut weights);
            assert!(Gate::new(weights).is_err());
        };
        refuse(|weights| weights.w_c = 0.0);
        refuse(|weights| weights.w_s = f64::NAN);
        refuse(|weights| weights.theta_native = weights.theta_force);
    }

    proptest::proptest! {
        #[test]
        fn the_margin_grows_with_the_object(small in 1_000.0..1e7_f64, factor in 1.0..100.0_f64, needs in 0_usize..12) {
            let gate = Gate::default();
            let needs = (0..needs).map(|at| crate::intent::Need { id: at.to_string(), question: "port".into(), aliases: Vec::new() }).collect();
            let intent = Intent { needs, ..Intent::question("port") };
            let margin = |tokens| gate.decide(size(tokens), &intent).b;
            proptest::prop_assert!(margin(small * factor) >= margin(small) - 1e-3);
        }
    }
}
