//! `spare sft`: a summariser learns from histories and their summaries.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};

use clap::ValueEnum;
use serde_json::Value;
use spare_models::train::LoraSettings;

use super::input::{Input, check_names};
use super::model;
use super::options::{Pictures, set_threads};
use super::output::Output;
use super::train::figures;
use crate::plan::sha256;
use crate::replay::PictureRoot;
use crate::summary::SummaryTool;
use crate::train::sft::{Gallery, Pair, Report, Settings, SummaryToken, Tuning, example};
use crate::{Engine, Error, WeightDtype, formats};

/// Fine-tune the summariser on (history, summary) pairs; a stopped run goes on where its last state stands.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Learn from these: runs of any format with summary calls, or pairs that --collect wrote.
    #[arg(long, value_name = "RUNS", num_args = 1.., required_unless_present = "collect")]
    runs: Vec<PathBuf>,
    /// Write the pairs of these runs to OUT, with their pictures in a folder `img` beside it, and learn nothing.
    #[arg(long, value_name = "RUNS", num_args = 1.., conflicts_with = "runs")]
    collect: Vec<PathBuf>,
    /// The folder for states, loss.csv and the checkpoint; with --collect the file of pairs.
    #[arg(short, long, value_name = "DIR", alias = "output")]
    out: PathBuf,
    /// The checkpoint to start from: a folder of safetensors, or a repository of the Hugging Face Hub.
    #[arg(
        long,
        value_name = "DIR|OWNER/NAME",
        required_unless_present = "collect"
    )]
    model: Option<String>,
    /// The tool whose call carries the summary.
    #[arg(
        long,
        default_value = "summarize_the_task.summary",
        value_name = "NAME[.ARG]"
    )]
    summary_tool: String,
    /// The wire format of the runs; told from the content without it.
    #[arg(long, value_name = "NAME")]
    format: Option<String>,
    /// Where relative picture paths start; the folder of RUNS without it.
    #[arg(long, value_name = "DIR")]
    images_from: Option<PathBuf>,
    /// Whether pictures are looked at, or read as the text `[image]`, which a model without a vision tower needs.
    #[arg(long, value_enum, default_value_t = Pictures::See)]
    pictures: Pictures,
    /// How often every pair is learnt.
    #[arg(long, default_value_t = 3)]
    epochs: usize,
    /// Pairs a step.
    #[arg(long, default_value_t = 8)]
    batch: usize,
    /// The highest learning rate. [default: 2e-5 for whole weights, 2e-4 for adapters]
    #[arg(long)]
    rate: Option<f64>,
    /// Steps until the rate is reached; it then goes down to a tenth along a half cosine.
    #[arg(long, default_value_t = 10)]
    warmup: usize,
    /// Weight decay of matrices.
    #[arg(long, default_value_t = 0.0)]
    decay: f64,
    /// What is trained: the whole text model, the tower as well, or adapters of --rank beside --targets.
    #[arg(long, value_enum, default_value_t = Weights::Text)]
    weights: Weights,
    /// lora: rank of the adapters.
    #[arg(long, default_value_t = 16)]
    rank: usize,
    /// lora: their product counts ALPHA / RANK. [default: twice the rank]
    #[arg(long)]
    alpha: Option<f64>,
    /// lora: layers that get adapters.
    #[arg(
        long,
        value_delimiter = ',',
        default_value = "q_proj,k_proj,v_proj,o_proj,gate_proj,up_proj,down_proj"
    )]
    targets: Vec<String>,
    /// Runs that are held out to measure the loss on, in per cent.
    #[arg(long, default_value_t = 10, value_name = "PERCENT")]
    held_out: usize,
    /// Pairs of more tokens are left out, and named.
    #[arg(long, default_value_t = 8192, value_name = "TOKENS")]
    max_tokens: usize,
    /// Seed of the order, of what is held out and of adapters.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Stop after so many steps.
    #[arg(long)]
    limit: Option<usize>,
    /// Worker threads.
    #[arg(long, value_name = "N")]
    threads: Option<usize>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Weights {
    Text,
    All,
    Lora,
}

/// A pair and the place it was read from.
type Placed = (String, Pair);

pub(crate) fn run(args: &Args) -> Result<(), Error> {
    set_threads(args.threads)?;
    check_names(args.format.as_deref(), None)?;
    if args.collect.is_empty() {
        learn(args)
    } else {
        collect(args)
    }
}

