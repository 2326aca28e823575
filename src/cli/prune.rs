//! `spare prune`: runs in, lighter runs and receipts out.

use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::time::Instant;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::input::Input;
use super::options::Common;
use super::output::{Output, print, same_file};
use super::report::{Report, Totals, report};
use super::resume::Resumed;
use crate::formats::Record;
use crate::plan::{Receipt, TextHash};
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
    /// Go on behind a record that cannot be read: it is carried through unchanged, and named on standard error and in the receipt.
    #[arg(long)]
    tolerant: bool,
    /// Mend what can be mended without a choice: half of a surrogate pair becomes U+FFFD, an empty text block that a rule forbids goes. Named in the
    /// receipt; restore takes it back.
    #[arg(long)]
    repair: bool,
    /// Go on where an interrupted prune with the same options stopped; started with it, a prune can be interrupted.
    #[arg(long, requires = "output", conflicts_with = "dry_run")]
    resume: bool,
    /// Print nothing but errors.
    #[arg(short, long)]
    quiet: bool,
}

pub(crate) fn run(args: &Args) -> Result<(), Error> {
    check_paths(args)?;
    // The input is opened before the model is loaded, so that a wrong path fails at once.
    let mut input = args.common.input()?.tolerant(args.tolerant);
    let pruner = args.common.pruner_with(args.repair)?;
    let mut work = Work {
        args,
        pruner: &pruner,
        root: PictureRoot::new(args.common.picture_root()),
        bar: bar(input.size, args.quiet),
        totals: Totals::default(),
        relative: false,
    };
    let mut files = Files::open(args, &pruner, &mut input)?;
    let done = files.done();
    let mut number = done;
    while let Some(record) = input.next()? {
        work.padding(&input, &record);
        if record.is_blank() {
            files.write(args, &[record.prefix(), record.raw(), record.suffix()])?;
        } else {
            let (text, mut receipt) = work.record(&input, &record, number)?;
            receipt.container = Some(input.container());
            let text = text.as_deref().map_or(record.raw(), str::as_bytes);
            files.write(args, &[record.prefix(), text, record.suffix()])?;
            files.receipt(&receipt)?;
            number += 1;
        }
        work.bar.inc(record.len() as u64);
    }
    work.bar.finish_and_clear();
    files.finish()?;
    if args.quiet {
        return Ok(());
    }
    let mut words = work.totals.words();
    if done > 0 {
        words.push_str(&format!(
            "{done} records were done before; the sums leave them out\n"
        ));
    }
    match (&args.output, args.dry_run) {
        (_, true) => words.push_str("dry run: nothing was written\n"),
        (Some(path), false) => {
            let receipt = receipt_path(args).unwrap_or_default();
            words.push_str(&format!(
                "wrote {} and its receipt {}\n",
                path.display(),
                receipt.display()
            ));
        }
        (None, false) => {}
    }
    if let Some(out) = args
        .output
        .as_deref()
        .filter(|_| work.relative && !args.dry_run)
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

/// What prune holds while it goes from record to record.
struct Work<'a> {
    args: &'a Args,
    pruner: &'a Pruner,
    root: PictureRoot,
    bar: ProgressBar,
    totals: Totals,
    relative: bool,
}

