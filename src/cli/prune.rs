//! `spare prune`: runs in, lighter runs and receipts out.

use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::time::Instant;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde::Serialize;

use super::input::Input;
use super::options::Common;
use super::output::{Output, print, same_file};
use crate::plan::Verdict;
use crate::replay::PictureRoot;
use crate::{Control, Error, Pruned, Pruner};

/// Forget the reasoning that a task-state summary already covers; keep the rest as evidence.
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    common: Common,
    /// Where the pruned runs go; standard output without it.
    #[arg(short, long, value_name = "OUT")]
    output: Option<PathBuf>,
    /// Where the receipt goes. [default: OUT.receipt.jsonl]
    #[arg(long, value_name = "FILE")]
    receipt: Option<PathBuf>,
    /// Print one JSON object a record to standard output.
    #[arg(long)]
    json: bool,
    /// Decide, but write nothing.
    #[arg(long)]
    dry_run: bool,
    /// Print nothing but errors.
    #[arg(short, long)]
    quiet: bool,
}

#[derive(Default, Serialize)]
struct Tokens {
    reasoning: usize,
    evidence: usize,
    summary: usize,
    pushed: u64,
    predicted: u64,
}

#[derive(Default, Serialize)]
struct Segments {
    delete: usize,
    evidence: usize,
    keep: usize,
    frozen: usize,
    invisible: usize,
}

#[derive(Default, Serialize)]
struct Atoms {
    only_in_reasoning: usize,
    lost: Vec<String>,
}

/// One record's line of `--json`.
#[derive(Default, Serialize)]
struct Report {
    schema: u32,
    record: usize,
    events: usize,
    tokens: Tokens,
    segments: Segments,
    atoms: Atoms,
    seconds: f64,
}

/// Sums over the file, for people.
#[derive(Default)]
struct Totals {
    runs: usize,
    events: usize,
    /// Tokens of reasoning that was decided on.
    reasoning: usize,
    /// Of it, tokens of text that was replaced.
    replaced: usize,
    /// Tokens that replaced it.
    written: usize,
    /// Tokens of reasoning behind the last event of a run, which nothing decided on.
    later: usize,
    notes: Vec<(String, usize)>,
    lost: usize,
}

pub(crate) fn run(args: &Args) -> Result<(), Error> {
    check_paths(args)?;
    // The input is opened before the model is loaded, so that a wrong path fails at once.
    let mut input = Input::open(&args.common.run)?;
    let pruner = args.common.pruner()?;
    let root = PictureRoot::new(args.common.picture_root());
    let (mut out, mut receipts) = (None, None);
    if let (Some(path), false) = (&args.output, args.dry_run) {
        out = Some(Output::create(path)?);
    }
    if let (Some(path), false) = (receipt_path(args), args.dry_run) {
        receipts = Some(Output::create(&path)?);
    }
    let bar = bar(input.size, args.quiet);
    let mut totals = Totals::default();
    let mut relative = false;
    while let Some(record) = input.next()? {
        let bytes = record.prefix.len() + record.text.len() + record.suffix.len();
        let text = if record.is_blank() {
            record.text
        } else {
            let place = input.place(&record);
            let started = Instant::now();
            let progress = |p: spare_models::Progress| {
                bar.set_message(format!("{}/{} tokens", p.done, p.total))
            };
            let control = Control::default().with_progress(&progress);
            let (text, receipt, pruned) = pruner
                .prune_text(&record.text, totals.runs, &root, &control)
                .map_err(|error| error.in_record(place))?;
            if let Some(receipts) = &mut receipts {
                let line = serde_json::to_string(&receipt).map_err(|e| Error::Receipt {
                    place: "receipt".into(),
                    message: e.to_string(),
                })?;
                receipts.write(format!("{line}\n").as_bytes())?;
            }
            relative |= has_relative_pictures(&pruned);
            let report = report(totals.runs, &pruned, started.elapsed().as_secs_f64());
            if args.json && !args.quiet {
                print(format!("{}\n", serde_json::json!(report)).as_bytes())?;
            }
            totals.add(&report, &pruned, &pruner);
            text
        };
        let whole = [record.prefix, text.into_bytes(), record.suffix].concat();
        match &mut out {
            Some(out) => out.write(&whole)?,
            None if !args.dry_run && !args.json => print(&whole)?,
            None => {}
        }
        bar.inc(bytes as u64);
    }
    bar.finish_and_clear();
    // The receipt first: OUT never stands without it.
    receipts.map(Output::finish).transpose()?;
    out.map(Output::finish).transpose()?;
    if args.quiet {
        return Ok(());
    }
    let mut words = totals.words(args);
    if let Some(out) = args.output.as_deref().filter(|_| relative && !args.dry_run)
        && !same_folder(out, &args.common.run)
    {
        words.push_str(
            "picture paths in the output are still relative to the folder of the input\n",
        );
    }
    if !args.json && (args.output.is_some() || args.dry_run) {
        print(words.as_bytes())
    } else {
        eprint!("{words}");
        Ok(())
    }
}

