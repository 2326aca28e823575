//! What are the vector operations on AVX2 and FMA?
#![allow(unsafe_code)]

use std::arch::x86_64::*;

/// AVX2 and FMA, 8 values a vector.
pub(super) struct Avx2;

impl super::Simd for Avx2 {
    type V = __m256;
    const LANES: usize = 8;

    #[inline(always)]
    unsafe fn splat(value: f32) -> __m256 {
        // SAFETY: AVX2 is there.
        unsafe { _mm256_set1_ps(value) }
    }

    #[inline(always)]
    unsafe fn load(from: *const f32) -> __m256 {
        // SAFETY: the caller gives 8 readable values.
        unsafe { _mm256_loadu_ps(from) }
    }

    #[inline(always)]
    unsafe fn store(to: *mut f32, value: __m256) {
        // SAFETY: the caller gives 8 writable values.
        unsafe { _mm256_storeu_ps(to, value) }
    }

    #[inline(always)]
    unsafe fn fma(a: __m256, b: __m256, c: __m256) -> __m256 {
        // SAFETY: FMA is there.
        unsafe { _mm256_fmadd_ps(a, b, c) }
    }

    #[inline(always)]
    unsafe fn add(a: __m256, b: __m256) -> __m256 {
        // SAFETY: AVX2 is there.
        unsafe { _mm256_add_ps(a, b) }
    }

    #[inline(always)]
    unsafe fn sub(a: __m256, b: __m256) -> __m256 {
        // SAFETY: AVX2 is there.
        unsafe { _mm256_sub_ps(a, b) }
    }

    #[inline(always)]
    unsafe fn mul(a: __m256, b: __m256) -> __m256 {
        // SAFETY: AVX2 is there.
        unsafe { _mm256_mul_ps(a, b) }
    }

    #[inline(always)]
    unsafe fn div(a: __m256, b: __m256) -> __m256 {
        // SAFETY: AVX2 is there.
        unsafe { _mm256_div_ps(a, b) }
    }

    #[inline(always)]
    unsafe fn max(a: __m256, b: __m256) -> __m256 {
        // SAFETY: AVX2 is there.
        unsafe { _mm256_max_ps(a, b) }
    }

    #[inline(always)]
    unsafe fn odd(from: *const u32) -> __m256 {
        // SAFETY: the caller gives 8 readable words.
        unsafe {
            let words = _mm256_loadu_si256(from.cast());
            let mask = _mm256_set1_epi32(0xFFFF_0000_u32.cast_signed());
            _mm256_castsi256_ps(_mm256_and_si256(words, mask))
        }
    }

    #[inline(always)]
    unsafe fn even(from: *const u32) -> __m256 {
        // SAFETY: the caller gives 8 readable words.
        unsafe { _mm256_castsi256_ps(_mm256_slli_epi32::<16>(_mm256_loadu_si256(from.cast()))) }
    }

    #[inline(always)]
    unsafe fn scale(value: __m256, n: __m256) -> __m256 {
        // SAFETY: AVX2 is there.
        unsafe {
            let exponent = _mm256_slli_epi32::<23>(_mm256_castps_si256(n));
            _mm256_castsi256_ps(_mm256_add_epi32(_mm256_castps_si256(value), exponent))
        }
    }

    #[inline(always)]
    unsafe fn less_or(a: __m256, b: __m256, value: __m256, other: __m256) -> __m256 {
        // SAFETY: AVX2 is there.
        unsafe { _mm256_blendv_ps(other, value, _mm256_cmp_ps::<_CMP_LT_OQ>(a, b)) }
    }

    #[inline(always)]
    unsafe fn prefetch<T>(at: *const T) {
        // SAFETY: a prefetch touches no memory a program can see, whatever the address.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(at.cast()) }
    }
}
