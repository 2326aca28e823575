//! Who attends to whom, in bounded memory?

use std::ops::Range;

use candle_core::{DType, Error, Result, Storage, Tensor};
use spare_kernels::attention::{Floats, KeyValues, Products, Seen, Shape, View};

use super::failed;
use super::softmax::softmax;

/// Scores that are held at once, in bytes. Well under 256 MB, so that they stay near the processor.
const SCORE_BYTES: usize = 64 << 20;

/// Queries a block has at most. A block multiplies with every key that its last query sees, so small blocks waste less.
const QUERIES: usize = 128;

/// Grouped-query attention: `q` `[heads, n, d]`, `k` and `v` `[kv_heads, total, d]`, to `[n, heads * d]`.
///
/// Head h reads key head h / (heads / kv_heads). With `causal` the queries are the last `n` of the `total` places and see
/// no later place, whatever their rotary positions say. Queries go in blocks, so no `[n, total]` buffer of all heads arises.
/// Products are taken in the type of `k` and `v`; weights and result are f32. On the CPU [`attention_to`] does the same
/// without joining keys.
pub(crate) fn attention(q: &Tensor, k: &Tensor, v: &Tensor, causal: bool) -> Result<Tensor> {
    blocked(q, k, v, causal, SCORE_BYTES, &mut |_, _| Ok(()))
}

/// The same with `causal` on any device, showing its weights: `see` gets the first query of a block and `[heads, queries, keys]`.
pub(crate) fn watched(
    q: &Tensor,
    k: &Tensor,
    v: &Tensor,
    see: &mut dyn FnMut(usize, &Tensor) -> Result<()>,
) -> Result<Tensor> {
    let (q, k, v) = (q.contiguous()?, k.contiguous()?, v.contiguous()?);
    blocked(&q, &k, &v, true, SCORE_BYTES, see)
}

/// The keys that one query sees: the first `prefix`, then those of `own`. Numbers count over all pairs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Sight {
    pub(crate) prefix: usize,
    pub(crate) own: Vec<Range<usize>>,
}

/// Grouped-query attention on the CPU, its products in `products`: `q` `[heads, n, d]` to the keys and values of all `pairs`, each `[kv_heads, tokens, d]` f32,
/// one sight a query, to `[n, heads * d]`. Views of any strides will do. A query's result depends on nothing but that query and the
/// sequence of keys that it sees.
pub(crate) fn attention_to<'a>(
    q: &Tensor,
    pairs: impl IntoIterator<Item = &'a (Tensor, Tensor)>,
    sights: &[Sight],
    products: Products,
) -> Result<Tensor> {
    let (heads, n, size) = q.dims3()?;
    let pairs: Vec<&(Tensor, Tensor)> = pairs.into_iter().collect();
    let kv_heads = pairs.first().map_or(Ok(heads), |(keys, _)| keys.dim(0))?;
    // The storages stay locked for reading while the views stand.
    let held: Vec<_> = pairs
        .iter()
        .map(|(k, v)| (k.storage_and_layout(), v.storage_and_layout()))
        .collect();
    let views = held
        .iter()
        .map(|((k, k_layout), (v, v_layout))| {
            Ok(KeyValues {
                tokens: k_layout.shape().dims3()?.1,
                keys: view(k, k_layout)?,
                values: view(v, v_layout)?,
            })
        })
        .collect::<Result<Vec<_>>>()?;
    let seen: Vec<Seen<'_>> = sights
        .iter()
        .map(|sight| Seen {
            prefix: sight.prefix,
            own: &sight.own,
        })
        .collect();
    let shape = Shape {
        heads,
        kv_heads,
        size,
        scale: (1.0 / (size as f64).sqrt()) as f32,
        products,
    };
    let (storage, layout) = q.storage_and_layout();
    let mut out = vec![0f32; n * heads * size];
    spare_kernels::attention::attention(shape, view(&storage, layout)?, &views, &seen, &mut out)
        .map_err(failed)?;
    Tensor::from_vec(out, (n, heads * size), q.device())
}

/// `[heads, tokens, d]` as the kernels see it.
fn view<'a>(storage: &'a Storage, layout: &candle_core::Layout) -> Result<View<'a>> {
    let (Storage::Cpu(storage), &[head, token, 1]) = (storage, layout.stride()) else {
        return Err(Error::Msg(
            "attention on the CPU needs whole heads there".into(),
        ));
    };
    let values = storage.as_slice::<f32>()?.get(layout.start_offset()..);
    Ok(View {
        values: Floats::F32(values.unwrap_or_default()),
        token,
        head,
    })
}

