//! How do runs lie in a file: one, one a line, or one an element of an array? Told from the content; the name only says whether lines are to be expected.

use std::io::{self, BufRead, Read};
use std::path::Path;

use serde_json::Value;

use super::claude_code::is_event;
use super::records::BOM;
use super::{Container, FORMATS};

/// Lines and bytes that are looked at before a file of lines is taken for what it is.
const SAMPLE_LINES: usize = 64;
const SAMPLE_BYTES: usize = 8 << 20;

/// A reader that begins with the bytes that were looked at, and lets go of them when they have been read.
pub struct Replayed<R> {
    seen: Vec<u8>,
    at: usize,
    rest: R,
}

impl<R: BufRead> BufRead for Replayed<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        match self.seen.get(self.at..) {
            Some(left) if !left.is_empty() => Ok(left),
            _ => self.rest.fill_buf(),
        }
    }

    fn consume(&mut self, count: usize) {
        if self.at >= self.seen.len() {
            return self.rest.consume(count);
        }
        self.at += count;
        if self.at >= self.seen.len() {
            (self.seen, self.at) = (Vec::new(), 0);
        }
    }
}

impl<R: BufRead> Read for Replayed<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let count = self.fill_buf()?.read(out)?;
        self.consume(count);
        Ok(count)
    }

    /// What was looked at is handed over as it is: a large text should not stand in memory twice.
    fn read_to_end(&mut self, out: &mut Vec<u8>) -> io::Result<usize> {
        let before = out.len();
        if before == 0 && self.at == 0 {
            *out = std::mem::take(&mut self.seen);
        } else {
            out.extend_from_slice(self.seen.get(self.at..).unwrap_or_default());
            (self.seen, self.at) = (Vec::new(), 0);
        }
        self.rest.read_to_end(out)?;
        Ok(out.len() - before)
    }
}

/// The container of what `reader` holds, and a reader that gives all of it. `path` is the name without a suffix of compression; `forced` names the
/// format where it is not to be told from the content. A file of lines is streamed: a few lines are read here. Anything else is read whole.
pub fn detect<R: BufRead>(
    path: Option<&Path>,
    forced: Option<&str>,
    mut reader: R,
) -> io::Result<(Container, Replayed<R>)> {
    let extension = path.and_then(Path::extension).and_then(|e| e.to_str());
    let lines_by_name = matches!(extension, Some("jsonl" | "ndjson"));
    let mut seen = Vec::new();
    let mut values = Vec::new();
    let mut first_is_whole = None;
    let mut nonblank = 0;
    let mut container = None;
    loop {
        let start = seen.len();
        if reader.read_until(b'\n', &mut seen)? == 0 {
            break;
        }
        let line = trimmed(seen.get(start..).unwrap_or_default());
        if line.is_empty() {
            continue;
        }
        nonblank += 1;
        let value = serde_json::from_slice::<Value>(line).ok();
        let session = forced.is_none_or(|name| name == "claude-code");
        if nonblank == 1 && session && value.as_ref().is_some_and(is_event) {
            // The lines of a session are one run, whatever else a single line of it looks like.
            container = Some(Container::Json);
            break;
        }
        if *first_is_whole.get_or_insert(value.is_some()) || lines_by_name {
            let run = value.as_ref().is_some_and(|v| is_run(v, forced));
            // One value alone may still be an array of runs, if the name allows it.
            if run && (nonblank > 1 || lines_by_name) {
                container = Some(Container::Jsonl);
                break;
            }
            values.extend(value);
        } else {
            break;
        }
        if nonblank >= SAMPLE_LINES || seen.len() > SAMPLE_BYTES {
            break;
        }
    }
    let container = match container {
        Some(container) => container,
        None if lines_by_name || first_is_whole == Some(true) && nonblank > 1 => {
            // A session log has one message a line: its lines are a run together.
            if values.len() > 1 && is_run(&Value::Array(values), forced) {
                Container::Json
            } else {
                Container::Jsonl
            }
        }
        None => {
            let looked_at = seen.len();
            reader.read_to_end(&mut seen)?;
            // A text of one line was parsed already, and a large one should not stand in memory twice.
            let rest = trimmed(seen.get(looked_at..).unwrap_or_default());
            let only = values.pop().filter(|_| nonblank == 1 && rest.is_empty());
            whole(&seen, only, forced)
        }
    };
    let replayed = Replayed {
        seen,
        at: 0,
        rest: reader,
    };
    Ok((container, replayed))
}

