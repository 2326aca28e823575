//! Which part of a text stands between think tags? Models write `<think>..</think>answer`; where the opening tag stood in the prompt, the closing
//! one alone; at a token limit, the opening one alone. A text may also speak of the tags: what could be read in two ways is left alone.

use std::ops::Range;

use super::Frozen;

const OPEN: &str = "<think>";
pub(crate) const CLOSE: &str = "</think>";

/// Reasoning between tags.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Tagged {
    /// Bytes between the tags; from the start where the opening one stood in the prompt.
    pub(crate) inner: Range<usize>,
    /// Why it must stay: its end is not known.
    pub(crate) frozen: Option<Frozen>,
}

/// The reasoning at the start of a text. None where it does not begin with reasoning.
pub(crate) fn tagged(text: &str) -> Option<Tagged> {
    let lead = text.len() - text.trim_start().len();
    let start = lead + OPEN.len();
    let last = text.rfind(CLOSE);
    if text.get(lead..)?.starts_with(OPEN) {
        let Some(last) = last else {
            return Some(Tagged {
                inner: start..text.len(),
                frozen: Some(Frozen::UnclosedThink),
            });
        };
        // One tag of each kind pairs, in whatever text it stands.
        let alone = text.find(CLOSE) == Some(last) && text.rfind(OPEN) == Some(lead);
        let end = if alone { Some(last) } else { paired(text) };
        return Some(Tagged {
            inner: start..end.unwrap_or(last),
            frozen: end.is_none().then_some(Frozen::AmbiguousThink),
        });
    }
    // Opened in the prompt, unless the first tag is an opening one: then the text only speaks of tags.
    let tags = tags(text);
    let end = tags.first().filter(|tag| !tag.opens)?.at;
    let more = tags.len() > 1;
    Some(Tagged {
        inner: 0..if more { last? } else { end },
        frozen: more.then_some(Frozen::AmbiguousThink),
    })
}

/// The text between the tags of a content, if it has them.
pub(crate) fn think_text(content: &str) -> Option<&str> {
    content.get(tagged(content)?.inner)
}

/// Whether `text` may stand in the content of a message without being read as a think tag.
pub(crate) fn is_free_of_tags(text: &str) -> bool {
    !text.contains(OPEN) && !text.contains(CLOSE)
}

#[derive(Clone, Copy)]
struct Tag {
    at: usize,
    opens: bool,
}

/// Tags in order, without those in code: between backticks of one line, or in a fenced block.
fn tags(text: &str) -> Vec<Tag> {
    let (mut out, mut fenced, mut start) = (Vec::new(), false, 0);
    for line in text.split_inclusive('\n') {
        fenced ^= line.trim_start().starts_with("```");
        let last_tick = line.rfind('`').unwrap_or(0);
        let (mut ticks, mut counted) = (0, 0);
        for (at, _) in line.match_indices('<').filter(|_| !fenced) {
            let rest = line.get(at..).unwrap_or_default();
            let opens = rest.starts_with(OPEN);
            ticks += line.get(counted..at).map_or(0, |t| t.matches('`').count());
            counted = at;
            let in_span = ticks % 2 == 1 && at < last_tick;
            if (opens || rest.starts_with(CLOSE)) && !in_span {
                let at = start + at;
                out.push(Tag { at, opens });
            }
        }
        start += line.len();
    }
    out
}

/// Where the closing tag of a text's first tag stands. None where the tags do not pair.
fn paired(text: &str) -> Option<usize> {
    let (mut depth, mut end) = (0usize, None);
    for tag in tags(text) {
        depth = match tag.opens {
            true => depth + 1,
            false => depth.checked_sub(1)?,
        };
        if depth == 0 && end.is_none() {
            end = Some(tag.at);
        }
    }
    end.filter(|_| depth == 0)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use proptest::prelude::*;

    fn of(text: &str) -> Option<(&str, Option<&'static str>)> {
        let found = tagged(text)?;
        let code = found.frozen.map(Frozen::code);
        Some((text.get(found.inner).unwrap(), code))
    }

    #[test]
    fn a_pair_at_the_start_is_reasoning() {
        for (text, inner) in [
            ("<think>a</think>b", "a"),
            (" \n<think>\na\n</think>\n\nb", "\na\n"),
            ("a</think>b", "a"),
            // Nested, and closed where the first one is.
            (
                "<think>a <think>b</think> c</think>d",
                "a <think>b</think> c",
            ),
            // Quoted tags are words, before and behind the end.
            ("<think>`</think>` ends it</think>b", "`</think>` ends it"),
            (
                "<think>a\n```\n<think>\n```\nb</think>c",
                "a\n```\n<think>\n```\nb",
            ),
            ("<think>a</think>Write `<think>` first.", "a"),
            ("<think>a</think>Write <think>x</think> first.", "a"),
            ("`</think>` ends it</think>b", "`</think>` ends it"),
            // A stray backtick hides no tag that is the only one.
            ("<think>the ` key</think>b `", "the ` key"),
        ] {
            assert_eq!(of(text), Some((inner, None)), "{text}");
        }
    }

    #[test]
    fn what_has_no_end_or_two_is_left_alone() {
        for (text, inner, why) in [
            ("<think>a", "a", "unclosed_think"),
            (
                "<think>a </think> ends it</think>b",
                "a </think> ends it",
                "ambiguous_think",
            ),
            (
                "<think>a <think> starts it</think>b",
                "a <think> starts it",
                "ambiguous_think",
            ),
            ("a</think>b</think>c", "a</think>b", "ambiguous_think"),
            (
                "a</think>Write <think>x</think>.",
                "a</think>Write <think>x",
                "ambiguous_think",
            ),
        ] {
            assert_eq!(of(text), Some((inner, Some(why))), "{text}");
        }
    }

    #[test]
    fn a_text_that_speaks_of_tags_does_not_begin_with_reasoning() {
        for text in [
            "There are <think 5 bolts.",
            "Write <think>x</think> first.",
            "Close it with `</think>`.",
            "```\n</think>\n```\nends it",
            "",
        ] {
            assert_eq!(of(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn the_reasoning_that_may_go_leaves_an_answer_without_a_loose_tag(pieces in prop::collection::vec(prop::sample::select(vec!["<think>", "</think>", "`", "\n", "```", "a", " "]), 0..12)) {
            let text = pieces.concat();
            if let Some(found) = tagged(&text).filter(|f| f.frozen.is_none()) {
                let without = format!("{}{}", &text[..found.inner.start], &text[found.inner.end..]);
                let again = tagged(&without).unwrap();
                prop_assert_eq!(again.inner.len(), 0, "{}", without);
                prop_assert_eq!(again.frozen, None);
            }
        }
    }
}
