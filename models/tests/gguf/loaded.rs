//! A model from a GGUF file computes what the model from the folder computes that the file was made from.

use std::path::Path;

use spare_models::image::Grid;
use spare_models::{
    Checkpoint, Control, Device, KvCache, Model, PreparedPrompt, WeightDtype, load,
};

use super::{FAMILIES, data};

/// The file holds eps in f32 and the folder in f64: last bits of every norm.
const SAME: f32 = 2e-5;

fn from_file(name: &str, dtype: WeightDtype) -> Model {
    let (folder, text, mmproj) = FAMILIES.iter().find(|(n, ..)| *n == name).unwrap();
    let file = |file: &str| data(&format!("gguf/{folder}/{file}"));
    let mmproj = mmproj.map(file);
    let checkpoint = Checkpoint::open_gguf(&file(text), mmproj.as_deref()).unwrap();
    Model::load(checkpoint, dtype, &Device::Cpu).unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn from_folder(name: &str) -> Model {
    load(
        &data(&format!("gguf/{name}")),
        WeightDtype::F32,
        &Device::Cpu,
    )
    .unwrap()
}

/// Logits of a prompt with a picture between text, where the model sees.
fn logits(model: &Model, width: usize) -> Vec<f32> {
    let vocab = model.vocab_size() as u32;
    let mut ids: Vec<u32> = (0..12).map(|i| (7 + i * 5) % vocab).collect();
    let mut pictures = Vec::new();
    if let Some(pad) = model.image_token() {
        ids.retain(|id| *id != pad);
        let merge = model.merge_size();
        let grid = Grid {
            t: 1,
            h: 3 * merge,
            w: 5 * merge,
        };
        let pixels: Vec<f32> = (0..grid.h * grid.w * width)
            .map(|i| (i as f32 * 0.37).sin())
            .collect();
        ids.splice(5..5, vec![pad; 15]);
        pictures.push((model.encode_picture(grid, &pixels).unwrap(), [1; 32]));
    }
    let prompt = PreparedPrompt::with_pictures(model, ids, pictures).unwrap();
    let rows: Vec<usize> = (0..prompt.len()).collect();
    let range = 0..prompt.len();
    let hidden = model
        .prefill(&prompt, range, &mut KvCache::new(), &rows, &Control::none())
        .unwrap();
    model.logits(&hidden).unwrap()
}

/// Values of one patch, from the file that made the fixture.
fn patch_width(name: &str) -> usize {
    let config = std::fs::read(data(&format!("gguf/{name}/config.json"))).unwrap();
    let vision = &super::json(&config)["vision_config"];
    let size = |field: &str, other: &str| {
        let value = vision[field].as_u64().or(vision[other].as_u64());
        value.unwrap_or(1) as usize
    };
    let patch = size("patch_size", "patch_size");
    size("in_channels", "in_chans")
        * size("temporal_patch_size", "temporal_patch_size")
        * patch
        * patch
}

fn apart(a: &[f32], b: &[f32]) -> f32 {
    assert_eq!(a.len(), b.len());
    let gaps = a.iter().zip(b).map(|(a, b)| (a - b).abs());
    gaps.fold(0.0, f32::max)
}

#[test]
fn logits_are_those_of_the_folder() {
    for (name, ..) in FAMILIES {
        let width = patch_width(name);
        let wanted = logits(&from_folder(name), width);
        let got = logits(&from_file(name, WeightDtype::F32), width);
        let gap = apart(&got, &wanted);
        println!("{name}: {gap:.1e}");
        assert!(gap <= SAME, "{name}: {gap:e}");
        assert!(wanted.iter().any(|v| v.abs() > 0.1), "{name}: all small");
    }
}

/// Kept as stored, a quantised matrix also rounds what it is multiplied with: near, not equal.
#[test]
fn quantised_matrices_stay_quantised() {
    let (exact, kept) = (
        from_file("llama-q8", WeightDtype::F32),
        from_file("llama-q8", WeightDtype::Auto),
    );
    assert_eq!(exact.describe().dtype, "f32");
    assert_eq!(kept.describe().dtype, "q8_0");
    assert!(kept.describe().weight_bytes < exact.describe().weight_bytes);
    let (a, b) = (logits(&exact, 0), logits(&kept, 0));
    let scale = a.iter().fold(0f32, |top, v| top.max(v.abs()));
    let gap = apart(&a, &b) / scale;
    println!("quantised products move logits by {gap:.1e} of the largest");
    assert!(gap > 0.0 && gap < 0.1, "{gap:e}");
}

#[test]
fn a_folder_of_gguf_files_asks_for_one() {
    let folder = data("gguf/qwen3_vl");
    let scratch = tempfile::tempdir().unwrap();
    for file in ["mmproj-f16.gguf", "text-f32.gguf"] {
        std::fs::copy(folder.join(file), scratch.path().join(file)).unwrap();
    }
    let error = |path: &Path| Checkpoint::open(path).map(drop).unwrap_err().to_string();
    let text = error(scratch.path());
    assert!(
        text.contains("found no config.json but mmproj-f16.gguf, text-f32.gguf, expected the path of one of them"),
        "{text}"
    );
}