impl Work<'_> {
    /// Says that NUL bytes were found, which a crash leaves.
    fn padding(&self, input: &Input, record: &Record) {
        let count = record.nul_bytes();
        if count > 0 && !self.args.quiet {
            let place = input.place(record);
            self.bar
                .suspend(|| eprintln!("spare: {place}: {count} NUL bytes, carried through"));
        }
    }

    /// One record's new text (None leaves it) and its receipt.
    fn record(
        &mut self,
        input: &Input,
        record: &Record,
        number: usize,
    ) -> Result<(Option<String>, Receipt), Error> {
        let started = Instant::now();
        let progress = |p: spare_models::Progress| {
            self.bar
                .set_message(format!("{}/{} tokens", p.done, p.total))
        };
        let control = Control::default().with_progress(&progress);
        let pruned = record
            .text()
            .map_err(Error::from)
            .and_then(|text| self.pruner.prune_text(text, number, &self.root, &control));
        let (line, out) = match pruned {
            Ok((text, receipt, pruned)) => {
                self.relative |= has_relative_pictures(&pruned);
                let mut line = report(number, &pruned, started.elapsed().as_secs_f64());
                line.mends = receipt.mends.iter().map(|mend| mend.what.clone()).collect();
                for mend in line.mends.iter().filter(|_| !self.args.quiet) {
                    let place = input.place(record);
                    self.bar
                        .suspend(|| eprintln!("spare: {place}: mended: {mend}"));
                }
                self.totals.add(&line, &pruned, self.pruner);
                (line, (Some(text), receipt))
            }
            Err(error) if self.args.tolerant && error.is_of_one_record() => {
                let place = input.place(record);
                self.bar
                    .suspend(|| eprintln!("spare: {place}: {error}; carried through unchanged"));
                self.totals
                    .note("could not be read: carried through unchanged");
                let hash = TextHash::of_bytes(record.raw());
                let receipt = Receipt {
                    schema: 1,
                    record: number,
                    before: hash.clone(),
                    after: hash,
                    error: Some(error.to_string()),
                    ..Receipt::default()
                };
                (Report::unread(number, error.to_string()), (None, receipt))
            }
            Err(error) => return Err(error.in_record(input.place(record))),
        };
        if self.args.json && !self.args.quiet {
            print(format!("{}\n", serde_json::json!(line)).as_bytes())?;
        }
        Ok(out)
    }
}

/// Where the runs and the receipts go.
enum Files {
    /// Whole or not at all; each where it is asked for.
    New(Option<Output>, Option<Output>),
    Resumed(Resumed),
}

impl Files {
    fn open(args: &Args, pruner: &Pruner, input: &mut Input) -> Result<Self, Error> {
        if args.dry_run {
            return Ok(Self::New(None, None));
        }
        let receipt = receipt_path(args);
        if let (true, Some(out), Some(receipt)) = (args.resume, &args.output, &receipt) {
            let mut settings = args.common.settings(pruner);
            settings["--tolerant"] = args.tolerant.into();
            settings["--repair"] = args.repair.into();
            return Resumed::start(out, receipt, &settings, input).map(Self::Resumed);
        }
        let create = |path: Option<&Path>| path.map(Output::create).transpose();
        Ok(Self::New(
            create(args.output.as_deref())?,
            create(receipt.as_deref())?,
        ))
    }

    /// Records that an earlier prune did.
    fn done(&self) -> usize {
        match self {
            Self::New(..) => 0,
            Self::Resumed(resumed) => resumed.done,
        }
    }

    fn write(&mut self, args: &Args, pieces: &[&[u8]]) -> Result<(), Error> {
        let out = match self {
            Self::New(Some(out), _) => out,
            Self::Resumed(resumed) => &mut resumed.out,
            Self::New(None, _) if !args.dry_run && !args.json => return print(&pieces.concat()),
            Self::New(None, _) => return Ok(()),
        };
        pieces.iter().try_for_each(|piece| out.write(piece))?;
        out.record_done()
    }

    fn receipt(&mut self, receipt: &Receipt) -> Result<(), Error> {
        let out = match self {
            Self::New(_, Some(out)) => out,
            Self::Resumed(resumed) => &mut resumed.receipts,
            Self::New(_, None) => return Ok(()),
        };
        let line = serde_json::to_string(receipt).map_err(|e| Error::Receipt {
            place: "receipt".into(),
            message: e.to_string(),
        })?;
        out.write(format!("{line}\n").as_bytes())?;
        out.record_done()
    }

    /// The receipt first: OUT never stands without it.
    fn finish(self) -> Result<(), Error> {
        match self {
            Self::New(out, receipts) => {
                receipts.map(Output::finish).transpose()?;
                out.map(Output::finish).transpose().map(|_| ())
            }
            Self::Resumed(resumed) => resumed.finish(),
        }
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

fn bar(size: Option<u64>, quiet: bool) -> ProgressBar {
    let hidden = quiet || !std::io::stderr().is_terminal();
    let target = if hidden {
        ProgressDrawTarget::hidden()
    } else {
        ProgressDrawTarget::stderr()
    };
    let bar = ProgressBar::with_draw_target(size, target);
    if let Ok(style) =
        ProgressStyle::with_template("{bar:30} {bytes}/{total_bytes} {elapsed} {msg}")
    {
        bar.set_style(style);
    }
    bar.enable_steady_tick(std::time::Duration::from_millis(200));
    bar
}
