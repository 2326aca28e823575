//! `spare eval rules`: every rule on labelled runs, side by side.

use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::scored::{measured, subjects};
use super::write;
use crate::cli::options::{Pictures, load, set_threads};
use crate::cli::output::print;
use crate::eval::{
    Case, Contender, Row, Yardsticks, at_survival, contenders, outcomes, report, row, yardstick,
};
use crate::plan::PlanOptions;
use crate::replay::PictureRoot;
use crate::score::{LocalScorer, surprise};
use crate::{DeviceChoice, Engine, Error, WeightDtype};

/// Every rule on labelled runs, side by side.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Labelled runs, as `spare eval runs` writes them.
    runs: PathBuf,
    /// `board`, a checkpoint folder or a GGUF file.
    #[arg(long, default_value = "board")]
    model: String,
    /// Weights in memory.
    #[arg(long, default_value = "auto")]
    dtype: WeightDtype,
    /// Whether pictures are looked at, or read as the text `[image]`.
    #[arg(long, value_enum, default_value_t = Pictures::See)]
    pictures: Pictures,
    /// Worker threads; all cores without it.
    #[arg(long, value_name = "N")]
    threads: Option<usize>,
    /// Where the numbers of every replay are kept; an interrupted measurement goes on from there. [default: RUNS.scores.jsonl]
    #[arg(long, value_name = "FILE")]
    scores: Option<PathBuf>,
    /// Write rules.json, rules.csv and rules.svg there.
    #[arg(short, long, value_name = "DIR")]
    output: Option<PathBuf>,
    /// Print JSON instead of a table.
    #[arg(long)]
    json: bool,
    /// Compare all rules where each keeps at least this share of the needed facts.
    #[arg(long, default_value_t = 0.99)]
    survival: f64,
    /// Hold the plans for the first N runs against what the model wrote afterwards.
    #[arg(long, value_name = "N", default_value_t = 0)]
    yardstick: usize,
    /// Name what this rule gets wrong, case by case, instead of the table.
    #[arg(long, value_name = "RULE")]
    failures: Option<String>,
}

pub(super) fn run(args: &Args) -> Result<(), Error> {
    set_threads(args.threads)?;
    let subjects = subjects(&args.runs)?;
    let engine = load(&args.model, None, args.dtype, DeviceChoice::Auto)?;
    let engine = Arc::new(match args.pictures {
        Pictures::See => engine,
        Pictures::Placeholder => engine.with_placeholders(),
    });
    let root = PictureRoot::new(args.runs.parent().unwrap_or(Path::new(".")));
    let store = args.scores.clone().unwrap_or_else(|| {
        let mut name = args.runs.clone().into_os_string();
        name.push(".scores.jsonl");
        name.into()
    });
    let by_id: HashMap<_, _> = subjects.iter().map(|s| (s.id().to_owned(), s)).collect();
    let mut cases = Vec::new();
    for found in measured(&engine, &subjects, &root, &store)? {
        if let Some(subject) = by_id.get(&found.id)
            && let Some(case) = Case::new(subject, found)?
        {
            cases.push(case);
        }
    }
    let known = RefCell::new(HashMap::<String, usize>::new());
    let count = |text: &str| {
        if let Some(found) = known.borrow().get(text) {
            return *found;
        }
        let found = engine.count(text);
        known.borrow_mut().insert(text.to_owned(), found);
        found
    };
    let all = contenders();
    if let Some(name) = &args.failures {
        let named = all.iter().find(|c| c.name.trim() == name);
        let contender = named.ok_or_else(|| Error::Option {
            option: "--failures",
            found: format!("`{name}`"),
            expected: "the name of a rule in the table".into(),
        })?;
        return print(failures(&cases, contender, &count).as_bytes());
    }
    let mut rows: Vec<Row> = all.iter().map(|c| row(&cases, c, &count)).collect();
    for (contender, row) in all.iter().zip(&mut rows) {
        row.at_survival = at_survival(&cases, contender, row, args.survival, &count);
    }
    let yardsticks = hold(&engine, &cases, &all, args.yardstick, &root)?;
    let about = report::About::of(&cases, args.survival);
    if let Some(folder) = &args.output {
        let json = report::json(&about, &rows, &yardsticks);
        write(&folder.join("rules.json"), json.as_bytes())?;
        write(&folder.join("rules.csv"), report::csv(&rows).as_bytes())?;
        write(&folder.join("rules.svg"), report::svg(&rows).as_bytes())?;
    }
    let text = if args.json {
        report::json(&about, &rows, &yardsticks)
    } else {
        report::table(&about, &rows, &yardsticks)
    };
    print(text.as_bytes())
}

