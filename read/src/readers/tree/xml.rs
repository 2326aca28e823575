//! XML by events; entities are not expanded, nothing is loaded.

use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};

use super::{Fault, Node, Value};

struct Open {
    name: String,
    start: usize,
    inner: usize,
    text: String,
    text_place: Option<std::ops::Range<usize>>,
    entries: Vec<(String, Node)>,
}

/// Parses one document; more than `depth` levels are refused.
pub(super) fn parse(text: &str, depth: usize) -> Result<Node, Fault> {
    let mut reader = Reader::from_str(text);
    let mut stack: Vec<Open> = vec![Open {
        name: String::new(),
        start: 0,
        inner: 0,
        text: String::new(),
        text_place: None,
        entries: Vec::new(),
    }];
    loop {
        let start = reader.buffer_position() as usize;
        let event = reader.read_event().map_err(|error| Fault {
            place: reader.error_position() as usize,
            found: error.to_string(),
            expected: "XML",
        })?;
        let end = reader.buffer_position() as usize;
        match event {
            Event::Start(tag) => {
                if stack.len() > depth {
                    return Err(Fault {
                        place: start,
                        found: format!("more than {depth} levels"),
                        expected: "a flatter tree",
                    });
                }
                stack.push(open(&tag, start, end));
            }
            Event::Empty(tag) => {
                let done = open(&tag, start, end);
                close(&mut stack, done, end);
            }
            Event::End(_) => {
                if let Some(done) = (stack.len() > 1).then(|| stack.pop()).flatten() {
                    close(&mut stack, done, end);
                }
            }
            Event::Text(_) | Event::CData(_) | Event::GeneralRef(_) => {
                let raw = text.get(start..end).unwrap_or_default();
                if let Some(open) = stack.last_mut().filter(|_| !raw.trim().is_empty()) {
                    let lead = raw.len() - raw.trim_start().len();
                    let from = open
                        .text_place
                        .as_ref()
                        .map_or(start + lead, |place| place.start);
                    open.text_place = Some(from..start + raw.trim_end().len());
                    let raw = raw
                        .strip_prefix("<![CDATA[")
                        .and_then(|raw| raw.strip_suffix("]]>"))
                        .unwrap_or(raw);
                    open.text.push_str(raw);
                }
            }
            Event::Eof => break,
            _ => {}
        }
    }
    if stack.len() > 1 {
        let name = stack.pop().map(|open| open.name).unwrap_or_default();
        return Err(Fault {
            place: text.len(),
            found: format!("the end inside <{name}>"),
            expected: "its end tag",
        });
    }
    let entries = stack.pop().map(|root| root.entries).unwrap_or_default();
    if entries.is_empty() {
        return Err(Fault {
            place: 0,
            found: "no element".into(),
            expected: "XML",
        });
    }
    Ok(Node {
        place: 0..text.len(),
        value: Value::Object(entries),
    })
}

fn open(tag: &BytesStart<'_>, start: usize, end: usize) -> Open {
    let name = tag.name().as_ref().to_owned();
    let attribute = |attribute: quick_xml::events::attributes::Attribute<'_>| {
        let name = attribute.key.as_ref().to_owned();
        (
            name,
            Node {
                place: start..end,
                value: Value::Scalar(attribute.value.clone().into_owned()),
            },
        )
    };
    let entries = tag
        .attributes()
        .filter_map(Result::ok)
        .map(attribute)
        .collect();
    Open {
        name,
        start,
        inner: end,
        text: String::new(),
        text_place: None,
        entries,
    }
}

/// An element of text alone is a scalar; others are objects, their text under `#text`.
fn close(stack: &mut [Open], mut done: Open, end: usize) {
    let text = done.text.trim().to_owned();
    let place = done.text_place.take().unwrap_or(done.inner..done.inner);
    let value = if done.entries.is_empty() {
        Value::Scalar(text)
    } else {
        if !text.is_empty() {
            done.entries.push((
                "#text".into(),
                Node {
                    place,
                    value: Value::Scalar(text),
                },
            ));
        }
        Value::Object(done.entries)
    };
    if let Some(parent) = stack.last_mut() {
        parent.entries.push((
            done.name,
            Node {
                place: done.start..end,
                value,
            },
        ));
    }
}
