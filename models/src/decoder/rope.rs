//! Which position turns which rotary pair, and by what angle?

use candle_core::{Device, Tensor};
use serde_json::json;

use crate::ModelError;
use crate::checkpoint::Fields;

/// Rotary positions of a text model.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Rope {
    /// For each rotary pair the axis (0 time, 1 height, 2 width) whose position turns it.
    pub(crate) axes: Vec<usize>,
    /// For each pair its inverse frequency.
    pub(crate) frequencies: Vec<f32>,
}

/// How a family lays positions out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RopeStyle {
    /// One axis, with the scalings of [`Rope::read`].
    Text,
    /// Three axes in three stretches of pairs: time, height, width.
    Chunked,
    /// Three axes that take turns, pair by pair.
    Interleaved,
}

impl Rope {
    /// Base, axes and scaling from `rope_parameters` (transformers 5), or from `rope_theta` beside `rope_scaling`
    /// (transformers 4); `default_theta` where the family has files without. One axis: rope_type `default`, `linear` or `llama3`. Three: `default`, which older files call `mrope`.
    pub(crate) fn read(
        text: &Fields,
        style: RopeStyle,
        default_theta: Option<f64>,
        head_dim: usize,
    ) -> Result<Self, ModelError> {
        let pairs = head_dim / 2;
        let (rope, theta) = if text.get("rope_parameters").is_some() {
            let rope = text.object("rope_parameters")?;
            let theta = rope.positive("rope_theta")?;
            (Some(rope), theta)
        } else {
            let scaled = style != RopeStyle::Text || text.get("rope_scaling").is_some();
            let rope = scaled.then(|| text.object("rope_scaling")).transpose()?;
            let theta = match default_theta {
                Some(theta) if text.get("rope_theta").is_none() => theta,
                _ => text.positive("rope_theta")?,
            };
            (rope, theta)
        };
        let frequencies = inverse_frequencies(theta, head_dim);
        let Some(rope) = rope else {
            return Ok(Self {
                axes: vec![0; pairs],
                frequencies,
            });
        };
        rope.only("partial_rotary_factor", &json!(1.0), true)?;
        if style == RopeStyle::Text {
            let frequencies = scaled(&rope, frequencies)?;
            return Ok(Self {
                axes: vec![0; pairs],
                frequencies,
            });
        }
        // Older files say "type", and "mrope" where newer ones say "default"; neither tells how axes are laid out.
        for name in ["rope_type", "type"] {
            match rope.get(name) {
                None => {}
                Some(kind) if kind == "default" || kind == "mrope" => {}
                Some(kind) => return Err(rope.refuse(name, kind, "\"default\" or \"mrope\"")),
            }
        }
        // transformers lays each family out in its own way whatever the flag says, so a file that says otherwise
        // contradicts itself.
        let interleaved = style == RopeStyle::Interleaved;
        rope.only("mrope_interleaved", &json!(interleaved), true)?;
        let section = section(&rope, pairs)?;
        Ok(Self {
            axes: axis_of_pairs(section, interleaved),
            frequencies,
        })
    }
}

fn section(rope: &Fields, pairs: usize) -> Result<[usize; 3], ModelError> {
    let section = rope.counts("mrope_section")?;
    let bad = || {
        let expected = format!("three counts that add up to head_dim / 2 = {pairs}");
        rope.refuse("mrope_section", format!("{section:?}"), expected)
    };
    let total = section
        .iter()
        .try_fold(0usize, |sum, n| sum.checked_add(*n));
    if total != Some(pairs) {
        return Err(bad());
    }
    section.as_slice().try_into().map_err(|_| bad())
}

/// Frequencies stretched to longer contexts, in f32 and the operation order of transformers 5.24.
fn scaled(rope: &Fields, frequencies: Vec<f32>) -> Result<Vec<f32>, ModelError> {
    let kind = ["rope_type", "type"]
        .into_iter()
        .find_map(|name| rope.get(name).map(|kind| (name, kind)));
    let Some((name, kind)) = kind else {
        return Ok(frequencies);
    };
    match kind.as_str() {
        Some("default") => Ok(frequencies),
        Some("linear") => {
            let factor = rope.positive("factor")? as f32;
            Ok(frequencies.into_iter().map(|f| f / factor).collect())
        }
        Some("llama3") => {
            let factor = rope.positive("factor")? as f32;
            let (low, high) = (
                rope.positive("low_freq_factor")?,
                rope.positive("high_freq_factor")?,
            );
            if high <= low {
                return Err(rope.refuse(
                    "high_freq_factor",
                    high,
                    format!("more than low_freq_factor {low}"),
                ));
            }
            let length = rope.count("original_max_position_embeddings")? as f64;
            let (longest, shortest) = ((length / low) as f32, (length / high) as f32);
            let stretch = |f: f32| {
                let wavelength = 2.0 * std::f32::consts::PI / f;
                if wavelength > longest {
                    f / factor
                } else if wavelength < shortest {
                    f
                } else {
                    let smooth = (length as f32 / wavelength - low as f32) / (high - low) as f32;
                    (1.0 - smooth) * f / factor + smooth * f
                }
            };
            Ok(frequencies.into_iter().map(stretch).collect())
        }
        _ => Err(rope.refuse(name, kind, "\"default\", \"linear\" or \"llama3\"")),
    }
}

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
