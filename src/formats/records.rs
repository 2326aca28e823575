//! Which pieces of a file are records? Every byte belongs to exactly one record: its text, or what stands before or behind it.

use std::io::{self, BufRead};
use std::ops::Range;

use super::located::Located;
use super::{FormatError, parse};

/// How runs lie in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Container {
    /// The whole text is one run.
    Json,
    /// Each line is one run.
    Jsonl,
    /// The text is one JSON array, and each element is one run.
    Array,
}

pub(super) const BOM: &[u8] = b"\xEF\xBB\xBF";

/// One run's text, with the bytes around it that belong to no run: a byte order mark, line ends, NUL padding, commas between elements.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// Line in the file where its bytes begin, from 1.
    pub line: usize,
    bytes: Vec<u8>,
    text: Range<usize>,
}

impl Record {
    fn new(line: usize, bytes: Vec<u8>, text: Range<usize>) -> Self {
        let mut record = Self { line, bytes, text };
        let body = record.raw();
        let padding = |b: &&u8| **b == 0;
        let before = body.iter().take_while(padding).count();
        let behind = body.get(before..).unwrap_or_default();
        let behind = behind.iter().rev().take_while(padding).count();
        record.text = record.text.start + before..record.text.end - behind;
        record
    }

    /// Bytes before the text.
    pub fn prefix(&self) -> &[u8] {
        self.bytes.get(..self.text.start).unwrap_or_default()
    }

    /// The text's bytes; empty for a blank line.
    pub fn raw(&self) -> &[u8] {
        self.bytes.get(self.text.clone()).unwrap_or_default()
    }

    /// Bytes behind the text.
    pub fn suffix(&self) -> &[u8] {
        self.bytes.get(self.text.end..).unwrap_or_default()
    }

    /// Bytes in all.
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Whether it has no bytes at all.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// The text. Errors: bytes that are not UTF-8.
    pub fn text(&self) -> Result<&str, FormatError> {
        std::str::from_utf8(self.raw()).map_err(|error| {
            let at = error.valid_up_to();
            FormatError::NotUtf8 {
                byte: at,
                found: self.raw().get(at).copied().unwrap_or_default(),
            }
        })
    }

    /// A record with nothing in it: blanks, or the NUL bytes that a crash leaves.
    pub fn is_blank(&self) -> bool {
        let blank = |b: &u8| b.is_ascii_whitespace() || *b == 0;
        self.raw().iter().all(blank)
    }

    /// NUL bytes around the text.
    pub fn nul_bytes(&self) -> usize {
        let count = |bytes: &[u8]| bytes.iter().filter(|b| **b == 0).count();
        let inside = if self.is_blank() { self.raw() } else { &[] };
        count(self.prefix()) + count(inside) + count(self.suffix())
    }

    /// Leaves everything behind the first `length` bytes of the text to the suffix; false where the text is not that long.
    pub fn cut(&mut self, length: usize) -> bool {
        let fits = length <= self.text.len();
        if fits {
            self.text.end = self.text.start + length;
        }
        fits
    }

    /// For a run that is written one value a line and was torn while its last line was written: leaves that line to the suffix.
    /// None where this does not make the text readable; else the torn line, counted in the text from 1.
    pub fn without_torn_line(&mut self) -> Option<usize> {
        let text = self.text().ok()?;
        let body = text.trim_end_matches(|c: char| c.is_whitespace() || c == '\0');
        let end = body.rfind('\n')?;
        let rest = text.get(..end)?;
        parse(rest).ok()?;
        let line = rest.matches('\n').count() + 2;
        let end = rest.trim_end().len();
        self.cut(end).then_some(line)
    }
}

/// Records of a reader in order; lines are streamed. Errors: reading.
pub struct Records<R> {
    reader: R,
    container: Container,
    line: usize,
    /// Elements still to come, last first, of a text that has been read.
    elements: Option<(Vec<u8>, Vec<Piece>)>,
    done: bool,
}

impl<R: BufRead> Records<R> {
    /// Reads `container` from `reader`.
    pub fn new(reader: R, container: Container) -> Self {
        Self {
            reader,
            container,
            line: 1,
            elements: None,
            done: false,
        }
    }

    fn read(&mut self) -> io::Result<Option<Record>> {
        match self.container {
            Container::Json => self.whole().map(Some),
            Container::Jsonl => self.next_line(),
            Container::Array => self.element(),
        }
    }

    fn whole(&mut self) -> io::Result<Record> {
        self.done = true;
        let mut bytes = Vec::new();
        self.reader.read_to_end(&mut bytes)?;
        let text = mark(&bytes)..bytes.len();
        Ok(Record::new(1, bytes, text))
    }

