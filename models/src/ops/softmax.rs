//! How do attention scores become weights?

use candle_core::{CpuStorage, D, Error, InplaceOp1, Layout, Result, Tensor};
use rayon::prelude::*;

/// Turns `scores` `[groups, queries, keys]` into weights: each row is scaled, cut to the keys it may see and normalised.
/// Query i sees the first `visible + i` keys, or all of them where `visible` is `None`.
pub(super) fn softmax(scores: Tensor, scale: f32, visible: Option<usize>) -> Result<Tensor> {
    if scores.device().is_cpu() {
        let queries = scores.dim(1)?;
        scores.inplace_op1(&Softmax {
            scale,
            visible,
            queries,
        })?;
        return Ok(scores);
    }
    composed(&scores, scale, visible)
}

fn composed(scores: &Tensor, scale: f32, visible: Option<usize>) -> Result<Tensor> {
    let (_, queries, keys) = scores.dims3()?;
    let mut scores = scores.affine(f64::from(scale), 0.0)?;
    if let Some(visible) = visible {
        let mask: Vec<f32> = (0..queries)
            .flat_map(|i| {
                (0..keys).map(move |j| {
                    if j < visible + i {
                        0.0
                    } else {
                        f32::NEG_INFINITY
                    }
                })
            })
            .collect();
        let mask = Tensor::from_vec(mask, (1, queries, keys), scores.device())?;
        scores = scores.broadcast_add(&mask)?;
    }
    let weights = scores
        .broadcast_sub(&scores.max_keepdim(D::Minus1)?)?
        .exp()?;
    weights.broadcast_div(&weights.sum_keepdim(D::Minus1)?)
}

struct Softmax {
    scale: f32,
    visible: Option<usize>,
    queries: usize,
}

impl InplaceOp1 for Softmax {
    fn name(&self) -> &'static str {
        "causal_softmax_f32"
    }

    fn cpu_fwd(&self, storage: &mut CpuStorage, layout: &Layout) -> Result<()> {
        let (_, queries, keys) = layout.shape().dims3()?;
        let (Some((start, end)), CpuStorage::F32(data)) = (layout.contiguous_offsets(), storage)
        else {
            return Err(Error::Msg("softmax needs contiguous f32 scores".into()));
        };
        let Some(data) = data.get_mut(start..end) else {
            return Err(Error::Msg(
                "softmax scores lie outside their storage".into(),
            ));
        };
        if keys == 0 || queries == 0 || queries != self.queries {
            return Ok(());
        }
        data.par_chunks_exact_mut(keys)
            .enumerate()
            .with_min_len(super::min_rows(keys))
            .for_each(|(row, values)| {
                let seen = match self.visible {
                    Some(visible) => (visible + row % queries).min(keys),
                    None => keys,
                };
                let (seen, hidden) = values.split_at_mut(seen);
                normalise(seen, self.scale);
                hidden.fill(0.0);
            });
        Ok(())
    }
}

const LANES: usize = 16;

fn normalise(row: &mut [f32], scale: f32) {
    let mut tops = [f32::NEG_INFINITY; LANES];
    for chunk in row.chunks_mut(LANES) {
        for (v, top) in chunk.iter_mut().zip(&mut tops) {
            *v *= scale;
            *top = if *v > *top { *v } else { *top };
        }
    }
    let top = tops.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let mut sums = [0f32; LANES];
    for chunk in row.chunks_mut(LANES) {
        for (v, sum) in chunk.iter_mut().zip(&mut sums) {
            *v = exp(*v - top);
            *sum += *v;
        }
    }
    // Lanes are summed in f64, which costs nothing here.
    let sum = sums.iter().map(|&s| f64::from(s)).sum::<f64>() as f32;
    for v in row {
        *v /= sum;
    }
}

/// e^x for x <= 0, within 2 ulp; below -87 the smallest normal numbers. Without a call, so that the loop above vectorises.
/// NaN stays NaN. The polynomial is that of Cephes' expf.
#[inline(always)]
fn exp(x: f32) -> f32 {
    // Adding 1.5 * 2^23 leaves the nearest whole number in the low bits of the mantissa.
    const ROUND: f32 = 12_582_912.0;
    let x = if x < -87.0 { -87.0 } else { x };
    let shifted = x * std::f32::consts::LOG2_E + ROUND;
    let whole = shifted - ROUND;
    let r = (x - whole * 0.693_359_4) + whole * 2.121_944_4e-4;
    let mut y = 1.987_569_1e-4f32;
    for c in [
        1.398_2e-3f32,
        8.333_452e-3,
        4.166_579_6e-2,
        1.666_666_5e-1,
        0.5,
    ] {
        y = y * r + c;
    }
    let y = y * r * r + r + 1.0;
    y * f32::from_bits((shifted.to_bits() << 23).wrapping_add(127 << 23))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use candle_core::Device;

    use super::*;

    #[test]
    fn exp_is_within_two_ulp_of_f64() {
        let worst = (0..870_000)
            .map(|i| {
                let x = -(i as f32) / 10_000.0;
                let exact = f64::from(x).exp();
                (f64::from(exp(x)) - exact).abs() / exact
            })
            .fold(0.0, f64::max);
        assert!(worst < 2.4e-7, "{worst:e}");
        assert!(exp(f32::NAN).is_nan());
        assert!(exp(-1e30) < 1e-37);
        assert_eq!(exp(0.0), 1.0);
    }

    #[test]
    fn fused_equals_composed_and_hides_exactly() {
        let (groups, queries, keys) = (3, 7, 41);
        let values: Vec<f32> = (0..groups * queries * keys)
            .map(|i| (i as f32 * 1.37).sin() * 20.0)
            .collect();
        let scores = Tensor::from_vec(values, (groups, queries, keys), &Device::Cpu).unwrap();
        for visible in [None, Some(1), Some(35)] {
            let plain = composed(&scores, 0.3, visible).unwrap();
            let fused = softmax(scores.copy().unwrap(), 0.3, visible).unwrap();
            let gap = (&plain - &fused).unwrap().abs().unwrap();
            let gap = gap.flatten_all().unwrap().max(0).unwrap();
            assert!(gap.to_scalar::<f32>().unwrap() < 1e-6);
            for (row, weights) in fused
                .reshape((groups * queries, keys))
                .unwrap()
                .to_vec2::<f32>()
                .unwrap()
                .iter()
                .enumerate()
            {
                let seen = visible.map_or(keys, |v| v + row % queries);
                assert!(weights[seen..].iter().all(|w| *w == 0.0));
                assert!(weights[..seen].iter().all(|w| *w > 0.0));
            }
        }
    }

    /// The library's own softmax accumulates bf16 rows in bf16; this one must hold at length too.
    #[test]
    fn a_long_uniform_row_sums_to_one() {
        let row = softmax(
            Tensor::zeros((1, 1, 100_003), candle_core::DType::F32, &Device::Cpu).unwrap(),
            1.0,
            None,
        );
        let sum: f64 = row
            .unwrap()
            .flatten_all()
            .unwrap()
            .to_vec1::<f32>()
            .unwrap()
            .iter()
            .map(|&v| f64::from(v))
            .sum();
        assert!((sum - 1.0).abs() < 1e-6);
    }
}
