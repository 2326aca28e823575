//! Checkpoints after their config or tensors have been changed.

use std::borrow::Cow;
use std::collections::BTreeMap;

use candle_core::Device;
use safetensors::tensor::TensorView;
use safetensors::{Dtype, SafeTensors};
use serde_json::Value;
use spare_models::{Model, ModelError, WeightDtype, load_from_bytes};

use crate::golden::data;

pub type Tensors = BTreeMap<String, (Dtype, Vec<usize>, Vec<u8>)>;

/// Loads the single-file checkpoint `name`, to f32, after both have been changed.
pub fn edited(
    name: &str,
    config: impl FnOnce(&mut Value),
    tensors: impl FnOnce(&mut Tensors),
) -> Result<Model, ModelError> {
    let read = |file: &str| std::fs::read(data(name).join(file)).unwrap();
    let mut json: Value = serde_json::from_slice(&read("config.json")).unwrap();
    config(&mut json);
    let bytes = read("model.safetensors");
    let mut all: Tensors = SafeTensors::deserialize(&bytes)
        .unwrap()
        .iter()
        .map(|(name, t)| {
            (
                name.to_string(),
                (t.dtype(), t.shape().to_vec(), t.data().to_vec()),
            )
        })
        .collect();
    tensors(&mut all);
    let views = all.iter().map(|(name, (dtype, shape, data))| {
        (name, TensorView::new(*dtype, shape.clone(), data).unwrap())
    });
    let file = safetensors::serialize(views, None).unwrap();
    load_from_bytes(
        &serde_json::to_vec(&json).unwrap(),
        None,
        vec![Cow::Owned(file)],
        WeightDtype::F32,
        &Device::Cpu,
    )
}

/// As [`edited`], with another config only.
pub fn configured(name: &str, config: impl FnOnce(&mut Value)) -> Result<Model, ModelError> {
    edited(name, config, |_| {})
}
