//! The scorer that runs the loaded model: one trunk pass, one branch a candidate behind the cached prefix.
//! Cost of an event: what the trunk lacks since the last one, and for each candidate the summary block, the header and the segment.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use sha2::{Digest, Sha256};
use spare_kernels::{Divergence, HeadInput, Options, Precision, reverse_kl};
use spare_models::{
    BATCH_TOKENS, Control, Features, KvCache, ModelError, PictureSpan, PreparedPrompt,
};

use super::shared::Shared;
use super::states::States;
use super::{EPSILON, EventScores, Kl, SegmentScores};
use crate::engine::{Engine, ReadyPicture};
use crate::error::Error;
use crate::plan::hex;
use crate::replay::{Branch, PictureRoot, Plan, Sentence};
use crate::trajectory::{Picture, Trajectory};

/// What is known of one run: it keeps the trunk's KV cache from event to event. Cloning copies pointers.
#[derive(Clone)]
pub struct LocalScorer {
    engine: Arc<Engine>,
    cache: KvCache,
    trunk: Option<PreparedPrompt>,
    /// Key and tokens of pictures, by the hash of their encoded bytes: pointers and paths may come to mean other pictures.
    opened: HashMap<[u8; 32], ([u8; 32], usize)>,
    features: HashMap<[u8; 32], Features>,
    states: States,
    shared: Option<Arc<Shared>>,
    /// The last history without reasoning.
    bare: Option<(PreparedPrompt, KvCache)>,
    /// Sentences behind it without a summary, and `log p` of their tokens.
    prior: Option<(Vec<Sentence>, Vec<f64>)>,
}

/// Settings of one scoring.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ScoreOptions {
    /// K of the truncated divergence.
    pub top_k: usize,
    /// Which divergence decides.
    pub kl: Kl,
    /// Tokens that close a pack of branches, at least 1; see [`Model::prefill_branches`](spare_models::Model::prefill_branches).
    pub batch_tokens: usize,
}

impl Default for ScoreOptions {
    fn default() -> Self {
        Self {
            top_k: 20,
            kl: Kl::Topk,
            batch_tokens: BATCH_TOKENS,
        }
    }
}

impl LocalScorer {
    /// A session with an empty cache.
    pub fn new(engine: Arc<Engine>) -> Self {
        Self {
            cache: KvCache::new(),
            engine,
            trunk: None,
            opened: HashMap::new(),
            features: HashMap::new(),
            states: States::default(),
            shared: None,
            bare: None,
            prior: None,
        }
    }

    /// The same, taking from and giving to the runs of the same pruner.
    pub(crate) fn sharing(mut self, shared: Option<Arc<Shared>>) -> Self {
        self.shared = shared;
        self
    }

    /// Bytes of keys and values, of the student's statistics, and of picture features.
    pub(crate) fn bytes(&self) -> [u64; 3] {
        let features = self.features.values().map(Features::bytes);
        let bare = self.bare.as_ref().map_or(0, |(_, cache)| cache.bytes());
        let cache = (self.cache.bytes() + bare) as u64;
        [cache, self.states.bytes(), features.sum()]
    }

    /// Tokens of the trunk whose keys and values are held.
    pub(crate) fn held(&self) -> usize {
        self.cache.len()
    }

    /// Rows whose hidden states are held, in order.
    pub(crate) fn rows(&self) -> Vec<usize> {
        self.states.known()
    }

    /// Forgets everything but the trunk's first `tokens` tokens and the pictures.
    pub(crate) fn shorten(&mut self, tokens: usize) {
        (self.bare, self.prior) = (None, None);
        self.states.truncate(tokens);
        if self.cache.truncate(tokens).is_err() {
            self.cache = KvCache::new();
        }
    }

    pub(super) fn engine(&self) -> Arc<Engine> {
        Arc::clone(&self.engine)
    }