impl Args {
    fn tool(&self) -> Result<SummaryTool, Error> {
        SummaryTool::parse(&self.summary_tool).ok_or_else(|| Error::Option {
            option: "--summary-tool",
            found: format!("`{}`", self.summary_tool),
            expected: "NAME or NAME.ARG".into(),
        })
    }

    /// The pairs of a file, one after the other; what makes none is said.
    fn each(
        &self,
        path: &Path,
        take: &mut dyn FnMut(Placed) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let tool = self.tool()?;
        let folder = path.parent().filter(|p| !p.as_os_str().is_empty());
        let folder = self.images_from.as_deref().or(folder);
        let root = PictureRoot::new(folder.unwrap_or(Path::new(".")));
        let mut input = Input::open(path, self.format.as_deref())?;
        while let Some(record) = input.next()? {
            if record.is_blank() {
                continue;
            }
            let place = input.place(&record);
            let mut one = || -> Result<(), Error> {
                let value: Value = formats::parse(record.text()?)?;
                if Pair::is_pair(&value) {
                    return take((place.clone(), Pair::read(&value, &root, &place)?));
                }
                let run = formats::format_of(&value, self.format.as_deref())?.read(&value)?;
                let found = Pair::of_run(&run, &tool, &root, &place)?;
                for (event, why) in found.skipped {
                    eprintln!(
                        "spare: {place}: summary {event} makes no pair: {}",
                        why.reason()
                    );
                }
                found
                    .pairs
                    .into_iter()
                    .try_for_each(|pair| take((place.clone(), pair)))
            };
            one().map_err(|error| match error {
                error @ Error::Record { .. } => error,
                error => error.in_record(place.clone()),
            })?;
        }
        Ok(())
    }

    fn none(&self, option: &'static str, paths: &[PathBuf]) -> Error {
        let names: Vec<String> = paths.iter().map(|p| p.display().to_string()).collect();
        Error::Option {
            option,
            found: format!("{} without a summary", names.join(", ")),
            expected: format!("runs that call `{}`, or pairs", self.summary_tool),
        }
    }

    fn settings(&self) -> Result<Settings, Error> {
        let wrong = |option, found: String, expected: &str| {
            Err(Error::Option {
                option,
                found,
                expected: expected.into(),
            })
        };
        if self.epochs == 0 {
            return wrong("--epochs", "0".into(), "at least 1");
        }
        if self.batch == 0 {
            return wrong("--batch", "0".into(), "at least 1");
        }
        if self.held_out > 90 {
            return wrong("--held-out", self.held_out.to_string(), "0 to 90");
        }
        let lora = self.weights == Weights::Lora;
        let rate = self.rate.unwrap_or(if lora { 2e-4 } else { 2e-5 });
        if !(rate > 0.0 && rate < 1.0) {
            return wrong("--rate", rate.to_string(), "a number above 0 and below 1");
        }
        let alpha = self.alpha.unwrap_or(2.0 * self.rank as f64);
        Ok(Settings {
            epochs: self.epochs,
            batch: self.batch,
            rate,
            warmup: self.warmup,
            decay: self.decay,
            lora: lora.then(|| LoraSettings {
                rank: self.rank,
                alpha,
                targets: self.targets.clone(),
                seed: self.seed,
            }),
            tower: self.weights == Weights::All,
            seed: self.seed,
            held_out: self.held_out,
        })
    }
}

fn collect(args: &Args) -> Result<(), Error> {
    let folder = args.out.parent().filter(|p| !p.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new("."));
    fs::create_dir_all(folder).map_err(|source| Error::Io {
        path: folder.into(),
        action: "making",
        source,
    })?;
    let mut output = Output::create(&args.out)?;
    let mut written = HashSet::new();
    let (mut pairs, mut runs) = (0usize, HashSet::new());
    for path in &args.collect {
        args.each(path, &mut |(place, pair)| {
            let mut addresses = Vec::new();
            for picture in pair.shown() {
                let bytes = pair.pictures.open(picture)?;
                let name = format!("img/{:.16}.{}", sha256(&bytes), kind(&bytes));
                if written.insert(name.clone()) {
                    write(&folder.join(&name), &bytes)?;
                }
                addresses.push(name);
            }
            output.write(format!("{}\n", pair.to_json(&addresses)).as_bytes())?;
            pairs += 1;
            runs.insert(place);
            Ok(())
        })?;
    }
    if pairs == 0 {
        return Err(args.none("--collect", &args.collect));
    }
    output.finish()?;
    eprintln!(
        "{pairs} pairs of {} runs, {} pictures",
        runs.len(),
        written.len()
    );
    Ok(())
}

