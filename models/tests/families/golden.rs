//! Reads checkpoints and golden tensors.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use candle_core::Device;
use safetensors::{Dtype, SafeTensors};
use spare_models::image::Grid;
use spare_models::{Control, KvCache, Model, PreparedPrompt, WeightDtype, load};

/// The random checkpoints of each family; within one they differ in head sharing, tying, storage and style of the files.
pub const FAMILIES: [(&str, &[&str]); 6] = [
    (
        "qwen2_vl",
        &[
            "qwen2_vl/gqa2-flat",
            "qwen2_vl/gqa1-tied-nested",
            "qwen2_vl/gqa4-bf16-sharded",
            "qwen2_vl/gqa2-f16-tied",
        ],
    ),
    (
        "qwen2_5_vl",
        &[
            "qwen2_5_vl/window2-flat",
            "qwen2_5_vl/window4-tied-nested",
            "qwen2_5_vl/window3-bf16-sharded",
            "qwen2_5_vl/window4-f16-tied",
        ],
    ),
    (
        "qwen3_vl",
        &[
            "qwen3_vl/gqa2-untied",
            "qwen3_vl/gqa1-tied",
            "qwen3_vl/gqa4-sharded",
            "qwen3_vl/gqa2-tied-v4",
            "qwen3_vl/gqa4-bf16",
        ],
    ),
    (
        "qwen3_vl_moe",
        &[
            "qwen3_vl_moe/released",
            "qwen3_vl_moe/step2-f16-sharded",
            "qwen3_vl_moe/dense-first",
            "qwen3_vl_moe/ties",
        ],
    ),
    (
        "qwen3",
        &[
            "qwen3/gqa2-bf16-v4",
            "qwen3/gqa1-tied",
            "qwen3/gqa4-f16-sharded",
        ],
    ),
    (
        "llama",
        &[
            "llama/plain-f16",
            "llama/llama3-bf16-tied",
            "llama/llama3-sharded-v5",
            "llama/linear",
        ],
    ),
];

/// The trained checkpoint.
pub const BOARD: &str = "qwen3_vl/board";

/// Every checkpoint that has golden numbers.
pub fn names() -> impl Iterator<Item = &'static str> {
    let random = FAMILIES.into_iter().flat_map(|(_, names)| names);
    random.copied().chain([BOARD])
}

pub fn all() -> impl Iterator<Item = Golden> {
    names().map(Golden::open)
}

/// Those with pictures in their prompt.
pub fn seeing() -> impl Iterator<Item = Golden> {
    all().filter(|golden| !golden.grids.is_empty())
}

pub fn data(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/golden")
        .join(file)
}

pub fn folder(name: &str) -> PathBuf {
    match name {
        BOARD => Path::new(env!("CARGO_MANIFEST_DIR")).join("pretrained/board"),
        name => data(name),
    }
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
        Self::of(name, load(&folder(name), dtype, &Device::Cpu).unwrap())
    }

    /// The golden numbers of `name` beside a model of the same weights.
    pub fn of(name: &'static str, model: Model) -> Self {
        let (mut floats, mut ints) = (BTreeMap::new(), BTreeMap::new());
        for part in ["golden", "bf16"] {
            let path = data(&format!("{name}.{part}.safetensors"));
            if part == "bf16" && !path.exists() {
                continue;
            }
            let bytes = std::fs::read(path).unwrap();
            for (name, tensor) in SafeTensors::deserialize(&bytes).unwrap().tensors() {
                let words = tensor.data().chunks_exact(4).map(|b| b.try_into().unwrap());
                match tensor.dtype() {
                    Dtype::F32 => {
                        drop(floats.insert(name, words.map(f32::from_le_bytes).collect::<Vec<_>>()))
                    }
                    Dtype::I32 => {
                        drop(ints.insert(name, words.map(i32::from_le_bytes).collect::<Vec<_>>()))
                    }
                    other => panic!("{name}: {other:?}"),
                }
            }
        }
        let grids: Vec<Grid> = ints["grids"]
            .chunks(3)
            .map(|g| Grid {
                t: g[0] as usize,
                h: g[1] as usize,
                w: g[2] as usize,
            })
            .collect();
        Self {
            name,
            model,
            ids: ints["ids"].iter().map(|&id| id as u32).collect(),
            pixels: pixels(name, &grids),
            grids,
            floats,
            ints,
        }
    }

    /// Whether the file holds `name`.
    pub fn has(&self, name: &str) -> bool {
        self.floats.contains_key(name)
    }

    /// Whether a router picks experts.
    pub fn has_experts(&self) -> bool {
        self.ints.keys().any(|name| name.starts_with("router."))
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
            out.extend(self.model.logits(&hidden).unwrap());
        }
        out
    }
}

/// Values of each picture, as the processor normalises them; none for a family that cannot see.
fn pixels(name: &str, grids: &[Grid]) -> Vec<Vec<f32>> {
    if grids.is_empty() {
        return Vec::new();
    }
    let bytes = std::fs::read(data(&format!("{name}.pixels.safetensors"))).unwrap();
    let all = SafeTensors::deserialize(&bytes).unwrap();
    let all = all.tensor("pixels").unwrap();
    let (width, mut rest) = (all.shape()[1], all.data());
    let mut pictures = Vec::new();
    for grid in grids {
        let (own, others) = rest.split_at(grid.h * grid.w * width);
        pictures.push(normalised(own));
        rest = others;
    }
    assert!(rest.is_empty());
    pictures
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
