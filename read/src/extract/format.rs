//! Which format is it? From the first bytes; within a ZIP file from its first names and the extension.

use serde::{Deserialize, Serialize};

/// A format that is extracted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Format {
    /// XLSX, XLSM, XLSB, XLS or ODS.
    Workbook,
    /// PDF.
    Pdf,
    /// PNG, JPEG, GIF, WebP or BMP.
    Picture,
    /// ZIP, and what is packed as one.
    Zip,
    /// TAR.
    Tar,
    /// GZIP, a TAR file in it or not.
    Gzip,
    /// Parquet.
    Parquet,
}

impl Format {
    /// The format of a file that begins with `head`; none where the bytes are text or unknown, or the build leaves the format out.
    pub fn of(head: &[u8], extension: &str) -> Option<Self> {
        let format = match head {
            // A few letters may stand before the header.
            _ if memchr::memmem::find(head.get(..1_024.min(head.len()))?, b"%PDF-").is_some()
                && !is_text(head) =>
            {
                Self::Pdf
            }
            [b'P', b'K', 3 | 5, 4 | 6, ..] => {
                let named = |name: &[u8]| memchr::memmem::find(head, name).is_some();
                let workbook = matches!(extension, "xlsx" | "xlsm" | "xlsb" | "ods")
                    || named(b"xl/workbook")
                    || named(b"opendocument.spreadsheet");
                if workbook { Self::Workbook } else { Self::Zip }
            }
            [0xD0, 0xCF, 0x11, 0xE0, ..] if matches!(extension, "xls" | "xlt") => Self::Workbook,
            [0x89, b'P', b'N', b'G', ..]
            | [0xFF, 0xD8, 0xFF, ..]
            | [b'G', b'I', b'F', b'8', ..] => Self::Picture,
            [
                b'R',
                b'I',
                b'F',
                b'F',
                _,
                _,
                _,
                _,
                b'W',
                b'E',
                b'B',
                b'P',
                ..,
            ] => Self::Picture,
            [b'B', b'M', _, _, _, _, 0, 0, 0, 0, ..] => Self::Picture,
            [0x1F, 0x8B, 8, ..] => Self::Gzip,
            [b'P', b'A', b'R', b'1', ..] => Self::Parquet,
            _ if head.get(257..262) == Some(b"ustar") => Self::Tar,
            _ => return None,
        };
        format.is_built().then_some(format)
    }

    /// Whether the build has the format.
    pub fn is_built(self) -> bool {
        match self {
            Self::Workbook => cfg!(feature = "office"),
            Self::Pdf => cfg!(feature = "pdf"),
            Self::Picture => cfg!(feature = "picture"),
            Self::Zip | Self::Tar | Self::Gzip => cfg!(feature = "archive"),
            Self::Parquet => cfg!(feature = "parquet"),
        }
    }

    /// Its name in words.
    pub fn name(self) -> &'static str {
        match self {
            Self::Workbook => "a workbook",
            Self::Pdf => "a PDF document",
            Self::Picture => "a picture",
            Self::Zip => "a ZIP archive",
            Self::Tar => "a TAR archive",
            Self::Gzip => "gzip data",
            Self::Parquet => "a Parquet file",
        }
    }
}

/// A text that speaks of PDF is no PDF file: those hold bytes that no text has, right behind the header.
fn is_text(head: &[u8]) -> bool {
    !head.starts_with(b"%PDF-")
        && !head
            .iter()
            .take(1_024)
            .any(|byte| *byte >= 0x80 || *byte == 0)
}
