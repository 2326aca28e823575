//! A scripted agent without a model. It works through the questions of a case under each policy; every request is charged with the fixed prompt and the whole history, so that the number of requests counts as it does in a real run.

use std::path::Path;

use serde::Serialize;
use spare_read::{
    Action, EvidencePack, Gate, Intent, Mode, Need, Purpose, ReadRequest, Root, Session, Status,
    estimate_tokens,
};

use crate::Error;
use crate::baselines::{Chunks, Decoded, Seen, covers, ends, grep, pages};
use crate::case::{Case, Fit, Gold, Purpose as Aim};
use crate::measure::flat;

/// Most tokens that a context holds.
pub const WINDOW: f64 = 200_000.0;
/// Tokens that the model writes for a tool call, and for its answer.
const CALL: f64 = 60.0;
const ANSWER: f64 = 60.0;
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
    /// `sro_read` as a tool: its schemas are part of every request.
    Spare,
    /// The same by a hook and a command: no schemas, one refused read first.
    SpareHook,
}

/// All policies.
pub const POLICIES: [Policy; 8] = [
    Policy::Pages,
    Policy::InlineAll,
    Policy::HeadTail,
    Policy::Grep,
    Policy::Chunks,
    Policy::Masked,
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

/// A growing history.
struct Conversation {
    fixed: f64,
    results: Vec<f64>,
    said: f64,
    masked: Option<usize>,
    run: Run,
}

impl Conversation {
    fn new(fixed: f64, task: f64) -> Self {
        Self {
            fixed: fixed + task,
            results: Vec::new(),
            said: 0.0,
            masked: None,
            run: Run {
                tokens: 0.0,
                requests: 0,
                answered: false,
            },
        }
    }

    fn history(&self) -> f64 {
        let old = self
            .masked
            .map_or(0, |keep| self.results.len().saturating_sub(keep));
        self.said
            + self
                .results
                .iter()
                .enumerate()
                .map(|(at, tokens)| if at < old { 15.0 } else { *tokens })
                .sum::<f64>()
    }

    /// One request whose result is `tokens` long; says whether the context still holds it.
    fn call(&mut self, tokens: f64) -> bool {
        self.run.tokens += self.fixed + self.history() + CALL;
        self.run.requests += 1;
        self.said += CALL;
        self.results.push(tokens);
        self.fixed + self.history() <= WINDOW
    }

    fn answer(mut self, answered: bool) -> Run {
        self.run.tokens += self.fixed + self.history() + ANSWER;
        self.run.requests += 1;
        self.run.answered = answered;
        self.run
    }
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
        }
    }

    fn golds(&self) -> Vec<Gold> {
        self.case
            .asked
            .iter()
            .take(QUESTIONS)
            .flat_map(|asked| asked.gold.clone())
            .collect()
    }

    /// Pages until all gold spans were seen; to the end where something is asked that is not there, or all is needed.
    fn paged(&self, fixed: f64, masked: Option<usize>, lead: &[f64]) -> Run {
        let mut talk = Conversation::new(fixed, self.words);
        talk.masked = masked;
        lead.iter().for_each(|tokens| {
            talk.call(*tokens);
        });
        let golds = self.golds();
        let to_the_end = self.case.fit == Fit::Native
            || self
                .case
                .asked
                .iter()
                .take(QUESTIONS)
                .any(|asked| asked.gold.is_empty());
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

    /// The protocol: all questions as needs of one call, one more round for what stays open, then pages. `mode` overrides the gate.
    ///
    /// # Errors
    /// What the reader says.
    pub fn sparse(
        &self,
        fixed: f64,
        gate: &Gate,
        purpose_known: bool,
        mode: Option<Mode>,
        lead: &[f64],
    ) -> Result<(Run, Mode), Error> {
        let mut session = Session::new(Root::open(self.folder)?).with_gate(gate.clone());
        let path = if self.case.target.is_empty() {
            Path::new(".")
        } else {
            Path::new(&self.case.target)
        };
        let needs: Vec<Need> = self
            .case
            .asked
            .iter()
            .take(QUESTIONS)
            .enumerate()
            .map(|(at, asked)| Need {
                id: at.to_string(),
                question: asked.question.clone(),
                aliases: Vec::new(),
            })
            .collect();
        let purpose = match self.case.purpose {
            _ if !purpose_known => Purpose::Lookup,
            Aim::Lookup => Purpose::Lookup,
            Aim::Compute => Purpose::Compute,
            Aim::Edit => Purpose::Edit,
            Aim::Whole => Purpose::Whole,
        };
        let intent = Intent {
            needs,
            purpose,
            ..Intent::default()
        };
        let force = mode == Some(Mode::Force);
        let request = ReadRequest {
            action: Action::Collect,
            intent,
            budget_tokens: 1_200.max(350 * self.case.asked.len().min(QUESTIONS)),
            force,
        };
        let mut talk = Conversation::new(fixed, self.words);
        lead.iter().for_each(|tokens| {
            talk.call(*tokens);
        });
        let pack = session.read(path, &request)?;
        let decided = if force { Mode::Force } else { pack.gate.mode };
        let whole = matches!(decided, Mode::Native | Mode::InlineAll);
        let mut fits = talk.call(estimate_tokens(&pack.to_json()) as f64 + self.words);
        if whole {
            // The result is the content; the rest of a long one comes by pages.
            let rest: u64 = pack
                .native
                .iter()
                .map(|range| range.bytes.1 - range.bytes.0)
                .sum();
            for _ in 0..rest.div_ceil(131_072) {
                fits &= talk.call(131_072.0 / 3.5);
            }
            return Ok((talk.answer(fits), decided));
        }
        if self.case.fit == Fit::Native {
            // What needs all of it is not answered by a part: the agent reads natively after all.
            let run = self.paged(fixed, None, &[estimate_tokens(&pack.to_json()) as f64]);
            return Ok((run, decided));
        }
        let mut packs = vec![pack];
        let is_open = |packs: &[EvidencePack]| {
            self.case
                .asked
                .iter()
                .take(QUESTIONS)
                .enumerate()
                .any(|(at, asked)| !satisfied(packs, at, &asked.gold))
        };
        if is_open(&packs) {
            let refine = ReadRequest {
                action: Action::Refine,
                force: true,
                ..request
            };
            let pack = session.read(path, &refine)?;
            fits &= talk.call(estimate_tokens(&pack.to_json()) as f64 + 20.0);
            packs.push(pack);
        }
        let unread = self
            .golds()
            .iter()
            .any(|gold| !packs.iter().any(|pack| holds(pack, gold)));
        if unread {
            let results: Vec<f64> = packs
                .iter()
                .map(|pack| estimate_tokens(&pack.to_json()) as f64)
                .collect();
            return Ok((self.paged(fixed, None, &results), decided));
        }
        Ok((talk.answer(fits), decided))
    }
}

/// Whether the agent has no reason to go on with a question: its evidence is there and was not called absent, or it was called absent and is.
fn satisfied(packs: &[EvidencePack], need: usize, golds: &[Gold]) -> bool {
    let status = packs
        .first()
        .and_then(|pack| pack.needs.get(need))
        .map(|need| need.status);
    if golds.is_empty() {
        status == Some(Status::Absent)
    } else {
        status != Some(Status::Absent)
            && golds
                .iter()
                .all(|gold| packs.iter().any(|pack| holds(pack, gold)))
    }
}

fn holds(pack: &EvidencePack, gold: &Gold) -> bool {
    let covers = |span: &spare_read::Span| {
        span.anchor.path == gold.path
            && span.anchor.bytes.start <= gold.bytes.start as u64
            && gold.bytes.end as u64 <= span.anchor.bytes.end
    };
    pack.spans
        .iter()
        .any(|span| covers(span) && flat(&span.text).contains(&flat(&gold.answer)))
}
