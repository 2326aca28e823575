//! A scripted agent without a model. It works through the questions of a case under each policy; every request is charged with the fixed prompt and the whole history, so that the number of requests counts as it does in a real run.

mod compress;
mod conversation;
mod sparse;

use std::path::{Path, PathBuf};

use serde::Serialize;
use spare_read::{Gate, Mode, estimate_tokens};

use crate::Error;
use crate::baselines::{Chunks, Decoded, Seen, covers, ends, grep, pages};
use crate::case::{Case, Fit, Gold};
use conversation::Conversation;

pub use compress::{Compressor, Program, Stub};

/// Most tokens that a context holds.
pub const WINDOW: f64 = 200_000.0;
/// Tokens of the three tool schemas that every request carries; see docs/read.md for the count.
pub const SCHEMAS: f64 = 390.0;
/// Questions of a task.
const QUESTIONS: usize = 6;

/// How the agent reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Policy {
    /// Pages of 2,000 lines until all is known.
    Pages,
    /// Everything in one result, where it fits the window.
    InlineAll,
    /// Both ends of 5,000 characters.
    HeadTail,
    /// `grep -n -C3`, a call a question.
    Grep,
    /// Three chunks of 1,200 characters a question.
    Chunks,
    /// Pages, with all but the last ten results masked.
    Masked,
    /// Pages, each replaced by what a compressor keeps of it: ACON where a program is named, else the stub.
    Compressed,
    /// `sro_read` as a tool: its schemas are part of every request.
    Spare,
    /// The same by a hook and a command: no schemas, one refused read first.
    SpareHook,
}

/// All policies.
pub const POLICIES: [Policy; 9] = [
    Policy::Pages,
    Policy::InlineAll,
    Policy::HeadTail,
    Policy::Grep,
    Policy::Chunks,
    Policy::Masked,
    Policy::Compressed,
    Policy::Spare,
    Policy::SpareHook,
];

/// The outcome of a task.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Run {
    /// Prompt and output tokens of all requests.
    pub tokens: f64,
    /// Requests.
    pub requests: usize,
    /// Whether everything that is needed was seen.
    pub answered: bool,
}

fn tokens(files: &[Decoded], seen: &Seen) -> f64 {
    files
        .get(seen.0)
        .and_then(|file| file.text.get(seen.1.clone()))
        .map_or(0.0, |text| estimate_tokens(text) as f64)
}

/// A case, decoded, with what its task needs.
pub struct Task<'a> {
    case: &'a Case,
    folder: &'a Path,
    files: Vec<Decoded>,
    words: f64,
    compressor: Option<PathBuf>,
}

impl<'a> Task<'a> {
    /// The files must have been written to `folder`.
    pub fn new(case: &'a Case, folder: &'a Path) -> Self {
        let words = case
            .asked
            .iter()
            .take(QUESTIONS)
            .map(|asked| estimate_tokens(&asked.question) as f64)
            .sum();
        Self {
            case,
            folder,
            files: Decoded::of(case),
            words,
            compressor: None,
        }
    }

    /// The same with a program that compresses: its standard input is a prompt for a model, its output the reply.
    #[must_use]
    pub fn with_compressor(mut self, program: Option<PathBuf>) -> Self {
        self.compressor = program;
        self
    }

    fn golds(&self) -> Vec<Gold> {
        self.case
            .asked
            .iter()
            .take(QUESTIONS)
            .flat_map(|asked| asked.gold.clone())
            .collect()
    }

    /// Whether an agent that reads page by page must read all: something is asked that is not there, or all is needed.
    fn reads_all(&self) -> bool {
        let mut asked = self.case.asked.iter().take(QUESTIONS);
        self.case.fit == Fit::Native || asked.any(|asked| asked.gold.is_empty())
    }

    /// Pages until all gold spans were seen; to the end where something is asked that is not there, or all is needed.
    fn paged(&self, fixed: f64, masked: Option<usize>, lead: &[f64]) -> Run {
        let mut talk = Conversation::new(fixed, self.words);
        talk.masked = masked;
        lead.iter().for_each(|tokens| {
            talk.call(*tokens);
        });
        let golds = self.golds();
        let to_the_end = self.reads_all();
        let mut seen = Vec::new();
        for page in pages(&self.files) {
            let fits = talk.call(tokens(&self.files, &page));
            seen.push(page);
            if !fits {
                return talk.answer(false);
            }
            if !to_the_end && covers(&self.files, &seen, &golds) {
                break;
            }
        }
        talk.answer(true)
    }

    fn shown(&self, fixed: f64, calls: Vec<Vec<Seen>>) -> Run {
        let mut talk = Conversation::new(fixed, self.words);
        let mut fits = true;
        for seen in &calls {
            fits &= talk.call(seen.iter().map(|seen| tokens(&self.files, seen)).sum());
        }
        let whole = self.case.fit == Fit::Native;
        let all: Vec<Seen> = calls.concat();
        let bytes: usize = self.files.iter().map(|file| file.text.len()).sum();
        let complete = all.iter().map(|(_, range)| range.len()).sum::<usize>() >= bytes;
        talk.answer(
            fits && if whole {
                complete
            } else {
                covers(&self.files, &all, &self.golds())
            },
        )
    }

    /// One policy at one fixed prompt.
    ///
    /// # Errors
    /// What the reader says.
    pub fn run(
        &self,
        policy: Policy,
        fixed: f64,
        gate: &Gate,
        purpose_known: bool,
    ) -> Result<Run, Error> {
        let questions = || self.case.asked.iter().take(QUESTIONS);
        Ok(match policy {
            Policy::Pages => self.paged(fixed, None, &[]),
            Policy::Masked => self.paged(fixed, Some(10), &[]),
            Policy::Compressed => self.compressed(fixed)?,
            Policy::InlineAll => {
                let all: Vec<Seen> = self
                    .files
                    .iter()
                    .enumerate()
                    .map(|(at, file)| (at, 0..file.text.len()))
                    .collect();
                self.shown(fixed, vec![all])
            }
            Policy::HeadTail => self.shown(fixed, vec![ends(&self.files)]),
            Policy::Grep => self.shown(
                fixed,
                questions()
                    .map(|asked| grep(&self.files, &asked.question))
                    .collect(),
            ),
            Policy::Chunks => {
                let chunks = Chunks::new(&self.files);
                self.shown(
                    fixed,
                    questions()
                        .map(|asked| chunks.best(&asked.question, 3))
                        .collect(),
                )
            }
            Policy::Spare => {
                self.sparse(fixed + SCHEMAS, gate, purpose_known, None, &[])?
                    .0
            }
            Policy::SpareHook => {
                let (run, mode) = self.sparse(fixed, gate, purpose_known, None, &[])?;
                match mode {
                    Mode::Force => self.sparse(fixed, gate, purpose_known, None, &[80.0])?.0,
                    Mode::Advisory => run,
                    Mode::Native | Mode::InlineAll => self.paged(fixed, None, &[]),
                }
            }
        })
    }
}
