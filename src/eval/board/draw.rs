//! What does a board look like from afar and through a crop? Shapes with a digit each; the overview blurs the digits away.
//!
//! The digits are those that the embedded checkpoint learnt: Aileron Regular (CC0), see scripts/board-digits.py.

use spare_models::image::{self, ImageError, Resizer, RgbImage};

use crate::eval::Random;
use crate::eval::drawing::{self, tile, write};

const CELL: u32 = 128;
const DIGITS: &[u8] = include_bytes!("digits.png");

pub(super) const COLOURS: [(&str, [u8; 3]); 5] = [
    ("red", [214, 48, 49]),
    ("green", [39, 174, 96]),
    ("blue", [41, 98, 255]),
    ("yellow", [241, 196, 15]),
    ("purple", [142, 68, 173]),
];
pub(super) const SHAPES: [&str; 4] = ["circle", "square", "triangle", "diamond"];

/// One shape on the board.
#[derive(Clone, Debug)]
pub(super) struct Shape {
    pub(super) colour: usize,
    pub(super) shape: usize,
    pub(super) cell: (u32, u32),
    pub(super) digit: usize,
}

impl Shape {
    pub(super) fn name(&self) -> String {
        let colour = COLOURS.get(self.colour).map_or("", |c| c.0);
        format!("{colour} {}", SHAPES.get(self.shape).copied().unwrap_or(""))
    }
}

/// The whole board, 384 by 384.
pub(super) fn draw(shapes: &[Shape], random: &mut Random) -> Result<RgbImage, ImageError> {
    let digits = image::decode(DIGITS)?;
    let grey = random.within(225, 255) as u8;
    let mut board = RgbImage::from_pixel(3 * CELL, 3 * CELL, [grey; 3].into());
    for shape in shapes {
        let mut centre = |cell: u32| (cell * CELL + 54) as f32 + random.within(0, 20) as f32;
        let (x, y) = (centre(shape.cell.0), centre(shape.cell.1));
        let r = random.within(46, 54) as f32;
        let colour = COLOURS.get(shape.colour).map_or([0; 3], |c| c.1);
        for (px, py, pixel) in board.enumerate_pixels_mut() {
            if inside(shape.shape, px as f32 - x, py as f32 - y, r) {
                *pixel = colour.into();
            }
        }
        let down = if SHAPES.get(shape.shape) == Some(&"triangle") {
            14.0
        } else {
            0.0
        };
        let tile = tile(&digits, shape.digit as u32);
        write(&mut board, &tile, x, y + down);
    }
    Ok(board)
}

/// Whether the offset `(dx, dy)` from the centre lies in the shape of radius `r`.
fn inside(shape: usize, dx: f32, dy: f32, r: f32) -> bool {
    match shape {
        0 => dx * dx + dy * dy <= r * r,
        1 => dx.abs() <= r - 4.0 && dy.abs() <= r - 4.0,
        // From the tip at (0, -r) to a base from (-r, r - 6) to (r, r - 6).
        2 => (-r..=r - 6.0).contains(&dy) && dx.abs() <= (dy + r) / (2.0 * r - 6.0) * r,
        _ => dx.abs() + dy.abs() <= r,
    }
}

/// The board from afar: 96 by 96, no digit readable.
pub(super) fn overview(board: &RgbImage) -> Result<RgbImage, ImageError> {
    drawing::overview(board, 36)
}

/// One cell, 48 by 48.
pub(super) fn crop(board: &RgbImage, cell: (u32, u32)) -> Result<RgbImage, ImageError> {
    let part = RgbImage::from_fn(CELL, CELL, |x, y| {
        let pixel = board.get_pixel_checked(cell.0 * CELL + x, cell.1 * CELL + y);
        pixel.copied().unwrap_or([0; 3].into())
    });
    Ok(image::resize(&part, 48, 48, Resizer::Pil)?.into_owned())
}
