//! How does a stopped run go on as if it had not been stopped?

use std::collections::BTreeMap;
use std::path::Path;

use candle_core::{Device, Tensor};
use serde::{Deserialize, Serialize};

use super::params::{read, save, write};
use super::{SavedDtype, Settings, TrainError, TrainModel, Trainer};

/// Weights, moments and step. The step is written last, so a stop in between leaves a state whose parts disagree only if files were
/// replaced in part; the sum of the weights tells.
const WEIGHTS: &str = "model.safetensors";
const MOMENTS: &str = "moments.safetensors";
const ADAPTERS: &str = "adapter";
const STATE: &str = "state.json";

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct State {
    step: usize,
    settings: Settings,
    /// Sum of all trained weights, to tell that the files belong together.
    sum: f64,
}

impl Trainer {
    /// Writes everything that the run needs to go on into a folder: the weights in f32 under their own names, the moments, the state.
    ///
    /// # Errors
    /// Where a file cannot be written.
    pub fn save(&self, folder: &Path) -> Result<(), TrainError> {
        std::fs::create_dir_all(folder).map_err(|error| TrainError::file(folder, error))?;
        let mut moments = BTreeMap::new();
        let both = [
            ("first", &self.moments.first),
            ("second", &self.moments.second),
        ];
        for (which, values) in both {
            for (name, values) in values {
                let tensor = Tensor::new(values.as_slice(), &Device::Cpu)?;
                moments.insert(format!("{which}.{name}"), tensor);
            }
        }
        self.model
            .params()
            .save(&folder.join(WEIGHTS), SavedDtype::F32)?;
        if self.model.params().adapted() {
            let adapters = folder.join(ADAPTERS);
            self.model.params().save_adapters(&adapters, "")?;
        }
        save(moments, &folder.join(MOMENTS), SavedDtype::F32)?;
        let state = State {
            step: self.step,
            settings: self.settings.clone(),
            sum: self.sum()?,
        };
        let path = folder.join(STATE);
        let text =
            serde_json::to_string_pretty(&state).map_err(|error| TrainError::file(&path, error))?;
        write(&path, text.as_bytes())
    }

    /// Whether a folder holds a run that can go on.
    pub fn is_saved(folder: &Path) -> bool {
        folder.join(STATE).exists()
    }

    /// Goes on where [`save`](Self::save) stopped. `model` is any checkpoint of the same architecture: its weights are replaced.
    ///
    /// # Errors
    /// Where a file is missing, torn or of another run, or the settings differ.
    pub fn resume(
        model: TrainModel,
        settings: Settings,
        folder: &Path,
    ) -> Result<Self, TrainError> {
        let path = folder.join(STATE);
        let text = std::fs::read(&path).map_err(|error| TrainError::file(&path, error))?;
        let state: State =
            serde_json::from_slice(&text).map_err(|error| TrainError::file(&path, error))?;
        if state.settings != settings {
            let found = "the settings of another run, expected those it was started with";
            return Err(TrainError::file(&path, found));
        }
        let mut trainer = Self::new(model, settings);
        let weights = folder.join(WEIGHTS);
        let mut values = read(&weights)?;
        let names: Vec<String> = trainer.model.params().names().map(str::to_owned).collect();
        for name in names {
            let shape = trainer.model.params().get(&name)?.dims().to_vec();
            let Some(values) = values.remove(&name) else {
                let found = format!("found no tensor {name}, expected one");
                return Err(TrainError::file(&weights, found));
            };
            if values.len() != shape.iter().product::<usize>() {
                let found = format!("{name}: found {} values, expected {shape:?}", values.len());
                return Err(TrainError::file(&weights, found));
            }
            trainer.model.params_mut().insert(&name, &shape, values)?;
        }
        if trainer.model.params().adapted() {
            let adapters = folder.join(ADAPTERS);
            trainer.model.params_mut().load_adapters(&adapters)?;
        }
        for (name, values) in read(&folder.join(MOMENTS))? {
            if let Some(name) = name.strip_prefix("first.") {
                trainer.moments.first.insert(name.to_owned(), values);
            } else if let Some(name) = name.strip_prefix("second.") {
                trainer.moments.second.insert(name.to_owned(), values);
            }
        }
        trainer.step = state.step;
        let sum = trainer.sum()?;
        if sum.to_bits() != state.sum.to_bits() {
            let found = format!(
                "found weights that add up to {sum}, expected {} as {STATE} says",
                state.sum
            );
            return Err(TrainError::file(&weights, found));
        }
        Ok(trainer)
    }

    fn sum(&self) -> Result<f64, TrainError> {
        let mut sum = 0.0;
        for (_, var) in self.model.params().trained() {
            let values = var.as_tensor().flatten_all()?.to_vec1::<f32>()?;
            sum += values.iter().map(|v| f64::from(*v)).sum::<f64>();
        }
        Ok(sum)
    }
}
