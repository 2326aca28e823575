//! The bare pass: can the value be had from what stays and the summary?

use std::ops::Range;
use std::sync::atomic::AtomicU64;

use spare_kernels::Options;
use spare_models::{BATCH_TOKENS, Branch, Control, HiddenRows, KvCache, PreparedPrompt};

use super::atom::Instead;
use super::local::LocalScorer;
use super::{AtomScore, EventScores};
use crate::error::Error;
use crate::replay::{BarePlan, Sentence};
use crate::trajectory::Segment;

impl LocalScorer {
    /// Fills the atoms of `scores`: for each the log probability of its tokens behind the bare history, with and without the summary,
    /// and what the model would write in its place. `values`: those of the summary.
    pub(crate) fn score_bare(
        &mut self,
        plan: &BarePlan,
        values: &[String],
        segments: &[Segment],
        scores: &mut EventScores,
        control: &Control,
    ) -> Result<(), Error> {
        let counter = AtomicU64::new(0);
        let control = control.with_counter(&counter);
        let pictures: Vec<_> = plan
            .pictures
            .iter()
            .map(|p| (p.tokens.clone(), p.key.clone()))
            .collect();
        let trunk = self.prepare(plan.trunk.clone(), &pictures)?;
        let (cache, kept) = self.bare_cache(&trunk, &control)?;
        let engine = self.engine();
        let model = &engine.model;
        let end = trunk.len();
        let stated = trunk.splice(model, end, &plan.block, end)?;
        let mut with = cache.fork();
        model.prefill(&stated, end..stated.len(), &mut with, &[], &control)?;
        scores.predicted += plan.cost(kept);
        let (read, logs) = self.read(&stated, &with, &plan.sentences, &control)?;
        let prior = match self.prior(&plan.sentences) {
            Some(known) => known,
            None => {
                let (_, logs) = self.read(&trunk, &cache, &plan.sentences, &control)?;
                let cost = plan.sentences.iter().map(Sentence::cost);
                scores.predicted += cost.sum::<usize>() as u64;
                self.keep_prior(&plan.sentences, logs.clone());
                logs
            }
        };

        // Where would the model leave the recorded value, and for which values of the summary?
        let mut doubts: Vec<Doubt> = Vec::new();
        let mut others: Vec<Sentence> = Vec::new();
        let mut from = 0;
        for (sentence, rows) in plan.sentences.iter().zip(&read) {
            let own = from..from + sentence.ids.len();
            from = own.end;
            let (Some(logs), Some(prior)) = (logs.get(own.clone()), prior.get(own)) else {
                continue;
            };
            let same = |s: &&mut super::SegmentScores| s.segment == sentence.segment;
            let Some(found) = scores.segments.iter_mut().find(same) else {
                continue;
            };
            let text = segments.get(sentence.segment).map_or("", |s| &s.text);
            for (index, atom) in found.atoms.iter_mut().enumerate() {
                if atom.tokens.is_empty() || !sentence.tokens.contains(&atom.tokens.start) {
                    continue;
                }
                let at = atom.tokens.start - sentence.tokens.start;
                let range = at..at + atom.tokens.len();
                let of = |all: &[f64]| all.get(range.clone()).unwrap_or_default().to_vec();
                (atom.log_prior, atom.log_bare) = (of(prior), of(logs));
                let best = self.argmax(rows, range.clone())?;
                let mut pairs = range.zip(&best);
                let Some((k, next)) = pairs.find(|(k, b)| sentence.ids.get(*k) != Some(b)) else {
                    continue;
                };
                let span = found.spans.get(sentence.tokens.start + k);
                let Some(rest) = span.map(|span| Rest::of(text, atom, span)) else {
                    continue;
                };
                for value in values {
                    let Some(text) = rest.in_place_of(value) else {
                        continue;
                    };
                    let ids = engine.prompter.encode_text(&text)?;
                    if ids.first() != Some(next) {
                        continue;
                    }
                    doubts.push(Doubt {
                        segment: sentence.segment,
                        atom: index,
                        value: value.clone(),
                        from: k,
                        recorded: atom.log_bare.iter().skip(k - at).sum(),
                    });
                    let before = sentence.ids.get(..k).unwrap_or_default();
                    others.push(Sentence {
                        ids: [before, &ids].concat(),
                        ..sentence.clone()
                    });
                }
            }
        }
        let (_, logs) = self.read(&stated, &with, &others, &control)?;
        let extra = others.iter().map(Sentence::cost);
        scores.predicted += extra.sum::<usize>() as u64;
        let mut from = 0;
        for (doubt, sentence) in doubts.into_iter().zip(&others) {
            let own = from + doubt.from..from + sentence.ids.len();
            from = own.end;
            let log: f64 = logs.get(own).unwrap_or_default().iter().sum();
            let same = |s: &&mut super::SegmentScores| s.segment == doubt.segment;
            let found = scores.segments.iter_mut().find(same);
            let Some(atom) = found.and_then(|s| s.atoms.get_mut(doubt.atom)) else {
                continue;
            };
            if atom.instead.as_ref().is_none_or(|known| known.log < log) {
                atom.instead = Some(Instead {
                    value: doubt.value,
                    log,
                    recorded: doubt.recorded,
                });
            }
        }
        scores.bare = counter.into_inner();
        scores.pushed += scores.bare;
        Ok(())
    }

