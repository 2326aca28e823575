//! One task of any benchmark.

use serde_json::{Value, json};

use crate::summary::summarize_the_task;
use crate::trajectory::{Message, Part, Trajectory};

/// What is asked, seen and right, and what tools said when the task was recorded.
#[derive(Clone, Debug)]
pub struct BenchTask {
    /// Its id in the benchmark.
    pub id: String,
    /// What is asked, files named and options listed.
    pub question: String,
    /// Pictures of the question, in order.
    pub pictures: Vec<Part>,
    /// What was asked and answered before, where the benchmark has several turns.
    pub earlier: Vec<Earlier>,
    /// What is right.
    pub answer: Answer,
    /// Tools that the benchmark offers, as chat templates take them.
    pub tools: Vec<Value>,
    /// Calls with what they brought.
    pub recorded: Vec<Recorded>,
}

/// A turn before the question, with the answer that the benchmark gives.
#[derive(Clone, Debug)]
pub struct Earlier {
    /// What was asked.
    pub question: String,
    /// Pictures that came with it.
    pub pictures: Vec<Part>,
    /// What the benchmark answers.
    pub answer: String,
}

/// A recorded call.
#[derive(Clone, Debug)]
pub struct Recorded {
    /// The tool.
    pub name: String,
    /// Its arguments, an object.
    pub arguments: Value,
    /// What it brought.
    pub result: Vec<Part>,
}

/// What is right.
#[derive(Clone, Debug, PartialEq)]
pub enum Answer {
    /// One of several options.
    Choice {
        /// Its letter, upper case.
        letter: char,
        /// All options in order, the first one `A`.
        options: Vec<String>,
    },
    /// Phrases that must stand in the answer, one of each list, and phrases that must not.
    Phrases {
        /// Lists of aliases.
        all: Vec<Vec<String>>,
        /// What makes the answer wrong.
        none: Vec<String>,
    },
    /// Texts that an answer should resemble.
    Texts(Vec<String>),
    /// One text that the answer should say.
    Says(String),
    /// Tools that should be called, any of several plans.
    Plans(Vec<Vec<String>>),
    /// Nothing that could be graded here, such as a picture to be drawn.
    Ungraded,
}

const SYSTEM: &str = "Solve the task about the pictures step by step. Think briefly before every step, call one tool at a time where it helps, and note the state of the task with summarize_the_task after every few steps. When you know the answer, say it in a short sentence without a call.";

impl BenchTask {
    /// The run before the model's first turn: the benchmark's tools, those that run here and the summary tool; earlier turns; the question.
    pub fn start(&self) -> Trajectory {
        let mut tools = self.tools.clone();
        let named = |name: &str| {
            tools
                .iter()
                .any(|t| t.pointer("/function/name").is_some_and(|n| n == name))
        };
        if !named("crop") {
            tools.push(crop());
        }
        tools.push(summarize_the_task());
        let mut run = Trajectory::new(tools);
        run.id = Some(self.id.clone());
        run.push(Message::system(SYSTEM));
        for Earlier {
            question,
            pictures,
            answer,
        } in &self.earlier
        {
            run.push(asked(question, pictures));
            run.push(Message::assistant(None, answer.clone(), Vec::new()));
        }
        run.push(asked(&self.question, &self.pictures));
        run
    }
}

fn asked(question: &str, pictures: &[Part]) -> Message {
    let mut parts = pictures.to_vec();
    // Templates write pictures one behind the other; some models read two that touch as one.
    for at in (1..parts.len()).rev() {
        parts.insert(at, Part::text("\n"));
    }
    parts.push(Part::text(question));
    Message::user_parts(parts)
}

/// The tool that runs here whatever the benchmark.
fn crop() -> Value {
    json!({"type": "function", "function": {"name": "crop", "description": "Show a part of a picture, enlarged.", "parameters": {"type": "object",
        "properties": {
            "picture": {"type": "integer", "description": "the picture's number in the conversation, the first one 1"},
            "box": {"type": "array", "items": {"type": "integer"}, "description": "left, top, right and bottom in thousandths of the picture"}},
        "required": ["picture", "box"]}}})
}
