//! Rows of a Parquet file as plain values: what the Hugging Face Hub serves most data sets as.

use std::path::{Path, PathBuf};

use crate::error::Error;
use crate::trajectory::Part;

/// One cell.
#[cfg_attr(not(feature = "parquet"), allow(dead_code))]
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Cell {
    /// No value.
    Null,
    /// A number, a truth or a date, as text.
    Plain(String),
    /// Text.
    Text(String),
    /// Bytes.
    Bytes(Vec<u8>),
    /// A list.
    List(Vec<Cell>),
    /// Named cells.
    Group(Vec<(String, Cell)>),
}

impl Cell {
    /// The cell of a name in a group.
    pub(super) fn get(&self, name: &str) -> Option<&Cell> {
        match self {
            Cell::Group(cells) => cells
                .iter()
                .find(|(own, _)| own == name)
                .map(|(_, cell)| cell),
            _ => None,
        }
    }

    /// Its text, whether it is a string or bytes that are UTF-8.
    pub(super) fn text(&self) -> Option<String> {
        match self {
            Cell::Text(text) | Cell::Plain(text) => Some(text.clone()),
            Cell::Bytes(bytes) => String::from_utf8(bytes.clone()).ok(),
            _ => None,
        }
    }

    /// Its items; none where it is no list.
    pub(super) fn items(&self) -> &[Cell] {
        match self {
            Cell::List(items) => items,
            _ => &[],
        }
    }

    /// The picture that the Hub's image type holds: encoded bytes, or a path.
    pub(super) fn picture(&self) -> Option<Part> {
        match self {
            Cell::Bytes(bytes) if !bytes.is_empty() => Some(Part::picture_bytes(bytes.clone())),
            Cell::Group(_) => {
                let bytes = self.get("bytes").and_then(Cell::picture);
                let path = || {
                    self.get("path")
                        .and_then(Cell::text)
                        .map(Part::picture_path)
                };
                bytes.or_else(path)
            }
            _ => None,
        }
    }

    /// What it is, for error messages.
    pub(super) fn say(&self) -> String {
        match self {
            Cell::Null => "nothing".into(),
            Cell::Plain(text) => text.clone(),
            Cell::Text(text) => format!("`{}`", text.chars().take(60).collect::<String>()),
            Cell::Bytes(bytes) => format!("{} bytes", bytes.len()),
            Cell::List(items) => format!("a list of {}", items.len()),
            Cell::Group(cells) => {
                let names: Vec<&str> = cells.iter().map(|(name, _)| name.as_str()).collect();
                format!("a group of {}", names.join(", "))
            }
        }
    }
}

/// Parquet files of a folder and its folders `below`, in order of names, that `own` takes.
pub(super) fn files(
    folder: &Path,
    below: &[&str],
    own: &dyn Fn(&str) -> bool,
) -> Result<Vec<PathBuf>, Error> {
    let mut out = Vec::new();
    for place in std::iter::once(folder.to_path_buf()).chain(below.iter().map(|b| folder.join(b))) {
        let Ok(entries) = std::fs::read_dir(&place) else {
            continue;
        };
        for entry in entries.flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            if name.ends_with(".parquet") && own(&name) {
                out.push(entry.path());
            }
        }
    }
    out.sort();
    match out.is_empty() {
        true => {
            let place = folder.display().to_string();
            Err(
                super::shape("", "no such file", "a Parquet file of the benchmark")
                    .in_record(place),
            )
        }
        false => Ok(out),
    }
}

/// Hands every row of a file to `take`, with its number.
#[cfg(feature = "parquet")]
pub(super) fn each(
    path: &Path,
    take: &mut dyn FnMut(usize, &Cell) -> Result<(), Error>,
) -> Result<(), Error> {
    use parquet::file::reader::{FileReader, SerializedFileReader};

    let place = path.display().to_string();
    let broken = |error: parquet::errors::ParquetError| {
        super::shape("", error.to_string(), "a Parquet file").in_record(&place)
    };
    let file = std::fs::File::open(path).map_err(|source| Error::Io {
        path: path.into(),
        action: "opening",
        source,
    })?;
    let reader = SerializedFileReader::new(file).map_err(broken)?;
    for (number, row) in reader.get_row_iter(None).map_err(broken)?.enumerate() {
        let row = cells(&row.map_err(broken)?);
        take(number, &row).map_err(|error| error.in_record(format!("{place}, row {number}")))?;
    }
    Ok(())
}

#[cfg(feature = "parquet")]
fn cells(row: &parquet::record::Row) -> Cell {
    Cell::Group(
        row.get_column_iter()
            .map(|(name, field)| (name.clone(), cell(field)))
            .collect(),
    )
}

#[cfg(feature = "parquet")]
fn cell(field: &parquet::record::Field) -> Cell {
    use parquet::record::Field;

    match field {
        Field::Null => Cell::Null,
        Field::Str(text) => Cell::Text(text.clone()),
        Field::Bytes(bytes) => Cell::Bytes(bytes.data().to_vec()),
        Field::ListInternal(list) => Cell::List(list.elements().iter().map(cell).collect()),
        Field::Group(row) => cells(row),
        other => Cell::Plain(other.to_string()),
    }
}

/// Without the feature there is nothing that could read one.
#[cfg(not(feature = "parquet"))]
pub(super) fn each(
    path: &Path,
    _: &mut dyn FnMut(usize, &Cell) -> Result<(), Error>,
) -> Result<(), Error> {
    let place = path.display().to_string();
    let found = "a Parquet file, which this build does not read";
    Err(super::shape("", found, "a build with the feature `parquet`").in_record(place))
}