/// The usual suffix of a picture's bytes.
fn kind(bytes: &[u8]) -> &'static str {
    match bytes {
        [0x89, b'P', b'N', b'G', ..] => "png",
        [0xFF, 0xD8, ..] => "jpg",
        [
            b'R',
            b'I',
            b'F',
            b'F',
            _,
            _,
            _,
            _,
            b'W',
            b'E',
            b'B',
            b'P',
            ..,
        ] => "webp",
        [b'G', b'I', b'F', ..] => "gif",
        [b'B', b'M', ..] => "bmp",
        _ => "bin",
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

fn learn(args: &Args) -> Result<(), Error> {
    let settings = args.settings()?;
    let base = args.model.clone().unwrap_or_default();
    let start = start(&base)?;
    let engine = Engine::load(&start, WeightDtype::F32)?;
    let engine = match args.pictures {
        Pictures::See => engine,
        Pictures::Placeholder => engine.with_placeholders(),
    };
    let gallery = Gallery::default();
    let (mut examples, mut long, mut tokens) = (Vec::new(), 0usize, [0usize; 2]);
    for path in &args.runs {
        args.each(path, &mut |(place, pair)| {
            let example = example(&engine, &pair, &gallery)?;
            if example.ids.len() > args.max_tokens {
                let found = example.ids.len();
                eprintln!(
                    "spare: {place}: left out: {found} tokens (--max-tokens {})",
                    args.max_tokens
                );
                long += 1;
                return Ok(());
            }
            tokens[0] += example.ids.len();
            tokens[1] += example.learnt.len();
            examples.push((pair.source, example));
            Ok(())
        })?;
    }
    if examples.is_empty() && long == 0 {
        return Err(args.none("--runs", &args.runs));
    }
    eprintln!(
        "{} pairs, {} tokens, {} of them learnt, {long} pairs left out",
        examples.len(),
        tokens[0],
        tokens[1]
    );
    let tuning = Tuning {
        engine: &engine,
        settings,
        examples,
        gallery,
        start,
        base,
    };
    let done = tuning.run(&args.out, args.limit, &|report| {
        if report.step.step.is_multiple_of(10) || report.held_out.is_some() {
            eprintln!("{}", line(report));
        }
    })?;
    let [learnt, held] = done.examples;
    let [steps, now] = done.steps;
    let mut said = format!("{now} of {steps} steps over {learnt} pairs");
    if let Some([before, after]) = done.held_out {
        said += &format!("; loss of {held} pairs held out: {before:.4} before, {after:.4} now");
    }
    eprintln!("{said}");
    Ok(())
}

/// The folder of a checkpoint that can be trained.
fn start(name: &str) -> Result<PathBuf, Error> {
    let refuse = |found: String| Error::Option {
        option: "--model",
        found,
        expected: "a checkpoint folder with safetensors, or owner/name[@revision]".into(),
    };
    let path = Path::new(name);
    if path.is_dir() {
        return Ok(path.to_owned());
    }
    if path.is_file() {
        return Err(refuse(format!("the file `{name}`")));
    }
    if name == "board" {
        return Err(refuse("`board`, which has no folder of its own".into()));
    }
    let (_, snapshot) = model::open(name, None)?;
    snapshot
        .map(|snapshot| snapshot.folder)
        .ok_or_else(|| refuse(format!("`{name}`")))
}

fn line(report: &Report<'_>) -> String {
    let Report {
        steps,
        epoch,
        step,
        seconds,
        held_out,
    } = report;
    let kinds = SummaryToken::ALL.map(|(kind, name)| (kind as u8, name));
    let mut line = format!(
        "{}/{steps} epoch {epoch} {}",
        step.step,
        figures(step, *seconds, &kinds)
    );
    if let Some(loss) = held_out {
        line += &format!(" held out {loss:.4}");
    }
    line
}
