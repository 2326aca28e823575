//! Around which bytes of a part can a mark stand without changing what the template does?

use std::ops::Range;

use serde_json::{Map, Value};

use super::parts::escape;

/// What is left outside a mark on one side.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Trim {
    /// Nothing.
    None,
    /// Line feeds: templates write `content.strip('\n')`.
    Newlines,
    /// All white space: `content | trim`.
    Space,
}

/// How a part is marked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Shape {
    pub left: Trim,
    pub right: Trim,
    /// Mark the text between the template's cut literals instead of the whole.
    pub between_literals: bool,
}

impl Shape {
    pub(super) const WHOLE: Self = Self {
        left: Trim::None,
        right: Trim::None,
        between_literals: false,
    };

    /// The marked pieces of `text`, none of them empty.
    pub(super) fn pieces(self, text: &str, cut_literals: &[String]) -> Vec<Range<usize>> {
        let mut pieces = Vec::new();
        let mut start = 0;
        if self.between_literals {
            for literal in literals(text, cut_literals) {
                pieces.push(start..literal.start);
                start = literal.end;
            }
        }
        pieces.push(start..text.len());
        let trimmed = pieces
            .iter()
            .map(|piece| trim(text, piece, self.left, self.right));
        trimmed.filter(|piece| !piece.is_empty()).collect()
    }
}

/// Every pair of trims, from the outside in.
pub(super) fn trims() -> [(Trim, Trim); 9] {
    use Trim::{Newlines, None, Space};
    [
        (None, None),
        (Newlines, None),
        (None, Newlines),
        (Newlines, Newlines),
        (Space, None),
        (None, Space),
        (Space, Newlines),
        (Newlines, Space),
        (Space, Space),
    ]
}

/// Every shape, from the outside in.
pub(super) fn ladder() -> impl Iterator<Item = Shape> {
    [false, true].into_iter().flat_map(|between_literals| {
        trims().into_iter().map(move |(left, right)| Shape {
            left,
            right,
            between_literals,
        })
    })
}

/// `range` of `text` without what the trims leave outside.
pub(super) fn trim(text: &str, range: &Range<usize>, left: Trim, right: Trim) -> Range<usize> {
    let outside = |trim: Trim| {
        move |c: char| match trim {
            Trim::None => false,
            Trim::Newlines => c == '\n',
            Trim::Space => c.is_whitespace(),
        }
    };
    let piece = text.get(range.clone()).unwrap_or_default();
    let end = range.start + piece.trim_end_matches(outside(right)).len();
    let piece = text.get(range.start..end).unwrap_or_default();
    let start = end - piece.trim_start_matches(outside(left)).len();
    start..end
}

/// Where `cut_literals` (longest first) stand in `text`, without overlaps.
pub(super) fn literals(text: &str, cut_literals: &[String]) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut at = 0;
    while at < text.len() {
        let here = text.get(at..).unwrap_or_default();
        match cut_literals
            .iter()
            .find(|literal| here.starts_with(literal.as_str()))
        {
            Some(literal) => {
                found.push(at..at + literal.len());
                at += literal.len();
            }
            None => at += here.chars().next().map_or(1, char::len_utf8),
        }
    }
    found
}

/// Writes another string at `pointer`, or renames the key that leads there.
pub(super) fn replace(root: &mut Value, pointer: &str, key: bool, text: &str) {
    if !key {
        if let Some(value) = root.pointer_mut(pointer) {
            *value = Value::String(text.to_owned());
        }
        return;
    }
    let Some((parent, last)) = pointer.rsplit_once('/') else {
        return;
    };
    if let Some(Value::Object(fields)) = root.pointer_mut(parent) {
        let renamed = |(key, value): (String, Value)| match escape(&key) == last {
            true => (text.to_owned(), value),
            false => (key, value),
        };
        *fields = std::mem::take(fields)
            .into_iter()
            .map(renamed)
            .collect::<Map<_, _>>();
    }
}
