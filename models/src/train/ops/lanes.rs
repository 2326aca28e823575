//! How do loops over a row use the whole register? Sums run in 16 lanes, always the same ones, and the exponential is plain arithmetic.

/// Lanes of a sum: one AVX-512 register.
const LANES: usize = 16;

fn folded(row: &[f32], start: f32, of: impl Fn(f32) -> f32, join: impl Fn(f32, f32) -> f32) -> f32 {
    let (whole, rest) = row.as_chunks::<LANES>();
    let mut lanes = [start; LANES];
    for chunk in whole {
        for (lane, x) in lanes.iter_mut().zip(chunk) {
            *lane = join(*lane, of(*x));
        }
    }
    let joined = lanes.iter().fold(start, |sum, lane| join(sum, *lane));
    rest.iter().fold(joined, |sum, x| join(sum, of(*x)))
}

/// The sum of a row.
pub(super) fn sum(row: &[f32]) -> f32 {
    folded(row, 0.0, |x| x, |sum, x| sum + x)
}

/// The sum of squared distances from `mean`.
pub(super) fn spread(row: &[f32], mean: f32) -> f32 {
    folded(row, 0.0, |x| (x - mean) * (x - mean), |sum, x| sum + x)
}

/// The largest value of a row.
pub(super) fn top(row: &[f32]) -> f32 {
    folded(
        row,
        f32::NEG_INFINITY,
        |x| x,
        |top, x| if x > top { x } else { top },
    )
}

/// The sum of products.
pub(super) fn dot(a: &[f32], b: &[f32]) -> f32 {
    let ((whole_a, rest_a), (whole_b, rest_b)) = (a.as_chunks::<LANES>(), b.as_chunks::<LANES>());
    let mut lanes = [0f32; LANES];
    for (a, b) in whole_a.iter().zip(whole_b) {
        for ((lane, a), b) in lanes.iter_mut().zip(a).zip(b) {
            *lane += a * b;
        }
    }
    let rest: f32 = rest_a.iter().zip(rest_b).map(|(a, b)| a * b).sum();
    lanes.iter().sum::<f32>() + rest
}

/// `e^x` within 2 units of the last place, by the polynomial of Cephes; what is outside of f32's normal range is clamped to its border.
pub(super) fn exp(x: f32) -> f32 {
    const LOW: f32 = -87.0;
    const HIGH: f32 = 88.0;
    // 1.5 * 2^23: what is added to it is rounded to a whole number in its low bits.
    const ROUND: f32 = 12_582_912.0;
    // Comparisons that let NaN through.
    let x = if x < LOW { LOW } else { x };
    let x = if x > HIGH { HIGH } else { x };
    let shifted = x * std::f32::consts::LOG2_E + ROUND;
    let whole = shifted - ROUND;
    // ln 2 in two parts, the first one exact in products.
    let r = x - whole * 0.693_359_4 - whole * -2.121_944_4e-4;
    let mut y = 1.987_569_1e-4;
    for c in [
        1.398_199_9e-3,
        8.333_452e-3,
        4.166_579_6e-2,
        1.666_666_5e-1,
        0.5,
    ] {
        y = y * r + c;
    }
    let y = y * r * r + r + 1.0;
    let power = shifted.to_bits().wrapping_sub(ROUND.to_bits());
    y * f32::from_bits(power.wrapping_add(127) << 23)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exponentials_sums_and_tops() {
        for i in -86_000..=87_000 {
            let x = i as f32 / 1000.0;
            let right = f64::from(x).exp();
            let far = (f64::from(exp(x)) / right - 1.0).abs();
            assert!(far < 2.5e-7, "{x}: {far}");
        }
        assert!(exp(-1e9) < 2e-38 && exp(f32::NEG_INFINITY) < 2e-38);
        assert!(exp(0.0) == 1.0 && exp(f32::NAN).is_nan());
        let row: Vec<f32> = (0..37).map(|i| (i as f32 * 0.7).sin()).collect();
        let near = |a: f32, b: f32| (a - b).abs() < 1e-5;
        assert!(near(sum(&row), row.iter().sum()));
        assert!(near(dot(&row, &row), row.iter().map(|x| x * x).sum()));
        let far = row.iter().map(|x| (x - 0.5) * (x - 0.5)).sum();
        assert!(near(spread(&row, 0.5), far));
        let most = row.iter().copied().fold(f32::MIN, f32::max);
        assert_eq!((top(&row), top(&[])), (most, f32::NEG_INFINITY));
    }
}
