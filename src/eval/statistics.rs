//! Rates with bootstrap intervals over runs, and how well strengths rank what must not be lost.

use super::Random;

/// Resamples of an interval.
const RESAMPLES: usize = 1000;

/// A rate over runs: a numerator and a denominator a run.
#[derive(Clone, Debug, Default)]
pub struct Rate {
    runs: Vec<(f64, f64)>,
}

/// A number with the ends of its 95 % interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize)]
pub struct Estimate {
    /// The rate over all runs; NaN where nothing was counted.
    pub value: f64,
    /// 2.5th percentile over resampled runs.
    pub low: f64,
    /// 97.5th percentile.
    pub high: f64,
    /// The denominator.
    pub n: f64,
}

impl Rate {
    /// Counts one run.
    pub fn push(&mut self, hits: f64, of: f64) {
        self.runs.push((hits, of));
    }

    /// The rate with its interval: runs are resampled, since values of one run are no independent draws.
    pub fn estimate(&self) -> Estimate {
        let rate = |runs: &mut dyn Iterator<Item = (f64, f64)>| {
            let (hits, of) = runs.fold((0.0, 0.0), |sum, run| (sum.0 + run.0, sum.1 + run.1));
            (hits / of, of)
        };
        let (value, n) = rate(&mut self.runs.iter().copied());
        let mut random = Random::new(1, self.runs.len());
        let mut resampled: Vec<f64> = (0..RESAMPLES)
            .map(|_| {
                let draw = |_| self.runs.get(random.below(self.runs.len())).copied();
                rate(&mut (0..self.runs.len()).filter_map(draw)).0
            })
            .filter(|rate| rate.is_finite())
            .collect();
        resampled.sort_by(f64::total_cmp);
        let at = |share: f64| {
            let last = resampled.len().saturating_sub(1) as f64;
            resampled
                .get((share * last).round() as usize)
                .copied()
                .unwrap_or(f64::NAN)
        };
        Estimate {
            value,
            low: at(0.025),
            high: at(0.975),
            n,
        }
    }
}

/// Points of a ranking: for every threshold the share of positives and of negatives above it, and the precision.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize)]
pub struct Curve {
    /// Area under the receiver operating characteristic; ties count half.
    pub auc: f64,
    /// Average precision.
    pub average_precision: f64,
    /// `[threshold, recall, false positive rate, precision]`, from the highest threshold down, at most 64 points.
    pub points: Vec<[f64; 4]>,
    /// Positives and negatives.
    pub counts: [usize; 2],
}

impl Curve {
    /// Of scored items, true ones to be ranked above the others.
    pub fn of(items: &[(f64, bool)]) -> Self {
        let mut sorted = items.to_vec();
        sorted.sort_by(|a, b| b.0.total_cmp(&a.0));
        let positives = items.iter().filter(|i| i.1).count();
        let negatives = items.len() - positives;
        let (mut hits, mut wrong) = (0usize, 0usize);
        let (mut auc, mut average, mut points) = (0.0, 0.0, Vec::new());
        for group in sorted.chunk_by(|a, b| a.0 == b.0) {
            let good = group.iter().filter(|i| i.1).count();
            let bad = group.len() - good;
            auc += bad as f64 * (hits as f64 + good as f64 / 2.0);
            hits += good;
            wrong += bad;
            let precision = hits as f64 / (hits + wrong) as f64;
            average += precision * good as f64;
            let threshold = group.first().map_or(0.0, |g| g.0);
            points.push([
                threshold,
                hits as f64 / positives.max(1) as f64,
                wrong as f64 / negatives.max(1) as f64,
                precision,
            ]);
        }
        let step = points.len().div_ceil(64).max(1);
        let last = points.len().saturating_sub(1);
        let kept = points
            .iter()
            .enumerate()
            .filter(|(i, _)| i % step == 0 || *i == last);
        Self {
            auc: auc / (positives.max(1) * negatives.max(1)) as f64,
            average_precision: average / positives.max(1) as f64,
            points: kept.map(|(_, p)| *p).collect(),
            counts: [positives, negatives],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_perfect_a_blind_and_a_reversed_ranking() {
        let auc = |items: &[(f64, bool)]| Curve::of(items).auc;
        assert_eq!(auc(&[(2.0, true), (1.0, false), (0.0, false)]), 1.0);
        assert_eq!(auc(&[(1.0, true), (1.0, false)]), 0.5);
        assert_eq!(auc(&[(0.0, true), (1.0, false)]), 0.0);
        let mixed = Curve::of(&[(3.0, true), (2.0, false), (1.0, true), (0.0, false)]);
        assert_eq!(
            (mixed.auc, mixed.average_precision),
            (0.75, (1.0 + 2.0 / 3.0) / 2.0)
        );
    }

    #[test]
    fn an_interval_holds_the_rate() {
        let mut rate = Rate::default();
        (0..100).for_each(|i| rate.push(f64::from(u8::from(i % 4 == 0)), 1.0));
        let found = rate.estimate();
        assert_eq!((found.value, found.n), (0.25, 100.0));
        assert!(
            (0.15..0.25).contains(&found.low) && (0.25..0.35).contains(&found.high),
            "{found:?}"
        );
    }
}
