//! Source code: an outline of symbols; every line is a unit that inherits the symbols around it and the roles of its names: defined here, called here, given a value here.

mod languages;

use std::collections::BTreeMap;
use std::ops::{ControlFlow, Range};
use std::time::{Duration, Instant};

use tree_sitter::{Node, ParseOptions, ParseState, Parser, Tree};

use super::text::shortened;
use super::{ALL, Capability, Kind, Outline, Reader, Sniffed};
use crate::collect::{Collector, Piece};
use crate::error::{Error, Result};
use crate::limits::Limits;
use crate::query::Mask;
use crate::source::Object;
use languages::{Grammar, grammar};

/// Longest line that is shown.
const LINE: usize = 400;
/// Time for one parse.
const PARSE: Duration = Duration::from_secs(5);

/// The reader of source code.
pub struct Code;

/// A symbol.
struct Symbol {
    name: String,
    kind: &'static str,
    bytes: Range<usize>,
    name_at: usize,
    depth: usize,
}

/// What is known of the names of a file.
#[derive(Default)]
struct Names {
    symbols: Vec<Symbol>,
    /// Called names, by their first byte.
    calls: Vec<(usize, String)>,
    /// Names that are given a value, by their first byte.
    values: Vec<(usize, String)>,
}

impl Reader for Code {
    fn capability(&self) -> Capability {
        let kinds = [
            Kind::Rust,
            Kind::Python,
            Kind::TypeScript,
            Kind::Go,
            Kind::Java,
            Kind::C,
        ]
        .into();
        Capability {
            name: "code",
            kinds,
            actions: ALL,
            specificity: 5,
            cost: 100.0,
        }
    }

