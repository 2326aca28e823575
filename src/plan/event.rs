//! When is a decision made, and over which segments? SPARE (arXiv 2608.22963): at the call of `summarize_the_task`; the other triggers are its ablations.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::evidence::is_evidence;
use crate::summary::{Sigma, SummaryTool};
use crate::trajectory::{Part, Role, Segment, Text, Trajectory};

/// When events stand.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Trigger {
    /// At every turn that calls the summary tool.
    #[default]
    Model,
    /// After every Nth assistant turn with a call.
    Fixed(usize),
    /// Before the last assistant message where it has no calls, else at the end.
    PreAnswer,
}

/// One decision over all its candidates.
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    /// Its number in the run.
    pub index: usize,
    /// The trunk is the messages before this one.
    pub at: usize,
    /// The summary in the run that this event stands at, if it stands at one.
    pub recorded: Option<Sigma>,
    /// Whether an earlier pruning decided it: its mark stands in the run.
    pub decided: bool,
    /// Numbers of the segments to decide on.
    pub candidates: Vec<usize>,
}

/// The events of a run in order. With `supplied` (a summary from outside) and no summary call, `Trigger::Model` falls back to `PreAnswer`.
pub fn events(
    run: &Trajectory,
    segments: &[Segment],
    trigger: Trigger,
    tool: &SummaryTool,
    supplied: bool,
) -> Vec<Event> {
    let mut places = match trigger {
        Trigger::Model => summaries(run, tool),
        Trigger::Fixed(every) => fixed(run, every),
        Trigger::PreAnswer => vec![(pre_answer(run), None)],
    };
    if trigger == Trigger::Model && places.is_empty() && supplied {
        places.push((pre_answer(run), None));
    }
    if trigger != Trigger::Model && !supplied {
        // These triggers take the newest summary that the run itself holds by then.
        let known = summaries(run, tool);
        for (at, sigma) in &mut places {
            *sigma = known
                .iter()
                .rev()
                .find(|(turn, _)| turn < at)
                .and_then(|(_, s)| s.clone());
        }
    }
    let mut from = 0;
    places
        .into_iter()
        .enumerate()
        .map(|(index, (at, recorded))| {
            let candidates = segments
                .iter()
                .filter(|s| (from..at).contains(&s.message))
                .map(|s| s.index)
                .collect();
            let decided = marked(run, from..at);
            from = at;
            Event {
                index,
                at,
                recorded,
                decided,
                candidates,
            }
        })
        .collect()
}

fn summaries(run: &Trajectory, tool: &SummaryTool) -> Vec<(usize, Option<Sigma>)> {
    let turns = run.messages.iter().enumerate();
    turns
        .filter(|(_, m)| m.role == Role::Assistant)
        .filter_map(|(at, m)| {
            m.calls
                .iter()
                .find(|c| c.name == tool.name)
                .map(|c| (at, c))
        })
        .map(|(at, call)| {
            (
                at,
                call.string_argument(&tool.argument).map(Sigma::from_call),
            )
        })
        .collect()
}

fn fixed(run: &Trajectory, every: usize) -> Vec<(usize, Option<Sigma>)> {
    let mut out = Vec::new();
    let mut turns = 0;
    for (index, message) in run.messages.iter().enumerate() {
        if message.role != Role::Assistant || message.calls.is_empty() {
            continue;
        }
        turns += 1;
        if every > 0 && turns % every == 0 {
            let results = run
                .messages
                .iter()
                .skip(index + 1)
                .take_while(|m| m.role == Role::Tool);
            out.push((index + 1 + results.count(), None));
        }
    }
    out
}

fn pre_answer(run: &Trajectory) -> usize {
    // A plan or a remark without calls that more work follows is not the answer.
    let last = run
        .messages
        .iter()
        .rposition(|m| m.role == Role::Assistant);
    let answer = |index: &usize| run.messages.get(*index).is_some_and(|m| m.calls.is_empty());
    last.filter(answer).unwrap_or(run.messages.len())
}

fn marked(run: &Trajectory, range: Range<usize>) -> bool {
    let is_mark = |text: &str| is_evidence(text).is_some_and(|mark| mark.pruned.is_some());
    let in_text = |text: &Text| {
        // Behind an opening tag or a label, or the whole of it.
        let thought = text.thought.clone().and_then(|range| text.text.get(range));
        let tagged = text.text.split_once("<think>").map(|(_, rest)| rest);
        is_mark(&text.text) || thought.is_some_and(is_mark) || tagged.is_some_and(is_mark)
    };
    let messages = run.messages.get(range).unwrap_or_default().iter();
    messages.filter(|m| m.role == Role::Assistant).any(|m| {
        m.reasoning.iter().any(|r| is_mark(&r.text))
            || m.parts
                .iter()
                .any(|part| matches!(part, Part::Text(text) if in_text(text)))
    })
}
