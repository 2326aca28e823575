//! Which pieces answer a need, and how well is it answered?

use crate::collect::{Collector, Found};
use crate::evidence::Status;
use crate::query::{Mask, NeedTerms};

/// Least share of the best score that a full match needs to be shown.
const NEAR_BEST: f32 = 0.6;
/// Largest share of weight, of words that are no keys but occur elsewhere, that a weak match may lack.
const WEAK_SHARE: f32 = 0.12;
/// Weight of what a piece inherits.
const INHERITED: f32 = 0.9;
/// Weight of a term of one letter.
const LETTER: f32 = 0.3;

/// The ranked pieces of a need.
#[derive(Debug)]
pub struct Ranked<'a> {
    /// What is known, before budget and scope.
    pub status: Status,
    /// Best first.
    pub found: Vec<&'a Found>,
    /// Terms that the best piece lacks.
    pub unmatched: Mask,
    /// Values that disagree.
    pub values: Vec<String>,
}

/// The weight of every term: how much it says that a piece has it.
pub fn weights(sink: &Collector<'_>) -> Vec<f32> {
    let units = sink.units.max(1) as f32;
    let keys = sink.query.keys(sink.seen);
    let idf = |frequency: f32| {
        (1.0 + (units - frequency + 0.5).max(0.5) / (frequency + 0.5))
            .ln()
            .max(0.1)
    };
    let mut weights: Vec<f32> = sink
        .frequency
        .iter()
        .map(|frequency| idf(*frequency as f32))
        .collect();
    let known: Vec<f32> = weights
        .iter()
        .zip(&sink.frequency)
        .filter(|(_, frequency)| **frequency > 0)
        .map(|(weight, _)| *weight)
        .collect();
    let mean = if known.is_empty() {
        1.0
    } else {
        known.iter().sum::<f32>() / known.len() as f32
    };
    for (at, weight) in weights.iter_mut().enumerate() {
        let bit = 1 << at;
        if sink
            .query
            .terms
            .get(at)
            .is_some_and(|term| term.text.chars().count() == 1)
        {
            *weight *= LETTER;
        }
        if sink.frequency.get(at) == Some(&0) && keys & bit == 0 {
            // Around units but in none: a header. Nowhere: a word of the question that the object does not use.
            *weight = if sink.seen & bit != 0 {
                0.7
            } else {
                mean * 0.5
            };
        }
    }
    weights
}

fn sum(weights: &[f32], mask: Mask) -> f32 {
    weights
        .iter()
        .enumerate()
        .filter(|(at, _)| mask & (1 << at) != 0)
        .map(|(_, weight)| weight)
        .sum()
}

