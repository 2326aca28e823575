//! Which characters hold a token together?

use unicode_segmentation::GraphemeCursor;

/// The character that begins at byte `at`, none at the end or inside a character.
pub(super) fn char_at(text: &str, at: usize) -> Option<char> {
    text.get(at..)?.chars().next()
}

/// The character that ends at byte `at`.
pub(super) fn char_before(text: &str, at: usize) -> Option<char> {
    text.get(..at)?.chars().next_back()
}

/// A letter of a script that is written without spaces between words, so it ends a token of another script.
pub(crate) fn is_unspaced(c: char) -> bool {
    matches!(c,
        '\u{1100}'..='\u{11FF}' | '\u{2E80}'..='\u{2FDF}' | '\u{3005}'..='\u{3007}' | '\u{3021}'..='\u{3029}'
        | '\u{3031}'..='\u{33FF}' | '\u{3400}'..='\u{4DBF}' | '\u{4E00}'..='\u{9FFF}' | '\u{A960}'..='\u{A97F}'
        | '\u{AC00}'..='\u{D7FF}' | '\u{F900}'..='\u{FAFF}' | '\u{FF66}'..='\u{FFDC}' | '\u{20000}'..='\u{3FFFF}')
}

/// A digit of any script, superscripts and vulgar fractions included.
pub(super) fn is_digit(c: char) -> bool {
    c.is_ascii_digit() || (!c.is_ascii() && c.is_numeric() && !is_unspaced(c))
}

/// A letter that makes words.
pub(super) fn is_letter(c: char) -> bool {
    c.is_alphabetic() && !is_unspaced(c) && !is_digit(c)
}

/// A letter, a digit or `_`: two of them side by side are never parted.
pub(super) fn is_word(c: char) -> bool {
    c == '_' || is_letter(c) || is_digit(c)
}

/// `true` where byte `at` does not cut a grapheme cluster (an accent, a flag, a joined emoji).
/// Looks at no more than some 60 bytes to either side, so a pass over a text stays linear.
pub(crate) fn is_boundary(text: &str, at: usize) -> bool {
    let ascii = |c: Option<char>| c.is_none_or(|c| c.is_ascii() && c != '\r' && c != '\n');
    if ascii(char_at(text, at)) && text.is_char_boundary(at) {
        return true; // an ASCII character other than a line break extends nothing
    }
    // 64 bytes are 16 regional indicators: an even number, so flags stay in step
    let from = text.floor_char_boundary(at.saturating_sub(64));
    let to = text.ceil_char_boundary(at.saturating_add(32).min(text.len()));
    let Some(near) = text.get(from..to) else {
        return false;
    };
    GraphemeCursor::new(at - from, near.len(), true)
        .is_boundary(near, 0)
        .unwrap_or(false)
}

/// A mark that joins whatever letter stands before it: an accent, a vowel sign. At the start of a line it stands alone, but a token that
/// began with it would be another one as soon as a space stood there instead.
pub(super) fn is_mark(c: char) -> bool {
    if c.is_ascii() {
        return false;
    }
    let mut buffer = [b'a', 0, 0, 0, 0];
    let length = 1 + c.encode_utf8(&mut buffer[1..]).len();
    let pair = buffer
        .get(..length)
        .and_then(|pair| std::str::from_utf8(pair).ok());
    pair.is_some_and(|pair| {
        GraphemeCursor::new(1, pair.len(), true).is_boundary(pair, 0) == Ok(false)
    })
}

/// `end`, moved on to the next grapheme border.
pub(super) fn grapheme_end(text: &str, mut end: usize) -> usize {
    while !is_boundary(text, end) {
        match char_at(text, end) {
            Some(c) => end += c.len_utf8(),
            None => break,
        }
    }
    end
}
