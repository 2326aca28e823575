//! How do glyphs get on a board, and what is left of a board from afar?

use spare_models::image::{self, ImageError, Resizer, RgbImage};

/// Side of one glyph's tile in a strip of them.
pub(super) const TILE: u32 = 64;

/// Tile `number` of a strip; black where the strip has none.
pub(super) fn tile(strip: &RgbImage, number: u32) -> RgbImage {
    RgbImage::from_fn(TILE, TILE, |x, y| {
        let pixel = strip.get_pixel_checked(number * TILE + x, y).copied();
        pixel.unwrap_or([0; 3].into())
    })
}

/// White over what is there, around `(x, y)`, as much as the tile says.
pub(super) fn write(board: &mut RgbImage, tile: &RgbImage, x: f32, y: f32) {
    let half = tile.width() as f32 / 2.0;
    for (column, row, pixel) in tile.enumerate_pixels() {
        let alpha = u32::from(pixel.0[0]);
        let place = (x - half + column as f32, y - half + row as f32);
        if alpha == 0 || place.0 < 0.0 || place.1 < 0.0 {
            continue;
        }
        if let Some(pixel) = board.get_pixel_mut_checked(place.0 as u32, place.1 as u32) {
            for value in &mut pixel.0 {
                *value = ((255 * alpha + u32::from(*value) * (255 - alpha) + 127) / 255) as u8;
            }
        }
    }
}

/// A board of 96 by 96 that has gone through one of `side` by `side`: the smaller, the less can be read.
pub(super) fn overview(board: &RgbImage, side: u32) -> Result<RgbImage, ImageError> {
    let small = image::resize(board, side, side, Resizer::Pil)?;
    Ok(image::resize(&small, 96, 96, Resizer::Pil)?.into_owned())
}
