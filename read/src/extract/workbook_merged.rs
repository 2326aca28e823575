//! What the library of workbooks leaves open: how large a file becomes, and merged cells of OpenDocument sheets.

use std::collections::HashMap;
use std::io::{BufReader, Cursor, Read};

use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};
use zip::ZipArchive;

use super::{Bounds, Fault};

/// Row and column from 0, the last included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Merged {
    pub from: (u32, u32),
    pub to: (u32, u32),
}

/// Refuses a ZIP file that says of itself that it becomes too large. One that lies meets the limit on memory.
pub(super) fn unpacked(bytes: &[u8], bounds: &Bounds) -> Result<(), Fault> {
    let Ok(mut zip) = ZipArchive::new(Cursor::new(bytes)) else {
        return Ok(()); // XLS is no ZIP file; the library says what is wrong with others.
    };
    let mut total = 0_u64;
    for at in 0..zip.len() {
        if let Ok(entry) = zip.by_index_raw(at) {
            total = total.saturating_add(entry.size());
        }
    }
    let most = (bytes.len() as u64)
        .saturating_mul(bounds.ratio)
        .min(bounds.memory / 4);
    if total > most {
        Err(Fault::over(total, "unpacked bytes", most))
    } else {
        Ok(())
    }
}

/// Merged cells by sheet; nothing where the file is no OpenDocument spreadsheet.
pub(super) fn merged_ods(bytes: &[u8], bounds: &Bounds) -> HashMap<String, Vec<Merged>> {
    let mut sheets: HashMap<String, Vec<Merged>> = HashMap::new();
    let Ok(mut zip) = ZipArchive::new(Cursor::new(bytes)) else {
        return sheets;
    };
    let Ok(content) = zip.by_name("content.xml") else {
        return sheets;
    };
    let mut reader = Reader::from_reader(BufReader::new(content.take(bounds.memory / 4)));
    let mut held = Vec::new();
    let (mut name, mut row, mut next_row, mut column) = (String::new(), 0_u32, 0_u32, 0_u32);
    while let Ok(event) = reader.read_event_into(&mut held) {
        match event {
            Event::Eof => break,
            Event::Start(element) | Event::Empty(element) => match element.name().as_ref() {
                "table:table" => {
                    name = attribute(&element, "table:name").unwrap_or_default();
                    next_row = 0;
                }
                "table:table-row" => {
                    row = next_row;
                    next_row =
                        next_row.saturating_add(count(&element, "table:number-rows-repeated"));
                    column = 0;
                }
                "table:table-cell" | "table:covered-table-cell" => {
                    let (rows, columns) = (
                        count(&element, "table:number-rows-spanned"),
                        count(&element, "table:number-columns-spanned"),
                    );
                    if rows > 1 {
                        let to = (
                            row.saturating_add(rows - 1),
                            column.saturating_add(columns - 1),
                        );
                        sheets.entry(name.clone()).or_default().push(Merged {
                            from: (row, column),
                            to,
                        });
                    }
                    column =
                        column.saturating_add(count(&element, "table:number-columns-repeated"));
                }
                _ => {}
            },
            _ => {}
        }
        held.clear();
    }
    sheets
}

fn attribute(element: &BytesStart<'_>, name: &str) -> Option<String> {
    let found = element
        .attributes()
        .flatten()
        .find(|attribute| attribute.key.as_ref() == name)?;
    let text = &found.value;
    Some(
        quick_xml::escape::unescape(text)
            .map_or_else(|_| text.to_string(), |text| text.into_owned()),
    )
}

/// A number of an attribute, at least 1.
fn count(element: &BytesStart<'_>, name: &str) -> u32 {
    attribute(element, name)
        .and_then(|text| text.parse().ok())
        .unwrap_or(1)
        .max(1)
}
