//! Which numbers are trained, and how do they come from and go to a checkpoint?

use std::collections::BTreeMap;
use std::path::Path;

use candle_core::{Device, Tensor, Var};
use half::bf16;
use safetensors::Dtype;
use safetensors::tensor::TensorView;

use super::adapter::Adapters;
use super::ops::with_values;
use super::{LoraSettings, TrainError};
use crate::checkpoint::Checkpoint;

/// Every tensor of a checkpoint by its name, f32, and which of them are trained.
#[derive(Debug, Default)]
pub struct Params {
    vars: BTreeMap<String, Var>,
    /// Beginnings of the names that stand still.
    frozen: Vec<String>,
    adapters: Option<Adapters>,
}

/// The type that weights are written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SavedDtype {
    /// As they are trained.
    F32,
    /// Rounded to nearest even; half the bytes.
    Bf16,
}

impl Params {
    /// Reads every tensor of a checkpoint, f32.
    ///
    /// # Errors
    /// Where a tensor cannot be read.
    pub fn of(checkpoint: &Checkpoint) -> Result<Self, TrainError> {
        let mut params = Self::default();
        for (name, shape, values) in checkpoint.f32_tensors()? {
            params.insert(&name, &shape, values)?;
        }
        Ok(params)
    }

    /// Puts a tensor in, or replaces it.
    ///
    /// # Errors
    /// Where shape and values do not fit.
    pub fn insert(
        &mut self,
        name: &str,
        shape: &[usize],
        values: Vec<f32>,
    ) -> Result<(), TrainError> {
        let tensor = Tensor::from_vec(values, shape, &Device::Cpu)?;
        self.vars
            .insert(name.to_owned(), Var::from_tensor(&tensor)?);
        Ok(())
    }

    /// Lets everything stand still whose name begins with one of `prefixes`.
    pub fn freeze(&mut self, prefixes: &[String]) {
        self.frozen = prefixes.to_vec();
    }

    /// Whether there is a tensor of this name.
    pub fn has(&self, name: &str) -> bool {
        self.vars.contains_key(name)
    }

    /// All names in order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.vars.keys().map(String::as_str)
    }

    /// What is trained, in order of names.
    pub fn trained(&self) -> impl Iterator<Item = (&str, &Var)> {
        let vars = self.vars.iter().map(|(name, var)| (name.as_str(), var));
        let own = vars.filter(|(name, _)| !self.stands_still(name));
        let adapters = self.adapters.iter().flat_map(|adapters| &adapters.vars);
        own.chain(adapters.map(|(name, var)| (name.as_str(), var)))
    }

    /// Lets everything stand still and puts adapters beside the text model's layers, which change nothing yet.
    ///
    /// # Errors
    /// Where no layer is a target or the rank is 0.
    pub fn adapt(&mut self, settings: LoraSettings) -> Result<(), TrainError> {
        self.adapters = Some(Adapters::new(self, settings)?);
        self.frozen = vec![String::new()];
        Ok(())
    }

    /// Adds the adapters to the weights and takes them away; everything is trained again.
    ///
    /// # Errors
    /// Where shapes do not fit.
    pub fn merge(&mut self) -> Result<(), TrainError> {
        let Some(adapters) = self.adapters.take() else {
            return Ok(());
        };
        self.frozen.clear();
        for (name, delta) in adapters.deltas()? {
            if let Some(var) = self.vars.get_mut(&name) {
                *var = Var::from_tensor(&(var.as_detached_tensor() + delta)?.detach())?;
            }
        }
        Ok(())
    }

    /// Writes the adapters as peft reads them: `adapter_model.safetensors` and `adapter_config.json`. `base` names the model they belong to.
    ///
    /// # Errors
    /// Where there are none or a file cannot be written.
    pub fn save_adapters(&self, folder: &Path, base: &str) -> Result<(), TrainError> {
        match &self.adapters {
            Some(adapters) => adapters.save(folder, base),
            None => Err(TrainError::file(
                folder,
                "found no adapters, expected some to write",
            )),
        }
    }

    /// Reads adapters of the same places.
    ///
    /// # Errors
    /// Where a tensor is missing, too many or of another size.
    pub fn load_adapters(&mut self, folder: &Path) -> Result<(), TrainError> {
        match &mut self.adapters {
            Some(adapters) => adapters.load(folder),
            None => Err(TrainError::file(
                folder,
                "found no adapters in the model, expected some to read into",
            )),
        }
    }

    /// Whether there are adapters.
    pub fn adapted(&self) -> bool {
        self.adapters.is_some()
    }

    /// What the adapter of a layer adds to its output.
    pub(super) fn adapter(&self, layer: &str, x: &Tensor) -> Result<Option<Tensor>, TrainError> {
        match &self.adapters {
            Some(adapters) => adapters.forward(layer, x),
            None => Ok(None),
        }
    }

    /// Numbers that are trained.
    pub fn trained_count(&self) -> usize {
        self.trained().map(|(_, var)| var.elem_count()).sum()
    }

    fn stands_still(&self, name: &str) -> bool {
        self.frozen.iter().any(|prefix| name.starts_with(prefix))
    }

    /// The tensor of a name; outside of the graph where it stands still.
    pub(super) fn get(&self, name: &str) -> Result<Tensor, TrainError> {
        let var = self.vars.get(name).ok_or_else(|| TrainError::Missing {
            name: name.to_owned(),
        })?;
        Ok(if self.stands_still(name) {
            var.as_detached_tensor()
        } else {
            var.as_tensor().clone()
        })
    }

    /// Writes all tensors to a safetensors file: first to a neighbour of it, which then takes its name.
    ///
    /// # Errors
    /// Where the file cannot be written.
    pub fn save(&self, path: &Path, dtype: SavedDtype) -> Result<(), TrainError> {
        let tensors = self.vars.iter();
        let tensors = tensors.map(|(name, var)| (name.clone(), var.as_tensor().clone()));
        save(tensors.collect(), path, dtype)
    }
}

