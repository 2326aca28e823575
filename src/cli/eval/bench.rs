//! `spare eval bench`: a model acts on a published benchmark, pruned in several ways.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::ValueEnum;
use indicatif::{ProgressBar, ProgressStyle};
use serde_json::Value;

use super::{figure, write};
use crate::cli::input::Input;
use crate::cli::options::{load, set_threads};
use crate::cli::output::print;
use crate::eval::act::{Actor, Scored, Standings, parse};
use crate::eval::bench::{Answer, BenchPlayer, BenchTask, Kind, Outcome, Replayed, take};
use crate::replay::PictureRoot;
use crate::rules::{Covered, Mean, Paper, Rule};
use crate::{Control, DeviceChoice, Engine, Error, PruneOptions, Pruner, WeightDtype, formats};

/// Let a model act on a published benchmark with several ways of pruning, and grade its answers.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Which benchmark the folder holds.
    #[arg(long, value_enum)]
    kind: KindName,
    /// The folder, as it is published; see docs/benchmarks.md for what to download.
    folder: PathBuf,
    /// The agent: `board`, a checkpoint folder, a GGUF file, or a repository of the Hugging Face Hub.
    #[arg(
        long,
        value_name = "board|DIR|FILE.gguf|OWNER/NAME[@REVISION]",
        required_unless_present = "check"
    )]
    model: Option<String>,
    /// The vision tower of a GGUF model, a file of its own.
    #[arg(long, value_name = "FILE")]
    mmproj: Option<PathBuf>,
    /// Weights in memory.
    #[arg(
        long,
        default_value = "auto",
        value_name = "auto|f32|bf16|f16|q8_0|q4_k"
    )]
    dtype: WeightDtype,
    /// Where to compute.
    #[arg(long, default_value = "auto", value_name = "auto|cpu|cuda:N")]
    device: DeviceChoice,
    /// Ways of pruning, with commas: full, paper, mean, default. Differences are against the first.
    #[arg(long, value_delimiter = ',', default_value = "full,paper,default")]
    methods: Vec<String>,
    /// Only the first N tasks.
    #[arg(long, value_name = "N")]
    tasks: Option<usize>,
    /// Recorded runs, of any format: calls that cannot run here are answered with what they brought there. A run belongs to the task of its id, or
    /// to the one whose question it begins with.
    #[arg(long, value_name = "RUNS", num_args = 1..)]
    recorded: Vec<PathBuf>,
    /// Turns that a task may take.
    #[arg(long, default_value_t = 16)]
    turns: usize,
    /// Tokens that a turn may have.
    #[arg(long, default_value_t = 1024)]
    max_tokens: usize,
    /// Only read the folder and say what it holds.
    #[arg(long)]
    check: bool,
    /// Worker threads; all cores without it.
    #[arg(long, value_name = "N")]
    threads: Option<usize>,
    /// The folder for bench.csv, bench.json, outcomes.jsonl and the plot.
    #[arg(short, long, value_name = "DIR")]
    output: Option<PathBuf>,
}

#[derive(Clone, Copy, ValueEnum)]
enum KindName {
    Gta,
    Vstar,
    Jigsaw,
    Visualtoolbench,
    Mnms,
}

impl KindName {
    fn kind(self) -> Kind {
        match self {
            Self::Gta => Kind::Gta,
            Self::Vstar => Kind::VStar,
            Self::Jigsaw => Kind::Jigsaw,
            Self::Visualtoolbench => Kind::VisualToolBench,
            Self::Mnms => Kind::Mnms,
        }
    }
}

