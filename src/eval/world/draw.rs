//! What does a board look like from afar, through a crop and through a zoom?
//!
//! From afar colours and figures show and no value does; a crop (48 by 48) shows one or two digits, a zoom (96 by 96) four and words.
//! Glyphs are Aileron Regular (CC0): scripts/board-digits.py, scripts/world-letters.py.

use spare_models::image::{self, ImageError, Resizer, RgbImage};

use super::scene::{COLOURS, Figure, SIDE, Thing};
use crate::eval::Random;
use crate::eval::drawing::{self, TILE, write};

const CELL: u32 = 128;
const DIGITS: &[u8] = include_bytes!("../board/digits.png");
const LETTERS: &[u8] = include_bytes!("letters.png");

/// The whole board, 384 by 384.
pub(super) fn board(things: &[Thing], random: &mut Random) -> Result<RgbImage, ImageError> {
    let (digits, letters) = (image::decode(DIGITS)?, image::decode(LETTERS)?);
    let grey = random.within(225, 255) as u8;
    let side = SIDE as u32 * CELL;
    let mut board = RgbImage::from_pixel(side, side, [grey; 3].into());
    for thing in things {
        let mut centre =
            |cell: usize| (cell as u32 * CELL + 54) as f32 + random.within(0, 20) as f32;
        let (x, y) = (centre(thing.cell.0), centre(thing.cell.1));
        let r = random.within(46, 54) as f32;
        let colour = COLOURS.get(thing.colour).map_or([0; 3], |c| c.1);
        let filled = thing.number().unwrap_or(0) as f32 / 9.0;
        for (px, py, pixel) in board.enumerate_pixels_mut() {
            let (dx, dy) = (px as f32 - x, py as f32 - y);
            if let Some(full) = inside(thing.figure, dx, dy, r, filled) {
                *pixel = if full { colour } else { colour.map(paler) }.into();
            }
        }
        let down = if thing.figure == Figure::Triangle {
            14.0
        } else {
            0.0
        };
        let (scale, step) = match (thing.figure, thing.value.len()) {
            (Figure::Bar, _) => continue,
            (Figure::Card, _) => (0.5, 24.0),
            (_, 1) => (1.0, 0.0),
            (_, 2) => (0.75, 26.0),
            _ => (0.5, 17.0),
        };
        let first = x - step * (thing.value.len() as f32 - 1.0) / 2.0;
        for (i, glyph) in thing.value.bytes().enumerate() {
            let (strip, number) = match glyph {
                b'0'..=b'9' => (&digits, glyph - b'0'),
                _ => (&letters, glyph.saturating_sub(b'A')),
            };
            let tile = glyph_tile(strip, u32::from(number), scale)?;
            write(&mut board, &tile, first + step * i as f32, y + down);
        }
    }
    Ok(board)
}

fn paler(value: u8) -> u8 {
    ((u16::from(value) + 3 * 255) / 4) as u8
}

/// Whether the offset `(dx, dy)` from the centre lies in a figure of radius `r`, and there in its full colour.
fn inside(figure: Figure, dx: f32, dy: f32, r: f32, filled: f32) -> Option<bool> {
    let within = match figure {
        Figure::Circle => dx * dx + dy * dy <= r * r,
        Figure::Square => dx.abs() <= r - 4.0 && dy.abs() <= r - 4.0,
        // From the tip at (0, -r) to a base from (-r, r - 6) to (r, r - 6).
        Figure::Triangle => {
            (-r..=r - 6.0).contains(&dy) && dx.abs() <= (dy + r) / (2.0 * r - 6.0) * r
        }
        Figure::Diamond => dx.abs() + dy.abs() <= r,
        Figure::Card => dx.abs() <= r && dy.abs() <= r * 0.5,
        Figure::Bar => dx.abs() <= r * 0.3 && dy.abs() <= r,
    };
    // A bar is pale above its mark.
    within.then(|| figure != Figure::Bar || dy >= r - 2.0 * r * filled)
}

/// One glyph, as large as `scale` says.
fn glyph_tile(strip: &RgbImage, number: u32, scale: f32) -> Result<RgbImage, ImageError> {
    let whole = drawing::tile(strip, number);
    if scale == 1.0 {
        return Ok(whole);
    }
    let side = (TILE as f32 * scale) as u32;
    Ok(image::resize(&whole, side, side, Resizer::Pil)?.into_owned())
}

/// The board from afar: 96 by 96, no value readable.
pub(super) fn overview(board: &RgbImage) -> Result<RgbImage, ImageError> {
    // At 36, the blur of the labelled boards, half of the digits can be guessed; at 20 colours and figures are left.
    drawing::overview(board, 20)
}

/// One cell, `side` by `side`.
pub(super) fn cell(
    board: &RgbImage,
    cell: (usize, usize),
    side: u32,
) -> Result<RgbImage, ImageError> {
    let (left, top) = (cell.0 as u32 * CELL, cell.1 as u32 * CELL);
    let part = RgbImage::from_fn(CELL, CELL, |x, y| {
        let pixel = board.get_pixel_checked(left + x, top + y);
        pixel.copied().unwrap_or([0; 3].into())
    });
    Ok(image::resize(&part, side, side, Resizer::Pil)?.into_owned())
}
