//! Opening the pictures of a run: below its root, or out of a data URI. Nothing is opened before an event is scored.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::DecodePaddingMode;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig};

use crate::error::{Error, PictureProblem};
use crate::trajectory::{Picture, PictureSource};

/// The folder that relative picture paths start at.
#[derive(Clone, Debug)]
pub struct PictureRoot {
    root: PathBuf,
}

const BASE64: GeneralPurpose = GeneralPurpose::new(
    &base64::alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

impl PictureRoot {
    /// Paths start at `root`.
    pub fn new(root: impl Into<PathBuf>) -> Self {
        let root: PathBuf = root.into();
        Self {
            root: if root.as_os_str().is_empty() {
                PathBuf::from(".")
            } else {
                root
            },
        }
    }

    /// The encoded bytes of a picture. Errors name its place in the run.
    pub fn open(&self, picture: &Picture) -> Result<Arc<[u8]>, Error> {
        match &picture.source {
            PictureSource::Bytes(bytes) => Ok(Arc::clone(bytes)),
            PictureSource::DataUri(uri) => {
                decode_data_uri(uri).map_err(|problem| at(picture, problem))
            }
            PictureSource::Path(path) => self
                .read(Path::new(path))
                .map_err(|problem| at(picture, problem)),
            PictureSource::Unopened(_) => Err(at(picture, PictureProblem::Unopened)),
        }
    }

    fn read(&self, path: &Path) -> Result<Arc<[u8]>, PictureProblem> {
        let root = || self.root.clone();
        let real_root = self
            .root
            .canonicalize()
            .map_err(|_| PictureProblem::Missing { root: root() })?;
        let real = self
            .root
            .join(path)
            .canonicalize()
            .map_err(|error| match error.kind() {
                io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => {
                    PictureProblem::Missing { root: root() }
                }
                _ => PictureProblem::Unreadable(error),
            })?;
        if !real.starts_with(&real_root) {
            return Err(PictureProblem::Outside { root: root() });
        }
        std::fs::read(real)
            .map(Arc::from)
            .map_err(PictureProblem::Unreadable)
    }
}

/// The error of a picture, with its address shortened.
pub(crate) fn at(picture: &Picture, problem: PictureProblem) -> Error {
    let address = match &picture.source {
        PictureSource::Path(path) => format!("`{path}`"),
        PictureSource::Unopened(address) => {
            format!("`{}`", address.chars().take(80).collect::<String>())
        }
        PictureSource::DataUri(uri) => format!("`{}...`", uri.chars().take(40).collect::<String>()),
        PictureSource::Bytes(bytes) => format!("of {} bytes", bytes.len()),
    };
    Error::Picture {
        pointer: picture.pointer.clone(),
        address,
        problem,
    }
}

fn decode_data_uri(uri: &str) -> Result<Arc<[u8]>, PictureProblem> {
    let body = uri
        .split_once(";base64,")
        .map(|(_, body)| body)
        .ok_or_else(|| PictureProblem::DataUri("no `;base64,`".into()))?;
    let clean: String;
    let body = if body.bytes().any(|b| b.is_ascii_whitespace()) {
        clean = body.split_ascii_whitespace().collect();
        &clean
    } else {
        body
    };
    BASE64
        .decode(body)
        .map(Arc::from)
        .map_err(|error| PictureProblem::DataUri(error.to_string()))
}
