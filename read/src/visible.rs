//! Characters that a reader cannot see are shown as their code point, so that text cannot hide or reorder what stands in it.

/// Whether a character is shown as its code point.
fn hidden(letter: char) -> bool {
    match letter {
        '\n' | '\t' => false,
        letter if letter.is_control() => true,
        '\u{00AD}'
        | '\u{061C}'
        | '\u{180E}'
        | '\u{200B}'..='\u{200F}'
        | '\u{202A}'..='\u{202E}' => true,
        '\u{2060}'..='\u{206F}'
        | '\u{FEFF}'
        | '\u{FFF9}'..='\u{FFFB}'
        | '\u{E0000}'..='\u{E007F}' => true,
        _ => false,
    }
}

/// `text` with hidden characters as `<U+XXXX>`; a carriage return before a line feed is dropped.
///
/// ```
/// assert_eq!(spare_read::make_visible("a\u{202E}b"), "a<U+202E>b");
/// ```
pub fn make_visible(text: &str) -> String {
    if !text.chars().any(hidden) {
        return text.to_owned();
    }
    let mut out = String::with_capacity(text.len() + 16);
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        if letter == '\r' && letters.peek() == Some(&'\n') {
            continue;
        }
        if hidden(letter) {
            out.push_str(&format!("<U+{:04X}>", u32::from(letter)));
        } else {
            out.push(letter);
        }
    }
    out
}