fn check_paths(args: &Args) -> Result<(), Error> {
    let run = &args.common.run;
    let refuse = |option, path: &Path, expected: &str| {
        Err(Error::Option {
            option,
            found: format!("`{}`", path.display()),
            expected: expected.into(),
        })
    };
    if let Some(out) = &args.output
        && (out == run || same_file(out, run))
    {
        return refuse("-o", out, "another file than RUN");
    }
    if let Some(receipt) = receipt_path(args) {
        if receipt == *run || same_file(&receipt, run) {
            return refuse("--receipt", &receipt, "another file than RUN");
        }
        if args
            .output
            .as_deref()
            .is_some_and(|out| *out == receipt || same_file(out, &receipt))
        {
            return refuse("--receipt", &receipt, "another file than OUT");
        }
    }
    if args.json && args.output.is_none() && !args.dry_run {
        return Err(Error::Option {
            option: "--json",
            found: "neither -o nor --dry-run".into(),
            expected: "-o OUT for the runs, since the report takes standard output, or --dry-run"
                .into(),
        });
    }
    Ok(())
}

fn receipt_path(args: &Args) -> Option<PathBuf> {
    args.receipt.clone().or_else(|| {
        let mut path = args.output.clone()?.into_os_string();
        path.push(".receipt.jsonl");
        Some(path.into())
    })
}

fn same_folder(a: &Path, b: &Path) -> bool {
    let folder = |path: &Path| {
        path.parent()
            .filter(|p| !p.as_os_str().is_empty())
            .unwrap_or(Path::new("."))
            .canonicalize()
            .ok()
    };
    folder(a) == folder(b)
}

fn has_relative_pictures(pruned: &Pruned) -> bool {
    let mut pictures = pruned.history.messages.iter().flat_map(|m| m.pictures());
    pictures.any(|p| matches!(p.source, crate::trajectory::PictureSource::Path(_)))
}

fn bar(size: u64, quiet: bool) -> ProgressBar {
    let hidden = quiet || !std::io::stderr().is_terminal();
    let target = if hidden {
        ProgressDrawTarget::hidden()
    } else {
        ProgressDrawTarget::stderr()
    };
    let bar = ProgressBar::with_draw_target(Some(size), target);
    if let Ok(style) =
        ProgressStyle::with_template("{bar:30} {bytes}/{total_bytes} {elapsed} {msg}")
    {
        bar.set_style(style);
    }
    bar.enable_steady_tick(std::time::Duration::from_millis(200));
    bar
}

