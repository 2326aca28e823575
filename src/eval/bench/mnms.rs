//! m&m's: `test_human_verified_filtered.json`, an object a line (or a list of them) with `id`, `user_request`, `plan_str` and `alt_plans_str`, the
//! plans written as Python; pictures that requests name lie in `data`. What is graded is the plan.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde_json::{Map, Value, json};

use super::{Answer, BenchTask, find, say, shape, string, text};
use crate::error::Error;
use crate::formats;
use crate::trajectory::Part;

const FILES: [&str; 2] = [
    "test_human_verified_filtered.json",
    "test_human_verified.json",
];

/// Arguments by the name of their tool.
type Used = BTreeMap<String, BTreeSet<String>>;

pub(super) fn load(folder: &Path) -> Result<Vec<BenchTask>, Error> {
    let path = find(folder, &["data"], &FILES)?;
    let content = text(&path)?;
    let whole = serde_json::from_str::<Value>(&content).ok();
    let items: Vec<(String, Result<Value, Error>)> = match whole {
        Some(Value::Array(items)) => items
            .into_iter()
            .enumerate()
            .map(|(i, item)| (format!("{}, record {i}", path.display()), Ok(item)))
            .collect(),
        _ => content
            .lines()
            .enumerate()
            .filter(|(_, line)| !line.trim().is_empty())
            .map(|(i, line)| {
                let place = format!("{}, line {}", path.display(), i + 1);
                (place, formats::parse(line).map_err(Error::from))
            })
            .collect(),
    };
    let mut used = Used::new();
    let mut out = Vec::with_capacity(items.len());
    for (place, item) in items {
        let task = item.and_then(|item| task(&item, folder, &mut used));
        out.push(task.map_err(|error| error.in_record(place))?);
    }
    // Every task offers every tool that a plan of the file uses.
    let tools: Vec<Value> = used
        .iter()
        .map(|(name, arguments)| schema(name, arguments))
        .collect();
    for task in &mut out {
        task.tools.clone_from(&tools);
    }
    Ok(out)
}

fn task(item: &Value, folder: &Path, used: &mut Used) -> Result<BenchTask, Error> {
    let question = string(item, "user_request", "")?;
    let mut plans = Vec::new();
    for name in ["plan_str", "alt_plans_str"] {
        let Some(value) = item.get(name).filter(|v| !v.is_null()) else {
            continue;
        };
        let pointer = format!("/{name}");
        let wrong = || {
            shape(
                &pointer,
                say(Some(value)),
                "a plan: a list of steps with `name` and `args`",
            )
        };
        let literal = value.as_str().and_then(literal).ok_or_else(wrong)?;
        let lists = match name {
            "plan_str" => vec![literal],
            _ => literal.as_array().cloned().ok_or_else(wrong)?,
        };
        for plan in lists {
            plans.push(steps(&plan, used).ok_or_else(wrong)?);
        }
    }
    if plans.is_empty() {
        return Err(shape("/plan_str", "nothing", "a plan"));
    }
    let named = question.split(|c: char| c.is_whitespace() || "\"'(),;".contains(c));
    let pictures = named
        .map(|word| word.trim_end_matches(['.', '?', '!', ':']))
        .filter(|word| {
            [".jpg", ".jpeg", ".png"]
                .iter()
                .any(|end| word.to_lowercase().ends_with(end))
        })
        .filter_map(|word| {
            let places = ["data", "execution/data", "mnms/execution/data", "."];
            let mut paths = places.iter().map(|place| format!("{place}/{word}"));
            paths.find(|path| folder.join(path).is_file())
        });
    Ok(BenchTask {
        id: match item.get("id") {
            Some(Value::String(id)) => id.clone(),
            Some(id) => id.to_string(),
            None => String::new(),
        },
        pictures: pictures.map(Part::picture_path).collect(),
        question,
        earlier: Vec::new(),
        answer: Answer::Plans(plans),
        tools: Vec::new(),
        recorded: Vec::new(),
    })
}

/// JSON, or the literals that Python's `repr` writes.
fn literal(text: &str) -> Option<Value> {
    if let Ok(value) = serde_json::from_str(text) {
        return Some(value);
    }
    let call = formats::literal_call(&format!("plan(plan={})", text.trim()))?;
    serde_json::from_str::<Value>(&call.arguments_text())
        .ok()?
        .get("plan")
        .cloned()
}

/// Names of a plan's steps, as functions are named.
fn steps(plan: &Value, used: &mut Used) -> Option<Vec<String>> {
    let each = plan.as_array()?.iter().map(|step| {
        let name = step.get("name")?.as_str()?.trim().replace(' ', "_");
        let arguments = used.entry(name.clone()).or_default();
        if let Some(Value::Object(args)) = step.get("args") {
            arguments.extend(args.keys().cloned());
        }
        Some(name)
    });
    each.collect()
}

fn schema(name: &str, arguments: &BTreeSet<String>) -> Value {
    let properties: Map<String, Value> = arguments
        .iter()
        .map(|a| (a.clone(), json!({"type": "string"})))
        .collect();
    json!({"type": "function", "function": {"name": name, "description": name.replace('_', " "),
        "parameters": {"type": "object", "properties": properties}}})
}
