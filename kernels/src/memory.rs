//! What becomes of memory that is freed?
#![allow(unsafe_code)]

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
