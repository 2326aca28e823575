//! When is a decision made, and over which segments? SPARE (arXiv 2608.22963): at the call of `summarize_the_task`; the other triggers are its ablations.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::evidence::is_evidence;
use crate::summary::{Sigma, SummaryTool};
use crate::trajectory::{Message, Part, Role, Segment, Text, Trajectory, think_text};

/// When events stand.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Trigger {
    /// At every turn that calls the summary tool.
    #[default]
    Model,
    /// After every Nth assistant turn with a call.
    Fixed(usize),
    /// Before the answer that the run ends with, else at the end.
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
    /// Numbers of the segments to decide on: those of turns before the one that carries the summary which no earlier event had.
    /// None where the run holds no summary for the event; they stay candidates of the next one.
    pub candidates: Vec<usize>,
}

/// Where an event stands, and the run's own summary for it with its turn.
struct Stand {
    at: usize,
    recorded: Option<(usize, Sigma)>,
}

/// The events of a run in order. With `supplied` (a summary from outside) and no summary call, `Trigger::Model` falls back to `PreAnswer`.
pub fn events(
    run: &Trajectory,
    segments: &[Segment],
    trigger: Trigger,
    tool: &SummaryTool,
    supplied: bool,
) -> Vec<Event> {
    let mut from = 0;
    stands(run, trigger, tool, supplied)
        .into_iter()
        .enumerate()
        .map(|(index, Stand { at, recorded })| {
            let end = match &recorded {
                Some((turn, _)) if !supplied => *turn,
                _ => at,
            };
            let (mut decided, mut candidates) = (false, Vec::new());
            if supplied || recorded.is_some() {
                decided = marked(run, from..end);
                let own = segments.iter().filter(|s| (from..end).contains(&s.message));
                candidates = own.map(|s| s.index).collect();
                from = from.max(end);
            }
            Event {
                index,
                at,
                recorded: recorded.map(|(_, sigma)| sigma),
                decided,
                candidates,
            }
        })
        .collect()
}

fn stands(run: &Trajectory, trigger: Trigger, tool: &SummaryTool, supplied: bool) -> Vec<Stand> {
    let known = summaries(run, tool);
    let places = match trigger {
        Trigger::Model if !supplied || !known.is_empty() => {
            let own = known.into_iter().map(|(at, sigma)| Stand {
                at,
                recorded: sigma.map(|sigma| (at, sigma)),
            });
            return own.collect();
        }
        Trigger::Fixed(every) => fixed(run, every),
        Trigger::Model | Trigger::PreAnswer => vec![pre_answer(run)],
    };
    // These take the newest summary that the run itself holds by then.
    let newest = |at: usize| {
        let mut by_then = known.iter().rev().filter(|(turn, _)| *turn < at);
        by_then.find_map(|(turn, sigma)| Some((*turn, sigma.clone()?)))
    };
    let stand = |at| Stand {
        at,
        recorded: newest(at),
    };
    places.into_iter().map(stand).collect()
}

/// Turns that call the summary tool, with their summaries; None where the call holds no text.
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
            let text = call.string_argument(&tool.argument);
            let text = text.filter(|text| !text.trim().is_empty());
            (at, text.map(Sigma::from_call))
        })
        .collect()
}

fn fixed(run: &Trajectory, every: usize) -> Vec<usize> {
    let mut out = Vec::new();
    let mut turns = 0;
    let over = waiting(run).unwrap_or(run.messages.len());
    for (index, message) in run.messages.iter().enumerate().take(over) {
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
            out.push(index + 1 + results.count());
        }
    }
    out
}

/// Before the answer that the run ends with, or before its calls that still wait for results; else at the end: behind a question, the answer is
/// still to come.
fn pre_answer(run: &Trajectory) -> usize {
    if let Some(turn) = waiting(run) {
        return turn;
    }
    let answer = |m: &&Message| m.role == Role::Assistant && m.calls.is_empty();
    let given = run.messages.last().filter(answer);
    run.messages.len() - usize::from(given.is_some())
}

/// Where the run's last turn begins, if a call of it has no result yet: no model says anything between a call and its result, so no event stands
/// there, and what that turn thought belongs to a step that is not over.
fn waiting(run: &Trajectory) -> Option<usize> {
    let said = |m: &Message| m.role == Role::Assistant;
    let last = run.messages.iter().rposition(said)?;
    let before = run.messages.iter().take(last).rev();
    let first = last - before.take_while(|m| said(m)).count();
    let turn = run.messages.get(first..=last).unwrap_or_default();
    let behind = run.messages.get(last + 1..).unwrap_or_default();
    let calls: Vec<Option<&str>> = turn
        .iter()
        .flat_map(|m| &m.calls)
        .map(|call| call.id.as_deref())
        .collect();
    let results = behind.iter().filter(|m| m.role == Role::Tool);
    let mut answered: Vec<Option<&str>> = results.map(|m| m.answers.as_deref()).collect();
    let all_named = calls.iter().chain(&answered).all(Option::is_some);
    let open = if behind.is_empty() {
        !calls.is_empty()
    } else {
        // Ids may come twice: a result uses up one call.
        let mut left = calls;
        left.retain(|id| match answered.iter().position(|a| a == id) {
            Some(at) => {
                answered.swap_remove(at);
                false
            }
            None => true,
        });
        all_named && !left.is_empty() && behind.iter().all(|m| m.role == Role::Tool)
    };
    open.then_some(first)
}

fn marked(run: &Trajectory, range: Range<usize>) -> bool {
    let is_mark = |text: &str| is_evidence(text).is_some_and(|mark| mark.pruned.is_some());
    let in_text = |text: &Text| {
        let thought = text.thought.clone().and_then(|range| text.text.get(range));
        is_mark(&text.text)
            || thought.is_some_and(is_mark)
            || think_text(&text.text).is_some_and(is_mark)
    };
    let messages = run.messages.get(range).unwrap_or_default().iter();
    messages.filter(|m| m.role == Role::Assistant).any(|m| {
        m.reasoning.iter().any(|r| is_mark(&r.text))
            || m.parts
                .iter()
                .any(|part| matches!(part, Part::Text(text) if in_text(text)))
    })
}
