//! What can go wrong between a checkpoint folder and hidden states?

use std::path::PathBuf;

use crate::checkpoint::{WeightDtype, WeightProblem, human_bytes};

/// Everything that loading or running a model can refuse.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ModelError {
    /// A file could not be read.
    #[error("{}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// A model folder lacks a file that it must have.
    #[error("{}: found no {expected}, expected a model folder with config.json and model.safetensors or model.safetensors.index.json", folder.display())]
    MissingFile {
        /// The folder.
        folder: PathBuf,
        /// The file or files looked for.
        expected: &'static str,
    },
    /// A JSON file does not parse.
    #[error("{place}: not valid JSON: {source}")]
    Json {
        /// The file.
        place: String,
        /// What the parser said.
        source: serde_json::Error,
    },
    /// A configuration field is missing, of the wrong type, or asks for what is not implemented.
    #[error("{place}: {field}: found {found}, expected {expected}")]
    Config {
        /// The file.
        place: String,
        /// Path of the field, with dots.
        field: String,
        /// What stands there.
        found: String,
        /// What may stand there.
        expected: String,
    },
    /// No implementation for this architecture.
    #[error("{place}: architecture: found {found}, expected one of {known}")]
    Architecture {
        /// The file.
        place: String,
        /// The architecture that the file names.
        found: String,
        /// The architectures that load.
        known: String,
    },
    /// A safetensors file or index is not well formed.
    #[error("{file}: {message}")]
    Format {
        /// The file.
        file: String,
        /// What is wrong with it.
        message: String,
    },
    /// The weights are not what the configuration asks for; every problem is listed.
    #[error("{place}: {} problems with the weights:{}", problems.len(), list(problems))]
    Weights {
        /// The checkpoint.
        place: String,
        /// All problems, in the order of the model.
        problems: Vec<WeightProblem>,
    },
    /// A device that cannot be had.
    #[error("device cuda:{number}: found {found}, expected a CUDA device")]
    Device {
        /// Its number.
        number: usize,
        /// What there is instead.
        found: String,
    },
    /// The model does not fit into memory.
    #[error("this model in {dtype} with a context of {tokens} tokens needs {}, found {} available, expected enough; {}", human_bytes(*needed), human_bytes(*available), would_fit(fitting))]
    Memory {
        /// Bytes needed at the peak.
        needed: u64,
        /// Bytes there are.
        available: u64,
        /// The type asked for.
        dtype: WeightDtype,
        /// The context it was estimated for.
        tokens: usize,
        /// Types that would fit.
        fitting: Vec<WeightDtype>,
    },
    /// A picture's grid or values do not fit the vision tower.
    #[error("picture: {what}: found {found}, expected {expected}")]
    Picture {
        /// What was looked at.
        what: &'static str,
        /// What it was.
        found: String,
        /// What it has to be.
        expected: String,
    },
    /// Token ids and pictures do not belong together.
    #[error("prompt: token {token}: found {found}, expected {expected}")]
    Prompt {
        /// Index of the token.
        token: usize,
        /// What stands there.
        found: String,
        /// What may stand there.
        expected: String,
    },
    /// A range or row lies outside of what the call can compute.
    #[error("{what}: found {found}, expected {expected}")]
    Range {
        /// The argument.
        what: &'static str,
        /// Its value.
        found: String,
        /// Its bounds.
        expected: String,
    },
    /// A cache holds something other than the beginning of this prompt.
    #[error("cache: token {token}: found {found}, expected {expected}")]
    Cache {
        /// First token that differs.
        token: usize,
        /// What the cache holds.
        found: String,
        /// What the prompt asks for.
        expected: String,
    },
    /// A computed number is NaN or infinite.
    #[error("{place}: found a number that is not finite, expected finite numbers only")]
    NotFinite {
        /// Where it was seen.
        place: String,
    },
    /// The caller's cancel flag was set.
    #[error("cancelled")]
    Cancelled,
    /// The tensor library refused an operation.
    #[error("tensor operation: {0}")]
    Tensor(#[from] candle_core::Error),
}

fn would_fit(fitting: &[WeightDtype]) -> String {
    if fitting.is_empty() {
        return "no --dtype would fit".into();
    }
    let names: Vec<&str> = fitting.iter().map(|d| d.name()).collect();
    format!("--dtype {} would fit", names.join(" or "))
}

/// At most this many problems are printed; the error value holds all of them.
const PRINTED: usize = 40;

fn list(problems: &[WeightProblem]) -> String {
    let mut out = String::new();
    for problem in problems.iter().take(PRINTED) {
        out.push_str("\n  ");
        out.push_str(&problem.to_string());
    }
    if let Some(more) = problems.len().checked_sub(PRINTED).filter(|&n| n > 0) {
        out.push_str(&format!("\n  and {more} more"));
    }
    out
}
