//! How does fine-tuning run, stop and go on?

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use serde::{Deserialize, Serialize};
use spare_models::Checkpoint;
use spare_models::train::{
    LoraSettings, Rate, SavedDtype, Schedule, Sequence, Settings as TrainSettings, Step,
    TrainModel, Trainer,
};

use super::curve::Curve;
use super::{Batches, Example, Gallery, split};
use crate::engine::Engine;
use crate::error::Error;
use crate::plan::sha256;
use crate::train::run::{copy, io};

/// What a fine-tuning goes by. Stands in `sft.json` beside its states: a stopped run goes on with its own settings and pairs or not at all.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// How often every example is learnt.
    pub epochs: usize,
    /// Examples of a step.
    pub batch: usize,
    /// The highest learning rate.
    pub rate: f64,
    /// Steps of the warm-up.
    pub warmup: usize,
    /// Weight decay of matrices.
    pub decay: f64,
    /// Adapters; the whole weights without.
    pub lora: Option<LoraSettings>,
    /// Whether the vision tower learns too; never under adapters.
    pub tower: bool,
    /// Of the order of examples and of what is held out.
    pub seed: u64,
    /// Runs held out, in per cent.
    pub held_out: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            epochs: 3,
            batch: 8,
            rate: 2e-5,
            warmup: 10,
            decay: 0.0,
            lora: None,
            tower: false,
            seed: 1,
            held_out: 10,
        }
    }
}

/// What is told after every step.
#[derive(Debug)]
pub struct Report<'a> {
    /// Steps in all.
    pub steps: usize,
    /// The epoch, from 0 on.
    pub epoch: usize,
    /// What the step came to.
    pub step: &'a Step,
    /// Seconds of the step, pictures included.
    pub seconds: f64,
    /// Loss of the examples held out, where it was taken.
    pub held_out: Option<f64>,
}

/// What a fine-tuning came to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Done {
    /// Examples that were learnt and held out.
    pub examples: [usize; 2],
    /// Steps in all, and those done.
    pub steps: [usize; 2],
    /// Loss of the examples held out before the first step of this call and behind its last; `None` where there are none.
    pub held_out: Option<[f64; 2]>,
}

/// What stands in `sft.json`.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Card {
    settings: Settings,
    examples: usize,
    /// SHA-256 over ids and learnt ranges of all examples.
    sha256: String,
}

/// Tensors of the tower, in every spelling.
const TOWER: [&str; 3] = ["model.visual.", "visual.", "vision_tower."];

/// Steps between states.
const SAVE_EVERY: usize = 50;

/// A fine-tuning: what is learnt, and from where on.
pub struct Tuning<'a> {
    /// The checkpoint that reads the pairs.
    pub engine: &'a Engine,
    /// How.
    pub settings: Settings,
    /// What is learnt, each with the run it comes from.
    pub examples: Vec<(String, Example)>,
    /// Their pictures.
    pub gallery: Gallery,
    /// The folder of the checkpoint.
    pub start: PathBuf,
    /// Its name, for adapters.
    pub base: String,
}

