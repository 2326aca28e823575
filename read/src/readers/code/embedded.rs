//! Scripts that carry another program's input in a long string: the lines of such a block are statements of their own, and what the script is for is said at its top.

use std::ops::Range;

use tree_sitter::Node;

use super::languages::Grammar;

/// Fewest lines of a block.
const LINES: usize = 3;
/// Longest text at the top that says what a file is for.
const PURPOSE: usize = 400;

/// A string of several lines.
pub(super) struct Block {
    /// Its bytes, quotes included.
    pub bytes: Range<usize>,
    /// The name that it is given; empty without one.
    pub name: String,
}

/// A string of several lines that is no documentation.
pub(super) fn block(grammar: &Grammar, node: Node<'_>, text: &str) -> Option<Block> {
    let long = node.end_position().row >= node.start_position().row + LINES;
    if !long || !grammar.strings.contains(&node.kind()) || is_documentation(node) {
        return None;
    }
    let bytes = node.byte_range();
    let mut around = node.parent();
    for _ in 0..4 {
        let Some(node) = around else {
            break;
        };
        if let Some((_, field)) = grammar.values.iter().find(|(kind, _)| *kind == node.kind()) {
            let name = if field.is_empty() {
                node.child(0)
            } else {
                node.child_by_field_name(field)
            };
            let name = name.and_then(|name| text.get(name.byte_range()));
            return Some(Block {
                bytes: bytes.clone(),
                name: name.unwrap_or_default().chars().take(80).collect(),
            });
        }
        if grammar
            .definitions
            .iter()
            .any(|(kind, _)| *kind == node.kind())
        {
            break;
        }
        around = node.parent();
    }
    Some(Block {
        bytes,
        name: String::new(),
    })
}

/// A string that is a statement documents what it stands in.
fn is_documentation(node: Node<'_>) -> bool {
    node.parent()
        .is_some_and(|parent| parent.kind() == "expression_statement")
}

/// What a file says of itself at its top: the first paragraph of its leading comments or of its documentation.
pub(super) fn purpose(root: Node<'_>, text: &str) -> String {
    let mut said = String::new();
    let mut cursor = root.walk();
    for node in root.children(&mut cursor) {
        let kind = node.kind();
        let documents = kind == "expression_statement"
            && node
                .child(0)
                .is_some_and(|inner| inner.kind().contains("string"));
        if !documents && !kind.contains("comment") {
            break;
        }
        let piece = text.get(node.byte_range()).unwrap_or_default();
        if !piece.starts_with("#!") {
            said.push_str(piece);
            said.push('\n');
        }
        if documents || said.len() > PURPOSE {
            break;
        }
    }
    let lines = said.lines().map(|line| {
        line.trim_matches(|letter: char| letter.is_whitespace() || "\"'#/*!".contains(letter))
    });
    let first: Vec<&str> = lines
        .skip_while(|line| line.is_empty())
        .take_while(|line| !line.is_empty())
        .collect();
    first.join(" ").chars().take(PURPOSE).collect()
}
