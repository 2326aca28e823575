//! How far does the summary move each prediction: the reverse KL divergence of two next-token
//! distributions, from hidden states and the head's weight, without ever holding their logits.
//!
//! For token k with student distribution `p` and teacher distribution `q`, both normalised over the whole
//! vocabulary and in nats (SPARE, arXiv 2608.22963):
//!
//! ```text
//! d_topk = max(0, sum over the student's K most probable u of p(u) * (log p(u) - log max(q(u), floor)))
//! d_full =        sum over the whole vocabulary            of p(u) * (log p(u) - log q(u))
//! ```
//!
//! One sweep over vocabulary tiles serves both contexts. A `[tokens, vocab]` matrix never exists: a block
//! of tokens holds its hidden states, one tile of the weight and their logits. Log-sum-exps and sums are f64;
//! the products are f32 or f64 as [`Precision`] says.

mod error;
mod logits;
mod single;
mod tokens;

pub use error::{Context, HeadError};

use half::{bf16, f16};
use rayon::prelude::*;
use tokens::{Logit, Running};

use crate::Path;
use crate::gemm::Packed;
use crate::simd::Kernels;

/// Bytes that the hidden states of a block (both contexts) may take.
const STATES_BYTES: usize = 16 << 20;
/// Bytes that the copy of a tile of the weight may take.
const TILE_BYTES: usize = 6 << 20;

/// The weight of the head, `[vocab, hidden]` row-major.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub enum Weight<'a> {
    /// Single precision.
    F32(&'a [f32]),
    /// bfloat16, widened exactly.
    Bf16(&'a [bf16]),
    /// Half precision, widened exactly.
    F16(&'a [f16]),
    /// Packed for [`gemm`](crate::gemm::gemm): what another product with this weight uses too.
    Packed(Packed<'a>),
}

/// What the head computes on: `n` tokens seen in two contexts, and the weight that turns a hidden state
/// into logits.
#[derive(Debug, Clone, Copy)]
pub struct HeadInput<'a> {
    /// `[n, hidden]` row-major: the student's hidden states after the final norm, each the one that
    /// predicts the recorded token.
    pub student: &'a [f32],
    /// `[n, hidden]` row-major: the teacher's.
    pub teacher: &'a [f32],
    /// `[vocab, hidden]`, row-major or packed.
    pub weight: Weight<'a>,
    /// Width of a hidden state.
    pub hidden: usize,
    /// Entries of the vocabulary.
    pub vocab: usize,
    /// `[n]`: the token ids that the run recorded.
    pub recorded: &'a [u32],
}

/// What hidden states are multiplied by the weight in. Log-sum-exps and sums are f64 either way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Precision {
    /// f32, at the rate of [`gemm`](crate::gemm::gemm), to the last bit independent of blocks of tokens and of
    /// what stands beside a token. Off by less than `1e-5 * (1 + d)` nats: at hidden 2048 and logits of standard
    /// deviation 10 (test `single_precision_holds_its_bound`). Where
    /// `kth_gap` is below 1e-4 the support itself may be another.
    Single,
    /// As [`Single`](Self::Single), with hidden states rounded to bf16 first: what a model in bf16 computes, at the rate of
    /// bf16 by bf16 where the CPU has it ([`Path::multiplies_bf16`]). Beside a weight that is not bf16 the same as `Single`.
    Bf16,
    /// f64, exact to about 1e-13 of a logit, at half the rate or less. The default: f32 comes close to the
    /// bound, and what a caller does not ask for should cost no digits.
    #[default]
    Double,
}

/// Choices of the divergence.
#[derive(Debug, Clone, PartialEq)]
pub struct Options {
    /// Size of the support, K: the student's most probable tokens, ties to the lower id. More than the
    /// vocabulary means all of it.
    pub top_k: usize,
    /// Floor of `q` in the truncated sum, a probability; 0 switches it off.
    pub floor: f64,
    /// Sizes of the sweep; `None` chooses them such that the head stays under 64 MB.
    pub blocking: Option<Blocking>,
    /// Precision of the products.
    pub precision: Precision,
}

impl Default for Options {
    /// K = 20 and a floor of 1e-12, as SPARE has them.
    fn default() -> Self {
        Self {
            top_k: 20,
            floor: 1e-12,
            blocking: None,
            precision: Precision::default(),
        }
    }
}

/// Sizes of the sweep. They change speed and memory, and results by no more than f64 rounding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Blocking {
    /// Tokens of a block.
    pub tokens: usize,
    /// Vocabulary entries of a tile.
    pub rows: usize,
}

