//! What becomes of every labelled value when one rule decides one run under one summary?

use super::{Labels, Measured, Mention, MentionKind, Standing, Subject, Variant};
use crate::error::Error;
use crate::evidence::own_words;
use crate::plan::staying_text;
use crate::plan::{self, EventInput, EventPlan, PlanOptions, SegmentPlan, Verdict};
use crate::rules::Rule;
use crate::score::{AtomScore, Kl, locate};
use crate::summary::Sigma;
use crate::trajectory::{atom, occurs};

/// A run under one summary, ready to be decided again and again.
pub struct Case<'a> {
    /// The run.
    pub subject: &'a Subject,
    /// The summary.
    pub variant: &'a Variant,
    /// The numbers.
    pub measured: Measured,
    run: crate::trajectory::Trajectory,
    event: plan::Event,
}

/// One candidate.
#[derive(Clone, Debug)]
pub struct SegmentOutcome {
    /// Its number in the run.
    pub segment: usize,
    /// Labels of its values.
    pub standings: Vec<Standing>,
    /// Whether the rule found it sensitive.
    pub sensitive: bool,
    /// Whether nothing of it stays.
    pub deleted: bool,
    /// The strength of the rule's finding, of the segment and of each value.
    pub strength: f64,
    /// The same of each value, in the order of `standings`.
    pub atoms: Vec<f64>,
    /// Guesses that the summary corrects, and how many of them are written as evidence.
    pub corrected: (usize, usize),
    /// Such guesses that stay in raw text.
    pub raw_stale: usize,
    /// What went wrong, in words: what kind of error, and the value.
    pub errors: Vec<(&'static str, String)>,
}

/// What became of one needed fact.
#[derive(Clone, Debug)]
pub struct FactOutcome {
    /// Its number among the run's.
    pub fact: usize,
    /// Whether some segment that states it is sensitive.
    pub sensitive: bool,
    /// Whether its value still stands where it was stated.
    pub survives: bool,
}

/// All of it.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// Candidates in order.
    pub segments: Vec<SegmentOutcome>,
    /// Facts that are needed and stand nowhere else.
    pub needed: Vec<FactOutcome>,
    /// Tokens of reasoning that was decided on, and those that stand there afterwards, marks included.
    pub tokens: (usize, usize),
    /// The plan.
    pub plan: EventPlan,
}

impl Outcome {
    /// Whether a segment is deleted, by its number.
    pub fn deleted(&self, segment: usize) -> bool {
        self.segments
            .iter()
            .any(|s| s.segment == segment && s.deleted)
    }
}

impl<'a> Case<'a> {
    /// Joins numbers to the run that they were measured on; none where the run is another.
    pub fn new(subject: &'a Subject, mut measured: Measured) -> Result<Option<Self>, Error> {
        let Some(variant) = subject.labels.variants.get(measured.variant) else {
            return Ok(None);
        };
        let run = subject.with(variant)?;
        let Some(event) = subject.event(&run) else {
            return Ok(None);
        };
        let stays = staying_text(&run, &event, &subject.segments);
        locate(
            &mut measured.scores,
            &subject.segments,
            &variant.text,
            &stays,
        );
        Ok(Some(Self {
            subject,
            variant,
            measured,
            run,
            event,
        }))
    }

    /// The run with this summary in its call.
    pub fn run(&self) -> &crate::trajectory::Trajectory {
        &self.run
    }

    /// The event that is decided.
    pub fn event(&self) -> &plan::Event {
        &self.event
    }

    /// Every labelled value that was replayed, with its numbers.
    pub fn values(&self) -> impl Iterator<Item = (&Mention, &AtomScore)> {
        let scored = self.measured.scores.segments.iter();
        scored.flat_map(move |scored| {
            let message = self.subject.segments.get(scored.segment).map(|s| s.message);
            let atoms = scored.atoms.iter();
            atoms.filter_map(move |atom| Some((self.mention(message?, atom)?, atom)))
        })
    }

    fn mention(&self, message: usize, atom: &AtomScore) -> Option<&Mention> {
        let mut mentions = self.subject.labels.mentions.iter();
        mentions.find(|m| m.message == message && m.start < atom.end && atom.start < m.end)
    }

