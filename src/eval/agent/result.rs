//! What do the episodes come to? One row a method, every difference paired with the full trace.

use std::fmt::Write as _;

use serde::Serialize;

use super::{Method, Played, Skill, Times};
use crate::eval::{Estimate, Rate};

/// One method's numbers over one set.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// The method.
    pub method: Method,
    /// Share of right answers.
    pub accuracy: Estimate,
    /// That minus the full trace's, episode by episode.
    pub difference: Estimate,
    /// Share of answers that repeat a stale guess.
    pub stale: Estimate,
    /// Share of written reasoning tokens that the history does not hold at the end, over all episodes.
    pub removed: Estimate,
    /// The same over episodes with a summary.
    pub removed_pruned: Estimate,
    /// Tokens read and written behind the first summary, an episode.
    pub pushed: f64,
    /// Seconds behind the first summary, an episode.
    pub seconds: f64,
    /// Share of episodes that ended without an answer.
    pub unanswered: f64,
}

/// All rows of one set.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Table {
    /// One a method.
    pub rows: Vec<Row>,
    /// Episodes.
    pub episodes: usize,
    /// Those with a summary.
    pub with_summary: usize,
    /// What the agent does right by itself, over the episodes of the full trace.
    pub skill: Skill,
}

impl Table {
    /// Counts episodes, each a list of one entry a method in the same order.
    pub fn of(episodes: &[Vec<Played>]) -> Self {
        let number = |yes: bool| f64::from(u8::from(yes));
        let methods = episodes.first().map_or(0, Vec::len);
        let mut table = Self {
            episodes: episodes.len(),
            with_summary: episodes
                .iter()
                .filter(|e| e.first().is_some_and(|p| p.summaries > 0))
                .count(),
            rows: Vec::new(),
            skill: Skill::default(),
        };
        let all = episodes.iter().flatten();
        for played in all.filter(|p| p.method == Method::Full) {
            table.skill.add(played.skill);
        }
        for which in 0..methods {
            let own: Vec<&Played> = episodes.iter().filter_map(|e| e.get(which)).collect();
            let Some(first) = own.first() else {
                continue;
            };
            let rate = |of: &dyn Fn(&Played) -> (f64, f64)| {
                let mut rate = Rate::default();
                for played in &own {
                    let (hits, all) = of(played);
                    rate.push(hits, all);
                }
                rate.estimate()
            };
            let mut difference = Rate::default();
            for episode in episodes {
                let full = episode.iter().find(|p| p.method == Method::Full);
                if let (Some(own), Some(full)) = (episode.get(which), full) {
                    difference.push(number(own.right) - number(full.right), 1.0);
                }
            }
            let gone = |p: &Played| (p.reasoning as f64 - p.kept as f64, p.reasoning as f64);
            let mean = |of: &dyn Fn(&Played) -> f64| {
                own.iter().map(|p| of(p)).sum::<f64>() / own.len().max(1) as f64
            };
            table.rows.push(Row {
                method: first.method,
                accuracy: rate(&|p| (number(p.right), 1.0)),
                difference: difference.estimate(),
                stale: rate(&|p| (number(p.stale), 1.0)),
                removed: rate(&gone),
                removed_pruned: rate(&|p| if p.summaries > 0 { gone(p) } else { (0.0, 0.0) }),
                pushed: mean(&|p| p.pushed as f64),
                seconds: mean(&|p| p.seconds),
                unanswered: mean(&|p| number(p.end != "answer")),
            });
        }
        table
    }

    /// For the terminal, in per cent.
    pub fn text(&self) -> String {
        let mut out = format!(
            "{} episodes, {} with a summary\n",
            self.episodes, self.with_summary
        );
        let _ = writeln!(
            out,
            "{:14} {:>22} {:>24} {:>22} {:>22} {:>8} {:>8} {:>6}",
            "method", "accuracy", "against full", "removed", "stale", "tokens", "seconds", "none"
        );
        let per = |e: &Estimate| {
            let [value, low, high] = [e.value, e.low, e.high].map(|x| 100.0 * x);
            format!("{value:.1} [{low:.1}, {high:.1}]")
        };
        for row in &self.rows {
            let _ = writeln!(
                out,
                "{:14} {:>22} {:>24} {:>22} {:>22} {:>8.0} {:>8.3} {:>6.1}",
                row.method.name(),
                per(&row.accuracy),
                per(&row.difference),
                per(&row.removed_pruned),
                per(&row.stale),
                row.pushed,
                row.seconds,
                100.0 * row.unanswered
            );
        }
        let times = |times: Times| format!("{:.1} of {}", 100.0 * times.share(), times.all);
        let Skill { found, read, noted } = self.skill;
        let _ = writeln!(
            out,
            "full trace: cells found {}, values read {}, facts noted {}",
            times(found),
            times(read),
            times(noted)
        );
        out
    }

    /// A line a method, shares from 0 to 1.
    pub fn csv(&self) -> String {
        let mut out = String::from("method");
        for name in [
            "accuracy",
            "difference",
            "stale",
            "removed",
            "removed_pruned",
        ] {
            let _ = write!(out, ",{name},{name}_low,{name}_high");
        }
        out.push_str(",pushed,seconds,unanswered,episodes\n");
        for row in &self.rows {
            out.push_str(row.method.name());
            let all = [
                &row.accuracy,
                &row.difference,
                &row.stale,
                &row.removed,
                &row.removed_pruned,
            ];
            for e in all {
                let _ = write!(out, ",{:.5},{:.5},{:.5}", e.value, e.low, e.high);
            }
            let _ = writeln!(
                out,
                ",{:.1},{:.4},{:.4},{}",
                row.pushed, row.seconds, row.unanswered, self.episodes
            );
        }
        out
    }
}
