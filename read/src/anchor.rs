//! Which bytes of which content does a piece of evidence stand on?

use std::fmt;
use std::ops::Range;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::error::Error;

/// A place in a file. Its short form is `PATH:LINE-LINE@BYTE-BYTE#CONTENT`, and ` AT` behind it where the format has places of its own.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Anchor {
    /// Below the root, with `/`; a sheet stands behind a `!`.
    pub path: String,
    /// Lines from 1, the last included.
    pub lines: (u64, u64),
    /// Bytes, the end excluded; of that text, where the bytes of the file are none.
    pub bytes: Range<u64>,
    /// The content hash of the whole file when it was read; of a format whose bytes are not its text, of the text of the part.
    pub content: String,
    /// JSON pointer, `row N`, `Sheet!row N`, `page N box x,y,w,h` or symbol.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<String>,
}

impl fmt::Display for Anchor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.path, self.lines.0)?;
        if self.lines.1 != self.lines.0 {
            write!(f, "-{}", self.lines.1)?;
        }
        write!(
            f,
            "@{}-{}#{}",
            self.bytes.start, self.bytes.end, self.content
        )?;
        self.at.as_ref().map_or(Ok(()), |at| write!(f, " {at}"))
    }
}

impl FromStr for Anchor {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let bad = || Error::Anchor {
            found: text.to_owned(),
        };
        // What stands behind the hash may have this sign too.
        let hash = |at: usize| {
            let rest = text.get(at + 1..)?;
            let digits = rest.get(..16)?;
            let ends = matches!(rest.as_bytes().get(16), None | Some(b' '));
            (ends && digits.bytes().all(|digit| digit.is_ascii_hexdigit()))
                .then_some((text.get(..at)?, rest))
        };
        let mut signs = text.match_indices('#');
        let (place, rest) = signs.find_map(|(at, _)| hash(at)).ok_or_else(bad)?;
        let (content, at) = match rest.split_once(' ') {
            Some((content, at)) => (content, Some(at.to_owned())),
            None => (rest, None),
        };
        let (place, bytes) = place.rsplit_once('@').ok_or_else(bad)?;
        let (path, lines) = place.rsplit_once(':').ok_or_else(bad)?;
        let pair = |text: &str| -> Option<(u64, u64)> {
            match text.split_once('-') {
                Some((start, end)) => Some((start.parse().ok()?, end.parse().ok()?)),
                None => text.parse().ok().map(|line| (line, line)),
            }
        };
        let (start, end) = pair(bytes)
            .filter(|(start, end)| start <= end)
            .ok_or_else(bad)?;
        let lines = pair(lines)
            .filter(|(first, last)| first <= last)
            .ok_or_else(bad)?;
        if content.len() != 16 || path.is_empty() {
            return Err(bad());
        }
        Ok(Self {
            path: path.to_owned(),
            lines,
            bytes: start..end,
            content: content.to_owned(),
            at,
        })
    }
}
