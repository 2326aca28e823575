//! JSON, JSON lines, YAML and XML as one kind of tree: records with their scalars, every value under its pointer, with what the records around it say.

mod json;
mod walk;
mod xml;
mod yaml;

use std::ops::Range;

use super::text::shortened;
use super::{ALL, Capability, Kind, Outline, Reader, Sniffed, each_block};
use crate::collect::Collector;
use crate::encoding::Decoded;
use crate::error::{Error, Result};
use crate::limits::Limits;
use crate::source::Object;

/// A node of any of the formats. Byte ranges count in the decoded text.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Node {
    /// Where it stands.
    pub place: Range<usize>,
    /// What it is.
    pub value: Value,
}

/// What a node is.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Value {
    /// A value without parts, as text.
    Scalar(String),
    /// Values in order.
    Array(Vec<Node>),
    /// Names and values in order; names may repeat.
    Object(Vec<(String, Node)>),
}

/// What is wrong with a text, and where.
pub(crate) struct Fault {
    /// Byte in the decoded text.
    pub place: usize,
    /// What was found.
    pub found: String,
    /// What was expected.
    pub expected: &'static str,
}

/// The reader of trees.
pub struct Tree;

impl Reader for Tree {
    fn capability(&self) -> Capability {
        Capability {
            name: "tree",
            kinds: [Kind::Json, Kind::Jsonl, Kind::Yaml, Kind::Xml].into(),
            actions: ALL,
            specificity: 5,
            cost: 20.0,
        }
    }

    fn outline(&self, object: &Object, sniffed: &Sniffed, limits: &Limits) -> Result<Outline> {
        let mut outline = Outline {
            unit: "values",
            ..Outline::default()
        };
        if sniffed.kind == Kind::Jsonl {
            outline.unit = "lines";
            each_block(object, sniffed.charset, limits, |_, bytes| {
                outline.units += memchr::memchr_iter(b'\n', bytes).count() as u64;
                Ok(true)
            })?;
            let first = sniffed
                .sample
                .lines()
                .find(|line| !line.trim().is_empty())
                .unwrap_or_default();
            if let Ok(node) = json::parse(first, limits.depth) {
                outline_node(&node, "", 0, &mut outline);
            }
            outline.samples = vec![shortened(first, 300)];
            return Ok(outline);
        }
        let bytes = object.read_all(limits.held_bytes)?;
        let decoded = sniffed
            .charset
            .decode(bytes.get(sniffed.charset.mark..).unwrap_or_default());
        let roots = parse(object, sniffed.kind, &decoded, limits)?;
        for root in &roots {
            outline.units += count(root);
            outline_node(root, "", 0, &mut outline);
        }
        Ok(outline)
    }

    fn scan(
        &self,
        object: &Object,
        sniffed: &Sniffed,
        limits: &Limits,
        sink: &mut Collector<'_>,
    ) -> Result<()> {
        if sniffed.kind != Kind::Jsonl {
            let bytes = object.read_all(limits.held_bytes)?;
            let decoded = sniffed
                .charset
                .decode(bytes.get(sniffed.charset.mark..).unwrap_or_default());
            let roots = parse(object, sniffed.kind, &decoded, limits)?;
            sink.scanned += bytes.len() as u64;
            let place = walk::Place {
                decoded: &decoded,
                offset: sniffed.charset.mark as u64,
                line: 1,
                prefix: String::new(),
            };
            for (at, root) in roots.iter().enumerate() {
                let place = walk::Place {
                    prefix: if roots.len() > 1 {
                        format!("document {} ", at + 1)
                    } else {
                        String::new()
                    },
                    ..place.clone()
                };
                walk::root(root, &place, false, sink);
            }
            return Ok(());
        }
        let mut line = 1;
        let mut broken = 0_u64;
        each_block(object, sniffed.charset, limits, |offset, bytes| {
            let decoded = sniffed.charset.decode(bytes);
            let mut start = 0;
            for text in decoded.text.split_inclusive('\n') {
                if !text.trim().is_empty() {
                    match (sink.query.mask(text), json::parse(text, limits.depth)) {
                        (0, _) => sink.count_empty(1),
                        (_, Ok(mut node)) => {
                            node.shift(start);
                            walk::root(
                                &node,
                                &walk::Place {
                                    decoded: &decoded,
                                    offset,
                                    line,
                                    prefix: format!("line {line} "),
                                },
                                true,
                                sink,
                            );
                        }
                        (_, Err(_)) => broken += 1,
                    }
                }
                line += 1;
                start += text.len();
            }
            sink.scanned += bytes.len() as u64;
            Ok(!sink.is_late())
        })?;
        if broken > 0 {
            sink.skipped.push((
                object.path.clone(),
                format!("{broken} matching lines that are no JSON"),
            ));
        }
        if sink.is_late() {
            sink.skipped
                .push((object.path.clone(), "time limit".into()));
        }
        Ok(())
    }
}

