//! Opening RUN: a file or standard input, one run or many.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Cursor, Read};
use std::path::Path;

use crate::Error;
use crate::formats::{Container, Record, Records, detect};

/// The records of a run file.
pub(crate) struct Input {
    records: Records<Box<dyn BufRead>>,
    name: String,
    container: Container,
    /// Bytes in all, where known.
    pub size: u64,
}

impl Input {
    /// Opens `path`; `-` is standard input.
    pub fn open(path: &Path) -> Result<Self, Error> {
        let io = |action| {
            move |source| Error::Io {
                path: path.to_owned(),
                action,
                source,
            }
        };
        let (container, reader, size): (_, Box<dyn BufRead>, _) = if path == Path::new("-") {
            let mut bytes = Vec::new();
            io::stdin()
                .lock()
                .read_to_end(&mut bytes)
                .map_err(io("reading standard input"))?;
            let container = detect(None, || Ok(bytes.clone())).map_err(io("reading"))?;
            let size = bytes.len() as u64;
            (container, Box::new(Cursor::new(bytes)), size)
        } else {
            let file = File::open(path).map_err(io("opening"))?;
            let size = file.metadata().map_err(io("opening"))?.len();
            let container = detect(Some(path), || std::fs::read(path)).map_err(io("reading"))?;
            (container, Box::new(BufReader::new(file)), size)
        };
        Ok(Self {
            records: Records::new(reader, container),
            name: path.display().to_string(),
            container,
            size,
        })
    }

    /// Where a record stands, for messages.
    pub fn place(&self, record: &Record) -> String {
        match self.container {
            Container::Json => self.name.clone(),
            Container::Jsonl => format!("{}, line {}", self.name, record.line),
        }
    }

    /// The next record, blank lines included.
    pub fn next(&mut self) -> Result<Option<Record>, Error> {
        let path = || self.name.clone().into();
        self.records.next().transpose().map_err(|source| Error::Io {
            path: path(),
            action: "reading",
            source,
        })
    }
}
