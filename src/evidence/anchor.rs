//! Where was a value read? Answers of `spare read` in the history name the bytes of every statement that they show; a line of evidence whose values stand in one of them takes over its anchor.

use serde_json::Value;

use super::{Evidence, Line};
use crate::trajectory::{Part, Role, Trajectory, atoms, occurs};

/// A statement that an answer showed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Anchored {
    /// The message that showed it.
    pub message: usize,
    /// `PATH:LINES@BYTES#CONTENT`, and what the answer says behind it.
    pub anchor: String,
    /// What it says.
    pub text: String,
}

/// How deep answers lie within other JSON, and JSON within strings.
const DEEPEST: usize = 12;

/// Statements with anchors in the results of tools before message `end`.
#[must_use]
pub fn anchored(run: &Trajectory, end: usize) -> Vec<Anchored> {
    let mut out = Vec::new();
    for (message, said) in run.messages.iter().enumerate().take(end) {
        if said.role != Role::Tool {
            continue;
        }
        for part in &said.parts {
            let mut take = |anchor: &str, text: &str| {
                out.push(Anchored {
                    message,
                    anchor: anchor.to_owned(),
                    text: text.to_owned(),
                });
            };
            match part {
                Part::Text(text) => in_text(&text.text, 0, &mut take),
                Part::Other(value) => in_json(value, 0, &mut take),
                Part::Picture(_) => {}
            }
        }
    }
    out
}

/// The anchors of the statements that one result of a tool shows, each once.
#[must_use]
pub fn anchors(result: &str) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    in_text(result, 0, &mut |anchor, _| {
        if out.iter().all(|known| known != anchor) {
            out.push(anchor.to_owned());
        }
    });
    out
}

/// Gives every line whose values all stand in one statement the anchor of the newest such statement before message `before`.
pub fn fill(evidence: &mut Evidence, known: &[Anchored], before: usize) {
    if known.is_empty() {
        return;
    }
    for line in &mut evidence.lines {
        line.anchor = of(line, known, before);
    }
}

fn of(line: &Line, known: &[Anchored], before: usize) -> Option<String> {
    let atoms = atoms(&line.text);
    let values: Vec<&str> = atoms.iter().map(|atom| atom.text(&line.text)).collect();
    if values.is_empty() {
        return None;
    }
    let says = |statement: &&Anchored| {
        statement.message < before && values.iter().all(|value| occurs(&statement.text, value))
    };
    let newest = known.iter().rev().find(says)?;
    Some(newest.anchor.clone())
}

/// An answer is JSON, or what the program prints for people.
fn in_text(text: &str, depth: usize, take: &mut dyn FnMut(&str, &str)) {
    let trimmed = text.trim_start();
    if depth < DEEPEST
        && trimmed.starts_with(['{', '['])
        && let Ok(value) = serde_json::from_str::<Value>(trimmed)
    {
        in_json(&value, depth + 1, take);
        return;
    }
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        let Some(anchor) = anchor_of(line) else {
            continue;
        };
        let mut shown = String::new();
        while let Some(more) = lines.next_if(|more| more.starts_with("    ")) {
            shown.push_str(more.trim_start());
            shown.push('\n');
        }
        if !shown.is_empty() {
            take(anchor, shown.trim_end());
        }
    }
}

fn in_json(value: &Value, depth: usize, take: &mut dyn FnMut(&str, &str)) {
    if depth > DEEPEST {
        return;
    }
    match value {
        Value::Object(fields) => {
            let text = |name: &str| fields.get(name).and_then(Value::as_str);
            if let (Some(anchor), Some(said)) = (
                text("anchor").and_then(anchor_of),
                text("text").or_else(|| text("untrusted_text")),
            ) {
                take(anchor, said);
                return;
            }
            fields
                .values()
                .for_each(|value| in_json(value, depth + 1, take));
        }
        Value::Array(values) => values
            .iter()
            .for_each(|value| in_json(value, depth + 1, take)),
        Value::String(inner) if inner.contains("anchor") => in_text(inner, depth + 1, take),
        _ => {}
    }
}