    /// Sentences behind `context`: the hidden states that predict their tokens, and `log p` of all recorded tokens in order.
    fn read(
        &self,
        context: &PreparedPrompt,
        cache: &KvCache,
        sentences: &[Sentence],
        control: &Control,
    ) -> Result<(Vec<HiddenRows>, Vec<f64>), Error> {
        let engine = self.engine();
        let model = &engine.model;
        let end = context.len();
        let mut branches = Vec::with_capacity(sentences.len());
        for sentence in sentences {
            let tail = [sentence.header.as_slice(), &sentence.ids].concat();
            let first = end + sentence.header.len();
            let prompt = context.splice(model, end, &tail, end)?;
            branches.push(Branch {
                rows: (first..prompt.len()).map(|t| t - 1).collect(),
                prompt,
                at: end,
                hidden: 0..0,
            });
        }
        let read = model.prefill_branches(cache, &branches, BATCH_TOKENS, control)?;
        let rows: Vec<f32> = read.iter().flat_map(|r| &r.values).copied().collect();
        let recorded: Vec<u32> = sentences.iter().flat_map(|s| &s.ids).copied().collect();
        let found = self.diverge(&rows, &rows, &recorded, &Options::default(), control)?;
        Ok((read, found.logp))
    }

    /// The most probable ids behind some rows.
    fn argmax(&self, rows: &HiddenRows, range: Range<usize>) -> Result<Vec<u32>, Error> {
        let width = rows.width;
        let part = rows.values.get(range.start * width..range.end * width);
        let own = HiddenRows {
            values: part.unwrap_or_default().to_vec(),
            width,
        };
        let engine = self.engine();
        let logits = engine.model.logits(&own)?;
        let best = |row: &[f32]| {
            let ids = (0u32..).zip(row);
            let best = ids.max_by(|a, b| a.1.total_cmp(b.1).then(b.0.cmp(&a.0)));
            best.map_or(0, |(id, _)| id)
        };
        let rows = logits.chunks(engine.model.vocab_size().max(1));
        Ok(rows.map(best).collect())
    }
}

/// A value of the summary that may belong where another was recorded.
struct Doubt {
    segment: usize,
    atom: usize,
    value: String,
    /// Token of the sentence where they part.
    from: usize,
    recorded: f64,
}

/// The rest of a value from one of its tokens on.
struct Rest<'t> {
    /// What of the value stands before the token.
    head: &'t str,
    /// What the token holds before the value.
    lead: &'t str,
    value: &'t str,
}

impl<'t> Rest<'t> {
    fn of(text: &'t str, atom: &AtomScore, token: &Range<usize>) -> Self {
        Self {
            head: text.get(atom.start..token.start).unwrap_or(""),
            lead: text.get(token.start..atom.start).unwrap_or(""),
            value: text.get(atom.start..atom.end).unwrap_or(""),
        }
    }

    /// The text that would stand there if the value were `other`; none where it is, or begins otherwise.
    fn in_place_of(&self, other: &str) -> Option<String> {
        let rest = other
            .strip_prefix(self.head)
            .filter(|_| other != self.value)?;
        Some(format!("{}{rest}", self.lead))
    }
}
