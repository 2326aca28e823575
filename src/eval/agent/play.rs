//! How does an episode go, once up to its first summary and then once a method?

use std::sync::Arc;
use std::time::Instant;

use serde::Serialize;
use spare_models::Control;

use super::turn::Turn;
use super::{Method, turn};
use crate::engine::Engine;
use crate::error::Error;
use crate::eval::world::{Conflict, Environment, Kind, Knobs, Task, grade};
use crate::replay::PictureRoot;
use crate::score::LocalScorer;
use crate::trajectory::{Message, Trajectory};

/// Which episodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Set {
    /// The agent acts from the first turn on.
    Standard,
    /// The expert opens with a wrong guess that is said again and again; the agent goes on behind the summary.
    Conflict,
}

/// What one method made of one episode.
#[derive(Clone, Debug, Serialize)]
pub struct Played {
    /// The method.
    pub method: Method,
    /// The episode's index.
    pub index: usize,
    /// What was asked.
    pub kind: String,
    /// Its steps.
    pub steps: usize,
    /// The answer; what the model wrote instead, where it gave none.
    pub answer: String,
    /// What would have been right.
    pub expected: String,
    /// Whether the answer is right.
    pub right: bool,
    /// Whether the answer is the one that a stale guess leads to.
    pub stale: bool,
    /// How it ended: `answer`, `broken`, `turns`.
    pub end: &'static str,
    /// Summaries that were made.
    pub summaries: usize,
    /// Tokens of reasoning that were written, the opening's included.
    pub reasoning: usize,
    /// Those that the history held at the end, evidence and marks included.
    pub kept: usize,
    /// Tokens that the model read or wrote, from the first one that is the method's own.
    pub pushed: u64,
    /// The run as it stands at the end.
    #[serde(skip)]
    pub run: Trajectory,
    /// Seconds from the first summary on.
    pub seconds: f64,
}

/// Plays episodes with one model.
pub struct Player {
    /// The model.
    pub engine: Arc<Engine>,
    /// Turns that an episode may have.
    pub turns: usize,
    /// What the standard set is like.
    pub standard: Knobs,
    /// What the conflict set is like.
    pub conflict: Knobs,
}

/// An episode on its way.
#[derive(Clone)]
struct State {
    run: Trajectory,
    scorer: LocalScorer,
    /// Tokens of reasoning written so far.
    reasoning: usize,
    turns: usize,
}

/// Why an episode stopped.
enum Stop {
    Summary,
    Answer(String),
    Broken(String),
    Turns,
}

impl Player {
    /// A player of both sets as they are measured.
    pub fn new(engine: Arc<Engine>) -> Self {
        Self {
            engine,
            turns: 16,
            standard: Knobs::standard(),
            conflict: Knobs::conflict(),
        }
    }

    /// Plays one episode with every method.
    ///
    /// # Errors
    /// Those of the model and of drawing.
    pub fn play(
        &self,
        set: Set,
        seed: u64,
        index: usize,
        methods: &[Method],
        control: &Control<'_>,
    ) -> Result<Vec<Played>, Error> {
        let drawn = |error: spare_models::image::ImageError| Error::Option {
            option: "world",
            found: error.to_string(),
            expected: "a board that can be drawn".into(),
        };
        let knobs = match set {
            Set::Standard => &self.standard,
            Set::Conflict => &self.conflict,
        };
        let task = knobs.task(seed, index);
        let world = Environment::new(task, seed, index).map_err(drawn)?;
        let scorer = LocalScorer::new(Arc::clone(&self.engine));
        let (state, stop, conflicts) = match set {
            Set::Standard => {
                let mut state = State {
                    run: world.start().map_err(drawn)?,
                    scorer,
                    reasoning: 0,
                    turns: 0,
                };
                let stop = self.go(&mut state, &world, control)?;
                (state, stop, Vec::new())
            }
            Set::Conflict => {
                let opening = world.opening(knobs, seed, index).map_err(drawn)?;
                let state = State {
                    reasoning: self.tokens(&opening.run),
                    turns: opening
                        .run
                        .messages
                        .iter()
                        .filter(|m| !m.calls.is_empty())
                        .count(),
                    run: opening.run,
                    scorer,
                };
                (state, Stop::Summary, opening.conflicts)
            }
        };
        let stop = &stop;
        let each = methods.iter().map(|method| {
            self.finish(
                *method,
                (state.clone(), stop),
                &world,
                &conflicts,
                (seed, index),
                control,
            )
        });
        each.collect()
    }