    /// What `rule` makes of it. `count`: tokens of a text.
    pub fn decide(
        &self,
        rule: &dyn Rule,
        kl: Kl,
        options: &PlanOptions,
        count: &dyn Fn(&str) -> usize,
    ) -> Outcome {
        let mut scores = self.measured.scores.clone();
        scores.kl = kl;
        let decisions = rule.decide(&scores);
        let strengths = rule.strengths(&scores);
        let sigma = Sigma::from_call(self.variant.text.clone());
        let plan = plan::build(
            &EventInput {
                run: &self.run,
                event: &self.event,
                segments: &self.subject.segments,
                sigma: &sigma,
                scores: &scores,
                decisions: &decisions,
                hidden: &self.measured.hidden,
                count,
                writer: None,
            },
            options,
        );
        let labels = &self.subject.labels;
        let mut out = Outcome::default();
        // Mentions that the rule itself would keep.
        let mut kept: Vec<&Mention> = Vec::new();
        for (scored, strength) in scores.segments.iter().zip(strengths) {
            let Some(segment) = self.subject.segments.get(scored.segment) else {
                continue;
            };
            let own = |s: &&SegmentPlan| s.segment == scored.segment;
            let planned = plan.segments.iter().find(own);
            let mut found = SegmentOutcome {
                segment: scored.segment,
                standings: Vec::new(),
                sensitive: decisions
                    .iter()
                    .any(|d| d.segment == scored.segment && d.sensitive),
                deleted: planned.is_some_and(|p| p.verdict == Verdict::Delete),
                strength: strength.segment,
                atoms: Vec::new(),
                corrected: (0, 0),
                raw_stale: 0,
                errors: Vec::new(),
            };
            for (atom, strength) in scored.atoms.iter().zip(strength.atoms) {
                let Some(mention) = self.mention(segment.message, atom) else {
                    continue;
                };
                let standing = labels.standing(mention, self.variant);
                found.standings.push(standing);
                found.atoms.push(strength);
                if strength > rule.threshold() || strength.is_nan() {
                    kept.push(mention);
                }
                let stated = mention
                    .fact
                    .is_some_and(|f| self.variant.states.contains(&f));
                // A guess that is another fact's value as well cannot be told from it afterwards.
                let fresh = fresh_value(labels, mention.fact, &mention.value);
                if standing == Standing::Stale && stated && fresh {
                    found.corrected.0 += 1;
                    let text = planned.and_then(|p| p.text.as_deref());
                    match text {
                        Some(text) => {
                            if holds(text, &mention.value) {
                                found.corrected.1 += 1;
                                found.errors.push(("stale kept", mention.value.clone()));
                            }
                        }
                        None => found.raw_stale += 1,
                    }
                }
            }
            let idle = |s: &Standing| {
                matches!(
                    s,
                    Standing::Covered | Standing::Rereadable | Standing::Stale
                )
            };
            if !found.deleted
                && found.standings.contains(&Standing::Covered)
                && found.standings.iter().all(idle)
            {
                found.errors.push((
                    "kept for nothing",
                    planned.and_then(|p| p.text.clone()).unwrap_or_default(),
                ));
            }
            out.segments.push(found);
        }
        for (fact, value) in labels.facts.iter().enumerate() {
            let mentions: Vec<_> = labels
                .mentions
                .iter()
                .filter(|m| m.kind == MentionKind::Fact && m.fact == Some(fact))
                .collect();
            let needed = |m: &&Mention| labels.standing(m, self.variant) == Standing::Needed;
            if !mentions.iter().any(needed) {
                continue;
            }
            let segment = |m: &Mention| {
                let mut own = self.subject.segments.iter();
                own.find(|s| s.message == m.message).map(|s| s.index)
            };
            // Where the segment holds the same value of something else, its standing there proves nothing.
            let survives = |m: &Mention| {
                let mut all = labels.mentions.iter();
                let twin =
                    all.any(|o| o.message == m.message && o.value == m.value && o.fact != m.fact);
                let mut plans = plan.segments.iter();
                plans
                    .find(|p| Some(p.segment) == segment(m))
                    .is_some_and(|p| match &p.text {
                        Some(text) => holds(text, &value.value) && (!twin || kept.contains(&m)),
                        None => true,
                    })
            };
            let places: Vec<usize> = mentions.iter().filter_map(|m| segment(m)).collect();
            out.needed.push(FactOutcome {
                fact,
                sensitive: out
                    .segments
                    .iter()
                    .any(|s| places.contains(&s.segment) && s.sensitive),
                survives: mentions.iter().any(|m| survives(m)),
            });
        }
        let scored = plan.segments.iter().filter(|p| p.tokens > 0);
        for planned in scored {
            out.tokens.0 += planned.tokens;
            out.tokens.1 += planned.text.as_deref().map_or(planned.tokens, count);
        }
        out.plan = plan;
        out
    }
}

/// Whether evidence says a value: its marks and the numbers inside boxes are no values of their own.
fn holds(text: &str, value: &str) -> bool {
    let own = own_words(text, None);
    occurs(&own, value)
        && (value.starts_with(['[', '(']) || occurs(&atom::blank_lists(&own), value))
}

/// Whether a stale value is none that a fact of the run has as well.
fn fresh_value(labels: &Labels, fact: Option<usize>, value: &str) -> bool {
    let mut facts = labels.facts.iter().enumerate();
    !facts.any(|(i, f)| Some(i) != fact && f.value == value)
}
