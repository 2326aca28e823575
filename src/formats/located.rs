//! Where does each JSON value stand in the bytes it came from? Values keep their byte span, so that an edit touches only its own bytes.
//! Cost: each nesting level is scanned once more; serde_json does all the lexing.

use std::fmt;
use std::ops::Range;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

/// One JSON value inside a text, not yet looked into.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Located<'a> {
    raw: &'a str,
    start: usize,
}

/// The type of a JSON value, from its first byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Object,
    Array,
    String,
    Number,
    Bool,
    Null,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Kind::Object => "an object",
            Kind::Array => "an array",
            Kind::String => "a string",
            Kind::Number => "a number",
            Kind::Bool => "a boolean",
            Kind::Null => "null",
        })
    }
}

impl<'a> Located<'a> {
    /// The one value of `text`. Errors: serde_json's, with line and column.
    pub(crate) fn parse(text: &'a str) -> Result<Self, serde_json::Error> {
        let raw: &RawValue = serde_json::from_str(text)?;
        Ok(Self::inside(text, 0, raw))
    }

    fn inside(outer: &'a str, outer_start: usize, raw: &'a RawValue) -> Self {
        // A borrowed RawValue is a slice of `outer`, so the difference of addresses is its offset.
        let offset = (raw.get().as_ptr() as usize).saturating_sub(outer.as_ptr() as usize);
        Self {
            raw: raw.get(),
            start: outer_start + offset,
        }
    }

    pub(crate) fn kind(&self) -> Kind {
        match self.raw.as_bytes().first() {
            Some(b'{') => Kind::Object,
            Some(b'[') => Kind::Array,
            Some(b'"') => Kind::String,
            Some(b't' | b'f') => Kind::Bool,
            Some(b'n') | None => Kind::Null,
            Some(_) => Kind::Number,
        }
    }

    /// Bytes of the value in the parsed text, quotes and brackets included.
    pub(crate) fn span(&self) -> Range<usize> {
        self.start..self.start + self.raw.len()
    }

    /// The value's own text.
    pub(crate) fn raw(&self) -> &'a str {
        self.raw
    }

    /// Elements of an array; empty for anything else.
    pub(crate) fn elements(&self) -> Result<Vec<Located<'a>>, serde_json::Error> {
        if self.kind() != Kind::Array {
            return Ok(Vec::new());
        }
        let items: Vec<&'a RawValue> = serde_json::from_str(self.raw)?;
        Ok(items
            .into_iter()
            .map(|item| Self::inside(self.raw, self.start, item))
            .collect())
    }

    /// Members of an object in file order, repeated keys included; empty for anything else.
    pub(crate) fn members(&self) -> Result<Vec<(String, Located<'a>)>, serde_json::Error> {
        if self.kind() != Kind::Object {
            return Ok(Vec::new());
        }
        let Members(items) = serde_json::from_str(self.raw)?;
        Ok(items
            .into_iter()
            .map(|(key, item)| (key, Self::inside(self.raw, self.start, item)))
            .collect())
    }
}

struct Members<'a>(Vec<(String, &'a RawValue)>);

impl<'de: 'a, 'a> Deserialize<'de> for Members<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Collect;
        impl<'de> Visitor<'de> for Collect {
            type Value = Vec<(String, &'de RawValue)>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut out = Vec::new();
                while let Some(entry) = map.next_entry::<String, &'de RawValue>()? {
                    out.push(entry);
                }
                Ok(out)
            }
        }
        deserializer.deserialize_map(Collect).map(Members)
    }
}

/// The values at JSON pointers, in one walk: each list and object on the way is scanned once, however many pointers lead through it.
/// A text of several lines that is no single JSON value counts as the list of its lines.
pub(crate) fn locate_all<'a>(
    text: &'a str,
    pointers: &[&str],
) -> Result<Vec<Option<Located<'a>>>, serde_json::Error> {
    let mut wanted: Vec<Wanted> = pointers
        .iter()
        .enumerate()
        .map(|(index, pointer)| Wanted {
            steps: pointer.split('/').skip(1).map(unescaped).collect(),
            index,
        })
        .collect();
    wanted.sort_by(|a, b| a.steps.cmp(&b.steps));
    let mut out = vec![None; pointers.len()];
    match Located::parse(text) {
        Ok(root) => walk(root, &wanted, 0, &mut out)?,
        Err(error) => {
            for group in wanted.chunk_by(|a, b| a.steps.first() == b.steps.first()) {
                let step = group.first().and_then(|w| w.steps.first());
                let Some((start, line)) = step.and_then(|step| line(text, step.parse().ok()?))
                else {
                    return Err(error);
                };
                let mut at = Located::parse(line)?;
                at.start += start;
                walk(at, group, 1, &mut out)?;
            }
        }
    }
    Ok(out)
}

fn unescaped(step: &str) -> String {
    step.replace("~1", "/").replace("~0", "~")
}

struct Wanted {
    steps: Vec<String>,
    index: usize,
}

/// Finds what `wanted` (sorted; all of it leads through `at`, `depth` steps below the root) names.
fn walk<'a>(
    at: Located<'a>,
    wanted: &[Wanted],
    depth: usize,
    out: &mut [Option<Located<'a>>],
) -> Result<(), serde_json::Error> {
    let here = wanted.partition_point(|w| w.steps.len() <= depth);
    let (own, below) = wanted.split_at(here);
    for wanted in own {
        if let Some(slot) = out.get_mut(wanted.index) {
            *slot = Some(at);
        }
    }
    if below.is_empty() {
        return Ok(());
    }
    let (elements, members) = (at.elements()?, at.members()?);
    for group in below.chunk_by(|a, b| a.steps.get(depth) == b.steps.get(depth)) {
        let Some(step) = group.first().and_then(|w| w.steps.get(depth)) else {
            continue;
        };
        let next = match at.kind() {
            Kind::Array => step.parse().ok().and_then(|i: usize| elements.get(i)),
            // serde_json keeps the last of repeated keys; so must the edit.
            _ => members.iter().rfind(|(key, _)| key == step).map(|m| &m.1),
        };
        if let Some(next) = next {
            walk(*next, group, depth + 1, out)?;
        }
    }
    Ok(())
}

