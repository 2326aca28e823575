//! How are bytes taken from a header without believing the numbers in it?

/// What is wrong with a header, and where.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{place}: found {found}, expected {expected}")]
pub(super) struct Malformed {
    /// What was being read.
    pub(super) place: String,
    pub(super) found: String,
    pub(super) expected: String,
}

/// A fault before its place is known. The place is put together only when there is a fault: a vocabulary has hundreds
/// of thousands of places.
#[derive(Debug)]
pub(super) struct Fault {
    /// Byte of the file.
    at: usize,
    found: String,
    expected: String,
}

impl Fault {
    pub(super) fn at(self, place: impl std::fmt::Display) -> Malformed {
        Malformed {
            place: format!("{place} (byte {})", self.at),
            found: self.found,
            expected: self.expected,
        }
    }
}

/// Reads little-endian numbers and strings from the front of a slice.
#[derive(Debug, Clone)]
pub(super) struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
    /// Where `bytes` stops: the end of the file, or the longest header that is read.
    end: &'static str,
}

impl<'a> Cursor<'a> {
    pub(super) fn new(bytes: &'a [u8], end: &'static str) -> Self {
        Self { bytes, at: 0, end }
    }

    /// Bytes read so far.
    pub(super) fn position(&self) -> usize {
        self.at
    }

    /// Bytes not read yet.
    pub(super) fn left(&self) -> u64 {
        (self.bytes.len() - self.at) as u64
    }

    pub(super) fn fault(
        &self,
        found: impl std::fmt::Display,
        expected: impl std::fmt::Display,
    ) -> Fault {
        Fault {
            at: self.at,
            found: found.to_string(),
            expected: expected.to_string(),
        }
    }

    /// The next `n` bytes.
    pub(super) fn take(&mut self, n: u64) -> Result<&'a [u8], Fault> {
        let taken = usize::try_from(n)
            .ok()
            .and_then(|n| self.bytes.get(self.at..self.at.checked_add(n)?));
        let Some(taken) = taken else {
            let expected = format!("at most the {} that are left of {}", self.left(), self.end);
            return Err(self.fault(format!("a length of {n} bytes"), expected));
        };
        self.at += taken.len();
        Ok(taken)
    }

    pub(super) fn array<const N: usize>(&mut self) -> Result<[u8; N], Fault> {
        let bytes = self.take(N as u64)?;
        // `take` gives exactly N bytes.
        Ok(bytes.try_into().unwrap_or([0; N]))
    }

    pub(super) fn u32(&mut self) -> Result<u32, Fault> {
        Ok(u32::from_le_bytes(self.array()?))
    }

    pub(super) fn u64(&mut self) -> Result<u64, Fault> {
        Ok(u64::from_le_bytes(self.array()?))
    }

    /// A number of things of which each takes at least `least` bytes: refused unless they fit into what is left.
    pub(super) fn count(&mut self, what: &str, least: u64, most: u64) -> Result<u64, Fault> {
        let count = self.u64()?;
        let fitting = (self.left() / least).min(most);
        if count > fitting {
            let expected = if fitting == most {
                format!("at most {most}")
            } else {
                format!(
                    "at most {fitting}, as {} bytes are left of {}",
                    self.left(),
                    self.end
                )
            };
            return Err(self.fault(format!("{count} {what}"), expected));
        }
        Ok(count)
    }

    /// A string behind its length, which has to lie in `lengths`.
    pub(super) fn string(
        &mut self,
        lengths: std::ops::RangeInclusive<u64>,
    ) -> Result<&'a str, Fault> {
        let length = self.u64()?;
        if !lengths.contains(&length) {
            let expected = format!("{} to {} bytes", lengths.start(), lengths.end());
            return Err(self.fault(format!("a string of {length} bytes"), expected));
        }
        let bytes = self.take(length)?;
        std::str::from_utf8(bytes).map_err(|error| {
            let bad = bytes.get(error.valid_up_to()).copied().unwrap_or_default();
            let found = format!("byte 0x{bad:02x} at {} of a string", error.valid_up_to());
            self.fault(found, "UTF-8")
        })
    }
}

pub(super) fn malformed(
    place: impl Into<String>,
    found: impl Into<String>,
    expected: impl Into<String>,
) -> Malformed {
    Malformed {
        place: place.into(),
        found: found.into(),
        expected: expected.into(),
    }
}

/// At most the first 80 characters.
pub(super) fn shown(name: &str) -> String {
    match name.char_indices().nth(80) {
        Some((end, _)) => format!("{:?}...", name.get(..end).unwrap_or_default()),
        None => format!("{name:?}"),
    }
}
