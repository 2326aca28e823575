//! `spare eval read`: the generated sets and their libraries are a program of their own, so that this one stays small.

use std::path::PathBuf;
use std::process::Command;

use crate::Error;

/// The program that measures.
const PROGRAM: &str = "spare-read-eval";

/// The table of all sets with the baselines, or one command of the program that measures.
#[derive(clap::Args)]
pub(super) struct Args {
    /// `--split dev|test`, `--budget TOKENS`, `--fixed TOKENS`; or a command of `spare-read-eval` with its words (`table`, `agent`, `speed`, ...).
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
    let named = args
        .words
        .first()
        .is_some_and(|word| !word.starts_with('-'));
    if !named {
        command.arg("all");
    }
    let status = command.args(&args.words).status().map_err(io)?;
    if status.success() {
        return Ok(());
    }
    Err(io(std::io::Error::other(format!("it ended with {status}"))))
}