    /// A cache of the whole of `trunk`, and how many of its tokens were known.
    pub(super) fn bare_cache(
        &mut self,
        trunk: &PreparedPrompt,
        control: &Control,
    ) -> Result<(KvCache, usize), Error> {
        if let Some((known, cache)) = &self.bare
            && known.len() == trunk.len()
            && known.common_prefix(trunk) == trunk.len()
        {
            return Ok((cache.fork(), trunk.len()));
        }
        let shared = self.trunk.as_ref().map_or(0, |t| t.common_prefix(trunk));
        let mut cache = self.cache.fork();
        let kept = shared.min(cache.len());
        cache.truncate(kept)?;
        let rest = kept..trunk.len();
        self.engine
            .model
            .prefill(trunk, rest, &mut cache, &[], control)?;
        self.bare = Some((trunk.clone(), cache.fork()));
        self.prior = None;
        Ok((cache, kept))
    }

    /// What is known of `sentences` behind the bare history alone.
    pub(super) fn prior(&self, sentences: &[Sentence]) -> Option<Vec<f64>> {
        let known = self.prior.as_ref();
        known
            .filter(|(own, _)| own == sentences)
            .map(|(_, logs)| logs.clone())
    }

    pub(super) fn keep_prior(&mut self, sentences: &[Sentence], logs: Vec<f64>) {
        self.prior = Some((sentences.to_vec(), logs));
    }

    /// Tokens and key of every picture in the first `at` messages, in order; opens and encodes those that are new.
    pub fn pictures(
        &mut self,
        run: &Trajectory,
        at: usize,
        root: &PictureRoot,
    ) -> Result<Vec<(usize, String)>, Error> {
        let mut out = Vec::new();
        for picture in run.messages.iter().take(at).flat_map(|m| m.pictures()) {
            let (key, tokens) = self.picture(picture, root)?;
            out.push((tokens, hex(&key)));
        }
        Ok(out)
    }

    fn picture(
        &mut self,
        picture: &Picture,
        root: &PictureRoot,
    ) -> Result<([u8; 32], usize), Error> {
        let bytes = root.open(picture)?;
        let content: [u8; 32] = Sha256::digest(&bytes).into();
        if let Some(known) = self.opened.get(&content) {
            return Ok(*known);
        }
        let ReadyPicture {
            key,
            tokens,
            pixels,
        } = self.engine.ready(picture, &bytes)?;
        if !self.features.contains_key(&key) {
            let shared = self.shared.as_ref();
            let features = match shared.and_then(|shared| shared.features(&key)) {
                Some(features) => features,
                None => {
                    let model = &self.engine.model;
                    let features = model.encode_picture(pixels.grid, &pixels.values)?;
                    if let Some(shared) = shared {
                        shared.keep_features(key, &features);
                    }
                    features
                }
            };
            self.features.insert(key, features);
        }
        self.opened.insert(content, (key, tokens));
        Ok((key, tokens))
    }

    /// Brings the cache to the whole of `prompt`, keeping what it shares with the last one, and returns how much that was. The hidden
    /// states of `rows` are known afterwards; a row that is not yet known sets the beginning that can be kept back to it.
    pub(crate) fn advance(
        &mut self,
        prompt: PreparedPrompt,
        rows: &[usize],
        control: &Control,
    ) -> Result<usize, Error> {
        let old = self.trunk.take().or_else(|| {
            let (trunk, cache) = self.shared.as_ref()?.prefix()?;
            (self.cache, self.states) = (cache, States::default());
            Some(trunk)
        });
        let shared = old.map_or(0, |old| old.common_prefix(&prompt));
        let shared = shared.min(self.cache.len());
        self.states.truncate(shared);
        let keep = self
            .states
            .first_missing(rows)
            .unwrap_or(shared)
            .min(shared);
        self.cache.truncate(keep)?;
        // Set before the pass: what a pass that is stopped has read is not read again.
        self.trunk = Some(prompt.clone());
        let rows = self.states.missing(rows);
        let range = keep..prompt.len();
        let model = &self.engine.model;
        match model.prefill(&prompt, range, &mut self.cache, &rows, control) {
            Ok(hidden) => self.states.insert(&rows, &hidden),
            Err(error) => {
                if matches!(error, ModelError::NotFinite { .. }) {
                    self.cache.truncate(keep)?;
                }
                return Err(error.into());
            }
        }
        if let Some(shared) = &self.shared {
            shared.keep_prefix(model, &prompt, &self.cache);
        }
        Ok(keep)
    }

