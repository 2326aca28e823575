//! Every rule on the same cases, side by side.

use std::collections::BTreeMap;

use serde::Serialize;

use super::statistics::{Curve, Estimate, Rate};
use super::{Case, Outcome, Standing};
use crate::plan::PlanOptions;
use crate::rules::{Covered, Mean, Paper, Residual, Rule, Signed, Stated};
use crate::score::Kl;

/// A rule with the settings around it.
pub struct Contender {
    /// Its name in the table.
    pub name: String,
    /// The rule.
    pub rule: Box<dyn Rule>,
    /// The divergence that it reads.
    pub kl: Kl,
    /// Whether otherwise lost values are kept whatever it says.
    pub keep_atoms: bool,
}

/// The rules that are compared.
pub fn contenders() -> Vec<Contender> {
    let of = |name: &str, rule: Box<dyn Rule>, kl, keep_atoms| Contender {
        name: name.into(),
        rule,
        kl,
        keep_atoms,
    };
    vec![
        of("default", Box::<Covered>::default(), Kl::Topk, false),
        of(
            "  with bare pass",
            Box::new(Covered::with_bare(1.5)),
            Kl::Topk,
            false,
        ),
        of(
            "  nothing seen",
            Box::new(Covered {
                seen: -1.0,
                ..Covered::default()
            }),
            Kl::Topk,
            false,
        ),
        of("paper", Box::new(Paper::published()), Kl::Topk, false),
        of("paper full", Box::new(Paper::published()), Kl::Full, false),
        of("paper nats", Box::new(Paper::in_nats()), Kl::Topk, false),
        of(
            "floor + atoms",
            Box::new(Paper::with_floor()),
            Kl::Topk,
            true,
        ),
        of("mean", Box::<Mean>::default(), Kl::Topk, false),
        of("signed", Box::<Signed>::default(), Kl::Topk, false),
        of("residual", Box::<Residual>::default(), Kl::Topk, false),
        of("stated", Box::new(Stated), Kl::Topk, false),
    ]
}

/// One rule's line.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Row {
    /// The rule.
    pub rule: String,
    /// Its threshold.
    pub threshold: f64,
    /// A needed fact that is left out of the summary makes a segment that states it sensitive.
    pub omitted_sensitive: Estimate,
    /// A segment whose every value the summary states or what stays shows is deleted.
    pub covered_deleted: Estimate,
    /// The same where it may hold guesses that the summary corrects besides.
    pub corrected_deleted: Estimate,
    /// A guess that the summary corrects is not written as evidence.
    pub stale_unwritten: Estimate,
    /// A guess that the summary corrects stands nowhere afterwards.
    pub stale_gone: Estimate,
    /// Needed facts that still stand.
    pub survival: Estimate,
    /// Reasoning tokens that went, marks and evidence counted against them, with a complete summary.
    pub removed_complete: Estimate,
    /// The same over all summaries.
    pub removed: Estimate,
    /// Leaving a fact out turns the deletion of a segment that states it into something else.
    pub flips_omitted: Estimate,
    /// Adding a fact turns something else into the deletion of a segment that states it.
    pub flips_added: Estimate,
    /// Ranking of segments that hold a needed value above those that do not.
    pub segments: Curve,
    /// Ranking of needed values above covered, re-readable, stale and idle ones.
    pub atoms: Curve,
    /// At the highest threshold whose survival is no lower than asked for: threshold, survival, tokens removed.
    pub at_survival: Option<[f64; 3]>,
}

