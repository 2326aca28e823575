//! What do the probes come to? Forced choice and attention to pictures, one row a method.

use std::fmt::Write as _;

use serde::Serialize;

use super::{Method, Probe};
use crate::eval::{Estimate, Rate};

/// One method's probes over one set.
#[derive(Clone, Debug, Serialize)]
pub struct ProbeRow {
    /// The method.
    pub method: Method,
    /// Share of conflicts whose right answer is likelier, token by token, than the stale one.
    pub forced_choice: Estimate,
    /// By how much, in nats a token.
    pub margin: Estimate,
    /// By layer: share of attention from the last turn to pictures.
    pub to_pictures: Vec<Estimate>,
}

/// All rows of one set.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Probes {
    /// One a method.
    pub rows: Vec<ProbeRow>,
}

impl Probes {
    /// Counts episodes, each a list of one entry a method in the same order. Intervals are over episodes.
    pub fn of(episodes: &[Vec<(Method, Probe)>]) -> Self {
        let methods = episodes.first().map_or(0, Vec::len);
        let mut rows = Vec::with_capacity(methods);
        for which in 0..methods {
            let own: Vec<&(Method, Probe)> = episodes.iter().filter_map(|e| e.get(which)).collect();
            let Some((method, _)) = own.first() else {
                continue;
            };
            let (mut choice, mut margin) = (Rate::default(), Rate::default());
            let layers = own.iter().map(|(_, probe)| probe.to_pictures.len()).max();
            let mut to_pictures = vec![Rate::default(); layers.unwrap_or(0)];
            for (_, probe) in &own {
                let all = probe.choices.len() as f64;
                let likelier = probe.choices.iter().filter(|[right, stale]| right > stale);
                choice.push(likelier.count() as f64, all);
                margin.push(
                    probe
                        .choices
                        .iter()
                        .map(|[right, stale]| right - stale)
                        .sum(),
                    all,
                );
                for (rate, share) in to_pictures.iter_mut().zip(&probe.to_pictures) {
                    rate.push(*share, 1.0);
                }
            }
            rows.push(ProbeRow {
                method: *method,
                forced_choice: choice.estimate(),
                margin: margin.estimate(),
                to_pictures: to_pictures.iter().map(Rate::estimate).collect(),
            });
        }
        Self { rows }
    }

    /// For the terminal, in per cent; layers from the first to the last.
    pub fn text(&self) -> String {
        let mut out = format!(
            "{:14} {:>22} {:>24}  attention from the last turn to pictures, by layer\n",
            "method", "forced choice", "margin, nats a token"
        );
        for row in &self.rows {
            let per = |e: &Estimate, by: f64, digits: usize| match e.n > 0.0 {
                true => format!(
                    "{:.digits$} [{:.digits$}, {:.digits$}]",
                    by * e.value,
                    by * e.low,
                    by * e.high
                ),
                false => "-".into(),
            };
            let layers: Vec<String> = row
                .to_pictures
                .iter()
                .map(|e| format!("{:.1}", 100.0 * e.value))
                .collect();
            let _ = writeln!(
                out,
                "{:14} {:>22} {:>24}  {}",
                row.method.name(),
                per(&row.forced_choice, 100.0, 1),
                per(&row.margin, 1.0, 3),
                layers.join(" ")
            );
        }
        out
    }

    /// A line a method and measure; layers count from 0.
    pub fn csv(&self) -> String {
        let mut out = String::from("method,measure,layer,value,low,high,n\n");
        for row in &self.rows {
            let mut line = |measure: &str, layer: &str, e: &Estimate| {
                if e.n > 0.0 {
                    let _ = writeln!(
                        out,
                        "{},{measure},{layer},{:.6},{:.6},{:.6},{}",
                        row.method.name(),
                        e.value,
                        e.low,
                        e.high,
                        e.n
                    );
                }
            };
            line("forced_choice", "", &row.forced_choice);
            line("margin", "", &row.margin);
            for (layer, e) in row.to_pictures.iter().enumerate() {
                line("to_pictures", &layer.to_string(), e);
            }
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conflicts_count_and_layers_are_averaged() {
        let probe = |choices: &[[f64; 2]], to_pictures: &[f64]| Probe {
            choices: choices.to_vec(),
            to_pictures: to_pictures.to_vec(),
        };
        let found = Probes::of(&[
            vec![
                (
                    Method::Full,
                    probe(&[[-1.0, -0.5], [-1.0, -3.0]], &[0.1, 0.3]),
                ),
                (
                    Method::Default,
                    probe(&[[-1.0, -2.0], [-1.0, -3.0]], &[0.2, 0.5]),
                ),
            ],
            vec![
                (Method::Full, probe(&[], &[0.3, 0.1])),
                (Method::Default, probe(&[], &[])),
            ],
        ]);
        let row = |which: usize| found.rows.get(which).cloned();
        let (full, pruned) = (
            row(0).map(|r| r.forced_choice),
            row(1).map(|r| r.forced_choice),
        );
        assert_eq!(full.map(|e| (e.value, e.n)), Some((0.5, 2.0)));
        assert_eq!(pruned.map(|e| e.value), Some(1.0));
        assert_eq!(row(0).map(|r| r.margin.value), Some((-0.5 + 2.0) / 2.0));
        let layers = |which: usize| -> Vec<f64> {
            let row = row(which);
            row.iter()
                .flat_map(|r| r.to_pictures.iter().map(|e| e.value))
                .collect()
        };
        // The episode without an answer counts in no layer.
        assert_eq!((layers(0), layers(1)), (vec![0.2, 0.2], vec![0.2, 0.5]));
        assert!(found.csv().contains("default,to_pictures,1,0.500000"));
        assert_eq!(found.text().lines().count(), 3);
    }
}
