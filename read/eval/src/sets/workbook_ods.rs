//! The same sheets as an OpenDocument spreadsheet, written by hand: no library of the ones used here writes it.

use std::fmt::Write as _;
use std::io::{Cursor, Write as _};

use zip::write::{SimpleFileOptions, ZipWriter};
use zip::{CompressionMethod, DateTime};

use super::workbook::{Cell, Sheet};

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}

/// Bytes of the file; empty only where memory cannot be written.
pub(super) fn ods(sheets: &[Sheet]) -> Vec<u8> {
    let mut content = String::from(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?><office:document-content xmlns:office=\"urn:oasis:names:tc:opendocument:xmlns:office:1.0\" xmlns:table=\"urn:oasis:names:tc:opendocument:xmlns:table:1.0\" xmlns:text=\"urn:oasis:names:tc:opendocument:xmlns:text:1.0\" xmlns:style=\"urn:oasis:names:tc:opendocument:xmlns:style:1.0\" office:version=\"1.3\"><office:automatic-styles><style:style style:name=\"hidden\" style:family=\"table\"><style:table-properties table:display=\"false\"/></style:style></office:automatic-styles><office:body><office:spreadsheet>",
    );
    for sheet in sheets {
        let hidden = if sheet.hidden {
            " table:style-name=\"hidden\""
        } else {
            ""
        };
        let _ = write!(
            content,
            "<table:table table:name=\"{}\"{hidden}>",
            escaped(&sheet.name)
        );
        for (at, cells) in (0_u32..).zip(&sheet.rows) {
            content.push_str("<table:table-row>");
            for (column, cell) in (0_u16..).zip(cells) {
                let covered = sheet
                    .merged
                    .iter()
                    .any(|(first, last, of)| *of == column && *first < at && at <= *last);
                let spans = sheet
                    .merged
                    .iter()
                    .find(|(first, _, of)| *of == column && *first == at);
                let span = spans.map_or_else(String::new, |(first, last, _)| {
                    format!(
                        " table:number-columns-spanned=\"1\" table:number-rows-spanned=\"{}\"",
                        last - first + 1
                    )
                });
                let _ = match cell {
                    _ if covered => write!(content, "<table:covered-table-cell/>"),
                    Cell::Empty => write!(content, "<table:table-cell/>"),
                    Cell::Text(text) => write!(
                        content,
                        "<table:table-cell{span} office:value-type=\"string\"><text:p>{}</text:p></table:table-cell>",
                        escaped(text)
                    ),
                    Cell::Number(number) => write!(
                        content,
                        "<table:table-cell office:value-type=\"float\" office:value=\"{number}\"><text:p>{number}</text:p></table:table-cell>"
                    ),
                    Cell::Day(year, month, day) => write!(
                        content,
                        "<table:table-cell office:value-type=\"date\" office:date-value=\"{year}-{month:02}-{day:02}\"><text:p>{day}/{month}/{year}</text:p></table:table-cell>"
                    ),
                    Cell::Formula(formula, result) => write!(
                        content,
                        "<table:table-cell table:formula=\"of:={formula}\" office:value-type=\"float\" office:value=\"{result}\"><text:p>{result}</text:p></table:table-cell>"
                    ),
                };
            }
            content.push_str("</table:table-row>");
        }
        content.push_str("</table:table>");
    }
    content.push_str("</office:spreadsheet></office:body></office:document-content>");
    let manifest = "<?xml version=\"1.0\"?><manifest:manifest xmlns:manifest=\"urn:oasis:names:tc:opendocument:xmlns:manifest:1.0\"><manifest:file-entry manifest:full-path=\"/\" manifest:media-type=\"application/vnd.oasis.opendocument.spreadsheet\"/><manifest:file-entry manifest:full-path=\"content.xml\" manifest:media-type=\"text/xml\"/></manifest:manifest>";
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    let stored = SimpleFileOptions::default()
        .compression_method(CompressionMethod::Stored)
        .last_modified_time(DateTime::default());
    let packed = stored.compression_method(CompressionMethod::Deflated);
    let mut write = || -> Result<(), std::io::Error> {
        for (name, options, bytes) in [
            (
                "mimetype",
                stored,
                "application/vnd.oasis.opendocument.spreadsheet",
            ),
            ("META-INF/manifest.xml", packed, manifest),
            ("content.xml", packed, content.as_str()),
        ] {
            zip.start_file(name, options)
                .map_err(std::io::Error::other)?;
            zip.write_all(bytes.as_bytes())?;
        }
        Ok(())
    };
    if write().is_err() {
        return Vec::new();
    }
    zip.finish().map(Cursor::into_inner).unwrap_or_default()
}
