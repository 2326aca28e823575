//! Pictures: size and format from the header; a small overview; a part, as large as asked.

use std::io::Cursor;

use image::imageops::FilterType;
use image::{ImageDecoder, ImageFormat, ImageReader, Limits};

use super::{Bounds, Extract, Fault, Part, PictureJob, Shown};

type Reader<'b> = ImageReader<Cursor<&'b [u8]>>;

fn reader<'b>(bytes: &'b [u8], bounds: &Bounds) -> Result<(Reader<'b>, ImageFormat), Fault> {
    let mut reader = ImageReader::new(Cursor::new(bytes))
        .with_guessed_format()
        .map_err(|error| Fault::new(error, "a picture"))?;
    let format = reader
        .format()
        .ok_or_else(|| Fault::new("an unknown format", "a picture"))?;
    let mut limits = Limits::default();
    limits.max_alloc = Some(bounds.memory / 2);
    reader.limits(limits);
    Ok((reader, format))
}

/// Width and height; too many pixels are refused before anything is decoded.
fn size(bytes: &[u8], bounds: &Bounds) -> Result<(u32, u32), Fault> {
    let (reader, _) = reader(bytes, bounds)?;
    let (width, height) = reader
        .into_dimensions()
        .map_err(|error| Fault::new(error, "a picture"))?;
    let pixels = u64::from(width) * u64::from(height);
    if pixels > bounds.pixels {
        Err(Fault::over(pixels, "pixels", bounds.pixels))
    } else {
        Ok((width, height))
    }
}

pub(super) fn extract(bytes: &[u8], bounds: &Bounds) -> Result<Extract, Fault> {
    let (width, height) = size(bytes, bounds)?;
    let (reader, format) = reader(bytes, bounds)?;
    let mut decoder = reader
        .into_decoder()
        .map_err(|error| Fault::new(error, "a picture"))?;
    let turned = decoder
        .orientation()
        .is_ok_and(|turn| turn != image::metadata::Orientation::NoTransforms);
    let colours = decoder.color_type().channel_count();
    let text = format!(
        "format: {format:?}\nsize: {width} x {height} pixels\nchannels: {colours}\ntokens: about {} (patches of 32 pixels)\n{}",
        width.div_ceil(32) * height.div_ceil(32),
        if turned {
            "turned: by its EXIF data\n"
        } else {
            ""
        }
    );
    Ok(Extract {
        parts: vec![Part {
            text,
            ..Part::default()
        }],
        notes: Vec::new(),
        unread: vec![(
            "pixels".into(),
            "look at them: nothing here reads letters in pictures".into(),
        )],
    })
}

pub(super) fn show(bytes: &[u8], job: &PictureJob, bounds: &Bounds) -> Result<Shown, Fault> {
    size(bytes, bounds)?;
    let (reader, _) = reader(bytes, bounds)?;
    let mut decoder = reader
        .into_decoder()
        .map_err(|error| Fault::new(error, "a picture"))?;
    let turn = decoder
        .orientation()
        .unwrap_or(image::metadata::Orientation::NoTransforms);
    let mut picture = image::DynamicImage::from_decoder(decoder)
        .map_err(|error| Fault::new(error, "a picture"))?;
    picture.apply_orientation(turn);
    let of = (picture.width(), picture.height());
    if let Some(area) = job.area {
        let [left, top, width, height] =
            area.map(|number| number.round().clamp(0.0, f64::from(u32::MAX)) as u32);
        let inside = left.checked_add(width).is_some_and(|right| right <= of.0)
            && top.checked_add(height).is_some_and(|bottom| bottom <= of.1);
        if width == 0 || height == 0 || !inside {
            return Err(Fault::new(
                format_args!("box {left},{top},{width},{height}"),
                &format!("a box within {} x {} pixels", of.0, of.1),
            ));
        }
        picture = picture.crop_imm(left, top, width, height);
    }
    let side = job.side.clamp(1, 4_096);
    if picture.width().max(picture.height()) > side {
        picture = picture.resize(side, side, FilterType::CatmullRom);
    }
    let size = (picture.width(), picture.height());
    let mut png = Cursor::new(Vec::new());
    picture
        .write_to(&mut png, ImageFormat::Png)
        .map_err(|error| Fault::new(error, "a picture that can be written as PNG"))?;
    Ok(Shown {
        size,
        of,
        png: png.into_inner(),
    })
}
