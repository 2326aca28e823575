//! YAML by events, so that aliases are names and never expanded.

use saphyr_parser::{Event, Parser, Span};

use super::{Fault, Node, Value};

/// A collection under construction: its names wait for their values.
struct Open {
    start: usize,
    mapping: bool,
    key: Option<String>,
    items: Vec<Node>,
    entries: Vec<(String, Node)>,
}

/// Parses all documents of a text; more than `depth` levels are refused.
pub(super) fn parse(text: &str, depth: usize) -> Result<Vec<Node>, Fault> {
    // Marks count characters.
    let places: Vec<usize> = if text.is_ascii() {
        Vec::new()
    } else {
        text.char_indices()
            .map(|(at, _)| at)
            .chain([text.len()])
            .collect()
    };
    let byte = |index: usize| {
        if places.is_empty() {
            index.min(text.len())
        } else {
            places.get(index).copied().unwrap_or(text.len())
        }
    };
    let mut stack: Vec<Open> = Vec::new();
    let mut roots = Vec::new();
    for event in Parser::new_from_str(text) {
        let (event, span): (Event<'_>, Span) = event.map_err(|error| Fault {
            place: byte(error.marker().index()),
            found: error.info().to_owned(),
            expected: "YAML",
        })?;
        let (start, end) = (byte(span.start.index()), byte(span.end.index()));
        let opened = |mapping| Open {
            start,
            mapping,
            key: None,
            items: Vec::new(),
            entries: Vec::new(),
        };
        match event {
            Event::MappingStart(..) | Event::SequenceStart(..) => {
                if stack.len() >= depth {
                    return Err(Fault {
                        place: start,
                        found: format!("more than {depth} levels"),
                        expected: "a flatter tree",
                    });
                }
                stack.push(opened(matches!(event, Event::MappingStart(..))));
            }
            Event::MappingEnd | Event::SequenceEnd => {
                if let Some(open) = stack.pop() {
                    let last = open
                        .items
                        .last()
                        .map(|node| node.place.end)
                        .into_iter()
                        .chain(open.entries.last().map(|(_, node)| node.place.end))
                        .max();
                    let value = if open.mapping {
                        Value::Object(open.entries)
                    } else {
                        Value::Array(open.items)
                    };
                    put(
                        &mut stack,
                        &mut roots,
                        Node {
                            place: open.start..last.unwrap_or(end).max(open.start),
                            value,
                        },
                    );
                }
            }
            Event::Scalar(value, ..) => put(
                &mut stack,
                &mut roots,
                Node {
                    place: start..end.max(start),
                    value: Value::Scalar(value.into_owned()),
                },
            ),
            Event::Alias(id) => put(
                &mut stack,
                &mut roots,
                Node {
                    place: start..end.max(start),
                    value: Value::Scalar(format!("*{id}")),
                },
            ),
            _ => {}
        }
    }
    Ok(roots)
}

fn put(stack: &mut [Open], roots: &mut Vec<Node>, node: Node) {
    match stack.last_mut() {
        None => roots.push(node),
        Some(open) if !open.mapping => open.items.push(node),
        Some(open) => match open.key.take() {
            Some(key) => open.entries.push((key, node)),
            None => {
                open.key = Some(match node.value {
                    Value::Scalar(text) => text,
                    _ => "?".into(),
                });
            }
        },
    }
}