impl Tuning<'_> {
    /// Learns into `out`, going on where an earlier call stopped: `state` (to go on), `loss.csv`, `checkpoint` (weights in bf16 with all files
    /// that a checkpoint needs) and, with adapters, `adapter` (as peft reads it; `checkpoint` holds them merged). `limit` stops after so many
    /// steps.
    ///
    /// # Errors
    /// [`Error::Option`] where there is nothing to learn or `out` holds another run; those of training and of files.
    pub fn run(
        &self,
        out: &Path,
        limit: Option<usize>,
        report: &dyn Fn(&Report<'_>),
    ) -> Result<Done, Error> {
        if self.examples.is_empty() {
            return Err(Error::Option {
                option: "--runs",
                found: "no summary to learn".into(),
                expected: "runs with summaries, or pairs".into(),
            });
        }
        fs::create_dir_all(out).map_err(io(out, "making"))?;
        self.claim(out)?;
        let settings = &self.settings;
        let groups: Vec<&str> = self.examples.iter().map(|(run, _)| run.as_str()).collect();
        let (learnt, held) = split(&groups, settings.held_out, settings.seed);
        let batches = Batches::new(learnt.len(), settings.batch, settings.seed);
        let steps = batches.steps(settings.epochs);
        let state = out.join("state");
        let mut trainer = self.trainer(steps, &state)?;
        let mut curve = Curve::open(out, trainer.step())?;
        let first = self.loss(&trainer, &held)?;
        let mut last = first;
        let mut left = limit.unwrap_or(usize::MAX);
        while !trainer.done() && left > 0 {
            let started = Instant::now();
            let (number, mut batch) = (trainer.step(), Vec::new());
            for i in batches.at(number) {
                batch.extend(
                    learnt
                        .get(i)
                        .map(|i| self.sequence(*i))
                        .transpose()?
                        .flatten(),
                );
            }
            let step = trainer.learn(&batch)?;
            let seconds = started.elapsed().as_secs_f64();
            left -= 1;
            let stops = trainer.done() || left == 0;
            let due = stops || trainer.step().is_multiple_of(SAVE_EVERY);
            let held_out = match due {
                true => self.loss(&trainer, &held)?,
                false => None,
            };
            last = held_out.or(last);
            let epoch = batches.epoch(number);
            curve.push(&step, epoch, seconds, held_out);
            report(&Report {
                steps,
                epoch,
                step: &step,
                seconds,
                held_out,
            });
            if due {
                trainer.save(&state)?;
                copy(&self.start, &state)?;
                curve.save()?;
            }
            if stops {
                self.export(&trainer, out)?;
            }
        }
        Ok(Done {
            examples: [learnt.len(), held.len()],
            steps: [steps, trainer.step()],
            held_out: first.zip(last).map(|(first, last)| [first, last]),
        })
    }

    fn sequence(&self, index: usize) -> Result<Option<Sequence>, Error> {
        let example = self.examples.get(index);
        example
            .map(|(_, example)| example.sequence(self.engine, &self.gallery))
            .transpose()
    }

    /// Mean loss of the learnt tokens of some examples, in nats.
    fn loss(&self, trainer: &Trainer, indexes: &[usize]) -> Result<Option<f64>, Error> {
        let (mut sum, mut targets) = (0.0, 0.0);
        for index in indexes {
            if let Some(sequence) = self.sequence(*index)? {
                let count = sequence.weights.iter().filter(|w| **w > 0.0).count() as f64;
                sum += count * trainer.model().run(&[sequence], false)?.loss;
                targets += count;
            }
        }
        Ok((targets > 0.0).then_some(sum / targets))
    }

    /// Writes what the run is, or refuses where the folder holds another one.
    fn claim(&self, out: &Path) -> Result<(), Error> {
        let mut bytes = Vec::new();
        for (_, example) in &self.examples {
            for id in &example.ids {
                bytes.extend(id.to_le_bytes());
            }
            bytes.extend(format!("{:?}", example.learnt).into_bytes());
        }
        let card = Card {
            settings: self.settings.clone(),
            examples: self.examples.len(),
            sha256: sha256(&bytes),
        };
        let path = out.join("sft.json");
        let place = path.display();
        let refuse = |found: String| Error::Option {
            option: "--out",
            found,
            expected: "an empty folder, or one of a run with the same settings and pairs".into(),
        };
        if path.exists() {
            let text = fs::read_to_string(&path).map_err(io(&path, "reading"))?;
            let known: Card = serde_json::from_str(&text)
                .map_err(|error| refuse(format!("{place}, not the settings of a run: {error}")))?;
            if known.settings != card.settings {
                return Err(refuse(format!("{place} with other settings")));
            }
            if known != card {
                let (known, own) = (known.examples, card.examples);
                return Err(refuse(format!(
                    "{place} of {known} other pairs, not these {own}"
                )));
            }
            return Ok(());
        }
        let text = serde_json::to_string_pretty(&card).unwrap_or_default() + "\n";
        fs::write(&path, text).map_err(io(&path, "writing"))
    }

    fn model(&self) -> Result<TrainModel, Error> {
        let mut model = TrainModel::load(&Checkpoint::open(&self.start)?)?;
        if let Some(lora) = &self.settings.lora {
            model.params_mut().adapt(lora.clone())?;
        }
        Ok(model)
    }

    fn trainer(&self, steps: usize, state: &Path) -> Result<Trainer, Error> {
        let still = |prefix: &&str| Rate {
            prefix: (*prefix).to_owned(),
            factor: 0.0,
        };
        let settings = &self.settings;
        let own = TrainSettings {
            schedule: Schedule {
                peak: settings.rate,
                warmup: settings.warmup,
                steps,
                floor: 0.1,
            },
            betas: (0.9, 0.98),
            decay: settings.decay,
            clip: 1.0,
            rates: match settings.tower {
                true => Vec::new(),
                false => TOWER.iter().map(still).collect(),
            },
        };
        let model = self.model()?;
        Ok(if Trainer::is_saved(state) {
            Trainer::resume(model, own, state)?
        } else {
            Trainer::new(model, own)
        })
    }

    /// Writes the checkpoint and the adapters.
    fn export(&self, trainer: &Trainer, out: &Path) -> Result<(), Error> {
        let to = out.join("checkpoint");
        fs::create_dir_all(&to).map_err(io(&to, "making"))?;
        copy(&self.start, &to)?;
        let weights = to.join("model.safetensors");
        let params = trainer.model().params();
        if !params.adapted() {
            return Ok(params.save(&weights, SavedDtype::Bf16)?);
        }
        let adapters = out.join("adapter");
        params.save_adapters(&adapters, &self.base)?;
        let mut merged = self.model()?;
        merged.params_mut().load_adapters(&adapters)?;
        merged.params_mut().merge()?;
        Ok(merged.params().save(&weights, SavedDtype::Bf16)?)
    }
}
