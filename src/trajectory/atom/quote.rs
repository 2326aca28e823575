//! Where does a quoted string end, and which marks are apostrophes or inches instead?

use super::class::{char_at, char_before, is_boundary, is_word};

/// Longer strings are prose; the limit also keeps the recogniser linear when quotes stay open.
const MAX_BYTES: usize = 300;

/// The closing marks of an opening one; `true` where opening and closing look the same.
fn closing(open: char) -> Option<(&'static str, bool)> {
    Some(match open {
        '"' => ("\"", true),
        '\'' => ("'", true),
        '`' => ("`", true),
        '＂' => ("＂", true),
        '“' => ("”", false),
        '‘' => ("’", false),
        '„' => ("“”", false),
        '«' => ("»", false),
        '‹' => ("›", false),
        '「' => ("」", false),
        '『' => ("』", false),
        '《' => ("》", false),
        _ => return None,
    })
}

/// One past the closing mark of the quotation that begins at `at`, on one line and not empty.
pub(super) fn quote_at(text: &str, at: usize) -> Option<usize> {
    let open = char_at(text, at)?;
    let (close, straight) = closing(open)?;
    let content = at + open.len_utf8();
    let first = char_at(text, content)?;
    if first.is_whitespace() || close.contains(first) || !is_boundary(text, content) {
        return None;
    }
    // after a word a straight mark is an apostrophe or an inch
    if straight && char_before(text, at).is_some_and(is_word) {
        return None;
    }
    let mut depth = 0;
    let mut before = open;
    let mut escaped = false;
    for (offset, c) in text.get(content..)?.char_indices() {
        if offset > MAX_BYTES || c == '\n' || c == '\r' {
            return None;
        }
        let end = content + offset + c.len_utf8();
        if escaped {
            escaped = false;
        } else if c == '\\' && straight {
            escaped = true;
        } else if close.contains(c) {
            let after = char_at(text, end);
            let apostrophe = after.is_some_and(is_word) && (straight || c == '’');
            if straight
                && (before.is_whitespace() || before == '(')
                && after.is_some_and(|a| !a.is_whitespace())
            {
                return None; // another quotation opens: this one never closed
            }
            if depth > 0 {
                depth -= 1;
            } else if !apostrophe && !before.is_whitespace() && is_boundary(text, end) {
                return Some(end);
            }
        } else if c == open && !straight {
            depth += 1;
        }
        before = c;
    }
    None
}

/// The text within, if `text` is one quotation from end to end, else `text` itself.
pub(super) fn inner(text: &str) -> &str {
    let unquoted = || {
        let open = text.chars().next()?;
        let end = quote_at(text, 0)?;
        let close = text.chars().next_back()?;
        (end == text.len()).then(|| text.get(open.len_utf8()..text.len() - close.len_utf8()))?
    };
    unquoted().unwrap_or(text)
}