/// Ranks what was found for a need. `admits` says which pieces the scope allows; `complete`, whether all was searched.
pub fn rank<'a>(
    sink: &Collector<'_>,
    found: &[&'a Found],
    weights: &[f32],
    need: &NeedTerms,
    complete: bool,
    admits: &dyn Fn(&Found) -> bool,
) -> Ranked<'a> {
    let keys = sink.query.keys(sink.seen);
    let wanted = need.terms | need.must;
    let nowhere = wanted & !sink.seen & !keys;
    let expected = wanted & !nowhere;
    let covered = |found: &Found| {
        let all = found.own | found.inherited;
        let stand_in = if all & need.aliases != 0 {
            wanted & keys
        } else {
            0
        };
        (all | stand_in) & wanted
    };
    let score = |found: &Found| {
        let own = found.own & (wanted | need.aliases);
        let inherited = covered(found) & !own;
        sum(weights, own) + INHERITED * sum(weights, inherited) + 0.4 * found.quality
    };
    let mut scored: Vec<(f32, &Found)> = found
        .iter()
        .filter(|found| found.own & (wanted | need.aliases) != 0 && admits(found))
        .map(|found| (score(found), *found))
        .collect();
    scored.sort_by(|(one, first), (other, second)| {
        other.total_cmp(one).then(first.order.cmp(&second.order))
    });
    let is_full = |found: &Found| {
        expected != 0
            && covered(found) & expected == expected
            && sum(weights, expected) >= 0.4 * sum(weights, wanted)
    };
    // Terms that occur around units only: what a line is, not what it says.
    let roles = sink
        .frequency
        .iter()
        .enumerate()
        .filter(|(_, count)| **count == 0)
        .fold(0, |mask, (at, _)| mask | (1 << at));
    let lacks_little = |found: &Found| {
        let missing = expected & !covered(found);
        missing & (keys | roles) == 0
            && sum(weights, missing) <= WEAK_SHARE * sum(weights, expected)
    };
    let full: Vec<(f32, &Found)> = scored
        .iter()
        .filter(|(_, found)| is_full(found))
        .copied()
        .collect();
    if let Some((best, first)) = full.first().copied() {
        // Statements that lack an ordinary word or two belong beside the full ones: they may disagree.
        let near = scored
            .iter()
            .filter(|(_, found)| !is_full(found) && lacks_little(found));
        let found: Vec<&Found> = full
            .iter()
            .chain(near)
            .filter(|(score, _)| *score >= NEAR_BEST * best)
            .map(|(_, found)| *found)
            .collect();
        let values = disagreement(&found, &need.question);
        let unmatched = wanted & !covered(first);
        let status = match (values.is_empty(), unmatched) {
            (false, _) => Status::Conflicting,
            (true, 0) => Status::Supported,
            (true, _) => Status::Weak,
        };
        return Ranked {
            status,
            found,
            unmatched,
            values,
        };
    }
    let Some((best, first)) = scored.first().copied() else {
        let status = if complete {
            Status::Absent
        } else {
            Status::NotSearched
        };
        return Ranked {
            status,
            found: Vec::new(),
            unmatched: wanted,
            values: Vec::new(),
        };
    };
    let missing = wanted & !covered(first);
    let share = sum(weights, missing & !nowhere) / sum(weights, expected).max(f32::MIN_POSITIVE);
    let pairs = |at: usize, term: &crate::query::Term| {
        missing & !nowhere & (1 << at) != 0 && term.run.is_some() && term.text.chars().count() > 1
    };
    let in_run = sink
        .query
        .terms
        .iter()
        .enumerate()
        .any(|(at, term)| pairs(at, term));
    let weak = missing & keys == 0 && share <= WEAK_SHARE && !in_run;
    let status = match (weak, complete) {
        (true, _) => Status::Weak,
        (false, true) => Status::Absent,
        (false, false) => Status::NotSearched,
    };
    let found = if weak {
        scored
            .iter()
            .filter(|(score, _)| *score >= 0.6 * best)
            .map(|(_, found)| *found)
            .take(6)
            .collect()
    } else {
        nearest(&scored, missing, &covered)
    };
    Ranked {
        status,
        found,
        unmatched: missing,
        values: Vec::new(),
    }
}

/// What comes closest to a fact that is not there: the best piece, the best one with what that lacks, the next.
fn nearest<'a>(
    scored: &[(f32, &'a Found)],
    missing: Mask,
    covered: &dyn Fn(&Found) -> Mask,
) -> Vec<&'a Found> {
    let mut found: Vec<&Found> = scored
        .first()
        .map(|(_, found)| *found)
        .into_iter()
        .collect();
    let other = scored
        .iter()
        .skip(1)
        .map(|(_, found)| *found)
        .max_by(|one, other| {
            let gain = |found: &Found| (covered(found) & missing).count_ones();
            gain(one)
                .cmp(&gain(other))
                .then(other.order.cmp(&one.order))
        });
    found.extend(other.filter(|found| covered(found) & missing != 0));
    if let Some((_, next)) = scored
        .get(1)
        .filter(|(_, next)| found.iter().all(|known| known.order != next.order))
    {
        found.push(next);
    }
    found
}

/// The values of the best statements, if two of them share none.
fn disagreement(found: &[&Found], question: &str) -> Vec<String> {
    let values = |text: &str| -> Vec<String> {
        let tokens = text.split(|letter: char| {
            letter.is_whitespace()
                || "\"'()[]{}<>|;=：，。、".contains(letter)
                || crate::query::is_unspaced(letter) && !letter.is_numeric()
        });
        let trimmed =
            tokens.map(|token| token.trim_matches(|letter: char| !letter.is_alphanumeric()));
        trimmed
            .filter(|token| {
                token.chars().any(|letter| letter.is_ascii_digit()) && !question.contains(*token)
            })
            .map(str::to_owned)
            .collect()
    };
    let all: Vec<Vec<String>> = found
        .iter()
        .take(12)
        .map(|found| values(&found.piece.core))
        .filter(|values| !values.is_empty())
        .collect();
    let apart = all.iter().enumerate().any(|(at, one)| {
        all.iter()
            .skip(at + 1)
            .any(|other| one.iter().all(|value| !other.contains(value)))
    });
    if !apart {
        return Vec::new();
    }
    let mut different: Vec<String> = Vec::new();
    for value in all
        .into_iter()
        .filter_map(|values| values.into_iter().next())
    {
        if !different.contains(&value) {
            different.push(value);
        }
    }
    different.truncate(6);
    different
}
