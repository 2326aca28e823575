//! How does evidence announce itself, and how is it known again?
//!
//! A reader that meets the mark treats the event as decided, so pruning pruned output changes nothing. The first
//! line must be the mark and nothing else: prose that begins `Evidence: the sign ...` is reasoning.

use std::borrow::Cow;

use super::{BoxSpace, Evidence, check, space};

/// First line of evidence.
pub const HEADER: &str = "Evidence:";

/// Begins the line that carries a summary which no message of the run holds.
pub const TASK_STATE: &str = "Task state: ";

/// What the first line of evidence says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Mark {
    /// Pruned steps and all steps of the event; only the last edited turn of an event says it.
    pub pruned: Option<(usize, usize)>,
}

/// The first line of the last edited turn of an event: `n` of its `m` steps were pruned.
#[must_use]
pub fn mark(n: usize, m: usize) -> String {
    format!("Evidence ({n} of {m} steps pruned):")
}

/// The mark, if the first line of `text` is exactly one (whitespace around it does not matter: formats trim it).
#[must_use]
pub fn is_evidence(text: &str) -> Option<Mark> {
    let line = text.trim_start().split('\n').next()?.trim_end();
    if line == HEADER {
        return Some(Mark { pruned: None });
    }
    let counts = line
        .strip_prefix("Evidence (")?
        .strip_suffix(" steps pruned):")?;
    let (n, m) = counts.split_once(" of ")?;
    let (n, m) = (n.parse().ok()?, m.parse().ok()?);
    // `+1` and `01` parse too, but are not what `mark` writes
    (mark(n, m) == line).then_some(Mark {
        pruned: Some((n, m)),
    })
}

/// The text that stands where the segment stood: mark, summary if given (at the head, so that a cut loses it last),
/// lines. No line break at the end.
#[must_use]
pub fn render(evidence: &Evidence, at: Mark, task_state: Option<&str>) -> String {
    let mut out = at
        .pruned
        .map_or_else(|| HEADER.to_owned(), |(n, m)| mark(n, m));
    let state = task_state.map(|s| format!("{TASK_STATE}{}", s.trim()));
    for line in state
        .iter()
        .map(String::as_str)
        .chain(evidence.lines.iter().map(|l| l.text.as_str()))
    {
        out.push('\n');
        out.push_str(line);
    }
    out
}

/// What a text of the history says by itself: of evidence without its mark, its labels and the notes behind boxes (those of
/// `space`), so that the `2` of `2 of 3 steps pruned` is no value that survived. Any other text as it is.
pub(crate) fn own_words<'t>(text: &'t str, space: Option<&BoxSpace>) -> Cow<'t, str> {
    if is_evidence(text).is_none() {
        return Cow::Borrowed(text);
    }
    let note = space::note(space);
    let mut lines = text.trim_start().split('\n').skip(1).peekable();
    let mut out = String::with_capacity(text.len());
    if let Some(state) = lines.peek().and_then(|line| line.strip_prefix(TASK_STATE)) {
        out.push_str(state);
        lines.next();
    }
    for line in lines {
        out.push('\n');
        out.push_str(check::variable(line, &note));
    }
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;

    #[test]
    fn only_the_exact_first_line_is_a_mark() {
        for text in [
            "Evidence:",
            "Evidence:\nText: 'a'",
            "\nEvidence:\r\nx",
            "Evidence (0 of 0 steps pruned):",
        ] {
            assert!(is_evidence(text).is_some(), "{text:?}");
        }
        for text in [
            "",
            "Evidence",
            "evidence:",
            "Evidence: the sign",
            "Evidence:the",
            "x\nEvidence:",
            "**Evidence:**",
            "Evidence (1 of 2 steps pruned): x",
            "Evidence (+1 of 2 steps pruned):",
            "Evidence (01 of 2 steps pruned):",
            "Evidence (-1 of 2 steps pruned):",
            "Evidence ( of  steps pruned):",
            "Evidence (1 of 2 steps pruned)",
            "Evidence (99999999999999999999999 of 1 steps pruned):",
        ] {
            assert_eq!(is_evidence(text), None, "{text:?}");
        }
    }
}
