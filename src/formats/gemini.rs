//! Google Gemini: `contents` of `parts`, in camelCase or snake_case, as a request body or a bare list.
//! Reasoning is text of parts with `thought: true`; a signature stays on the part that carries it.

use std::collections::HashSet;

use serde_json::{Value, json};

use super::openai_chat::{keys, shape, text_part};
use super::picture::picture_part;
use super::turns::{Turns, empty};
use super::{Edit, FormatError, WireFormat};
use crate::trajectory::{
    Message, Part, Picture, PictureSource, Place, Reasoning, Role, Segment, SegmentKind, ToolCall,
    Trajectory,
};

/// Gemini contents.
pub struct Gemini;

const EXPECTED: &str =
    "a Gemini run: an object with `contents`, or an array of contents with `parts`";

impl WireFormat for Gemini {
    fn name(&self) -> &'static str {
        "gemini"
    }

    fn providers(&self) -> &[&'static str] {
        &["gemini"]
    }

    fn detect(&self, root: &Value) -> bool {
        // Other formats with `parts` give each part a `type`, and call the model assistant.
        let plain = |content: &Value| {
            let parts = content.get("parts").and_then(Value::as_array);
            let role = content.get("role").map_or(Some("user"), Value::as_str);
            parts.is_some_and(|p| p.iter().all(|p| p.is_object() && p.get("type").is_none()))
                && role.is_some_and(|r| ["user", "model", "function", "tool"].contains(&r))
        };
        list(root).is_some_and(|(at, contents)| {
            let mut contents = contents.iter();
            match at {
                "" => contents.len() > 0 && contents.all(plain),
                _ => contents.any(plain),
            }
        })
    }

    fn read(&self, root: &Value) -> Result<Trajectory, FormatError> {
        let Some((pointer, contents)) = list(root) else {
            return Err(match root.get("contents") {
                Some(other) => shape("/contents", other, "an array of contents"),
                None => shape("", root, EXPECTED),
            });
        };
        if contents.is_empty() {
            let pointer = pointer.into();
            return Err(FormatError::Empty { pointer });
        }
        let mut run = Trajectory {
            id: root.get("id").and_then(Value::as_str).map(str::to_owned),
            tools: tools(root.get("tools"))?,
            messages: Vec::new(),
        };
        for key in ["systemInstruction", "system_instruction"] {
            match root.get(key) {
                None | Some(Value::Null) => {}
                Some(Value::String(text)) => {
                    let mut message = empty(Role::System);
                    message.parts.push(text_part(text, format!("/{key}")));
                    run.messages.push(message);
                }
                Some(value) => {
                    run.messages
                        .extend(content(value, Role::System, &format!("/{key}"))?)
                }
            }
        }
        let (mut ids, mut names) = (HashSet::new(), HashSet::new());
        for (index, value) in contents.iter().enumerate() {
            let at = format!("{pointer}/{index}");
            let role = role(value, &at)?;
            for (part, answer) in parts(value).iter().enumerate() {
                let Some((_, answer)) = field(answer, RESPONSE) else {
                    continue;
                };
                let id = id(answer);
                let known = match &id {
                    Some(id) => ids.contains(id),
                    None => name(answer).is_some_and(|name| names.contains(name)),
                };
                if !known {
                    let id = id
                        .or_else(|| name(answer).map(str::to_owned))
                        .unwrap_or_else(|| "(no id)".into());
                    let pointer = format!("{at}/parts/{part}");
                    return Err(FormatError::ResultWithoutCall { pointer, id });
                }
            }
            let messages = content(value, role, &at)?;
            for call in messages.iter().flat_map(|m| &m.calls) {
                ids.extend(call.id.clone());
                names.insert(call.name.clone());
            }
            run.messages.extend(messages);
        }
        Ok(run)
    }

    fn edits(&self, segment: &Segment, text: &str) -> Vec<Edit> {
        let edit = |place: &Place| match place.pointer.strip_suffix("/text") {
            // A part without text is no part: it goes.
            Some(part) if text.is_empty() && segment.kind == SegmentKind::Field => Edit::Remove {
                pointer: part.to_owned(),
            },
            _ => Edit::Text {
                place: place.clone(),
                text: text.to_owned(),
            },
        };
        segment.places.iter().map(edit).collect()
    }
}

