//! Does a chat with marks in it render as it does without, and where do the marks come out?

use std::ops::Range;

use serde_json::{Map, Value};

use super::error::PromptError;
use super::parts::{Chat, Input, Leaf, alias_reasoning};
use super::sentinel::Alphabet;
use super::shape::Shape;
use super::template::ChatTemplate;

/// What a mark is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Mark {
    pub(super) leaf: usize,
    pub(super) at: usize,
}

/// How often a pair of marks came out, and where.
pub(super) enum Seen {
    Not,
    Once(Range<usize>),
    Twice,
    Half,
}

/// A verified rendering with marks: for each mark its places.
pub(super) struct Trial {
    pub(super) places: Vec<Vec<usize>>,
}

impl Trial {
    pub(super) fn pair(&self, open: usize) -> Seen {
        let none = Vec::new();
        let at = |i: usize| self.places.get(i).unwrap_or(&none).as_slice();
        match (at(open), at(open + 1)) {
            ([], []) => Seen::Not,
            (&[start], &[end]) if start <= end => Seen::Once(start..end),
            (starts, ends) if starts.len() > 1 && ends.len() > 1 => Seen::Twice,
            _ => Seen::Half,
        }
    }
}

/// Renders one chat as often as it takes.
pub(super) struct Renderer<'a> {
    pub(super) template: &'a ChatTemplate,
    pub(super) special: &'a [String],
    pub(super) variables: Map<String, Value>,
    pub(super) input: Input,
    pub(super) alphabet: Alphabet,
    pub(super) plain: String,
    pub(super) shapes: Vec<Shape>,
}

impl<'a> Renderer<'a> {
    /// `named` are the tokenizer's named tokens (`bos_token`, ...); `special` the literals of its special tokens.
    pub(super) fn new(
        template: &'a ChatTemplate,
        named: &Map<String, Value>,
        special: &'a [String],
        chat: &Chat,
    ) -> Result<Self, PromptError> {
        let input = Input::new(chat)?;
        let mut variables = named.clone();
        variables.insert("documents".to_owned(), Value::Null);
        variables.insert(
            "add_generation_prompt".to_owned(),
            Value::Bool(chat.add_generation_prompt),
        );
        variables.extend(chat.extra.clone());
        let strings = input.leaves.iter().map(|leaf| leaf.text.as_str());
        let strings = strings.chain(input.fixed.iter().map(|fixed| fixed.text.as_str()));
        let own = serde_json::to_string(&variables).unwrap_or_default();
        let alphabet = Alphabet::unused(strings.chain([own.as_str(), template.source()]))
            .ok_or(PromptError::NoSentinel)?;
        let shapes = vec![Shape::WHOLE; input.leaves.len()];
        let mut renderer = Self {
            template,
            special,
            variables,
            input,
            alphabet,
            plain: String::new(),
            shapes,
        };
        renderer.plain = renderer.write(renderer.input.root.clone())?;
        Ok(renderer)
    }

    pub(super) fn leaf(&self, leaf: usize) -> Option<&Leaf> {
        self.input.leaves.get(leaf)
    }

    pub(super) fn text(&self, leaf: usize) -> &str {
        self.leaf(leaf).map_or("", |leaf| leaf.text.as_str())
    }

    pub(super) fn pointer(&self, leaf: usize) -> String {
        self.leaf(leaf)
            .map(|leaf| leaf.pointer.clone())
            .unwrap_or_default()
    }

    pub(super) fn opaque(&self, leaf: usize) -> PromptError {
        PromptError::Opaque {
            pointer: self.pointer(leaf),
        }
    }

    pub(super) fn write(&self, mut root: Value) -> Result<String, PromptError> {
        alias_reasoning(&mut root);
        let mut variables = self.variables.clone();
        if let Value::Object(fields) = root {
            for (key, value) in fields {
                let empty = key == "tools" && value.as_array().is_some_and(Vec::is_empty);
                variables.insert(key, if empty { Value::Null } else { value });
            }
        }
        self.template.render(&variables)
    }

    /// Renders with `marks`; `None` when that changes anything but the marks.
    pub(super) fn trial(&self, marks: &[Mark]) -> Option<Trial> {
        let mut root = self.input.root.clone();
        let mut order: Vec<usize> = (0..marks.len()).collect();
        // From the end of each string, so that earlier places stay valid; at one place the later mark stands later.
        order.sort_by_key(|&i| {
            marks
                .get(i)
                .map(|mark| (mark.leaf, std::cmp::Reverse(mark.at), std::cmp::Reverse(i)))
        });
        for number in order {
            let mark = marks.get(number)?;
            let pointer = &self.leaf(mark.leaf)?.pointer;
            let Some(Value::String(text)) = root.pointer_mut(pointer) else {
                return None;
            };
            text.insert_str(mark.at, &self.alphabet.mark(number));
        }
        let marked = self.write(root).ok()?;
        let (text, places) = self.alphabet.strip(&marked, marks.len())?;
        (text == self.plain).then_some(Trial { places })
    }

    /// The pieces of a part that its shape marks.
    pub(super) fn pieces(&self, leaf: usize) -> Vec<Range<usize>> {
        match (self.leaf(leaf), self.shapes.get(leaf)) {
            (Some(leaf), Some(shape)) => shape.pieces(&leaf.text, self.template.cut_literals()),
            _ => Vec::new(),
        }
    }

    /// Marks around every piece of these parts, in pairs.
    pub(super) fn marks(&self, leaves: &[usize]) -> Vec<Mark> {
        let around = |&leaf: &usize| {
            let pieces = self.pieces(leaf).into_iter();
            pieces.flat_map(move |piece| [piece.start, piece.end].map(|at| Mark { leaf, at }))
        };
        leaves.iter().flat_map(around).collect()
    }

    /// Marks before every word but the first.
    pub(super) fn words(&self, leaf: usize) -> Vec<Mark> {
        let text = self.text(leaf);
        let mut after_space = false;
        let mut starts = Vec::new();
        for (at, c) in text.char_indices() {
            if after_space && !c.is_whitespace() {
                starts.push(Mark { leaf, at });
            }
            after_space = c.is_whitespace();
        }
        starts
    }

    /// Whether the rendering's `span` is `range` of the part's string, as it is or inside a JSON string.
    pub(super) fn is_verbatim(
        &self,
        leaf: usize,
        range: &Range<usize>,
        span: &Range<usize>,
    ) -> bool {
        let text = self
            .leaf(leaf)
            .and_then(|leaf| leaf.text.get(range.clone()));
        let (Some(text), Some(shown)) = (text, self.plain.get(span.clone())) else {
            return false;
        };
        let escaped = || Value::String(text.to_owned()).to_string();
        shown == text
            || escaped()
                .get(1..)
                .is_some_and(|e| e.strip_suffix('"') == Some(shown))
    }
}
