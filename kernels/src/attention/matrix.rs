//! How does a group of rows take in its keys on tiles of bf16?
//!
//! As in [`super::block`], with queries, keys, weights and values rounded to bf16 for the two products; scores, exponentials and
//! sums are f32. Sums lie with the queries across, `[width, 32]`, so that both products have the keys' side on the left.

use std::cell::RefCell;
use std::ops::Range;

use super::Group;
use super::block::{Job, KEYS};
use crate::simd::lines::Lines;
use crate::simd::{DEPTH, GROUP, Kernels, Matrices, PANEL, Running, TILE};

/// Steps of 32 keys in a block.
const STEPS: usize = KEYS / DEPTH;

thread_local! {
    static BUFFERS: RefCell<Buffers> = RefCell::new(Buffers::default());
}

/// Buffers of a thread: about 1 MB at a head size of 128.
#[derive(Default)]
struct Buffers {
    /// `[panels][depth / 2, 32]` words, scaled; `depth` is the head size rounded up to 32, here and below.
    queries: Lines<u32>,
    /// `[KEYS / 16][depth / 32]` tiles.
    keys: Lines<u32>,
    /// `[depth / 16][KEYS / 32]` tiles, values across.
    values: Lines<u32>,
    /// `[KEYS, 32]`
    scores: Lines<f32>,
    /// `[KEYS / 2, 32]` words.
    weights: Lines<u32>,
    /// `[panels][depth, 32]`
    sums: Lines<f32>,
    running: Vec<Running>,
    /// `[KEYS, depth]`, columns beyond the head size 0.
    rows: Lines<f32>,
    /// `[KEYS / 2, depth]` words.
    pairs: Lines<u32>,
}

impl Job<'_> {
    /// Attention of a group's rows to key head `head`.
    ///
    /// # Safety
    /// As [`Job::run`].
    pub(super) unsafe fn run_on_tiles(&self, matrices: &Matrices, group: &Group, head: usize) {
        BUFFERS.with_borrow_mut(|buffers| {
            buffers.load(self, matrices, group, head);
            let total = super::count(&group.keys);
            for first in (0..total).step_by(KEYS) {
                let keys = KEYS.min(total - first);
                buffers.gather(self, matrices, &group.keys, first..first + keys, head);
                buffers.take(self.kernels, matrices, self.width(), first, keys);
            }
            // SAFETY: the caller's contract.
            unsafe { buffers.store(self, matrices, group, head) };
        });
    }
}

impl Buffers {
    /// Takes a group's queries and forgets what was summed.
    fn load(&mut self, job: &Job<'_>, matrices: &Matrices, group: &Group, head: usize) {
        let (size, width) = (job.shape.size, job.width());
        let per_key = job.shape.heads / job.shape.kv_heads;
        let lanes = group.rows.len() * per_key;
        let panels = super::panels(lanes);
        let steps = width / DEPTH;
        self.queries.reserve(panels * width / 2 * PANEL);
        self.keys.reserve(KEYS / GROUP * steps * TILE);
        self.values.reserve(width / GROUP * STEPS * TILE);
        self.scores.reserve(KEYS * PANEL);
        self.weights.reserve(KEYS / 2 * PANEL);
        self.pairs.reserve(KEYS / 2 * width);
        self.rows = std::mem::take(&mut self.rows).cleared(KEYS * width);
        self.sums = std::mem::take(&mut self.sums).cleared(panels * width * PANEL);
        self.running.clear();
        self.running.resize_with(panels, || Running::EMPTY);
        let mut places = group
            .rows
            .clone()
            .zip(&group.seen)
            .flat_map(|(row, &seen)| (0..per_key).map(move |h| (row, h, seen)));
        let row = &mut self.rows.values_mut()[..size];
        for at in 0..panels * PANEL / GROUP {
            // Sixteen queries as tiles, which are then turned; missing ones are 0.
            let tiles = &mut self.pairs.values_mut()[..steps * TILE];
            tiles.fill(0);
            for lane in 0..GROUP {
                let Some((query, h, seen)) = places.next() else {
                    break;
                };
                job.queries.copy(query, head * per_key + h, row);
                row.iter_mut().for_each(|x| *x *= job.shape.scale);
                let to = &mut tiles[lane * DEPTH / 2..];
                assert!(to.len() >= (steps - 1) * TILE + DEPTH / 2);
                // SAFETY: a table gives functions that this CPU runs; `size <= 32 * steps`.
                unsafe { (matrices.narrow_row)(size, row.as_ptr(), to.as_mut_ptr()) };
                if let Some(running) = self.running.get_mut(at * GROUP / PANEL) {
                    #[allow(clippy::cast_precision_loss)]
                    let seen = seen as f32;
                    running.seen[at * GROUP % PANEL + lane] = seen;
                }
            }
            let panel = at * GROUP / PANEL * width / 2 * PANEL + at * GROUP % PANEL;
            for (step, tile) in tiles.chunks_exact(TILE).enumerate() {
                let to = &mut self.queries.values_mut()[panel + step * GROUP * PANEL..];
                assert!(to.len() >= (GROUP - 1) * PANEL + GROUP);
                // SAFETY: a tile is 16 rows of 16 words; the assertion.
                unsafe { (matrices.turn)(tile.as_ptr(), GROUP, to.as_mut_ptr(), PANEL) };
            }
        }
    }

