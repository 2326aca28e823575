//! In which encoding is it, and which byte is behind which letter of the decoded text?

use std::borrow::Cow;

use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE};

/// An encoding and the length of its byte order mark.
#[derive(Debug, Clone, Copy)]
pub struct Charset {
    encoding: &'static Encoding,
    /// Bytes before the text.
    pub mark: usize,
}

impl Charset {
    /// UTF-8 without a mark.
    pub(crate) fn utf8() -> Self {
        Self {
            encoding: UTF_8,
            mark: 0,
        }
    }

    /// Guesses from the first bytes of a file; none for content that is no text.
    pub fn guess(sample: &[u8]) -> Option<Self> {
        if let Some((encoding, mark)) = Encoding::for_bom(sample) {
            return Some(Self { encoding, mark });
        }
        let plain = |encoding| Some(Self { encoding, mark: 0 });
        let zeros = |parity: usize| {
            sample
                .iter()
                .skip(parity)
                .step_by(2)
                .filter(|byte| **byte == 0)
                .count()
        };
        let (even, odd) = (zeros(0), zeros(1));
        if even + odd > 0 {
            let half = sample.len() / 2;
            return if odd > half / 4 && even * 20 < odd {
                plain(UTF_16LE)
            } else if even > half / 4 && odd * 20 < even {
                plain(UTF_16BE)
            } else {
                None
            };
        }
        match std::str::from_utf8(sample) {
            Ok(_) => return plain(UTF_8),
            // The sample may end within a letter.
            Err(error) if error.error_len().is_none() && sample.len() - error.valid_up_to() < 4 => {
                return plain(UTF_8);
            }
            Err(_) => {}
        }
        let control = sample
            .iter()
            .filter(|byte| matches!(byte, 0..=8 | 14..=26 | 28..=31 | 127))
            .count();
        if control * 50 > sample.len() {
            return None;
        }
        let invalid = sample
            .utf8_chunks()
            .filter(|chunk| !chunk.invalid().is_empty())
            .count();
        let multibyte = sample
            .utf8_chunks()
            .map(|chunk| {
                chunk
                    .valid()
                    .chars()
                    .filter(|letter| !letter.is_ascii())
                    .count()
            })
            .sum::<usize>();
        if multibyte > 10 * invalid {
            return plain(UTF_8);
        }
        let mut detector = chardetng::EncodingDetector::new(chardetng::Iso2022JpDetection::Deny);
        // The sample may end within a letter.
        detector.feed(sample, false);
        plain(detector.guess(None, chardetng::Utf8Detection::Deny))
    }

    /// Its name in the WHATWG list.
    pub fn name(self) -> &'static str {
        self.encoding.name()
    }

    /// Whether ASCII bytes stand for themselves and for nothing else, so that lines and delimiters can be found in the bytes.
    pub fn is_ascii_superset(self) -> bool {
        self.encoding != UTF_16BE && self.encoding != UTF_16LE
    }

    /// Decodes bytes that begin at a letter.
    pub fn decode(self, bytes: &[u8]) -> Decoded<'_> {
        if self.encoding == UTF_8 {
            if let Ok(text) = std::str::from_utf8(bytes) {
                return Decoded {
                    text: Cow::Borrowed(text),
                    steps: vec![(0, 0)],
                    charset: self,
                };
            }
            let mut text = String::with_capacity(bytes.len() + 64);
            let mut steps = Vec::new();
            let mut place = 0;
            for chunk in bytes.utf8_chunks() {
                steps.push((text.len(), place));
                text.push_str(chunk.valid());
                place += chunk.valid().len();
                if !chunk.invalid().is_empty() {
                    steps.push((text.len(), place));
                    text.push('\u{FFFD}');
                    place += chunk.invalid().len();
                }
            }
            steps.push((text.len(), place));
            return Decoded {
                text: Cow::Owned(text),
                steps,
                charset: self,
            };
        }
        let mut text = String::with_capacity(bytes.len() * 2);
        let mut steps = Vec::new();
        let mut start = 0;
        while start < bytes.len() {
            let end = self.line_end(bytes, start);
            steps.push((text.len(), start));
            let (line, _) = self
                .encoding
                .decode_without_bom_handling(bytes.get(start..end).unwrap_or_default());
            text.push_str(&line);
            start = end;
        }
        steps.push((text.len(), bytes.len()));
        Decoded {
            text: Cow::Owned(text),
            steps,
            charset: self,
        }
    }

    /// Behind the next line feed at or after `start`, or the end.
    fn line_end(self, bytes: &[u8], start: usize) -> usize {
        let rest = bytes.get(start..).unwrap_or_default();
        if self.is_ascii_superset() {
            return memchr::memchr(b'\n', rest).map_or(bytes.len(), |at| start + at + 1);
        }
        let feed = if self.encoding == UTF_16LE {
            [b'\n', 0]
        } else {
            [0, b'\n']
        };
        rest.chunks(2)
            .position(|unit| unit == feed)
            .map_or(bytes.len(), |at| (start + at * 2 + 2).min(bytes.len()))
    }

    /// Where a block of bytes can be cut: behind the last empty line of its second half, else behind the last line, else at its end.
    pub fn cut(self, bytes: &[u8]) -> usize {
        if self.is_ascii_superset() {
            let half = bytes.len() / 2;
            let tail = bytes.get(half..).unwrap_or_default();
            let empty = memchr::memmem::rfind(tail, b"\n\n").map(|at| half + at + 2);
            return empty
                .or_else(|| memchr::memrchr(b'\n', bytes).map(|at| at + 1))
                .unwrap_or(bytes.len());
        }
        let feed = if self.encoding == UTF_16LE {
            [b'\n', 0]
        } else {
            [0, b'\n']
        };
        bytes
            .chunks_exact(2)
            .rposition(|unit| unit == feed)
            .map_or(bytes.len() & !1, |at| at * 2 + 2)
    }

    /// Bytes of `text` in this encoding.
    fn length(self, text: &str) -> usize {
        if self.encoding == UTF_16LE || self.encoding == UTF_16BE {
            return text.chars().map(|letter| letter.len_utf16() * 2).sum();
        }
        self.encoding.encode(text).0.len()
    }
}

/// Decoded text that knows its bytes.
#[derive(Debug)]
pub struct Decoded<'a> {
    /// The text.
    pub text: Cow<'a, str>,
    /// Places of the text and of the bytes that belong together, ascending.
    steps: Vec<(usize, usize)>,
    charset: Charset,
}

impl Decoded<'_> {
    /// The byte at which the letter at `place` of the text begins.
    pub fn byte(&self, place: usize) -> usize {
        let at = self
            .steps
            .partition_point(|(text, _)| *text <= place)
            .saturating_sub(1);
        let (text, byte) = self.steps.get(at).copied().unwrap_or_default();
        if self.charset.encoding == UTF_8 {
            return byte + place - text;
        }
        byte + self
            .charset
            .length(self.text.get(text..place).unwrap_or_default())
    }
}
