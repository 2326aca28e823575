//! `spare restore`: the original of a pruned file.

use std::path::{Path, PathBuf};

use super::input::Input;
use super::output::{Output, print, same_file};
use crate::Error;
use crate::plan::{Receipt, restore};

/// Bring the original back, byte for byte.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The pruned file, or - for standard input.
    pruned: PathBuf,
    /// The receipt that was written with it.
    #[arg(long, value_name = "FILE")]
    receipt: PathBuf,
    /// Where the original goes; standard output without it.
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

pub(crate) fn run(args: &Args) -> Result<(), Error> {
    let mut receipts = read_receipts(&args.receipt)?.into_iter();
    if args
        .output
        .as_deref()
        .is_some_and(|o| same_file(o, &args.pruned) || same_file(o, &args.receipt))
    {
        return Err(Error::Option {
            option: "-o",
            found: "a file that is being read".into(),
            expected: "another file".into(),
        });
    }
    let mut input = Input::open(&args.pruned)?;
    let mut out = Vec::new();
    let missing = |place: String| Error::Receipt {
        place,
        message: "found a different number of records than in the pruned file".into(),
    };
    while let Some(record) = input.next()? {
        let place = input.place(&record);
        let text = if record.is_blank() {
            record.text
        } else {
            let receipt = receipts
                .next()
                .ok_or_else(|| missing(args.receipt.display().to_string()))?;
            restore(&record.text, &receipt).map_err(|source| Error::Restore { place, source })?
        };
        out.extend([record.prefix, text.into_bytes(), record.suffix].concat());
    }
    if receipts.next().is_some() {
        return Err(missing(args.receipt.display().to_string()));
    }
    match &args.output {
        None => print(&out),
        Some(path) => {
            let mut file = Output::create(path)?;
            file.write(&out)?;
            file.finish()
        }
    }
}

fn read_receipts(path: &Path) -> Result<Vec<Receipt>, Error> {
    let text = std::fs::read_to_string(path).map_err(|source| Error::Io {
        path: path.to_owned(),
        action: "reading the receipt",
        source,
    })?;
    let lines = text
        .lines()
        .enumerate()
        .filter(|(_, line)| !line.trim().is_empty());
    lines
        .map(|(index, line)| {
            serde_json::from_str(line).map_err(|error| Error::Receipt {
                place: format!("{}, line {}", path.display(), index + 1),
                message: error.to_string(),
            })
        })
        .collect()
}
