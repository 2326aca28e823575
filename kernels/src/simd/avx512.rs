//! What are the vector operations on AVX-512F?
#![allow(unsafe_code)]

use std::arch::x86_64::*;

/// AVX-512F, 16 values a vector.
pub(super) struct Avx512;

impl super::Simd for Avx512 {
    type V = __m512;
    const LANES: usize = 16;

    #[inline(always)]
    unsafe fn splat(value: f32) -> __m512 {
        // SAFETY: AVX-512F is there.
        unsafe { _mm512_set1_ps(value) }
    }

    #[inline(always)]
    unsafe fn load(from: *const f32) -> __m512 {
        // SAFETY: the caller gives 16 readable values.
        unsafe { _mm512_loadu_ps(from) }
    }

    #[inline(always)]
    unsafe fn store(to: *mut f32, value: __m512) {
        // SAFETY: the caller gives 16 writable values.
        unsafe { _mm512_storeu_ps(to, value) }
    }

    #[inline(always)]
    unsafe fn fma(a: __m512, b: __m512, c: __m512) -> __m512 {
        // SAFETY: AVX-512F is there.
        unsafe { _mm512_fmadd_ps(a, b, c) }
    }

    #[inline(always)]
    unsafe fn add(a: __m512, b: __m512) -> __m512 {
        // SAFETY: AVX-512F is there.
        unsafe { _mm512_add_ps(a, b) }
    }

    #[inline(always)]
    unsafe fn sub(a: __m512, b: __m512) -> __m512 {
        // SAFETY: AVX-512F is there.
        unsafe { _mm512_sub_ps(a, b) }
    }

    #[inline(always)]
    unsafe fn mul(a: __m512, b: __m512) -> __m512 {
        // SAFETY: AVX-512F is there.
        unsafe { _mm512_mul_ps(a, b) }
    }

    #[inline(always)]
    unsafe fn div(a: __m512, b: __m512) -> __m512 {
        // SAFETY: AVX-512F is there.
        unsafe { _mm512_div_ps(a, b) }
    }

    #[inline(always)]
    unsafe fn max(a: __m512, b: __m512) -> __m512 {
        // SAFETY: AVX-512F is there.
        unsafe { _mm512_max_ps(a, b) }
    }

    #[inline(always)]
    unsafe fn odd(from: *const u32) -> __m512 {
        // SAFETY: the caller gives 16 readable words.
        unsafe {
            let words = _mm512_loadu_si512(from.cast());
            let mask = _mm512_set1_epi32(0xFFFF_0000_u32.cast_signed());
            _mm512_castsi512_ps(_mm512_and_si512(words, mask))
        }
    }

    #[inline(always)]
    unsafe fn even(from: *const u32) -> __m512 {
        // SAFETY: the caller gives 16 readable words.
        unsafe { _mm512_castsi512_ps(_mm512_slli_epi32::<16>(_mm512_loadu_si512(from.cast()))) }
    }

    #[inline(always)]
    unsafe fn scale(value: __m512, n: __m512) -> __m512 {
        // SAFETY: AVX-512F is there.
        unsafe {
            let exponent = _mm512_slli_epi32::<23>(_mm512_castps_si512(n));
            _mm512_castsi512_ps(_mm512_add_epi32(_mm512_castps_si512(value), exponent))
        }
    }

    #[inline(always)]
    unsafe fn less_or(a: __m512, b: __m512, value: __m512, other: __m512) -> __m512 {
        // SAFETY: AVX-512F is there.
        unsafe { _mm512_mask_mov_ps(other, _mm512_cmp_ps_mask::<_CMP_LT_OQ>(a, b), value) }
    }

    #[inline(always)]
    unsafe fn prefetch<T>(at: *const T) {
        // SAFETY: a prefetch touches no memory a program can see, whatever the address.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(at.cast()) }
    }
}

/// Tile of up to 14 rows by 32 outputs on dot products of bf16 pairs: the arguments of
/// [`super::table::TileWords`] with both operands as pairs.
///
/// `vdpbf16ps` adds the product of the upper halves, then that of the lower ones, rounds each sum to
/// nearest even and treats denormals (operands, sums) as 0.
///
/// # Safety
/// AVX512-BF16 must be there; bounds as in [`super::table::TileWords`].
#[target_feature(enable = "avx512f,avx512bf16")]
pub(super) unsafe fn tile_pairs(
    rows: usize,
    pairs: usize,
    a: *const u32,
    b: *const u32,
    c: *mut f32,
    c_row: usize,
    add: bool,
) {
    // SAFETY: handed on unchanged.
    unsafe {
        super::tile::by_rows!(rows, [1 2 3 4 5 6 7 8 9 10 11 12 13 14], MR => {
            pairs_of::<MR>(pairs, a, b, c, c_row, add);
        });
    }
}

/// # Safety
/// As [`tile_pairs`] with `rows = MR`.
#[target_feature(enable = "avx512f,avx512bf16")]
#[inline]
unsafe fn pairs_of<const MR: usize>(
    pairs: usize,
    a: *const u32,
    b: *const u32,
    c: *mut f32,
    c_row: usize,
    add: bool,
) {
    let mut sums = [[_mm512_setzero_ps(); 2]; MR];
    for p in 0..pairs {
        // SAFETY: row `p < pairs` of `b` holds 32 words, of `a` MR words; `__m512bh` is 512 plain bits.
        unsafe {
            let right: [__m512bh; 2] = [
                std::mem::transmute::<__m512i, __m512bh>(_mm512_loadu_si512(b.add(p * 32).cast())),
                std::mem::transmute::<__m512i, __m512bh>(_mm512_loadu_si512(
                    b.add(p * 32 + 16).cast(),
                )),
            ];
            for (r, sum) in sums.iter_mut().enumerate() {
                let left = std::mem::transmute::<__m512i, __m512bh>(_mm512_set1_epi32(
                    (*a.add(p * MR + r)).cast_signed(),
                ));
                sum[0] = _mm512_dpbf16_ps(sum[0], left, right[0]);
                sum[1] = _mm512_dpbf16_ps(sum[1], left, right[1]);
            }
        }
    }
    for (r, sum) in sums.iter().enumerate() {
        for (half, &sum) in sum.iter().enumerate() {
            // SAFETY: row `r < MR` of `c` holds 32 values from `r * c_row` on.
            unsafe {
                let to = c.add(r * c_row + half * 16);
                let sum = if add {
                    _mm512_add_ps(_mm512_loadu_ps(to), sum)
                } else {
                    sum
                };
                _mm512_storeu_ps(to, sum);
            }
        }
    }
}
