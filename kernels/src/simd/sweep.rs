//! How do a token's running sums take in a tile of its logits?
//!
//! All sums are f64, in 8 lanes, whose order a tile's width fixes.

/// Values of a lane group.
const LANES: usize = 8;

/// Both log-sum-exps of a token and the sum of its full divergence, so far.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Sweep {
    /// Largest logit of the student and of the teacher.
    pub(crate) max: [f64; 2],
    /// Sums of `exp(z - max)`.
    pub(crate) sum: [f64; 2],
    /// Sum of `exp(z_p - max[0]) * (z_p - z_q)`.
    pub(crate) cross: f64,
}

impl Sweep {
    /// Nothing seen.
    pub(crate) const EMPTY: Self = Self {
        max: [f64::NEG_INFINITY; 2],
        sum: [0.0; 2],
        cross: 0.0,
    };
}

#[inline(always)]
fn fma<const FUSED: bool>(a: f64, b: f64, c: f64) -> f64 {
    if FUSED { a.mul_add(b, c) } else { a * b + c }
}

/// `exp(x)` for `x <= 0`, within 2 units in the last place; 0 below -708. Operation by operation over the
/// lanes, which compilers turn into vectors.
#[inline(always)]
fn exp<const FUSED: bool>(x: [f64; LANES]) -> [f64; LANES] {
    // 1.5 * 2^52: adding it leaves the nearest integer in the low bits.
    const ROUND: f64 = 6_755_399_441_055_744.0;
    // ln 2 in two parts (fdlibm): products of the first with integers below 2^20 are exact.
    const LN2: [f64; 2] = [6.931_471_803_691_238e-1, 1.908_214_929_270_587_7e-10];
    // 1 / 13! down to 1 / 0!: the rest of the series is below 2^-57 for |r| <= ln 2 / 2.
    const POWERS: [f64; 14] = [
        1.605_904_383_682_161_5e-10,
        2.087_675_698_786_81e-9,
        2.505_210_838_544_172e-8,
        2.755_731_922_398_589e-7,
        2.755_731_922_398_589_3e-6,
        2.480_158_730_158_73e-5,
        1.984_126_984_126_984e-4,
        1.388_888_888_888_889e-3,
        8.333_333_333_333_333e-3,
        4.166_666_666_666_666_4e-2,
        1.666_666_666_666_666_6e-1,
        0.5,
        1.0,
        1.0,
    ];
    let mut shifted = [0.0; LANES];
    let mut r = [0.0; LANES];
    for ((shifted, r), &x) in shifted.iter_mut().zip(&mut r).zip(&x) {
        // NaN fails the comparison and stays NaN.
        let x = if x < -708.0 { -708.0 } else { x };
        *shifted = fma::<FUSED>(x, std::f64::consts::LOG2_E, ROUND);
        let n = *shifted - ROUND;
        *r = fma::<FUSED>(-n, LN2[1], fma::<FUSED>(-n, LN2[0], x));
    }
    let mut y = [0.0; LANES];
    for &power in &POWERS {
        for (y, &r) in y.iter_mut().zip(&r) {
            *y = fma::<FUSED>(*y, r, power);
        }
    }
    for ((y, &shifted), &x) in y.iter_mut().zip(&shifted).zip(&x) {
        let scaled = f64::from_bits(y.to_bits().wrapping_add(shifted.to_bits() << 52));
        *y = if x < -708.0 { 0.0 } else { scaled };
    }
    y
}

/// Sums in lanes: the student's, the teacher's, the divergence's.
type Lanes = [[f64; LANES]; 3];

/// Takes in as many logits as there are lanes.
#[inline(always)]
fn add<const FUSED: bool>(sums: &mut Lanes, max: [f64; 2], p: [f64; LANES], q: [f64; LANES]) {
    let e = exp::<FUSED>(p.map(|z| z - max[0]));
    let f = exp::<FUSED>(q.map(|z| z - max[1]));
    for lane in 0..LANES {
        sums[0][lane] += e[lane];
        sums[1][lane] += f[lane];
        sums[2][lane] = fma::<FUSED>(e[lane], p[lane] - q[lane], sums[2][lane]);
    }
}

/// Takes in a tile and returns the student's largest logit in it. The rows have one length.
#[inline(always)]
pub(super) fn take<T: Copy + Into<f64>, const FUSED: bool>(
    sweep: &mut Sweep,
    student: &[T],
    teacher: &[T],
) -> f64 {
    let tile = [largest(student), largest(teacher)];
    for ((max, sum), (context, tile)) in sweep
        .max
        .iter_mut()
        .zip(&mut sweep.sum)
        .zip(tile.into_iter().enumerate())
    {
        if tile > *max {
            // Nothing summed yet gives exp(-inf) = 0.
            let shrink = (*max - tile).exp();
            *max = tile;
            *sum *= shrink;
            if context == 0 {
                sweep.cross *= shrink;
            }
        }
    }
    let mut sums: Lanes = [[0.0; LANES]; 3];
    let ((p, rest_p), (q, rest_q)) = (student.as_chunks::<LANES>(), teacher.as_chunks::<LANES>());
    for (&p, &q) in p.iter().zip(q) {
        add::<FUSED>(&mut sums, sweep.max, p.map(Into::into), q.map(Into::into));
    }
    if !rest_p.is_empty() {
        // Lanes without a logit have one so far down that its weight is 0.
        let (mut p, mut q) = ([-f64::MAX; LANES], [-f64::MAX; LANES]);
        for ((p, q), (&z_p, &z_q)) in p.iter_mut().zip(&mut q).zip(rest_p.iter().zip(rest_q)) {
            (*p, *q) = (z_p.into(), z_q.into());
        }
        add::<FUSED>(&mut sums, sweep.max, p, q);
    }
    let [student, teacher, cross] = sums.map(|lanes| lanes.iter().sum::<f64>());
    sweep.sum[0] += student;
    sweep.sum[1] += teacher;
    sweep.cross += cross;
    tile[0]
}

#[inline(always)]
fn largest<T: Copy + Into<f64>>(row: &[T]) -> f64 {
    let mut lanes = [f64::NEG_INFINITY; LANES];
    let (chunks, rest) = row.as_chunks::<LANES>();
    for chunk in chunks {
        for (lane, &z) in lanes.iter_mut().zip(chunk) {
            let z: f64 = z.into();
            *lane = if z > *lane { z } else { *lane };
        }
    }
    let rest = rest.iter().map(|&z| z.into());
    lanes
        .into_iter()
        .chain(rest)
        .fold(f64::NEG_INFINITY, f64::max)
}
