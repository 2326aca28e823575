//! How does the loss go down? A line a step in loss.csv.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use spare_models::train::Step;

use super::SummaryToken;
use crate::error::Error;

/// The loss curve of a run.
pub(super) struct Curve {
    path: PathBuf,
    text: String,
}

impl Curve {
    /// The curve so far without the lines from step `step` on, which are made again.
    pub(super) fn open(folder: &Path, step: usize) -> Result<Self, Error> {
        let path = folder.join("loss.csv");
        let kinds = SummaryToken::ALL.map(|(_, name)| name).join(",");
        let mut text = format!("step,epoch,loss,rate,norm,tokens,seconds,{kinds},held_out\n");
        if path.exists() {
            let old = fs::read_to_string(&path).map_err(|source| io(&path, "reading", source))?;
            for line in old.lines().skip(1) {
                let number = line.split(',').next().and_then(|n| n.parse::<usize>().ok());
                if number.is_some_and(|n| n < step) {
                    text.push_str(line);
                    text.push('\n');
                }
            }
        }
        Ok(Self { path, text })
    }

    /// Adds a step; `held_out` is the loss of the examples held out behind it, where it was taken.
    pub(super) fn push(&mut self, step: &Step, epoch: usize, seconds: f64, held_out: Option<f64>) {
        let outcome = &step.outcome;
        let _ = write!(
            self.text,
            "{},{epoch},{:.5},{:.3e},{:.3},{},{seconds:.2}",
            step.step, outcome.loss, step.rate, step.norm, outcome.tokens
        );
        for (kind, _) in SummaryToken::ALL {
            match outcome.right.get(&(kind as u8)) {
                Some((right, all)) => {
                    let share = *right as f64 / (*all).max(1) as f64;
                    let _ = write!(self.text, ",{share:.4}");
                }
                None => self.text.push(','),
            }
        }
        let held_out = held_out.map_or(String::new(), |loss| format!("{loss:.5}"));
        let _ = writeln!(self.text, ",{held_out}");
    }

    pub(super) fn save(&self) -> Result<(), Error> {
        fs::write(&self.path, &self.text).map_err(|source| io(&self.path, "writing", source))
    }
}

fn io(path: &Path, action: &'static str, source: std::io::Error) -> Error {
    Error::Io {
        path: path.to_path_buf(),
        action,
        source,
    }
}