fn blocked(
    q: &Tensor,
    k: &Tensor,
    v: &Tensor,
    causal: bool,
    bytes: usize,
    see: &mut dyn FnMut(usize, &Tensor) -> Result<()>,
) -> Result<Tensor> {
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
        let weights = softmax(&scores, scale, visible)?;
        see(start, &weights)?;
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
    #![allow(clippy::single_range_in_vec_init, clippy::unwrap_used)]
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
                let got = blocked(&q, &k, &v, causal, bytes, &mut |_, _| Ok(())).unwrap();
                let got = got.flatten_all().unwrap().to_vec1::<f32>().unwrap();
                assert_eq!(got.len(), exact.len());
                for (a, b) in got.iter().zip(&exact) {
                    assert!((f64::from(*a) - b).abs() < 2e-6);
                }
            }
        }
    }

    /// Keys in blocks of odd sizes, in both layouts, and branches that skip some of them.
    #[test]
    fn sights_equal_f64() {
        let (heads, kv_heads, d) = (6, 2, 4);
        let (k, v) = (wave((kv_heads, 14, d), 0.31), wave((kv_heads, 14, d), 1.9));
        let pair = |from: usize, len: usize, turned: bool| {
            let part = |t: &Tensor| {
                let part = t.narrow(1, from, len).unwrap();
                if turned {
                    let rows = part.transpose(0, 1).unwrap().contiguous().unwrap();
                    return rows.transpose(0, 1).unwrap();
                }
                part
            };
            (part(&k), part(&v))
        };
        let pairs = [pair(0, 5, false), pair(5, 3, true), pair(8, 6, true)];
        let sight = |prefix: usize, own: &[Range<usize>]| Sight {
            prefix,
            own: own.to_vec(),
        };
        let sights = [
            sight(14, &[]),
            sight(6, &[8..9]),
            sight(6, &[8..10]),
            sight(2, &[4..7, 11..12]),
            sight(2, &[4..7, 11..13]),
        ];
        let q = wave((heads, sights.len(), d), 0.7);
        let got = attention_to(&q, &pairs, &sights, Products::F32).unwrap();
        let got = got.to_vec2::<f32>().unwrap();
        for (row, sight) in sights.iter().enumerate() {
            let ranges = std::iter::once(0..sight.prefix).chain(sight.own.iter().cloned());
            let keys: Vec<u32> = ranges.flatten().map(|key| key as u32).collect();
            let index = Tensor::new(keys, &Device::Cpu).unwrap();
            let pick = |t: &Tensor| t.index_select(&index, 1).unwrap();
            let query = q.narrow(1, row, 1).unwrap();
            let exact = reference(&query, &pick(&k), &pick(&v), false);
            for (a, b) in got[row].iter().zip(exact) {
                assert!((f64::from(*a) - b).abs() < 2e-6);
            }
        }
    }

    /// What is shown is what was used: the weights of all blocks, times the values, are the result.
    #[test]
    fn shown_weights_are_those_that_were_used() {
        let (heads, kv_heads, n, total, d) = (6, 2, 9, 14, 4);
        let (q, k, v) = (
            wave((heads, n, d), 0.7),
            wave((kv_heads, total, d), 0.31),
            wave((kv_heads, total, d), 1.9),
        );
        let values = v.to_vec3::<f32>().unwrap();
        for bytes in [0, 4 * 6 * 14 * 4, 1 << 20] {
            let mut shown = vec![0f64; n * heads * d];
            let mut rows = 0;
            let got = blocked(&q, &k, &v, true, bytes, &mut |first, weights| {
                for (h, head) in weights.to_vec3::<f32>()?.iter().enumerate() {
                    for (i, row) in head.iter().enumerate() {
                        rows += 1;
                        for (weight, value) in row.iter().zip(&values[h / (heads / kv_heads)]) {
                            for (c, value) in value.iter().enumerate() {
                                let at = ((first + i) * heads + h) * d + c;
                                shown[at] += f64::from(*weight) * f64::from(*value);
                            }
                        }
                    }
                }
                Ok(())
            });
            let got = got
                .unwrap()
                .flatten_all()
                .unwrap()
                .to_vec1::<f32>()
                .unwrap();
            assert_eq!(rows, n * heads);
            for (a, b) in got.iter().zip(&shown) {
                assert!((f64::from(*a) - b).abs() < 2e-6);
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
        let got = blocked(&q, &narrow(&k), &narrow(&v), true, 1 << 20, &mut |_, _| {
            Ok(())
        })
        .unwrap();
        assert_eq!(got.dtype(), DType::F32);
        let exact = reference(&wide(&q), &wide(&k), &wide(&v), true);
        let got = got.flatten_all().unwrap().to_vec1::<f32>().unwrap();
        for (a, b) in got.iter().zip(&exact) {
            assert!((f64::from(*a) - b).abs() < 0.03, "{a} {b}");
        }
    }
}
