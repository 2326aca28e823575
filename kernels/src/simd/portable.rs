//! What are the vector operations without any instruction set of their own?
//!
//! Arrays of 4, which compilers turn into the vectors of the target's baseline. Multiply and add round
//! separately: a fused one would be a library call a value.
#![allow(unsafe_code)]

/// 4 values a vector.
pub(super) struct Portable;

#[inline(always)]
fn each(a: [f32; 4], b: [f32; 4], f: impl Fn(f32, f32) -> f32) -> [f32; 4] {
    [f(a[0], b[0]), f(a[1], b[1]), f(a[2], b[2]), f(a[3], b[3])]
}

impl super::Simd for Portable {
    type V = [f32; 4];
    const LANES: usize = 4;

    #[inline(always)]
    unsafe fn splat(value: f32) -> [f32; 4] {
        [value; 4]
    }

    #[inline(always)]
    unsafe fn load(from: *const f32) -> [f32; 4] {
        // SAFETY: the caller gives 4 readable values.
        unsafe { from.cast::<[f32; 4]>().read_unaligned() }
    }

    #[inline(always)]
    unsafe fn store(to: *mut f32, value: [f32; 4]) {
        // SAFETY: the caller gives 4 writable values.
        unsafe { to.cast::<[f32; 4]>().write_unaligned(value) }
    }

    #[inline(always)]
    unsafe fn fma(a: [f32; 4], b: [f32; 4], c: [f32; 4]) -> [f32; 4] {
        each(each(a, b, |a, b| a * b), c, |ab, c| ab + c)
    }

    #[inline(always)]
    unsafe fn add(a: [f32; 4], b: [f32; 4]) -> [f32; 4] {
        each(a, b, |a, b| a + b)
    }

    #[inline(always)]
    unsafe fn sub(a: [f32; 4], b: [f32; 4]) -> [f32; 4] {
        each(a, b, |a, b| a - b)
    }

    #[inline(always)]
    unsafe fn mul(a: [f32; 4], b: [f32; 4]) -> [f32; 4] {
        each(a, b, |a, b| a * b)
    }

    #[inline(always)]
    unsafe fn div(a: [f32; 4], b: [f32; 4]) -> [f32; 4] {
        each(a, b, |a, b| a / b)
    }

    #[inline(always)]
    unsafe fn max(a: [f32; 4], b: [f32; 4]) -> [f32; 4] {
        each(a, b, |a, b| if a > b { a } else { b })
    }

    #[inline(always)]
    unsafe fn odd(from: *const u32) -> [f32; 4] {
        // SAFETY: the caller gives 4 readable words.
        let words = unsafe { from.cast::<[u32; 4]>().read_unaligned() };
        words.map(|word| f32::from_bits(word & 0xFFFF_0000))
    }

    #[inline(always)]
    unsafe fn even(from: *const u32) -> [f32; 4] {
        // SAFETY: the caller gives 4 readable words.
        let words = unsafe { from.cast::<[u32; 4]>().read_unaligned() };
        words.map(|word| f32::from_bits(word << 16))
    }

    #[inline(always)]
    unsafe fn scale(value: [f32; 4], n: [f32; 4]) -> [f32; 4] {
        each(value, n, |value, n| {
            f32::from_bits(value.to_bits().wrapping_add(n.to_bits() << 23))
        })
    }

    #[inline(always)]
    unsafe fn less_or(a: [f32; 4], b: [f32; 4], value: [f32; 4], other: [f32; 4]) -> [f32; 4] {
        std::array::from_fn(|i| if a[i] < b[i] { value[i] } else { other[i] })
    }

    #[inline(always)]
    unsafe fn prefetch<T>(_at: *const T) {}
}
