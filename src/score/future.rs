//! How much does what came after depend on a piece of the history? Leave-one-out divergence of the recorded future, and its cheap cousin.

use spare_kernels::Options;
use spare_models::{BATCH_TOKENS, Branch, Control, HiddenRows, KvCache};

use super::local::LocalScorer;
use crate::error::Error;
use crate::replay::Future;

/// A future in its whole context, read once.
pub struct ReadFuture {
    future: Future,
    cache: KvCache,
    rows: HiddenRows,
}

/// Numbers of one future in two contexts.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Difference {
    /// Sum over the written tokens of `KL(p || q)` over the whole vocabulary, in nats; `p` in the whole context.
    pub kl: f64,
    /// `log p` of the written tokens in the whole context, summed.
    pub logp: f64,
    /// The same in the other context.
    pub logq: f64,
}

impl LocalScorer {
    /// Reads a history with its future.
    pub fn read_future(&self, future: Future, control: &Control) -> Result<ReadFuture, Error> {
        let prompt = self.prepare(future.ids.clone(), &future.pictures)?;
        let mut cache = KvCache::new();
        let (rows, range) = (future.predicting(), 0..prompt.len());
        let model = &self.engine().model;
        let rows = model.prefill(&prompt, range, &mut cache, &rows, control)?;
        Ok(ReadFuture {
            future,
            cache,
            rows,
        })
    }

    /// The same future behind another history: everything that follows the first difference is recomputed, later pictures' positions
    /// included. None where the future is written with other tokens there.
    pub fn counterfactual(
        &self,
        whole: &ReadFuture,
        other: &Future,
        control: &Control,
    ) -> Result<Option<Difference>, Error> {
        if other.recorded() != whole.future.recorded() {
            return Ok(None);
        }
        let engine = self.engine();
        let before = self.prepare(whole.future.ids.clone(), &whole.future.pictures)?;
        let after = self.prepare(other.ids.clone(), &other.pictures)?;
        let first = other.written.first().copied().unwrap_or(0);
        let shared = before.common_prefix(&after).min(first.saturating_sub(1));
        let mut cache = whole.cache.fork();
        cache.truncate(shared)?;
        let rows = other.predicting();
        let rows = engine
            .model
            .prefill(&after, shared..after.len(), &mut cache, &rows, control)?;
        self.compare(whole, &rows, control).map(Some)
    }

    /// The same future where segment number `index` of those asked for is masked, while everything after it keeps the keys and values
    /// that were computed with it in sight. Cheaper, and it leaks. None where the template does not show the segment, or a picture follows.
    pub fn knockout(
        &self,
        whole: &ReadFuture,
        index: usize,
        control: &Control,
    ) -> Result<Option<Difference>, Error> {
        let Future {
            ids,
            pictures,
            written,
            segments,
        } = &whole.future;
        let (Some(Some(hidden)), Some(first)) = (segments.get(index), written.first()) else {
            return Ok(None);
        };
        let at = first.saturating_sub(1);
        if pictures.iter().any(|(tokens, _)| tokens.end > at) {
            return Ok(None);
        }
        let branch = Branch {
            prompt: self.prepare(ids.clone(), pictures)?,
            at,
            rows: whole.future.predicting(),
            hidden: hidden.clone(),
        };
        let engine = self.engine();
        let mut read =
            engine
                .model
                .prefill_branches(&whole.cache, &[branch], BATCH_TOKENS, control)?;
        match read.pop() {
            Some(rows) => self.compare(whole, &rows, control).map(Some),
            None => Ok(None),
        }
    }

    fn compare(
        &self,
        whole: &ReadFuture,
        rows: &HiddenRows,
        control: &Control,
    ) -> Result<Difference, Error> {
        let recorded = whole.future.recorded();
        let (p, q) = (&whole.rows.values, &rows.values);
        let found = self.diverge(p, q, &recorded, &Options::default(), control)?;
        Ok(Difference {
            kl: found.d_full.iter().sum(),
            logp: found.logp.iter().sum(),
            logq: found.logq.iter().sum(),
        })
    }
}
