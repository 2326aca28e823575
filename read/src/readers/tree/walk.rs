//! Which values of a tree are units, and what do they inherit? A record (an element of a list, one of several like objects) is one unit of its scalars; elsewhere every scalar is one. Both inherit the names on their way down and the scalars of the records around them.

use std::ops::Range;

use super::{Node, Value, escaped};
use crate::collect::{Collector, Piece};
use crate::encoding::Decoded;
use crate::query::Mask;
use crate::readers::text::shortened;

/// Scalars of a record that are shown.
const SHOWN: usize = 480;
/// Scalars of an object that describe what lies below it.
const DESCRIBING: usize = 12;

/// Where a tree stands in its file.
#[derive(Clone)]
pub(super) struct Place<'a> {
    /// The text and its bytes.
    pub decoded: &'a Decoded<'a>,
    /// The byte at which the text begins.
    pub offset: u64,
    /// The line at which the tree begins; for a tree that begins with the text, 1.
    pub line: u64,
    /// Before every pointer.
    pub prefix: String,
}

/// What a node inherits.
#[derive(Clone)]
struct Around {
    pointer: String,
    mask: Mask,
    /// The innermost record, in words.
    record: String,
}

/// Offers all units of a tree; `record` says that the root is a record itself.
pub(super) fn root(node: &Node, place: &Place<'_>, record: bool, sink: &mut Collector<'_>) {
    let around = Around {
        pointer: String::new(),
        mask: 0,
        record: String::new(),
    };
    visit(node, place, &around, record, sink);
}

fn scalar(node: &Node) -> Option<String> {
    match &node.value {
        Value::Scalar(text) => Some(text.clone()),
        Value::Array(items)
            if !items.is_empty()
                && items.len() <= 8
                && items
                    .iter()
                    .all(|item| matches!(&item.value, Value::Scalar(text) if text.len() < 200)) =>
        {
            let texts = items.iter().filter_map(|item| {
                if let Value::Scalar(text) = &item.value {
                    Some(text.as_str())
                } else {
                    None
                }
            });
            Some(texts.collect::<Vec<_>>().join(", "))
        }
        _ => None,
    }
}

/// Whether the entries of an object are like objects: the same names in most of them.
fn alike(entries: &[(String, Node)]) -> bool {
    let names = |node: &Node| match &node.value {
        Value::Object(entries) => Some(
            entries
                .iter()
                .map(|(name, _)| name.clone())
                .collect::<Vec<_>>(),
        ),
        _ => None,
    };
    let objects: Vec<Vec<String>> = entries
        .iter()
        .take(6)
        .filter_map(|(_, node)| names(node))
        .collect();
    let Some(first) = objects.first().filter(|_| objects.len() >= 2) else {
        return false;
    };
    objects.iter().skip(1).all(|other| {
        other.iter().filter(|name| first.contains(name)).count() * 2 >= other.len().max(first.len())
    })
}

fn visit(node: &Node, place: &Place<'_>, around: &Around, record: bool, sink: &mut Collector<'_>) {
    match &node.value {
        Value::Scalar(text) => {
            let last = around
                .pointer
                .rsplit('/')
                .next()
                .unwrap_or_default()
                .to_owned();
            offer(
                &[(last, text.clone(), node)],
                node.place.clone(),
                place,
                around,
                sink,
            );
        }
        Value::Array(items) => {
            if scalar(node).is_some() && !around.pointer.is_empty() {
                return;
            }
            for (at, item) in items.iter().enumerate() {
                let inner = Around {
                    pointer: format!("{}/{at}", around.pointer),
                    ..around.clone()
                };
                visit(item, place, &inner, true, sink);
            }
        }
        Value::Object(entries) => {
            let scalars: Vec<(String, String, &Node)> = entries
                .iter()
                .filter_map(|(name, node)| Some((name.clone(), scalar(node)?, node)))
                .collect();
            let record = record && scalars.len() <= 400;
            if record {
                let span = scalars
                    .iter()
                    .map(|(.., node)| node.place.clone())
                    .reduce(|one, other| one.start.min(other.start)..one.end.max(other.end));
                offer(
                    &scalars,
                    span.unwrap_or(node.place.clone()),
                    place,
                    around,
                    sink,
                );
            } else {
                for (name, text, node) in &scalars {
                    let inner = Around {
                        pointer: format!("{}/{}", around.pointer, escaped(name)),
                        ..around.clone()
                    };
                    offer(
                        &[(name.clone(), text.clone(), node)],
                        node.place.clone(),
                        place,
                        &inner,
                        sink,
                    );
                }
            }
            let describing = if scalars.len() <= DESCRIBING || record {
                scalars.as_slice()
            } else {
                &[]
            };
            let told = describing.iter().fold(0, |mask, (name, text, _)| {
                mask | sink.query.mask(name) | sink.query.mask(text)
            });
            let words = if record {
                shown(describing, 0, sink, 160).0
            } else {
                around.record.clone()
            };
            let like = alike(entries);
            for (name, node) in entries.iter().filter(|(_, node)| scalar(node).is_none()) {
                let repeated = entries.iter().filter(|(other, _)| other == name).count() > 1;
                let at = entries
                    .iter()
                    .filter(|(other, _)| other == name)
                    .position(|(_, other)| std::ptr::eq(other, node));
                let index = at
                    .filter(|_| repeated)
                    .map(|at| format!("[{}]", at + 1))
                    .unwrap_or_default();
                let inner = Around {
                    pointer: format!("{}/{}{index}", around.pointer, escaped(name)),
                    mask: around.mask | told | sink.query.mask(name),
                    record: words.clone(),
                };
                visit(node, place, &inner, like || repeated, sink);
            }
        }
    }
}

