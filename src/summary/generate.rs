//! A summary from the loaded model: it continues the history behind the opening of a `summarize_the_task` call.
//! The opening is rendered by the model's own template, so it looks like the calls the model knows; the model writes the argument.
//! Where the template shows no calls, the model is asked in a user message and its answer is the summary.

use std::ops::Range;

use spare_models::Control;
use spare_models::prompt::PromptError;

use super::{Sigma, SigmaSource, SummaryTool};
use crate::engine::Engine;
use crate::error::Error;
use crate::score::LocalScorer;

/// A generated summary has to fit in this many tokens.
pub const MAX_SUMMARY_TOKENS: usize = 512;

/// Why a generated summary cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Unusable {
    /// Nothing was written.
    Empty,
    /// It did not end within [`MAX_SUMMARY_TOKENS`].
    TooLong,
    /// What was written is not the string argument of a call.
    NotACall,
}

impl Unusable {
    /// The reason in words.
    pub fn reason(self) -> &'static str {
        match self {
            Unusable::Empty => "the generated summary is empty",
            Unusable::TooLong => "the generated summary is longer than 512 tokens",
            Unusable::NotACall => "the generated summary is not the argument of a call",
        }
    }
}

/// Asks the model. `trunk`: ids of the history; `pictures`: their pad tokens and keys.
pub fn generate(
    engine: &Engine,
    scorer: &mut LocalScorer,
    trunk: &[u32],
    pictures: &[(Range<usize>, String)],
    tool: &SummaryTool,
    control: &Control,
) -> Result<Result<Sigma, Unusable>, Error> {
    let (opening, asked) = match engine.prompter.call_opening(&tool.name, &tool.argument) {
        Ok(opening) => (opening.ids, false),
        Err(PromptError::NotShown { .. }) => (engine.prompter.user_request(REQUEST)?, true),
        Err(error) => return Err(error.into()),
    };
    let ids = [trunk, &opening].concat();
    let prompt = scorer.prepare(ids, pictures)?;
    scorer.advance(prompt.clone(), &[], control)?;
    let mut cache = scorer.fork();
    let stop = engine.model.eos();
    let written =
        engine
            .model
            .greedy(&prompt, &mut cache, MAX_SUMMARY_TOKENS + 1, stop, control)?;
    if asked {
        let ended = written.last().is_some_and(|id| stop.contains(id));
        let answer = written.len() - usize::from(ended);
        let answer = written.get(..answer).unwrap_or_default();
        return Ok(plain(&engine.prompter.decode(answer)?, ended));
    }
    Ok(read(&engine.prompter.decode(&written)?, written.len()))
}

/// What the model is asked where it cannot call.
pub(crate) const REQUEST: &str = "Write down the state of the task in a few sentences: the question, what has been found out so far, and what is still open.";

/// A whole answer.
fn plain(written: &str, ended: bool) -> Result<Sigma, Unusable> {
    let text = written.trim();
    if text.is_empty() {
        return Err(Unusable::Empty);
    }
    if !ended {
        return Err(Unusable::TooLong);
    }
    Ok(Sigma {
        text: text.to_owned(),
        source: SigmaSource::Generated,
    })
}

/// The inside of a JSON string up to its closing quote.
fn read(written: &str, tokens: usize) -> Result<Sigma, Unusable> {
    let mut escaped = false;
    let end = written.char_indices().find(|(_, c)| {
        let closes = *c == '"' && !escaped;
        escaped = *c == '\\' && !escaped;
        closes
    });
    let Some((end, _)) = end else {
        return Err(if tokens > MAX_SUMMARY_TOKENS {
            Unusable::TooLong
        } else if written.trim().is_empty() {
            Unusable::Empty
        } else {
            Unusable::NotACall
        });
    };
    let inside = written.get(..end).unwrap_or_default();
    let text: String =
        serde_json::from_str(&format!("\"{inside}\"")).map_err(|_| Unusable::NotACall)?;
    if text.trim().is_empty() {
        return Err(Unusable::Empty);
    }
    Ok(Sigma {
        text,
        source: SigmaSource::Generated,
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn only_a_closed_string_is_a_summary() {
        let text = |written: &str| read(written, 9).map(|s| s.text);
        assert_eq!(text(r#"a \"b\" \\"}}"#).unwrap(), r#"a "b" \"#);
        assert_eq!(text(r#" "}}"#), Err(Unusable::Empty));
        assert_eq!(text(""), Err(Unusable::Empty));
        assert_eq!(text("never closed"), Err(Unusable::NotACall));
        assert_eq!(text("bad \\q\""), Err(Unusable::NotACall));
        assert_eq!(read("long", 513).map(|s| s.text), Err(Unusable::TooLong));
    }
}
