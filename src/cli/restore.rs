//! `spare restore`: the original of a pruned file.

use std::io::Read;
use std::path::{Path, PathBuf};

use super::compression::Compression;
use super::input::Input;
use super::output::{Output, print, same_file};
use crate::Error;
use crate::formats::{Container, Record};
use crate::plan::{Receipt, RestoreError, TextHash, restore};

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
    let receipts = read_receipts(&args.receipt)?;
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
    let mut receipts = receipts.into_iter().peekable();
    let container = receipts.peek().and_then(|receipt| receipt.container);
    let mut input = match container {
        Some(container) => Input::open_as(&args.pruned, container)?,
        None => Input::open(&args.pruned, None)?,
    };
    let mut out = args.output.as_deref().map(Output::create).transpose()?;
    let mut held = Vec::new();
    let missing = |place: String| Error::Receipt {
        place,
        message: "found a different number of records than in the pruned file".into(),
    };
    while let Some(mut record) = input.next()? {
        let place = input.place(&record);
        let text = if record.is_blank() {
            record.raw().to_vec()
        } else {
            let receipt = receipts
                .next()
                .ok_or_else(|| missing(args.receipt.display().to_string()))?;
            if input.container() == Container::Json {
                // A torn last line stands behind the run.
                record.cut(receipt.after.bytes);
            }
            original(&record, &receipt).map_err(|source| Error::Restore { place, source })?
        };
        let whole = [record.prefix(), &text, record.suffix()].concat();
        match &mut out {
            Some(out) => out.write(&whole)?,
            None => held.extend(whole),
        }
    }
    if receipts.next().is_some() {
        return Err(missing(args.receipt.display().to_string()));
    }
    match out {
        // Nothing is printed before everything is proved.
        None => print(&held),
        Some(out) => out.finish(),
    }
}

fn original(record: &Record, receipt: &Receipt) -> Result<Vec<u8>, RestoreError> {
    match record.text() {
        Ok(text) => restore(text, receipt).map(String::into_bytes),
        // Carried through unread: it may be no text at all.
        Err(_) => {
            let found = TextHash::of_bytes(record.raw());
            if found == receipt.after && found == receipt.before {
                return Ok(record.raw().to_vec());
            }
            Err(RestoreError::OtherText {
                found: found.sha256,
                expected: receipt.after.sha256.clone(),
            })
        }
    }
}

fn read_receipts(path: &Path) -> Result<Vec<Receipt>, Error> {
    let mut text = String::new();
    std::fs::File::open(path)
        .and_then(|file| Compression::of(path).reader(file))
        .and_then(|mut reader| reader.read_to_string(&mut text))
        .map_err(|source| Error::Io {
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
