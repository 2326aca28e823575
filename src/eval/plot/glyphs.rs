//! Words in pixels: a strip of glyphs, Aileron Regular (CC0), that `scripts/plot-glyphs.py` made.

use spare_models::image::{ImageError, RgbImage, decode};

use super::raster::mix;

const STRIP: &[u8] = include_bytes!("glyphs.png");

/// Side of a glyph's tile, and where in it the glyph begins.
const SIDE: u32 = 40;
const LEFT: f64 = 6.0;
const BASE: f64 = 30.0;

/// Pixels from one glyph to the next, from the space on.
const ADVANCE: [u8; 95] = [
    6, 5, 9, 16, 15, 20, 17, 5, 9, 9, 15, 15, 6, 7, 5, 8, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15,
    5, 5, 15, 15, 15, 13, 22, 17, 16, 18, 19, 16, 15, 19, 19, 7, 14, 16, 16, 23, 19, 19, 16, 19,
    16, 15, 16, 17, 16, 25, 16, 15, 16, 9, 8, 8, 15, 12, 8, 14, 16, 14, 16, 15, 9, 16, 16, 6, 6,
    14, 7, 22, 16, 15, 16, 16, 9, 12, 9, 16, 13, 20, 13, 13, 13, 8, 6, 8, 15,
];

/// The strip, decoded.
pub(super) struct Glyphs {
    strip: RgbImage,
}

impl Glyphs {
    pub(super) fn load() -> Result<Self, ImageError> {
        Ok(Self {
            strip: decode(STRIP)?,
        })
    }

    /// Tile and advance of each letter; what is no printable ASCII is a question mark.
    fn each(text: &str) -> impl Iterator<Item = (u32, u32)> + '_ {
        text.chars().map(|letter| {
            let tile = u32::from(letter).wrapping_sub(0x20);
            let tile = if tile < 95 {
                tile
            } else {
                u32::from('?') - 0x20
            };
            let advance = ADVANCE.get(tile as usize).copied().unwrap_or(15);
            (tile, u32::from(advance))
        })
    }

    /// Pixels that a text takes from left to right.
    pub(super) fn width(&self, text: &str) -> u32 {
        Self::each(text).map(|(_, advance)| advance).sum()
    }

    /// Writes a text, dark grey, its base line beginning at `(x, y)`.
    pub(super) fn write(&self, picture: &mut RgbImage, (x, y): (f64, f64), text: &str, bold: bool) {
        let mut left = (x - LEFT).round() as i64;
        let top = (y - BASE).round() as i64;
        for (tile, advance) in Self::each(text) {
            for shift in 0..=i64::from(bold) {
                for (column, row) in
                    (0..SIDE).flat_map(|row| (0..SIDE).map(move |column| (column, row)))
                {
                    let cover = self.strip.get_pixel_checked(tile * SIDE + column, row);
                    let cover = cover.map_or(0, |pixel| pixel.0[0]);
                    let place = |start: i64, more: u32| u32::try_from(start + i64::from(more));
                    let (Ok(px), Ok(py)) = (place(left + shift, column), place(top, row)) else {
                        continue;
                    };
                    if cover > 0
                        && let Some(pixel) = picture.get_pixel_mut_checked(px, py)
                    {
                        mix(&mut pixel.0, [40; 3], f64::from(cover) / 255.0);
                    }
                }
            }
            left += i64::from(advance);
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn every_letter_but_the_space_leaves_a_mark_within_its_width() {
        let glyphs = Glyphs::load().unwrap();
        assert_eq!(glyphs.strip.dimensions(), (95 * SIDE, SIDE));
        for letter in ' '..='~' {
            let mut picture = RgbImage::from_pixel(60, 60, [255; 3].into());
            let text = letter.to_string();
            glyphs.write(&mut picture, (20.0, 40.0), &text, false);
            let dark: Vec<u32> = picture
                .enumerate_pixels()
                .filter(|(_, _, p)| p.0[0] < 200)
                .map(|(x, _, _)| x)
                .collect();
            assert_eq!(dark.is_empty(), letter == ' ', "{letter}");
            let end = 20 + glyphs.width(&text) + 2;
            assert!(
                dark.iter().all(|x| (17..end).contains(x)),
                "{letter} {dark:?}"
            );
        }
        assert_eq!(glyphs.width("ü"), glyphs.width("?"));
    }
}