    /// The model's turns up to a summary or the end.
    fn go(
        &self,
        state: &mut State,
        world: &Environment,
        control: &Control<'_>,
    ) -> Result<Stop, Error> {
        while state.turns < self.turns {
            state.turns += 1;
            let id = format!("call_{}", state.turns);
            let engine = &self.engine;
            let (turn, _) = turn::next(engine, &mut state.scorer, &state.run, &id, control)?;
            let message = match turn {
                Turn::Broken(text) => return Ok(Stop::Broken(text)),
                Turn::Answer(message) => {
                    let text = message.text();
                    self.push(state, message);
                    return Ok(Stop::Answer(text));
                }
                Turn::Call(message) => message,
            };
            let Some(call) = message.calls.first().cloned() else {
                return Ok(Stop::Broken(String::new()));
            };
            self.push(state, message);
            let answer = world.answer(&call).map_err(|error| Error::Option {
                option: "world",
                found: error.to_string(),
                expected: "a board that can be drawn".into(),
            })?;
            state.run.push(Message::tool(id, answer));
            if call.name == "summarize_the_task" {
                return Ok(Stop::Summary);
            }
        }
        Ok(Stop::Turns)
    }

    fn push(&self, state: &mut State, message: Message) {
        let thought = message.reasoning_text().unwrap_or_default();
        state.reasoning += self.engine.count(&thought);
        state.run.push(message);
    }

    fn tokens(&self, run: &Trajectory) -> usize {
        let thoughts = run.messages.iter().filter_map(Message::reasoning_text);
        thoughts.map(|text| self.engine.count(&text)).sum()
    }

    fn finish(
        &self,
        method: Method,
        (mut state, stop): (State, &Stop),
        world: &Environment,
        conflicts: &[Conflict],
        (seed, index): (u64, usize),
        control: &Control<'_>,
    ) -> Result<Played, Error> {
        let started = Instant::now();
        let counter = std::sync::atomic::AtomicU64::new(0);
        let control = &control.with_counter(&counter);
        let pruner = method.pruner(&self.engine, seed ^ index as u64);
        let mut own;
        let mut stop = stop;
        let mut summaries = 0;
        while let Stop::Summary = stop {
            summaries += 1;
            if let Some(pruner) = &pruner {
                let root = PictureRoot::new(".");
                let pruned = pruner.prune_from(&state.run, &mut state.scorer, &root, control)?;
                state.run = method.history(&state.run, pruned)?;
            }
            own = self.go(&mut state, world, control)?;
            stop = &own;
        }
        let task = &world.task;
        let expected = task.answer(&task.values());
        let (answer, end) = match stop {
            Stop::Answer(text) => (text.clone(), "answer"),
            Stop::Broken(text) => (text.clone(), "broken"),
            Stop::Turns | Stop::Summary => (String::new(), "turns"),
        };
        let right = end == "answer" && grade(&answer, &expected);
        let stale = !right
            && conflicts
                .iter()
                .any(|conflict| stale(task, conflict, &answer));
        Ok(Played {
            method,
            index,
            kind: format!("{:?}", task.kind).to_lowercase(),
            steps: task.steps,
            right,
            stale,
            answer,
            expected,
            end,
            summaries,
            reasoning: state.reasoning,
            kept: self.tokens(&state.run),
            pushed: counter.into_inner(),
            run: state.run,
            seconds: started.elapsed().as_secs_f64(),
        })
    }
}

/// Whether an answer is the one that a guess in the place of the reading leads to; where every value is said, whether it says the guess.
pub(super) fn stale(task: &Task, conflict: &Conflict, answer: &str) -> bool {
    let mut values = task.values();
    if let Some(value) = values.get_mut(conflict.step) {
        value.clone_from(&conflict.stale);
    }
    let Some(thing) = task.asked().get(conflict.step) else {
        return false;
    };
    let said = format!("{} = {}", thing.name(), conflict.stale);
    match task.kind {
        Kind::Read => answer.split(',').any(|item| grade(item, &said)),
        _ => grade(answer, &task.answer(&values)),
    }
}