impl Node {
    fn shift(&mut self, by: usize) {
        self.place = self.place.start + by..self.place.end + by;
        match &mut self.value {
            Value::Scalar(_) => {}
            Value::Array(items) => items.iter_mut().for_each(|node| node.shift(by)),
            Value::Object(entries) => entries.iter_mut().for_each(|(_, node)| node.shift(by)),
        }
    }
}

fn parse(object: &Object, kind: Kind, decoded: &Decoded<'_>, limits: &Limits) -> Result<Vec<Node>> {
    let parsed = match kind {
        Kind::Yaml => yaml::parse(&decoded.text, limits.depth),
        Kind::Xml => xml::parse(&decoded.text, limits.depth).map(|node| vec![node]),
        _ => json::parse(&decoded.text, limits.depth).map(|node| vec![node]),
    };
    parsed.map_err(|fault| {
        let before = decoded
            .text
            .as_bytes()
            .get(..fault.place.min(decoded.text.len()))
            .unwrap_or_default();
        let line = memchr::memchr_iter(b'\n', before).count() as u64 + 1;
        Error::Malformed {
            path: object.path.clone().into(),
            line,
            found: shortened(&fault.found, 120),
            expected: fault.expected,
        }
    })
}

fn count(node: &Node) -> u64 {
    match &node.value {
        Value::Scalar(_) => 1,
        Value::Array(items) => items.iter().map(count).sum(),
        Value::Object(entries) => entries.iter().map(|(_, node)| count(node)).sum(),
    }
}

/// The keys down to three levels; of an array the first element; never a value.
fn outline_node(node: &Node, pointer: &str, depth: usize, outline: &mut Outline) {
    match &node.value {
        Value::Scalar(_) => {}
        Value::Array(items) => {
            outline.parts.push(format!(
                "{}: {} items",
                if pointer.is_empty() { "/" } else { pointer },
                items.len()
            ));
            if let Some(first) = items.first().filter(|_| depth < 3) {
                outline_node(first, &format!("{pointer}/0"), depth + 1, outline);
            }
        }
        Value::Object(entries) => {
            let names: Vec<&str> = entries
                .iter()
                .take(16)
                .map(|(name, _)| name.as_str())
                .collect();
            let more = if entries.len() > 16 {
                format!(" and {} more", entries.len() - 16)
            } else {
                String::new()
            };
            outline.parts.push(format!(
                "{}: {}{more}",
                if pointer.is_empty() { "/" } else { pointer },
                names.join(", ")
            ));
            if depth < 3 {
                for (name, node) in entries.iter().take(8) {
                    outline_node(
                        node,
                        &format!("{pointer}/{}", escaped(name)),
                        depth + 1,
                        outline,
                    );
                }
            }
        }
    }
    if outline.parts.len() > 24 {
        outline.more += outline.parts.len() - 24;
        outline.parts.truncate(24);
    }
}

/// A name as a part of a JSON pointer.
pub(crate) fn escaped(name: &str) -> String {
    shortened(&name.replace('~', "~0").replace('/', "~1"), 80)
}
