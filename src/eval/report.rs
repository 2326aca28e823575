//! The comparison as a table for people, JSON, CSV, and curves as SVG.

use std::collections::BTreeSet;
use std::fmt::Write;

use serde::Serialize;
use serde_json::json;

use super::{Case, Curve, Estimate, Row, Standing, Yardsticks};

/// What was compared on.
#[derive(Clone, Debug, Default, Serialize)]
pub struct About {
    /// Runs.
    pub runs: usize,
    /// Runs under one summary each.
    pub cases: usize,
    /// Values by label: covered, re-readable, needed, stale, filler.
    pub values: [usize; 5],
    /// Tokens that the first, cold replay of a run pushes for a rule without the bare pass, and what the bare pass adds, a case.
    pub pushed: [f64; 2],
    /// Survival that rules are compared at.
    pub survival: f64,
    /// Where the bare pass would write another value of the summary instead, with a probability above 0.6: corrected guesses and all of
    /// them, needed values and all of them.
    pub rewritten: [[usize; 2]; 2],
}

impl About {
    /// Of some cases.
    pub fn of(cases: &[Case<'_>], survival: f64) -> Self {
        let runs: BTreeSet<&str> = cases.iter().map(|c| c.subject.id()).collect();
        let mut out = Self {
            runs: runs.len(),
            cases: cases.len(),
            survival,
            ..Self::default()
        };
        let mut cold = 0.0;
        for case in cases {
            for mention in &case.subject.labels.mentions {
                let at = match case.subject.labels.standing(mention, case.variant) {
                    Standing::Covered => 0,
                    Standing::Rereadable => 1,
                    Standing::Needed => 2,
                    Standing::Stale => 3,
                    Standing::Filler => 4,
                };
                if let Some(n) = out.values.get_mut(at) {
                    *n += 1;
                }
            }
            for (mention, atom) in case.values() {
                let standing = case.subject.labels.standing(mention, case.variant);
                let stated = mention
                    .fact
                    .is_some_and(|f| case.variant.states.contains(&f));
                let counts = match standing {
                    Standing::Stale if stated => out.rewritten.first_mut(),
                    Standing::Needed => out.rewritten.last_mut(),
                    _ => None,
                };
                if let Some([hits, all]) = counts {
                    let instead = atom.instead.as_ref();
                    *hits += usize::from(
                        instead.is_some_and(|i| i.log > f64::ln(0.6) && i.recorded < i.log - 1.0),
                    );
                    *all += 1;
                }
            }
            // Later summaries of a run find its history read.
            if case.measured.variant == 0 {
                cold += 1.0;
                let scores = &case.measured.scores;
                out.pushed[0] += (scores.pushed - scores.bare) as f64;
                out.pushed[1] += scores.bare as f64;
            }
        }
        out.pushed = out.pushed.map(|sum| sum / f64::max(cold, 1.0));
        out
    }
}

fn percent(e: Estimate) -> String {
    if e.n == 0.0 {
        return format!("{:^18}", "-");
    }
    format!(
        "{:5.1} [{:5.1}, {:5.1}]",
        100.0 * e.value,
        100.0 * e.low,
        100.0 * e.high
    )
}

type Column = (&'static str, &'static str, fn(&Row) -> Estimate);

/// Name, meaning and value of every rate.
pub const COLUMNS: [Column; 10] = [
    (
        "omitted",
        "segments of a needed fact that the summary leaves out are sensitive",
        |r| r.omitted_sensitive,
    ),
    (
        "covered",
        "segments of values that the summary states or what stays shows are deleted",
        |r| r.covered_deleted,
    ),
    (
        "corrected",
        "the same, with guesses besides that the summary corrects or that went unmentioned",
        |r| r.corrected_deleted,
    ),
    (
        "unwritten",
        "guesses that the summary corrects are not written as evidence",
        |r| r.stale_unwritten,
    ),
    (
        "gone",
        "guesses that the summary corrects stand nowhere afterwards",
        |r| r.stale_gone,
    ),
    ("survival", "needed facts still stand", |r| r.survival),
    (
        "removed",
        "reasoning tokens that went with a complete summary, evidence and marks counted against them",
        |r| r.removed_complete,
    ),
    ("removed, all", "the same over all summaries", |r| r.removed),
    (
        "flips -",
        "leaving the fact out turns a deletion into something else",
        |r| r.flips_omitted,
    ),
    (
        "flips +",
        "adding the fact turns something else into a deletion",
        |r| r.flips_added,
    ),
];

/// For the terminal.
pub fn table(about: &About, rows: &[Row], yardsticks: &Yardsticks) -> String {
    let mut out = String::new();
    let [covered, rereadable, needed, stale, filler] = about.values;
    let _ = writeln!(
        out,
        "{} runs, {} summaries; values: {needed} needed, {covered} covered, {rereadable} re-readable, {stale} stale, {filler} filler",
        about.runs, about.cases
    );
    let _ = writeln!(
        out,
        "a cold event pushes {:.0} tokens, the bare pass {:.0} more",
        about.pushed[0], about.pushed[1]
    );
    let [[stale, of_stale], [lost, of_needed]] = about.rewritten;
    let _ = writeln!(
        out,
        "the model itself would write another value of the summary for {stale} of {of_stale} corrected guesses and {lost} of {of_needed} needed values"
    );
    for part in COLUMNS.chunks(5) {
        let _ = write!(out, "\n{:15}", "rule");
        for (name, ..) in part {
            let _ = write!(out, " {name:^20}");
        }
        out.push('\n');
        for row in rows {
            let _ = write!(out, "{:15}", row.rule);
            for (.., value) in part {
                let _ = write!(out, " {:20}", percent(value(row)));
            }
            out.push('\n');
        }
    }
    let _ = writeln!(
        out,
        "\n{:15}  AUC segments  AUC values  AP segments  AP values  at survival {:.2}: threshold, survival, removed",
        "rule", about.survival
    );
    for row in rows {
        let at = row.at_survival.map_or("never".to_owned(), |[t, s, r]| {
            format!("{t:.3}, {:.1} %, {:.1} %", 100.0 * s, 100.0 * r)
        });
        let number = |c: &Curve, x: f64| {
            if c.counts[0] == 0 {
                "-".to_owned()
            } else {
                format!("{x:.3}")
            }
        };
        let _ = writeln!(
            out,
            "{:15}  {:>12}  {:>10}  {:>11}  {:>9}  {at}",
            row.rule,
            number(&row.segments, row.segments.auc),
            number(&row.atoms, row.atoms.auc),
            number(&row.segments, row.segments.average_precision),
            number(&row.atoms, row.atoms.average_precision),
        );
    }
    out.push_str(&yardsticks.table());
    out.push('\n');
    for (name, meaning, _) in COLUMNS {
        let _ = writeln!(out, "{name}: {meaning}, %");
    }
    out.push_str("In brackets 95 % bootstrap intervals over runs. AUC and AP: needed ranked above everything else, stale values included.\n");
    out
}

/// Everything, for programs.
pub fn json(about: &About, rows: &[Row], yardsticks: &Yardsticks) -> String {
    let all = json!({"schema": 1, "about": about, "rules": rows, "yardstick": yardsticks});
    format!("{all}\n")
}

/// One line a rule.
pub fn csv(rows: &[Row]) -> String {
    let mut out = String::from("rule,threshold");
    for (name, ..) in COLUMNS {
        let name = name.replace(", ", " ");
        let _ = write!(out, ",{name},{name} low,{name} high,{name} n");
    }
    out.push_str(
        ",auc segments,auc values,ap segments,ap values,at threshold,at survival,at removed\n",
    );
    for row in rows {
        let _ = write!(out, "{},{}", row.rule.trim(), row.threshold);
        for (.., value) in COLUMNS {
            let e = value(row);
            let _ = write!(out, ",{:.4},{:.4},{:.4},{}", e.value, e.low, e.high, e.n);
        }
        let [a, b] = [&row.segments, &row.atoms];
        let _ = write!(
            out,
            ",{:.4},{:.4},{:.4},{:.4}",
            a.auc, b.auc, a.average_precision, b.average_precision
        );
        match row.at_survival {
            Some([t, s, r]) => {
                let _ = writeln!(out, ",{t:.4},{s:.4},{r:.4}");
            }
            None => out.push_str(",,,\n"),
        }
    }
    out
}

const PALETTE: [&str; 11] = [
    "#111111", "#888888", "#bbbbbb", "#d62728", "#ff9896", "#e377c2", "#9467bd", "#8c564b",
    "#2ca02c", "#1f77b4", "#ff7f0e",
];

/// Two panels: the receiver operating characteristic of segments, precision and recall of values.
pub fn svg(rows: &[Row]) -> String {
    const SIDE: f64 = 320.0;
    let mut out = String::from(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 960 400\" font-family=\"sans-serif\" font-size=\"12\">\n<rect width=\"960\" height=\"400\" fill=\"white\"/>\n",
    );
    let panels: [(&str, &str, &str, f64); 2] = [
        (
            "Segments that hold a needed value",
            "false positive rate",
            "recall",
            50.0,
        ),
        ("Needed values", "recall", "precision", 430.0),
    ];
    for (title, x, y, left) in panels {
        let _ = writeln!(
            out,
            "<rect x=\"{left}\" y=\"30\" width=\"{SIDE}\" height=\"{SIDE}\" fill=\"none\" stroke=\"#999\"/>\n<text x=\"{left}\" y=\"20\" font-weight=\"bold\">{title}</text>\n<text x=\"{}\" y=\"380\" text-anchor=\"middle\">{x}</text>\n<text x=\"{}\" y=\"190\" text-anchor=\"middle\" transform=\"rotate(-90 {} 190)\">{y}</text>",
            left + SIDE / 2.0,
            left - 24.0,
            left - 24.0
        );
        for tick in [0.0, 0.5, 1.0] {
            let _ = writeln!(
                out,
                "<text x=\"{}\" y=\"364\" text-anchor=\"middle\">{tick}</text><text x=\"{}\" y=\"{}\" text-anchor=\"end\">{tick}</text>",
                left + tick * SIDE,
                left - 4.0,
                354.0 - tick * SIDE
            );
        }
    }
    for (i, row) in rows.iter().enumerate() {
        let colour = PALETTE.get(i % PALETTE.len()).copied().unwrap_or("black");
        let mut line = |points: Vec<(f64, f64)>, left: f64| {
            let points = points
                .iter()
                .map(|(x, y)| format!("{:.1},{:.1}", left + x * SIDE, 350.0 - y * SIDE));
            let points: Vec<String> = points.collect();
            let _ = writeln!(
                out,
                "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"1.5\"/>",
                points.join(" ")
            );
        };
        let start = std::iter::once((0.0, 0.0));
        line(
            start
                .chain(row.segments.points.iter().map(|p| (p[2], p[1])))
                .collect(),
            50.0,
        );
        line(
            row.atoms.points.iter().map(|p| (p[1], p[3])).collect(),
            430.0,
        );
        let y = 46.0 + 18.0 * i as f64;
        let _ = writeln!(
            out,
            "<line x1=\"780\" x2=\"800\" y1=\"{}\" y2=\"{}\" stroke=\"{colour}\" stroke-width=\"2\"/><text x=\"806\" y=\"{y}\">{}</text>",
            y - 4.0,
            y - 4.0,
            row.rule.trim()
        );
    }
    out.push_str("</svg>\n");
    out
}
