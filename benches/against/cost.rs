//! Is the cost understood? Trunks of L tokens with N branches of 160 + 100 tokens: tokens pushed against the formula, and seconds against
//! `a * tokens + b * query-key pairs` with one pair of constants for the whole table.

use std::path::Path;
use std::time::Instant;

use serde_json::{Value, json};
use spare::{Control, WeightDtype};
use spare_models::{BATCH_TOKENS, Branch, Checkpoint, KvCache, Model, PreparedPrompt};

const BLOCK: usize = 160;
const SEGMENT: usize = 100;

struct Cell {
    trunk: usize,
    branches: usize,
    tokens: f64,
    pairs: f64,
    seconds: f64,
}

fn measure(model: &Model, trunk: usize, count: usize) -> Cell {
    let ids: Vec<u32> = (0..trunk as u32).map(|i| i * 7 % 150_000).collect();
    let block: Vec<u32> = (0..BLOCK as u32).map(|i| i * 11 % 150_000).collect();
    let prompt = PreparedPrompt::new(model, ids, Vec::new()).unwrap();
    let (mut tokens, mut pairs) = (trunk as f64, (trunk * (trunk + 1) / 2) as f64);
    let branches: Vec<Branch> = (0..count)
        .map(|i| {
            let at = (i + 1) * (trunk - SEGMENT) / (count + 1);
            let len = BLOCK + SEGMENT;
            tokens += len as f64;
            pairs += (at * len + len * (len + 1) / 2) as f64;
            Branch {
                prompt: prompt.splice(model, at, &block, at + SEGMENT).unwrap(),
                at,
                rows: vec![at + len - 1],
                hidden: 0..0,
            }
        })
        .collect();
    let before = model.pushed();
    let start = Instant::now();
    let mut cache = KvCache::new();
    let control = Control::none();
    model
        .prefill(&prompt, 0..trunk, &mut cache, &[trunk - 1], &control)
        .unwrap();
    model
        .prefill_branches(&cache, &branches, BATCH_TOKENS, &control)
        .unwrap();
    let seconds = start.elapsed().as_secs_f64();
    assert_eq!(
        (model.pushed() - before) as f64,
        tokens,
        "L + N (|block| + |h|)"
    );
    Cell {
        trunk,
        branches: count,
        tokens,
        pairs,
        seconds,
    }
}

/// Constants that make the squares of relative errors least.
fn fit(cells: &[Cell]) -> (f64, f64) {
    let (mut xx, mut xy, mut yy, mut x1, mut y1) = (0.0, 0.0, 0.0, 0.0, 0.0);
    for cell in cells {
        let (x, y) = (cell.tokens / cell.seconds, cell.pairs / cell.seconds);
        (xx, xy, yy) = (xx + x * x, xy + x * y, yy + y * y);
        (x1, y1) = (x1 + x, y1 + y);
    }
    let det = xx * yy - xy * xy;
    ((x1 * yy - y1 * xy) / det, (y1 * xx - x1 * xy) / det)
}

pub fn table(folder: &Path, dtype: WeightDtype) -> Value {
    let checkpoint = Checkpoint::open(&folder.join("model")).unwrap();
    let model = Model::load(checkpoint, dtype, &candle_core::Device::Cpu).unwrap();
    measure(&model, 512, 1);
    let mut cells = Vec::new();
    for trunk in [1024, 4096, 16_384] {
        for count in [1, 4, 16, 64] {
            cells.push(measure(&model, trunk, count));
        }
    }
    let (a, b) = fit(&cells);
    let rows = cells.iter().map(|cell| {
        let expected = a * cell.tokens + b * cell.pairs;
        json!({
            "L": cell.trunk, "N": cell.branches, "tokens": cell.tokens, "pairs": cell.pairs,
            "seconds": cell.seconds, "off": cell.seconds / expected - 1.0,
        })
    });
    let rows: Vec<Value> = rows.collect();
    for row in &rows {
        println!("{row}");
    }
    let worst = rows.iter().map(|row| row["off"].as_f64().unwrap().abs());
    json!({
        "mode": "cost", "a": a, "b": b, "worst": worst.fold(0.0, f64::max), "cells": rows,
        "threads": rayon::current_num_threads(), "path": spare_kernels::Path::current().name(),
    })
}
