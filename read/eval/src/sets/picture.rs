//! E9, pictures: charts and screens with one small region that says something. How many tokens does it cost to see it?

use std::io::Cursor;

use fastrand::Rng;
use image::{ImageFormat, Rgb, RgbImage};

/// A picture and the region in it that matters.
#[derive(Debug, Clone)]
pub struct Picture {
    /// `picture.png` or `picture.jpg`.
    pub name: &'static str,
    /// Chart or screen.
    pub kind: &'static str,
    /// The file.
    pub bytes: Vec<u8>,
    /// Width and height in pixels.
    pub size: (u32, u32),
    /// Left, top, width, height of the region.
    pub region: [u32; 4],
}

fn fill(picture: &mut RgbImage, [left, top, width, height]: [u32; 4], colour: [u8; 3]) {
    for y in top..(top + height).min(picture.height()) {
        for x in left..(left + width).min(picture.width()) {
            picture.put_pixel(x, y, Rgb(colour));
        }
    }
}

/// E9.
pub fn picture(seed: u64) -> Picture {
    let mut rng = Rng::with_seed(seed ^ 0xE9);
    let (width, height) = (rng.u32(1_000..4_000), rng.u32(700..2_600));
    let mut picture = RgbImage::from_pixel(width, height, Rgb([250, 250, 250]));
    let chart = rng.bool();
    for _ in 0..rng.usize(10..60) {
        let colour = [rng.u8(100..230), rng.u8(100..230), rng.u8(100..230)];
        let (w, h) = if chart {
            (rng.u32(20..80), rng.u32(60..height / 2))
        } else {
            (rng.u32(100..width / 2), rng.u32(20..200))
        };
        let (x, y) = (rng.u32(..width - w), rng.u32(..height - h));
        fill(&mut picture, [x, y, w, h], colour);
    }
    let (w, h) = (rng.u32(60..220), rng.u32(24..90));
    let region = [rng.u32(..width - w), rng.u32(..height - h), w, h];
    fill(&mut picture, region, [255, 240, 0]);
    // Marks as of small letters, which a small overview does not show.
    for x in (region[0] + 4..region[0] + w - 4).step_by(5) {
        let tall = rng.u32(4..h - 10);
        fill(&mut picture, [x, region[1] + 5, 2, tall], [20, 20, 20]);
    }
    let lossy = rng.u8(..3) == 0;
    let mut bytes = Cursor::new(Vec::new());
    let format = if lossy {
        ImageFormat::Jpeg
    } else {
        ImageFormat::Png
    };
    let written = picture.write_to(&mut bytes, format);
    Picture {
        name: if lossy { "picture.jpg" } else { "picture.png" },
        kind: if chart { "chart" } else { "screen" },
        bytes: written.map(|()| bytes.into_inner()).unwrap_or_default(),
        size: (width, height),
        region,
    }
}