/// The anchor that a line holds alone, without the context in brackets behind it.
fn anchor_of(line: &str) -> Option<&str> {
    let line = line.trim();
    let line = line.split_once("  [").map_or(line, |(anchor, _)| anchor);
    let hash = line.match_indices('#').map(|(at, _)| at).find(|at| {
        let digits = line.get(at + 1..at + 17).unwrap_or_default();
        digits.len() == 16
            && digits.bytes().all(|digit| digit.is_ascii_hexdigit())
            && matches!(line.as_bytes().get(at + 17), None | Some(b' '))
    })?;
    let (place, bytes) = line.get(..hash)?.rsplit_once('@')?;
    let (path, lines) = place.rsplit_once(':')?;
    let range = |text: &str| {
        text.split('-').count() <= 2
            && text
                .split('-')
                .all(|part| !part.is_empty() && part.bytes().all(|digit| digit.is_ascii_digit()))
    };
    (!path.is_empty() && range(lines) && range(bytes)).then_some(line)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trajectory::Message;

    const ANCHOR: &str = "notes.md:4001@126000-126033#785875dc2d3e40ca";

    fn found(observation: &str) -> Vec<(String, String)> {
        let mut run = Trajectory::new(Vec::new());
        run.push(Message::tool("c1", vec![Part::text(observation)]));
        let all = anchored(&run, 1).into_iter();
        all.map(|one| (one.anchor, one.text)).collect()
    }

    #[test]
    fn answers_are_found_as_json_within_json_and_as_printed() {
        let said = "The gauge of the Harbour is 4711.";
        let one = vec![(ANCHOR.to_owned(), said.to_owned())];
        let pack = serde_json::json!({"untrusted_spans": [{"anchor": ANCHOR, "text": said}]});
        assert_eq!(found(&pack.to_string()), one);
        let wrapped = serde_json::json!({"content": [{"type": "text", "text": pack.to_string()}]});
        assert_eq!(found(&wrapped.to_string()), one);
        let printed = format!(
            "gate: force\n\nn1: supported\n  {ANCHOR}  [Sites]\n    {said}\n\nsearched 9 bytes"
        );
        assert_eq!(found(&printed), one);
    }

    #[test]
    fn what_only_looks_like_an_anchor_is_none() {
        for line in [
            "see notes.md:4001 for more\n    4711",
            "a@b#785875dc2d3e40ca\n    4711",
            "notes.md:1@2#785875dc2d3e40c\n    4711",
            "notes.md:x@1-2#785875dc2d3e40ca\n    4711",
            "{\"anchor\": \"top\", \"text\": \"4711\"}",
        ] {
            assert_eq!(found(line), [], "{line}");
        }
    }

    #[test]
    fn a_line_takes_the_newest_statement_with_all_of_its_values() {
        let statement = |message, anchor: &str, text: &str| Anchored {
            message,
            anchor: anchor.to_owned(),
            text: text.to_owned(),
        };
        let known = [
            statement(2, "a", "The gauge of the Harbour is 4711."),
            statement(4, "b", "Harbour: gauge 4711, height 12"),
            statement(6, "c", "4711"),
        ];
        let anchor = |text: &str, before| {
            let mut evidence = Evidence::from_text(text);
            fill(&mut evidence, &known, before);
            evidence.lines.first().and_then(|line| line.anchor.clone())
        };
        assert_eq!(anchor("Number: the gauge is 4711", 5).as_deref(), Some("b"));
        assert_eq!(anchor("Number: the gauge is 4711", 3).as_deref(), Some("a"));
        assert_eq!(anchor("Number: 4711 and 12", 9).as_deref(), Some("b"));
        assert_eq!(anchor("Number: the gauge is 471", 9), None);
        assert_eq!(anchor("no value at all", 9), None);
    }
}
