//! Speed and memory of the program `spare`, as processes on warm files: what a caller waits for.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use fastrand::Rng;
use spare_read::{ReadRequest, Root, Session};
use spare_read_eval::Error;
use spare_read_eval::language::ENGLISH;
use spare_read_eval::statistics::quantile;

use crate::Options;

/// Runs before the clock counts, and those that are counted.
const WARM: usize = 3;
const RUNS: usize = 21;
const NEEDLE: &str = "The gauge of the Harbour is 4711.\n\n";
const QUESTION: &str = "gauge of the Harbour";

/// Prints median and 95th percentile beside each bar; files are written to a temporary folder first.
pub(crate) fn speed(options: &Options) -> Result<(), Error> {
    let spare = match options.path("--spare") {
        Some(program) => program,
        None => std::env::current_exe()?.with_file_name("spare"),
    };
    if !spare.is_file() {
        return Err(Error::Usage(format!(
            "{}: found no program, expected `spare` (cargo build --release)",
            spare.display()
        )));
    }
    let folder = tempfile::tempdir()?;
    let (large, small) = (
        folder.path().join("large.txt"),
        folder.path().join("small.txt"),
    );
    text(&large, 100_000_000)?;
    text(&small, 1_000_000)?;
    let call = |words: &[&str], input: &str| timed(&spare, words, input);
    let (large_path, small_path) = (large.to_string_lossy(), small.to_string_lossy());
    let event = serde_json::json!({
        "hook_event_name": "PreToolUse", "tool_name": "Read",
        "tool_input": {"file_path": large_path}, "cwd": folder.path(),
    })
    .to_string();

    println!("| what | median ms | p95 ms | bar ms |\n|---|---|---|---|");
    let row = |what: &str, mut times: Vec<f64>, bar: f64| {
        println!(
            "| {what} | {:.1} | {:.1} | {bar} |",
            quantile(&mut times, 0.5),
            quantile(&mut times, 0.95)
        );
    };
    let of = |once: &dyn Fn() -> Result<f64, Error>| -> Result<Vec<f64>, Error> {
        for _ in 0..WARM {
            once()?;
        }
        (0..RUNS).map(|_| once()).collect()
    };
    row(
        "`spare read preview` of 100 MB of text",
        of(&|| call(&["read", "preview", &large_path], ""))?,
        300.0,
    );
    row(
        "`spare read ask` on 1 MB of text",
        of(&|| call(&["read", "ask", &small_path, QUESTION], ""))?,
        20.0,
    );
    row(
        "the same in a process that runs already (a new conversation)",
        of(&|| in_process(&small))?,
        20.0,
    );
    row(
        "`spare read hook` on a read of 100 MB",
        of(&|| call(&["read", "hook"], &event))?,
        10.0,
    );
    drop(folder);
    table(options)
}

/// A table of about `--bytes` (1 GB) is asked for ten rows by this program again, so that its peak memory is that of the scan.
fn table(options: &Options) -> Result<(), Error> {
    let rows = options.number("--bytes", 1e9)? / 91.0;
    let output = Command::new(std::env::current_exe()?)
        .args(["large", "--rows", &format!("{rows:.0}")])
        .stderr(Stdio::inherit())
        .output()?;
    println!("\n{}", String::from_utf8_lossy(&output.stdout));
    Ok(())
}

/// Paragraphs of prose, one needle in their middle.
fn text(path: &Path, bytes: usize) -> Result<(), Error> {
    let mut rng = Rng::with_seed(7);
    let mut piece = String::new();
    while piece.len() < 1 << 16 {
        for _ in 0..6 {
            piece.push_str(&ENGLISH.sentence(&mut rng));
            piece.push(' ');
        }
        piece.push_str("\n\n");
    }
    let mut out = std::io::BufWriter::new(std::fs::File::create(path)?);
    let mut written = 0;
    while written < bytes {
        if written <= bytes / 2 && written + piece.len() > bytes / 2 {
            out.write_all(NEEDLE.as_bytes())?;
        }
        out.write_all(piece.as_bytes())?;
        written += piece.len();
    }
    out.flush()?;
    Ok(())
}

/// Milliseconds from the start of the process to its end.
fn timed(program: &PathBuf, words: &[&str], input: &str) -> Result<f64, Error> {
    let start = Instant::now();
    let mut child = Command::new(program)
        .args(words)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    if let Some(mut stdin) = child.stdin.take() {
        stdin.write_all(input.as_bytes())?;
    }
    let output = child.wait_with_output()?;
    let took = start.elapsed().as_secs_f64() * 1e3;
    if !output.status.success() || output.stdout.is_empty() {
        return Err(Error::Usage(format!(
            "{} {}: found {} and {} bytes, expected an answer",
            program.display(),
            words.join(" "),
            output.status,
            output.stdout.len()
        )));
    }
    Ok(took)
}

fn in_process(path: &Path) -> Result<f64, Error> {
    let (root, relative) = Root::of(path)?;
    let start = Instant::now();
    let pack = Session::new(root).read(
        &relative,
        &ReadRequest {
            force: true,
            ..ReadRequest::question(QUESTION)
        },
    )?;
    let took = start.elapsed().as_secs_f64() * 1e3;
    if !pack.spans.iter().any(|span| span.text.contains("4711")) {
        return Err(Error::Usage("the needle was not found".into()));
    }
    Ok(took)
}
