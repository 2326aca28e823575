//! What does each token take from the keys it may see, without a `[tokens, tokens]` matrix?
//!
//! Softmax of `scale * q k^T` times v, in f32, over blocks of keys with running maximum and sum. The keys of a
//! row are a sequence (see [`Seen`]) that is cut in blocks from its own beginning, so a row has the same bits
//! whatever stands beside it: alone or packed, first or last, on any number of threads. Values of keys beyond a row's own
//! are multiplied by 0: they must be finite. A score that is no number makes its row NaN.

#![allow(unsafe_code)]

mod block;
mod error;
mod matrix;
mod view;

use std::ops::Range;

use rayon::prelude::*;

pub use error::AttentionError;
pub use view::{Floats, KeyValues, Seen, View};

use view::{begins, count};

use crate::Path;
use crate::simd::{Kernels, PANEL};

/// Queries (rows x heads of a key head) that share the blocks of keys of a task.
const QUERIES: usize = 256;
/// The same on tiles of bf16, where reading a block costs more beside what is done with it.
const TILED_QUERIES: usize = 512;

/// Sizes of attention.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Shape {
    /// Query heads.
    pub heads: usize,
    /// Key heads; `heads / kv_heads` neighbouring query heads share one.
    pub kv_heads: usize,
    /// Values of a head.
    pub size: usize,
    /// Factor of the scores, commonly `1 / sqrt(size)`.
    pub scale: f32,
    /// What the two products are computed in.
    pub products: Products,
}

/// What scores and weighted values are computed in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Products {
    /// f32.
    #[default]
    F32,
    /// Queries, keys, weights and values rounded to bf16 on [`Path::Amx`], which multiplies them several times faster; f32 on
    /// every other path. Scores, exponentials and sums are f32.
    Bf16,
}

