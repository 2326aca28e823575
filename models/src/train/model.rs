//! What does a batch cost, and which way is down?

use std::collections::BTreeMap;
use std::sync::Arc;

use candle_core::Tensor;
use candle_core::backprop::GradStore;

use super::batch::{Packed, Sequence};
use super::ops::{cross_entropy, with_values};
use super::text::Decoder;
use super::tower::Tower;
use super::{Params, TrainError};
use crate::checkpoint::Checkpoint;
use crate::families::{Config, Family, TowerConfig};
use crate::qwen3_vl::VisionConfig;

/// A model as a graph over its weights.
#[derive(Debug)]
pub struct TrainModel {
    config: Config,
    params: Params,
    names: Names,
}

#[derive(Debug)]
struct Names {
    text: &'static str,
    tower: &'static str,
    /// `None`: the head is the embedding table.
    head: Option<&'static str>,
}

/// What a batch came to.
#[derive(Debug)]
pub struct Outcome {
    /// Weighted mean of the surprise in nats.
    pub loss: f64,
    /// Targets that the model would have written, and their number, by kind.
    pub right: BTreeMap<u8, (usize, usize)>,
    /// Tokens pushed.
    pub tokens: usize,
    /// Gradients, unless the batch was only looked at.
    pub(super) grads: Option<GradStore>,
}

impl TrainModel {
    /// Reads a checkpoint for training.
    ///
    /// # Errors
    /// [`TrainError::Architecture`] for families without a backward pass; those of reading the checkpoint.
    pub fn load(checkpoint: &Checkpoint) -> Result<Self, TrainError> {
        let config = Config::read(checkpoint)?;
        let known = matches!(
            config.family,
            Family::Qwen3Vl | Family::Qwen3 | Family::Llama
        );
        if !known || config.text.experts.is_some() {
            return Err(TrainError::Architecture {
                found: config.family.to_string(),
            });
        }
        let params = Params::of(checkpoint)?;
        let text = ["model.language_model.", "language_model.model.", "model."];
        let tower = ["model.visual.", "visual.", "vision_tower."];
        let head = ["lm_head.weight", "language_model.lm_head.weight"];
        let first = |prefixes: &[&'static str], name: &str| {
            let mut prefixes = prefixes.iter().copied();
            prefixes.find(|prefix| params.has(&format!("{prefix}{name}")))
        };
        let names = Names {
            text: first(&text, "embed_tokens.weight").unwrap_or("model."),
            tower: first(&tower, "patch_embed.proj.weight").unwrap_or("model.visual."),
            head: first(&head, ""),
        };
        Ok(Self {
            config,
            params,
            names,
        })
    }

    /// The weights.
    pub fn params(&self) -> &Params {
        &self.params
    }

    /// The weights, to freeze or replace some.
    pub fn params_mut(&mut self) -> &mut Params {
        &mut self.params
    }

    fn tower(&self) -> Option<&VisionConfig> {
        match &self.config.vision.as_ref()?.tower {
            TowerConfig::Qwen3(config) => Some(config),
            _ => None,
        }
    }

    fn packed(&self, sequences: &[Sequence]) -> Result<Packed, TrainError> {
        let vision = self.config.vision.as_ref();
        let image = vision.map(|v| v.image_token);
        let merge = vision.map_or(1, |v| v.tower.merge());
        Packed::of(sequences, self.config.text.vocab, image, merge)
    }

    fn logits(&self, batch: &Packed, rows: &[u32]) -> Result<Tensor, TrainError> {
        let seen = match self.tower() {
            Some(config) if !batch.pictures.is_empty() => {
                let tower = Tower {
                    config,
                    params: &self.params,
                    prefix: self.names.tower,
                };
                Some(tower.encode(&batch.pictures)?)
            }
            _ => None,
        };
        let decoder = Decoder {
            config: &self.config.text,
            params: &self.params,
            prefix: self.names.text,
        };
        decoder.logits(batch, rows, seen.as_ref(), self.names.head)
    }

    /// Logits of every token of one sequence, row-major `[tokens, vocab]`.
    ///
    /// # Errors
    /// [`TrainError::Batch`] for a sequence that does not hang together.
    pub fn all_logits(&self, sequence: &Sequence) -> Result<Vec<f32>, TrainError> {
        let batch = self.packed(std::slice::from_ref(sequence))?;
        let rows: Vec<u32> = (0..batch.ids.len() as u32).collect();
        Ok(self.logits(&batch, &rows)?.flatten_all()?.to_vec1()?)
    }

    /// Loss and, where `backward`, gradients of a batch.
    ///
    /// # Errors
    /// [`TrainError::Batch`] for sequences that do not hang together or hold no target.
    pub fn run(&self, sequences: &[Sequence], backward: bool) -> Result<Outcome, TrainError> {
        let batch = self.packed(sequences)?;
        if batch.rows.is_empty() {
            return Err(TrainError::Batch {
                sequence: 0,
                found: "no target".into(),
                expected: "a token with a weight above 0".into(),
            });
        }
        let logits = self.logits(&batch, &batch.rows)?;
        let right = right(&logits, &batch)?;
        let targets = Arc::new(batch.targets);
        let loss = cross_entropy(&logits, targets)?;
        Ok(Outcome {
            loss: f64::from(loss.to_scalar::<f32>()?),
            right,
            tokens: batch.ids.len(),
            grads: backward.then(|| loss.backward()).transpose()?,
        })
    }

    /// The gradient of the loss of a batch for every trained tensor by name.
    ///
    /// # Errors
    /// Those of [`run`](Self::run).
    pub fn gradients(
        &self,
        sequences: &[Sequence],
    ) -> Result<BTreeMap<String, Vec<f32>>, TrainError> {
        let grads = self.run(sequences, true)?.grads;
        let mut out = BTreeMap::new();
        for (name, var) in self.params.trained() {
            let grad = grads.as_ref().and_then(|g| g.get(var.as_tensor()));
            let values = match grad {
                Some(grad) => grad.flatten_all()?.to_vec1()?,
                None => vec![0.0; var.elem_count()],
            };
            out.insert(name.to_owned(), values);
        }
        Ok(out)
    }

    /// Placeholder of pictures.
    pub fn image_token(&self) -> Option<u32> {
        self.config.vision.as_ref().map(|v| v.image_token)
    }
}

/// How many targets are the most probable token, by their kind.
fn right(logits: &Tensor, batch: &Packed) -> Result<BTreeMap<u8, (usize, usize)>, TrainError> {
    let (_, vocab) = logits.dims2()?;
    let mut out: BTreeMap<u8, (usize, usize)> = BTreeMap::new();
    with_values(logits, |logits| {
        let targets = batch.targets.iter().zip(&batch.kinds);
        for (row, ((target, _), kind)) in logits.chunks(vocab.max(1)).zip(targets) {
            let own = row.get(*target as usize).copied().unwrap_or(f32::NAN);
            let count = out.entry(*kind).or_default();
            count.0 += usize::from(row.iter().all(|x| *x <= own));
            count.1 += 1;
        }
        Ok(())
    })?;
    Ok(out)
}