fn report(record: usize, pruned: &Pruned, seconds: f64) -> Report {
    let mut report = Report {
        schema: 1,
        record,
        events: pruned.events.len(),
        seconds,
        ..Report::default()
    };
    for event in &pruned.events {
        report.tokens.reasoning += event.plan.reasoning_tokens();
        report.tokens.evidence += event.plan.evidence_tokens;
        report.tokens.summary += event.plan.summary_tokens;
        report.tokens.pushed += event.scores.pushed;
        report.tokens.predicted += event.scores.predicted;
        report.atoms.only_in_reasoning += event.plan.survival.only_in_reasoning;
        report
            .atoms
            .lost
            .extend(event.plan.survival.lost.iter().cloned());
        for segment in &event.plan.segments {
            *match segment.verdict {
                Verdict::Delete => &mut report.segments.delete,
                Verdict::Evidence => &mut report.segments.evidence,
                Verdict::Keep => &mut report.segments.keep,
                Verdict::Frozen => &mut report.segments.frozen,
                Verdict::Invisible => &mut report.segments.invisible,
            } += 1;
        }
    }
    report
}

impl Totals {
    fn add(&mut self, report: &Report, pruned: &Pruned, pruner: &Pruner) {
        self.runs += 1;
        self.events += report.events;
        self.lost += report.atoms.lost.len();
        self.written += report.tokens.evidence + report.tokens.summary;
        for segment in pruned.events.iter().flat_map(|e| &e.plan.segments) {
            self.reasoning += segment.tokens;
            self.replaced += if segment.text.is_some() {
                segment.tokens
            } else {
                0
            };
        }
        let decided: Vec<usize> = pruned
            .events
            .iter()
            .flat_map(|e| e.event.candidates.iter().copied())
            .collect();
        let later = pruned
            .segments
            .iter()
            .filter(|s| !decided.contains(&s.index));
        self.later += later.map(|s| pruner.engine().count(&s.text)).sum::<usize>();
        if pruned.segments.is_empty() && pruned.events.is_empty() {
            self.note("has no reasoning: unchanged");
        } else if pruned.events.is_empty() {
            self.note("has no summary call: unchanged (give --summary to prune it)");
        }
        for event in &pruned.events {
            if let Some(why) = &event.skipped {
                self.note(&format!("event left as it is: {why}"));
            }
        }
    }

    fn note(&mut self, text: &str) {
        match self.notes.iter_mut().find(|(known, _)| known == text) {
            Some((_, count)) => *count += 1,
            None => self.notes.push((text.to_owned(), 1)),
        }
    }

    fn words(&self, args: &Args) -> String {
        let went = self.replaced as i64 - self.written as i64;
        let percent = |part: i64, whole: usize| {
            if whole == 0 {
                0.0
            } else {
                100.0 * part as f64 / whole as f64
            }
        };
        let kept = self.reasoning - self.replaced;
        let mut out = format!("{} runs, {} events\n", self.runs, self.events);
        out.push_str(&format!(
            "reasoning before the events: {} tokens; {went} went ({:.1} %), {} stayed ({kept} as they were, {} as evidence)\n",
            self.reasoning,
            percent(went, self.reasoning),
            self.reasoning as i64 - went,
            self.written,
        ));
        if self.later > 0 {
            let whole = self.reasoning + self.later;
            out.push_str(&format!(
                "reasoning of whole runs: {whole} tokens; {:.1} % went\n",
                percent(went, whole)
            ));
        }
        if self.lost > 0 {
            out.push_str(&format!(
                "{} values stand nowhere any more; the receipt names them\n",
                self.lost
            ));
        }
        for (note, count) in &self.notes {
            out.push_str(&format!("{count} x {note}\n"));
        }
        match (&args.output, args.dry_run) {
            (_, true) => out.push_str("dry run: nothing was written\n"),
            (Some(path), false) => {
                let receipt = receipt_path(args)
                    .map(|p| p.display().to_string())
                    .unwrap_or_default();
                out.push_str(&format!(
                    "wrote {} and its receipt {receipt}\n",
                    path.display()
                ));
            }
            (None, false) => {}
        }
        out
    }
}
