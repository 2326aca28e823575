//! How does somebody who knows the board work on a task?

use serde_json::{Value, json};
use spare_models::image::ImageError;

use super::question::{Kind, LIMIT};
use super::scene::Thing;
use super::{Conflict, Environment, Knobs};
use crate::eval::Random;
use crate::eval::phrases::{FLUFF, GUESS, LOCATE, NEED, NEXT, READ};
use crate::trajectory::{Message, ToolCall, Trajectory};

const AGAIN: &[&str] = &[
    "The {a} still looks like {v}.",
    "From the board I had {v} for the {a}.",
    "As I said, the {a} might be a {v}.",
];

/// Why no more is read.
const ENOUGH: &str = "I have every digit that I need.";

/// An episode that is being written.
pub(super) struct Writer<'a> {
    random: Random,
    knobs: &'a Knobs,
    world: &'a Environment,
    pub(super) run: Trajectory,
    pub(super) guesses: Vec<String>,
    pub(super) conflicts: Vec<Conflict>,
    calls: Vec<String>,
}

impl<'a> Writer<'a> {
    pub(super) fn new(
        world: &'a Environment,
        knobs: &'a Knobs,
        seed: u64,
        index: usize,
    ) -> Result<Self, ImageError> {
        Ok(Self {
            random: Random::new(seed.rotate_left(32), index),
            knobs,
            world,
            run: world.start()?,
            guesses: Vec::new(),
            conflicts: Vec::new(),
            calls: Vec::new(),
        })
    }

    /// Works the task off, or up to the first summary.
    pub(super) fn work(&mut self, stop_at_summary: bool) -> Result<(), ImageError> {
        let task = &self.world.task;
        let (asked, values) = (task.asked(), task.values());
        if task.kind == Kind::Locate {
            let thought = asked.first().map(|thing| self.located(thing));
            self.finish(thought.unwrap_or_default(), &task.answer(&values));
            return Ok(());
        }
        let noted = self.summaries(asked.len());
        for (i, thing) in asked.iter().enumerate() {
            let mut thought: Vec<String> = Vec::new();
            if let Some(last) = i.checked_sub(1).and_then(|last| asked.get(last)) {
                if !noted.contains(&(i - 1)) {
                    thought.extend(self.read(last, values.get(..i).unwrap_or_default()));
                }
                thought.extend(self.repeated());
            }
            if self.random.chance(self.knobs.verbosity) {
                thought.push(self.random.pick(FLUFF).to_owned());
            }
            if i > 0 {
                thought.push(say(self.random.pick(NEXT), &thing.name(), ""));
            }
            thought.push(self.located(thing));
            if let Some(guess) = self.guess(i, thing) {
                thought.push(guess);
            }
            thought.push(self.random.pick(NEED).to_owned());
            self.turn(&thought.join(" "), thing.tool(), thing.place())?;
            self.calls.push(format!(
                "{}({}, {})",
                thing.tool(),
                thing.cell.0,
                thing.cell.1
            ));
            if noted.contains(&i) {
                let mut thought = self.read(thing, values.get(..=i).unwrap_or_default());
                thought.push("I note the state before I go on.".into());
                let summary = self.summary(i + 1);
                self.turn(
                    &thought.join(" "),
                    "summarize_the_task",
                    spaced("summary", &json!(summary)),
                )?;
                if stop_at_summary {
                    return Ok(());
                }
            }
        }
        let mut thought = Vec::new();
        if let Some(last) = asked.last().filter(|_| !noted.contains(&(asked.len() - 1))) {
            thought.extend(self.read(last, &values));
        }
        thought.push(ENOUGH.into());
        self.finish(thought.join(" "), &task.answer(&values));
        Ok(())
    }

    /// Says every value and what follows from it, and answers.
    pub(super) fn conclude(&mut self) {
        let task = &self.world.task;
        let values = task.values();
        let mut thought = Vec::new();
        for (i, thing) in task.asked().iter().enumerate() {
            thought.extend(self.read(thing, values.get(..=i).unwrap_or_default()));
        }
        thought.push(ENOUGH.into());
        self.finish(thought.join(" "), &task.answer(&values));
    }

    /// Steps after which a summary is made: one a stretch of at most four.
    fn summaries(&mut self, steps: usize) -> Vec<usize> {
        if steps < 2 || !self.random.chance(self.knobs.summaries) {
            return Vec::new();
        }
        let first = self.random.within(1, (steps - 1).min(3));
        (first..steps).step_by(4).collect()
    }

