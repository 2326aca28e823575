//! What do the runs of several settings come to? One row a setting, every difference paired with the first one.

use std::fmt::Write as _;

use serde::Serialize;

use crate::eval::plot::{Mark, Plot};
use crate::eval::{Estimate, Rate};

/// One run of one setting.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Scored {
    /// How right its answer is, from 0 to 1.
    pub right: f64,
    /// Whether it gave an answer.
    pub answered: bool,
    /// Whether its answer repeats a stale guess, where that can be told.
    pub stale: Option<bool>,
    /// Summaries that were made.
    pub summaries: usize,
    /// Tokens of reasoning that were written.
    pub reasoning: usize,
    /// Those that the history held at the end.
    pub kept: usize,
    /// Tokens that the model read or wrote from the first summary on.
    pub pushed: u64,
    /// Seconds from the first summary on.
    pub seconds: f64,
}

/// One setting's numbers.
#[derive(Clone, Debug, Serialize)]
pub struct Standing {
    /// The setting.
    pub name: String,
    /// Mean rightness.
    pub accuracy: Estimate,
    /// That minus the first setting's, run by run.
    pub difference: Estimate,
    /// Share of written reasoning tokens that the history does not hold at the end, over runs with a summary.
    pub removed: Estimate,
    /// Share of answers that repeat a stale guess.
    pub stale: Estimate,
    /// Tokens read and written from the first summary on, a run.
    pub pushed: f64,
    /// Seconds from the first summary on, a run.
    pub seconds: f64,
    /// Share of runs without an answer.
    pub unanswered: f64,
}

/// All settings.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Standings {
    /// One a setting.
    pub rows: Vec<Standing>,
    /// Runs of each.
    pub runs: usize,
    /// Runs with a summary under the first setting.
    pub with_summary: usize,
}

impl Standings {
    /// Counts runs, each a list of one entry a setting in the order of `names`. Intervals are over runs.
    pub fn of(names: &[String], runs: &[Vec<Scored>]) -> Self {
        let number = |yes: bool| f64::from(u8::from(yes));
        let noted = |run: &&Vec<Scored>| run.first().is_some_and(|s| s.summaries > 0);
        let mut out = Self {
            rows: Vec::with_capacity(names.len()),
            runs: runs.len(),
            with_summary: runs.iter().filter(noted).count(),
        };
        for (which, name) in names.iter().enumerate() {
            let [mut accuracy, mut difference, mut removed, mut stale] =
                [(); 4].map(|()| Rate::default());
            let (mut pushed, mut seconds, mut unanswered, mut all) = (0.0, 0.0, 0.0, 0.0);
            for run in runs {
                let (Some(own), Some(first)) = (run.get(which), run.first()) else {
                    continue;
                };
                accuracy.push(own.right, 1.0);
                difference.push(own.right - first.right, 1.0);
                if own.summaries > 0 {
                    let written = own.reasoning as f64;
                    removed.push(written - own.kept as f64, written);
                }
                if let Some(repeats) = own.stale {
                    stale.push(number(repeats), 1.0);
                }
                pushed += own.pushed as f64;
                seconds += own.seconds;
                unanswered += number(!own.answered);
                all += 1.0;
            }
            let mean = |sum: f64| sum / f64::max(all, 1.0);
            out.rows.push(Standing {
                name: name.clone(),
                accuracy: accuracy.estimate(),
                difference: difference.estimate(),
                removed: removed.estimate(),
                stale: stale.estimate(),
                pushed: mean(pushed),
                seconds: mean(seconds),
                unanswered: mean(unanswered),
            });
        }
        out
    }

