//! Gate weights from the development seeds: the fewest tokens, with no answer lost; and what a gate costs beyond an oracle.

use serde::Serialize;
use spare_read::{Gate, Intent, Mode, ObjectSize, Purpose, Weights};

use crate::Error;
use crate::case::{Case, Fit, Purpose as Aim};
use crate::sets::{self, GENERATED};
use crate::simulate::Task;

/// What every way of reading one case costs.
#[derive(Debug, Clone, Serialize)]
pub struct Costs {
    /// Tokens when the content is returned whole.
    pub whole: f64,
    /// Tokens of the protocol.
    pub sparse: f64,
    /// Whether the content fits the context.
    pub whole_answers: bool,
    /// Whether the protocol ends with an answer.
    pub sparse_answers: bool,
    #[serde(skip)]
    size: ObjectSize,
    #[serde(skip)]
    intent: Intent,
    /// Whether the case needs all of its object.
    pub native: bool,
}

impl Costs {
    fn of(&self, mode: Mode) -> f64 {
        let (tokens, answers) = if matches!(mode, Mode::Native | Mode::InlineAll) {
            (self.whole, self.whole_answers)
        } else {
            (self.sparse, self.sparse_answers)
        };
        // An answer that is lost costs as much as reading all of a large object.
        if answers { tokens } else { tokens.max(1e6) }
    }

    fn oracle(&self) -> f64 {
        self.of(Mode::Native).min(self.of(Mode::Force))
    }
}

/// Costs of all cases of seeds, with the fixed prompt `fixed`.
///
/// # Errors
/// What the file system or the reader says.
pub fn costs(
    seeds: std::ops::Range<u64>,
    fixed: f64,
    purpose_known: bool,
) -> Result<Vec<Costs>, Error> {
    let gate = Gate::default();
    let mut all = Vec::new();
    for set in GENERATED {
        for seed in seeds.clone() {
            let Some(case) = sets::case(set, seed).filter(|case| case.bytes() < 3_000_000) else {
                continue;
            };
            for case in [
                cut(&case, 3_000),
                cut(&case, 12_000),
                cut(&case, 40_000),
                Some(case),
            ]
            .into_iter()
            .flatten()
            {
                let folder = tempfile::tempdir()?;
                case.write(folder.path())?;
                let task = Task::new(&case, folder.path());
                let native = Gate::new(Weights {
                    inline_tokens: 1e12,
                    ..gate.weights().clone()
                })?;
                let whole = task.sparse(fixed, &native, purpose_known, None, &[])?.0;
                let sparse = task
                    .sparse(fixed, &gate, purpose_known, Some(Mode::Force), &[])?
                    .0;
                let path = if case.target.is_empty() {
                    "."
                } else {
                    case.target.as_str()
                };
                let size = spare_read::Session::new(spare_read::Root::open(folder.path())?)
                    .preview(std::path::Path::new(path))?
                    .size;
                let purpose = match case.purpose {
                    _ if !purpose_known => Purpose::Lookup,
                    Aim::Lookup => Purpose::Lookup,
                    Aim::Compute => Purpose::Compute,
                    Aim::Edit => Purpose::Edit,
                    Aim::Whole => Purpose::Whole,
                };
                let needs = case
                    .asked
                    .iter()
                    .take(6)
                    .enumerate()
                    .map(|(at, asked)| spare_read::Need {
                        id: at.to_string(),
                        question: asked.question.clone(),
                        aliases: Vec::new(),
                    })
                    .collect();
                all.push(Costs {
                    whole: whole.tokens,
                    sparse: sparse.tokens,
                    whole_answers: whole.answered,
                    sparse_answers: sparse.answered,
                    size,
                    intent: Intent {
                        needs,
                        purpose,
                        ..Intent::default()
                    },
                    native: case.fit == Fit::Native,
                });
            }
        }
    }
    Ok(all)
}

/// The case with one file of its first `bytes`, and the questions that it still answers: small objects, on which the gate must decide too.
fn cut(case: &Case, bytes: usize) -> Option<Case> {
    let mut small = case.clone();
    let file = small.files.first_mut().filter(|file| {
        case.files.len() == 1
            && file.bytes.len() > 2 * bytes
            && file.path.ends_with(".md")
            && file.bytes.is_ascii()
    })?;
    let end = file
        .bytes
        .get(..bytes)?
        .iter()
        .rposition(|byte| *byte == b'\n')?;
    file.bytes.truncate(end + 1);
    small
        .asked
        .retain(|asked| asked.gold.iter().all(|gold| gold.bytes.end <= end));
    (!small.asked.is_empty()).then_some(small)
}

/// Tokens above the oracle, as a share; and how often each mode was chosen: force, advisory, native, inline.
pub fn regret(costs: &[Costs], gate: &Gate) -> (f64, [usize; 4]) {
    let mut modes = [0; 4];
    let (mut chosen, mut best) = (0.0, 0.0);
    for case in costs {
        let mode = gate.decide(case.size, &case.intent).mode;
        let at = match mode {
            Mode::Force => 0,
            Mode::Advisory => 1,
            Mode::Native => 2,
            Mode::InlineAll => 3,
        };
        if let Some(count) = modes.get_mut(at) {
            *count += 1;
        }
        chosen += case.of(mode);
        best += case.oracle();
    }
    (chosen / best.max(1.0) - 1.0, modes)
}

/// The weights with the fewest tokens; of equal ones, the first in the grid. `theta_force` is the least margin above which reading sparsely was cheaper in 99.5 % of the cases.
///
/// # Errors
/// No weights of the grid are valid.
pub fn fit(costs: &[Costs], seeds: &str) -> Result<Weights, Error> {
    let mut best: Option<(f64, Weights)> = None;
    for inline_tokens in [
        300.0, 600.0, 900.0, 1_200.0, 1_600.0, 2_000.0, 2_600.0, 3_200.0,
    ] {
        for w_c in [0.25, 0.5, 1.0, 2.0] {
            for w_r in [0.5, 1.0, 1.5, 2.0] {
                for step in 0..17 {
                    let theta_native = -0.4 + 0.075 * f64::from(step);
                    let weights = Weights {
                        w_s: 1.0,
                        w_c,
                        w_r,
                        theta_native,
                        theta_force: theta_native + 0.3,
                        inline_tokens,
                        fitted_on: seeds.to_owned(),
                    };
                    let (above, _) = regret(costs, &Gate::new(weights.clone())?);
                    if best.as_ref().is_none_or(|(least, _)| above < *least - 1e-9) {
                        best = Some((above, weights));
                    }
                }
            }
        }
    }
    let (_, mut weights) = best.ok_or_else(|| Error::Usage("no weights".into()))?;
    let gate = Gate::new(weights.clone())?;
    let mut margins: Vec<(f64, bool)> = costs
        .iter()
        .map(|case| {
            (
                gate.decide(case.size, &case.intent).b,
                case.of(Mode::Force) <= case.of(Mode::Native),
            )
        })
        .collect();
    margins.sort_by(|one, other| other.0.total_cmp(&one.0));
    let (mut cheaper, mut force) = (0, 1.0_f64);
    for (at, (margin, sparse)) in margins.iter().enumerate() {
        cheaper += usize::from(*sparse);
        if *margin > weights.theta_native && cheaper as f64 >= 0.995 * (at + 1) as f64 {
            force = force.min(*margin);
        }
    }
    weights.theta_force = ((force.max(weights.theta_native + 0.01)) * 1_000.0).round() / 1_000.0;
    weights.theta_native = (weights.theta_native * 1_000.0).round() / 1_000.0;
    Ok(weights)
}