    fn next_line(&mut self) -> io::Result<Option<Record>> {
        let mut bytes = Vec::new();
        if self.reader.read_until(b'\n', &mut bytes)? == 0 {
            return Ok(None);
        }
        let start = if self.line == 1 { mark(&bytes) } else { 0 };
        let body = bytes.strip_suffix(b"\n").unwrap_or(&bytes);
        let end = body.strip_suffix(b"\r").unwrap_or(body).len();
        let record = Record::new(self.line, bytes, start..end.max(start));
        self.line += 1;
        Ok(Some(record))
    }

    fn element(&mut self) -> io::Result<Option<Record>> {
        if self.elements.is_none() {
            let mut bytes = Vec::new();
            self.reader.read_to_end(&mut bytes)?;
            let Some(pieces) = pieces(&bytes) else {
                // Not an array after all: whoever reads the text says what is wrong.
                self.done = true;
                let text = mark(&bytes)..bytes.len();
                return Ok(Some(Record::new(1, bytes, text)));
            };
            self.elements = Some((bytes, pieces));
        }
        let Some((bytes, pieces)) = &mut self.elements else {
            return Ok(None);
        };
        let Some(Piece { whole, text }) = pieces.pop() else {
            return Ok(None);
        };
        let own = bytes.get(whole.clone()).unwrap_or_default().to_vec();
        let text = text.start - whole.start..text.end - whole.start;
        let before = own.get(..text.start).unwrap_or_default();
        let newlines = |bytes: &[u8]| bytes.iter().filter(|b| **b == b'\n').count();
        let line = self.line + newlines(before);
        self.line += newlines(&own);
        Ok(Some(Record {
            line,
            bytes: own,
            text,
        }))
    }
}

/// Length of a byte order mark at the start.
fn mark(bytes: &[u8]) -> usize {
    if bytes.starts_with(BOM) { BOM.len() } else { 0 }
}

/// One element of an array.
struct Piece {
    /// The bytes it brings with it: all since the element before, and after the last one everything to the end.
    whole: Range<usize>,
    /// Its own.
    text: Range<usize>,
}

/// The elements of a JSON array, last first.
fn pieces(bytes: &[u8]) -> Option<Vec<Piece>> {
    let skip = mark(bytes);
    let text = std::str::from_utf8(bytes.get(skip..)?).ok()?;
    let text = text.trim_end_matches('\0');
    let elements = Located::parse(text).ok()?.elements().ok()?;
    let mut from = 0;
    let mut out = Vec::with_capacity(elements.len());
    for element in elements {
        let own = element.span();
        let text = skip + own.start..skip + own.end;
        let whole = from..text.end;
        from = text.end;
        out.push(Piece { whole, text });
    }
    out.last_mut()?.whole.end = bytes.len();
    out.reverse();
    Some(out)
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

    fn all(text: &[u8], container: Container) -> Vec<Record> {
        Records::new(text, container).map(Result::unwrap).collect()
    }

    proptest! {
        #[test]
        fn records_hold_every_byte(text in "[\u{feff}a-c\r\n\0 \\[\\],{}\"]{0,60}", which in 0..3usize) {
            let container = [Container::Json, Container::Jsonl, Container::Array][which];
            let mut out = Vec::new();
            for record in all(text.as_bytes(), container) {
                out.extend([record.prefix(), record.raw(), record.suffix()].concat());
            }
            prop_assert_eq!(out, text.as_bytes());
        }
    }

    #[test]
    fn padding_and_line_ends_stay_outside_the_text() {
        let text = b"\xEF\xBB\xBF{}\r\n\r\n\0\0\0\n\0\0{\"a\":\"\xE2\x80\xA8\"}\0\n{\"torn";
        let records = all(text, Container::Jsonl);
        let raw: Vec<&[u8]> = records.iter().map(Record::raw).collect();
        assert_eq!(
            raw,
            [
                &b"{}"[..],
                b"",
                b"",
                b"{\"a\":\"\xE2\x80\xA8\"}",
                b"{\"torn"
            ]
        );
        assert_eq!(
            records.iter().map(Record::nul_bytes).collect::<Vec<_>>(),
            [0, 0, 3, 3, 0]
        );
        assert_eq!(
            records.iter().map(|r| r.line).collect::<Vec<_>>(),
            [1, 2, 3, 4, 5]
        );
    }

    #[test]
    fn elements_of_an_array_are_records() {
        let records = all(b"[ {\"a\": 1},\n [2] ]\n", Container::Array);
        let raw: Vec<&[u8]> = records.iter().map(Record::raw).collect();
        assert_eq!(raw, [&b"{\"a\": 1}"[..], b"[2]"]);
        assert_eq!(records[1].line, 2);
        assert_eq!(records[1].suffix(), b" ]\n");
    }

    #[test]
    fn a_torn_last_line_can_be_left_out() {
        let mut record = all(b"{\"a\": 1}\n{\"b\": 2}\n{\"c\": \0\0\n", Container::Json).remove(0);
        assert_eq!(record.without_torn_line(), Some(3));
        assert_eq!(record.raw(), b"{\"a\": 1}\n{\"b\": 2}");
        assert_eq!(record.suffix(), b"\n{\"c\": \0\0\n");
    }
}
