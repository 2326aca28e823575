//! Which vector operations do the kernels need, and what are they on each instruction set?
//!
//! A kernel is written once over [`Simd`] and is inlined into one function a path that enables the
//! instructions; [`Kernels`] is the table of those functions.

#![allow(unsafe_code)]

#[cfg(target_arch = "x86_64")]
pub(crate) mod amx;
#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
#[cfg(all(test, unix))]
mod guarded;
pub(crate) mod lines;
mod portable;
mod soft;
mod sweep;
mod table;
#[cfg(all(test, unix))]
mod tests;
mod tile;

pub(crate) use soft::Running;
pub(crate) use sweep::Sweep;
pub(crate) use table::{Kernels, Matrices};
pub(crate) use tile::{DEPTH, GROUP, PANEL, TILE};

/// f32 vectors of one instruction set.
///
/// # Safety
/// Every method may be called only where the CPU has the instructions (see [`crate::Path::available`]);
/// `load`, `odd` and `even` read `LANES` values of 4 bytes from their pointer, `store` writes as many.
/// No pointer needs more than 4-byte alignment.
pub(crate) trait Simd {
    /// A vector.
    type V: Copy;
    /// Values in a vector.
    const LANES: usize;

    unsafe fn splat(value: f32) -> Self::V;
    unsafe fn load(from: *const f32) -> Self::V;
    unsafe fn store(to: *mut f32, value: Self::V);
    /// `a * b + c`, with one rounding where the instruction set has it.
    unsafe fn fma(a: Self::V, b: Self::V, c: Self::V) -> Self::V;
    unsafe fn add(a: Self::V, b: Self::V) -> Self::V;
    unsafe fn sub(a: Self::V, b: Self::V) -> Self::V;
    unsafe fn mul(a: Self::V, b: Self::V) -> Self::V;
    unsafe fn div(a: Self::V, b: Self::V) -> Self::V;
    /// Larger of two values; `a` must not be NaN.
    unsafe fn max(a: Self::V, b: Self::V) -> Self::V;
    /// The upper halves of 32-bit words, which are bf16, widened.
    unsafe fn odd(from: *const u32) -> Self::V;
    /// The lower halves.
    unsafe fn even(from: *const u32) -> Self::V;
    /// `value * 2^n` for the integer that `n = i + 1.5 * 2^23` holds in its low bits, `-126 <= i <= 127`.
    unsafe fn scale(value: Self::V, n: Self::V) -> Self::V;
    /// `value` where `a < b`, `other` elsewhere.
    unsafe fn less_or(a: Self::V, b: Self::V, value: Self::V, other: Self::V) -> Self::V;
    /// Asks for a cache line; any address will do.
    unsafe fn prefetch<T>(at: *const T);
}