/// Decides all cases with one rule.
pub fn outcomes(
    cases: &[Case<'_>],
    contender: &Contender,
    rule: &dyn Rule,
    count: &dyn Fn(&str) -> usize,
) -> Vec<Outcome> {
    let options = PlanOptions {
        keep_atoms: contender.keep_atoms,
        ..PlanOptions::default()
    };
    let decide = |case: &Case<'_>| case.decide(rule, contender.kl, &options, count);
    cases.iter().map(decide).collect()
}

/// Cases of the same run, by their place.
fn runs(cases: &[Case<'_>]) -> Vec<Vec<usize>> {
    let mut out: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (i, case) in cases.iter().enumerate() {
        out.entry(case.subject.id()).or_default().push(i);
    }
    out.into_values().collect()
}

/// `(survival, removed)` over all cases but the wrong summaries.
fn survival_and_removed(cases: &[Case<'_>], found: &[Outcome]) -> (f64, f64) {
    let pairs = cases
        .iter()
        .zip(found)
        .filter(|(c, _)| c.variant.name != "wrong");
    let (mut kept, mut needed, mut before, mut after) = (0, 0, 0, 0);
    for (_, outcome) in pairs {
        kept += outcome.needed.iter().filter(|f| f.survives).count();
        needed += outcome.needed.len();
        before += outcome.tokens.0;
        after += outcome.tokens.1;
    }
    (
        kept as f64 / needed.max(1) as f64,
        1.0 - after as f64 / before.max(1) as f64,
    )
}

/// The line of one rule.
pub fn row(cases: &[Case<'_>], contender: &Contender, count: &dyn Fn(&str) -> usize) -> Row {
    let found = outcomes(cases, contender, contender.rule.as_ref(), count);
    let mut rates: [Rate; 10] = Default::default();
    let (mut segments, mut atoms) = (Vec::new(), Vec::new());
    for own in runs(cases) {
        let mut sums = [(0.0, 0.0); 10];
        let mut add = |at: usize, hits: usize, of: usize| {
            if let Some(sum) = sums.get_mut(at) {
                sum.0 += hits as f64;
                sum.1 += of as f64;
            }
        };
        let named = |name: &str| {
            own.iter()
                .copied()
                .filter(|i| cases.get(*i).is_some_and(|c| c.variant.name == name))
                .collect::<Vec<_>>()
        };
        for (case, outcome) in own.iter().filter_map(|i| cases.get(*i).zip(found.get(*i))) {
            let name = case.variant.name.as_str();
            if name == "wrong" {
                continue;
            }
            for fact in &outcome.needed {
                add(5, usize::from(fact.survives), 1);
                if name == "omit" && case.variant.fact == Some(fact.fact) {
                    add(0, usize::from(fact.sensitive), 1);
                }
            }
            for segment in &outcome.segments {
                let only =
                    |allowed: &[Standing]| segment.standings.iter().all(|s| allowed.contains(s));
                let covered = segment.standings.contains(&Standing::Covered);
                if covered && only(&[Standing::Covered, Standing::Rereadable]) {
                    add(1, usize::from(segment.deleted), 1);
                }
                if covered && only(&[Standing::Covered, Standing::Rereadable, Standing::Stale]) {
                    add(2, usize::from(segment.deleted), 1);
                }
                add(
                    3,
                    segment.corrected.0 - segment.corrected.1,
                    segment.corrected.0,
                );
                add(
                    4,
                    segment.corrected.0
                        - segment.corrected.1
                        - segment.raw_stale.min(segment.corrected.0),
                    segment.corrected.0,
                );
                let needed = segment.standings.contains(&Standing::Needed);
                segments.push((segment.strength, needed));
                let pairs = segment.atoms.iter().zip(&segment.standings);
                atoms.extend(pairs.map(|(strength, s)| (*strength, *s == Standing::Needed)));
            }
            let gone = outcome.tokens.0.saturating_sub(outcome.tokens.1);
            add(7, gone, outcome.tokens.0);
            if name == "complete" {
                add(6, gone, outcome.tokens.0);
            }
        }
        let mut flips = |from: &[usize], to: &[usize], at: usize, adds: bool| {
            let Some((base, whole)) = from.first().and_then(|i| found.get(*i).zip(cases.get(*i)))
            else {
                return;
            };
            for (case, other) in to.iter().filter_map(|i| cases.get(*i).zip(found.get(*i))) {
                let states = |segment: usize| {
                    let message = whole.subject.segments.get(segment).map(|s| s.message);
                    let mut mentions = whole.subject.labels.mentions.iter();
                    mentions.any(|m| {
                        Some(m.message) == message
                            && m.kind == super::MentionKind::Fact
                            && m.fact == case.variant.fact
                    })
                };
                let own: Vec<usize> = base
                    .segments
                    .iter()
                    .map(|s| s.segment)
                    .filter(|s| states(*s))
                    .collect();
                let (long, short) = if adds { (other, base) } else { (base, other) };
                let flipped = own.iter().any(|s| long.deleted(*s) && !short.deleted(*s));
                if let Some(sum) = sums.get_mut(at).filter(|_| !own.is_empty()) {
                    sum.0 += f64::from(u8::from(flipped));
                    sum.1 += 1.0;
                }
            }
        };
        flips(&named("complete"), &named("omit"), 8, false);
        flips(&named("half"), &named("added"), 9, true);
        for (rate, (hits, of)) in rates.iter_mut().zip(sums) {
            rate.push(hits, of);
        }
    }
    let [a, b, c, d, e, f, g, h, i, j] = rates.map(|r| r.estimate());
    Row {
        rule: contender.name.clone(),
        threshold: contender.rule.threshold(),
        omitted_sensitive: a,
        covered_deleted: b,
        corrected_deleted: c,
        stale_unwritten: d,
        stale_gone: e,
        survival: f,
        removed_complete: g,
        removed: h,
        flips_omitted: i,
        flips_added: j,
        segments: Curve::of(&segments),
        atoms: Curve::of(&atoms),
        at_survival: None,
    }
}

/// The highest threshold of a rule at which no less than `survival` of the needed facts stand.
pub fn at_survival(
    cases: &[Case<'_>],
    contender: &Contender,
    row: &Row,
    survival: f64,
    count: &dyn Fn(&str) -> usize,
) -> Option<[f64; 3]> {
    let points = row.segments.points.iter().chain(&row.atoms.points);
    let mut thresholds: Vec<f64> = points.map(|p| p[0]).filter(|t| t.is_finite()).collect();
    thresholds.push(row.threshold);
    thresholds.sort_by(f64::total_cmp);
    thresholds.dedup();
    // A strength decides only above its threshold.
    let below = thresholds.first().map(|t| t - 1.0);
    thresholds.splice(0..0, below);
    // More stands the lower the threshold is, all but monotonously: bisect, then say what was found.
    let measure = |threshold: f64| {
        let rule = contender.rule.at(threshold);
        survival_and_removed(cases, &outcomes(cases, contender, rule.as_ref(), count))
    };
    let (mut low, mut high) = (0, thresholds.len());
    while low + 1 < high {
        let middle = low.midpoint(high);
        match thresholds.get(middle) {
            Some(t) if measure(*t).0 >= survival => low = middle,
            _ => high = middle,
        }
    }
    let threshold = thresholds.get(low).copied()?;
    let (kept, removed) = measure(threshold);
    (kept >= survival).then_some([threshold, kept, removed])
}
