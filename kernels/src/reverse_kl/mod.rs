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
//! of tokens holds its hidden states, one tile of the weight and their logits, all in f64.

mod error;
mod logits;
mod tokens;

pub use error::{Context, HeadError};

use half::{bf16, f16};
use logits::Logits;
use rayon::prelude::*;
use tokens::Running;

/// Bytes that the f64 hidden states of a block (both contexts) may take.
const STATES_BYTES: usize = 16 << 20;
/// Bytes that the f64 copy of a tile of the weight may take.
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
}

impl Weight<'_> {
    fn len(&self) -> usize {
        match self {
            Self::F32(w) => w.len(),
            Self::Bf16(w) => w.len(),
            Self::F16(w) => w.len(),
        }
    }
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
    /// `[vocab, hidden]` row-major.
    pub weight: Weight<'a>,
    /// Width of a hidden state.
    pub hidden: usize,
    /// Entries of the vocabulary.
    pub vocab: usize,
    /// `[n]`: the token ids that the run recorded.
    pub recorded: &'a [u32],
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
}

impl Default for Options {
    /// K = 20 and a floor of 1e-12, as SPARE has them.
    fn default() -> Self {
        Self {
            top_k: 20,
            floor: 1e-12,
            blocking: None,
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
    pub fn for_hidden(hidden: usize) -> Self {
        let row_bytes = hidden.max(1).saturating_mul(size_of::<f64>());
        Self {
            tokens: (STATES_BYTES / row_bytes / 2).clamp(8, 512),
            rows: (TILE_BYTES / row_bytes).clamp(24, 384),
        }
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
    let blocking = options
        .blocking
        .unwrap_or_else(|| Blocking::for_hidden(input.hidden));
    let block = blocking.tokens.min(n);
    let rows = blocking.rows.min(input.vocab);
    let top_k = options.top_k.min(input.vocab);
    let tiles = input.vocab.div_ceil(rows);
    let total = n.div_ceil(block) * tiles;

    let mut logits = Logits::new(block, rows, input.hidden);
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
                    token.take(
                        first,
                        student.get(..width).unwrap_or_default(),
                        teacher.get(..width).unwrap_or_default(),
                    );
                });
        }
        for token in running.iter().map(|token| token.finish(options.floor.ln())) {
            out.d_topk.push(token.d_topk);
            out.d_full.push(token.d_full);
            out.logp.push(token.logp);
            out.logq.push(token.logq);
            out.kth_gap.push(token.kth_gap);
        }
    }
    Ok(out)
}

fn check(input: &HeadInput<'_>, options: &Options) -> Result<(), HeadError> {
    let blocking = options
        .blocking
        .unwrap_or_else(|| Blocking::for_hidden(input.hidden));
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
    for (what, found, rows) in [
        ("student", input.student.len(), n),
        ("teacher", input.teacher.len(), n),
        ("weight", input.weight.len(), input.vocab),
    ] {
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
