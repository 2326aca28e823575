//! Pictures made from integer recipes, the mirror of `pattern` in tests/golden/image.py.

use spare_models::image::RgbImage;

fn hashed(index: u32, seed: u32) -> u8 {
    let mut h = index.wrapping_mul(0x9E37_79B1).wrapping_add(seed);
    h ^= h >> 15;
    h = h.wrapping_mul(0x85EB_CA77);
    h ^= h >> 13;
    (h >> 24) as u8
}

/// The picture `kind` of this size and seed.
pub fn pattern(kind: &str, width: u32, height: u32, seed: u32) -> RgbImage {
    match kind {
        "noise" => filled(width, height, |x, y, c| {
            hashed((y * width + x) * 3 + c, seed)
        }),
        "gradient" => filled(width, height, |x, y, c| match c {
            0 => (x * 255 / (width - 1).max(1)) as u8,
            1 => (y * 255 / (height - 1).max(1)) as u8,
            _ => ((x + y) & 255) as u8,
        }),
        "checker" => filled(width, height, |x, y, c| {
            (((x / (seed + c) + y / (seed + c)) & 1) * 255) as u8
        }),
        "flat" => filled(width, height, |_, _, c| {
            let (a, b) = [(37, 11), (101, 7), (53, 200)][c as usize];
            ((seed * a + b) & 255) as u8
        }),
        "screen" => filled(width, height, |x, y, c| {
            let ink = hashed((y / 2) * 65536 + x / 2, seed + 7) & 1 == 0 && (y / 2) % 6 < 4;
            if ink {
                (20 * c) as u8
            } else {
                hashed((y / 23) * 4096 + x / 37, seed + c)
            }
        }),
        other => panic!("unknown pattern {other}"),
    }
}

fn filled(width: u32, height: u32, level: impl Fn(u32, u32, u32) -> u8) -> RgbImage {
    RgbImage::from_fn(width, height, |x, y| {
        ::image::Rgb([0, 1, 2].map(|c| level(x, y, c)))
    })
}
