//! Which pieces of a file are runs? `.json` holds one, `.jsonl` one a line, or one whose events are its lines; everything between them is
//! carried through as it is.

use std::fs::File;
use std::io::{self, BufRead};
use std::path::Path;

use super::claude_code::is_event;

/// How runs lie in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Container {
    /// The whole text is one run; its lines may be the events of it.
    Json,
    /// Each line is one run.
    Jsonl,
}

/// From the file's name; without a telling name from the text: a whole JSON value is one run, else lines.
pub fn detect(
    path: Option<&Path>,
    text: impl FnOnce() -> io::Result<Vec<u8>>,
) -> io::Result<Container> {
    match path.and_then(Path::extension).and_then(|e| e.to_str()) {
        Some("jsonl" | "ndjson") => {
            let mut reader = io::BufReader::new(File::open(path.unwrap_or(Path::new("")))?);
            let mut first = Vec::new();
            while bare(&first).is_empty() && reader.read_until(b'\n', &mut first)? > 0 {}
            return Ok(lines(&first));
        }
        Some("json") => return Ok(Container::Json),
        _ => {}
    }
    let text = text()?;
    let body = bare(&text);
    let whole = serde_json::from_slice::<&serde_json::value::RawValue>(body).is_ok();
    let many_lines = body.contains(&b'\n');
    let first = body.split(|b| *b == b'\n').next().unwrap_or_default();
    let first_is_whole = serde_json::from_slice::<&serde_json::value::RawValue>(first).is_ok();
    Ok(if whole || (many_lines && !first_is_whole) {
        Container::Json
    } else {
        lines(first)
    })
}

fn bare(text: &[u8]) -> &[u8] {
    text.strip_prefix(BOM).unwrap_or(text).trim_ascii()
}

/// Lines are runs, unless the first is an event of a session: then they are one run together.
fn lines(first: &[u8]) -> Container {
    match serde_json::from_slice(bare(first)).is_ok_and(|line| is_event(&line)) {
        true => Container::Json,
        false => Container::Jsonl,
    }
}

const BOM: &[u8] = b"\xEF\xBB\xBF";

/// One run's text, with the bytes around it that belong to no run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// Line in the file where it begins, from 1.
    pub line: usize,
    /// Bytes before the text: a byte order mark or nothing.
    pub prefix: Vec<u8>,
    /// The text; empty for a blank line.
    pub text: String,
    /// Bytes after the text: the line end.
    pub suffix: Vec<u8>,
}

impl Record {
    /// A line with nothing in it.
    pub fn is_blank(&self) -> bool {
        self.text.trim().is_empty()
    }
}

/// Records of a reader in order. Errors: reading, or text that is not UTF-8 (kind `InvalidData`, with the line).
pub struct Records<R> {
    reader: R,
    container: Container,
    line: usize,
    done: bool,
}

impl<R: BufRead> Records<R> {
    /// Reads `container` from `reader`; lines are streamed.
    pub fn new(reader: R, container: Container) -> Self {
        Self {
            reader,
            container,
            line: 0,
            done: false,
        }
    }

    fn read(&mut self) -> io::Result<Option<Record>> {
        let mut bytes = Vec::new();
        let length = match self.container {
            Container::Json => self.reader.read_to_end(&mut bytes)?,
            Container::Jsonl => self.reader.read_until(b'\n', &mut bytes)?,
        };
        self.line += 1;
        let first = self.line == 1;
        if self.container == Container::Json {
            self.done = true;
        }
        if length == 0 && !(first && self.container == Container::Json) {
            return Ok(None);
        }
        let prefix = if first && bytes.starts_with(BOM) {
            BOM.to_vec()
        } else {
            Vec::new()
        };
        let mut text = bytes.split_off(prefix.len());
        let mut suffix = Vec::new();
        if self.container == Container::Jsonl {
            let body = text.strip_suffix(b"\n").map_or(text.len(), <[u8]>::len);
            let body = text
                .get(..body)
                .and_then(|t| t.strip_suffix(b"\r"))
                .map_or(body, <[u8]>::len);
            suffix = text.split_off(body);
        }
        let text = String::from_utf8(text).map_err(|error| {
            let at = error.utf8_error().valid_up_to();
            let message = format!("line {}: byte {at} is not UTF-8", self.line);
            io::Error::new(io::ErrorKind::InvalidData, message)
        })?;
        Ok(Some(Record {
            line: self.line,
            prefix,
            text,
            suffix,
        }))
    }
}

impl<R: BufRead> Iterator for Records<R> {
    type Item = io::Result<Record>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.done {
            return None;
        }
        let item = self.read().transpose();
        if !matches!(item, Some(Ok(_))) {
            self.done = true;
        }
        item
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn records_hold_every_byte(text in "[\u{feff}a-c\r\n ]{0,60}", json: bool) {
            let container = if json { Container::Json } else { Container::Jsonl };
            let mut out = Vec::new();
            for record in Records::new(text.as_bytes(), container) {
                let record = record.unwrap();
                out.extend([record.prefix, record.text.into_bytes(), record.suffix].concat());
            }
            prop_assert_eq!(out, text.as_bytes());
        }
    }

    #[test]
    fn content_decides_where_the_name_does_not() {
        let of = |text: &str| detect(None, || Ok(text.as_bytes().to_vec())).unwrap();
        assert_eq!(of("{\"a\": 1}\n{\"a\": 2}\n"), Container::Jsonl);
        assert_eq!(of("{\n \"a\": 1\n}\n"), Container::Json);
        assert_eq!(of("{\n broken"), Container::Json);
        assert_eq!(of("{\"a\": 1}\nbroken"), Container::Jsonl);
    }
}
