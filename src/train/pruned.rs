//! How does a run look to an agent whose history was pruned on the way?

use std::sync::Arc;

use spare_models::Control;

use crate::engine::Engine;
use crate::error::Error;
use crate::eval::agent::Method;
use crate::score::LocalScorer;
use crate::trajectory::{Role, Trajectory};

/// `run` as `method` leaves it at its last summary, and how many of its turns stand before that: they are not what the agent wrote, so they
/// are not learnt. A run without a summary stays as it is and is learnt whole. `judge` scores.
///
/// # Errors
/// Those of the model.
pub fn pruned(
    judge: &Arc<Engine>,
    mut run: Trajectory,
    method: Method,
    seed: u64,
) -> Result<(Trajectory, usize), Error> {
    let summary = run.messages.iter().rposition(|message| {
        let mut calls = message.calls.iter();
        calls.any(|call| call.name == "summarize_the_task")
    });
    let Some(summary) = summary else {
        return Ok((run, 0));
    };
    // The call and its answer.
    let after = run
        .messages
        .split_off((summary + 2).min(run.messages.len()));
    let mut scorer = LocalScorer::new(Arc::clone(judge));
    let mut history = method.prune(judge, &run, &mut scorer, seed, &Control::none())?;
    let turns = history.messages.iter();
    let turns = turns.filter(|m| m.role == Role::Assistant).count();
    history.messages.extend(after);
    Ok((history, turns))
}
