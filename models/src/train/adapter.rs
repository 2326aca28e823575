//! How is a model changed by two thin matrices beside each large one? Low-rank adapters (LoRA, Hu et al., 2021).

use std::collections::BTreeMap;
use std::path::Path;

use candle_core::{Device, Tensor, Var};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::params::{read, save, write};
use super::{Params, SavedDtype, TrainError};

/// Size and places of adapters.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LoraSettings {
    /// Rows of the first, columns of the second matrix.
    pub rank: usize,
    /// Their product counts `alpha / rank`.
    pub alpha: f64,
    /// Last parts of the names of the layers that get adapters, such as `q_proj`.
    pub targets: Vec<String>,
    /// Seed of the first matrices; the second ones begin with 0.
    pub seed: u64,
}

/// Adapters of a model.
#[derive(Debug)]
pub(super) struct Adapters {
    pub(super) settings: LoraSettings,
    /// `{layer}.lora_A.weight` `[rank, in]` and `{layer}.lora_B.weight` `[out, rank]`.
    pub(super) vars: BTreeMap<String, Var>,
}

const FILE: &str = "adapter_model.safetensors";
const CARD: &str = "adapter_config.json";
/// What peft puts before the names of the model it wraps.
const WRAPPED: &str = "base_model.model.";

impl Adapters {
    /// Adapters that change nothing yet, for every matrix of the text model whose layer is a target.
    pub(super) fn new(params: &Params, settings: LoraSettings) -> Result<Self, TrainError> {
        let mut vars = BTreeMap::new();
        let mut random = settings.seed;
        for layer in layers(params, &settings.targets) {
            let weight = params.get(&format!("{layer}.weight"))?;
            let (out, width) = weight.dims2()?;
            let limit = (width as f32).sqrt().recip();
            let first: Vec<f32> = (0..settings.rank * width)
                .map(|_| limit * (2.0 * uniform(&mut random) - 1.0))
                .collect();
            let first = Tensor::from_vec(first, (settings.rank, width), &Device::Cpu)?;
            let second = Tensor::zeros((out, settings.rank), first.dtype(), &Device::Cpu)?;
            vars.insert(format!("{layer}.lora_A.weight"), Var::from_tensor(&first)?);
            vars.insert(format!("{layer}.lora_B.weight"), Var::from_tensor(&second)?);
        }
        if vars.is_empty() || settings.rank == 0 {
            return Err(TrainError::Setting {
                setting: "targets",
                found: format!("{:?} at rank {}", settings.targets, settings.rank),
                expected: "names of linear layers of the text model and a rank above 0".into(),
            });
        }
        Ok(Self { settings, vars })
    }

    fn scale(&self) -> f64 {
        self.settings.alpha / self.settings.rank as f64
    }

    /// `x · Aᵀ · Bᵀ * scale`; `None` where the layer has no adapter.
    pub(super) fn forward(&self, layer: &str, x: &Tensor) -> Result<Option<Tensor>, TrainError> {
        let (Some(first), Some(second)) = (
            self.vars.get(&format!("{layer}.lora_A.weight")),
            self.vars.get(&format!("{layer}.lora_B.weight")),
        ) else {
            return Ok(None);
        };
        let thin = x.matmul(&first.as_tensor().t()?)?;
        let wide = thin.matmul(&second.as_tensor().t()?)?;
        Ok(Some((wide * self.scale())?))
    }

    /// What is to be added to each layer's weight, `[out, in]`.
    pub(super) fn deltas(&self) -> Result<Vec<(String, Tensor)>, TrainError> {
        let mut out = Vec::new();
        for (name, first) in &self.vars {
            let Some(layer) = name.strip_suffix(".lora_A.weight") else {
                continue;
            };
            if let Some(second) = self.vars.get(&format!("{layer}.lora_B.weight")) {
                let delta = second.as_tensor().matmul(first.as_tensor())?;
                out.push((format!("{layer}.weight"), (delta * self.scale())?));
            }
        }
        Ok(out)
    }

    /// Writes the adapters as peft does. `base` names the model they belong to.
    pub(super) fn save(&self, folder: &Path, base: &str) -> Result<(), TrainError> {
        std::fs::create_dir_all(folder).map_err(|error| TrainError::file(folder, error))?;
        let tensors = self.vars.iter();
        let tensors =
            tensors.map(|(name, var)| (format!("{WRAPPED}{name}"), var.as_tensor().clone()));
        save(tensors.collect(), &folder.join(FILE), SavedDtype::F32)?;
        let LoraSettings {
            rank,
            alpha,
            targets,
            ..
        } = &self.settings;
        let card = json!({
            "peft_type": "LORA", "task_type": "CAUSAL_LM", "base_model_name_or_path": base, "r": rank, "lora_alpha": alpha,
            "lora_dropout": 0.0, "bias": "none", "fan_in_fan_out": false, "use_rslora": false, "use_dora": false,
            "inference_mode": true, "target_modules": module_pattern(targets),
        });
        let path = folder.join(CARD);
        let text =
            serde_json::to_string_pretty(&card).map_err(|error| TrainError::file(&path, error))?;
        write(&path, text.as_bytes())
    }

    /// Reads what [`save`](Self::save) wrote into adapters of the same places.
    pub(super) fn load(&mut self, folder: &Path) -> Result<(), TrainError> {
        let path = folder.join(FILE);
        let mut values = read(&path)?;
        for (name, var) in &mut self.vars {
            let found = values.remove(&format!("{WRAPPED}{name}"));
            let Some(values) = found.filter(|v| v.len() == var.elem_count()) else {
                let found = format!("{name}: found none of {:?}, expected one", var.dims());
                return Err(TrainError::file(&path, found));
            };
            *var = Var::from_tensor(&Tensor::from_vec(values, var.dims(), &Device::Cpu)?)?;
        }
        match values.keys().next() {
            Some(name) => Err(TrainError::file(
                &path,
                format!("found {name}, expected no such adapter"),
            )),
            None => Ok(()),
        }
    }
}

/// Layers of the text model, without the tower, whose last name is a target.
fn layers(params: &Params, targets: &[String]) -> Vec<String> {
    let names = params
        .names()
        .filter_map(|name| name.strip_suffix(".weight"));
    let text = names.filter(|name| name.contains("layers.") && !name.contains("visual."));
    text.filter(|name| {
        let last = name.rsplit('.').next().unwrap_or("");
        targets.iter().any(|target| target == last)
    })
    .map(str::to_owned)
    .collect()
}

/// peft takes a text as a regular expression over whole names: the tower's layers have other names, but a pattern leaves no doubt.
fn module_pattern(targets: &[String]) -> String {
    format!(r".*layers\.\d+\.(self_attn|mlp)\.({})", targets.join("|"))
}

/// A number from 0 to 1 by SplitMix64.
fn uniform(state: &mut u64) -> f32 {
    *state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    ((z ^ (z >> 31)) >> 40) as f32 / (1u64 << 24) as f32
}
