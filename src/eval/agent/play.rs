//! How does an episode go, once up to its first summary and then once a method?

use std::sync::{Arc, OnceLock};
use std::time::Instant;

use spare_models::Control;
use spare_models::image::ImageError;

use super::outcome::stale;
use super::turn::Turn;
use super::{Method, Played, Set, Skill, turn};
use crate::engine::Engine;
use crate::error::Error;
use crate::eval::world::{Conflict, DEV_SEED, Environment, Knobs, grade};
use crate::score::LocalScorer;
use crate::trajectory::{Message, Trajectory};

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
    /// What all episodes begin with, read once: always the same episode's, so that nothing hangs on which one came first.
    begun: OnceLock<LocalScorer>,
}

/// An episode on its way.
#[derive(Clone)]
struct State {
    run: Trajectory,
    scorer: LocalScorer,
    /// Messages that the agent began with.
    from: usize,
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

fn drawn(error: ImageError) -> Error {
    Error::Option {
        option: "world",
        found: error.to_string(),
        expected: "a board that can be drawn".into(),
    }
}

impl Player {
    /// A player of both sets as they are measured.
    pub fn new(engine: Arc<Engine>) -> Self {
        Self {
            engine,
            turns: 16,
            standard: Knobs::standard(),
            conflict: Knobs::conflict(),
            begun: OnceLock::new(),
        }
    }

    /// A scorer that has read what all episodes begin with: system prompt and tools.
    fn scorer(&self, control: &Control<'_>) -> Result<LocalScorer, Error> {
        if let Some(begun) = self.begun.get() {
            return Ok(begun.clone());
        }
        let mut scorer = LocalScorer::new(Arc::clone(&self.engine));
        let world = Environment::new(self.standard.task(DEV_SEED, 0), DEV_SEED, 0);
        let run = world.and_then(|world| world.start()).map_err(drawn)?;
        turn::read(&self.engine, &mut scorer, &run, control)?;
        Ok(self.begun.get_or_init(|| scorer).clone())
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
        let knobs = match set {
            Set::Standard => &self.standard,
            Set::Conflict => &self.conflict,
        };
        let task = knobs.task(seed, index);
        let world = Environment::new(task, seed, index).map_err(drawn)?;
        let scorer = self.scorer(control)?;
        let (state, stop, conflicts) = match set {
            Set::Standard => {
                let run = world.start().map_err(drawn)?;
                let mut state = State {
                    from: run.messages.len(),
                    run,
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
                    from: opening.run.messages.len(),
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
            let turn = turn::next(engine, &mut state.scorer, &state.run, &id, control)?;
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
            let answer = world.answer(&call).map_err(drawn)?;
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
        let mut own;
        let mut stop = stop;
        let mut summaries = 0;
        while let Stop::Summary = stop {
            summaries += 1;
            let own_seed = seed ^ index as u64;
            state.run = method.prune(
                &self.engine,
                &state.run,
                &mut state.scorer,
                own_seed,
                control,
            )?;
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
            skill: Skill::of(task, &state.run, state.from),
            run: state.run,
            seconds: started.elapsed().as_secs_f64(),
        })
    }
}
