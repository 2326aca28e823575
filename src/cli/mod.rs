//! The command line over the public API. Exit codes: 0 done, 1 a check found something, 2 an error; a closed pipe is not an error.
//! Without the engine there is no model: `check`, `restore` and `read` remain.

mod check;
mod compression;
#[cfg(feature = "engine")]
mod decided;
#[cfg(feature = "engine")]
mod doctor;
#[cfg(feature = "engine")]
mod eval;
#[cfg(feature = "engine")]
mod explain;
#[cfg_attr(not(feature = "engine"), allow(dead_code))]
mod input;
#[cfg(feature = "engine")]
mod model;
#[cfg(feature = "engine")]
mod models;
#[cfg(feature = "engine")]
mod options;
#[cfg_attr(not(feature = "engine"), allow(dead_code))]
mod output;
#[cfg(feature = "engine")]
mod prune;
mod read;
mod read_hook;
mod read_mask;
#[cfg(feature = "mcp")]
mod read_mcp;
mod read_receipt;
#[cfg(feature = "engine")]
mod report;
mod restore;
#[cfg(feature = "engine")]
mod resume;
#[cfg(feature = "engine")]
mod rule;
#[cfg(feature = "engine")]
mod score;
#[cfg(feature = "train")]
mod sft;
#[cfg(feature = "engine")]
mod shade;
#[cfg(feature = "train")]
mod train;

use std::ffi::OsString;
use std::io;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::Error;

/// Prunes the reasoning of multimodal agent runs and keeps the visual evidence.
#[derive(Parser)]
#[command(name = "spare", version, about, max_term_width = 110)]
struct Cli {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    /// Forget the reasoning that a task-state summary already covers; keep the rest as evidence.
    #[cfg(feature = "engine")]
    Prune(prune::Args),
    /// Print the divergence of every reasoning token, one JSON object an event.
    #[cfg(feature = "engine")]
    Score(score::Args),
    /// Show every segment, its tokens shaded by divergence, its verdict, the reason and what replaces it.
    #[cfg(feature = "engine")]
    Explain(explain::Args),
    /// Make labelled runs, and measure rules on them.
    #[cfg(feature = "engine")]
    Eval(eval::Args),
    /// Train a checkpoint by a recipe; a stopped run goes on where its last checkpoint stands.
    #[cfg(feature = "train")]
    Train(train::Args),
    /// Fine-tune the summariser on (history, summary) pairs of runs.
    #[cfg(feature = "train")]
    Sft(Box<sft::Args>),
    /// Name every rule that a history breaks, before or after pruning.
    Check(check::Args),
    /// Bring the original back, byte for byte.
    Restore(restore::Args),
    /// Preview a large file or folder, and read it in small, anchored pieces.
    Read(read::Args),
    /// List the architectures that load and the checkpoints in the cache of the Hugging Face Hub.
    #[cfg(feature = "engine")]
    Models(models::Args),
    /// Show the device, threads, CPU features and the checkpoint.
    #[cfg(feature = "engine")]
    Doctor(doctor::Args),
}

/// Runs the program on the process's arguments.
pub fn main() -> ExitCode {
    #[cfg(feature = "engine")]
    crate::keep_freed_memory();
    run(std::env::args_os())
}

/// Runs the program on arguments, the first of which is its name. Prints to standard output and standard error, and returns the exit code.
pub fn run(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    let cli = match Cli::try_parse_from(args) {
        Ok(cli) => cli,
        Err(error) => {
            // Help goes to standard output and is no error.
            let code = u8::try_from(error.exit_code()).unwrap_or(2);
            let _ = error.print();
            return ExitCode::from(code);
        }
    };
    let done = |result: Result<(), Error>| result.map(|()| true);
    let result = match cli.verb {
        #[cfg(feature = "engine")]
        Verb::Prune(args) => done(prune::run(&args)),
        #[cfg(feature = "engine")]
        Verb::Score(args) => done(score::run(&args)),
        #[cfg(feature = "engine")]
        Verb::Explain(args) => done(explain::run(&args)),
        #[cfg(feature = "engine")]
        Verb::Eval(args) => done(eval::run(&args)),
        #[cfg(feature = "train")]
        Verb::Train(args) => done(train::run(&args)),
        #[cfg(feature = "train")]
        Verb::Sft(args) => done(sft::run(&args)),
        Verb::Check(args) => check::run(&args),
        Verb::Restore(args) => done(restore::run(&args)),
        Verb::Read(args) => read::run(&args),
        #[cfg(feature = "engine")]
        Verb::Models(args) => done(models::run(&args)),
        #[cfg(feature = "engine")]
        Verb::Doctor(args) => doctor::run(&args),
    };
    match result {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(error) if is_closed_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("spare: {error}");
            ExitCode::from(2)
        }
    }
}

fn is_closed_pipe(error: &Error) -> bool {
    matches!(error, Error::Io { source, .. } if source.kind() == io::ErrorKind::BrokenPipe)
}
