//! What can be wrong with a picture or with the preprocessor's configuration?

use thiserror::Error;

/// A picture that cannot be read or sized, or a preprocessor configuration that cannot be honoured.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ImageError {
    /// There are no bytes at all.
    #[error("picture is empty: found 0 bytes, expected a png, jpeg, webp, gif or bmp file")]
    Empty,
    /// The first bytes are those of no supported format.
    #[error(
        "picture has an unknown format: found leading bytes {found}, expected a png, jpeg, webp, gif or bmp file"
    )]
    UnknownFormat {
        /// The leading bytes, in hexadecimal.
        found: String,
    },
    /// The format is known but this file cannot be decoded: broken, cut short, or of a kind the decoder lacks.
    #[error("cannot decode {format} picture: {reason}")]
    Decode {
        /// Name of the format, in lower case.
        format: &'static str,
        /// What the decoder found.
        reason: String,
    },
    /// The file ends before the picture does.
    #[error(
        "{format} picture is cut short: found the end of the file after {found} bytes, expected {expected}"
    )]
    Truncated {
        /// Name of the format, in lower case.
        format: &'static str,
        /// Bytes that are there.
        found: usize,
        /// What should have come.
        expected: &'static str,
    },
    /// More pixels than are ever decoded or produced; see [`super::MAX_IMAGE_PIXELS`].
    #[error(
        "picture is too large: found {width} x {height} = {pixels} pixels, expected at most {limit}"
    )]
    TooLarge {
        /// Width in pixels.
        width: u64,
        /// Height in pixels.
        height: u64,
        /// `width * height`, saturated.
        pixels: u64,
        /// The limit that it breaks.
        limit: u64,
    },
    /// A side of 0 pixels.
    #[error("picture has no area: found {width} x {height} pixels, expected at least 1 x 1")]
    NoArea {
        /// Width in pixels.
        width: u64,
        /// Height in pixels.
        height: u64,
    },
    /// One side is more than [`super::MAX_ASPECT_RATIO`] times the other.
    #[error(
        "picture is too elongated: found {width} x {height}, expected an aspect ratio of at most {limit}"
    )]
    AspectRatio {
        /// Width in pixels.
        width: u64,
        /// Height in pixels.
        height: u64,
        /// The limit that it breaks.
        limit: u32,
    },
    /// Resizing is switched off and the sides do not fit the patches.
    #[error(
        "picture does not fit the patches: found {width} x {height}, expected multiples of {factor} because do_resize is false"
    )]
    NotDivisible {
        /// Width in pixels.
        width: u64,
        /// Height in pixels.
        height: u64,
        /// `patch_size * merge_size`.
        factor: usize,
    },
    /// preprocessor_config.json is not JSON, or not an object.
    #[error("preprocessor config is not a json object: {0}")]
    Json(String),
    /// A field that has no default is absent.
    #[error("preprocessor config lacks {field}: found nothing, expected {expected}")]
    MissingField {
        /// Name of the field.
        field: &'static str,
        /// What should stand there.
        expected: &'static str,
    },
    /// A field has a value that is wrong, or that this crate cannot honour.
    #[error("preprocessor config field {field}: found {found}, expected {expected}")]
    Field {
        /// Name of the field.
        field: &'static str,
        /// The value, as JSON.
        found: String,
        /// What is accepted.
        expected: &'static str,
    },
}
