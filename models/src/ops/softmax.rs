//! How do attention scores become weights, on a device without kernels of ours?

use candle_core::{D, Result, Tensor};

/// Turns `scores` `[groups, queries, keys]` into weights: each row is scaled, cut to the keys it may see and normalised.
/// Query i sees the first `visible + i` keys, or all of them where `visible` is `None`.
pub(super) fn softmax(scores: &Tensor, scale: f32, visible: Option<usize>) -> Result<Tensor> {
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

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use candle_core::{DType, Device};

    use super::*;

    #[test]
    fn hidden_keys_weigh_nothing() {
        let (groups, queries, keys) = (3, 7, 41);
        let values: Vec<f32> = (0..groups * queries * keys)
            .map(|i| (i as f32 * 1.37).sin() * 20.0)
            .collect();
        let scores = Tensor::from_vec(values, (groups, queries, keys), &Device::Cpu).unwrap();
        for visible in [None, Some(1), Some(35)] {
            let weights = softmax(&scores, 0.3, visible).unwrap();
            let rows = weights.reshape((groups * queries, keys)).unwrap();
            for (row, weights) in rows.to_vec2::<f32>().unwrap().iter().enumerate() {
                let seen = visible.map_or(keys, |v| v + row % queries);
                assert!(weights[seen..].iter().all(|w| *w == 0.0));
                assert!(weights[..seen].iter().all(|w| *w > 0.0));
                assert!((weights.iter().sum::<f32>() - 1.0).abs() < 1e-5);
            }
        }
    }

    /// The library's own softmax accumulates bf16 rows in bf16; this one must hold at length too.
    #[test]
    fn a_long_uniform_row_sums_to_one() {
        let zeros = Tensor::zeros((1, 1, 100_003), DType::F32, &Device::Cpu).unwrap();
        let row = softmax(&zeros, 1.0, None).unwrap().flatten_all().unwrap();
        let sum: f64 = row
            .to_vec1::<f32>()
            .unwrap()
            .iter()
            .map(|&v| f64::from(v))
            .sum();
        assert!((sum - 1.0).abs() < 1e-6);
    }
}
