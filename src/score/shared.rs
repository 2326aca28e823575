//! What do the runs of one file have in common? Pictures that the tower has seen, and the beginning of the last history.

use std::sync::{Mutex, PoisonError};

use spare_models::{Features, KvCache, Model, PreparedPrompt};

/// Tokens of a history's beginning that are kept for the next run: system prompt and tools fit, a whole run seldom does.
const PREFIX_TOKENS: usize = 2048;
/// Bytes of picture features that are kept.
const FEATURE_BYTES: u64 = 256 << 20;

/// Shared by the scorers of one pruner; bounded whatever the number of runs.
#[derive(Default)]
pub(crate) struct Shared(Mutex<Inner>);

#[derive(Default)]
struct Inner {
    /// Oldest use first.
    features: Vec<([u8; 32], Features)>,
    prefix: Option<(PreparedPrompt, KvCache)>,
}

impl Shared {
    /// Features of an equal picture under equal preprocessing.
    pub(super) fn features(&self, key: &[u8; 32]) -> Option<Features> {
        let mut inner = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let at = inner.features.iter().position(|(known, _)| known == key)?;
        let found = inner.features.remove(at);
        inner.features.push(found.clone());
        Some(found.1)
    }

    pub(super) fn keep_features(&self, key: [u8; 32], features: &Features) {
        let mut inner = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        inner.features.retain(|(known, _)| *known != key);
        inner.features.push((key, features.clone()));
        let mut bytes: u64 = inner.features.iter().map(|(_, f)| f.bytes()).sum();
        while bytes > FEATURE_BYTES && !inner.features.is_empty() {
            bytes -= inner.features.remove(0).1.bytes();
        }
    }

    /// The last history's beginning.
    pub(super) fn prefix(&self) -> Option<(PreparedPrompt, KvCache)> {
        let inner = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        inner.prefix.clone()
    }

    /// Keeps the beginning of a history of `model`, cut before a picture that it would cut through.
    pub(super) fn keep_prefix(&self, model: &Model, prompt: &PreparedPrompt, cache: &KvCache) {
        let most = PREFIX_TOKENS.min(cache.len());
        let pictures = prompt.pictures().iter().map(|p| &p.tokens);
        let cut = pictures
            .filter(|t| t.start < most && most < t.end)
            .min_by_key(|t| t.start);
        let most = cut.map_or(most, |t| t.start);
        let mut cache = cache.fork();
        // What cannot be cut is not kept; nothing but time is lost.
        if most > 0
            && let Ok(prompt) = prompt.splice(model, most, &[], most)
            && cache.truncate(most).is_ok()
        {
            let mut inner = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            inner.prefix = Some((prompt, cache));
        }
    }
}