impl Blocking {
    /// The sizes used when none are given.
    #[must_use]
    pub fn for_hidden(hidden: usize, precision: Precision) -> Self {
        let (value, rows) = match precision {
            Precision::Single | Precision::Bf16 => (size_of::<f32>(), (32, 512)),
            Precision::Double => (size_of::<f64>(), (24, 384)),
        };
        let row_bytes = hidden.max(1).saturating_mul(value);
        Self {
            tokens: (STATES_BYTES / row_bytes / 2).clamp(8, 512),
            rows: (TILE_BYTES / row_bytes).clamp(rows.0, rows.1),
        }
    }

    fn of(options: &Options, hidden: usize) -> Self {
        options
            .blocking
            .unwrap_or_else(|| Self::for_hidden(hidden, options.precision))
    }
}

/// The divergences of `n` tokens, in nats; every field has `n` entries.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Divergence {
    /// Over the student's top K, `q` floored, clipped at 0.
    pub d_topk: Vec<f64>,
    /// Over the whole vocabulary, no floor; not clipped, so rounding may leave -1e-15.
    pub d_full: Vec<f64>,
    /// `log p` of the recorded token.
    pub logp: Vec<f64>,
    /// `log q` of the recorded token.
    pub logq: Vec<f64>,
    /// Student logit of rank K minus that of rank K + 1: below the error of the hidden states the choice
    /// of the support, and with it `d_topk`, is arbitrary. Infinite where the support is the vocabulary.
    pub kth_gap: Vec<f64>,
}

/// Computes the divergences of every token.
///
/// Runs on the current rayon pool; the result does not depend on its number of threads. `cancel` is asked
/// before every tile, on the calling thread. Beside its result the head allocates, whatever `n` and
/// `vocab` are, less than 64 MB (hidden up to 8192, K up to 1000, blocking `None`).
///
/// # Errors
/// [`HeadError`] when a size is 0 (no tokens at all is fine), a slice has the wrong length, an id lies
/// outside the vocabulary, a value is NaN or infinite, or `cancel` returned true.
///
/// ```
/// use spare_kernels::{HeadInput, Options, Weight, reverse_kl};
///
/// // Two vocabulary entries whose logits are the hidden state itself: p = (3/4, 1/4), q = (1/4, 3/4).
/// let ln3 = 3_f32.ln();
/// let input = HeadInput {
///     student: &[ln3, 0.0],
///     teacher: &[0.0, ln3],
///     weight: Weight::F32(&[1.0, 0.0, 0.0, 1.0]),
///     hidden: 2,
///     vocab: 2,
///     recorded: &[0],
/// };
/// let found = reverse_kl(&input, &Options::default(), &|| false)?;
/// assert!((found.d_full[0] - 0.5 * 3_f64.ln()).abs() < 1e-6);
/// assert!((found.logp[0] - 0.75_f64.ln()).abs() < 1e-6);
/// # Ok::<(), spare_kernels::HeadError>(())
/// ```
pub fn reverse_kl(
    input: &HeadInput<'_>,
    options: &Options,
    cancel: &dyn Fn() -> bool,
) -> Result<Divergence, HeadError> {
    check(input, options)?;
    let n = input.recorded.len();
    if n == 0 {
        return Ok(Divergence::default());
    }
    let blocking = Blocking::of(options, input.hidden);
    let sweep = Sizes {
        block: blocking.tokens.min(n),
        rows: blocking.rows.min(input.vocab),
        top_k: options.top_k.min(input.vocab),
        floor: options.floor,
        kernels: Kernels::of(Path::current()),
    };
    let (block, rows, hidden) = (sweep.block, sweep.rows, input.hidden);
    match options.precision {
        Precision::Single | Precision::Bf16 => run(
            input,
            sweep,
            single::Logits::new(
                sweep.kernels,
                block,
                rows,
                hidden,
                options.precision == Precision::Bf16,
            ),
            cancel,
        ),
        Precision::Double => run(
            input,
            sweep,
            logits::Logits::new(block, rows, hidden),
            cancel,
        ),
    }
}

/// Sizes of one sweep, and what it runs on.
#[derive(Clone, Copy)]
struct Sizes {
    /// Tokens of a block.
    block: usize,
    /// Vocabulary entries of a tile.
    rows: usize,
    top_k: usize,
    floor: f64,
    kernels: &'static Kernels,
}

