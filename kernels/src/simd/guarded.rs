//! A buffer whose first or last byte stands at a page that may not be touched.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::ops::{Deref, DerefMut};

/// `len` values that end where a page without access begins.
pub(crate) struct Guarded<T> {
    map: *mut libc::c_void,
    bytes: usize,
    first: *mut T,
    len: usize,
}

impl<T: Copy> Guarded<T> {
    pub(crate) fn new(from: &[T]) -> Self {
        let page = 65_536;
        let size = size_of_val(from);
        let room = size.next_multiple_of(page);
        // SAFETY: an anonymous private mapping; its last `page` bytes (a multiple of every page size in
        // use) lose access; the values lie right before them, aligned because sizes are multiples of
        // alignments and the border is one of a page.
        unsafe {
            let bytes = room + page;
            let map = libc::mmap(
                std::ptr::null_mut(),
                bytes,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
                -1,
                0,
            );
            assert_ne!(map, libc::MAP_FAILED);
            assert_eq!(libc::mprotect(map.byte_add(room), page, libc::PROT_NONE), 0);
            let first: *mut T = map.byte_add(room - size).cast();
            first.copy_from_nonoverlapping(from.as_ptr(), from.len());
            Self {
                map,
                bytes,
                first,
                len: from.len(),
            }
        }
    }
}

impl<T> Deref for Guarded<T> {
    type Target = [T];
    fn deref(&self) -> &[T] {
        // SAFETY: `len` values were written at `first`; the mapping lives as long as `self`.
        unsafe { std::slice::from_raw_parts(self.first, self.len) }
    }
}

impl<T> DerefMut for Guarded<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: as above, and `self` is borrowed exclusively.
        unsafe { std::slice::from_raw_parts_mut(self.first, self.len) }
    }
}

impl<T> Drop for Guarded<T> {
    fn drop(&mut self) {
        // SAFETY: what `mmap` gave.
        unsafe { libc::munmap(self.map, self.bytes) };
    }
}