    /// Rounds the keys of a block, and turns their values.
    fn gather(
        &mut self,
        job: &Job<'_>,
        matrices: &Matrices,
        ranges: &[Range<usize>],
        block: Range<usize>,
        head: usize,
    ) {
        let (size, width) = (job.shape.size, job.width());
        let (steps, count) = (width / DEPTH, block.len());
        let keys = self.keys.values_mut();
        let rows = self.rows.values_mut();
        // The row that is filled last serves as room for a key before.
        job.each_key(ranges, block, |at, pair, token| {
            let row = &mut rows[at * width..at * width + size];
            pair.keys.copy(token, head, row);
            let to = &mut keys[at / GROUP * steps * TILE + at % GROUP * DEPTH / 2..];
            assert!(to.len() >= (steps - 1) * TILE + DEPTH / 2);
            // SAFETY: a table gives functions that this CPU runs; `size <= 32 * steps`.
            unsafe { (matrices.narrow_row)(size, row.as_ptr(), to.as_mut_ptr()) };
            pair.values.copy(token, head, row);
        });
        let taken = count.div_ceil(DEPTH);
        let pairs = &mut self.pairs.values_mut()[..taken * GROUP * width];
        assert!(rows.len() >= count * width && width.is_multiple_of(GROUP));
        // SAFETY: the assertion; `count <= 32 * taken`.
        unsafe { (matrices.pair_rows)(count, width, rows.as_ptr(), pairs.as_mut_ptr()) };
        pairs[count.div_ceil(2) * width..].fill(0);
        for step in 0..taken {
            for dims in 0..width / GROUP {
                let from = &pairs[step * GROUP * width + dims * GROUP..];
                let to = &mut self.values.values_mut()[(dims * STEPS + step) * TILE..][..TILE];
                assert!(from.len() >= (GROUP - 1) * width + GROUP);
                // SAFETY: the assertion, and a tile of 256 words.
                unsafe { (matrices.turn)(from.as_ptr(), width, to.as_mut_ptr(), GROUP) };
            }
        }
    }

