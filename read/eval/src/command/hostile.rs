//! E11: files that mean harm, each previewed and read with and without the gate.

use std::path::Path;
use std::time::{Duration, Instant};

use spare_read::{ReadRequest, Root, Session, estimate_tokens};
use spare_read_eval::Error;
use spare_read_eval::sets::{HostileFile, hostile_files};

use crate::{Options, worker};

/// Longest answer and longest time that are no harm.
const TOKENS: usize = 2_500;
const SLOW: Duration = Duration::from_secs(10);

/// What came of all files.
#[derive(Default)]
struct Count {
    files: usize,
    leaked: usize,
    long: usize,
    slow: usize,
}

/// A process that ends before the last line is printed crashed.
pub(crate) fn hostile(options: &Options) -> Result<(), Error> {
    let mut count = Count::default();
    for seed in options.split()?.step_by(10) {
        for file in hostile_files(seed) {
            one(&file, &mut count)?;
        }
    }
    println!(
        "{} files: {} leaks, {} answers over {TOKENS} tokens, {} calls over {} s, no crash",
        count.files,
        count.leaked,
        count.long,
        count.slow,
        SLOW.as_secs()
    );
    Ok(())
}

fn one(file: &HostileFile, count: &mut Count) -> Result<(), Error> {
    let folder = tempfile::tempdir()?;
    std::fs::write(folder.path().join(file.path), &file.bytes)?;
    let mut session = Session::new(Root::open(folder.path())?).with_worker(worker()?);
    let path = Path::new(file.path);
    let start = Instant::now();
    let mut shown = session
        .preview(path)
        .map_or_else(|error| error.to_string(), |preview| format!("{preview:?}"));
    for force in [true, false] {
        let request = ReadRequest {
            force,
            ..ReadRequest::question(file.question)
        };
        match session.read(path, &request) {
            Ok(pack) => {
                count.long += usize::from(force && estimate_tokens(&pack.to_json()) > TOKENS);
                for span in pack.spans.iter().chain(&pack.content) {
                    shown.push_str(&span.text);
                    shown.push_str(&span.context);
                }
            }
            Err(error) => shown.push_str(&error.to_string()),
        }
    }
    count.files += 1;
    count.slow += usize::from(start.elapsed() > SLOW);
    if file.forbidden.is_some_and(|secret| shown.contains(secret)) {
        eprintln!("{}: what must not be shown came back", file.path);
        count.leaked += 1;
    }
    Ok(())
}
