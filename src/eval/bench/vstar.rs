//! V* Bench: `test_questions.jsonl` with `image`, `text`, `category`, `question_id` and `label`, pictures in folders beside it.

use std::path::Path;

use serde_json::Value;

use super::{Answer, BenchTask, find, shape, string, text};
use crate::error::Error;
use crate::formats;
use crate::trajectory::Part;

pub(super) fn load(folder: &Path) -> Result<Vec<BenchTask>, Error> {
    let path = find(folder, &["vstar_bench"], &["test_questions.jsonl"])?;
    // Addresses of pictures count from the file.
    let below = path.parent().and_then(|p| p.strip_prefix(folder).ok());
    let below = below.unwrap_or(Path::new(""));
    let mut out = Vec::new();
    for (number, line) in text(&path)?.lines().enumerate() {
        if line.trim().is_empty() {
            continue;
        }
        let place = format!("{}, line {}", path.display(), number + 1);
        let task = formats::parse(line)
            .map_err(Error::from)
            .and_then(|value| task(&value, below, out.len()));
        out.push(task.map_err(|error| error.in_record(place))?);
    }
    Ok(out)
}

fn task(value: &Value, below: &Path, number: usize) -> Result<BenchTask, Error> {
    let question = string(value, "text", "")?;
    let label = string(value, "label", "")?;
    let options = options(&question);
    let letter = label.trim().trim_matches(['(', ')']).chars().next();
    let letter = letter.map(|c| c.to_ascii_uppercase());
    let last = options.len();
    let letter = letter
        .filter(|c| c.is_ascii_uppercase() && (*c as usize - 'A' as usize) < last)
        .ok_or_else(|| {
            shape(
                "/label",
                format!("`{label}`"),
                "the letter of an option in `text`",
            )
        })?;
    let image = below.join(string(value, "image", "")?);
    let id = match value.get("question_id") {
        Some(Value::String(id)) => id.clone(),
        Some(Value::Number(id)) => id.to_string(),
        _ => number.to_string(),
    };
    let category = value
        .get("category")
        .and_then(Value::as_str)
        .unwrap_or("all");
    Ok(BenchTask {
        id: format!("{category}-{id}"),
        question,
        pictures: vec![Part::picture_path(image.to_string_lossy())],
        earlier: Vec::new(),
        answer: Answer::Choice { letter, options },
        tools: Vec::new(),
        recorded: Vec::new(),
    })
}

/// Lines `(A) ...` of a question, as long as the letters follow one another.
pub(super) fn options(question: &str) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    for line in question.lines() {
        let next = char::from(b'A' + u8::try_from(out.len()).unwrap_or(25));
        let own = line
            .trim()
            .strip_prefix('(')
            .and_then(|rest| rest.strip_prefix(next));
        if let Some(text) = own.and_then(|rest| rest.strip_prefix(')')) {
            out.push(text.trim().to_owned());
        }
    }
    out
}