/// Logits of a block of tokens over a tile of the vocabulary, in one precision.
trait Tile {
    type Logit: Logit + Sync;
    fn set_states(&mut self, student: &[f32], teacher: &[f32]);
    fn compute(&mut self, weight: &Weight<'_>, first: usize, rows: usize) -> Result<(), HeadError>;
    /// Student and teacher logits of each token, at least as many as the tile is wide.
    fn rows(&self) -> impl IndexedParallelIterator<Item = (&[Self::Logit], &[Self::Logit])>;
}

fn run<L: Tile>(
    input: &HeadInput<'_>,
    sizes: Sizes,
    mut logits: L,
    cancel: &dyn Fn() -> bool,
) -> Result<Divergence, HeadError> {
    let Sizes {
        block,
        rows,
        top_k,
        floor,
        kernels,
    } = sizes;
    let tiles = input.vocab.div_ceil(rows);
    let total = input.recorded.len().div_ceil(block) * tiles;
    let mut out = Divergence::default();
    let states = input
        .student
        .chunks(block * input.hidden)
        .zip(input.teacher.chunks(block * input.hidden));
    for (at, (recorded, (student, teacher))) in input.recorded.chunks(block).zip(states).enumerate()
    {
        logits.set_states(student, teacher);
        let mut running: Vec<Running> =
            recorded.iter().map(|&id| Running::new(top_k, id)).collect();
        for tile in 0..tiles {
            if cancel() {
                return Err(HeadError::Cancelled {
                    done: at * tiles + tile,
                    total,
                });
            }
            let first = tile * rows;
            let width = rows.min(input.vocab - first);
            logits.compute(&input.weight, first, width)?;
            running
                .par_iter_mut()
                .zip(logits.rows())
                .for_each(|(token, (student, teacher))| {
                    let (student, teacher) = (student.get(..width), teacher.get(..width));
                    let (student, teacher) =
                        (student.unwrap_or_default(), teacher.unwrap_or_default());
                    token.take(kernels, first, student, teacher);
                });
        }
        for (token, running) in running.iter().enumerate() {
            let found = running.finish(floor.ln());
            // f64 sums of finite operands have no other way to fail: a logit was beyond f32.
            if !(found.d_full.is_finite() && found.logp.is_finite() && found.logq.is_finite()) {
                return Err(HeadError::Overflow {
                    token: at * block + token,
                });
            }
            out.d_topk.push(found.d_topk);
            out.d_full.push(found.d_full);
            out.logp.push(found.logp);
            out.logq.push(found.logq);
            out.kth_gap.push(found.kth_gap);
        }
    }
    Ok(out)
}

/// Names the first weight that is not finite among those of the rows from `first` on.
fn bad_weight(weights: impl Iterator<Item = f32>, first: usize, hidden: usize) -> HeadError {
    let bad = weights.enumerate().find(|(_, w)| !w.is_finite());
    let (at, found) = bad.unwrap_or((0, f32::NAN));
    HeadError::Weight {
        row: first + at / hidden,
        column: at % hidden,
        found,
    }
}

fn check(input: &HeadInput<'_>, options: &Options) -> Result<(), HeadError> {
    let blocking = Blocking::of(options, input.hidden);
    for (what, size) in [
        ("hidden", input.hidden),
        ("vocab", input.vocab),
        ("top_k", options.top_k),
        ("blocking.tokens", blocking.tokens),
        ("blocking.rows", blocking.rows),
    ] {
        if size == 0 {
            return Err(HeadError::Zero { what });
        }
    }
    if !(0.0..=1.0).contains(&options.floor) {
        return Err(HeadError::Floor {
            found: options.floor,
        });
    }
    if u32::try_from(input.vocab).is_err() {
        return Err(HeadError::Vocab { found: input.vocab });
    }
    let n = input.recorded.len();
    let weight = match input.weight {
        Weight::F32(w) => Some(w.len()),
        Weight::Bf16(w) => Some(w.len()),
        Weight::F16(w) => Some(w.len()),
        Weight::Packed(_) => None,
    };
    if let Weight::Packed(packed) = input.weight
        && (packed.out(), packed.input()) != (input.vocab, input.hidden)
    {
        return Err(HeadError::Packed {
            found_out: packed.out(),
            found_in: packed.input(),
            vocab: input.vocab,
            hidden: input.hidden,
        });
    }
    for (what, found, rows) in [
        ("student", Some(input.student.len()), n),
        ("teacher", Some(input.teacher.len()), n),
        ("weight", weight, input.vocab),
    ] {
        let Some(found) = found else { continue };
        if rows.checked_mul(input.hidden) != Some(found) {
            return Err(HeadError::Length {
                what,
                found,
                rows,
                columns: input.hidden,
            });
        }
    }
    for (token, &found) in input.recorded.iter().enumerate() {
        if found as usize >= input.vocab {
            return Err(HeadError::Recorded {
                token,
                found,
                vocab: input.vocab,
            });
        }
    }
    for (context, states) in [
        (Context::Student, input.student),
        (Context::Teacher, input.teacher),
    ] {
        if let Some((at, &found)) = states.iter().enumerate().find(|(_, x)| !x.is_finite()) {
            let (token, column) = (at / input.hidden, at % input.hidden);
            return Err(HeadError::Hidden {
                context,
                token,
                column,
                found,
            });
        }
    }
    Ok(())
}
