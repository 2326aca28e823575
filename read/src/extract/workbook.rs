//! Workbooks: every sheet, hidden ones too, as lines of cells between tabs; line N is row N. A merged label stands in every row that it spans, a day is a day, a formula is its last result.

use std::fmt::Write as _;
use std::io::Cursor;

use calamine::{Data, DataType, Reader, SheetVisible, Sheets, open_workbook_auto_from_rs};

use super::workbook_merged::{Merged, merged_ods, unpacked};
use super::{Bounds, Extract, Fault, Part, cells};

/// Rows and columns of the widest format.
const ROWS: u64 = 1 << 20;
const COLUMNS: u64 = 1 << 14;
/// Rows of a sheet that may be empty before its first cell and still count as lines.
const GAP: u32 = 100_000;

pub(super) fn extract(bytes: Vec<u8>, bounds: &Bounds) -> Result<Extract, Fault> {
    unpacked(&bytes, bounds)?;
    let merged_ods = merged_ods(&bytes, bounds);
    let broken = |error: &dyn std::fmt::Display| Fault::new(error, "a workbook");
    let mut book =
        open_workbook_auto_from_rs(Cursor::new(bytes)).map_err(|error| broken(&error))?;
    let mut extract = Extract::default();
    let sheets: Vec<_> = book.sheets_metadata().to_vec();
    let mut left = bounds.text;
    let mut formulas = 0_usize;
    for sheet in &sheets {
        let range = match book.worksheet_range(&sheet.name) {
            Ok(range) => range,
            Err(error) => {
                extract.unread.push((sheet.name.clone(), error.to_string()));
                continue;
            }
        };
        let (Some(first), Some(last)) = (range.start(), range.end()) else {
            continue;
        };
        if u64::from(last.0) >= ROWS || u64::from(last.1) >= COLUMNS || first.0 > GAP {
            extract.unread.push((
                sheet.name.clone(),
                format!("cells at row {}, column {}", last.0 + 1, last.1 + 1),
            ));
            continue;
        }
        if sheet.visible != SheetVisible::Visible {
            extract
                .notes
                .push(format!("{}: a hidden sheet", sheet.name));
        }
        let merged = match &mut book {
            Sheets::Xlsx(book) => book
                .merge_cells_by_sheet_name(&sheet.name)
                .unwrap_or_default()
                .into_iter()
                .map(|area| Merged {
                    from: area.start,
                    to: area.end,
                })
                .collect(),
            _ => merged_ods.get(&sheet.name).cloned().unwrap_or_default(),
        };
        let mut labels = Labels::new(merged);
        let mut text = "\n".repeat(first.0 as usize);
        let mut wide = 0;
        for (row, values) in (first.0..).zip(range.rows()) {
            let mut said_here = vec![String::new(); first.1 as usize];
            said_here.extend(
                (first.1..)
                    .zip(values)
                    .map(|(column, cell)| labels.of((row, column), said(cell))),
            );
            let line = cells::line(said_here, &mut wide);
            if (text.len() + line.len()) as u64 > left {
                extract.unread.push((
                    sheet.name.clone(),
                    format!(
                        "more than {} bytes of text, from row {}",
                        bounds.text,
                        row + 1
                    ),
                ));
                break;
            }
            text.push_str(&line);
            text.push('\n');
        }
        left = left.saturating_sub(text.len() as u64);
        if let Ok(range) = book.worksheet_formula(&sheet.name) {
            formulas += range.used_cells().count();
        }
        extract.parts.push(Part {
            name: sheet.name.clone(),
            table: true,
            text,
            places: Vec::new(),
        });
    }
    if formulas > 0 {
        extract
            .notes
            .push(format!("{formulas} formulas: their last results are shown"));
    }
    Ok(extract)
}

/// A cell without tabs and line ends.
fn said(cell: &Data) -> String {
    let mut out = String::new();
    let _ = match cell {
        Data::Empty => Ok(()),
        Data::DateTime(moment) if moment.is_datetime() => {
            let (year, month, day, hour, minute, second, _) = moment.to_ymd_hms_milli();
            let day_only = (hour, minute, second) == (0, 0, 0);
            let whole = write!(out, "{year:04}-{month:02}-{day:02}");
            if day_only {
                whole
            } else {
                write!(out, " {hour:02}:{minute:02}:{second:02}")
            }
        }
        Data::DateTime(moment) => {
            let seconds = (moment.as_f64() * 86_400.0).round() as i64;
            write!(
                out,
                "{}:{:02}:{:02}",
                seconds / 3_600,
                seconds / 60 % 60,
                seconds % 60
            )
        }
        Data::DateTimeIso(text) => {
            write!(out, "{}", text.strip_suffix("T00:00:00").unwrap_or(text))
        }
        Data::Float(number) => write!(out, "{number}"),
        other => write!(
            out,
            "{}",
            other.as_string().unwrap_or_else(|| other.to_string())
        ),
    };
    cells::cell(&out)
}

/// What merged cells say, row by row.
struct Labels {
    areas: Vec<(Merged, String)>,
}

impl Labels {
    fn new(mut areas: Vec<Merged>) -> Self {
        // Across a row a label is a title; down a column it belongs to every row.
        areas.retain(|area| area.to.0 > area.from.0);
        areas.sort_by_key(|area| std::cmp::Reverse(area.from));
        Self {
            areas: areas
                .into_iter()
                .map(|area| (area, String::new()))
                .collect(),
        }
    }

    /// What stands at a cell: its own text, or that of the merged cell above it.
    fn of(&mut self, (row, column): (u32, u32), said: String) -> String {
        // The areas are sorted backwards, and rows come in order: those that are over go from the end.
        while self.areas.last().is_some_and(|(area, _)| area.to.0 < row) {
            self.areas.pop();
        }
        for (area, label) in self.areas.iter_mut().rev() {
            if area.from.0 > row {
                break;
            }
            if area.to.0 < row || !(area.from.1..=area.to.1).contains(&column) {
                continue;
            }
            if (row, column) == area.from {
                label.clone_from(&said);
                return said;
            }
            return if column == area.from.1 {
                label.clone()
            } else {
                said
            };
        }
        said
    }
}
