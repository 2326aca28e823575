//! How does a run go from a question to an answer?

use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Instant;

use spare_models::Control;

use crate::engine::Engine;
use crate::error::Error;
use crate::eval::agent::Turn;
use crate::plan::Trigger;
use crate::pruner::Pruner;
use crate::replay::{self, PictureRoot};
use crate::score::LocalScorer;
use crate::summary::{SUMMARY_ANSWER, SummaryTool};
use crate::trajectory::{Message, Part, ToolCall, Trajectory, VisibleText, segments};

/// What answers calls.
pub trait Tools: Sync {
    /// What a call brings; a call that makes no sense is answered in words. The summary tool is not asked.
    ///
    /// # Errors
    /// Where a picture cannot be read or written.
    fn answer(&self, run: &Trajectory, call: &ToolCall) -> Result<Vec<Part>, Error>;
}

/// A model that acts.
pub struct Actor {
    /// The model.
    pub engine: Arc<Engine>,
    /// Turns that a run may have.
    pub turns: usize,
    /// Tokens that a turn may have.
    pub max_tokens: usize,
    /// Where relative picture paths start.
    pub root: PictureRoot,
    /// How a turn is read: its text and the id of its call.
    pub parse: fn(&str, &str) -> Turn,
}

/// A run on its way.
#[derive(Clone)]
pub struct Acting {
    /// The history.
    pub run: Trajectory,
    scorer: LocalScorer,
    /// Turns with a call so far.
    turns: usize,
    /// Tokens of reasoning written so far.
    reasoning: usize,
}

/// Why the model stopped writing.
#[derive(Clone, Debug, PartialEq)]
pub enum Stop {
    /// It called the summary tool.
    Summary,
    /// As many turns as were asked for are over.
    Turns,
    /// It answered.
    Answer(String),
    /// It wrote something that is neither a call nor an answer.
    Broken(String),
}

/// How a run ended.
#[derive(Clone, Debug)]
pub struct Acted {
    /// The history at the end.
    pub run: Trajectory,
    /// How it ended.
    pub stop: Stop,
    /// Summaries that were made.
    pub summaries: usize,
    /// Tokens of reasoning that were written.
    pub reasoning: usize,
    /// Those that the history held at the end, evidence and marks included.
    pub kept: usize,
    /// Tokens that the model read or wrote from the first summary on.
    pub pushed: u64,
    /// Seconds from the first summary on.
    pub seconds: f64,
}

impl Actor {
    /// A run that begins with `run`; reasoning that stands in it already counts as written.
    pub fn acting(&self, run: Trajectory) -> Acting {
        Acting {
            scorer: LocalScorer::new(Arc::clone(&self.engine)),
            turns: run.messages.iter().filter(|m| !m.calls.is_empty()).count(),
            reasoning: self.reasoning(&run),
            run,
        }
    }

    /// Tokens of all reasoning of a run: what pruning may touch, and the evidence that it left.
    fn reasoning(&self, run: &Trajectory) -> usize {
        let fields = run.messages.iter().filter_map(Message::reasoning_text);
        let fields: usize = fields.map(|text| self.engine.count(&text)).sum();
        if fields > 0 {
            return fields;
        }
        // A run without reasoning fields thinks aloud beside its calls.
        let own = segments(run, VisibleText::Auto);
        own.iter().map(|s| self.engine.count(&s.text)).sum()
    }

    /// Lets the model write turns until it stops, `until` turns with a call at most.
    ///
    /// # Errors
    /// Those of the model and of the tools.
    pub fn go(
        &self,
        acting: &mut Acting,
        tools: &dyn Tools,
        until: usize,
        control: &Control<'_>,
    ) -> Result<Stop, Error> {
        let summary = SummaryTool::default().name;
        while acting.turns < until.min(self.turns) {
            let id = format!("call_{}", acting.turns + 1);
            let message = match self.next(acting, &id, control)? {
                Turn::Broken(text) => return Ok(Stop::Broken(text)),
                Turn::Answer(message) => {
                    let text = message.text();
                    self.push(acting, message);
                    return Ok(Stop::Answer(text));
                }
                Turn::Call(message) => message,
            };
            acting.turns += 1;
            let Some(call) = message.calls.first().cloned() else {
                return Ok(Stop::Broken(String::new()));
            };
            self.push(acting, message);
            let noted = call.name == summary;
            let answer = match noted {
                true => vec![Part::text(SUMMARY_ANSWER)],
                false => tools.answer(&acting.run, &call)?,
            };
            acting.run.push(Message::tool(id, answer));
            if noted {
                return Ok(Stop::Summary);
            }
        }
        Ok(Stop::Turns)
    }

