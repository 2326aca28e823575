//! Does the agent find, read and note? Counted from what it did by itself.

use serde::Serialize;

use crate::eval::phrases::READ;
use crate::eval::world::{Kind, Task};
use crate::trajectory::{Message, Role, ToolCall, Trajectory};

/// Times that something was done right, of all times.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Times {
    /// Right ones.
    pub right: usize,
    /// All.
    pub all: usize,
}

impl Times {
    fn push(&mut self, right: bool) {
        self.right += usize::from(right);
        self.all += 1;
    }

    /// Adds others.
    pub fn add(&mut self, other: Self) {
        self.right += other.right;
        self.all += other.all;
    }

    /// The share of right ones; 0 of none.
    pub fn share(self) -> f64 {
        self.right as f64 / self.all.max(1) as f64
    }
}

/// What an agent can do in one episode.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Skill {
    /// The n-th look goes to the cell of the n-th asked thing; where a place is asked for, the answer names it.
    pub found: Times,
    /// The turn behind a look at the right cell reads the value aloud.
    pub read: Times,
    /// A summary states a value that was looked at before it.
    pub noted: Times,
}

impl Skill {
    /// Adds another episode.
    pub fn add(&mut self, other: Self) {
        self.found.add(other.found);
        self.read.add(other.read);
        self.noted.add(other.noted);
    }

    /// Of a run from its message `from` on; what stands before was written by somebody else. Reasoning that was pruned reads nothing aloud.
    pub fn of(task: &Task, run: &Trajectory, from: usize) -> Self {
        let mut skill = Self::default();
        let mut seen = Vec::new();
        let mut looks = 0;
        let own = |at: usize| at >= from;
        for (at, message) in run.messages.iter().enumerate() {
            for call in &message.calls {
                if let Some(summary) = summary(call).filter(|_| own(at)) {
                    // What was seen last may be read in the very turn that notes it.
                    for fact in &seen {
                        skill.noted.push(summary.contains(fact));
                    }
                }
                if !LOOKS.contains(&call.name.as_str()) {
                    continue;
                }
                let thing = task.asked().get(looks);
                looks += 1;
                let there = thing.filter(|t| t.place() == call.arguments_text());
                if own(at) {
                    skill.found.push(there.is_some());
                }
                let Some(thing) = there else {
                    continue;
                };
                seen.push(format!("{} = {}", thing.name(), thing.value));
                let mut later = run.messages.iter().enumerate().skip(at + 1);
                let next = later.find(|(_, m)| m.role == Role::Assistant);
                if let Some((_, next)) = next.filter(|(i, _)| own(*i)) {
                    skill.read.push(says(next, &thing.name(), &thing.value));
                }
            }
        }
        if task.kind == Kind::Locate
            && let Some(last) = run.messages.last().filter(|m| m.role == Role::Assistant)
        {
            let right = task.answer(&task.values());
            skill.found.push(last.text() == right);
        }
        skill
    }
}

const LOOKS: [&str; 3] = ["crop", "zoom", "read_bar"];

fn summary(call: &ToolCall) -> Option<String> {
    (call.name == "summarize_the_task").then(|| call.arguments_text())
}

/// Whether a turn's reasoning says `value` of a thing in one of the sentences that readings have.
fn says(turn: &Message, name: &str, value: &str) -> bool {
    let thought = turn.reasoning_text().unwrap_or_default();
    READ.iter().any(|sentence| {
        let sentence = sentence.replace("{a}", name).replace("{v}", value);
        thought.contains(&sentence)
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::eval::world::{DEV_SEED, Environment, Knobs};

    #[test]
    fn the_expert_does_everything_right_and_a_wrong_turn_is_counted() {
        let knobs = Knobs {
            kinds: vec![Kind::Read],
            steps: (3, 3),
            summaries: 100,
            ..Knobs::standard()
        };
        let world = Environment::new(knobs.task(DEV_SEED, 4), DEV_SEED, 4).unwrap();
        let mut run = world.episode(&knobs, DEV_SEED, 4).unwrap().run;
        let skill = Skill::of(&world.task, &run, 0);
        assert_eq!((skill.found.right, skill.found.all), (3, 3));
        assert_eq!((skill.read.right, skill.read.all), (3, 3));
        assert!(skill.noted.all > 0 && skill.noted.right == skill.noted.all);
        // The first look goes elsewhere: one cell missed, one reading less to count.
        let call = &mut run.messages[2].calls[0];
        let elsewhere = match world.task.asked()[0].cell {
            (0, 0) => "{\"cell\": [1, 1]}",
            _ => "{\"cell\": [0, 0]}",
        };
        *call = ToolCall::written("call_1", "crop", elsewhere.into());
        let skill = Skill::of(&world.task, &run, 0);
        assert_eq!((skill.found.right, skill.found.all), (2, 3));
        assert_eq!((skill.read.right, skill.read.all), (2, 2));
        // A reading that says another digit.
        let wrong = world.task.asked()[1].value.clone();
        for message in &mut run.messages {
            for thought in &mut message.reasoning {
                thought.text = thought.text.replace(&wrong, "x");
            }
        }
        let skill = Skill::of(&world.task, &run, 0);
        assert!(skill.read.right < 2, "{skill:?}");
        assert_eq!(Skill::of(&world.task, &run, usize::MAX), Skill::default());
    }
}
