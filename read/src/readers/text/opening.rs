//! Where blocks of text begin and end.

/// The level of a Markdown heading.
pub(super) fn heading_level(line: &str) -> Option<usize> {
    let level = line.bytes().take_while(|byte| *byte == b'#').count();
    ((1..=6).contains(&level) && line.as_bytes().get(level) == Some(&b' ')).then_some(level)
}

/// How surely a line begins a block of its own.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Opening {
    /// A heading, a list item, a row.
    Surely,
    /// It looks like `key: value` or `3.`, and so may a line of wrapped prose.
    Maybe,
    Not,
}

pub(super) fn opening(line: &str) -> Opening {
    let line = line.trim_start();
    let mut letters = line.chars();
    match letters.next() {
        None | Some('#' | '|' | '>' | '[' | '{' | '}' | '<') => Opening::Surely,
        Some('-' | '*' | '+' | '•')
            if letters
                .next()
                .is_some_and(|next| next == ' ' || next == '-') =>
        {
            Opening::Surely
        }
        Some('0'..='9') => {
            let head: String = line
                .chars()
                .take_while(|letter| !letter.is_whitespace())
                .collect();
            if head.len() >= 8 && head.contains(['-', ':', '/']) {
                Opening::Surely
            } else if head.ends_with(['.', ')']) {
                Opening::Maybe
            } else {
                Opening::Not
            }
        }
        Some(_) => {
            let key = line
                .split_once([':', '='])
                .filter(|(_, rest)| rest.is_empty() || rest.starts_with([' ', '\t', '\n', '\r']))
                .map(|(key, _)| key.trim_end());
            if key.is_some_and(|key| key.len() <= 48 && key.split_whitespace().count() <= 4) {
                Opening::Maybe
            } else {
                Opening::Not
            }
        }
    }
}

/// Whether prose on this line goes on in the next one.
pub(super) fn goes_on(line: &str) -> bool {
    let line = line.trim_end();
    line.chars().count() >= 45 && !line.ends_with(['.', '!', '?', ':', ';', '。', '؟', '！', '？'])
}

/// Whether nothing can follow in the same block.
pub(super) fn closes_block(block: &str) -> bool {
    heading_level(block).is_some() || block.trim_end().ends_with([':', '：'])
}
