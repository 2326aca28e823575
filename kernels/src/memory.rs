//! What becomes of memory that is freed, and how is memory used that nobody has written yet?
#![allow(unsafe_code)]

use std::mem::MaybeUninit;

/// Values that a kernel may write to. It writes nothing but values.
pub(crate) fn writable(values: &mut [f32]) -> &mut [MaybeUninit<f32>] {
    let len = values.len();
    // SAFETY: the same values, borrowed for as long; `MaybeUninit<f32>` has the layout of f32, and kernels write only whole
    // values through it.
    unsafe { std::slice::from_raw_parts_mut(values.as_mut_ptr().cast(), len) }
}

/// `len` values, every one of them written by `fill` and none before it: zeroing a large buffer on one thread takes as long
/// as a product takes on many to fill it.
///
/// # Safety
/// `fill` writes all values, or returns an error.
pub(crate) unsafe fn filled<E>(
    len: usize,
    fill: impl FnOnce(&mut [MaybeUninit<f32>]) -> Result<(), E>,
) -> Result<Vec<f32>, E> {
    let mut out = Vec::with_capacity(len);
    fill(out.spare_capacity_mut().get_mut(..len).unwrap_or_default())?;
    // SAFETY: the capacity is at least `len`, and the caller's contract.
    unsafe { out.set_len(len) };
    Ok(out)
}

/// Asks the C library to keep what is freed for the next allocation, for the whole process: up to 2 GB, in pieces up to 32 MB.
///
/// A pass through a model allocates and frees a few hundred buffers of 4 to 25 MB. glibc gives such memory back at once and the next
/// buffer is faulted in page by page, which took a tenth of a pass at the rates of [`Path::Amx`](crate::Path::Amx). A program may
/// call this once at its start; a library should leave it to the program. Does nothing, and returns false, where the C library is
/// not glibc or refuses.
pub fn keep_freed_memory() -> bool {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    {
        const MAPPED_FROM: libc::c_int = 32 << 20;
        const KEPT: libc::c_int = i32::MAX;
        // SAFETY: `mallopt` reads two integers and changes when memory is given back, not what an allocation is.
        unsafe {
            libc::mallopt(libc::M_MMAP_THRESHOLD, MAPPED_FROM) == 1
                && libc::mallopt(libc::M_TRIM_THRESHOLD, KEPT) == 1
        }
    }
    #[cfg(not(all(target_os = "linux", target_env = "gnu")))]
    false
}
