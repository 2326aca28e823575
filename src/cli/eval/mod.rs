//! `spare eval`: labelled runs, and what the rules make of them.

mod bench;
mod board;
mod episodes;
mod figure;
mod future;
mod omissions;
mod probes;
mod reading;
mod rules;
mod runs;
mod scored;
mod sweep;

use std::fs;
use std::path::Path;

use clap::Subcommand;

use crate::Error;

/// Make labelled runs, and measure rules on them.
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    /// Let a model act on a published benchmark with several ways of pruning, and grade its answers.
    Bench(Box<bench::Args>),
    /// Let an agent act in the world with every way of pruning, and count right answers.
    Board(board::Args),
    /// Write episodes of the world's scripted expert, with pictures.
    Episodes(episodes::Args),
    /// Write labelled runs: the same bytes from the same seed everywhere.
    Runs(runs::Args),
    /// Every rule on labelled runs, side by side: what is lost, what is kept for nothing, what goes.
    Rules(Box<rules::Args>),
    /// Leave one segment after the other out of a run, and measure what that does to what the model wrote afterwards.
    Future(Box<future::Args>),
    /// Leave one statement after the other out of a run's summary: which verdicts change, and which values are lost?
    Omissions(Box<omissions::Args>),
    /// Evidence that `spare read` returns against known spans: the table of `spare-read-eval`, the program beside this one.
    Read(reading::Args),
}

pub(crate) fn run(args: &Args) -> Result<(), Error> {
    match &args.what {
        What::Bench(args) => bench::run(args),
        What::Board(args) => board::run(args),
        What::Episodes(args) => episodes::run(args),
        What::Runs(args) => runs::run(args),
        What::Rules(args) => rules::run(args),
        What::Future(args) => future::run(args),
        What::Omissions(args) => omissions::run(args),
        What::Read(args) => reading::run(args),
    }
}

fn write(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    let io = |source| Error::Io {
        path: path.into(),
        action: "writing",
        source,
    };
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).map_err(io)?;
    }
    fs::write(path, bytes).map_err(io)
}

fn read(path: &Path) -> Result<String, Error> {
    fs::read_to_string(path).map_err(|source| Error::Io {
        path: path.into(),
        action: "reading",
        source,
    })
}