/// Offset and text of the line that holds the `index`th value of a text with one value a line; blank lines do not count.
fn line(text: &str, index: usize) -> Option<(usize, &str)> {
    let mut start = 0;
    let lines = text.split_inclusive('\n').map(|line| {
        let at = start;
        start += line.len();
        (at, line)
    });
    let mut values = lines.filter(|(_, line)| !super::is_blank(line));
    values.nth(index)
}

/// Bytes of the decoded range `decoded` of a JSON string within its raw form (quotes included).
/// None when the range does not lie on borders of the string's characters.
pub(crate) fn raw_range(raw: &str, decoded: &Range<usize>) -> Option<Range<usize>> {
    let inner_end = raw.len().checked_sub(1)?;
    let (mut at, mut count) = (1usize, 0usize);
    let mut start = None;
    loop {
        if count == decoded.start && start.is_none() {
            start = Some(at);
        }
        if count == decoded.end {
            return start.map(|start| start..at);
        }
        if at >= inner_end || count > decoded.end {
            return None;
        }
        let (raw_len, decoded_len) = unit(raw.get(at..inner_end)?)?;
        at += raw_len;
        count += decoded_len;
    }
}

/// (raw bytes, decoded UTF-8 bytes) of the first character of the inside of a JSON string.
fn unit(rest: &str) -> Option<(usize, usize)> {
    let first = rest.chars().next()?;
    if first != '\\' {
        return Some((first.len_utf8(), first.len_utf8()));
    }
    if rest.as_bytes().get(1) != Some(&b'u') {
        return Some((2, 1));
    }
    let high = u32::from_str_radix(rest.get(2..6)?, 16).ok()?;
    if (0xD800..0xDC00).contains(&high) {
        // Its other half must follow; a text with half a pair decodes to nothing.
        let low = rest.get(6..12)?.strip_prefix("\\u")?;
        let low = u32::from_str_radix(low, 16).ok()?;
        return (0xDC00..0xE000).contains(&low).then_some((12, 4));
    }
    char::from_u32(high).map(|c| (6, c.len_utf8()))
}

/// The inside of a JSON string (no quotes) that decodes to `text`.
pub(crate) fn escaped(text: &str) -> String {
    let quoted = serde_json::Value::from(text).to_string();
    quoted
        .get(1..quoted.len().saturating_sub(1))
        .unwrap_or_default()
        .to_owned()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_text_of_lines_is_the_list_of_its_lines() {
        let text = "{\"a\": 1}\n\n{\"b/c\": [\"x\"]}\r\n";
        let found = locate_all(text, &["/1/b~1c/0", "/0/a", "/1/b~1c", "/0/b"]).unwrap();
        let raw: Vec<Option<&str>> = found.iter().map(|f| f.map(|f| &text[f.span()])).collect();
        assert_eq!(raw, [Some("\"x\""), Some("1"), Some("[\"x\"]"), None]);
        assert!(locate_all(text, &["/2"]).is_err());
    }

    #[test]
    fn spans_point_at_the_value_even_when_texts_repeat() {
        let text = r#" {"a": "x", "b": ["x", {"a": "x"}], "a": 1} "#;
        let root = Located::parse(text).unwrap();
        let members = root.members().unwrap();
        assert_eq!(
            members.iter().map(|m| m.0.as_str()).collect::<Vec<_>>(),
            ["a", "b", "a"]
        );
        let inner = members[1].1.elements().unwrap()[1].members().unwrap()[0].1;
        assert_eq!(&text[inner.span()], "\"x\"");
        assert_eq!(inner.span().start, text.rfind("\"x\"").unwrap());
    }

    /// Any string, each character written in one of the ways JSON allows.
    fn spelled() -> impl Strategy<Value = (String, String)> {
        prop::collection::vec((any::<char>(), 0u8..3), 0..40).prop_map(|chars| {
            let (mut plain, mut raw) = (String::new(), String::from("\""));
            for (c, style) in chars {
                plain.push(c);
                match (c, style) {
                    (_, 0) => {
                        let mut units = [0u16; 2];
                        for unit in c.encode_utf16(&mut units) {
                            raw.push_str(&format!("\\u{unit:04x}"));
                        }
                    }
                    _ => raw.push_str(&escaped(&c.to_string())),
                }
            }
            raw.push('"');
            (plain, raw)
        })
    }

    proptest! {
        #[test]
        fn a_decoded_range_maps_to_the_bytes_that_spell_it((plain, raw) in spelled(), a: prop::sample::Index, b: prop::sample::Index) {
            prop_assert_eq!(&serde_json::from_str::<String>(&raw).unwrap(), &plain);
            let mut cuts: Vec<usize> = plain.char_indices().map(|(i, _)| i).chain([plain.len()]).collect();
            cuts.sort_unstable();
            let (a, b) = (cuts[a.index(cuts.len())], cuts[b.index(cuts.len())]);
            let range = a.min(b)..a.max(b);
            let found = raw_range(&raw, &range).unwrap();
            let piece: String = serde_json::from_str(&format!("\"{}\"", &raw[found])).unwrap();
            prop_assert_eq!(piece, &plain[range]);
        }
    }
}
