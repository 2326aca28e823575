//! How does a group of rows take in its keys, block after block?

use std::cell::RefCell;
use std::ops::Range;

use super::{Group, KeyValues, Shape, View, panels};
use crate::simd::lines::Lines;
use crate::simd::{Kernels, PANEL, Running};

/// Keys of a block, a multiple of 8: scores of a panel then take 16 KB.
pub(super) const KEYS: usize = 128;

thread_local! {
    static QUERIES: RefCell<Queries> = RefCell::new(Queries::default());
}

/// Buffers of a thread: about 0.6 MB at a head size of 128.
#[derive(Default)]
pub(super) struct Queries {
    /// `[panels][size, 32]`, scaled.
    queries: Lines<f32>,
    /// `[KEYS, size]`
    keys: Lines<f32>,
    /// `[KEYS, width]`, `width` the head size rounded up to 32, the rest 0.
    values: Lines<f32>,
    /// `[KEYS, 32]`
    scores: Lines<f32>,
    /// `[panels * 32, width]`
    sums: Lines<f32>,
    running: Vec<Running>,
    row: Vec<f32>,
}

/// Where the tasks write, each to places of its own.
#[derive(Clone, Copy)]
pub(super) struct Out(pub(super) *mut f32);
// SAFETY: tasks write disjoint parts, see `Job::run`.
unsafe impl Send for Out {}
// SAFETY: as above.
unsafe impl Sync for Out {}

/// One call of attention.
pub(super) struct Job<'a> {
    pub(super) kernels: &'static Kernels,
    pub(super) shape: Shape,
    pub(super) queries: View<'a>,
    pub(super) pairs: &'a [KeyValues<'a>],
    /// Number of the first key of each pair.
    pub(super) starts: &'a [usize],
    pub(super) out: Out,
}

