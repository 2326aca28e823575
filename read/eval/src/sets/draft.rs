//! A text under construction that remembers where the answers stand, and its encoding into bytes.

use std::ops::Range;

use encoding_rs::Encoding;
use fastrand::Rng;

use crate::language::Language;

/// How the finished text becomes bytes.
#[derive(Debug, Clone, Copy)]
pub enum Writing {
    /// UTF-8, with a byte order mark or not.
    Utf8 {
        /// Whether the mark is written.
        mark: bool,
    },
    /// UTF-16 with a byte order mark.
    Utf16 {
        /// Byte order.
        big_endian: bool,
    },
    /// One of the encodings of the WHATWG list.
    Legacy(&'static str),
}

impl Writing {
    /// One of the encodings that hold the language.
    pub fn of(language: &Language, rng: &mut Rng) -> Self {
        match rng.u8(..8) {
            0 => Self::Utf8 { mark: true },
            1 => Self::Utf16 { big_endian: false },
            2 => Self::Utf16 { big_endian: true },
            3 | 4 => language
                .encodings
                .get(rng.usize(..language.encodings.len().max(1)))
                .map_or(Self::Utf8 { mark: false }, |label| Self::Legacy(label)),
            _ => Self::Utf8 { mark: false },
        }
    }

    /// A short name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Utf8 { mark: true } => "utf-8-bom",
            Self::Utf8 { mark: false } => "utf-8",
            Self::Utf16 { big_endian: false } => "utf-16le",
            Self::Utf16 { big_endian: true } => "utf-16be",
            Self::Legacy(label) => label,
        }
    }

    fn length(self, text: &str) -> usize {
        match self {
            Self::Utf8 { .. } => text.len(),
            Self::Utf16 { .. } => text.encode_utf16().count() * 2,
            Self::Legacy(label) => legacy(label, text).len(),
        }
    }

    /// The bytes of `text`, and where each of `spans` lies in them.
    pub fn encode(self, text: &str, spans: &[Range<usize>]) -> (Vec<u8>, Vec<Range<usize>>) {
        let mut bytes = match self {
            Self::Utf8 { mark: true } => vec![0xEF, 0xBB, 0xBF],
            Self::Utf16 { big_endian: true } => vec![0xFE, 0xFF],
            Self::Utf16 { big_endian: false } => vec![0xFF, 0xFE],
            _ => Vec::new(),
        };
        let start = bytes.len();
        match self {
            Self::Utf8 { .. } => bytes.extend_from_slice(text.as_bytes()),
            Self::Utf16 { big_endian: true } => {
                bytes.extend(text.encode_utf16().flat_map(u16::to_be_bytes))
            }
            Self::Utf16 { big_endian: false } => {
                bytes.extend(text.encode_utf16().flat_map(u16::to_le_bytes))
            }
            Self::Legacy(label) => bytes.extend(legacy(label, text)),
        }
        let place = |at: usize| start + self.length(text.get(..at).unwrap_or(text));
        let spans = spans
            .iter()
            .map(|span| place(span.start)..place(span.end))
            .collect();
        (bytes, spans)
    }
}

fn legacy(label: &str, text: &str) -> Vec<u8> {
    Encoding::for_label(label.as_bytes()).map_or_else(
        || text.as_bytes().to_vec(),
        |encoding| encoding.encode(text).0.into_owned(),
    )
}

/// Text and marked spans.
#[derive(Debug, Default)]
pub struct Draft {
    /// What was written so far.
    pub text: String,
    /// Marked spans, in the order of `say_marked`.
    pub marks: Vec<(usize, Range<usize>)>,
}

impl Draft {
    /// Adds text.
    pub fn say(&mut self, text: &str) {
        self.text.push_str(text);
    }

    /// Adds text and marks it as `id`.
    pub fn say_marked(&mut self, id: usize, text: &str) {
        let start = self.text.len();
        self.text.push_str(text);
        self.marks.push((id, start..self.text.len()));
    }

    /// Breaks lines at spaces, near a width in characters; no byte moves.
    pub fn wrap(&mut self, width: usize) {
        let mut out = String::with_capacity(self.text.len());
        for line in self.text.split_inclusive('\n') {
            let mut column = 0;
            for word in line.split_inclusive(' ') {
                column += word.chars().count();
                if column >= width && word.ends_with(' ') {
                    out.push_str(word.strip_suffix(' ').unwrap_or(word));
                    out.push('\n');
                    column = 0;
                } else {
                    out.push_str(word);
                }
            }
        }
        self.text = out;
    }
}
