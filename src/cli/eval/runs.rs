//! `spare eval runs`: labelled runs on disk.

use std::path::PathBuf;

use clap::ValueEnum;

use super::write;
use crate::Error;
use crate::eval::text::{Verbosity, Wording};
use crate::eval::{DEV_SEED, Labelled, SECOND_TEST_SEED, TEST_SEED, board, text};

/// Write labelled runs: the same bytes from the same seed everywhere.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// `text`: ordinary language about pictures that nobody sees. `board`: pictures that the embedded checkpoint reads.
    #[arg(value_enum)]
    setting: Setting,
    /// How many.
    #[arg(short = 'n', long, default_value_t = 100)]
    runs: usize,
    /// Dev seeds are for tuning; test runs also say things in ways that no dev run has.
    #[arg(long, value_enum, default_value_t = Split::Dev)]
    split: Split,
    /// How much is said around the values of a `text` run.
    #[arg(long, value_enum, default_value_t = Words::Standard)]
    verbosity: Words,
    /// Summaries of a `text` run name things in words of their own.
    #[arg(long)]
    loose: bool,
    /// The folder for runs.jsonl and its pictures.
    #[arg(short, long, value_name = "DIR")]
    output: PathBuf,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Setting {
    Text,
    Board,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Split {
    Dev,
    Test,
    SecondTest,
}

#[derive(Clone, Copy, ValueEnum)]
enum Words {
    Terse,
    Standard,
    Verbose,
}

pub(super) fn run(args: &Args) -> Result<(), Error> {
    let test = args.split != Split::Dev;
    let seed = match args.split {
        Split::Dev => DEV_SEED,
        Split::Test => TEST_SEED,
        Split::SecondTest => SECOND_TEST_SEED,
    };
    let verbosity = match args.verbosity {
        Words::Terse => Verbosity::Terse,
        Words::Standard => Verbosity::Standard,
        Words::Verbose => Verbosity::Verbose,
    };
    let wording = if args.loose {
        Wording::Loose
    } else {
        Wording::Plain
    };
    let mut lines = String::new();
    for index in 0..args.runs {
        let Labelled { json, pictures } = match args.setting {
            Setting::Text => text::run(seed, index, verbosity, wording, test),
            Setting::Board => board::run(seed, index, test).map_err(|error| Error::Option {
                option: "board",
                found: error.to_string(),
                expected: "a board that can be drawn".into(),
            })?,
        };
        lines.push_str(&json.to_string());
        lines.push('\n');
        for (path, bytes) in pictures {
            write(&args.output.join(path), &bytes)?;
        }
    }
    write(&args.output.join("runs.jsonl"), lines.as_bytes())
}
