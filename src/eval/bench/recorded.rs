//! Which calls of a recorded run brought what, and which task do they belong to?

use serde_json::Value;

use super::{BenchTask, Recorded};
use crate::trajectory::{Role, Trajectory};

/// Calls of a run with their results, in order; those of the summary tool are left out.
pub fn recorded(run: &Trajectory) -> Vec<Recorded> {
    let mut out = Vec::new();
    for (at, message) in run.messages.iter().enumerate() {
        let behind = run.messages.get(at + 1..).unwrap_or_default();
        let results: Vec<_> = behind.iter().take_while(|m| m.role == Role::Tool).collect();
        for (number, call) in message.calls.iter().enumerate() {
            let by_id = results
                .iter()
                .find(|m| m.answers.is_some() && m.answers == call.id);
            let result = by_id.or_else(|| results.get(number).filter(|m| m.answers.is_none()));
            if let Some(result) = result.filter(|_| call.name != "summarize_the_task") {
                out.push(Recorded {
                    name: call.name.clone(),
                    arguments: serde_json::from_str(&call.arguments_text()).unwrap_or(Value::Null),
                    result: result.parts.clone(),
                });
            }
        }
    }
    out
}

/// Gives the calls of a run to the task that has its id, else to the one whose question it begins with. False where there is none.
pub fn take(tasks: &mut [BenchTask], run: &Trajectory) -> bool {
    let asked = run.messages.iter().find(|m| m.role == Role::User);
    let asked = asked.map(|m| m.text()).unwrap_or_default();
    let id = run.id.as_deref();
    let by_id = tasks.iter().position(|t| Some(t.id.as_str()) == id);
    let by_question = || {
        let first = |task: &BenchTask| task.question.lines().next().unwrap_or("").trim().to_owned();
        tasks
            .iter()
            .position(|t| !first(t).is_empty() && asked.contains(&first(t)))
    };
    match by_id.or_else(by_question).and_then(|at| tasks.get_mut(at)) {
        Some(task) => {
            task.recorded.extend(recorded(run));
            true
        }
        None => false,
    }
}
