//! Reads checkpoints and golden tensors.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use candle_core::Device;
use safetensors::{Dtype, SafeTensors};
use spare_models::image::Grid;
use spare_models::{Control, KvCache, Model, PreparedPrompt, WeightDtype, load};

/// The random checkpoints; each differs from the others in head sharing, tying, taps, sections or files.
pub const TINY: [&str; 5] = [
    "gqa2-untied",
    "gqa1-tied",
    "gqa4-sharded",
    "gqa2-tied-v4",
    "gqa4-bf16",
];

pub fn all() -> impl Iterator<Item = Golden> {
    TINY.into_iter().chain(["board"]).map(Golden::open)
}

pub fn data(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/golden/qwen3_vl")
        .join(file)
}

pub fn board() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("pretrained/board")
}

pub fn folder(name: &str) -> PathBuf {
    if name == "board" { board() } else { data(name) }
}

/// One checkpoint with its prompt and what transformers computes on it.
pub struct Golden {
    pub name: &'static str,
    pub model: Model,
    pub ids: Vec<u32>,
    pub grids: Vec<Grid>,
    pub pixels: Vec<Vec<f32>>,
    floats: BTreeMap<String, Vec<f32>>,
    ints: BTreeMap<String, Vec<i32>>,
}

impl Golden {
    pub fn open(name: &'static str) -> Self {
        Self::open_as(name, WeightDtype::F32)
    }

    pub fn open_as(name: &'static str, dtype: WeightDtype) -> Self {
        let model = load(&folder(name), dtype, &Device::Cpu).unwrap();
        let bytes = std::fs::read(data(&format!("{name}.golden.safetensors"))).unwrap();
        let mut floats: BTreeMap<String, Vec<f32>> = BTreeMap::new();
        let mut ints: BTreeMap<String, Vec<i32>> = BTreeMap::new();
        for (name, tensor) in SafeTensors::deserialize(&bytes).unwrap().tensors() {
            let words = tensor.data().chunks_exact(4).map(|b| b.try_into().unwrap());
            match tensor.dtype() {
                Dtype::F32 => drop(floats.insert(name, words.map(f32::from_le_bytes).collect())),
                Dtype::I32 => drop(ints.insert(name, words.map(i32::from_le_bytes).collect())),
                other => panic!("{name}: {other:?}"),
            }
        }
        let bytes = std::fs::read(data(&format!("{name}.pixels.safetensors"))).unwrap();
        let all = SafeTensors::deserialize(&bytes).unwrap();
        let all = all.tensor("pixels").unwrap();
        let width = all.shape()[1];
        let grids: Vec<Grid> = ints["grids"]
            .chunks(3)
            .map(|g| Grid {
                t: g[0] as usize,
                h: g[1] as usize,
                w: g[2] as usize,
            })
            .collect();
        let mut rest = all.data();
        let mut pixels = Vec::new();
        for grid in &grids {
            let (own, others) = rest.split_at(grid.h * grid.w * width);
            pixels.push(normalised(own));
            rest = others;
        }
        Self {
            name,
            model,
            ids: ints["ids"].iter().map(|&id| id as u32).collect(),
            grids,
            pixels,
            floats,
            ints,
        }
    }

    pub fn floats(&self, name: &str) -> &[f32] {
        &self.floats[name]
    }

    pub fn ints(&self, name: &str) -> &[i32] {
        &self.ints[name]
    }

    /// Indexes of the tokens whose rows are stored.
    pub fn rows(&self) -> Vec<usize> {
        self.ints("rows").iter().map(|&r| r as usize).collect()
    }

    pub fn prompt(&self) -> PreparedPrompt {
        let pictures = self.grids.iter().zip(&self.pixels).enumerate();
        let pictures = pictures
            .map(|(i, (grid, pixels))| {
                (
                    self.model.encode_picture(*grid, pixels).unwrap(),
                    [i as u8 + 1; 32],
                )
            })
            .collect();
        PreparedPrompt::with_pictures(&self.model, self.ids.clone(), pictures).unwrap()
    }

    /// Logits of the stored rows, pushed in the stretches that `borders` (ascending, inside the prompt) make.
    pub fn logits(
        &self,
        prompt: &PreparedPrompt,
        cache: &mut KvCache,
        borders: &[usize],
    ) -> Vec<f32> {
        let mut out = Vec::new();
        for &end in borders.iter().chain([&prompt.len()]) {
            let range = cache.len()..end;
            let rows: Vec<usize> = self
                .rows()
                .into_iter()
                .filter(|r| range.contains(r))
                .collect();
            let hidden = self
                .model
                .prefill(prompt, range, cache, &rows, &Control::none())
                .unwrap();
            assert_eq!(hidden.rows(), rows.len());
            out.extend(self.model.logits(&hidden));
        }
        out
    }
}

/// What the processor makes of u8 values with mean and deviation 0.5.
pub fn normalised(values: &[u8]) -> Vec<f32> {
    values
        .iter()
        .map(|&v| (f32::from(v) - 127.5) / 127.5)
        .collect()
}

/// Largest absolute difference.
pub fn apart(a: &[f32], b: &[f32]) -> f32 {
    assert_eq!(a.len(), b.len(), "lengths differ");
    assert!(a.iter().chain(b).all(|v| v.is_finite()));
    a.iter()
        .zip(b)
        .map(|(a, b)| (a - b).abs())
        .fold(0.0, f32::max)
}