    fn located(&mut self, thing: &Thing) -> String {
        let cell = format!("({}, {})", thing.cell.0, thing.cell.1);
        say(self.random.pick(LOCATE), &thing.name(), &cell)
    }

    /// The value, and what follows from it and those before.
    fn read(&mut self, thing: &Thing, values: &[String]) -> Vec<String> {
        let mut out = vec![say(self.random.pick(READ), &thing.name(), &thing.value)];
        let task = &self.world.task;
        let result = task.result(values);
        match task.kind {
            Kind::Add if values.len() > 1 => out.push(format!("The total so far is {result}.")),
            Kind::Count => out.push(format!("So far {result} are above {LIMIT}.")),
            Kind::Compare if values.len() > 1 => {
                out.push(format!("The largest so far is the {result}."))
            }
            _ => {}
        }
        out
    }

    fn guess(&mut self, step: usize, thing: &Thing) -> Option<String> {
        let number = thing.number()?;
        if !self.random.chance(self.knobs.guesses) {
            return None;
        }
        let size = 10u32.pow(thing.value.len() as u32);
        let least = if thing.value.len() > 1 { size / 10 } else { 0 };
        let span = size - least;
        let other =
            (number - least + self.random.within(1, span as usize - 1) as u32) % span + least;
        let stale = other.to_string();
        let sentence = say(self.random.pick(GUESS), &thing.name(), &stale);
        self.guesses.push(sentence.clone());
        self.conflicts.push(Conflict {
            step,
            stale,
            mentions: 1,
            stated: false,
        });
        Some(sentence)
    }

    /// Earlier guesses, said again.
    fn repeated(&mut self) -> Vec<String> {
        let asked = self.world.task.asked();
        let mut out = Vec::new();
        for conflict in &mut self.conflicts {
            let Some(thing) = asked.get(conflict.step) else {
                continue;
            };
            if self.random.chance(self.knobs.repeats) {
                conflict.mentions += 1;
                out.push(say(self.random.pick(AGAIN), &thing.name(), &conflict.stale));
            }
        }
        self.guesses.extend(out.iter().cloned());
        out
    }

    fn summary(&mut self, known: usize) -> String {
        let task = &self.world.task;
        let mut facts = Vec::new();
        for (step, thing) in task.asked().iter().take(known).enumerate() {
            if self.random.chance(self.knobs.completeness) {
                facts.push(format!("{} = {}", thing.name(), thing.value));
                let conflicts = self.conflicts.iter_mut().filter(|c| c.step == step);
                conflicts.for_each(|c| c.stated = true);
            }
        }
        let result = task.result(task.values().get(..known).unwrap_or_default());
        if !result.is_empty() && self.random.chance(self.knobs.completeness) {
            facts.push(format!("{} = {result}", task.word()));
        }
        let open: Vec<String> = task.asked().iter().skip(known).map(Thing::name).collect();
        let or = |list: Vec<String>, between: &str, none: &str| match list.is_empty() {
            true => none.to_owned(),
            false => list.join(between),
        };
        format!(
            "Question: {} Done: {}. Evidence: {}. Open: {}.",
            task.question(),
            self.calls.join(", "),
            or(facts, "; ", "none"),
            or(open, ", ", "nothing"),
        )
    }

    fn turn(&mut self, thought: &str, name: &str, arguments: String) -> Result<(), ImageError> {
        let turns = self.run.messages.iter().filter(|m| !m.calls.is_empty());
        let call = ToolCall::written(format!("call_{}", turns.count() + 1), name, arguments);
        let answer = self.world.answer(&call)?;
        let id = call.id.clone().unwrap_or_default();
        let turn = Message::assistant(Some(thought.to_owned()), "", vec![call]);
        self.run.push(turn).push(Message::tool(id, answer));
        Ok(())
    }

    fn finish(&mut self, thought: String, answer: &str) {
        self.run
            .push(Message::assistant(Some(thought), answer, Vec::new()));
    }
}

/// One argument as models are taught to write it, with a space behind the colon.
fn spaced(name: &str, value: &Value) -> String {
    format!("{{\"{name}\": {value}}}")
}

fn say(sentence: &str, about: &str, value: &str) -> String {
    sentence.replace("{a}", about).replace("{v}", value)
}
