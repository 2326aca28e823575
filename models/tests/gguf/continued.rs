//! Real weights say what they say in transformers: SmolLM2 continues 20 prompts (golden file: tests/golden/smollm2.py).

use std::ops::Range;

use serde_json::Value;
use spare_models::{Checkpoint, Control, Device, KvCache, Model, PreparedPrompt, WeightDtype};

use super::smollm2::fetched;
use super::{data, json};

/// Where the reference's two best logits are nearer than this, either may win.
const NEAR: f64 = 1e-3;

fn model(dtype: WeightDtype) -> Option<Model> {
    let checkpoint = Checkpoint::open(&fetched()?).unwrap();
    Some(Model::load(checkpoint, dtype, &Device::Cpu).unwrap())
}

fn prompts() -> Vec<Value> {
    let golden = json(&std::fs::read(data("smollm2.json")).unwrap());
    golden["prompts"].as_array().unwrap().clone()
}

fn ids(value: &Value) -> Vec<u32> {
    let ids = value.as_array().unwrap().iter();
    ids.map(|id| id.as_u64().unwrap() as u32).collect()
}

/// Prompts that are also continued token by token; the others' steps are rows of one pass.
const STEPWISE: usize = 4;

/// Dequantised on both sides.
#[test]
fn greedy_continuations_are_those_of_transformers() {
    let Some(model) = model(WeightDtype::F32) else {
        return;
    };
    let (mut equal, mut near) = (0, Vec::new());
    let prompts = prompts();
    assert_eq!(prompts.len(), 20);
    for (number, prompt) in prompts.iter().enumerate() {
        let (given, wanted) = (ids(&prompt["ids"]), ids(&prompt["greedy"]));
        let gaps = prompt["gaps"].as_array().unwrap();
        let got = if number < STEPWISE {
            let context = PreparedPrompt::new(&model, given, Vec::new()).unwrap();
            let cache = &mut KvCache::new();
            model.greedy(&context, cache, 64, model.eos(), &Control::none())
        } else {
            Ok(best_next(&model, &given, &wanted))
        }
        .unwrap();
        match (0..wanted.len()).find(|i| got.get(*i) != wanted.get(*i)) {
            None => equal += 1,
            Some(step) => {
                let gap = gaps[step].as_f64().unwrap();
                assert!(
                    gap < NEAR,
                    "prompt {number}, step {step}: {got:?}, expected {wanted:?}"
                );
                near.push((number, step, gap));
            }
        }
    }
    println!(
        "{equal} of 20 equal; parted where the reference's two best are near (prompt, step, gap): {near:?}"
    );
    assert!(near.len() <= 1, "only one prompt comes near: {near:?}");
}

/// The most probable token behind `given`, and behind each of `wanted` but the last when these have followed.
fn best_next(model: &Model, given: &[u32], wanted: &[u32]) -> Vec<u32> {
    let all = [given, wanted].concat();
    let logits = logits(model, &all, given.len() - 1..all.len() - 1);
    let best = |row: &[f32]| (0..row.len()).max_by(|&a, &b| row[a].total_cmp(&row[b]));
    logits
        .chunks(model.vocab_size())
        .map(|row| best(row).unwrap() as u32)
        .collect()
}

/// Logits behind the tokens at `places` of `ids`, from one pass: `[places, vocab]`.
fn logits(model: &Model, ids: &[u32], places: Range<usize>) -> Vec<f32> {
    let context = PreparedPrompt::new(model, ids.to_vec(), Vec::new()).unwrap();
    let rows: Vec<usize> = places.collect();
    let cache = &mut KvCache::new();
    let hidden = model.prefill(&context, 0..ids.len(), cache, &rows, &Control::none());
    model.logits(&hidden.unwrap()).unwrap()
}

/// What the quantised products cost, against the dequantised weights: printed, and bounded so that a wrong block shows.
#[test]
fn the_quantised_path_is_near_the_dequantised_one() {
    let (Some(exact), Some(kept)) = (model(WeightDtype::F32), model(WeightDtype::Auto)) else {
        return;
    };
    assert_eq!(kept.describe().dtype, "q4_1");
    let mut divergences = Vec::new();
    for prompt in prompts() {
        let all = [ids(&prompt["ids"]), ids(&prompt["greedy"])].concat();
        let vocab = exact.vocab_size();
        let (p, q) = (
            logits(&exact, &all, 0..all.len()),
            logits(&kept, &all, 0..all.len()),
        );
        divergences.extend(p.chunks(vocab).zip(q.chunks(vocab)).map(|(p, q)| kl(p, q)));
    }
    divergences.sort_by(f64::total_cmp);
    let mean = divergences.iter().sum::<f64>() / divergences.len() as f64;
    let high = divergences[divergences.len() * 99 / 100];
    println!(
        "KL of the quantised path at {} tokens: mean {mean:.5}, 99th percentile {high:.5} nats",
        divergences.len()
    );
    assert!(mean > 0.0 && mean < 0.05, "{mean}");
}

/// `sum p (log p - log q)`, nats.
fn kl(p: &[f32], q: &[f32]) -> f64 {
    let log_sum = |x: &[f32]| {
        let top = x.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        let sum: f64 = x.iter().map(|v| f64::from(v - top).exp()).sum();
        f64::from(top) + sum.ln()
    };
    let (zp, zq) = (log_sum(p), log_sum(q));
    p.iter()
        .zip(q)
        .map(|(p, q)| {
            let (log_p, log_q) = (f64::from(*p) - zp, f64::from(*q) - zq);
            log_p.exp() * (log_p - log_q)
        })
        .sum()
}
