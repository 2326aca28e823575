//! `spare doctor`: what this machine and this build have, and what a checkpoint is before a weight of it is read.

use std::fmt::Write as _;
use std::path::PathBuf;

use spare_models::{Companions, DeviceChoice, Inspection, available_memory, human_bytes};

use super::model::open;
use super::options::load;
use super::output::print;
use crate::{Error, WeightDtype};

/// Show the device, threads, CPU features and a checkpoint. Reads headers only; exit 1 where something is missing.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// `board`, a checkpoint folder, a GGUF file or a repository of the Hugging Face Hub.
    #[arg(
        default_value = "board",
        value_name = "board|DIR|FILE.gguf|OWNER/NAME[@REVISION]"
    )]
    model: String,
    /// The same as MODEL.
    #[arg(long = "model", value_name = "MODEL", conflicts_with = "model")]
    named: Option<String>,
    /// The vision tower of a GGUF model.
    #[arg(long, value_name = "FILE")]
    mmproj: Option<PathBuf>,
    /// Tokens of context that the memory is estimated for.
    #[arg(long, default_value_t = 4096, value_name = "N")]
    tokens: usize,
}

/// False where the checkpoint lacks something.
pub(crate) fn run(args: &Args) -> Result<bool, Error> {
    let mut out = machine();
    let model = args.named.as_deref().unwrap_or(&args.model);
    let sound = if model == "board" {
        board(&mut out)?;
        true
    } else {
        checkpoint(&mut out, model, args)?
    };
    print(out.as_bytes())?;
    Ok(sound)
}

fn machine() -> String {
    let mut out = format!("spare {}\n", env!("CARGO_PKG_VERSION"));
    let device = match DeviceChoice::Cuda(0).open() {
        Ok(_) => "cuda:0".to_owned(),
        Err(error) => format!("cpu ({error})"),
    };
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let memory = available_memory().map_or("not told by this system".into(), human_bytes);
    let _ = writeln!(
        out,
        "device: {device}\nthreads: {cores}\nmemory available: {memory}"
    );
    let _ = writeln!(out, "cpu features: {}", features().join(" "));
    let path = spare_kernels::Path::current();
    let rounds = if path.multiplies_bf16() {
        " (bf16 by bf16: beside weights in bf16 activations are rounded to bf16 too)"
    } else {
        ""
    };
    let _ = writeln!(out, "kernels: {path}{rounds}");
    out
}

/// The compiled-in checkpoint is small enough to be loaded whole.
fn board(out: &mut String) -> Result<(), Error> {
    let engine = load("board", None, WeightDtype::Auto, DeviceChoice::Cpu)?;
    let card = engine.card();
    let _ = write!(
        out,
        "checkpoint: {}\n  {}\n  weights sha256 {}\n  template sha256 {}\n  resizer {}\n",
        card.name,
        engine.describe(),
        card.weights,
        card.template,
        card.resizer
    );
    #[cfg(feature = "embedded-model")]
    {
        out.push_str("\ncard of the embedded checkpoint\n\n");
        out.push_str(spare_models::embedded::CARD);
    }
    Ok(())
}

fn checkpoint(out: &mut String, model: &str, args: &Args) -> Result<bool, Error> {
    let (checkpoint, source) = open(model, args.mmproj.as_deref())?;
    let about = checkpoint.inspect()?;
    let commit = source.map(|snapshot| format!(" at commit {}", snapshot.commit));
    let _ = writeln!(out, "checkpoint: {model}{}", commit.unwrap_or_default());
    describe(out, &about, args.tokens);
    let mut missing: Vec<String> = about.problems.iter().map(ToString::to_string).collect();
    if let Err(error) = Companions::of(&checkpoint, about.sees) {
        missing.push(error.to_string());
    }
    for file in &about.without_data {
        let _ = writeln!(
            out,
            "  note: {file} ends with its header: enough to describe the model, not to load it"
        );
    }
    for what in &missing {
        let _ = writeln!(out, "  wrong: {what}");
    }
    if missing.is_empty() {
        out.push_str("  nothing is missing\n");
    }
    Ok(missing.is_empty())
}

fn describe(out: &mut String, about: &Inspection, tokens: usize) {
    let stored: Vec<String> = about
        .stored
        .iter()
        .map(|(name, count)| format!("{count} in {name}"))
        .collect();
    let _ = writeln!(out, "  family: {}", about.family);
    let _ = writeln!(
        out,
        "  parameters: {} ({:.2} B); tensors: {}",
        about.parameters,
        about.parameters as f64 / 1e9,
        stored.join(", ")
    );
    let _ = writeln!(
        out,
        "  {} layers of width {}, vocabulary of {}",
        about.layers, about.hidden_size, about.vocab_size
    );
    if let Some((count, each)) = about.experts {
        let _ = writeln!(out, "  experts: {count}, {each} for each token");
    }
    let pictures = if about.sees {
        "yes"
    } else {
        "no vision tower: --pictures placeholder"
    };
    let _ = writeln!(out, "  pictures: {pictures}");
    let context = about
        .context
        .map_or("not said".into(), |n| format!("{n} tokens"));
    let _ = writeln!(
        out,
        "  context length: {context}; KV cache {} a token",
        human_bytes(about.cache_bytes)
    );
    let available = available_memory();
    let _ = writeln!(out, "  memory with a context of {tokens} tokens:");
    for dtype in WeightDtype::ALL {
        let needed = about.peak_bytes(dtype, tokens);
        let fits = match available {
            Some(available) if needed > available => ", does not fit",
            Some(_) => ", fits",
            None => "",
        };
        let _ = writeln!(
            out,
            "    --dtype {:5} {:>10}, weights {:>10}{fits}",
            dtype.name(),
            human_bytes(needed),
            human_bytes(about.weight_bytes(dtype))
        );
    }
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
