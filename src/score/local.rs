//! The scorer that runs the loaded model: one trunk pass, one branch a candidate behind the cached prefix.
//! Cost of an event: what the trunk lacks since the last one, and for each candidate the summary block, the header and the segment.

use std::collections::HashMap;
use std::sync::Arc;

use spare_kernels::{HeadInput, Options, Weight, reverse_kl};
use spare_models::{Control, Features, HeadWeight, HiddenRows, KvCache, PictureSpan, PreparedPrompt};

use super::{EPSILON, EventScores, Kl, SegmentScores};
use crate::engine::{Engine, ReadyPicture};
use crate::error::Error;
use crate::plan::hex;
use crate::replay::{PictureRoot, Plan};
use crate::trajectory::{Picture, Trajectory};

/// One session over one run: it keeps the trunk's KV cache from event to event.
pub struct LocalScorer {
    engine: Arc<Engine>,
    cache: KvCache,
    trunk: Option<PreparedPrompt>,
    /// By pointer in the run.
    opened: HashMap<String, ([u8; 32], usize)>,
    features: HashMap<[u8; 32], Features>,
}

/// Settings of one scoring.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ScoreOptions {
    /// K of the truncated divergence.
    pub top_k: usize,
    /// Which divergence decides.
    pub kl: Kl,
}

impl Default for ScoreOptions {
    fn default() -> Self {
        Self { top_k: 20, kl: Kl::Topk }
    }
}

impl LocalScorer {
    /// A session with an empty cache.
    pub fn new(engine: Arc<Engine>) -> Self {
        Self { cache: KvCache::new(), engine, trunk: None, opened: HashMap::new(), features: HashMap::new() }
    }

    /// Tokens and key of every picture in the first `at` messages, in order; opens and encodes those that are new.
    pub fn pictures(&mut self, run: &Trajectory, at: usize, root: &PictureRoot) -> Result<Vec<(usize, String)>, Error> {
        let mut out = Vec::new();
        for picture in run.messages.iter().take(at).flat_map(|m| m.pictures()) {
            let (key, tokens) = self.picture(picture, root)?;
            out.push((tokens, hex(&key)));
        }
        Ok(out)
    }

    fn picture(&mut self, picture: &Picture, root: &PictureRoot) -> Result<([u8; 32], usize), Error> {
        if let Some(known) = self.opened.get(&picture.pointer) {
            return Ok(*known);
        }
        let ReadyPicture { key, tokens, pixels } = self.engine.ready(root, picture)?;
        if !self.features.contains_key(&key) {
            let features = self.engine.model.encode_picture(pixels.grid, &pixels.values)?;
            self.features.insert(key, features);
        }
        self.opened.insert(picture.pointer.clone(), (key, tokens));
        Ok((key, tokens))
    }

    /// Brings the cache to the whole of `prompt`, keeping what it shares with the last one up to `most`; rows: hidden states wanted.
    pub(crate) fn advance(
        &mut self,
        prompt: PreparedPrompt,
        most: usize,
        rows: &[usize],
        control: &Control,
    ) -> Result<(HiddenRows, usize), Error> {
        let shared = self.trunk.as_ref().map_or(0, |old| old.common_prefix(&prompt));
        let keep = shared.min(self.cache.len()).min(most);
        self.trunk = None;
        self.cache.truncate(keep)?;
        let hidden = self.engine.model.prefill(&prompt, keep..prompt.len(), &mut self.cache, rows, control)?;
        self.trunk = Some(prompt);
        Ok((hidden, keep))
    }

    pub(crate) fn prepare(&self, ids: Vec<u32>, pictures: &[(std::ops::Range<usize>, String)]) -> Result<PreparedPrompt, Error> {
        let mut spans = Vec::new();
        for (tokens, key) in pictures {
            let known = self.features.iter().find(|(k, _)| hex(*k) == *key);
            if let Some((key, features)) = known {
                spans.push(PictureSpan { tokens: tokens.clone(), features: features.clone(), key: *key });
            }
        }
        Ok(PreparedPrompt::new(&self.engine.model, ids, spans)?)
    }

    pub(crate) fn fork(&self) -> KvCache {
        self.cache.fork()
    }

    /// Scores every branch of the plan. SPARE (arXiv 2608.22963): `p_k` from the trunk, `q_k` from the branch, same weights, same recorded tokens.
    pub fn score(&mut self, plan: &Plan, options: ScoreOptions, control: &Control) -> Result<EventScores, Error> {
        let before = self.engine.model.pushed();
        let mut scores = EventScores { kl: options.kl, scorer: "local".into(), ..EventScores::default() };
        if plan.branches.is_empty() {
            return Ok(scores);
        }
        // The row before a token predicts it.
        let mut rows: Vec<usize> =
            plan.branches.iter().flat_map(|b| b.tokens.clone().map(|t| t.saturating_sub(1))).collect();
        rows.sort_unstable();
        rows.dedup();
        let first = rows.first().copied().unwrap_or(0);
        let pictures: Vec<_> = plan.pictures.iter().map(|p| (p.tokens.clone(), p.key.clone())).collect();
        let prompt = self.prepare(plan.trunk.clone(), &pictures)?;
        let (student, kept) = self.advance(prompt, first, &rows, control)?;
        scores.predicted = plan.cost(kept);
        let Some(trunk) = self.trunk.as_ref() else { return Ok(scores) };
        let hidden = self.engine.model.hidden_size();
        for branch in &plan.branches {
            let teacher_prompt = trunk.splice(&self.engine.model, branch.at, &plan.block, branch.tokens.end)?;
            let mut cache = self.cache.fork();
            cache.truncate(branch.at)?;
            let wanted: Vec<usize> = branch.tokens.clone().map(|t| t + plan.block.len() - 1).collect();
            let range = branch.at..teacher_prompt.len();
            let teacher = self.engine.model.prefill(&teacher_prompt, range, &mut cache, &wanted, control)?;
            let own = rows.iter().position(|row| *row + 1 == branch.tokens.start).unwrap_or(0) * hidden;
            let student = student.values.get(own..own + branch.tokens.len() * hidden).unwrap_or_default();
            let recorded = plan.recorded(branch);
            let input = HeadInput {
                student,
                teacher: &teacher.values,
                weight: match self.engine.model.head() {
                    HeadWeight::F32(weight) => Weight::F32(weight),
                    HeadWeight::Bf16(weight) => Weight::Bf16(weight),
                },
                hidden,
                vocab: self.engine.model.vocab_size(),
                recorded: &recorded,
            };
            let settings = Options { top_k: options.top_k, floor: EPSILON, ..Options::default() };
            let found = reverse_kl(&input, &settings, &|| control.cancelled())?;
            scores.segments.push(SegmentScores {
                segment: branch.segment,
                token_ids: recorded,
                spans: branch.spans.clone(),
                d_topk: found.d_topk,
                d_full: found.d_full,
                logp: found.logp,
                logq: found.logq,
            });
        }
        scores.pushed = self.engine.model.pushed() - before;
        Ok(scores)
    }
}
