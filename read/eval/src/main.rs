//! `spare-read-eval`: the table of all sets, its parts one by one, the gate's weights, speed.

mod command;

use std::path::PathBuf;

use spare_read::extract::Worker;
use spare_read_eval::{Error, seeds};

const USAGE: &str = "expected one of
  all        [--split dev|test] [--budget TOKENS] [--fixed TOKENS]       every set, then the scripted agent with all baselines
  table      [--split dev|test] [--budget TOKENS] [--set NAME] [--log FILE] [--parts]
  agent      [--split dev|test] [--fixed TOKENS] [--compressor PROGRAM] [--log FILE]
  pictures   [--split dev|test]
  hostile    [--split dev|test]
  rounds     [--split dev|test]
  fit        [--out FILE]
  large      [--rows N] [--seed N]
  documents  --sources FOLDER [--budget TOKENS]
  speed      [--spare PROGRAM] [--bytes N]
  write      --set NAME --seed N --out FOLDER";

fn main() -> std::process::ExitCode {
    match run(std::env::args().skip(1).collect()) {
        Ok(()) => std::process::ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("spare-read-eval: {error}");
            std::process::ExitCode::from(2)
        }
    }
}

/// The words of the command line.
struct Options(Vec<String>);

impl Options {
    fn value(&self, name: &str) -> Option<&str> {
        let at = self.0.iter().position(|word| word == name)?;
        self.0.get(at + 1).map(String::as_str)
    }

    fn has(&self, name: &str) -> bool {
        self.0.iter().any(|word| word == name)
    }

    fn path(&self, name: &str) -> Option<PathBuf> {
        self.value(name).map(PathBuf::from)
    }

    /// # Errors
    /// What is no number.
    fn number(&self, name: &str, otherwise: f64) -> Result<f64, Error> {
        self.value(name).map_or(Ok(otherwise), |text| {
            text.parse()
                .map_err(|_| Error::Usage(format!("{name}: found `{text}`, expected a number")))
        })
    }

    /// # Errors
    /// Another split.
    fn split(&self) -> Result<std::ops::Range<u64>, Error> {
        match self.value("--split") {
            None | Some("dev") => Ok(seeds::DEV),
            Some("test") => Ok(seeds::TEST),
            Some(other) => Err(Error::Usage(format!(
                "--split: found `{other}`, expected dev or test"
            ))),
        }
    }

    /// A new file for a line of JSON an outcome.
    fn log(&self) -> Result<Option<std::fs::File>, Error> {
        Ok(self.value("--log").map(std::fs::File::create).transpose()?)
    }
}

/// This program again, in a process of its own.
fn worker() -> Result<Worker, Error> {
    Ok(Worker::process(std::env::current_exe()?, &["worker"]))
}

fn run(words: Vec<String>) -> Result<(), Error> {
    let options = Options(words);
    match options.0.first().map(String::as_str) {
        Some("all") => command::all(&options),
        Some("table") => command::evidence(&options),
        Some("agent") => command::agent(&options),
        Some("pictures") => command::pictures(&options),
        Some("hostile") => command::hostile(&options),
        Some("rounds") => command::rounds(&options),
        Some("fit") => command::fit(&options),
        Some("large") => command::large(&options),
        Some("documents") => command::documents(&options),
        Some("speed") => command::speed(&options),
        Some("write") => command::write(&options),
        Some("worker") => Ok(spare_read::extract::serve(
            options.0.last().map_or("", String::as_str),
        )?),
        _ => Err(Error::Usage(USAGE.into())),
    }
}
