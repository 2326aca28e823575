//! `spare check`: which rules does a history break? Needs no model.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::Serialize;

use super::input::{Input, check_names};
use super::output::print;
use crate::Error;
use crate::formats::provider::Violation;
use crate::formats::{Checked, Record, check, parse};

/// Name every rule that a history breaks, before or after pruning. Exit code 1 where there is one.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The run: .json, .jsonl, either with .gz or .zst, or - for standard input.
    run: PathBuf,
    /// The wire format of the runs; told from the content without it.
    #[arg(long, value_name = "NAME")]
    format: Option<String>,
    /// Whose rules are asked; `strict`, and without it, every rule known for the format.
    #[arg(long, value_name = "NAME")]
    provider: Option<String>,
    /// Go on behind a record that cannot be read, and name it on standard error.
    #[arg(long)]
    tolerant: bool,
    /// Print one JSON object a violation and nothing else.
    #[arg(long)]
    json: bool,
}

/// One violation's line of `--json`.
#[derive(Serialize)]
struct Line<'a> {
    schema: u32,
    file: &'a str,
    line: usize,
    record: usize,
    #[serde(flatten)]
    violation: &'a Violation,
}

/// What was checked, for people: for each format the records, and whose rules were asked.
#[derive(Default)]
struct Totals {
    formats: BTreeMap<&'static str, (usize, Vec<&'static str>)>,
    records: usize,
    violations: usize,
    unread: usize,
}

/// True where no rule is broken.
pub(crate) fn run(args: &Args) -> Result<bool, Error> {
    check_names(args.format.as_deref(), args.provider.as_deref())?;
    let mut input = Input::open(&args.run, args.format.as_deref())?.tolerant(args.tolerant);
    let file = args.run.display().to_string();
    let mut totals = Totals::default();
    while let Some(record) = input.next()? {
        if record.is_blank() {
            continue;
        }
        let place = input.place(&record);
        let line = record.line;
        match one(args, record) {
            Ok(checked) => {
                let mut out = String::new();
                for violation in &checked.violations {
                    if args.json {
                        let line = Line {
                            schema: 1,
                            file: &file,
                            line,
                            record: totals.records,
                            violation,
                        };
                        out.push_str(&serde_json::json!(line).to_string());
                    } else {
                        out.push_str(&format!("{place}: {violation}"));
                    }
                    out.push('\n');
                }
                if !out.is_empty() {
                    print(out.as_bytes())?;
                }
                totals.add(checked);
            }
            Err(error) if args.tolerant => {
                eprintln!("spare: {place}: {error}");
                totals.unread += 1;
            }
            Err(error) => return Err(error.in_record(place)),
        }
        totals.records += 1;
    }
    if !args.json {
        print(totals.words().as_bytes())?;
    }
    Ok(totals.violations == 0)
}

/// Each piece of memory goes before the next one comes: the record's bytes before the run is read.
fn one(args: &Args, record: Record) -> Result<Checked, Error> {
    let root = parse(record.text()?)?;
    drop(record);
    Ok(check(
        &root,
        args.format.as_deref(),
        args.provider.as_deref(),
    )?)
}

impl Totals {
    fn add(&mut self, checked: Checked) {
        self.violations += checked.violations.len();
        let (count, providers) = self.formats.entry(checked.format).or_default();
        *count += 1;
        *providers = checked.providers;
    }

    fn words(&self) -> String {
        let mut out = String::new();
        for (format, (count, providers)) in &self.formats {
            let rules = match providers.as_slice() {
                [] => "no provider's rules are known, so only its shape was checked".to_owned(),
                names => format!("rules of {}", names.join(", ")),
            };
            out.push_str(&format!("{count} x {format}: {rules}\n"));
        }
        if self.unread > 0 {
            out.push_str(&format!(
                "{} x could not be read: not checked\n",
                self.unread
            ));
        }
        out.push_str(&format!("{} violations\n", self.violations));
        out
    }
}
