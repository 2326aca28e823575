//! Which tokens of a tokenizer are special, and where does the template write them?

use std::ops::Range;

use serde_json::{Map, Value};
use tokenizers::{AddedToken, Tokenizer};

use super::error::PromptError;

/// Tokens that a `tokenizer_config.json` names.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct SpecialTokens {
    /// The placeholder that stands for one picture; `None` for a model that cannot see.
    pub image: Option<String>,
    /// Every `*_token` of the configuration by name (`bos_token`, `eos_token`, ...): template variables.
    pub named: Vec<(String, String)>,
}

impl Default for SpecialTokens {
    /// The placeholder of the Qwen-VL family, no named tokens.
    fn default() -> Self {
        Self {
            image: Some("<|image_pad|>".to_owned()),
            named: Vec::new(),
        }
    }
}

impl SpecialTokens {
    /// Reads a `tokenizer_config.json`; `image_token` falls back to `<|image_pad|>`.
    ///
    /// # Errors
    /// [`PromptError::Tokenizer`] when it is not a JSON object.
    pub fn from_config(tokenizer_config: &[u8]) -> Result<Self, PromptError> {
        let config: Map<String, Value> = serde_json::from_slice(tokenizer_config)
            .map_err(|error| PromptError::tokenizer(format!("tokenizer_config.json: {error}")))?;
        let mut tokens = Self::default();
        for (name, value) in &config {
            let content = value.as_str().or_else(|| value.get("content")?.as_str());
            if let (true, Some(content)) = (name.ends_with("_token"), content) {
                if name == "image_token" {
                    tokens.image = Some(content.to_owned());
                }
                tokens.named.push((name.clone(), content.to_owned()));
            }
        }
        Ok(tokens)
    }
}

impl SpecialTokens {
    /// The same for a model that cannot see: no token stands for a picture.
    #[must_use]
    pub fn without_pictures(mut self) -> Self {
        self.image = None;
        self
    }
}

/// The added tokens of a tokenizer by their first byte, longest first.
#[derive(Debug)]
pub(super) struct AddedTokens {
    by_first: Vec<Vec<(u32, AddedToken)>>,
    pub special: Vec<String>,
}

/// A special token that the template wrote.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Found {
    pub id: u32,
    /// Bytes that the token stands for, stripped white space included.
    pub bytes: Range<usize>,
}

impl AddedTokens {
    pub(super) fn new(tokenizer: &Tokenizer) -> Self {
        let mut by_first = vec![Vec::new(); 256];
        let mut special = Vec::new();
        for (id, token) in tokenizer.get_added_tokens_decoder() {
            let first = token.content.bytes().next();
            if let Some(slot) = first.and_then(|byte| by_first.get_mut(usize::from(byte))) {
                if token.special {
                    special.push(token.content.clone());
                }
                slot.push((id, token));
            }
        }
        for slot in &mut by_first {
            slot.sort_by_key(|(id, token): &(u32, AddedToken)| {
                (std::cmp::Reverse(token.content.len()), *id)
            });
        }
        special.sort_unstable();
        Self { by_first, special }
    }

    /// The special tokens of `text` that lie wholly outside `run` (sorted byte ranges of text that came from the run).
    ///
    /// Matches as the tokenizers library does: leftmost, then longest, over all added tokens.
    pub(super) fn find(&self, text: &str, run: &[Range<usize>]) -> Vec<Found> {
        let mut found: Vec<Found> = Vec::new();
        let (mut at, bytes) = (0, text.as_bytes());
        while let Some(&first) = bytes.get(at) {
            let here = bytes.get(at..).unwrap_or_default();
            let tokens = self
                .by_first
                .get(usize::from(first))
                .map_or(&[][..], Vec::as_slice);
            let matching = tokens.iter().find(|(_, token)| {
                here.starts_with(token.content.as_bytes())
                    && (!token.special || !overlaps(run, &(at..at + token.content.len())))
            });
            let Some((id, token)) = matching else {
                at += 1;
                continue;
            };
            let mut span = at..at + token.content.len();
            at = span.end;
            let (before, after) = (text.get(..span.start), text.get(span.end..));
            let (before, after) = (before.unwrap_or_default(), after.unwrap_or_default());
            let joined = before.chars().next_back().is_some_and(is_word)
                || after.chars().next().is_some_and(is_word);
            if !token.special || (token.single_word && joined) {
                continue;
            }
            if token.lstrip {
                let floor = found.last().map_or(0, |last| last.bytes.end);
                span.start = before.trim_end().len().max(floor);
            }
            if token.rstrip {
                span.end += after.len() - after.trim_start().len();
                at = span.end;
            }
            found.push(Found {
                id: *id,
                bytes: span,
            });
        }
        found
    }
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Whether `range` shares a byte with one of the sorted ranges.
fn overlaps(sorted: &[Range<usize>], range: &Range<usize>) -> bool {
    let first = sorted.partition_point(|r| r.end <= range.start);
    sorted.get(first).is_some_and(|r| r.start < range.end)
}
