//! Golden files as sequences.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use safetensors::{Dtype, SafeTensors};
use spare_models::Checkpoint;
use spare_models::image::Grid;
use spare_models::train::{Sequence, TrainModel, TrainPicture};

pub const NAMES: [&str; 2] = ["gqa2-untied", "gqa2-tied-v4"];

pub fn golden(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/golden")
        .join(file)
}

pub fn folder(name: &str) -> PathBuf {
    golden(&format!("qwen3_vl/{name}"))
}

pub fn model(name: &str) -> TrainModel {
    TrainModel::load(&Checkpoint::open(&folder(name)).unwrap()).unwrap()
}

pub fn floats(path: &Path) -> BTreeMap<String, Vec<f32>> {
    let bytes = std::fs::read(path).unwrap();
    let file = SafeTensors::deserialize(&bytes).unwrap();
    let mut out = BTreeMap::new();
    for (name, tensor) in file.tensors() {
        let data = tensor.data();
        let words = data.as_chunks::<4>().0.iter();
        let values = match tensor.dtype() {
            Dtype::F32 => words.map(|b| f32::from_le_bytes(*b)).collect(),
            Dtype::I32 => words.map(|b| i32::from_le_bytes(*b) as f32).collect(),
            Dtype::U8 => data
                .iter()
                .map(|b| (f32::from(*b) - 127.5) / 127.5)
                .collect(),
            other => panic!("{name}: {other:?}"),
        };
        out.insert(name, values);
    }
    out
}

/// The two sequences of `gradients.py`.
pub fn sequences(name: &str) -> Vec<Sequence> {
    let file = floats(&golden(&format!("qwen3_vl/{name}.golden.safetensors")));
    let pixels = floats(&golden(&format!("qwen3_vl/{name}.pixels.safetensors")));
    let ids: Vec<u32> = file["ids"].iter().map(|id| *id as u32).collect();
    let mut rest = pixels["pixels"].as_slice();
    let patches: usize = file["grids"]
        .chunks(3)
        .map(|g| (g[1] * g[2]) as usize)
        .sum();
    let width = rest.len() / patches;
    let pictures: Vec<TrainPicture> = file["grids"]
        .chunks(3)
        .map(|g| {
            let (h, w) = (g[1] as usize, g[2] as usize);
            let (own, later) = rest.split_at(h * w * width);
            rest = later;
            TrainPicture {
                grid: Grid { t: 1, h, w },
                values: Arc::new(own.to_vec()),
            }
        })
        .collect();
    let starts: Vec<usize> = (0..ids.len()).filter(|i| ids[*i] == 3).collect();
    let of = |ids: &[u32], pictures: &[TrainPicture]| Sequence {
        ids: ids.to_vec(),
        weights: (0..ids.len()).map(|i| [0.0, 1.0, 5.0][i % 3]).collect(),
        kinds: vec![0; ids.len()],
        pictures: pictures.to_vec(),
    };
    vec![
        of(&ids, &pictures),
        of(&ids[starts[1] - 2..], &pictures[1..]),
    ]
}
