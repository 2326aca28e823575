//! `spare eval`: labelled runs, and what the rules make of them.

use std::fs;
use std::path::{Path, PathBuf};

use clap::{Subcommand, ValueEnum};

use crate::Error;
use crate::eval::text::Verbosity;
use crate::eval::{DEV_SEED, Labelled, TEST_SEED, board, text};

/// Make labelled runs, and measure rules on them.
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    /// Write labelled runs: the same bytes from the same seed everywhere.
    Runs(RunsArgs),
    /// Replay labelled runs under all of their summaries: one JSON object a run and summary, every pass.
    Score(ScoreArgs),
}

#[derive(clap::Args)]
struct ScoreArgs {
    /// Labelled runs.
    runs: PathBuf,
    /// `board`, a checkpoint folder or a GGUF file.
    #[arg(long, default_value = "board")]
    model: String,
    /// Weights in memory.
    #[arg(long, default_value = "auto")]
    dtype: crate::WeightDtype,
    /// Read pictures as the text `[image]`.
    #[arg(long)]
    blind: bool,
    /// Where the numbers go; lines that are there are kept, so that an interrupted measurement goes on.
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
}

#[derive(clap::Args)]
struct RunsArgs {
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
}

#[derive(Clone, Copy, ValueEnum)]
enum Words {
    Terse,
    Standard,
    Verbose,
}

pub(crate) fn run(args: &Args) -> Result<(), Error> {
    match &args.what {
        What::Runs(args) => runs(args),
        What::Score(args) => score(args),
    }
}

fn runs(args: &RunsArgs) -> Result<(), Error> {
    let test = args.split == Split::Test;
    let seed = if test { TEST_SEED } else { DEV_SEED };
    let verbosity = match args.verbosity {
        Words::Terse => Verbosity::Terse,
        Words::Standard => Verbosity::Standard,
        Words::Verbose => Verbosity::Verbose,
    };
    let mut lines = String::new();
    for index in 0..args.runs {
        let Labelled { json, pictures } = match args.setting {
            Setting::Text => text::run(seed, index, verbosity, test),
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

fn score(args: &ScoreArgs) -> Result<(), Error> {
    use std::io::{BufRead, Write};
    let io = |path: &Path, action| {
        let path = path.to_owned();
        move |source| Error::Io {
            path,
            action,
            source,
        }
    };
    let engine = super::options::load(&args.model, None, args.dtype, crate::DeviceChoice::Auto)?;
    let engine = if args.blind {
        engine.with_placeholders()
    } else {
        engine
    };
    let engine = std::sync::Arc::new(engine);
    let root = crate::replay::PictureRoot::new(args.runs.parent().unwrap_or(Path::new(".")));
    let text = fs::read_to_string(&args.runs).map_err(io(&args.runs, "reading"))?;
    let mut done = std::collections::HashSet::new();
    if let Ok(file) = fs::File::open(&args.output) {
        for line in std::io::BufReader::new(file).lines().map_while(Result::ok) {
            if let Ok(m) = serde_json::from_str::<crate::eval::Measured>(&line) {
                done.insert((m.id, m.variant));
            }
        }
    }
    let mut out = fs::OpenOptions::new()
        .create(true)
        .append(true)
        .open(&args.output)
        .map_err(io(&args.output, "writing"))?;
    for line in text.lines().filter(|l| !l.trim().is_empty()) {
        let subject = crate::eval::Subject::read(crate::formats::parse(line)?)?;
        let mut scorer = crate::score::LocalScorer::new(std::sync::Arc::clone(&engine));
        for variant in 0..subject.labels.variants.len() {
            if done.contains(&(subject.id().to_owned(), variant)) {
                continue;
            }
            if let Some(measured) = subject.measure(&engine, &mut scorer, variant, &root)? {
                writeln!(out, "{}", serde_json::json!(measured))
                    .map_err(io(&args.output, "writing"))?;
            }
        }
    }
    Ok(())
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