    fn outline(&self, object: &Object, sniffed: &Sniffed, limits: &Limits) -> Result<Outline> {
        let text = text(object, sniffed, limits)?;
        let names = names(object, sniffed.kind, &text)?;
        let mut outline = Outline {
            unit: "lines",
            units: text.lines().count() as u64,
            ..Outline::default()
        };
        let mut line = 1;
        let mut from = 0;
        let listed = names.symbols.iter().filter(|symbol| {
            symbol.depth < 2
                && !matches!(
                    symbol.kind,
                    "field" | "variant" | "variable" | "declaration"
                )
        });
        for symbol in listed {
            line += memchr::memchr_iter(
                b'\n',
                text.as_bytes()
                    .get(from..symbol.name_at)
                    .unwrap_or_default(),
            )
            .count();
            from = symbol.name_at.max(from);
            if outline.parts.len() < 60 {
                outline.parts.push(format!(
                    "{}{line}: {} {}",
                    "  ".repeat(symbol.depth),
                    symbol.kind,
                    shortened(&symbol.name, 80)
                ));
            } else {
                outline.more += 1;
            }
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
        let bytes = object.read_all(limits.held_bytes)?;
        let decoded = sniffed
            .charset
            .decode(bytes.get(sniffed.charset.mark..).unwrap_or_default());
        let source: &str = &decoded.text;
        let names = names(object, sniffed.kind, source)?;
        sink.scanned += bytes.len() as u64;
        let mut hits = Vec::new();
        sink.query.hits(source, &mut hits);
        let mut by_line: BTreeMap<usize, Mask> = BTreeMap::new();
        let line_start = |at: usize| {
            memchr::memrchr(b'\n', source.as_bytes().get(..at).unwrap_or_default())
                .map_or(0, |feed| feed + 1)
        };
        for hit in &hits {
            *by_line.entry(line_start(hit.start)).or_default() |= 1 << hit.term;
        }
        let total = memchr::memchr_iter(b'\n', source.as_bytes()).count() as u64 + 1;
        sink.count_empty(total.saturating_sub(by_line.len() as u64));
        let mut line = 1_u64;
        let mut from = 0;
        for (start, own) in by_line {
            line += memchr::memchr_iter(
                b'\n',
                source.as_bytes().get(from..start).unwrap_or_default(),
            )
            .count() as u64;
            from = start;
            let end = memchr::memchr(b'\n', source.as_bytes().get(start..).unwrap_or_default())
                .map_or(source.len(), |at| start + at);
            sink.count(own);
            let (inherited, symbols, defined) = names.around(start..end, source, sink);
            let quality = if defined { 1.0 } else { 0.3 };
            sink.offer(own, inherited, quality, || {
                let raw = source.get(start..end).unwrap_or_default().trim_end();
                let lead = raw.len() - raw.trim_start().len();
                let shown = raw.trim_start();
                let cut = (0..=shown.len().min(LINE))
                    .rev()
                    .find(|at| shown.is_char_boundary(*at))
                    .unwrap_or(0);
                let byte = |place: usize| (sniffed.charset.mark + decoded.byte(place)) as u64;
                Piece {
                    file: 0,
                    bytes: byte(start + lead)..byte(start + lead + cut),
                    lines: (line, line),
                    at: Some(symbols.last().cloned().unwrap_or_default())
                        .filter(|symbol| !symbol.is_empty()),
                    context: symbols.join(" > "),
                    core: shown.to_owned(),
                    text: shown.get(..cut).unwrap_or_default().to_owned(),
                }
            });
        }
        Ok(())
    }
}

impl Names {
    /// What a line inherits: symbols around it, and the roles of the names that were asked for.
    fn around(
        &self,
        line: Range<usize>,
        source: &str,
        sink: &Collector<'_>,
    ) -> (Mask, Vec<String>, bool) {
        let query = sink.query;
        let mut mask = 0;
        let mut defined = false;
        let mut symbols = Vec::new();
        for symbol in &self.symbols {
            if line.contains(&symbol.name_at) && query.mask(&symbol.name) != 0 {
                mask |= query.mask("defined definition define declared declaration declare implemented implementation") | query.mask(symbol.kind);
                defined = true;
            }
            if symbol.bytes.start < line.start && line.end <= symbol.bytes.end {
                mask |= query.mask(&symbol.name) | query.mask(symbol.kind);
                symbols.push(shortened(&symbol.name, 60));
            }
        }
        let within = |names: &[(usize, String)]| -> Vec<String> {
            let first = names.partition_point(|(at, _)| *at < line.start);
            names
                .iter()
                .skip(first)
                .take_while(|(at, _)| *at < line.end)
                .map(|(_, name)| name.clone())
                .collect()
        };
        if within(&self.calls).iter().any(|name| query.mask(name) != 0) {
            mask |=
                query.mask("calls call called caller callers uses use used usage usages invokes");
        }
        if within(&self.values)
            .iter()
            .any(|name| query.mask(name) != 0)
        {
            mask |= query.mask("default defaults");
        }
        let _ = source;
        (mask, symbols, defined)
    }
}

fn text(object: &Object, sniffed: &Sniffed, limits: &Limits) -> Result<String> {
    let bytes = object.read_all(limits.held_bytes)?;
    Ok(sniffed
        .charset
        .decode(bytes.get(sniffed.charset.mark..).unwrap_or_default())
        .text
        .into_owned())
}

fn parse(object: &Object, grammar: &Grammar, text: &str) -> Result<Tree> {
    let bad = |found: String| Error::Malformed {
        path: object.path.clone().into(),
        line: 1,
        found,
        expected: "source code that parses in time",
    };
    let mut parser = Parser::new();
    parser
        .set_language(&grammar.language)
        .map_err(|error| bad(error.to_string()))?;
    let deadline = Instant::now() + PARSE;
    let mut late = |_: &ParseState| {
        if Instant::now() > deadline {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    };
    let options = ParseOptions::new().progress_callback(&mut late);
    let mut input = |at: usize, _| text.as_bytes().get(at..).unwrap_or_default();
    parser
        .parse_with_options(&mut input, None, Some(options))
        .ok_or_else(|| bad(format!("no tree within {} s", PARSE.as_secs())))
}

/// Walks the tree without recursion, so that nesting costs no stack.
fn names(object: &Object, kind: Kind, text: &str) -> Result<Names> {
    let jsx = object.path.ends_with('x') || object.path.ends_with("js");
    let Some(grammar) = grammar(kind, jsx) else {
        return Err(Error::Unsupported {
            path: object.path.clone().into(),
            found: "a language without a grammar",
        });
    };
    let tree = parse(object, &grammar, text)?;
    let mut names = Names::default();
    let mut cursor = tree.walk();
    let mut open: Vec<usize> = Vec::new();
    loop {
        let node = cursor.node();
        while open.last().is_some_and(|end| *end <= node.start_byte()) {
            open.pop();
        }
        visit(&grammar, node, text, open.len(), &mut names);
        if grammar
            .definitions
            .iter()
            .any(|(kind, _)| *kind == node.kind())
        {
            open.push(node.end_byte());
        }
        if cursor.goto_first_child() {
            continue;
        }
        while !cursor.goto_next_sibling() {
            if !cursor.goto_parent() {
                names.calls.sort();
                names.values.sort();
                names.symbols.sort_by_key(|symbol| symbol.name_at);
                return Ok(names);
            }
        }
    }
}

fn visit(grammar: &Grammar, node: Node<'_>, text: &str, depth: usize, names: &mut Names) {
    let kind = node.kind();
    if let Some((_, what)) = grammar.definitions.iter().find(|(known, _)| *known == kind)
        && let Some((at, name)) = defined_name(node, text, what)
    {
        names.symbols.push(Symbol {
            name,
            kind: what,
            bytes: node.byte_range(),
            name_at: at,
            depth,
        });
    }
    if let Some((_, field)) = grammar.calls.iter().find(|(known, _)| *known == kind)
        && let Some(called) = node.child_by_field_name(field)
    {
        let called = last_name(called);
        names.calls.push((
            called.start_byte(),
            text.get(called.byte_range()).unwrap_or_default().to_owned(),
        ));
    }
    if let Some((_, field)) = grammar.values.iter().find(|(known, _)| *known == kind) {
        let name = if field.is_empty() {
            node.child(0)
        } else {
            node.child_by_field_name(field)
        };
        if let Some(name) = name.filter(|name| name.byte_range().len() < 200) {
            names.values.push((
                name.start_byte(),
                text.get(name.byte_range()).unwrap_or_default().to_owned(),
            ));
        }
    }
}

/// The name of a definition: its `name` field, the type of an `impl`, or the innermost declarator.
fn defined_name(node: Node<'_>, text: &str, what: &str) -> Option<(usize, String)> {
    let of = |node: Node<'_>| Some((node.start_byte(), text.get(node.byte_range())?.to_owned()));
    if what == "impl" {
        let head = node
            .child_by_field_name("body")
            .map_or(node.end_byte(), |body| body.start_byte());
        return Some((
            node.start_byte(),
            text.get(node.start_byte()..head)?.trim().to_owned(),
        ));
    }
    if let Some(name) = node.child_by_field_name("name") {
        return of(name);
    }
    let mut declarator = node.child_by_field_name("declarator")?;
    for _ in 0..16 {
        match declarator
            .child_by_field_name("declarator")
            .or_else(|| declarator.child_by_field_name("name"))
        {
            Some(inner) => declarator = inner,
            None => break,
        }
    }
    of(declarator)
}

/// The last name of a path: `c` of `a::b.c`.
fn last_name(node: Node<'_>) -> Node<'_> {
    let mut node = node;
    for _ in 0..16 {
        let inner = ["field", "property", "attribute", "name"]
            .iter()
            .find_map(|field| node.child_by_field_name(field));
        match inner {
            Some(inner) => node = inner,
            None => break,
        }
    }
    node
}
