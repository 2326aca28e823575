//! Going on with an interrupted prune. Beside OUT stand, under stable names, what was written so far and what it was written with; both are checked
//! record by record before anything is added, and what is not whole is done again.

use std::fs::{self, File, TryLockError};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::input::Input;
use super::output::{Output, beside};
use crate::Error;
use crate::plan::{Receipt, TextHash, sha256};

/// An interrupted prune that goes on, or a new one that can be interrupted.
pub(crate) struct Resumed {
    /// OUT, behind the last whole record.
    pub out: Output,
    /// The receipts of the records in it.
    pub receipts: Output,
    /// Records that were done already.
    pub done: usize,
    /// What says that a prune is going on; locked while it runs.
    state: (PathBuf, File),
}

impl Resumed {
    /// Takes from `input` the records that are done already. `settings` is everything that decides what is written, by the option's name.
    /// Errors: other settings than before, another input, or a prune of the same OUT that still runs.
    pub fn start(
        out: &Path,
        receipts: &Path,
        settings: &Value,
        input: &mut Input,
    ) -> Result<Self, Error> {
        let path = beside(out, "resume.json")?;
        let io = |action| {
            let path = path.clone();
            move |source| Error::Io {
                path,
                action,
                source,
            }
        };
        let mut options = File::options();
        let options = options.create(true).truncate(false).read(true).write(true);
        let mut state = options.open(&path).map_err(io("creating"))?;
        match state.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(Error::Resume {
                    place: path.display().to_string(),
                    found: "a prune that still runs".into(),
                    expected: "one at a time".into(),
                });
            }
            Err(TryLockError::Error(source)) => return Err(io("locking")(source)),
        }
        let mut text = String::new();
        state.read_to_string(&mut text).map_err(io("reading"))?;
        let mut walked = Walked::default();
        match serde_json::from_str::<Value>(&text) {
            Ok(before) => {
                compare(&path, &before, settings)?;
                walked = walk(out, receipts, input)?;
            }
            // New, or killed while this very file was written: nothing was done.
            Err(_) => {
                state.set_len(0).map_err(io("writing"))?;
                io::Seek::rewind(&mut state).map_err(io("writing"))?;
                state
                    .write_all(settings.to_string().as_bytes())
                    .and_then(|()| state.sync_all())
                    .map_err(io("writing"))?;
            }
        }
        Ok(Self {
            out: Output::resume(out, walked.out)?,
            receipts: Output::resume(receipts, walked.receipts)?,
            done: walked.records,
            state: (path, state),
        })
    }

    /// Gives both files their names. The receipt first: OUT never stands without it.
    pub fn finish(self) -> Result<(), Error> {
        self.receipts.finish()?;
        self.out.finish()?;
        let (path, state) = self.state;
        drop(state);
        fs::remove_file(&path).map_err(|source| Error::Io {
            path,
            action: "removing",
            source,
        })
    }
}

/// Refuses other settings, by the name of the first that differs.
fn compare(path: &Path, before: &Value, now: &Value) -> Result<(), Error> {
    let empty = serde_json::Map::new();
    let fields = |value: &'_ Value| value.as_object().cloned().unwrap_or_else(|| empty.clone());
    let (before, now) = (fields(before), fields(now));
    let differs = |name: &&String| before.get(*name) != now.get(*name);
    let Some(name) = now.keys().chain(before.keys()).find(differs) else {
        return Ok(());
    };
    let show = |value: Option<&Value>| match value {
        Some(value) => format!("{name} {value}"),
        None => format!("no {name}"),
    };
    Err(Error::Resume {
        place: path.display().to_string(),
        found: show(now.get(name)),
        expected: format!(
            "{} as in the prune that was interrupted (remove this file to start anew)",
            show(before.get(name))
        ),
    })
}

/// How far both partial files are whole and agree with the input.
#[derive(Default)]
struct Walked {
    records: usize,
    out: u64,
    receipts: u64,
}

fn walk(out: &Path, receipts: &Path, input: &mut Input) -> Result<Walked, Error> {
    let mut walked = Walked::default();
    let (out, receipts) = (Output::partial(out)?, Output::partial(receipts)?);
    let (Ok(written), Ok(lines)) = (File::open(out), File::open(receipts)) else {
        return Ok(walked);
    };
    let (mut written, mut lines) = (BufReader::new(written), BufReader::new(lines));
    loop {
        let mut line = Vec::new();
        let read = lines.read_until(b'\n', &mut line);
        let receipt = read.ok().and_then(|_| {
            let line = line.strip_suffix(b"\n")?;
            serde_json::from_slice::<Receipt>(line).ok()
        });
        // A torn receipt: its record is done again.
        let Some(receipt) = receipt else {
            return Ok(walked);
        };
        let mut taken = Vec::new();
        let (mut same, mut length) = (true, 0);
        loop {
            let Some(record) = input.next()? else {
                return Err(Error::Resume {
                    place: input.name(),
                    found: format!("{} records", walked.records),
                    expected: "at least one more: the input has changed since the prune that was interrupted".into(),
                });
            };
            let blank = record.is_blank();
            if !blank {
                let found = TextHash::of_bytes(record.raw());
                if found != receipt.before {
                    return Err(Error::Resume {
                        place: input.place(&record),
                        found: format!("a record with SHA-256 {}", found.sha256),
                        expected: format!(
                            "{}: the input has changed since the prune that was interrupted",
                            receipt.before.sha256
                        ),
                    });
                }
            }
            let text = if blank {
                TextHash::of_bytes(record.raw())
            } else {
                receipt.after.clone()
            };
            same = same
                && next_is(&mut written, &TextHash::of_bytes(record.prefix()))
                && next_is(&mut written, &text)
                && next_is(&mut written, &TextHash::of_bytes(record.suffix()));
            length += record.prefix().len() + text.bytes + record.suffix().len();
            taken.push(record);
            if !blank {
                break;
            }
        }
        if !same {
            input.give_back(taken);
            return Ok(walked);
        }
        walked.records += 1;
        walked.out += length as u64;
        walked.receipts += line.len() as u64;
    }
}

/// Whether the next bytes are these.
fn next_is(reader: &mut impl Read, wanted: &TextHash) -> bool {
    let mut bytes = Vec::new();
    let read = reader.take(wanted.bytes as u64).read_to_end(&mut bytes);
    read.is_ok() && bytes.len() == wanted.bytes && sha256(&bytes) == wanted.sha256
}