/// `out [rows, heads, size]`: attention of `seen.len()` query rows `[rows, heads, size]` to the keys that
/// each sees, on [`Path::current`] and the current rayon pool. A row that sees no key gives 0.
///
/// # Errors
/// [`AttentionError`] when a size is 0, heads are no multiple of the key heads, a tensor is too short, or a
/// row is to see keys that do not exist.
///
/// ```
/// use spare_kernels::attention::{Floats, KeyValues, Products, Seen, Shape, View, attention};
///
/// let view = |values| View { values: Floats::F32(values), token: 2, head: 2 };
/// let shape = Shape { heads: 1, kv_heads: 1, size: 2, scale: 1.0, products: Products::F32 };
/// let pair = KeyValues { tokens: 2, keys: view(&[0.0; 4]), values: view(&[1.0, 2.0, 3.0, 6.0]) };
/// let seen = [1, 2].map(|prefix| Seen { prefix, own: &[] });
/// let mut out = [0.0; 4];
/// attention(shape, view(&[1.0; 4]), &[pair], &seen, &mut out)?;
/// assert_eq!(out, [1.0, 2.0, 2.0, 4.0]);
/// # Ok::<(), spare_kernels::attention::AttentionError>(())
/// ```
pub fn attention(
    shape: Shape,
    queries: View<'_>,
    pairs: &[KeyValues<'_>],
    seen: &[Seen<'_>],
    out: &mut [f32],
) -> Result<(), AttentionError> {
    attention_on(Path::current(), shape, queries, pairs, seen, out)
}

/// [`attention`] on a path of choice; on the portable one where this CPU lacks it.
///
/// # Errors
/// As [`attention`].
pub fn attention_on(
    path: Path,
    shape: Shape,
    queries: View<'_>,
    pairs: &[KeyValues<'_>],
    seen: &[Seen<'_>],
    out: &mut [f32],
) -> Result<(), AttentionError> {
    check(shape, queries, pairs, seen, out)?;
    let starts: Vec<usize> = pairs
        .iter()
        .scan(0, |end, pair| {
            *end += pair.tokens;
            Some(*end - pair.tokens)
        })
        .collect();
    let per_key = shape.heads / shape.kv_heads;
    let kernels = Kernels::of(path);
    let matrices = match shape.products {
        Products::Bf16 => kernels.matrices.as_ref(),
        Products::F32 => None,
    };
    let queries_at_once = if matrices.is_some() {
        TILED_QUERIES
    } else {
        QUERIES
    };
    let groups = groups(seen, (queries_at_once / per_key).max(1));
    let job = block::Job {
        kernels,
        shape,
        queries,
        pairs,
        starts: &starts,
        out: block::Out(out.as_mut_ptr()),
    };
    // The longest first, so that no thread is left alone with one at the end.
    let mut order: Vec<usize> = (0..groups.len()).collect();
    order.sort_by_key(|&g| std::cmp::Reverse(groups.get(g).map(|g| count(&g.keys) * g.rows.len())));
    let tasks = order.len() * shape.kv_heads;
    (0..tasks).into_par_iter().with_max_len(1).for_each(|task| {
        let (at, head) = (task / shape.kv_heads, task % shape.kv_heads);
        if let Some(group) = order.get(at).and_then(|&g| groups.get(g)) {
            // SAFETY: `out` holds all rows and heads (see `check`); a group of rows and a key head are
            // given to one task only.
            unsafe {
                match matrices {
                    Some(matrices) => job.run_on_tiles(matrices, group, head),
                    None => job.run(group, head),
                }
            }
        }
    });
    Ok(())
}

/// Neighbouring rows whose keys are each the beginning of the longest one's.
struct Group {
    rows: Range<usize>,
    /// Keys of the longest.
    keys: Vec<Range<usize>>,
    /// Keys that each row sees.
    seen: Vec<usize>,
}

fn groups(seen: &[Seen<'_>], rows: usize) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    let mut keys = Vec::new();
    for (row, seen) in seen.iter().enumerate() {
        seen.ranges(&mut keys);
        let open = groups.last_mut().filter(|group| {
            group.rows.len() < rows && (begins(&keys, &group.keys) || begins(&group.keys, &keys))
        });
        if let Some(group) = open {
            group.rows.end += 1;
            group.seen.push(count(&keys));
            if begins(&group.keys, &keys) {
                group.keys.clone_from(&keys);
            }
        } else {
            groups.push(Group {
                rows: row..row + 1,
                keys: keys.clone(),
                seen: vec![count(&keys)],
            });
        }
    }
    groups
}

fn check(
    shape: Shape,
    queries: View<'_>,
    pairs: &[KeyValues<'_>],
    seen: &[Seen<'_>],
    out: &[f32],
) -> Result<(), AttentionError> {
    for (what, size) in [
        ("heads", shape.heads),
        ("key heads", shape.kv_heads),
        ("head size", shape.size),
    ] {
        if size == 0 {
            return Err(AttentionError::Zero { what });
        }
    }
    if !shape.heads.is_multiple_of(shape.kv_heads) {
        return Err(AttentionError::Heads {
            heads: shape.heads,
            kv_heads: shape.kv_heads,
        });
    }
    queries.check("queries", seen.len(), shape.heads, shape.size)?;
    for pair in pairs {
        pair.keys
            .check("keys", pair.tokens, shape.kv_heads, shape.size)?;
        pair.values
            .check("values", pair.tokens, shape.kv_heads, shape.size)?;
    }
    let keys = pairs
        .iter()
        .fold(0, |sum: usize, pair| sum.saturating_add(pair.tokens));
    if keys > 1 << 24 {
        return Err(AttentionError::Keys { found: keys });
    }
    for (row, seen) in seen.iter().enumerate() {
        let ends = seen.own.iter().map(|range| range.end);
        let found = ends.fold(seen.prefix, usize::max);
        // A key may be seen more than once, but not more often than a position can number.
        let all = seen
            .own
            .iter()
            .fold(seen.prefix, |sum, range| sum.saturating_add(range.len()));
        if found > keys {
            return Err(AttentionError::Key { row, found, keys });
        }
        if all > 1 << 24 {
            return Err(AttentionError::Keys { found: all });
        }
    }
    let expected = seen
        .len()
        .saturating_mul(shape.heads)
        .saturating_mul(shape.size);
    if out.len() != expected {
        return Err(AttentionError::Out {
            found: out.len(),
            expected,
        });
    }
    Ok(())
}

/// Panels of 32 that hold so many queries.
fn panels(queries: usize) -> usize {
    queries.div_ceil(PANEL)
}
