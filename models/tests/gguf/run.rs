//! The model that comes out of a GGUF file computes what the one does that went in.

use std::borrow::Cow;

use candle_core::Device;
use safetensors::tensor::TensorView;
use safetensors::{Dtype, serialize};
use spare_models::checkpoint::gguf::GgufCheckpoint;
use spare_models::image::Grid;
use spare_models::{Control, KvCache, Model, PreparedPrompt, WeightDtype, load, load_from_bytes};

use super::{FAMILIES, data, family, smollm2};

/// A model from config and tensors of a GGUF file, all in f32.
pub fn model(checkpoint: &GgufCheckpoint) -> Model {
    let tensors: Vec<(&String, Vec<usize>, Vec<u8>)> = checkpoint
        .entries()
        .iter()
        .map(|(name, entry)| {
            let values = checkpoint.f32(entry).unwrap();
            let bytes = values.iter().flat_map(|v| v.to_le_bytes()).collect();
            (name, entry.shape.clone(), bytes)
        })
        .collect();
    let views = tensors.iter().map(|(name, shape, bytes)| {
        (
            name,
            TensorView::new(Dtype::F32, shape.clone(), bytes).unwrap(),
        )
    });
    let weights = serialize(views, None).unwrap();
    load_from_bytes(
        checkpoint.config(),
        Some(checkpoint.generation_config()),
        vec![Cow::Owned(weights)],
        WeightDtype::F32,
        &Device::Cpu,
    )
    .unwrap()
}

/// The folder that the file was made from.
fn source(name: &str) -> Model {
    load(
        &data(&format!("gguf/{name}")),
        WeightDtype::F32,
        &Device::Cpu,
    )
    .unwrap()
}

fn logits(model: &Model) -> Vec<f32> {
    let mut ids: Vec<u32> = (5..25).collect();
    let mut pictures = Vec::new();
    if let Some(image) = model.image_token() {
        for (i, grid) in [
            (0u8, Grid { t: 1, h: 4, w: 6 }),
            (1, Grid { t: 1, h: 6, w: 2 }),
        ] {
            let values: Vec<f32> = (0..grid.h * grid.w * 3 * 2 * 16)
                .map(|n| ((n * 7 + usize::from(i)) % 31) as f32 / 16.0 - 1.0)
                .collect();
            pictures.push((model.encode_picture(grid, &values).unwrap(), [i; 32]));
            ids.extend(vec![image; grid.h * grid.w / 4]);
            ids.extend([7, 9, 11]);
        }
    }
    let prompt = PreparedPrompt::with_pictures(model, ids, pictures).unwrap();
    let rows: Vec<usize> = (0..prompt.len()).collect();
    let mut cache = KvCache::new();
    let hidden = model
        .prefill(
            &prompt,
            0..prompt.len(),
            &mut cache,
            &rows,
            &Control::none(),
        )
        .unwrap();
    model.logits(&hidden)
}

/// Bit for bit: the same numbers through the same code, so that config and names are right in all that is computed.
#[test]
fn logits_are_those_of_the_source() {
    for (name, ..) in FAMILIES {
        let (made, source) = (logits(&model(&family(name))), logits(&source(name)));
        assert!(source.iter().all(|v| v.is_finite()), "{name}");
        let spread = source.iter().fold(0f32, |most, v| most.max(v.abs()));
        assert!(spread > 0.1, "{name}: {spread}");
        assert!(made == source, "{name}: logits differ");
    }
}

/// The reference's greedy answers, read by the model in one pass each: at every step it prefers the same token, and by as
/// much, unless the reference itself hardly prefers it.
#[test]
fn smollm2_answers_as_in_transformers() {
    /// f32 logits of other orders of sums differ by far less.
    const CLOSE: f32 = 1e-3;
    let Some((checkpoint, golden)) = smollm2::opened() else {
        return;
    };
    let model = model(&checkpoint);
    let (mut steps, mut close, mut furthest) = (0, 0, 0f32);
    for case in golden["prompts"].as_array().unwrap() {
        let list =
            |field: &str| -> Vec<u32> { serde_json::from_value(case[field].clone()).unwrap() };
        let gaps: Vec<f32> = serde_json::from_value(case["gaps"].clone()).unwrap();
        let (mut ids, answer) = (list("ids"), list("greedy"));
        let first = ids.len() - 1;
        ids.extend(&answer[..answer.len() - 1]);
        let prompt = PreparedPrompt::with_pictures(&model, ids, Vec::new()).unwrap();
        let rows: Vec<usize> = (first..prompt.len()).collect();
        let mut cache = KvCache::new();
        let hidden = model
            .prefill(
                &prompt,
                0..prompt.len(),
                &mut cache,
                &rows,
                &Control::none(),
            )
            .unwrap();
        let logits = model.logits(&hidden);
        let logits = logits.chunks(model.vocab_size());
        assert_eq!(logits.len(), answer.len());
        for (i, ((row, id), gap)) in logits.zip(&answer).zip(&gaps).enumerate() {
            let id = *id as usize;
            let others = row.iter().enumerate().filter(|(other, _)| *other != id);
            let second = others.map(|(_, v)| *v).fold(f32::NEG_INFINITY, f32::max);
            let found = row[id] - second;
            assert!(
                (found - gap).abs() < CLOSE,
                "{}: step {i}: {found}, {gap}",
                case["text"]
            );
            assert!(found > 0.0 || *gap < CLOSE, "{}: step {i}", case["text"]);
            furthest = furthest.max((found - gap).abs());
            close += usize::from(*gap < CLOSE);
            steps += 1;
        }
    }
    println!("{steps} steps, {close} near ties, gaps within {furthest:e}");
    assert!(
        steps >= 900 && close <= 10,
        "{steps} steps, {close} near ties"
    );
}