/// Writes tensors by name.
pub(super) fn save(
    tensors: BTreeMap<String, Tensor>,
    path: &Path,
    dtype: SavedDtype,
) -> Result<(), TrainError> {
    let mut data = Vec::with_capacity(tensors.len());
    for (name, tensor) in &tensors {
        let bytes: Vec<u8> = with_values(tensor, |values| {
            Ok(match dtype {
                SavedDtype::F32 => values.iter().flat_map(|v| v.to_le_bytes()).collect(),
                SavedDtype::Bf16 => {
                    let narrow = values.iter().map(|v| bf16::from_f32(*v).to_le_bytes());
                    narrow.flatten().collect()
                }
            })
        })?;
        data.push((name, tensor.dims().to_vec(), bytes));
    }
    let kind = match dtype {
        SavedDtype::F32 => Dtype::F32,
        SavedDtype::Bf16 => Dtype::BF16,
    };
    let views = data
        .iter()
        .map(|(name, shape, bytes)| Ok((*name, TensorView::new(kind, shape.clone(), bytes)?)))
        .collect::<Result<Vec<_>, safetensors::SafeTensorError>>()
        .map_err(|error| TrainError::file(path, error))?;
    let metadata = [("format".to_owned(), "pt".to_owned())].into();
    let bytes = safetensors::serialize(views, Some(metadata))
        .map_err(|error| TrainError::file(path, error))?;
    write(path, &bytes)
}

/// Writes a file so that a stop in between leaves the old one whole.
pub(super) fn write(path: &Path, bytes: &[u8]) -> Result<(), TrainError> {
    let beside = path.with_extension("part");
    std::fs::write(&beside, bytes)
        .and_then(|()| std::fs::rename(&beside, path))
        .map_err(|error| TrainError::file(path, error))
}

/// Reads f32 tensors by name.
pub(super) fn read(path: &Path) -> Result<BTreeMap<String, Vec<f32>>, TrainError> {
    let bytes = std::fs::read(path).map_err(|error| TrainError::file(path, error))?;
    let file = safetensors::SafeTensors::deserialize(&bytes)
        .map_err(|error| TrainError::file(path, error))?;
    let mut out = BTreeMap::new();
    for (name, tensor) in file.tensors() {
        if tensor.dtype() != Dtype::F32 {
            let found = format!("{name}: found {:?}, expected F32", tensor.dtype());
            return Err(TrainError::file(path, found));
        }
        let words = tensor.data().as_chunks::<4>().0.iter();
        out.insert(name, words.map(|b| f32::from_le_bytes(*b)).collect());
    }
    Ok(out)
}