/// `name: value` pairs in their order; where there are too many, those that match first. Says also whether some were left out.
fn shown(
    scalars: &[(String, String, &Node)],
    own: Mask,
    sink: &Collector<'_>,
    most: usize,
) -> (String, bool) {
    let pairs: Vec<String> = scalars
        .iter()
        .map(|(name, text, _)| format!("{name}: {}", shortened(text, 240)))
        .collect();
    let mut order: Vec<usize> = (0..pairs.len()).collect();
    if own != 0 && pairs.iter().map(String::len).sum::<usize>() > most {
        order.sort_by_key(|at| {
            std::cmp::Reverse(
                pairs
                    .get(*at)
                    .map_or(0, |pair| (sink.query.mask(pair) & own).count_ones()),
            )
        });
    }
    let mut kept = Vec::new();
    let mut length = 0;
    for at in order {
        let size = pairs.get(at).map_or(0, String::len) + 2;
        if length + size <= most || kept.is_empty() {
            length += size;
            kept.push(at);
        }
    }
    kept.sort_unstable();
    let cut = kept.len() < pairs.len();
    let mut text = kept
        .iter()
        .filter_map(|at| pairs.get(*at))
        .map(String::as_str)
        .collect::<Vec<_>>()
        .join(", ");
    if cut {
        text.push_str(", …");
    }
    (text, cut)
}

fn offer(
    scalars: &[(String, String, &Node)],
    span: Range<usize>,
    place: &Place<'_>,
    around: &Around,
    sink: &mut Collector<'_>,
) {
    let masks: Vec<Mask> = scalars
        .iter()
        .map(|(name, text, _)| sink.query.mask(name) | sink.query.mask(text))
        .collect();
    let own = masks.iter().fold(0, |all, mask| all | mask);
    if own == 0 {
        sink.count_empty(1);
        return;
    }
    sink.count(own);
    let inherited = around.mask | sink.query.mask(&around.pointer);
    let single = scalars.len() == 1;
    let text = shown(scalars, own, sink, SHOWN).0;
    // Values of what was asked by name, if any was.
    let named: Vec<&str> = scalars
        .iter()
        .filter(|(name, ..)| sink.query.mask(name) != 0)
        .map(|(_, text, _)| text.as_str())
        .collect();
    let core = if named.is_empty() {
        text.clone()
    } else {
        named.join(" ")
    };
    let quality = 1.0 / (1.0 + scalars.len() as f32 / 8.0);
    sink.offer(own, inherited, quality, || {
        let source: &str = &place.decoded.text;
        // A lone value on a short line is the line, with its name.
        let span = if single {
            line_around(source, &span)
        } else {
            span
        };
        let start = span.start;
        let begin = source.as_bytes().get(..start).unwrap_or_default();
        let base = if place.prefix.starts_with("line") {
            place.line
        } else {
            place.line + memchr::memchr_iter(b'\n', begin).count() as u64
        };
        let inside = source.as_bytes().get(start..span.end).unwrap_or_default();
        Piece {
            file: 0,
            bytes: place.offset + place.decoded.byte(start) as u64
                ..place.offset + place.decoded.byte(span.end) as u64,
            lines: (
                base,
                base + memchr::memchr_iter(b'\n', inside).count() as u64,
            ),
            at: Some(format!(
                "{}{}",
                place.prefix,
                if around.pointer.is_empty() {
                    "/"
                } else {
                    &around.pointer
                }
            )),
            context: around.record.clone(),
            core,
            text,
        }
    });
}

/// The line that a value stands on, without its line end; the value itself where the line is long or the value has several.
fn line_around(source: &str, span: &Range<usize>) -> Range<usize> {
    let start = source
        .get(..span.start)
        .and_then(|before| before.rfind('\n'))
        .map_or(0, |at| at + 1);
    let end = source
        .get(span.end..)
        .and_then(|after| after.find('\n'))
        .map_or(source.len(), |at| span.end + at);
    let end = start + source.get(start..end).unwrap_or_default().trim_end().len();
    if end - start <= 240 && end >= span.end {
        start..end
    } else {
        span.clone()
    }
}
