//! The command line over the public API. Exit codes: 0 done, 2 an error; a closed pipe is not an error.

mod doctor;
mod explain;
mod input;
mod options;
mod output;
mod prune;
mod restore;
mod score;
mod shade;

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
    Prune(prune::Args),
    /// Print the divergence of every reasoning token, one JSON object an event.
    Score(score::Args),
    /// Show every segment, its tokens shaded by divergence, its verdict, the reason and what replaces it.
    Explain(explain::Args),
    /// Bring the original back, byte for byte.
    Restore(restore::Args),
    /// Show the device, threads, CPU features and the checkpoint.
    Doctor(doctor::Args),
}

/// Runs the program on the process's arguments.
pub fn main() -> ExitCode {
    let result = match Cli::parse().verb {
        Verb::Prune(args) => prune::run(&args),
        Verb::Score(args) => score::run(&args),
        Verb::Explain(args) => explain::run(&args),
        Verb::Restore(args) => restore::run(&args),
        Verb::Doctor(args) => doctor::run(&args),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
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