    /// Passes one block of keys by every panel that sees some of it.
    fn take(
        &mut self,
        kernels: &Kernels,
        matrices: &Matrices,
        width: usize,
        first: usize,
        keys: usize,
    ) {
        let steps = width / DEPTH;
        let (key_tiles, values) = (self.keys.values(), self.values.values());
        let (scores, weights) = (self.scores.values_mut(), self.weights.values_mut());
        let queries = self.queries.values().chunks_exact(width / 2 * PANEL);
        let sums = self.sums.values_mut().chunks_exact_mut(width * PANEL);
        for ((queries, sums), running) in queries.zip(sums).zip(&mut self.running) {
            let longest = running.seen.iter().fold(0.0, |a: f32, &b| a.max(b));
            #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
            let keys = keys.min((longest as usize).saturating_sub(first));
            if keys == 0 {
                continue;
            }
            let taken = keys.div_ceil(DEPTH);
            assert!(
                key_tiles.len() >= keys.div_ceil(GROUP) * steps * TILE
                    && values.len() >= width / GROUP * STEPS * TILE
                    && scores.len() >= keys * PANEL
                    && weights.len() >= taken * GROUP * PANEL
                    && taken <= STEPS
            );
            // SAFETY: the assertion; a panel of queries is `steps` steps of 16 words by 32, of sums `width` rows of 32;
            // `width` is a multiple of 32. `Kernels::of` gives functions that this CPU runs.
            unsafe {
                for row in (0..keys).step_by(2 * GROUP) {
                    (matrices.tile)(
                        (keys - row).min(2 * GROUP),
                        steps,
                        (
                            key_tiles.as_ptr().add(row / GROUP * steps * TILE),
                            steps * TILE,
                        ),
                        queries.as_ptr(),
                        scores.as_mut_ptr().add(row * PANEL),
                        PANEL,
                        false,
                    );
                }
                (kernels.weights)(keys, first, scores.as_mut_ptr(), running);
                (matrices.pair_rows)(keys, PANEL, scores.as_ptr(), weights.as_mut_ptr());
                weights[keys.div_ceil(2) * PANEL..taken * GROUP * PANEL].fill(0);
                if running.shrink.iter().any(|&shrink| shrink != 1.0) {
                    (matrices.scale_rows)(width, &running.shrink, sums.as_mut_ptr());
                }
                for row in (0..width).step_by(2 * GROUP) {
                    (matrices.tile)(
                        2 * GROUP,
                        taken,
                        (
                            values.as_ptr().add(row / GROUP * STEPS * TILE),
                            STEPS * TILE,
                        ),
                        weights.as_ptr(),
                        sums.as_mut_ptr().add(row * PANEL),
                        PANEL,
                        true,
                    );
                }
            }
        }
    }

    /// Writes the sums over the weights' sums.
    ///
    /// # Safety
    /// As [`Job::run`].
    unsafe fn store(&mut self, job: &Job<'_>, matrices: &Matrices, group: &Group, head: usize) {
        let width = job.width();
        let per_key = job.shape.heads / job.shape.kv_heads;
        let mut places = group
            .rows
            .clone()
            .flat_map(|row| (0..per_key).map(move |h| (row, head * per_key + h)));
        let turned = &mut self.pairs.values_mut()[..PANEL * width];
        let sums = self.sums.values().chunks_exact(width * PANEL);
        for (sums, running) in sums.zip(&self.running) {
            for dims in (0..width).step_by(GROUP) {
                for lanes in (0..PANEL).step_by(GROUP) {
                    // SAFETY: 16 rows of 16 values lie within the panel's sums, and as many within `turned`; an
                    // f32 is as wide as a word and turning only moves bits.
                    unsafe {
                        (matrices.turn)(
                            sums.as_ptr().add(dims * PANEL + lanes).cast(),
                            PANEL,
                            turned.as_mut_ptr().add(lanes * width + dims),
                            width,
                        );
                    }
                }
            }
            for (lane, (sums, weight)) in turned.chunks_exact(width).zip(running.sum).enumerate() {
                let Some((row, query_head)) = places.next() else {
                    debug_assert!(lane > 0 || group.rows.is_empty());
                    return;
                };
                // SAFETY: the caller's contract; `size` values of this row and head.
                let out = unsafe {
                    std::slice::from_raw_parts_mut(job.row(row, query_head), job.shape.size)
                };
                for (out, &sum) in out.iter_mut().zip(sums) {
                    // 0 where no key is seen; NaN stays NaN.
                    *out = if weight == 0.0 {
                        0.0
                    } else {
                        f32::from_bits(sum) / weight
                    };
                }
            }
        }
    }
}
