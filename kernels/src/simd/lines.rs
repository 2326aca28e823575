//! How do buffers of vectors begin at a cache line without unsafe allocation?

/// 64 bytes at a 64-byte border.
#[derive(Debug, Clone, Copy)]
#[repr(C, align(64))]
pub(crate) struct Line<T>([T; 16]);

/// A cache-line aligned buffer of 4-byte values (`u32` or `f32`).
#[derive(Debug, Clone, Default)]
pub(crate) struct Lines<T> {
    lines: Vec<Line<T>>,
}

/// Types without padding and without invalid bit patterns that are 4 bytes wide, so that 16 of them fill a
/// [`Line`].
pub(crate) trait Word: Copy + Default {}
impl Word for u32 {}
impl Word for f32 {}

#[allow(unsafe_code)]
impl<T: Word> Lines<T> {
    /// At least `count` values, all zero.
    pub(crate) fn zeroed(count: usize) -> Self {
        let mut lines = Self { lines: Vec::new() };
        lines.reserve(count);
        lines
    }

    /// Makes room for at least `count` values; those that were there stay, new ones are zero.
    pub(crate) fn reserve(&mut self, count: usize) {
        let lines = count.div_ceil(16);
        if self.lines.len() < lines {
            self.lines.resize(lines, Line([T::default(); 16]));
        }
    }

    /// The buffer with at least `count` values, the first `count` of them 0.
    pub(crate) fn cleared(mut self, count: usize) -> Self {
        self.reserve(count);
        self.values_mut()
            .iter_mut()
            .take(count)
            .for_each(|value| *value = T::default());
        self
    }

    pub(crate) fn values(&self) -> &[T] {
        // SAFETY: a line is 16 values without padding (`repr(C)`, 4 bytes each, aligned to 64), and lines
        // follow each other, so `16 * lines.len()` initialised values start at the pointer.
        unsafe { std::slice::from_raw_parts(self.lines.as_ptr().cast(), self.lines.len() * 16) }
    }

    pub(crate) fn values_mut(&mut self) -> &mut [T] {
        // SAFETY: as in `values`; the borrow of `self` is exclusive.
        unsafe {
            std::slice::from_raw_parts_mut(self.lines.as_mut_ptr().cast(), self.lines.len() * 16)
        }
    }
}
