//! Benchmarks that are published as Parquet: BLINK's Jigsaw and VisualToolBench.

use std::path::Path;

use serde_json::{Value, json};

use super::rows::{Cell, each, files};
use super::{Answer, BenchTask, Earlier, Recorded, shape};
use crate::error::Error;
use crate::trajectory::Part;

fn text(row: &Cell, name: &str) -> Result<String, Error> {
    let found = row.get(name);
    found.and_then(Cell::text).ok_or_else(|| {
        shape(
            &format!("/{name}"),
            found.map_or("nothing".into(), Cell::say),
            "a string",
        )
    })
}

fn texts(row: &Cell, name: &str) -> Vec<String> {
    let items = row.get(name).map(Cell::items).unwrap_or_default();
    items
        .iter()
        .map(|item| item.text().unwrap_or_default())
        .collect()
}

/// BLINK, Jigsaw: `Jigsaw/val-*.parquet` with `idx`, `prompt`, `choices`, `answer` and `image_1` to `image_4`. Only the validation set has answers.
pub(super) fn jigsaw(folder: &Path) -> Result<Vec<BenchTask>, Error> {
    let mut out = Vec::new();
    for path in files(folder, &["Jigsaw"], &|name| name.starts_with("val"))? {
        each(&path, &mut |_, row| {
            let answer = text(row, "answer")?;
            let options = texts(row, "choices");
            let letter = answer.trim().trim_matches(['(', ')']).chars().next();
            let letter = letter.map(|c| c.to_ascii_uppercase());
            let letter = letter
                .filter(|c| c.is_ascii_uppercase() && (*c as usize - 'A' as usize) < options.len());
            let letter = letter.ok_or_else(|| {
                shape(
                    "/answer",
                    format!("`{answer}`"),
                    "the letter of one of `choices` in brackets",
                )
            })?;
            let pictures = (1..=4).filter_map(|i| row.get(&format!("image_{i}"))?.picture());
            out.push(BenchTask {
                id: text(row, "idx")?,
                question: text(row, "prompt").or_else(|_| text(row, "question"))?,
                pictures: pictures.collect(),
                earlier: Vec::new(),
                answer: Answer::Choice { letter, options },
                tools: Vec::new(),
                recorded: Vec::new(),
            });
            Ok(())
        })?;
    }
    Ok(out)
}

/// VisualToolBench: Parquet files with `id`, `turn_prompts`, `turn_golden_answers`, `turn_tool_trajectories` and `images_by_turn`; the first
/// publication had `prompt`, `golden_answer`, `tool_trajectory` and `images`. Each turn is a task of its own, with the turns before it and the
/// benchmark's own answers as its history.
pub(super) fn visual_tool_bench(folder: &Path) -> Result<Vec<BenchTask>, Error> {
    let mut out = Vec::new();
    for path in files(folder, &["data"], &|_| true)? {
        each(&path, &mut |_, row| turns(row, &mut out))?;
    }
    Ok(out)
}

fn turns(row: &Cell, out: &mut Vec<BenchTask>) -> Result<(), Error> {
    let id = text(row, "id")?;
    let mut prompts = texts(row, "turn_prompts");
    let mut answers = texts(row, "turn_golden_answers");
    let mut calls = texts(row, "turn_tool_trajectories");
    if prompts.is_empty() {
        prompts = vec![text(row, "prompt")?];
        answers = vec![text(row, "golden_answer").unwrap_or_default()];
        calls = vec![text(row, "tool_trajectory").unwrap_or_default()];
    }
    let by_turn = row
        .get("images_by_turn")
        .map(Cell::items)
        .unwrap_or_default();
    let mut earlier = Vec::new();
    for (turn, prompt) in prompts.iter().enumerate() {
        let own = by_turn.get(turn).map(Cell::items).unwrap_or_default();
        let mut pictures: Vec<Part> = own.iter().filter_map(Cell::picture).collect();
        if by_turn.is_empty() && turn == 0 {
            let all = row.get("images").map(Cell::items).unwrap_or_default();
            pictures = all.iter().filter_map(Cell::picture).collect();
        }
        let answer = answers.get(turn).cloned().unwrap_or_default();
        out.push(BenchTask {
            id: match prompts.len() {
                1 => id.clone(),
                _ => format!("{id}#{}", turn + 1),
            },
            question: prompt.clone(),
            pictures: pictures.clone(),
            earlier: earlier.clone(),
            answer: match answer.trim().is_empty() {
                true => Answer::Ungraded,
                false => Answer::Says(answer.clone()),
            },
            tools: Vec::new(),
            recorded: calls
                .get(turn)
                .map(|calls| recorded(calls))
                .unwrap_or_default(),
        });
        earlier.push(Earlier {
            question: prompt.clone(),
            pictures,
            answer,
        });
    }
    Ok(())
}

/// Calls of a trajectory that name their tool and what it brought; other entries are passed over.
fn recorded(text: &str) -> Vec<Recorded> {
    let Ok(Value::Array(entries)) = serde_json::from_str::<Value>(text) else {
        return Vec::new();
    };
    let first =
        |entry: &Value, names: &[&str]| names.iter().find_map(|name| entry.get(*name).cloned());
    let of = |entry: &Value| -> Option<Recorded> {
        let name = first(entry, &["tool_name", "name", "tool"])?
            .as_str()?
            .to_owned();
        let result = first(entry, &["output", "result", "observation", "response"])?;
        Some(Recorded {
            name,
            arguments: first(entry, &["arguments", "args", "input", "parameters"])
                .unwrap_or_else(|| json!({})),
            result: vec![Part::text(
                result
                    .as_str()
                    .map_or_else(|| result.to_string(), str::to_owned),
            )],
        })
    };
    entries.iter().filter_map(of).collect()
}
