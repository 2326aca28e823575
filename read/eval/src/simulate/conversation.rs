//! What a conversation costs: every request carries the fixed prompt and the whole history.

use super::{Run, WINDOW};

/// Tokens that the model writes for a tool call, and for its answer.
const CALL: f64 = 60.0;
const ANSWER: f64 = 60.0;
/// Tokens of the line that stands in place of a masked result.
const MASK: f64 = 15.0;

/// A growing history.
pub(super) struct Conversation {
    fixed: f64,
    results: Vec<f64>,
    said: f64,
    /// How many results stay unmasked; all without.
    pub masked: Option<usize>,
    run: Run,
}

impl Conversation {
    pub fn new(fixed: f64, task: f64) -> Self {
        Self {
            fixed: fixed + task,
            results: Vec::new(),
            said: 0.0,
            masked: None,
            run: Run {
                tokens: 0.0,
                requests: 0,
                answered: false,
            },
        }
    }

    fn history(&self) -> f64 {
        let old = self
            .masked
            .map_or(0, |keep| self.results.len().saturating_sub(keep));
        self.said
            + self
                .results
                .iter()
                .enumerate()
                .map(|(at, tokens)| if at < old { MASK } else { *tokens })
                .sum::<f64>()
    }

    /// One request whose result is `tokens` long; says whether the context still holds it.
    pub fn call(&mut self, tokens: f64) -> bool {
        self.run.tokens += self.fixed + self.history() + CALL;
        self.run.requests += 1;
        self.said += CALL;
        self.results.push(tokens);
        self.fixed + self.history() <= WINDOW
    }

    /// A request beside the conversation: its prompt and reply.
    pub fn aside(&mut self, tokens: f64) {
        self.run.tokens += tokens;
        self.run.requests += 1;
    }

    pub fn answer(mut self, answered: bool) -> Run {
        self.run.tokens += self.fixed + self.history() + ANSWER;
        self.run.requests += 1;
        self.run.answered = answered;
        self.run
    }
}
