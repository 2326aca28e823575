//! GTA: `dataset.json`, an object of tasks with `tools`, `files`, `dialogs` and `gt_answer`, pictures beside it. The dialogue holds the tool chain
//! that was executed when the benchmark was made: its results are what calls are answered with.

use std::path::Path;

use serde_json::{Map, Value, json};

use super::{Answer, BenchTask, Recorded, find, say, shape, string, text};
use crate::error::Error;
use crate::formats;
use crate::trajectory::Part;

pub(super) fn load(folder: &Path) -> Result<Vec<BenchTask>, Error> {
    let path = find(
        folder,
        &["gta_dataset", "data/gta_dataset"],
        &["dataset.json"],
    )?;
    let below = path.parent().and_then(|p| p.strip_prefix(folder).ok());
    let below = below.unwrap_or(Path::new(""));
    let place = path.display().to_string();
    let whole = formats::parse(&text(&path)?).map_err(|e| Error::from(e).in_record(&place))?;
    let Value::Object(items) = &whole else {
        let error = shape("", say(Some(&whole)), "an object of tasks by their number");
        return Err(error.in_record(place));
    };
    items
        .iter()
        .map(|(id, item)| task(id, item, below).map_err(|error| error.in_record(&place)))
        .collect()
}

fn list<'v>(item: &'v Value, name: &str, at: &str) -> Result<&'v Vec<Value>, Error> {
    let found = item.get(name);
    found
        .and_then(Value::as_array)
        .ok_or_else(|| shape(&format!("{at}/{name}"), say(found), "a list"))
}

fn task(id: &str, item: &Value, below: &Path) -> Result<BenchTask, Error> {
    let at = format!("/{id}");
    let dialogs = list(item, "dialogs", &at)?;
    let first = dialogs
        .first()
        .filter(|d| d.get("role").is_some_and(|r| r == "user"));
    let first = first.ok_or_else(|| {
        shape(
            &format!("{at}/dialogs/0"),
            say(dialogs.first()),
            "the user's question",
        )
    })?;
    let mut question = string(first, "content", &format!("{at}/dialogs/0"))?;
    let (mut pictures, mut files) = (Vec::new(), Vec::new());
    for (i, file) in list(item, "files", &at)?.iter().enumerate() {
        let path = string(file, "path", &format!("{at}/files/{i}"))?;
        if file.get("type").is_none_or(|kind| kind == "image") {
            pictures.push(Part::picture_path(below.join(&path).to_string_lossy()));
        }
        files.push(path);
    }
    if !files.is_empty() {
        question = format!("{question}\nFiles: {}", files.join(", "));
    }
    let tools = list(item, "tools", &at)?.iter().enumerate();
    Ok(BenchTask {
        id: id.to_owned(),
        question,
        pictures,
        earlier: Vec::new(),
        answer: answer(item.get("gt_answer"), &format!("{at}/gt_answer"))?,
        tools: tools
            .map(|(i, tool)| schema(tool, &format!("{at}/tools/{i}")))
            .collect::<Result<_, _>>()?,
        recorded: recorded(dialogs, below),
    })
}

/// A tool as chat templates take it: what it is called and what it takes.
fn schema(tool: &Value, at: &str) -> Result<Value, Error> {
    let name = string(tool, "name", at)?;
    let description = tool
        .get("description")
        .and_then(Value::as_str)
        .unwrap_or("");
    let (mut properties, mut required) = (Map::new(), Vec::new());
    let inputs = tool.get("inputs").and_then(Value::as_array);
    for input in inputs.into_iter().flatten() {
        let Some(own) = input.get("name").and_then(Value::as_str) else {
            continue;
        };
        let kind = match input.get("type").and_then(Value::as_str) {
            Some("int") => "integer",
            Some("float") => "number",
            Some("bool") => "boolean",
            _ => "string",
        };
        let about = match input.get("description").and_then(Value::as_str) {
            Some(text) => text.to_owned(),
            None => match input.get("type").and_then(Value::as_str) {
                Some("image") => "the path of a picture".into(),
                _ => String::new(),
            },
        };
        properties.insert(own.into(), json!({"type": kind, "description": about}));
        if input.get("optional").is_none_or(|o| o != true) {
            required.push(json!(own));
        }
    }
    Ok(
        json!({"type": "function", "function": {"name": name, "description": description,
        "parameters": {"type": "object", "properties": properties, "required": required}}}),
    )
}

/// Every call of the dialogue with the message behind it.
fn recorded(dialogs: &[Value], below: &Path) -> Vec<Recorded> {
    let pairs = dialogs.iter().zip(dialogs.iter().skip(1));
    let of = |(turn, answer): (&Value, &Value)| -> Option<Recorded> {
        let call = turn.pointer("/tool_calls/0/function")?;
        let content = answer
            .get("content")
            .filter(|_| answer.get("role").is_some_and(|r| r == "tool"))?;
        let said = content
            .get("content")
            .and_then(Value::as_str)
            .or(content.as_str());
        let said = said.map_or_else(|| content.to_string(), str::to_owned);
        let picture = content.get("type").is_some_and(|kind| kind == "image");
        Some(Recorded {
            name: call.get("name")?.as_str()?.to_owned(),
            arguments: call.get("arguments").cloned().unwrap_or_else(|| json!({})),
            result: vec![match picture {
                true => Part::picture_path(below.join(&said).to_string_lossy()),
                false => Part::text(said),
            }],
        })
    };
    pairs.filter_map(of).collect()
}

fn answer(value: Option<&Value>, at: &str) -> Result<Answer, Error> {
    let phrases = |value: &Value| -> Option<Vec<Vec<String>>> {
        let lists = value.as_array()?.iter().map(|list| {
            let words = list
                .as_array()?
                .iter()
                .map(|w| Some(w.as_str()?.to_owned()));
            words.collect::<Option<Vec<String>>>()
        });
        lists.collect()
    };
    match value {
        None | Some(Value::Null) => Ok(Answer::Ungraded),
        Some(Value::Array(texts)) => {
            let texts: Option<Vec<String>> =
                texts.iter().map(|t| Some(t.as_str()?.to_owned())).collect();
            let texts = texts.ok_or_else(|| shape(at, say(value), "a list of texts"))?;
            Ok(match texts.is_empty() {
                true => Answer::Ungraded,
                false => Answer::Texts(texts),
            })
        }
        Some(Value::Object(fields)) => {
            let of = |name: &str| match fields.get(name) {
                None | Some(Value::Null) => Ok(Vec::new()),
                Some(lists) => phrases(lists).ok_or_else(|| {
                    shape(
                        &format!("{at}/{name}"),
                        say(Some(lists)),
                        "lists of phrases",
                    )
                }),
            };
            let (all, none) = (of("whitelist")?, of("blacklist")?);
            if all.is_empty() {
                return Ok(Answer::Ungraded);
            }
            Ok(Answer::Phrases {
                all,
                none: none.into_iter().flatten().collect(),
            })
        }
        Some(other) => Err(shape(
            at,
            say(Some(other)),
            "whitelist and blacklist, a list of texts, or null",
        )),
    }
}
