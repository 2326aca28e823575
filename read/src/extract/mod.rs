//! Formats whose bytes are not their text: each is turned into parts that the readers of tables and text read, with a place for every line. That happens in a worker, a process that can be killed.

#[cfg(feature = "archive")]
mod archive;
#[cfg(any(feature = "archive", feature = "office", feature = "parquet"))]
mod cells;
#[cfg(feature = "parquet")]
mod columns;
mod format;
mod job;
#[cfg(feature = "pdf")]
mod pdf;
#[cfg(feature = "picture")]
mod picture;
#[cfg(feature = "office")]
mod workbook;
#[cfg(feature = "office")]
mod workbook_merged;
mod worker;

use serde::{Deserialize, Serialize};

pub use format::Format;
pub use job::{serve, serve_bytes};
pub(crate) use worker::PictureJob;
pub use worker::{Picture, Worker};

/// What a file says, part by part.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Extract {
    /// In the order of the file.
    pub parts: Vec<Part>,
    /// What a reader should know: hidden sheets, formulas, pages.
    pub notes: Vec<String>,
    /// What could not be read, and why: whoever finds nothing cannot say that it is absent.
    pub unread: Vec<(String, String)>,
}

/// A sheet, the text of a document, the list of an archive.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Part {
    /// Its name; empty where it is the whole file.
    pub name: String,
    /// Cells between tabs, else text.
    pub table: bool,
    /// The text. A line of a sheet is the row of that number.
    pub text: String,
    /// Where lines stand, by their first byte; sorted.
    pub places: Vec<Place>,
}

/// Where a line stands on a page.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Place {
    /// The line's first byte in the text.
    pub byte: u64,
    /// From 1.
    pub page: u32,
    /// Left, top, right, bottom in points from the upper left corner.
    pub area: [f32; 4],
}

impl Part {
    /// Where the bytes of a piece stand: `Sheet!row 7`, or `page 3 box x,y,w,h`; none where lines say all.
    pub(crate) fn place(&self, bytes: &std::ops::Range<u64>, lines: (u64, u64)) -> Option<String> {
        if self.table {
            return (!self.name.is_empty()).then(|| format!("{}!row {}", self.name, lines.0));
        }
        let from = self
            .places
            .partition_point(|place| place.byte <= bytes.start)
            .saturating_sub(1);
        let covered = self.places.get(from..)?;
        let covered = covered
            .iter()
            .take_while(|place| place.byte < bytes.end.max(bytes.start + 1));
        let mut page = None;
        let mut area: Option<[f32; 4]> = None;
        for place in covered {
            if *page.get_or_insert(place.page) != place.page {
                break;
            }
            let [left, top, right, bottom] = area.unwrap_or(place.area);
            let [l, t, r, b] = place.area;
            area = Some([left.min(l), top.min(t), right.max(r), bottom.max(b)]);
        }
        let [left, top, right, bottom] = area?;
        Some(format!(
            "page {} box {:.0},{:.0},{:.0},{:.0}",
            page?,
            left.floor(),
            top.floor(),
            right.ceil() - left.floor(),
            bottom.ceil() - top.floor()
        ))
    }
}

/// How much a worker may use.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Bounds {
    /// Bytes of the file.
    pub input: u64,
    /// Bytes of text that come of it.
    pub text: u64,
    /// Bytes of address space of the process.
    pub memory: u64,
    /// Seconds of processor time.
    pub seconds: u64,
    /// Pages of a document.
    pub pages: usize,
    /// Entries of an archive.
    pub entries: usize,
    /// Bytes out for one byte in.
    pub ratio: u64,
    /// Pixels of a picture.
    pub pixels: u64,
}

impl Default for Bounds {
    fn default() -> Self {
        Self {
            input: 256 << 20,
            text: 64 << 20,
            memory: 2 << 30,
            seconds: 30,
            pages: 2_000,
            entries: 100_000,
            ratio: 250,
            pixels: 1 << 28,
        }
    }
}

/// A picture that was made of a file.
#[cfg_attr(not(any(feature = "pdf", feature = "picture")), allow(dead_code))]
pub(crate) struct Shown {
    /// Pixels shown.
    size: (u32, u32),
    /// Pixels or points of the whole.
    of: (u32, u32),
    png: Vec<u8>,
}

/// What is wrong with a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fault {
    /// What was found.
    pub found: String,
    /// What was expected.
    pub expected: String,
}

impl Fault {
    pub(crate) fn new(found: impl ToString, expected: &str) -> Self {
        Self {
            found: found.to_string(),
            expected: expected.to_owned(),
        }
    }

    pub(crate) fn over(found: u64, unit: &str, limit: u64) -> Self {
        Self::new(format_args!("{found} {unit}"), &format!("at most {limit}"))
    }
}
