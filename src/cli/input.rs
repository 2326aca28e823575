//! Opening RUN: a file or standard input, plain or compressed, one run or many.

use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::compression::Compression;
use crate::Error;
use crate::formats::{
    Container, FormatError, OpenAiChat, Record, Records, detect, format_of, parse, provider,
};

/// The records of a run file.
pub(crate) struct Input {
    records: Records<Box<dyn BufRead>>,
    /// Records that were taken and given back, last first.
    given_back: Vec<Record>,
    path: PathBuf,
    container: Container,
    tolerant: bool,
    taken: usize,
    /// Bytes in all, where known.
    pub size: Option<u64>,
}

impl Input {
    /// Opens `path`; `-` is standard input. `format` names the format of the runs where it is not to be told from the content.
    pub fn open(path: &Path, format: Option<&str>) -> Result<Self, Error> {
        let (reader, size) = reader(path)?;
        let inner = Compression::inner(path);
        let (container, reader) =
            detect(Some(&inner), format, reader).map_err(|source| Error::Io {
                path: path.to_owned(),
                action: Compression::of(path).reading(),
                source,
            })?;
        Ok(Self::new(path, size, container, Box::new(reader)))
    }

    /// The same where it is known how the records lie in the file.
    pub fn open_as(path: &Path, container: Container) -> Result<Self, Error> {
        let (reader, size) = reader(path)?;
        Ok(Self::new(path, size, container, reader))
    }

    fn new(path: &Path, size: Option<u64>, container: Container, reader: Box<dyn BufRead>) -> Self {
        Self {
            records: Records::new(reader, container),
            given_back: Vec::new(),
            path: path.to_owned(),
            container,
            tolerant: false,
            taken: 0,
            size,
        }
    }

    /// Whether a run that was torn while its last line was written is read without that line.
    pub fn tolerant(mut self, tolerant: bool) -> Self {
        self.tolerant = tolerant;
        self
    }

    /// How its records lie in it.
    pub fn container(&self) -> Container {
        self.container
    }

    /// The file's name, for messages.
    pub fn name(&self) -> String {
        self.path.display().to_string()
    }

    /// Where a record stands, for messages. Of the record that was taken last.
    pub fn place(&self, record: &Record) -> String {
        let name = self.path.display();
        match self.container {
            Container::Json => name.to_string(),
            Container::Jsonl => format!("{name}, line {}", record.line),
            Container::Array => {
                let number = self.taken.saturating_sub(1);
                format!("{name}, record {number} (line {})", record.line)
            }
        }
    }

    /// The next record, blank ones included.
    pub fn next(&mut self) -> Result<Option<Record>, Error> {
        if let Some(record) = self.given_back.pop() {
            self.taken += 1;
            return Ok(Some(record));
        }
        let record = self.records.next().transpose();
        let mut record = record.map_err(|source| Error::Io {
            path: self.path.clone(),
            action: Compression::of(&self.path).reading(),
            source,
        })?;
        self.taken += usize::from(record.is_some());
        if self.container == Container::Json && record.as_ref().is_some_and(Record::is_blank) {
            let error = FormatError::Shape {
                pointer: String::new(),
                found: "nothing".into(),
                expected: "a run".into(),
            };
            return Err(Error::from(error).in_record(self.name()));
        }
        if let Some(record) = &mut record
            && self.tolerant
            && self.container == Container::Json
            && record.text().is_ok_and(|text| parse(text).is_err())
            && let Some(line) = record.without_torn_line()
        {
            let name = self.path.display();
            eprintln!(
                "spare: {name}, line {line}: torn while it was written; carried through unchanged"
            );
        }
        Ok(record)
    }

    /// Gives records back, to be taken again in the same order.
    pub fn give_back(&mut self, records: Vec<Record>) {
        self.taken -= records.len().min(self.taken);
        self.given_back.extend(records.into_iter().rev());
    }
}

fn reader(path: &Path) -> Result<(Box<dyn BufRead>, Option<u64>), Error> {
    let io = |source| Error::Io {
        path: path.to_owned(),
        action: "opening",
        source,
    };
    if path == Path::new("-") {
        return Ok((Box::new(BufReader::new(io::stdin())), None));
    }
    let file = File::open(path).map_err(io)?;
    let compression = Compression::of(path);
    let size = file.metadata().map_err(io)?.len();
    let size = (compression == Compression::None).then_some(size);
    Ok((compression.reader(file).map_err(io)?, size))
}

/// Refuses names of formats and providers that are not known, before anything is read.
pub(crate) fn check_names(format: Option<&str>, provider: Option<&str>) -> Result<(), Error> {
    let refused = |option, error| match error {
        FormatError::Shape {
            found, expected, ..
        } => Error::Option {
            option,
            found,
            expected,
        },
        other => other.into(),
    };
    if format.is_some() {
        format_of(&Value::Null, format).map_err(|error| refused("--format", error))?;
    }
    provider::of(&OpenAiChat, provider).map_err(|error| refused("--provider", error))?;
    Ok(())
}