impl Job<'_> {
    /// Attention of a group's rows to key head `head`.
    ///
    /// # Safety
    /// `out` is writable over all rows, heads and columns up to the group's last; nobody else touches the
    /// group's rows of the query heads that share `head`.
    pub(super) unsafe fn run(&self, group: &Group, head: usize) {
        QUERIES.with_borrow_mut(|buffers| {
            buffers.load(self, group, head);
            let total = super::count(&group.keys);
            for first in (0..total).step_by(KEYS) {
                let keys = KEYS.min(total - first);
                self.gather(buffers, &group.keys, first, keys, head);
                self.take(buffers, first, keys);
            }
            // SAFETY: the caller's contract.
            unsafe { self.store(buffers, group, head) };
        });
    }

    pub(super) fn width(&self) -> usize {
        self.shape.size.next_multiple_of(PANEL)
    }

    /// Copies keys `first..first + keys` of the sequence `ranges`, and their values.
    fn gather(
        &self,
        buffers: &mut Queries,
        ranges: &[Range<usize>],
        first: usize,
        keys: usize,
        head: usize,
    ) {
        let (size, width) = (self.shape.size, self.width());
        let (key_rows, value_rows) = (buffers.keys.values_mut(), buffers.values.values_mut());
        self.each_key(ranges, first..first + keys, |at, pair, token| {
            let key = &mut key_rows[at * size..(at + 1) * size];
            pair.keys.copy(token, head, key);
            let value = &mut value_rows[at * width..at * width + size];
            pair.values.copy(token, head, value);
        });
    }

    /// Names keys `block` of the sequence `ranges`, counted from the block's first: the pair that holds each, and which
    /// of its tokens it is.
    pub(super) fn each_key(
        &self,
        ranges: &[Range<usize>],
        block: Range<usize>,
        mut take: impl FnMut(usize, &KeyValues<'_>, usize),
    ) {
        let mut numbers = 0..block.len();
        let mut skip = block.start;
        for range in ranges {
            let begin = range.start + skip.min(range.len());
            skip -= skip.min(range.len());
            // Pairs that hold keys of `begin..range.end`.
            let at = self.starts.partition_point(|&start| start <= begin).max(1) - 1;
            for (pair, &start) in self.pairs.iter().zip(self.starts).skip(at) {
                let from = begin.max(start);
                for token in from..range.end.min(start + pair.tokens) {
                    let Some(number) = numbers.next() else {
                        return;
                    };
                    take(number, pair, token - start);
                }
                if start + pair.tokens >= range.end {
                    break;
                }
            }
        }
    }

    /// Where the result of a row and a query head begins.
    ///
    /// # Safety
    /// As [`Job::run`], for this row and head.
    pub(super) unsafe fn row(&self, row: usize, head: usize) -> *mut f32 {
        // SAFETY: the caller's contract.
        unsafe {
            self.out
                .0
                .add((row * self.shape.heads + head) * self.shape.size)
        }
    }

    /// Passes one block of keys by every panel that sees some of it.
    fn take(&self, buffers: &mut Queries, first: usize, keys: usize) {
        let (size, width) = (self.shape.size, self.width());
        let Queries {
            queries,
            keys: key_rows,
            values,
            scores,
            sums,
            running,
            ..
        } = buffers;
        let queries = queries.values().chunks_exact(size * PANEL);
        let sums = sums.values_mut().chunks_exact_mut(PANEL * width);
        let (key_rows, values, scores) = (key_rows.values(), values.values(), scores.values_mut());
        for ((queries, sums), running) in queries.zip(sums).zip(running.iter_mut()) {
            let longest = running.seen.iter().fold(0.0, |a: f32, &b| a.max(b));
            #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
            let keys = keys.min((longest as usize).saturating_sub(first));
            if keys == 0 {
                continue;
            }
            let eights = keys.div_ceil(8);
            let lanes = running.seen.iter().rposition(|&seen| seen > 0.0);
            let lanes = lanes.map_or(0, |last| last / 8 + 1);
            assert!(
                key_rows.len() >= eights * 8 * size
                    && scores.len() >= eights * 8 * PANEL
                    && values.len() >= keys * width
            );
            // SAFETY: the assertion; a panel of queries holds `size` rows of 32, of sums 32 rows of
            // `width`, a multiple of 32; `lanes <= 4`; `Kernels::of` gives functions that this CPU runs.
            unsafe {
                (self.kernels.scores)(
                    eights,
                    size,
                    key_rows.as_ptr(),
                    queries.as_ptr(),
                    scores.as_mut_ptr(),
                );
                (self.kernels.weights)(keys, first, scores.as_mut_ptr(), running);
                (self.kernels.values)(
                    lanes,
                    keys,
                    width,
                    scores.as_ptr(),
                    values.as_ptr(),
                    &running.shrink,
                    sums.as_mut_ptr(),
                );
            }
        }
    }

    /// Writes the sums over the weights' sums.
    ///
    /// # Safety
    /// As [`Job::run`].
    unsafe fn store(&self, buffers: &Queries, group: &Group, head: usize) {
        let (size, width) = (self.shape.size, self.width());
        let per_key = self.shape.heads / self.shape.kv_heads;
        let weights = buffers.running.iter().flat_map(|running| running.sum);
        let places = group
            .rows
            .clone()
            .flat_map(|row| (0..per_key).map(move |h| (row, head * per_key + h)));
        let sums = buffers.sums.values().chunks_exact(width);
        for ((sums, weight), (row, head)) in sums.zip(weights).zip(places) {
            // SAFETY: the caller's contract; `size` values of this row and head.
            let out = unsafe { std::slice::from_raw_parts_mut(self.row(row, head), size) };
            for (out, sum) in out.iter_mut().zip(sums) {
                // 0 where no key is seen; NaN stays NaN.
                *out = if weight == 0.0 { 0.0 } else { sum / weight };
            }
        }
    }
}

impl Queries {
    /// Takes a group's queries and forgets what was summed.
    fn load(&mut self, job: &Job<'_>, group: &Group, head: usize) {
        let Shape {
            heads,
            kv_heads,
            size,
            scale,
            ..
        } = job.shape;
        let per_key = heads / kv_heads;
        let panels = panels(group.rows.len() * per_key);
        self.queries.reserve(panels * size * PANEL);
        self.keys.reserve(KEYS * size);
        // Columns beyond the head size are added up too: they must be 0 whatever stood here.
        self.values = std::mem::take(&mut self.values).cleared(KEYS * job.width());
        self.scores.reserve(KEYS * PANEL);
        self.sums = std::mem::take(&mut self.sums).cleared(panels * PANEL * job.width());
        self.running.clear();
        self.running.resize_with(panels, || Running::EMPTY);
        self.row.resize(size, 0.0);
        let mut lane = 0;
        for (row, &seen) in group.rows.clone().zip(&group.seen) {
            for h in 0..per_key {
                job.queries.copy(row, head * per_key + h, &mut self.row);
                let (panel, column) = (lane / PANEL, lane % PANEL);
                let to = self.queries.values_mut().iter_mut();
                let to = to.skip(panel * size * PANEL + column).step_by(PANEL);
                for (to, &x) in to.zip(&self.row) {
                    *to = x * scale;
                }
                if let Some(running) = self.running.get_mut(panel) {
                    #[allow(clippy::cast_precision_loss)]
                    let seen = seen as f32;
                    running.seen[column] = seen;
                }
                lane += 1;
            }
        }
    }
}
