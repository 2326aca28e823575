//! How long does a checkpoint take to load, and how much memory at its peak?
//!
//! ```text
//! cargo run --release -p spare-models --example measure_load -- DIR|FILE.gguf [auto|f32|bf16|f16|q8_0|q4_k]
//! ```
//!
//! Anonymous memory is sampled from /proc, so the peak is printed on Linux only. For a warm page cache run it twice.

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use spare_models::{Checkpoint, Device, Model, WeightDtype, human_bytes};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1);
    let path = args
        .next()
        .ok_or("usage: measure_load DIR|FILE.gguf [DTYPE]")?;
    let dtype: WeightDtype = args.next().unwrap_or_else(|| "auto".into()).parse()?;
    let before = anonymous().unwrap_or(0);
    let (peak, done) = (AtomicU64::new(0), AtomicBool::new(false));
    let (model, took) = std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                peak.fetch_max(anonymous().unwrap_or(0), Ordering::Relaxed);
                std::thread::sleep(Duration::from_millis(5));
            }
        });
        let started = Instant::now();
        let model = Checkpoint::open(Path::new(&path))
            .and_then(|checkpoint| Model::load(checkpoint, dtype, &Device::Cpu));
        let took = started.elapsed();
        done.store(true, Ordering::Relaxed);
        (model, took)
    });
    let about = model?.describe();
    println!("{about}");
    println!("loaded in {:.2} s", took.as_secs_f64());
    let peak = peak.into_inner().saturating_sub(before);
    if peak > 0 {
        let part = peak as f64 / about.weight_bytes as f64;
        println!(
            "peak of anonymous memory {}, {:.3} of the weights' {}",
            human_bytes(peak),
            part,
            human_bytes(about.weight_bytes)
        );
    }
    Ok(())
}

/// Bytes of anonymous memory of this process.
fn anonymous() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("RssAnon:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib * 1024)
}
