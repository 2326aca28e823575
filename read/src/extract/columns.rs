//! Parquet: rows as lines of cells between tabs, the names of the columns first. Line N is row N - 1.

use bytes::Bytes;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::Field;

use super::cells::cell;
use super::{Bounds, Extract, Fault, Part};

pub(super) fn extract(bytes: Vec<u8>, bounds: &Bounds) -> Result<Extract, Fault> {
    let broken = |error: parquet::errors::ParquetError| Fault::new(error, "a Parquet file");
    let reader = SerializedFileReader::new(Bytes::from(bytes)).map_err(broken)?;
    let meta = reader.metadata().file_metadata();
    let rows = meta.num_rows();
    let names: Vec<String> = meta
        .schema()
        .get_fields()
        .iter()
        .map(|field| cell(field.name()))
        .collect();
    let mut text = names.join("\t") + "\n";
    let mut extract = Extract {
        notes: vec![format!("{rows} rows in {} groups", reader.num_row_groups())],
        ..Extract::default()
    };
    for (at, row) in reader.get_row_iter(None).map_err(broken)?.enumerate() {
        let row = row.map_err(broken)?;
        let cells: Vec<String> = row
            .get_column_iter()
            .map(|(_, field)| said(field))
            .collect();
        let line = cells.join("\t");
        if (text.len() + line.len()) as u64 > bounds.text {
            extract.unread.push((
                format!("rows from {}", at + 1),
                format!("more than {} bytes of text", bounds.text),
            ));
            break;
        }
        text.push_str(&line);
        text.push('\n');
    }
    extract.parts.push(Part {
        table: true,
        text,
        ..Part::default()
    });
    Ok(extract)
}

fn said(field: &Field) -> String {
    match field {
        Field::Null => String::new(),
        Field::Str(text) => cell(text),
        Field::Bytes(bytes) => bytes
            .as_utf8()
            .map_or_else(|_| format!("{} bytes", bytes.len()), cell),
        other => cell(&other.to_string()),
    }
}
