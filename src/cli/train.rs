//! `spare train`: a checkpoint learns from the world.

use std::fs;
use std::path::PathBuf;

use spare_models::train::Step;

use crate::Error;
use crate::train::{Recipe, Report, TokenKind, run as train};

/// Train a checkpoint by a recipe; a stopped run goes on where its last checkpoint stands.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The recipe, JSON.
    recipe: PathBuf,
    /// The checkpoint folder to start from.
    #[arg(long, value_name = "DIR")]
    start: PathBuf,
    /// The folder for the run's states, loss.csv and the checkpoint.
    #[arg(short, long, value_name = "DIR")]
    output: PathBuf,
    /// Stop after so many steps.
    #[arg(long)]
    limit: Option<usize>,
    /// Worker threads.
    #[arg(long)]
    threads: Option<usize>,
}

pub(crate) fn run(args: &Args) -> Result<(), Error> {
    if let Some(threads) = args.threads {
        spare_models::set_threads(threads);
    }
    let text = fs::read_to_string(&args.recipe).map_err(|source| Error::Io {
        path: args.recipe.clone(),
        action: "reading",
        source,
    })?;
    let recipe = Recipe::read(&text)?;
    train(&recipe, &args.start, &args.output, args.limit, &|report| {
        if report.step.step.is_multiple_of(10) {
            eprintln!("{}", line(report));
        }
    })
}

fn line(report: &Report<'_>) -> String {
    let Report {
        stage,
        steps,
        step,
        seconds,
    } = report;
    let kinds = TokenKind::LEARNT.map(|(kind, name)| (kind as u8, name));
    format!(
        "{stage} {}/{steps} {}",
        step.step,
        figures(step, *seconds, &kinds)
    )
}

/// What a step of any training came to: loss, rate, norm, tokens a second, and of each kind of token the share that was right.
pub(super) fn figures(step: &Step, seconds: f64, kinds: &[(u8, &str)]) -> String {
    let mut line = format!(
        "loss {:.4} rate {:.1e} norm {:.2} {:.0} tok/s",
        step.outcome.loss,
        step.rate,
        step.norm,
        step.outcome.tokens as f64 / seconds
    );
    for (kind, name) in kinds {
        if let Some((right, all)) = step.outcome.right.get(kind) {
            line += &format!(" {name} {:.3}", *right as f64 / (*all).max(1) as f64);
        }
    }
    line
}
