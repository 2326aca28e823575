//! The names of a file from its syntax tree: what is defined, called and given a value, and which strings are texts of their own.

use std::ops::{ControlFlow, Range};
use std::time::{Duration, Instant};

use tree_sitter::{Node, ParseOptions, ParseState, Parser, Tree};

use super::embedded::{Block, block, purpose};
use super::languages::{Grammar, grammar};
use crate::error::{Error, Result};
use crate::query::{Mask, Query};
use crate::readers::text::shortened;
use crate::readers::{Kind, Outline};
use crate::source::Object;

/// Time for one parse.
const PARSE: Duration = Duration::from_secs(5);
/// Texts of a file that an outline names.
const BLOCKS: usize = 12;

/// A symbol.
pub(super) struct Symbol {
    pub name: String,
    pub kind: &'static str,
    pub bytes: Range<usize>,
    pub name_at: usize,
    pub depth: usize,
}

/// What is known of the names of a file.
#[derive(Default)]
pub(super) struct Names {
    pub symbols: Vec<Symbol>,
    /// Called names, by their first byte.
    calls: Vec<(usize, String)>,
    /// Names that are given a value, by their first byte.
    values: Vec<(usize, String)>,
    /// Strings of several lines.
    blocks: Vec<Block>,
    /// What the file says of itself at its top.
    purpose: String,
}

impl Names {
    /// What a line inherits: symbols around it, and the roles of the names that were asked for.
    pub fn around(&self, line: Range<usize>, query: &Query) -> (Mask, Vec<String>, bool) {
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
        let around =
            |block: &&Block| block.bytes.start <= line.start && line.end <= block.bytes.end;
        if let Some(block) = self.blocks.iter().find(around) {
            // A statement for another program: what it is about stands at the top of the file.
            mask |= query.mask(&self.purpose) | query.mask(&block.name);
            symbols.extend(
                [&self.purpose, &block.name]
                    .into_iter()
                    .filter(|text| !text.is_empty())
                    .map(|text| shortened(text, 80)),
            );
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
        (mask, symbols, defined)
    }

    /// Adds what the file is for, and the blocks in it, to an outline.
    pub fn outline(&self, text: &str, outline: &mut Outline) {
        if self.blocks.is_empty() {
            return;
        }
        if !self.purpose.is_empty() {
            outline.samples.push(shortened(&self.purpose, 160));
        }
        for block in self.blocks.iter().take(BLOCKS) {
            let line_of = |at: usize| {
                let before = text.as_bytes().get(..at).unwrap_or_default();
                memchr::memchr_iter(b'\n', before).count() + 1
            };
            outline.parts.push(format!(
                "{}-{}: text {}",
                line_of(block.bytes.start),
                line_of(block.bytes.end),
                block.name
            ));
        }
        outline.more += self.blocks.len().saturating_sub(BLOCKS);
    }
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
pub(super) fn names(object: &Object, kind: Kind, text: &str) -> Result<Names> {
    let jsx = object.path.ends_with('x') || object.path.ends_with("js");
    let Some(grammar) = grammar(kind, jsx) else {
        return Err(Error::Unsupported {
            path: object.path.clone().into(),
            found: "a language without a grammar",
        });
    };
    let tree = parse(object, &grammar, text)?;
    let mut names = Names {
        purpose: purpose(tree.root_node(), text),
        ..Names::default()
    };
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
    names.blocks.extend(block(grammar, node, text));
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