pub(super) fn run(args: &Args) -> Result<(), Error> {
    set_threads(args.threads)?;
    let names = args.methods.iter();
    let rules: Vec<(String, Option<Arc<dyn Rule>>)> = names
        .map(|name| Ok((name.clone(), rule(name)?)))
        .collect::<Result<_, Error>>()?;
    let mut tasks = args.kind.kind().load(&args.folder)?;
    for path in &args.recorded {
        let taken = record(path, &mut tasks)?;
        eprintln!(
            "{}: {} of {} runs belong to a task",
            path.display(),
            taken[0],
            taken[1]
        );
    }
    tasks.truncate(args.tasks.unwrap_or(usize::MAX));
    if args.check {
        return print(about(args.kind.kind(), &tasks).as_bytes());
    }
    let model = args.model.as_deref().unwrap_or_default();
    let engine = Arc::new(load(
        model,
        args.mmproj.as_deref(),
        args.dtype,
        args.device,
    )?);
    let methods: Vec<(String, Option<Pruner>)> = rules
        .into_iter()
        .map(|(name, rule)| (name, rule.map(|rule| pruner(&engine, rule))))
        .collect();
    let player = BenchPlayer {
        actor: Actor {
            engine,
            turns: args.turns,
            max_tokens: args.max_tokens,
            root: PictureRoot::new(&args.folder),
            parse,
        },
    };
    let bar = ProgressBar::new(tasks.len() as u64);
    if let Ok(style) = ProgressStyle::with_template("{bar:30} {pos}/{len} tasks, {eta} left") {
        bar.set_style(style);
    }
    let (mut scored, mut lines, mut replayed) = (Vec::new(), String::new(), Replayed::default());
    for task in &tasks {
        let played = player.play(task, &methods, &Control::none());
        let played = played.map_err(|error| error.in_record(format!("task {}", task.id)))?;
        for outcome in &played {
            lines += &(serde_json::json!(outcome).to_string() + "\n");
            let own = outcome.replayed;
            replayed.exact += own.exact;
            replayed.near += own.near;
            replayed.run += own.run;
            replayed.missed += own.missed;
        }
        let graded: Option<Vec<Scored>> = played
            .into_iter()
            .map(|Outcome { right, scored, .. }| right.map(|_| scored))
            .collect();
        scored.extend(graded);
        bar.inc(1);
    }
    bar.finish_and_clear();
    let names: Vec<String> = methods.iter().map(|(name, _)| name.clone()).collect();
    let standings = Standings::of(&names, &scored);
    let name = args.kind.kind().name();
    if let Some(folder) = &args.output {
        let json = serde_json::json!({"kind": name, "standings": standings, "calls": replayed});
        write(&folder.join("bench.json"), format!("{json}\n").as_bytes())?;
        write(&folder.join("bench.csv"), standings.csv().as_bytes())?;
        write(&folder.join("outcomes.jsonl"), lines.as_bytes())?;
        figure::save(
            folder,
            "accuracy",
            &standings.plot(format!("{name}, {} tasks", scored.len())),
        )?;
    }
    let ungraded = tasks.len() - scored.len();
    let Replayed {
        exact,
        near,
        run,
        missed,
    } = replayed;
    let calls = format!(
        "calls: {exact} answered as recorded, {near} by the same tool's record, {run} run here, {missed} without a result; {ungraded} tasks not graded\n"
    );
    print((standings.text() + &calls).as_bytes())
}

fn pruner(engine: &Arc<Engine>, rule: Arc<dyn Rule>) -> Pruner {
    let options = PruneOptions {
        rule,
        ..PruneOptions::default()
    };
    Pruner::new(Arc::clone(engine), options)
}

fn rule(name: &str) -> Result<Option<Arc<dyn Rule>>, Error> {
    Ok(match name {
        "full" => None,
        "paper" => Some(Arc::new(Paper::published())),
        "mean" => Some(Arc::new(Mean::default())),
        "default" => Some(Arc::new(Covered::default())),
        other => {
            return Err(Error::Option {
                option: "--methods",
                found: format!("`{other}`"),
                expected: "some of full, paper, mean, default".into(),
            });
        }
    })
}

/// Runs that a task took, and all of the file.
fn record(path: &Path, tasks: &mut [BenchTask]) -> Result<[usize; 2], Error> {
    let mut input = Input::open(path, None)?;
    let mut out = [0; 2];
    while let Some(record) = input.next()? {
        if record.is_blank() {
            continue;
        }
        let read = || -> Result<_, Error> {
            let value: Value = formats::parse(record.text()?)?;
            Ok(formats::format_of(&value, None)?.read(&value)?)
        };
        let run = read().map_err(|error| error.in_record(input.place(&record)))?;
        out[0] += usize::from(take(tasks, &run));
        out[1] += 1;
    }
    Ok(out)
}

/// What a folder holds.
fn about(kind: Kind, tasks: &[BenchTask]) -> String {
    let pictures: usize = tasks.iter().map(|t| t.pictures.len()).sum();
    let graded = tasks
        .iter()
        .filter(|t| t.answer != Answer::Ungraded)
        .count();
    let recorded: usize = tasks.iter().map(|t| t.recorded.len()).sum();
    let first = tasks.first().map(|t| format!("{}: {}", t.id, t.question));
    format!(
        "{}: {} tasks, {graded} of them graded, {pictures} pictures, {recorded} recorded calls\nfirst: {}\n",
        kind.name(),
        tasks.len(),
        first.unwrap_or_default()
    )
}
