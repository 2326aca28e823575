//! Which size does a picture get before it is cut into patches?

use super::decode::MAX_IMAGE_PIXELS;
use super::error::ImageError;

/// Largest accepted quotient of the longer by the shorter side, as in the reference.
pub const MAX_ASPECT_RATIO: u32 = 200;

/// Size `(width, height)` in pixels, both multiples of `factor`, close to the picture's aspect ratio, with between
/// `min_pixels` and `max_pixels` pixels where that is possible.
///
/// `factor` is `patch_size * merge_size`. All steps are the reference's, in its order and in f64: rounding to the
/// nearest multiple with ties to even (Python's `round`), then shrinking with floor or growing with ceil. A side
/// never falls below `factor`, so a `max_pixels` under `factor * factor` is exceeded.
///
/// # Errors
/// [`ImageError::NoArea`] for a side of 0, [`ImageError::AspectRatio`] above [`MAX_ASPECT_RATIO`],
/// [`ImageError::Field`] for a zero `factor`, `min_pixels` or `max_pixels`, and [`ImageError::TooLarge`] when the
/// result would have more than [`MAX_IMAGE_PIXELS`] pixels.
pub fn smart_resize(
    width: u32,
    height: u32,
    factor: usize,
    min_pixels: u64,
    max_pixels: u64,
) -> Result<(u32, u32), ImageError> {
    if width == 0 || height == 0 {
        return Err(ImageError::NoArea {
            width: width.into(),
            height: height.into(),
        });
    }
    for (field, value) in [
        ("patch_size * merge_size", factor as u64),
        ("min_pixels", min_pixels),
        ("max_pixels", max_pixels),
    ] {
        if value == 0 {
            return Err(ImageError::Field {
                field,
                found: "0".into(),
                expected: "a positive integer",
            });
        }
    }
    let (w, h, f) = (f64::from(width), f64::from(height), factor as f64);
    if w.max(h) / w.min(h) > f64::from(MAX_ASPECT_RATIO) {
        return Err(ImageError::AspectRatio {
            width: width.into(),
            height: height.into(),
            limit: MAX_ASPECT_RATIO,
        });
    }
    let mut h_bar = (h / f).round_ties_even() * f;
    let mut w_bar = (w / f).round_ties_even() * f;
    // The products stay exact: below 2^53 for every size that the limit at the end lets through.
    let (area, min, max) = (w * h, min_pixels as f64, max_pixels as f64);
    if h_bar * w_bar > max {
        let beta = (area / max).sqrt();
        h_bar = f.max((h / beta / f).floor() * f);
        w_bar = f.max((w / beta / f).floor() * f);
    } else if h_bar * w_bar < min {
        let beta = (min / area).sqrt();
        h_bar = (h * beta / f).ceil() * f;
        w_bar = (w * beta / f).ceil() * f;
    }
    let pixels = h_bar * w_bar;
    if pixels > MAX_IMAGE_PIXELS as f64 {
        return Err(ImageError::TooLarge {
            width: w_bar as u64,
            height: h_bar as u64,
            pixels: pixels as u64,
            limit: MAX_IMAGE_PIXELS,
        });
    }
    Ok((w_bar as u32, h_bar as u32))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;
    use proptest::prelude::*;

    const QWEN3: (usize, u64, u64) = (32, 65536, 16_777_216);
    const QWEN2: (usize, u64, u64) = (28, 3136, 12_845_056);
    const CLASS: (usize, u64, u64) = (28, 3136, 1_003_520);

    type Size = (u32, u32);

    /// Input h x w, then output h x w for the three settings.
    const TABLE: [(Size, [Size; 3]); 14] = [
        ((1080, 1920), [(1088, 1920), (1092, 1932), (728, 1316)]),
        ((720, 1280), [(704, 1280), (728, 1288), (728, 1288)]),
        ((768, 1024), [(768, 1024), (756, 1036), (756, 1036)]),
        ((600, 800), [(608, 800), (588, 812), (588, 812)]),
        ((800, 1280), [(800, 1280), (812, 1288), (784, 1260)]),
        ((900, 1440), [(896, 1440), (896, 1428), (784, 1260)]),
        ((1440, 2560), [(1440, 2560), (1428, 2548), (728, 1316)]),
        ((2160, 3840), [(2176, 3840), (2156, 3836), (728, 1316)]),
        ((2400, 1080), [(2400, 1088), (2408, 1092), (1484, 672)]),
        ((5000, 5000), [(4096, 4096), (3556, 3556), (980, 980)]),
        ((48, 48), [(256, 256), (56, 56), (56, 56)]),
        ((16, 16), [(256, 256), (56, 56), (56, 56)]),
        ((100, 1), [(2560, 32), (560, 28), (560, 28)]),
        ((10, 1900), [(32, 3552), (28, 784), (28, 784)]),
    ];

    #[test]
    fn table_of_known_sizes() {
        for ((h, w), outs) in TABLE {
            for ((f, min, max), (oh, ow)) in [QWEN3, QWEN2, CLASS].into_iter().zip(outs) {
                assert_eq!(
                    smart_resize(w, h, f, min, max).unwrap(),
                    (ow, oh),
                    "{h}x{w} at factor {f}, max {max}"
                );
            }
        }
    }

    #[test]
    fn ties_round_to_even() {
        // 720 / 32 = 22.5 goes down, 752 / 32 = 23.5 goes up.
        assert_eq!(smart_resize(1280, 720, 32, 1, 1 << 30).unwrap().1, 704);
        assert_eq!(smart_resize(1280, 752, 32, 1, 1 << 30).unwrap().1, 768);
    }

    #[test]
    fn small_budget_never_gives_an_empty_side() {
        assert_eq!(smart_resize(100, 100, 28, 1, 100).unwrap(), (28, 28));
    }

    #[test]
    fn refusals_name_the_size() {
        assert!(matches!(
            smart_resize(0, 5, 28, 1, 9),
            Err(ImageError::NoArea { .. })
        ));
        assert!(smart_resize(200, 1, 28, 3136, 1_003_520).is_ok());
        let error = smart_resize(201, 1, 28, 3136, 1_003_520).unwrap_err();
        assert!(error.to_string().contains("201 x 1"), "{error}");
        assert!(matches!(
            smart_resize(9, 9, 28, u64::MAX, u64::MAX),
            Err(ImageError::TooLarge { .. })
        ));
    }

    proptest! {
        #[test]
        fn multiple_of_the_factor_and_within_the_budget(
            w in 1u32..8000, h in 1u32..8000, patch in 4usize..20, min_cells in 1u64..80, spare in 40u64..4000,
        ) {
            let factor = patch * 2;
            let cell = (factor * factor) as u64;
            let (min, max) = (min_cells * cell, (min_cells + spare) * cell);
            match smart_resize(w, h, factor, min, max) {
                Ok((rw, rh)) => {
                    prop_assert!(rw > 0 && (rw as usize).is_multiple_of(factor));
                    prop_assert!(rh > 0 && (rh as usize).is_multiple_of(factor));
                    let pixels = u64::from(rw) * u64::from(rh);
                    // A side held at one factor may push an elongated picture over the budget, as in the reference.
                    let clamped = rw as usize == factor || rh as usize == factor;
                    prop_assert!(clamped || pixels <= max, "{pixels} > {max}");
                    // Shrinking floors both sides, so it may undershoot a minimum that lies near the maximum.
                    prop_assert!(pixels >= min || u64::from(w) * u64::from(h) > max, "{pixels} < {min}");
                }
                Err(error) => {
                    let is_ratio = matches!(error, ImageError::AspectRatio { .. });
                    prop_assert!(is_ratio && w.max(h) > 200 * w.min(h));
                }
            }
        }
    }
}
