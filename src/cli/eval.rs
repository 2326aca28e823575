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
    /// Every rule on the same cases, side by side.
    Rules(RulesArgs),
}

#[derive(clap::Args)]
struct RulesArgs {
    /// Labelled runs.
    runs: PathBuf,
    /// Their numbers, as `spare eval score` writes them.
    scores: PathBuf,
    /// The model they were measured with: its tokenizer counts.
    #[arg(long, default_value = "board")]
    model: String,
    /// Print JSON.
    #[arg(long)]
    json: bool,
    /// Hold the plans of N runs against what the model wrote afterwards: one JSON object a case.
    #[arg(long, value_name = "N")]
    yardstick: Option<usize>,
    /// Read pictures as the text `[image]`.
    #[arg(long)]
    blind: bool,
    /// Name what this rule got wrong, case by case.
    #[arg(long, value_name = "RULE")]
    failures: Option<String>,
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
        What::Rules(args) => rules(args),
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
            Setting::Text if args.loose => text::loose(seed, index, verbosity, test),
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

fn rules(args: &RulesArgs) -> Result<(), Error> {
    use crate::eval::{Case, Measured, Subject, at_survival, contenders, row};
    let io = |path: &Path| {
        let path = path.to_owned();
        move |source| Error::Io {
            path,
            action: "reading",
            source,
        }
    };
    let engine = super::options::load(
        &args.model,
        None,
        crate::WeightDtype::F32,
        crate::DeviceChoice::Auto,
    )?;
    let mut subjects = std::collections::HashMap::new();
    for line in fs::read_to_string(&args.runs)
        .map_err(io(&args.runs))?
        .lines()
    {
        let subject = Subject::read(crate::formats::parse(line)?)?;
        subjects.insert(subject.id().to_owned(), subject);
    }
    let mut cases = Vec::new();
    for line in fs::read_to_string(&args.scores)
        .map_err(io(&args.scores))?
        .lines()
    {
        let Ok(measured) = serde_json::from_str::<Measured>(line) else {
            continue;
        };
        if let Some(subject) = subjects.get(&measured.id)
            && let Some(case) = Case::new(subject, measured)?
        {
            cases.push(case);
        }
    }
    let known = std::cell::RefCell::new(std::collections::HashMap::<String, usize>::new());
    let count = |text: &str| {
        if let Some(found) = known.borrow().get(text) {
            return *found;
        }
        let found = engine.count(text);
        known.borrow_mut().insert(text.to_owned(), found);
        found
    };
    let mut rows = Vec::new();
    let all = contenders();
    if let Some(runs) = args.yardstick {
        let root = crate::replay::PictureRoot::new(args.runs.parent().unwrap_or(Path::new(".")));
        let engine = if args.blind {
            engine.with_placeholders()
        } else {
            engine
        };
        let engine = std::sync::Arc::new(engine);
        let count = |text: &str| engine.count(text);
        let mut seen = std::collections::HashSet::new();
        for case in &cases {
            let first = seen.insert((case.subject.id(), case.variant.name.clone()));
            let wanted = first && matches!(case.variant.name.as_str(), "complete" | "omit");
            if !wanted
                || seen
                    .iter()
                    .map(|s| s.0)
                    .collect::<std::collections::HashSet<_>>()
                    .len()
                    > runs
            {
                continue;
            }
            let mut found = Vec::new();
            for contender in &all {
                let options = crate::plan::PlanOptions {
                    keep_atoms: contender.keep_atoms,
                    ..Default::default()
                };
                found.push((
                    contender,
                    case.decide(contender.rule.as_ref(), contender.kl, &options, &count),
                ));
            }
            let found: Vec<_> = found.iter().map(|(c, o)| (*c, o)).collect();
            let mut scorer = crate::score::LocalScorer::new(std::sync::Arc::clone(&engine));
            let measured = crate::eval::yardstick(&engine, &mut scorer, case, &found, &root)?;
            println!("{}", serde_json::json!(measured));
        }
        return Ok(());
    }
    if let Some(name) = &args.failures {
        let Some(contender) = all.iter().find(|c| c.name == *name) else {
            return Err(Error::Option {
                option: "--failures",
                found: format!("`{name}`"),
                expected: "the name of a rule".into(),
            });
        };
        let found = crate::eval::outcomes(&cases, contender, contender.rule.as_ref(), &count);
        for (case, outcome) in cases.iter().zip(&found) {
            let say = |what: &str, value: &str, segment: usize| {
                let text = case.subject.segments.get(segment).map_or("", |s| &s.text);
                println!(
                    "{} {} {}: {what} {value:?}\n    in: {text}\n    summary: {}",
                    case.subject.id(),
                    case.measured.variant,
                    case.variant.name,
                    case.variant.text.replace('\n', " / ")
                );
                for s in case
                    .measured
                    .scores
                    .segments
                    .iter()
                    .filter(|s| s.segment == segment)
                {
                    for a in &s.atoms {
                        let own = s.logp.get(a.tokens.clone()).unwrap_or_default();
                        println!(
                            "      {:?} stated {} shown {} says {:?} s {:.2} residual {:.2} prior {:.2} instead {:?}",
                            text.get(a.start..a.end).unwrap_or(""),
                            a.stated,
                            a.shown,
                            a.says,
                            crate::score::surprise(own),
                            a.residual(),
                            a.prior(),
                            a.instead
                        );
                    }
                }
            };
            for segment in &outcome.segments {
                for (what, value) in &segment.errors {
                    say(what, value, segment.segment);
                }
            }
            for fact in outcome.needed.iter().filter(|f| !f.survives) {
                let value = case
                    .subject
                    .labels
                    .facts
                    .get(fact.fact)
                    .map_or("", |f| &f.value);
                println!(
                    "{} {} {}: lost {value:?}",
                    case.subject.id(),
                    case.measured.variant,
                    case.variant.name
                );
                for s in &case.measured.scores.segments {
                    let text = case.subject.segments.get(s.segment).map_or("", |s| &s.text);
                    if crate::trajectory::occurs(text, value) {
                        say("lost in", value, s.segment);
                    }
                }
            }
        }
        return Ok(());
    }
    for contender in &all {
        rows.push(row(&cases, contender, &count));
    }
    let target = rows.first().map_or(0.99, |r| r.survival.value);
    for (contender, row) in all.iter().zip(&mut rows) {
        row.at_survival = at_survival(&cases, contender, row, target, &count);
    }
    if args.json {
        println!("{}", serde_json::json!(rows));
        return Ok(());
    }
    let p = |e: crate::eval::Estimate| {
        format!(
            "{:5.1} [{:5.1} {:5.1}]",
            100.0 * e.value,
            100.0 * e.low,
            100.0 * e.high
        )
    };
    println!("{} cases", cases.len());
    for r in &rows {
        println!(
            "{:14} omit {} cov {} corr {} stale {} gone {} surv {} rem {} all {} flipO {} flipA {} auc {:.3}/{:.3} ap {:.3}/{:.3} eq {:?} n {:?} {} {} {}",
            r.rule,
            p(r.omitted_sensitive),
            p(r.covered_deleted),
            p(r.corrected_deleted),
            p(r.stale_unwritten),
            p(r.stale_gone),
            p(r.survival),
            p(r.removed_complete),
            p(r.removed),
            p(r.flips_omitted),
            p(r.flips_added),
            r.segments.auc,
            r.atoms.auc,
            r.segments.average_precision,
            r.atoms.average_precision,
            r.at_survival,
            r.atoms.counts,
            r.omitted_sensitive.n,
            r.covered_deleted.n,
            r.stale_unwritten.n
        );
    }
    Ok(())
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
