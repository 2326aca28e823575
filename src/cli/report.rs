//! What prune says of its work: one JSON object a record for programs, sums for people.

use serde::Serialize;

use crate::plan::Verdict;
use crate::{Pruned, Pruner};

#[derive(Default, Serialize)]
pub(crate) struct Tokens {
    reasoning: usize,
    evidence: usize,
    summary: usize,
    pushed: u64,
    predicted: u64,
}

#[derive(Default, Serialize)]
pub(crate) struct Segments {
    delete: usize,
    evidence: usize,
    keep: usize,
    frozen: usize,
    invisible: usize,
}

#[derive(Default, Serialize)]
pub(crate) struct Atoms {
    only_in_reasoning: usize,
    lost: Vec<String>,
}

/// One record's line of `--json`.
#[derive(Default, Serialize)]
pub(crate) struct Report {
    schema: u32,
    record: usize,
    events: usize,
    tokens: Tokens,
    segments: Segments,
    atoms: Atoms,
    /// What was mended, where something was.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub mends: Vec<String>,
    /// Why the record was carried through unread, where it was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    seconds: f64,
}

/// Sums over the file, for people.
#[derive(Default)]
pub(crate) struct Totals {
    pub runs: usize,
    events: usize,
    /// Tokens of reasoning that was decided on.
    reasoning: usize,
    /// Of it, tokens of text that was replaced.
    replaced: usize,
    /// Tokens that replaced it.
    written: usize,
    /// Tokens of reasoning behind the last event of a run, which nothing decided on.
    later: usize,
    notes: Vec<(String, usize)>,
    lost: usize,
    /// Tokens that went through the model.
    pushed: u64,
    /// Seconds spent on runs, loading left out.
    seconds: f64,
}

pub(crate) fn report(record: usize, pruned: &Pruned, seconds: f64) -> Report {
    let mut report = Report {
        schema: 1,
        record,
        events: pruned.events.len(),
        seconds,
        ..Report::default()
    };
    for event in &pruned.events {
        report.tokens.reasoning += event.plan.reasoning_tokens();
        report.tokens.evidence += event.plan.evidence_tokens;
        report.tokens.summary += event.plan.summary_tokens;
        report.tokens.pushed += event.scores.pushed;
        report.tokens.predicted += event.scores.predicted;
        report.atoms.only_in_reasoning += event.plan.survival.only_in_reasoning;
        report
            .atoms
            .lost
            .extend(event.plan.survival.lost.iter().cloned());
        for segment in &event.plan.segments {
            *match segment.verdict {
                Verdict::Delete => &mut report.segments.delete,
                Verdict::Evidence => &mut report.segments.evidence,
                Verdict::Keep => &mut report.segments.keep,
                Verdict::Frozen => &mut report.segments.frozen,
                Verdict::Invisible => &mut report.segments.invisible,
            } += 1;
        }
    }
    report
}

impl Report {
    /// Of a record that could not be read.
    pub fn unread(record: usize, error: String) -> Self {
        Self {
            schema: 1,
            record,
            error: Some(error),
            ..Self::default()
        }
    }
}

impl Totals {
    /// Counts one record.
    pub fn add(&mut self, report: &Report, pruned: &Pruned, pruner: &Pruner) {
        self.runs += 1;
        self.events += report.events;
        self.lost += report.atoms.lost.len();
        self.pushed += report.tokens.pushed;
        self.seconds += report.seconds;
        self.written += report.tokens.evidence + report.tokens.summary;
        for segment in pruned.events.iter().flat_map(|e| &e.plan.segments) {
            self.reasoning += segment.tokens;
            self.replaced += if segment.text.is_some() {
                segment.tokens
            } else {
                0
            };
        }
        let decided: Vec<usize> = pruned
            .events
            .iter()
            .flat_map(|e| e.event.candidates.iter().copied())
            .collect();
        let later = pruned
            .segments
            .iter()
            .filter(|s| !decided.contains(&s.index));
        self.later += later.map(|s| pruner.engine().count(&s.text)).sum::<usize>();
        if pruned.segments.is_empty() && pruned.events.is_empty() {
            self.note("has no reasoning: unchanged");
        } else if pruned.events.is_empty() {
            self.note("has no summary call: unchanged (give --summary to prune it)");
        }
        for event in &pruned.events {
            if let Some(why) = &event.skipped {
                self.note(&format!("event left as it is: {why}"));
            }
        }
    }

    /// Counts something that is said once, with how often it happened.
    pub fn note(&mut self, text: &str) {
        match self.notes.iter_mut().find(|(known, _)| known == text) {
            Some((_, count)) => *count += 1,
            None => self.notes.push((text.to_owned(), 1)),
        }
    }

    /// The sums in words.
    pub fn words(&self) -> String {
        let went = self.replaced as i64 - self.written as i64;
        let percent = |part: i64, whole: usize| {
            if whole == 0 {
                0.0
            } else {
                100.0 * part as f64 / whole as f64
            }
        };
        let kept = self.reasoning - self.replaced;
        let mut out = format!("{} runs, {} events\n", self.runs, self.events);
        out.push_str(&format!(
            "reasoning before the events: {} tokens; {went} went ({:.1} %), {} stayed ({kept} as they were, {} as evidence)\n",
            self.reasoning,
            percent(went, self.reasoning),
            self.reasoning as i64 - went,
            self.written,
        ));
        if self.pushed > 0 {
            out.push_str(&format!(
                "{} tokens through the model in {:.1} s, {:.1} runs/s\n",
                self.pushed,
                self.seconds,
                self.runs as f64 / self.seconds.max(1e-9)
            ));
        }
        if self.later > 0 {
            let whole = self.reasoning + self.later;
            out.push_str(&format!(
                "reasoning of whole runs: {whole} tokens; {:.1} % went\n",
                percent(went, whole)
            ));
        }
        if self.lost > 0 {
            out.push_str(&format!(
                "{} values stand nowhere any more; the receipt names them\n",
                self.lost
            ));
        }
        for (note, count) in &self.notes {
            out.push_str(&format!("{count} x {note}\n"));
        }
        out
    }
}
