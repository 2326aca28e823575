//! Where in a damaged text did the parser stop? The JSON pointer of the value it was in, for people who look for it.

/// The pointer of the place an error names, if it names one below the top level, the parser's words, and what stands there.
pub(super) fn describe(text: &str, error: &serde_json::Error) -> String {
    let mut words = error.to_string();
    if !text.contains('\n') {
        // The record is one line; which one of the file is for the caller to say.
        words = words.replace(" at line 1 column ", " at column ");
    }
    let lines = text.split_inclusive('\n').take(error.line().max(1) - 1);
    let offset = lines.map(str::len).sum::<usize>() + error.column();
    let mut at = pointer(text, offset, error.is_eof());
    if at.len() > LONGEST {
        let end = (0..=LONGEST).rev().find(|end| at.is_char_boundary(*end));
        at.truncate(end.unwrap_or_default());
        at.push_str("...");
    }
    if !at.is_empty() {
        words = format!("{at}: {words}");
    }
    let found = text.get(offset.saturating_sub(1)..).unwrap_or_default();
    let found: String = found.chars().take(20).collect();
    if error.is_eof() || found.is_empty() {
        words + ", found the end"
    } else {
        format!("{words}, found {found:?}")
    }
}

/// Bytes of a pointer that are shown.
const LONGEST: usize = 160;

enum Frame {
    Array(usize),
    Object(Option<String>),
}

/// The pointer of the value that holds the byte before `offset`; at the `end` of the text, of the one that is not closed.
fn pointer(text: &str, offset: usize, end: bool) -> String {
    let bytes = text.as_bytes().get(..offset).unwrap_or(text.as_bytes());
    let mut stack = Vec::new();
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        at += 1;
        match byte {
            b'{' => stack.push(Frame::Object(None)),
            b'[' => stack.push(Frame::Array(0)),
            // The closing bracket where the parser stopped still belongs to what it closes.
            b'}' | b']' if end || at < bytes.len() => {
                stack.pop();
            }
            b',' => match stack.last_mut() {
                Some(Frame::Array(index)) => *index += 1,
                Some(Frame::Object(key)) => *key = None,
                None => {}
            },
            b'"' => {
                let start = at;
                let mut escaped = false;
                while let Some(byte) = bytes.get(at) {
                    at += 1;
                    match byte {
                        _ if escaped => escaped = false,
                        b'\\' => escaped = true,
                        b'"' => break,
                        _ => {}
                    }
                }
                if let Some(Frame::Object(key @ None)) = stack.last_mut() {
                    let name = text.get(start..at.saturating_sub(1)).unwrap_or_default();
                    *key = Some(name.replace('~', "~0").replace('/', "~1"));
                }
            }
            _ => {}
        }
    }
    let mut out = String::new();
    for frame in &stack {
        match frame {
            Frame::Array(index) => out.push_str(&format!("/{index}")),
            Frame::Object(Some(key)) => out.push_str(&format!("/{key}")),
            Frame::Object(None) => {}
        }
    }
    out
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn of(text: &str) -> String {
        describe(
            text,
            &serde_json::from_str::<serde_json::Value>(text).unwrap_err(),
        )
    }

    #[test]
    fn the_place_is_named() {
        assert_eq!(
            of(r#"{"a": 1, "b": [{"c/d": "x"}, {"c/d": "\ud83d!"}]}"#),
            "/b/1/c~1d: unexpected end of hex escape at column 45, found \"!\\\"}]}\""
        );
        assert_eq!(
            of("{\"a\": [1,\n 2,\n]}"),
            "/a/2: trailing comma at line 3 column 1, found \"]}\""
        );
        assert_eq!(
            of(r#"{"a": {"b": "to"#),
            "/a/b: EOF while parsing a string at column 15, found the end"
        );
        assert_eq!(
            of(r#"{"a": [{"b": 1}"#),
            "/a/0: EOF while parsing a list at column 15, found the end"
        );
        assert_eq!(of("xyz"), "expected value at column 1, found \"xyz\"");
        assert_eq!(
            of(""),
            "EOF while parsing a value at column 0, found the end"
        );
    }
}
