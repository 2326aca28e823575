//! `spare doctor`: what this machine and this build have.

use super::options::{Dtype, load};
use super::output::print;
use crate::Error;

/// Show the device, threads, CPU features and the checkpoint.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// `board`, a checkpoint folder or a repository of the Hugging Face Hub.
    #[arg(
        long,
        default_value = "board",
        value_name = "board|DIR|OWNER/NAME[@REVISION]"
    )]
    model: String,
}

pub(crate) fn run(args: &Args) -> Result<(), Error> {
    let mut out = format!("spare {}\n", env!("CARGO_PKG_VERSION"));
    out.push_str("device: cpu\n");
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    out.push_str(&format!("threads: {cores}\n"));
    out.push_str(&format!("cpu features: {}\n", features().join(" ")));
    let engine = load(&args.model, Dtype::Auto)?;
    let card = engine.card();
    let commit = card.revision.map(|commit| format!(" at commit {commit}"));
    out.push_str(&format!(
        "checkpoint: {}{}\n  {}\n  weights sha256 {}\n  template sha256 {}\n  resizer {}\n",
        card.name,
        commit.unwrap_or_default(),
        engine.describe(),
        card.weights,
        card.template,
        card.resizer
    ));
    #[cfg(feature = "embedded-model")]
    if args.model == "board" {
        out.push_str("\ncard of the embedded checkpoint\n\n");
        out.push_str(spare_models::embedded::CARD);
    }
    print(out.as_bytes())
}

fn features() -> Vec<&'static str> {
    let mut out = Vec::new();
    #[cfg(target_arch = "x86_64")]
    {
        macro_rules! probe {
            ($($name:tt),*) => { $(if std::arch::is_x86_feature_detected!($name) { out.push($name); })* };
        }
        probe!(
            "avx2",
            "fma",
            "f16c",
            "avx512f",
            "avx512bw",
            "avx512vnni",
            "avx512bf16",
            "avx512fp16"
        );
    }
    #[cfg(target_arch = "aarch64")]
    {
        macro_rules! probe {
            ($($name:tt),*) => { $(if std::arch::is_aarch64_feature_detected!($name) { out.push($name); })* };
        }
        probe!("neon", "dotprod", "fp16", "bf16", "i8mm");
    }
    if out.is_empty() {
        out.push("none known");
    }
    out
}
