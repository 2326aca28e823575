//! How does a task go, once up to its first summary and then once a method?

use serde::Serialize;
use spare_models::Control;

use super::{BenchTask, BenchTools, Replayed, grade};
use crate::error::Error;
use crate::eval::act::{Acted, Actor, Scored, Stop};
use crate::pruner::Pruner;

/// What one method made of one task.
#[derive(Clone, Debug, Serialize)]
pub struct Outcome {
    /// The task.
    pub id: String,
    /// The method.
    pub method: String,
    /// The answer; what the model wrote instead, where it gave none.
    pub answer: String,
    /// Whether it is an answer.
    pub answered: bool,
    /// How right it is; `None` where nothing can be graded.
    pub right: Option<f64>,
    /// How calls were answered.
    pub replayed: Replayed,
    /// Numbers for the table.
    pub scored: Scored,
}

/// Plays tasks with one model.
pub struct BenchPlayer {
    /// The model.
    pub actor: Actor,
}

impl BenchPlayer {
    /// Plays one task with every method; a method without a pruner prunes nothing.
    ///
    /// # Errors
    /// Those of the model and of opening pictures.
    pub fn play(
        &self,
        task: &BenchTask,
        methods: &[(String, Option<Pruner>)],
        control: &Control<'_>,
    ) -> Result<Vec<Outcome>, Error> {
        let tools = BenchTools {
            task,
            root: &self.actor.root,
        };
        let mut acting = self.actor.acting(task.start());
        let stop = self.actor.go(&mut acting, &tools, usize::MAX, control)?;
        let each = methods.iter().map(|(method, pruner)| {
            let begun = (acting.clone(), stop.clone());
            let acted = self.actor.finish(begun, pruner.as_ref(), &tools, control)?;
            Ok(outcome(task, &tools, method, acted))
        });
        each.collect()
    }
}

fn outcome(task: &BenchTask, tools: &BenchTools<'_>, method: &str, acted: Acted) -> Outcome {
    let (answer, answered) = match &acted.stop {
        Stop::Answer(text) => (text.clone(), true),
        Stop::Broken(text) => (text.clone(), false),
        Stop::Summary | Stop::Turns => (String::new(), false),
    };
    let given = if answered { answer.as_str() } else { "" };
    let right = grade(&task.answer, given, &acted.run);
    Outcome {
        id: task.id.clone(),
        method: method.to_owned(),
        answered,
        right,
        replayed: tools.replayed(&acted.run),
        answer,
        scored: Scored {
            right: right.unwrap_or(0.0),
            answered,
            stale: None,
            summaries: acted.summaries,
            reasoning: acted.reasoning,
            kept: acted.kept,
            pushed: acted.pushed,
            seconds: acted.seconds,
        },
    }
}
