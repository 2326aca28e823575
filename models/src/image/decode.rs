//! Which RGB pixels does a picture file hold?
//!
//! The colours are those of Pillow's `Image.open(..).convert("RGB")`: alpha and transparent colours are dropped
//! without compositing, palettes expanded, grey repeated, 16-bit samples cut to their high byte; an animation gives
//! its first frame; a colour profile and the EXIF orientation are not applied. Two things differ: a GIF whose first
//! frame does not fill its screen is black around it, and JPEGs, whose decoders may round as they like, differ by a
//! few levels where colour was subsampled.

use super::RgbImage;
use super::error::ImageError;
use super::jpeg;
use ::image::{
    DynamicImage, ImageBuffer, ImageDecoder, ImageFormat, ImageReader, Limits, Pixel, Primitive,
};
use std::io::Cursor;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Most pixels a picture may have, decoded or resized. Above it Pillow, too, refuses to decode.
pub const MAX_IMAGE_PIXELS: u64 = 178_956_970;

/// Most bytes a decoder may allocate: four samples of 16 bits for each pixel.
const MAX_DECODER_BYTES: u64 = MAX_IMAGE_PIXELS * 8;

/// Size `(width, height)` of a png, jpeg, webp, gif or bmp file, read from its header alone.
///
/// # Errors
/// Those of [`decode`], as far as the header shows them.
pub fn dimensions(bytes: &[u8]) -> Result<(u32, u32), ImageError> {
    let format = format_of(bytes)?;
    guarded(format, || {
        open(bytes, format).map(|decoder| decoder.dimensions())
    })
}

/// A picture as a png file.
///
/// # Errors
/// [`ImageError::Decode`] where the encoder refuses, as for a picture without area.
pub fn encode_png(picture: &RgbImage) -> Result<Vec<u8>, ImageError> {
    let mut out = Cursor::new(Vec::new());
    let written = picture.write_to(&mut out, ImageFormat::Png);
    written.map_err(|error| ImageError::Decode {
        format: "png",
        reason: error.to_string(),
    })?;
    Ok(out.into_inner())
}

/// The RGB pixels of a png, jpeg, webp, gif or bmp file.
///
/// # Errors
/// [`ImageError::Empty`], [`ImageError::UnknownFormat`], [`ImageError::TooLarge`] (judged from the header, before
/// pixels are allocated), [`ImageError::NoArea`], [`ImageError::Truncated`], and [`ImageError::Decode`] for anything
/// else that is wrong with the file.
pub fn decode(bytes: &[u8]) -> Result<RgbImage, ImageError> {
    let format = format_of(bytes)?;
    guarded(format, || {
        let decoder = open(bytes, format)?;
        // The jpeg decoder fills what is missing with grey instead of failing.
        if format == ImageFormat::Jpeg {
            jpeg::check_complete(bytes)?;
        }
        let image = DynamicImage::from_decoder(decoder).map_err(|error| failure(format, &error))?;
        Ok(to_rgb(image))
    })
}

fn format_of(bytes: &[u8]) -> Result<ImageFormat, ImageError> {
    if bytes.is_empty() {
        return Err(ImageError::Empty);
    }
    match ::image::guess_format(bytes) {
        Ok(format) if name_of(format).is_some() => Ok(format),
        _ => {
            let found = bytes
                .iter()
                .take(8)
                .map(|byte| format!("{byte:02x}"))
                .collect::<Vec<_>>()
                .join(" ");
            Err(ImageError::UnknownFormat { found })
        }
    }
}

/// Name of a supported format.
fn name_of(format: ImageFormat) -> Option<&'static str> {
    Some(match format {
        ImageFormat::Png => "png",
        ImageFormat::Jpeg => "jpeg",
        ImageFormat::WebP => "webp",
        ImageFormat::Gif => "gif",
        ImageFormat::Bmp => "bmp",
        _ => return None,
    })
}

/// A decoder past the header of a picture whose size is accepted.
fn open(bytes: &[u8], format: ImageFormat) -> Result<impl ImageDecoder + '_, ImageError> {
    let mut limits = Limits::no_limits();
    limits.max_alloc = Some(MAX_DECODER_BYTES);
    let mut reader = ImageReader::with_format(Cursor::new(bytes), format);
    reader.limits(limits);
    let decoder = reader
        .into_decoder()
        .map_err(|error| failure(format, &error))?;
    let (width, height) = decoder.dimensions();
    let (width, height) = (u64::from(width), u64::from(height));
    let pixels = width.saturating_mul(height);
    if pixels == 0 {
        return Err(ImageError::NoArea { width, height });
    }
    if pixels > MAX_IMAGE_PIXELS {
        return Err(ImageError::TooLarge {
            width,
            height,
            pixels,
            limit: MAX_IMAGE_PIXELS,
        });
    }
    Ok(decoder)
}

fn failure(format: ImageFormat, error: &::image::ImageError) -> ImageError {
    decode_error(format, error.to_string())
}

fn decode_error(format: ImageFormat, reason: String) -> ImageError {
    ImageError::Decode {
        format: name_of(format).unwrap_or("unknown"),
        reason,
    }
}

/// Runs a decoder on foreign bytes; a panic in it becomes an error like any other.
fn guarded<T>(
    format: ImageFormat,
    work: impl FnOnce() -> Result<T, ImageError>,
) -> Result<T, ImageError> {
    catch_unwind(AssertUnwindSafe(work))
        .unwrap_or_else(|_| Err(decode_error(format, "the decoder failed internally".into())))
}

/// Pillow's conversion to RGB.
fn to_rgb(image: DynamicImage) -> RgbImage {
    match image {
        DynamicImage::ImageRgb8(image) => image,
        DynamicImage::ImageRgba8(image) => map(&image, |[r, g, b, _]| [r, g, b]),
        DynamicImage::ImageLuma8(image) => map(&image, |[v]| [v; 3]),
        DynamicImage::ImageLumaA8(image) => map(&image, |[v, _]| [v; 3]),
        // Pillow keeps 16-bit grey without alpha as it is and then clips it to a byte, where it takes the high byte
        // of every other 16-bit picture.
        DynamicImage::ImageLuma16(image) => map(&image, |[v]: [u16; 1]| [v.min(255) as u8; 3]),
        DynamicImage::ImageLumaA16(image) => map(&image, |[v, _]| [high_byte(v); 3]),
        DynamicImage::ImageRgb16(image) => map(&image, |rgb: [u16; 3]| rgb.map(high_byte)),
        DynamicImage::ImageRgba16(image) => map(&image, |[r, g, b, _]| [r, g, b].map(high_byte)),
        other => other.to_rgb8(),
    }
}

fn high_byte(sample: u16) -> u8 {
    (sample >> 8) as u8
}

fn map<P, S, const N: usize>(
    image: &ImageBuffer<P, Vec<S>>,
    rgb: impl Fn([S; N]) -> [u8; 3],
) -> RgbImage
where
    P: Pixel<Subpixel = S>,
    S: Primitive,
{
    let mut out = RgbImage::new(image.width(), image.height());
    let (pixels, _) = image.as_raw().as_chunks::<N>();
    for (to, from) in out.chunks_exact_mut(3).zip(pixels) {
        to.copy_from_slice(&rgb(*from));
    }
    out
}
