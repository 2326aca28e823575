//! One event on FOLDER/model and FOLDER/run.json (see `checkpoint.py`): how long, how many tokens, how much memory. Also the rate of a plain
//! prefill. `benches/against/run` puts it beside transformers in one run.
#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod cost;

use std::path::{Path, PathBuf};
use std::time::Instant;

use serde_json::{Value, json};
use spare::replay::PictureRoot;
use spare::{Control, Engine, PruneOptions, Pruner, WeightDtype, formats};
use spare_models::{Checkpoint, KvCache, PreparedPrompt};

/// Resident bytes now and at the most since the mark was last set back.
fn memory() -> (u64, u64) {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let of = |name: &str| -> u64 {
        let line = status.lines().find(|line| line.starts_with(name)).unwrap();
        line.split_whitespace()
            .nth(1)
            .unwrap()
            .parse::<u64>()
            .unwrap()
            << 10
    };
    (of("VmRSS"), of("VmHWM"))
}

fn option(arguments: &[String], name: &str) -> Option<String> {
    let at = arguments.iter().position(|a| a == name)?;
    arguments.get(at + 1).cloned()
}

fn event(folder: &Path, dtype: WeightDtype, plan: Option<&Path>) -> Value {
    let engine = Engine::load(&folder.join("model"), dtype).unwrap();
    let text = std::fs::read_to_string(folder.join("run.json")).unwrap();
    let value = formats::parse(&text).unwrap();
    let run = formats::format_of(&value, None)
        .unwrap()
        .read(&value)
        .unwrap();
    let options = PruneOptions::default();
    let pruner = Pruner::new(engine.into(), options);
    std::fs::write("/proc/self/clear_refs", "5").unwrap();
    let before = memory();
    let start = Instant::now();
    let pruned = pruner
        .prune(&run, &PictureRoot::new(folder), &Control::default())
        .unwrap();
    let seconds = start.elapsed().as_secs_f64();
    let after = memory();
    let outcome = pruned.events.first().expect("the run holds one event");
    let replay = outcome.replay.as_ref().unwrap();
    if let Some(plan) = plan {
        std::fs::write(plan, serde_json::to_string(replay).unwrap()).unwrap();
    }
    let cache = pruner.engine().model().cache_bytes() * replay.trunk.len() as u64;
    let d: Vec<&Vec<f64>> = outcome.scores.segments.iter().map(|s| &s.d_topk).collect();
    json!({
        "peer": "spare", "mode": "event", "dtype": dtype.name(), "threads": rayon::current_num_threads(),
        "path": spare_kernels::Path::current().name(),
        "segments": outcome.scores.segments.iter().map(|s| s.segment).collect::<Vec<_>>(),
        "trunk": replay.trunk.len(), "block": replay.block.len(),
        "seconds": seconds, "pushed": outcome.scores.pushed, "tokens_per_second": outcome.scores.pushed as f64 / seconds,
        "bytes_before": before.0, "bytes_peak": after.1, "cache_bytes": cache, "d_topk": d,
    })
}

fn prefill(folder: &Path, dtype: WeightDtype) -> Value {
    let checkpoint = Checkpoint::open(&folder.join("model")).unwrap();
    let model = spare_models::Model::load(checkpoint, dtype, &candle_core::Device::Cpu).unwrap();
    let mut rates = serde_json::Map::new();
    for tokens in [256_usize, 1024, 4096] {
        let ids = (0..tokens as u32).map(|i| i % 150_000).collect();
        let prompt = PreparedPrompt::new(&model, ids, Vec::new()).unwrap();
        let start = Instant::now();
        let mut cache = KvCache::new();
        model
            .prefill(
                &prompt,
                0..tokens,
                &mut cache,
                &[tokens - 1],
                &Control::none(),
            )
            .unwrap();
        let rate = tokens as f64 / start.elapsed().as_secs_f64();
        rates.insert(tokens.to_string(), rate.into());
    }
    json!({
        "peer": "spare", "mode": "prefill", "dtype": dtype.name(), "threads": rayon::current_num_threads(),
        "path": spare_kernels::Path::current().name(), "tokens_per_second": rates,
    })
}

fn main() {
    // As `spare` does.
    spare::keep_freed_memory();
    let arguments: Vec<String> = std::env::args()
        .skip(1)
        .filter(|a| a != "--bench")
        .collect();
    let [folder, mode, ..] = &arguments[..] else {
        println!(
            "against FOLDER event|prefill|cost [--dtype bf16] [--plan FILE] [--out FILE]: see benches/against/README.md"
        );
        return;
    };
    let dtype = option(&arguments, "--dtype").unwrap_or_else(|| "bf16".into());
    let dtype: WeightDtype = dtype.parse().unwrap();
    let plan = option(&arguments, "--plan").map(PathBuf::from);
    let report = match mode.as_str() {
        "event" => event(Path::new(folder), dtype, plan.as_deref()),
        "cost" => cost::table(Path::new(folder), dtype),
        "prefill" => prefill(Path::new(folder), dtype),
        other => panic!("found {other}, expected event, prefill or cost"),
    };
    if let Some(out) = option(&arguments, "--out") {
        std::fs::write(out, report.to_string()).unwrap();
    }
    let mut short = report;
    for long in ["d_topk", "cells"] {
        short.as_object_mut().unwrap().remove(long);
    }
    println!("{short}");
}