    fn push(&self, acting: &mut Acting, message: Message) {
        let before = self.reasoning(&acting.run);
        acting.run.push(message);
        acting.reasoning += self.reasoning(&acting.run).saturating_sub(before);
    }

    /// The model's next turn, greedily.
    fn next(&self, acting: &mut Acting, id: &str, control: &Control<'_>) -> Result<Turn, Error> {
        let engine = &self.engine;
        let run = engine.view(&acting.run, usize::MAX)?;
        let pictures = acting.scorer.pictures(&run, usize::MAX, &self.root)?;
        let trunk = replay::trunk_ids(&engine.prompter, &run, usize::MAX, &pictures)?;
        let keys = pictures.into_iter().map(|(_, key)| key);
        let spans: Vec<_> = trunk.pictures.iter().cloned().zip(keys).collect();
        let ids = [trunk.ids, engine.prompter.encode_header()?].concat();
        let prompt = acting.scorer.prepare(ids, &spans)?;
        acting.scorer.advance(prompt.clone(), &[], control)?;
        let mut cache = acting.scorer.fork();
        let stop = engine.model.eos();
        let written = engine
            .model
            .greedy(&prompt, &mut cache, self.max_tokens, stop, control)?;
        let ended = written.last().is_some_and(|id| stop.contains(id));
        let own = written.len() - usize::from(ended);
        let own = written.get(..own).unwrap_or_default();
        let text = engine.prompter.decode(own)?;
        Ok(match ended {
            true => (self.parse)(&text, id),
            false => Turn::Broken(text),
        })
    }

    /// Goes on with a run that stopped, pruning where the pruner's trigger says so, to the end. Nothing is pruned before the first summary, since
    /// there is nothing to prune by; so runs of all pruners may share their beginning up to it.
    ///
    /// [`Trigger::Model`] prunes at every summary, [`Trigger::Fixed`] behind every Nth turn with a call, [`Trigger::PreAnswer`] once when the model
    /// first answers: the answer is taken back and given again behind the pruned history.
    ///
    /// # Errors
    /// Those of the model, of the tools and of pruning.
    pub fn finish(
        &self,
        (mut acting, mut stop): (Acting, Stop),
        pruner: Option<&Pruner>,
        tools: &dyn Tools,
        control: &Control<'_>,
    ) -> Result<Acted, Error> {
        let started = Instant::now();
        let counter = AtomicU64::new(0);
        let control = &control.with_counter(&counter);
        let trigger = pruner.map(|pruner| pruner.options().trigger);
        let (mut summaries, mut taken_back) = (0, false);
        loop {
            let every = match trigger {
                Some(Trigger::Fixed(every)) => every.max(1),
                _ => usize::MAX,
            };
            let due = match (&stop, trigger) {
                (Stop::Summary, trigger) => {
                    summaries += 1;
                    trigger == Some(Trigger::Model) || acting.turns.is_multiple_of(every)
                }
                (Stop::Turns, _) if acting.turns < self.turns => summaries > 0,
                (Stop::Answer(_), Some(Trigger::PreAnswer)) if summaries > 0 && !taken_back => {
                    taken_back = true;
                    acting.run.messages.pop();
                    true
                }
                _ => break,
            };
            if let Some(pruner) = pruner.filter(|_| due) {
                let pruned =
                    pruner.prune_from(&acting.run, &mut acting.scorer, &self.root, control)?;
                acting.run = pruned.history;
            }
            let until = (acting.turns / every)
                .saturating_add(1)
                .saturating_mul(every);
            stop = self.go(&mut acting, tools, until, control)?;
        }
        Ok(Acted {
            kept: self.reasoning(&acting.run),
            run: acting.run,
            stop,
            summaries,
            reasoning: acting.reasoning,
            pushed: counter.into_inner(),
            seconds: started.elapsed().as_secs_f64(),
        })
    }
}
