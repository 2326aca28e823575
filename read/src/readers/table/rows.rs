//! Records of a table, streamed, each with the bytes that it takes in the file.

use std::ops::Range;

use csv_core::{ReadRecordResult, Reader, ReaderBuilder};

use super::Dialect;
use crate::encoding::Charset;
use crate::error::Result;
use crate::limits::Limits;
use crate::readers::{Sniffed, each_block};
use crate::source::Object;

/// A record with its line end.
pub(super) struct Record<'a> {
    /// Its first byte in the file.
    pub start: u64,
    /// Its first line, from 1.
    pub line: u64,
    /// What it says, in an encoding in which ASCII letters stand for themselves.
    pub bytes: &'a [u8],
    /// That encoding: the file's, or UTF-8 in place of UTF-16.
    pub charset: Charset,
    /// Whether the file has two bytes for every ASCII letter.
    wide: bool,
}

impl Record<'_> {
    /// The bytes in the file, without the line end.
    pub fn place(&self) -> Range<u64> {
        let end = self
            .bytes
            .iter()
            .rposition(|byte| !matches!(byte, b'\n' | b'\r'))
            .map_or(0, |last| last + 1);
        let said = self.bytes.get(..end).unwrap_or(self.bytes);
        self.start..self.start + length(said, self.wide)
    }
}

/// Bytes in the file of what is held of it.
fn length(held: &[u8], wide: bool) -> u64 {
    if !wide {
        return held.len() as u64;
    }
    // A half of a pair that stands alone became one replacement letter: one unit as well.
    let units = held.iter().map(|byte| match byte {
        0x80..=0xBF => 0,
        0xF0.. => 2,
        _ => 1,
    });
    units.sum::<u64>() * 2
}

/// Hands on every record, the header included; lines before the header are not records. A record longer than the limit means an open quote: from there on quotes are letters.
pub(super) fn each_row(
    object: &Object,
    sniffed: &Sniffed,
    dialect: &Dialect,
    limits: &Limits,
    take: &mut dyn FnMut(Record<'_>) -> bool,
) -> Result<()> {
    let wide = !sniffed.charset.is_ascii_superset();
    let charset = if wide {
        Charset::utf8()
    } else {
        sniffed.charset
    };
    let mut quoting = true;
    let mut reader = ReaderBuilder::new().delimiter(dialect.delimiter).build();
    let mut held: Vec<u8> = Vec::new();
    // Where what is held begins in the file.
    let mut place = 0;
    let mut skip = dialect.preamble_lines;
    let mut line = 1;
    each_block(object, sniffed.charset, limits, |offset, block| {
        if held.is_empty() {
            place = offset;
        }
        if wide {
            held.extend_from_slice(sniffed.charset.decode(block).text.as_bytes());
        } else {
            held.extend_from_slice(block);
        }
        let at_end = offset + block.len() as u64 >= object.bytes;
        let mut at = 0;
        while at < held.len() {
            let rest = held.get(at..).unwrap_or_default();
            if skip > 0 {
                let Some(feed) = memchr::memchr(b'\n', rest) else {
                    break;
                };
                place += length(rest.get(..=feed).unwrap_or(rest), wide);
                (at, skip, line) = (at + feed + 1, skip - 1, line + 1);
                continue;
            }
            let taken = match memchr::memchr2(b'\n', b'"', rest) {
                Some(feed) if !quoting || rest.get(feed) == Some(&b'\n') => {
                    memchr::memchr(b'\n', rest.get(feed..).unwrap_or_default())
                        .map(|more| feed + more + 1)
                }
                None if !quoting => at_end.then_some(rest.len()),
                _ => record_length(&mut reader, rest, at_end, limits.record_bytes),
            };
            let taken = match taken {
                Some(taken) if !quoting || taken <= limits.record_bytes => taken,
                None if rest.len() <= limits.record_bytes => break,
                _ if quoting => {
                    quoting = false;
                    continue;
                }
                _ => rest.len(),
            };
            let bytes = rest.get(..taken).unwrap_or(rest);
            let blank = bytes.iter().all(|byte| matches!(byte, b'\n' | b'\r'));
            let record = Record {
                start: place,
                line,
                bytes,
                charset,
                wide,
            };
            if !blank && !take(record) {
                return Ok(false);
            }
            line += memchr::memchr_iter(b'\n', bytes).count() as u64;
            place += length(bytes, wide);
            at += taken.max(1);
        }
        held.drain(..at.min(held.len()));
        Ok(true)
    })
}

/// The bytes of the next record with its line end; none where the input ends within it and more may follow.
fn record_length(reader: &mut Reader, input: &[u8], at_end: bool, most: usize) -> Option<usize> {
    let mut ends = [0; 64];
    let mut sink = [0; 512];
    reader.reset();
    let mut used = 0;
    loop {
        let (result, nin, _, _) = reader.read_record(input.get(used..)?, &mut sink, &mut ends);
        used += nin;
        match result {
            ReadRecordResult::Record => {
                // A record ends at the carriage return of CRLF.
                let feed = input.get(used.wrapping_sub(1)) == Some(&b'\r')
                    && input.get(used) == Some(&b'\n');
                return Some(used + usize::from(feed));
            }
            ReadRecordResult::InputEmpty if used >= input.len() => {
                return at_end.then_some(input.len());
            }
            ReadRecordResult::End => return Some(input.len()),
            _ if used > most => return Some(used),
            _ => {}
        }
    }
}
