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

/// Asks the allocator to keep what is freed for the next allocation, for the whole process.
///
/// A pass through a model allocates and frees a few hundred buffers of 4 to 25 MB. Allocators give such memory back after a while, glibc
/// at once, and the next buffer is faulted in page by page, which took a tenth of a pass at the rates of
/// [`Path::Amx`](crate::Path::Amx). A program may call this once at its start; a library should leave it to the program. Speaks to
/// mimalloc with the feature `mimalloc`, else to glibc (up to 2 GB, in pieces up to 32 MB). Does nothing, and returns false, where the
/// C library is another or refuses.
pub fn keep_freed_memory() -> bool {
    #[cfg(feature = "mimalloc")]
    {
        const PURGE_DELAY: libmimalloc_sys::mi_option_t = 15;
        const NEVER: std::ffi::c_long = -1;
        // SAFETY: sets a number that is read when memory is freed.
        unsafe { libmimalloc_sys::mi_option_set(PURGE_DELAY, NEVER) };
        true
    }
    #[cfg(all(not(feature = "mimalloc"), target_os = "linux", target_env = "gnu"))]
    {
        const MAPPED_FROM: libc::c_int = 32 << 20;
        const KEPT: libc::c_int = i32::MAX;
        // SAFETY: `mallopt` reads two integers and changes when memory is given back, not what an allocation is.
        unsafe {
            libc::mallopt(libc::M_MMAP_THRESHOLD, MAPPED_FROM) == 1
                && libc::mallopt(libc::M_TRIM_THRESHOLD, KEPT) == 1
        }
    }
    #[cfg(not(any(feature = "mimalloc", all(target_os = "linux", target_env = "gnu"))))]
    false
}

#[cfg(all(test, feature = "mimalloc"))]
mod tests {
    /// The number of the option is not in the crate's interface: it holds as long as that option's value is mimalloc's default, and then ours.
    #[test]
    fn the_option_is_the_delay_of_purging() {
        const DEFAULT: std::ffi::c_long = 10;
        // SAFETY: reads a number.
        let delay = || unsafe { libmimalloc_sys::mi_option_get(15) };
        if std::env::var_os("MIMALLOC_PURGE_DELAY").is_none() {
            assert_eq!(delay(), DEFAULT);
        }
        assert!(super::keep_freed_memory());
        assert_eq!(delay(), -1);
    }
}