    /// For the terminal, in per cent.
    pub fn text(&self) -> String {
        let width = self
            .rows
            .iter()
            .map(|r| r.name.len())
            .max()
            .unwrap_or(0)
            .max(8);
        let mut out = format!("{} runs, {} with a summary\n", self.runs, self.with_summary);
        let _ = writeln!(
            out,
            "{:width$} {:>22} {:>24} {:>22} {:>22} {:>8} {:>8} {:>6}",
            "setting",
            "accuracy",
            "against the first",
            "removed",
            "stale",
            "tokens",
            "seconds",
            "none"
        );
        let per = |e: &Estimate| match e.n > 0.0 {
            true => {
                let [value, low, high] = [e.value, e.low, e.high].map(|x| 100.0 * x);
                format!("{value:.1} [{low:.1}, {high:.1}]")
            }
            false => "-".into(),
        };
        for row in &self.rows {
            let _ = writeln!(
                out,
                "{:width$} {:>22} {:>24} {:>22} {:>22} {:>8.0} {:>8.3} {:>6.1}",
                row.name,
                per(&row.accuracy),
                per(&row.difference),
                per(&row.removed),
                per(&row.stale),
                row.pushed,
                row.seconds,
                100.0 * row.unanswered
            );
        }
        out
    }

    /// A line a setting, shares from 0 to 1; empty where nothing was counted.
    pub fn csv(&self) -> String {
        let mut out = String::from("setting");
        for name in ["accuracy", "difference", "removed", "stale"] {
            let _ = write!(out, ",{name},{name}_low,{name}_high");
        }
        out.push_str(",pushed,seconds,unanswered,runs\n");
        for row in &self.rows {
            let _ = write!(out, "\"{}\"", row.name.replace('"', "\"\""));
            for e in [&row.accuracy, &row.difference, &row.removed, &row.stale] {
                match e.n > 0.0 {
                    true => {
                        let _ = write!(out, ",{:.5},{:.5},{:.5}", e.value, e.low, e.high);
                    }
                    false => out.push_str(",,,"),
                }
            }
            let _ = writeln!(
                out,
                ",{:.1},{:.4},{:.4},{}",
                row.pushed, row.seconds, row.unanswered, self.runs
            );
        }
        out
    }

    /// Accuracy against tokens removed. A setting that never had anything to remove stands at 0.
    pub fn plot(&self, title: impl Into<String>) -> Plot {
        let nothing = Estimate::default();
        let marks = self.rows.iter().map(|row| Mark {
            name: row.name.clone(),
            x: if row.removed.n > 0.0 {
                row.removed
            } else {
                nothing
            },
            y: row.accuracy,
        });
        Plot {
            title: title.into(),
            x: "reasoning tokens removed, %".into(),
            y: "right answers, %, with 95 % intervals".into(),
            marks: marks.collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_are_paired_and_what_was_not_counted_is_not_zero() {
        let scored = |right: f64, kept: usize, stale: Option<bool>| Scored {
            right,
            answered: right > 0.0,
            stale,
            summaries: 1,
            reasoning: 100,
            kept,
            pushed: 10,
            seconds: 0.5,
        };
        let names = ["full".to_owned(), "a, \"b\"".to_owned()];
        let runs = [
            vec![scored(1.0, 100, None), scored(1.0, 30, Some(false))],
            vec![scored(0.0, 100, None), scored(1.0, 50, Some(true))],
        ];
        let found = Standings::of(&names, &runs);
        let value = |which: usize, of: fn(&Standing) -> Estimate| {
            found.rows.get(which).map(|r| of(r).value)
        };
        assert_eq!(value(0, |r| r.accuracy), Some(0.5));
        assert_eq!(value(1, |r| r.difference), Some(0.5));
        assert_eq!(value(1, |r| r.removed), Some(0.6));
        assert_eq!(value(1, |r| r.stale), Some(0.5));
        assert_eq!(found.rows.first().map(|r| r.unanswered), Some(0.5));
        let csv = found.csv();
        assert!(csv.contains("\"a, \"\"b\"\"\",1.00000"), "{csv}");
        assert!(csv.contains(",0.00000,,,,10.0"), "{csv}");
        assert_eq!(found.text().lines().count(), 4);
        let plot = found.plot("t");
        assert_eq!(
            plot.marks.iter().map(|m| m.x.value).collect::<Vec<_>>(),
            [0.0, 0.6]
        );
        assert_eq!(Standings::of(&names, &[]).text().lines().count(), 4);
    }
}
