//! Which position turns which rotary pair, and by what angle?

use candle_core::{Device, Tensor};

use crate::ModelError;

/// For each rotary pair its axis: 0 time, 1 height, 2 width.
///
/// `section` counts the pairs of the three axes. Interleaved (Qwen3-VL): pairs go T H W T H W ..., height and width within
/// the first three times their section, time everywhere else. Chunked (Qwen2-VL, Qwen2.5-VL): all of T, then H, then W.
pub(crate) fn axis_of_pairs(section: [usize; 3], interleaved: bool) -> Vec<usize> {
    let [time, height, width] = section;
    let pairs = time + height + width;
    (0..pairs)
        .map(|pair| match (interleaved, pair % 3) {
            (true, 1) if pair < 3 * height => 1,
            (true, 2) if pair < 3 * width => 2,
            (true, _) => 0,
            (false, _) if pair < time => 0,
            (false, _) if pair < time + height => 1,
            (false, _) => 2,
        })
        .collect()
}

/// `theta^(-2j / dim)` for j below dim / 2, in f32 as torch computes it: f32 exponents, f32 power, f32 reciprocal.
pub(crate) fn inverse_frequencies(theta: f64, dim: usize) -> Vec<f32> {
    (0..dim / 2)
        .map(|j| {
            let exponent = (2 * j) as f32 / dim as f32;
            // The power in f64, rounded once: within an ulp of any f32 powf.
            1.0 / theta.powf(f64::from(exponent)) as f32
        })
        .collect()
}

/// Cosine and sine tables, each `[rows, width]`, of the f32 `angles`.
pub(crate) fn tables(
    angles: &[f32],
    width: usize,
    device: &Device,
) -> Result<(Tensor, Tensor), ModelError> {
    let dims = (angles.len() / width.max(1), width);
    // The angle is f32, its functions are taken in f64 and rounded once.
    let table = |f: fn(f64) -> f64| -> Result<Tensor, ModelError> {
        let values: Vec<f32> = angles.iter().map(|&a| f(f64::from(a)) as f32).collect();
        Ok(Tensor::from_vec(values, dims, device)?)
    };
    Ok((table(f64::cos)?, table(f64::sin)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn letters(section: [usize; 3], interleaved: bool) -> String {
        let letter = |axis: usize| ['T', 'H', 'W'].get(axis).copied().unwrap_or('?');
        axis_of_pairs(section, interleaved)
            .into_iter()
            .map(letter)
            .collect()
    }

    #[test]
    fn released_layouts() {
        assert_eq!(letters([24, 20, 20], true), "THW".repeat(20) + "TTTT");
        let chunked = "T".repeat(16) + &"H".repeat(24) + &"W".repeat(24);
        assert_eq!(letters([16, 24, 24], false), chunked);
        // What the board checkpoint and an unbalanced section give.
        assert_eq!(letters([6, 5, 5], true), "THWTHWTHWTHWTHWT");
        assert_eq!(letters([4, 2, 2], true), "THWTHWTT");
        assert_eq!(letters([2, 4, 2], true), "THWTHWTH");
    }

    #[test]
    fn frequencies_fall_from_one() {
        let f = inverse_frequencies(5e6, 128);
        assert_eq!((f.len(), f.first()), (64, Some(&1.0)));
        // 5e6^(-1/64) and 5e6^(-126/128) from f64.
        assert!((f64::from(f[1]) - 0.785_829_980_4).abs() < 1e-7);
        assert!((f64::from(f[63]) / 2.545_079_788e-7 - 1.0).abs() < 1e-6);
    }
}
