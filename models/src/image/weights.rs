//! Which input pixels make an output pixel, and with which integer weights?
//!
//! Both reference resizers use the same antialiased cubic filter (a = -0.5, widened by the scale when shrinking)
//! computed in f64. They differ in how they quantise it, which is all that separates their results.

/// Which reference implementation a resized picture equals to the last bit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Resizer {
    /// `torchvision.transforms.v2.functional.resize` on uint8 CPU tensors with bicubic interpolation and
    /// antialiasing, as `Qwen2VLImageProcessor` of transformers 5 calls it: weights of 16 bits.
    #[default]
    Torchvision,
    /// `PIL.Image.resize` with `BICUBIC`, as `Qwen2VLImageProcessorPil` calls it: weights of 22 fractional bits.
    Pil,
}

impl Resizer {
    /// Name for receipts and cache keys: `torchvision` or `pil`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Torchvision => "torchvision",
            Self::Pil => "pil",
        }
    }
}

/// Fixed-point weights along one axis: output `i` is the sum of `weights(i)[j] * input[first(i) + j]`, plus one
/// half, shifted right by `shift` and clamped to a byte.
pub(super) struct Weights {
    pub(super) shift: u32,
    stride: usize,
    spans: Vec<(usize, usize)>,
    values: Vec<i32>,
}

/// Fractional bits of Pillow's weights: a byte and two spare bits for overshoot fit the i32 accumulator.
const PIL_SHIFT: u32 = 22;

impl Weights {
    /// Weights that take `input` pixels to `output` pixels; both are at least 1.
    pub(super) fn new(input: usize, output: usize, resizer: Resizer) -> Self {
        let scale = input as f64 / output as f64;
        let widen = scale.max(1.0);
        let support = 2.0 * widen;
        let stride = support.ceil() as usize * 2 + 1;
        let inverse = 1.0 / widen;
        let mut spans = Vec::with_capacity(output);
        let mut exact = vec![0.0f64; output * stride];
        for (i, row) in exact.chunks_exact_mut(stride).enumerate() {
            let center = scale * (i as f64 + 0.5);
            // `as usize` truncates towards zero and takes negatives to 0, like the references.
            let first = (center - support + 0.5) as usize;
            let end = ((center + support + 0.5) as usize).min(input);
            let len = end.saturating_sub(first).min(stride);
            let mut total = 0.0;
            for (j, weight) in row[..len].iter_mut().enumerate() {
                *weight = cubic(((j + first) as f64 - center + 0.5) * inverse);
                total += *weight;
            }
            if total != 0.0 {
                row[..len].iter_mut().for_each(|weight| *weight /= total);
            }
            spans.push((first, len));
        }
        let shift = match resizer {
            Resizer::Pil => PIL_SHIFT,
            Resizer::Torchvision => widest_16_bit_shift(&exact),
        };
        let one = f64::from(1u32 << shift);
        let values = exact
            .iter()
            .map(|w| (w * one + if *w < 0.0 { -0.5 } else { 0.5 }) as i32)
            .collect();
        Self {
            shift,
            stride,
            spans,
            values,
        }
    }

    /// First input pixel of output `i`, and the weights of it and its successors.
    pub(super) fn at(&self, i: usize) -> (usize, &[i32]) {
        let (first, len) = self.spans[i];
        (first, &self.values[i * self.stride..][..len])
    }
}

/// Most fractional bits (at most 22) with which the largest weight still fits a signed 16-bit integer.
fn widest_16_bit_shift(weights: &[f64]) -> u32 {
    let largest = weights.iter().copied().fold(0.0, f64::max);
    let fits = |shift: u32| (0.5 + largest * f64::from(1u32 << shift)) < f64::from(1u32 << 15);
    (0..PIL_SHIFT)
        .find(|shift| !fits(shift + 1))
        .unwrap_or(PIL_SHIFT)
}

/// Keys' cubic convolution kernel with a = -0.5. The order of operations is the references'.
fn cubic(x: f64) -> f64 {
    const A: f64 = -0.5;
    let x = x.abs();
    if x < 1.0 {
        ((A + 2.0) * x - (A + 3.0)) * x * x + 1.0
    } else if x < 2.0 {
        (((x - 5.0) * x + 8.0) * x - 4.0) * A
    } else {
        0.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_sum_to_one_and_stay_inside() {
        for (input, output) in [
            (1, 7),
            (7, 1),
            (1, 1),
            (3, 2),
            (2, 3),
            (640, 480),
            (480, 640),
            (5000, 28),
        ] {
            for resizer in [Resizer::Torchvision, Resizer::Pil] {
                let weights = Weights::new(input, output, resizer);
                for i in 0..output {
                    let (first, w) = weights.at(i);
                    assert!(!w.is_empty() && first + w.len() <= input);
                    // Each weight is off by half a unit at most.
                    let error = w.iter().sum::<i32>().abs_diff(1 << weights.shift) as usize;
                    assert!(
                        error <= w.len(),
                        "{input} to {output}: {error} units over {} weights",
                        w.len()
                    );
                }
            }
        }
    }
}