/// The yardsticks of the complete summary and the first omission of the first `runs` runs.
fn hold(
    engine: &Arc<Engine>,
    cases: &[Case<'_>],
    all: &[Contender],
    runs: usize,
    root: &PictureRoot,
) -> Result<Yardsticks, Error> {
    let mut out = Yardsticks::default();
    let mut seen = BTreeSet::new();
    let mut ids = BTreeSet::new();
    let count = |text: &str| engine.count(text);
    for case in cases {
        let name = case.variant.name.as_str();
        ids.insert(case.subject.id());
        if ids.len() > runs
            || !matches!(name, "complete" | "omit")
            || !seen.insert((case.subject.id(), name))
        {
            continue;
        }
        let mut found = Vec::new();
        for contender in all {
            let options = PlanOptions {
                keep_atoms: contender.keep_atoms,
                ..PlanOptions::default()
            };
            let outcome = case.decide(contender.rule.as_ref(), contender.kl, &options, &count);
            found.push((contender, outcome));
        }
        let found: Vec<_> = found.iter().map(|(c, o)| (*c, o)).collect();
        let mut scorer = LocalScorer::new(Arc::clone(engine));
        out.push(yardstick(engine, &mut scorer, case, &found, root)?);
    }
    Ok(out)
}

/// Every error of one rule, with the segment, the summary and what was known of each value.
fn failures(cases: &[Case<'_>], contender: &Contender, count: &dyn Fn(&str) -> usize) -> String {
    let mut out = String::new();
    let found = outcomes(cases, contender, contender.rule.as_ref(), count);
    for (case, outcome) in cases.iter().zip(&found) {
        let mut say = |what: &str, value: &str, segment: usize| {
            let text = case.subject.segments.get(segment).map_or("", |s| &s.text);
            out.push_str(&format!(
                "{} {} ({}): {what} {value:?}\n  in: {text}\n  summary: {}\n",
                case.subject.id(),
                case.variant.name,
                case.measured.variant,
                case.variant.text.replace('\n', " / ")
            ));
            let scored = case.measured.scores.segments.iter();
            for s in scored.filter(|s| s.segment == segment) {
                for a in &s.atoms {
                    let own = s.logp.get(a.tokens.clone()).unwrap_or_default();
                    let value = text.get(a.start..a.end).unwrap_or("");
                    out.push_str(&format!(
                        "    {value}: stated {}, shown {}, says {:?}, student {:.2}, residual {:.2}, prior {:.2} nats\n",
                        a.stated,
                        a.shown,
                        a.says,
                        surprise(own),
                        a.residual(),
                        a.prior()
                    ));
                }
            }
        };
        for segment in &outcome.segments {
            for (what, value) in &segment.errors {
                say(what, value, segment.segment);
            }
        }
        for fact in outcome.needed.iter().filter(|f| !f.survives) {
            let value = case.subject.labels.facts.get(fact.fact);
            let value = value.map_or("", |f| f.value.as_str());
            for s in &case.measured.scores.segments {
                let text = case.subject.segments.get(s.segment).map_or("", |s| &s.text);
                if crate::trajectory::occurs(text, value) {
                    say("lost", value, s.segment);
                }
            }
        }
    }
    out
}
