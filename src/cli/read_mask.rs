//! `spare read mask RUN -o OUT`: old tool results become one line each, with the anchors that fetch what they showed.

use std::path::PathBuf;

use super::input::Input;
use super::output::{Output, print, same_file};
use crate::Error;
use crate::plan::{KEPT, mask_observations};

/// Old tool results as one line each, with the anchors that fetch what they showed; `spare restore` undoes it.
#[derive(clap::Args)]
pub(super) struct Args {
    /// The run, or a file of runs.
    run: PathBuf,
    /// Where the masked runs go; the receipt lies beside it (OUT.receipt.jsonl).
    #[arg(short, long, value_name = "OUT")]
    output: PathBuf,
    /// The last tool results, which stay.
    #[arg(long, default_value_t = KEPT, value_name = "N")]
    keep: usize,
    /// The format of the runs, where it is not to be told from the content.
    #[arg(long, value_name = "NAME")]
    format: Option<String>,
}

pub(super) fn run(args: &Args) -> Result<(), Error> {
    let format = args.format.as_deref();
    super::input::check_names(format, None)?;
    let receipt_path = {
        let mut path = args.output.clone().into_os_string();
        path.push(".receipt.jsonl");
        PathBuf::from(path)
    };
    if [&args.output, &receipt_path]
        .into_iter()
        .any(|out| *out == args.run || same_file(out, &args.run))
    {
        return Err(Error::Option {
            option: "-o",
            found: format!("`{}`", args.output.display()),
            expected: "another file than RUN".into(),
        });
    }
    let mut input = Input::open(&args.run, format)?;
    let (mut out, mut receipts) = (
        Output::create(&args.output)?,
        Output::create(&receipt_path)?,
    );
    let (mut number, mut masked, mut anchors) = (0, 0, 0);
    let (mut before, mut after) = (0, 0);
    while let Some(record) = input.next()? {
        if record.is_blank() {
            out.write(&[record.prefix(), record.raw(), record.suffix()].concat())?;
            continue;
        }
        let place = input.place(&record);
        let (text, mut receipt) = record
            .text()
            .map_err(Error::from)
            .and_then(|text| mask_observations(text, number, args.keep, format))
            .map_err(|error| error.in_record(place))?;
        receipt.container = Some(input.container());
        out.write(record.prefix())?;
        out.write(text.as_bytes())?;
        out.write(record.suffix())?;
        out.record_done()?;
        let line = serde_json::to_string(&receipt).map_err(|error| Error::Receipt {
            place: receipt_path.display().to_string(),
            message: error.to_string(),
        })?;
        receipts.write(format!("{line}\n").as_bytes())?;
        receipts.record_done()?;
        masked += receipt.masked.len();
        anchors += receipt
            .masked
            .iter()
            .map(|one| one.anchors.len())
            .sum::<usize>();
        before += receipt.before.bytes;
        after += receipt.after.bytes;
        number += 1;
    }
    // The receipt first: OUT never stands without it.
    receipts.finish()?;
    out.finish()?;
    print(
        format!(
            "{number} runs: {masked} tool results masked, {anchors} anchors kept, {before} bytes became {after}\nwrote {} and its receipt {}\n",
            args.output.display(),
            receipt_path.display()
        )
        .as_bytes(),
    )
}