    pub(crate) fn prepare(
        &self,
        ids: Vec<u32>,
        pictures: &[(std::ops::Range<usize>, String)],
    ) -> Result<PreparedPrompt, Error> {
        let mut spans = Vec::new();
        for (tokens, key) in pictures {
            let known = self.features.iter().find(|(k, _)| hex(*k) == *key);
            if let Some((key, features)) = known {
                spans.push(PictureSpan {
                    tokens: tokens.clone(),
                    features: features.clone(),
                    key: *key,
                });
            }
        }
        Ok(PreparedPrompt::new(&self.engine.model, ids, spans)?)
    }

    /// How far the distributions behind two sets of hidden states are apart, a row each for every recorded id.
    pub(super) fn diverge(
        &self,
        student: &[f32],
        teacher: &[f32],
        recorded: &[u32],
        options: &Options,
        control: &Control,
    ) -> Result<Divergence, Error> {
        let model = &self.engine.model;
        let input = HeadInput {
            student,
            teacher,
            weight: model.head(),
            hidden: model.hidden_size(),
            vocab: model.vocab_size(),
            recorded,
        };
        // Products like those that made the hidden states: f64 would only be exact about their rounding.
        let precision = if model.head_rounds_rows() {
            Precision::Bf16
        } else {
            Precision::Single
        };
        let options = Options {
            precision,
            ..options.clone()
        };
        Ok(reverse_kl(&input, &options, &|| control.cancelled())?)
    }

    pub(crate) fn fork(&self) -> KvCache {
        self.cache.fork()
    }

    /// Scores every branch of the plan. SPARE (arXiv 2608.22963): `p_k` from the trunk, `q_k` from the branch, same weights, same recorded tokens.
    pub fn score(
        &mut self,
        plan: &Plan,
        options: ScoreOptions,
        control: &Control,
    ) -> Result<EventScores, Error> {
        let mut scores = EventScores {
            kl: options.kl,
            scorer: "local".into(),
            ..EventScores::default()
        };
        if plan.branches.is_empty() {
            return Ok(scores);
        }
        let counter = AtomicU64::new(0);
        let control = control.with_counter(&counter);
        // The row before a token predicts it; one row may serve the end of one branch and the start of another.
        let predicting = |branch: &Branch| branch.tokens.clone().map(|t| t.saturating_sub(1));
        let rows: Vec<usize> = plan.branches.iter().flat_map(predicting).collect();
        let pictures: Vec<_> = plan
            .pictures
            .iter()
            .map(|p| (p.tokens.clone(), p.key.clone()))
            .collect();
        let prompt = self.prepare(plan.trunk.clone(), &pictures)?;
        let kept = self.advance(prompt, &rows, &control)?;
        let student = self.states.gather(&rows);
        let Some(trunk) = self.trunk.as_ref() else {
            return Ok(scores);
        };
        let mut branches = Vec::with_capacity(plan.branches.len());
        let mut recorded = Vec::new();
        for branch in &plan.branches {
            let (at, end) = (branch.at, branch.tokens.end);
            branches.push(spare_models::Branch {
                prompt: trunk.splice(&self.engine.model, at, &plan.block, end)?,
                at,
                rows: predicting(branch)
                    .map(|row| row + plan.block.len())
                    .collect(),
                hidden: 0..0,
            });
            recorded.extend(plan.recorded(branch));
        }
        let model = &self.engine.model;
        let read =
            model.prefill_branches(&self.cache, &branches, options.batch_tokens, &control)?;
        let teacher: Vec<f32> = read.into_iter().flat_map(|rows| rows.values).collect();
        // One sweep over the vocabulary for all segments of the event.
        let settings = Options {
            top_k: options.top_k,
            floor: EPSILON,
            ..Options::default()
        };
        let found = self.diverge(&student, &teacher, &recorded, &settings, &control)?;
        let mut from = 0;
        for branch in &plan.branches {
            let own = from..from + branch.tokens.len();
            from = own.end;
            let of = |all: &[f64]| all.get(own.clone()).unwrap_or_default().to_vec();
            scores.segments.push(SegmentScores {
                segment: branch.segment,
                token_ids: plan.recorded(branch),
                spans: branch.spans.clone(),
                d_topk: of(&found.d_topk),
                d_full: of(&found.d_full),
                logp: of(&found.logp),
                logq: of(&found.logq),
                atoms: Vec::new(),
            });
        }
        scores.pushed = counter.into_inner();
        scores.predicted = plan.cost(kept);
        Ok(scores)
    }
}