/// A text that is to be read as a whole; `value` is what it holds, where that is known.
fn whole(bytes: &[u8], value: Option<Value>, forced: Option<&str>) -> Container {
    match value.map_or_else(|| serde_json::from_slice(trimmed(bytes)), Ok) {
        Ok(root) => {
            let elements = root.as_array().map(Vec::as_slice).unwrap_or_default();
            if !is_run(&root, forced) && elements.iter().any(|e| is_run(e, forced)) {
                Container::Array
            } else {
                Container::Json
            }
        }
        // Damaged: lines only where some line is a run of its own.
        Err(_) => {
            let mut lines = bytes.split(|b| *b == b'\n').map(trimmed);
            let is_lines = lines.any(|line| {
                line.first() == Some(&b'{')
                    && serde_json::from_slice(line).is_ok_and(|v| is_run(&v, forced))
            });
            if is_lines {
                Container::Jsonl
            } else {
                Container::Json
            }
        }
    }
}

fn is_run(value: &Value, forced: Option<&str>) -> bool {
    let mut formats = FORMATS
        .iter()
        .filter(|format| forced.is_none_or(|name| name == format.name()));
    formats.any(|format| format.detect(value))
}

fn trimmed(bytes: &[u8]) -> &[u8] {
    let mut bytes = bytes.strip_prefix(BOM).unwrap_or(bytes);
    let blank = |b: u8| b == 0 || b.is_ascii_whitespace();
    while let [first, rest @ ..] = bytes
        && blank(*first)
    {
        bytes = rest;
    }
    while let [rest @ .., last] = bytes
        && blank(*last)
    {
        bytes = rest;
    }
    bytes
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn of(name: &str, text: &str) -> Container {
        let (container, mut reader) = detect(Some(Path::new(name)), None, text.as_bytes()).unwrap();
        let mut again = String::new();
        reader.read_to_string(&mut again).unwrap();
        assert_eq!(again, text);
        // In two steps: a few bytes first, then all that is left.
        let (_, mut reader) = detect(Some(Path::new(name)), None, text.as_bytes()).unwrap();
        let mut begin = vec![0; text.len().min(3)];
        reader.read_exact(&mut begin).unwrap();
        reader.read_to_end(&mut begin).unwrap();
        assert_eq!(begin, text.as_bytes());
        container
    }

    const RUN: &str = r#"{"messages": [{"role": "user", "content": "a"}]}"#;
    const MESSAGE: &str = r#"{"role": "user", "content": "a"}"#;

    #[test]
    fn content_decides() {
        use Container::*;
        let lines = format!("{RUN}\n{RUN}\n");
        let broken_first = format!("{{\"messages\": [\n{RUN}\n");
        let session = format!("{MESSAGE}\n\0\0\n{MESSAGE}\n{{\"role\": \"us");
        for name in ["-", "a.json", "a.jsonl"] {
            assert_eq!(of(name, &lines), Jsonl, "{name}");
            assert_eq!(of(name, &broken_first), Jsonl, "{name}");
            assert_eq!(of(name, &session), Json, "{name}");
            assert_eq!(of(name, &format!("{RUN}\nbroken\n")), Jsonl, "{name}");
        }
        for name in ["-", "a.json"] {
            assert_eq!(of(name, "{\n \"messages\": []\n}\n"), Json);
            assert_eq!(of(name, &format!("\u{feff}{RUN}\r\n\0\0")), Json);
            assert_eq!(of(name, &format!("[{MESSAGE}, {MESSAGE}]")), Json);
            assert_eq!(of(name, &format!("[\n{RUN},\n 7,\n{RUN}\n]")), Array);
            assert_eq!(of(name, &format!("[[{MESSAGE}], [{MESSAGE}]]")), Array);
            assert_eq!(of(name, "{\n broken"), Json);
            // A first line that is longer than the sample, with and without others behind it.
            let long = RUN.replace("\"a\"", &format!("\"{}\"", "a".repeat(SAMPLE_BYTES)));
            assert_eq!(of(name, &format!("{long}\n\0\n")), Json);
            assert_eq!(of(name, &format!("{long}\n{RUN}\n")), Jsonl);
            assert_eq!(of(name, ""), Json);
        }
        assert_eq!(of("a.jsonl", ""), Jsonl);
        assert_eq!(of("a.jsonl", RUN), Jsonl);
        assert_eq!(of("a.jsonl", "{broken"), Jsonl);
    }
}
