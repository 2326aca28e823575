//! What do the runs of one file have in common? Pictures that the tower has seen, and the beginning of the last history.

use std::sync::{Mutex, PoisonError};

use spare_models::{Features, KvCache, PreparedPrompt};

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
        inner.features.push((key, features.clone()));
        let mut bytes: u64 = inner.features.iter().map(|(_, f)| f.bytes()).sum();
        while bytes > FEATURE_BYTES && inner.features.len() > 1 {
            bytes -= inner.features.remove(0).1.bytes();
        }
    }

    /// The last history's beginning.
    pub(super) fn prefix(&self) -> Option<(PreparedPrompt, KvCache)> {
        let inner = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        inner.prefix.clone()
    }

    pub(super) fn keep_prefix(&self, prompt: &PreparedPrompt, cache: &KvCache) {
        let mut cache = cache.fork();
        if cache.truncate(PREFIX_TOKENS).is_ok() {
            let mut inner = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            inner.prefix = Some((prompt.clone(), cache));
        }
    }
}
