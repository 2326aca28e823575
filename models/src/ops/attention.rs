//! Who attends to whom, in bounded memory?

use candle_core::{DType, Result, Tensor};

use super::softmax::softmax;

/// Scores that are held at once, in bytes. Well under 256 MB, so that they stay near the processor.
const SCORE_BYTES: usize = 64 << 20;

/// Queries a block has at most. A block multiplies with every key that its last query sees, so small blocks waste less.
const QUERIES: usize = 128;

/// Grouped-query attention: `q` `[heads, n, d]`, `k` and `v` `[kv_heads, total, d]`, to `[n, heads * d]`.
///
/// Head h reads key head h / (heads / kv_heads). With `causal` the queries are the last `n` of the `total` places and see
/// no later place, whatever their rotary positions say. Queries go in blocks, so no `[n, total]` buffer of all heads arises.
/// Products are taken in the type of `k` and `v`; weights and result are f32.
pub(crate) fn attention(q: &Tensor, k: &Tensor, v: &Tensor, causal: bool) -> Result<Tensor> {
    blocked(q, k, v, causal, SCORE_BYTES)
}

fn blocked(q: &Tensor, k: &Tensor, v: &Tensor, causal: bool, bytes: usize) -> Result<Tensor> {
    let (heads, n, d) = q.dims3()?;
    let (kv_heads, total, _) = k.dims3()?;
    let group = heads / kv_heads.max(1);
    let scale = (1.0 / (d as f64).sqrt()) as f32;
    let before = total - n.min(total);
    let step = (bytes / 4 / (heads * total).max(1)).clamp(1, QUERIES);
    let keys = k.transpose(1, 2)?;
    let q = q.to_dtype(k.dtype())?.reshape((kv_heads, group, n, d))?;
    let mut blocks = Vec::with_capacity(n.div_ceil(step));
    for start in (0..n).step_by(step) {
        let len = step.min(n - start);
        // Later keys are hidden from the whole block: leave them out of the products.
        let seen = if causal { before + start + len } else { total };
        let block = q
            .narrow(2, start, len)?
            .reshape((kv_heads, group * len, d))?;
        let scores = block
            .matmul(&keys.narrow(2, 0, seen)?)?
            .to_dtype(DType::F32)?;
        let scores = scores.reshape((heads, len, seen))?;
        let visible = causal.then_some(before + start + 1);
        let weights = softmax(scores, scale, visible)?;
        let weights = weights.reshape((kv_heads, group * len, seen))?;
        let out = weights
            .to_dtype(v.dtype())?
            .matmul(&v.narrow(1, 0, seen)?)?;
        let out = out.to_dtype(DType::F32)?;
        blocks.push(out.reshape((heads, len, d))?.transpose(0, 1)?);
    }
    Tensor::cat(&blocks, 0)?.reshape((n, heads * d))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use candle_core::Device;

    use super::*;

    fn wave(dims: (usize, usize, usize), step: f32) -> Tensor {
        let n = dims.0 * dims.1 * dims.2;
        let values: Vec<f32> = (0..n).map(|i| (i as f32 * step).sin() * 2.0).collect();
        Tensor::from_vec(values, dims, &Device::Cpu).unwrap()
    }

    /// Plain sums in f64, one query at a time.
    fn reference(q: &Tensor, k: &Tensor, v: &Tensor, causal: bool) -> Vec<f64> {
        let (q, k, v) = (
            q.to_vec3::<f32>().unwrap(),
            k.to_vec3::<f32>().unwrap(),
            v.to_vec3::<f32>().unwrap(),
        );
        let (n, total, d) = (q[0].len(), k[0].len(), q[0][0].len());
        let mut out = Vec::new();
        for i in 0..n {
            for h in 0..q.len() {
                let kv = h / (q.len() / k.len());
                let seen = if causal { total - n + i + 1 } else { total };
                let scores: Vec<f64> = (0..seen)
                    .map(|j| {
                        let dot: f64 = (0..d)
                            .map(|c| f64::from(q[h][i][c]) * f64::from(k[kv][j][c]))
                            .sum();
                        (dot / (d as f64).sqrt()).exp()
                    })
                    .collect();
                let sum: f64 = scores.iter().sum();
                out.extend((0..d).map(|c| {
                    let sum_of = |j: usize| scores[j] / sum * f64::from(v[kv][j][c]);
                    (0..seen).map(sum_of).sum::<f64>()
                }));
            }
        }
        out
    }

    #[test]
    fn blocks_of_any_size_equal_f64() {
        let (q, k, v) = (
            wave((6, 9, 4), 0.7),
            wave((2, 14, 4), 0.31),
            wave((2, 14, 4), 1.9),
        );
        for causal in [true, false] {
            let exact = reference(&q, &k, &v, causal);
            for bytes in [0, 4 * 6 * 14 * 4, 1 << 20] {
                let got = blocked(&q, &k, &v, causal, bytes).unwrap();
                let got = got.flatten_all().unwrap().to_vec1::<f32>().unwrap();
                assert_eq!(got.len(), exact.len());
                for (a, b) in got.iter().zip(&exact) {
                    assert!((f64::from(*a) - b).abs() < 2e-6);
                }
            }
        }
    }

    /// bf16 keys and values: products in bf16, softmax in f32; within the rounding of the three bf16 products.
    #[test]
    fn narrow_keys_and_values_stay_near_f64() {
        let (q, k, v) = (
            wave((6, 9, 4), 0.7),
            wave((2, 14, 4), 0.31),
            wave((2, 14, 4), 1.9),
        );
        let narrow = |t: &Tensor| t.to_dtype(DType::BF16).unwrap();
        let wide = |t: &Tensor| narrow(t).to_dtype(DType::F32).unwrap();
        let got = blocked(&q, &narrow(&k), &narrow(&v), true, 1 << 20).unwrap();
        assert_eq!(got.dtype(), DType::F32);
        let exact = reference(&wide(&q), &wide(&k), &wide(&v), true);
        let got = got.flatten_all().unwrap().to_vec1::<f32>().unwrap();
        for (a, b) in got.iter().zip(&exact) {
            assert!((f64::from(*a) - b).abs() < 0.03, "{a} {b}");
        }
    }
}
