//! `spare eval board`: an agent acts, every method prunes, the world grades.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use clap::ValueEnum;
use rayon::prelude::*;

use super::{figure, probes, sweep, write};
use crate::cli::options;
use crate::cli::output::print;
use crate::eval::agent::{Method, Played, Player, Set, Table};
use crate::eval::plot::{Mark, Plot};
use crate::eval::world::DEV_SEED;
use crate::{Control, DeviceChoice, Error, WeightDtype};

/// Let an agent act in the world with every way of pruning, and count right answers.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The agent: a checkpoint that was trained for the world (see docs/train).
    #[arg(long, default_value = "board")]
    model: String,
    /// `all`, or names with commas: full, delete-all, evidence-only, random, kl-only, mean, paper, default.
    #[arg(long, default_value = "all", value_delimiter = ',')]
    methods: Vec<String>,
    /// How many episodes.
    #[arg(long, default_value_t = 300)]
    episodes: usize,
    /// The seed of the episodes.
    #[arg(long, default_value_t = DEV_SEED)]
    seed: u64,
    /// `standard`: the agent acts from the start. `conflict`: it goes on behind an opening in which a wrong guess is said again and again.
    #[arg(long, value_enum, default_value_t = Which::Standard)]
    set: Which,
    /// Also look at each last context: which answer is likelier, the right or the stale one, and how much the last turn attends to pictures, layer by
    /// layer. Always done with --set conflict.
    #[arg(long)]
    probe: bool,
    /// Play a grid of settings of the published rule instead of methods, a row each: kappa=1,2 tau=0.1,0.2 k=20 trigger=model,fixed:2,pre-answer.
    #[arg(long, value_name = "NAME=VALUES", num_args = 1..)]
    sweep: Vec<String>,
    /// Worker threads; all cores without it.
    #[arg(long, value_name = "N")]
    threads: Option<usize>,
    /// The folder for the tables, episodes.jsonl, transcripts.txt and the plot of accuracy against tokens removed (SVG, PNG, CSV, JSON).
    #[arg(short, long, value_name = "DIR")]
    output: Option<PathBuf>,
}

#[derive(Clone, Copy, ValueEnum)]
enum Which {
    Standard,
    Conflict,
}

pub(super) fn run(args: &Args) -> Result<(), Error> {
    if let Some(threads) = args.threads {
        spare_models::set_threads(threads);
    }
    let methods = methods(&args.methods)?;
    let settings = sweep::grid(&args.sweep)?;
    let engine = options::load(&args.model, None, WeightDtype::F32, DeviceChoice::Cpu)?;
    let player = Player::new(Arc::new(engine));
    let set = match args.set {
        Which::Standard => Set::Standard,
        Which::Conflict => Set::Conflict,
    };
    if !args.sweep.is_empty() {
        let episodes = (args.seed, args.episodes);
        return sweep::run(&player, set, episodes, &settings, args.output.as_deref());
    }
    let done = AtomicUsize::new(0);
    let played: Result<Vec<Vec<Played>>, Error> = (0..args.episodes)
        .into_par_iter()
        .map(|index| {
            let played = player.play(set, args.seed, index, &methods, &Control::none());
            let done = done.fetch_add(1, Ordering::Relaxed) + 1;
            if done.is_multiple_of(20) || done == args.episodes {
                eprintln!("{done}/{} episodes", args.episodes);
            }
            played
        })
        .collect();
    let played = played?;
    let table = Table::of(&played);
    let looked = args.probe || set == Set::Conflict;
    let probes = looked.then(|| probes::run(&player, set, args.seed, &played));
    let probes = probes.transpose()?;
    if let Some(folder) = &args.output {
        let lines: Vec<String> = played
            .iter()
            .flatten()
            .map(|p| serde_json::json!(p).to_string() + "\n")
            .collect();
        write(&folder.join("episodes.jsonl"), lines.concat().as_bytes())?;
        let all = played.iter().flatten().map(transcript);
        let all = all.collect::<String>();
        write(&folder.join("transcripts.txt"), all.as_bytes())?;
        write(&folder.join("table.csv"), table.csv().as_bytes())?;
        let json = serde_json::json!(table).to_string();
        write(&folder.join("table.json"), json.as_bytes())?;
        let title = format!(
            "Accuracy and tokens removed over {} episodes",
            args.episodes
        );
        figure::save(folder, "accuracy", &plot(&table, title))?;
        if let Some(probes) = &probes {
            write(&folder.join("probes.csv"), probes.csv().as_bytes())?;
            let json = serde_json::json!(probes).to_string();
            write(&folder.join("probes.json"), json.as_bytes())?;
        }
    }
    let probes = probes.map_or(String::new(), |probes| format!("\n{}", probes.text()));
    print((table.text() + &probes).as_bytes())
}

/// Accuracy against reasoning tokens removed, over episodes with a summary.
fn plot(table: &Table, title: String) -> Plot {
    let marks = table.rows.iter().map(|row| Mark {
        name: row.method.name().into(),
        x: row.removed_pruned,
        y: row.accuracy,
    });
    Plot {
        title,
        x: "reasoning tokens removed, %".into(),
        y: "right answers, %, with 95 % intervals".into(),
        marks: marks.collect(),
    }
}

/// A run to be read by people: what stands in the history at its end.
fn transcript(played: &Played) -> String {
    let Played {
        index,
        method,
        answer,
        expected,
        end,
        ..
    } = played;
    let mut out = format!(
        "=== {index} {}: {end}, {answer:?}, expected {expected:?}\n",
        method.name()
    );
    // The system prompt is the same everywhere.
    for message in played.run.messages.iter().skip(1) {
        out.push_str(message.role.name());
        out.push_str(": ");
        if let Some(thought) = message.reasoning_text() {
            out.push_str(&format!("<{thought}> "));
        }
        out.push_str(&message.text());
        for call in &message.calls {
            out.push_str(&format!("{}({})", call.name, call.arguments_text()));
        }
        if message.pictures().next().is_some() {
            out.push_str(" [picture]");
        }
        out.push('\n');
    }
    out
}

fn methods(names: &[String]) -> Result<Vec<Method>, Error> {
    if names == ["all"] {
        return Ok(Method::ALL.to_vec());
    }
    let known = || Method::ALL.map(Method::name).join(", ");
    names
        .iter()
        .map(|name| {
            Method::named(name).ok_or_else(|| Error::Option {
                option: "--methods",
                found: format!("`{name}`"),
                expected: format!("all, or some of {}", known()),
            })
        })
        .collect()
}
