//! `spare eval read`: the generated sets and their libraries are a program of their own, so that this one stays small.

use std::path::PathBuf;
use std::process::Command;

use crate::Error;

/// The program that measures.
const PROGRAM: &str = "spare-read-eval";

/// The table of evidence.
#[derive(clap::Args)]
pub(super) struct Args {
    /// Words for `spare-read-eval table`: `--split dev|test`, `--budget TOKENS`, `--set NAME`, `--log FILE`, `--parts`.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    words: Vec<String>,
}

pub(super) fn run(args: &Args) -> Result<(), Error> {
    let beside = std::env::current_exe()
        .ok()
        .and_then(|program| Some(program.parent()?.join(PROGRAM)))
        .filter(|program| program.is_file());
    let program = beside.unwrap_or_else(|| PathBuf::from(PROGRAM));
    let io = |source| Error::Io {
        path: program.clone(),
        action: "starting (cargo build --release -p spare-read-eval makes it)",
        source,
    };
    let mut command = Command::new(&program);
    let status = command
        .arg("table")
        .args(&args.words)
        .status()
        .map_err(io)?;
    if status.success() {
        return Ok(());
    }
    Err(io(std::io::Error::other(format!("it ended with {status}"))))
}