/// Both spellings of a field.
pub(crate) type Spelled = [&'static str; 2];
pub(crate) const CALL: Spelled = ["functionCall", "function_call"];
pub(crate) const RESPONSE: Spelled = ["functionResponse", "function_response"];
pub(crate) const SIGNATURE: Spelled = ["thoughtSignature", "thought_signature"];
pub(crate) const INLINE: Spelled = ["inlineData", "inline_data"];
pub(crate) const FILE: Spelled = ["fileData", "file_data"];

/// A field in the spelling that it has; null counts as missing, as saved dumps write it.
pub(crate) fn field(value: &Value, names: Spelled) -> Option<(&'static str, &Value)> {
    let present = |name: &'static str| value.get(name).filter(|v| !v.is_null()).map(|v| (name, v));
    names.into_iter().find_map(present)
}

pub(crate) fn is_thought(part: &Value) -> bool {
    part.get("thought").and_then(Value::as_bool) == Some(true)
}

pub(crate) fn id(call: &Value) -> Option<String> {
    call.get("id").and_then(Value::as_str).map(str::to_owned)
}

pub(crate) fn name(call: &Value) -> Option<&str> {
    call.get("name").and_then(Value::as_str)
}

/// Where the list of contents stands, and the list.
pub(crate) fn list(root: &Value) -> Option<(&'static str, &Vec<Value>)> {
    match root {
        Value::Array(contents) => Some(("", contents)),
        _ => Some(("/contents", root.get("contents")?.as_array()?)),
    }
}

/// Parts of a content; none where it has another shape.
pub(crate) fn parts(content: &Value) -> &[Value] {
    content
        .get("parts")
        .and_then(Value::as_array)
        .map_or(&[], Vec::as_slice)
}

fn tools(value: Option<&Value>) -> Result<Vec<Value>, FormatError> {
    let tools = match value {
        None | Some(Value::Null) => return Ok(Vec::new()),
        Some(Value::Array(tools)) => tools,
        Some(other) => return Err(shape("/tools", other, "an array of tools")),
    };
    let mut out = Vec::new();
    for tool in tools {
        let declared = field(tool, ["functionDeclarations", "function_declarations"]);
        let Some(functions) = declared.and_then(|(_, f)| f.as_array()) else {
            out.push(tool.clone());
            continue;
        };
        for function in functions {
            let schema = ["parametersJsonSchema", "parameters_json_schema"];
            let parameters =
                field(function, ["parameters", "parameters"]).or(field(function, schema));
            let parameters = parameters.map_or(json!({}), |(_, p)| p.clone());
            let description = function.get("description").cloned().unwrap_or("".into());
            out.push(json!({"type": "function", "function":
                {"name": function.get("name"), "description": description, "parameters": parameters}}));
        }
    }
    Ok(out)
}

fn role(value: &Value, at: &str) -> Result<Role, FormatError> {
    match value.get("role") {
        None | Some(Value::Null) => Ok(Role::User),
        Some(role) => match role.as_str() {
            Some("user" | "function" | "tool") => Ok(Role::User),
            Some("model") => Ok(Role::Assistant),
            Some("system") => Ok(Role::System),
            _ => Err(shape(&format!("{at}/role"), role, "user or model")),
        },
    }
}

/// One content: responses become messages of their own, in order.
fn content(value: &Value, role: Role, at: &str) -> Result<Vec<Message>, FormatError> {
    let parts = match value.get("parts") {
        Some(Value::Array(parts)) => parts,
        Some(other) => return Err(shape(&format!("{at}/parts"), other, "an array of parts")),
        None => {
            return Err(FormatError::Shape {
                pointer: at.into(),
                found: format!("a value without `parts`{}", keys(value)),
                expected: "a content: an object with `role` and `parts`".into(),
            });
        }
    };
    let keeps = parts.iter().any(stays);
    let mut out = Turns::of(role);
    for (index, value) in parts.iter().enumerate() {
        let at = format!("{at}/parts/{index}");
        if !value.is_object() {
            return Err(shape(&at, value, "a part: an object"));
        }
        if let Some((key, response)) = field(value, RESPONSE) {
            out.result(answer(response, &format!("{at}/{key}"))?);
        } else if let Some((key, call)) = field(value, CALL) {
            out.open()
                .calls
                .push(function_call(call, &format!("{at}/{key}"))?);
        } else if let (true, Some(Value::String(text))) = (is_thought(value), value.get("text")) {
            out.open().reasoning.push(Reasoning {
                text: text.clone(),
                places: vec![Place {
                    pointer: format!("{at}/text"),
                    range: 0..text.len(),
                }],
                frozen: None,
                may_be_empty: keeps,
            });
        } else {
            out.open().parts.push(part(value, &at)?);
        }
    }
    Ok(out.finish())
}

/// Whether a part keeps its content from being empty when all thoughts leave.
pub(crate) fn stays(part: &Value) -> bool {
    let text = part.get("text").filter(|t| !t.is_null());
    !is_thought(part) && text.is_none_or(|t| t.as_str().is_some_and(|t| !t.trim().is_empty()))
}

fn function_call(call: &Value, at: &str) -> Result<ToolCall, FormatError> {
    let Some(name) = name(call) else {
        return Err(shape(at, call, "a call with a string `name`"));
    };
    let arguments = match call.get("args") {
        Some(args @ (Value::Object(_) | Value::String(_))) => args.clone(),
        None | Some(Value::Null) => json!({}),
        Some(other) => return Err(shape(&format!("{at}/args"), other, "an object")),
    };
    Ok(ToolCall {
        id: id(call),
        name: name.to_owned(),
        arguments,
    })
}

/// The text of a response is its one string, or its JSON where it holds more.
fn answer(response: &Value, at: &str) -> Result<Message, FormatError> {
    let mut message = empty(Role::Tool);
    message.answers = id(response);
    match response.get("response") {
        None | Some(Value::Null) => {}
        Some(value) => {
            let fields = value.as_object();
            let only = fields
                .filter(|f| f.len() == 1)
                .and_then(|f| f.iter().next());
            match only {
                Some((key, Value::String(text))) => {
                    let key = key.replace('~', "~0").replace('/', "~1");
                    message
                        .parts
                        .push(text_part(text, format!("{at}/response/{key}")));
                }
                _ => message.parts.push(Part::text(value.to_string())),
            }
        }
    }
    if let Some(values) = response.get("parts").and_then(Value::as_array) {
        for (index, value) in values.iter().enumerate() {
            message
                .parts
                .push(part(value, &format!("{at}/parts/{index}"))?);
        }
    }
    message.content_is_list = message.parts.len() > 1 || message.pictures().next().is_some();
    Ok(message)
}

fn part(value: &Value, at: &str) -> Result<Part, FormatError> {
    match value.get("text") {
        Some(Value::String(text)) => return Ok(text_part(text, format!("{at}/text"))),
        None | Some(Value::Null) => {}
        Some(other) => return Err(shape(&format!("{at}/text"), other, "a string")),
    }
    let mime = |blob: &Value| {
        let mime = field(blob, ["mimeType", "mime_type"]).and_then(|(_, m)| m.as_str());
        mime.unwrap_or_default().to_owned()
    };
    if let Some((key, blob)) = field(value, INLINE).filter(|(_, b)| mime(b).starts_with("image/")) {
        let Some(data) = blob.get("data").and_then(Value::as_str) else {
            return Err(shape(
                &format!("{at}/{key}"),
                blob,
                "a blob with a string `data`",
            ));
        };
        let source =
            PictureSource::DataUri(format!("data:{};base64,{}", mime(blob), standard(data)));
        let pointer = format!("{at}/{key}/data");
        return Ok(Part::Picture(Picture { source, pointer }));
    }
    if let Some((key, file)) = field(value, FILE).filter(|(_, f)| mime(f).starts_with("image/")) {
        let Some((uri_key, Value::String(uri))) = field(file, ["fileUri", "file_uri"]) else {
            return Err(shape(
                &format!("{at}/{key}"),
                file,
                "a file with a string `fileUri`",
            ));
        };
        return Ok(picture_part(uri, format!("{at}/{key}/{uri_key}")));
    }
    Ok(Part::Other(value.clone()))
}

/// Python dumps of this format write base64 with the letters of URLs.
fn standard(data: &str) -> String {
    data.replace('-', "+").replace('_', "/")
}
