//! What is one step, and what does a run consist of?

use serde::{Deserialize, Serialize};

use super::adamw::{AdamW, Pace};
use super::batch::Sequence;
use super::ops::with_values;
use super::{Outcome, Schedule, TrainError, TrainModel};

/// Everything that a step goes by. Stands in the run's state, so that a run is resumed with its own settings or not at all.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// Learning rate.
    pub schedule: Schedule,
    /// Decay of the moments.
    #[serde(default = "betas")]
    pub betas: (f64, f64),
    /// Weight decay of matrices.
    #[serde(default = "decay")]
    pub decay: f64,
    /// Gradients are scaled down to this norm.
    #[serde(default = "clip")]
    pub clip: f64,
    /// Tensors that go at a rate of their own. The first that fits counts; a factor of 0 lets them stand still.
    #[serde(default)]
    pub rates: Vec<Rate>,
}

/// The rate of some tensors.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rate {
    /// Beginning of their names.
    pub prefix: String,
    /// Factor on the learning rate.
    pub factor: f64,
}

fn betas() -> (f64, f64) {
    (0.9, 0.98)
}

fn decay() -> f64 {
    0.05
}

fn clip() -> f64 {
    1.0
}

/// What one step came to.
#[derive(Debug)]
pub struct Step {
    /// Its number, from 0 on.
    pub step: usize,
    /// Learning rate.
    pub rate: f64,
    /// Norm of the gradients before clipping.
    pub norm: f64,
    /// Loss and how many targets were right.
    pub outcome: Outcome,
}

/// A model in training.
#[derive(Debug)]
pub struct Trainer {
    pub(super) model: TrainModel,
    pub(super) settings: Settings,
    pub(super) moments: AdamW,
    pub(super) step: usize,
}

impl Trainer {
    /// Starts a run.
    pub fn new(mut model: TrainModel, settings: Settings) -> Self {
        let still = settings.rates.iter().filter(|rate| rate.factor == 0.0);
        let still: Vec<String> = still.map(|rate| rate.prefix.clone()).collect();
        // Under adapters everything else stands still already.
        if !model.params().adapted() {
            model.params_mut().freeze(&still);
        }
        Self {
            model,
            settings,
            moments: AdamW::default(),
            step: 0,
        }
    }

    /// The model as it stands.
    pub fn model(&self) -> &TrainModel {
        &self.model
    }

    /// The number of the next step.
    pub fn step(&self) -> usize {
        self.step
    }

    /// Whether the schedule is through.
    pub fn done(&self) -> bool {
        self.step >= self.settings.schedule.steps
    }

    /// Learns one batch.
    ///
    /// # Errors
    /// [`TrainError::NotFinite`], with the weights as they were; those of [`TrainModel::run`].
    pub fn learn(&mut self, sequences: &[Sequence]) -> Result<Step, TrainError> {
        let outcome = self.model.run(sequences, true)?;
        let refuse = |what, value: f64| TrainError::NotFinite {
            step: self.step,
            what,
            value,
        };
        if !outcome.loss.is_finite() {
            return Err(refuse("loss", outcome.loss));
        }
        let Some(grads) = &outcome.grads else {
            return Err(refuse("gradient", f64::NAN));
        };
        let mut squares = 0f64;
        for (_, var) in self.model.params().trained() {
            if let Some(grad) = grads.get(var.as_tensor()) {
                squares += with_values(grad, |grad| {
                    Ok(grad.iter().map(|g| f64::from(*g).powi(2)).sum::<f64>())
                })?;
            }
        }
        let norm = squares.sqrt();
        if !norm.is_finite() {
            return Err(refuse("gradient norm", norm));
        }
        let settings = &self.settings;
        let rate = settings.schedule.at(self.step);
        for (name, var) in self.model.params().trained() {
            let Some(grad) = grads.get(var.as_tensor()) else {
                continue;
            };
            let own = settings.rates.iter().find(|r| name.starts_with(&r.prefix));
            let pace = Pace {
                rate: rate * own.map_or(1.0, |own| own.factor),
                betas: settings.betas,
                eps: 1e-8,
                decay: if var.dims().len() > 1 {
                    settings.decay
                } else {
                    0.0
                },
                scale: if norm > settings.clip {
                    settings.clip / norm
                } else {
                    1.0
                },
                step: self.step + 1,
            };
            self.moments.update(name, var, grad, pace)?;
        }
        let step = self.step;
        self.step += 1;
        Ok(Step {
            step,
            rate,
            norm,
            outcome,
        })
    }
}
