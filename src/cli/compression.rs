//! gzip and Zstandard, told from the suffix of a file's name.

use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};

use flate2::bufread::MultiGzDecoder;
use flate2::write::GzEncoder;

/// How a file is compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Compression {
    None,
    Gzip,
    Zstd,
}

/// Bytes that are read or written at once.
const BUFFER: usize = 256 << 10;

impl Compression {
    /// From the last suffix.
    pub fn of(path: &Path) -> Self {
        match path.extension().and_then(|e| e.to_str()) {
            Some("gz") => Self::Gzip,
            Some("zst") => Self::Zstd,
            _ => Self::None,
        }
    }

    /// The name without the suffix of compression.
    pub fn inner(path: &Path) -> PathBuf {
        match Self::of(path) {
            Self::None => path.to_owned(),
            _ => path.with_extension(""),
        }
    }

    /// What is done when it is read, for messages.
    pub fn reading(self) -> &'static str {
        match self {
            Self::None => "reading",
            Self::Gzip => "reading, as gzip by its suffix",
            Self::Zstd => "reading, as Zstandard by its suffix",
        }
    }

    /// What the file holds, decompressed.
    pub fn reader(self, file: File) -> io::Result<Box<dyn BufRead>> {
        let file = BufReader::with_capacity(BUFFER, file);
        Ok(match self {
            Self::None => Box::new(file),
            Self::Gzip => Box::new(BufReader::with_capacity(BUFFER, MultiGzDecoder::new(file))),
            Self::Zstd => {
                let decoder = zstd::Decoder::with_buffer(file)?;
                Box::new(BufReader::with_capacity(BUFFER, decoder))
            }
        })
    }

    /// A file that holds what is written, compressed. The same bytes for the same content, however it is cut into writes.
    pub fn writer(self, file: File) -> io::Result<Writer> {
        let file = BufWriter::with_capacity(BUFFER, file);
        Ok(match self {
            Self::None => Writer::Plain(file),
            Self::Gzip => Writer::Gzip(Pieces::new(GzEncoder::new(
                file,
                flate2::Compression::default(),
            ))),
            Self::Zstd => Writer::Zstd(zstd::Encoder::new(file, 0)?),
        })
    }
}

/// A file being written.
pub(crate) enum Writer {
    Plain(BufWriter<File>),
    Gzip(Pieces<GzEncoder<BufWriter<File>>>),
    Zstd(zstd::Encoder<'static, BufWriter<File>>),
}

impl Writer {
    /// Ends the compressed stream and brings everything to the disk.
    pub fn finish(self) -> io::Result<()> {
        let file = match self {
            Self::Plain(file) => file,
            Self::Gzip(pieces) => pieces.into_inner()?.finish()?,
            Self::Zstd(encoder) => encoder.finish()?,
        };
        file.into_inner()
            .map_err(io::IntoInnerError::into_error)?
            .sync_all()
    }
}

/// Hands on what it is given in pieces of [`BUFFER`] bytes: what some implementations of deflate make of a text depends on where it is cut.
pub(crate) struct Pieces<W> {
    inner: W,
    piece: Vec<u8>,
}

impl<W: Write> Pieces<W> {
    fn new(inner: W) -> Self {
        Self {
            inner,
            piece: Vec::with_capacity(BUFFER),
        }
    }

    fn into_inner(mut self) -> io::Result<W> {
        self.inner.write_all(&self.piece)?;
        Ok(self.inner)
    }
}

impl<W: Write> Write for Pieces<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let taken = bytes.len().min(BUFFER - self.piece.len());
        self.piece.extend(bytes.iter().take(taken));
        if self.piece.len() == BUFFER {
            self.inner.write_all(&self.piece)?;
            self.piece.clear();
        }
        Ok(taken)
    }

    /// Everything so far reaches the inner writer, but for a piece that is not full yet.
    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

impl Write for Writer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Plain(file) => file.write(bytes),
            Self::Gzip(encoder) => encoder.write(bytes),
            Self::Zstd(encoder) => encoder.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Plain(file) => file.flush(),
            Self::Gzip(encoder) => encoder.flush(),
            Self::Zstd(encoder) => encoder.flush(),
        }
    }
}
