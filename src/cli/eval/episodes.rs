//! `spare eval episodes`: what the world and its expert look like.

use std::path::PathBuf;

use clap::ValueEnum;

use super::write;
use crate::Error;
use crate::eval::world::{DEV_SEED, Environment, Knobs};

/// Write episodes of the world's scripted expert, with pictures.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// How many.
    #[arg(short = 'n', long, default_value_t = 20)]
    episodes: usize,
    /// The seed.
    #[arg(long, default_value_t = DEV_SEED)]
    seed: u64,
    /// `standard`: digits, one to five steps. `wide`: longer values, words and bars, up to eight. `conflict`: a wrong guess that is said again and again.
    #[arg(long, value_enum, default_value_t = Which::Standard)]
    set: Which,
    /// The folder for runs.jsonl and its pictures.
    #[arg(short, long, value_name = "DIR")]
    output: PathBuf,
}

#[derive(Clone, Copy, ValueEnum)]
enum Which {
    Standard,
    Wide,
    Conflict,
}

pub(super) fn run(args: &Args) -> Result<(), Error> {
    let drawn = |error: spare_models::image::ImageError| Error::Option {
        option: "world",
        found: error.to_string(),
        expected: "a board that can be drawn".into(),
    };
    let knobs = match args.set {
        Which::Standard => Knobs::standard(),
        Which::Wide => Knobs::default(),
        Which::Conflict => Knobs::conflict(),
    };
    let mut lines = String::new();
    for index in 0..args.episodes {
        let task = knobs.task(args.seed, index);
        let world = Environment::new(task, args.seed, index).map_err(drawn)?;
        let episode = world.episode(&knobs, args.seed, index).map_err(drawn)?;
        let (run, pictures) = episode.to_openai();
        lines.push_str(&run.to_string());
        lines.push('\n');
        for (path, bytes) in pictures {
            write(&args.output.join(path), &bytes)?;
        }
    }
    write(&args.output.join("runs.jsonl"), lines.as_bytes())
}
