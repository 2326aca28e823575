//! How do queries, keys and values lie in memory, and which keys does a row see?

use std::ops::Range;

use half::bf16;

use super::AttentionError;

/// Values in single precision or bf16.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub enum Floats<'a> {
    /// Single precision.
    F32(&'a [f32]),
    /// bf16, widened exactly.
    Bf16(&'a [bf16]),
}

/// A tensor `[tokens, heads, head size]`; the values of a head are neighbours, tokens and heads lie as far
/// apart as the strides say (in values). `[heads, tokens, size]` has `token: size, head: tokens * size`.
#[derive(Debug, Clone, Copy)]
pub struct View<'a> {
    /// The storage, from the first value of the first token's first head on.
    pub values: Floats<'a>,
    /// Values from a token to the next.
    pub token: usize,
    /// Values from a head to the next.
    pub head: usize,
}

/// Keys and values of some tokens. A cache hands over its blocks as they are.
#[derive(Debug, Clone, Copy)]
pub struct KeyValues<'a> {
    /// Tokens of both.
    pub tokens: usize,
    /// `[tokens, kv_heads, head size]`
    pub keys: View<'a>,
    /// `[tokens, kv_heads, head size]`
    pub values: View<'a>,
}

/// The keys that a query row sees: the first `prefix`, then the ranges in their order. Numbers count over all
/// [`KeyValues`] as if they were one. A causal row `i` has `prefix: i + 1` and no range; a token of a branch that
/// leaves the trunk at `p` has `prefix: p` and the range from the branch's first key to its own.
#[derive(Debug, Clone, Copy, Default)]
pub struct Seen<'a> {
    /// Keys from the beginning.
    pub prefix: usize,
    /// Further keys.
    pub own: &'a [Range<usize>],
}

impl Seen<'_> {
    /// Appends the ranges, neighbours joined and empty ones left out.
    pub(super) fn ranges(&self, to: &mut Vec<Range<usize>>) {
        to.clear();
        for range in std::iter::once(&(0..self.prefix)).chain(self.own) {
            match to.last_mut() {
                _ if range.is_empty() => {}
                Some(last) if last.end == range.start => last.end = range.end,
                _ => to.push(range.clone()),
            }
        }
    }
}

/// Whether the sequence of keys `short` is the beginning of `long`.
pub(super) fn begins(short: &[Range<usize>], long: &[Range<usize>]) -> bool {
    let Some((last, before)) = short.split_last() else {
        return true;
    };
    long.starts_with(before)
        && long
            .get(before.len())
            .is_some_and(|range| range.start == last.start && last.end <= range.end)
}

pub(super) fn count(ranges: &[Range<usize>]) -> usize {
    ranges.iter().map(ExactSizeIterator::len).sum()
}

impl View<'_> {
    /// Checks that every value of the shape is there.
    pub(super) fn check(
        &self,
        what: &'static str,
        tokens: usize,
        heads: usize,
        size: usize,
    ) -> Result<(), AttentionError> {
        let found = match self.values {
            Floats::F32(x) => x.len(),
            Floats::Bf16(x) => x.len(),
        };
        let last = |count: usize, stride: usize| count.saturating_sub(1).saturating_mul(stride);
        let expected = last(tokens, self.token)
            .saturating_add(last(heads, self.head))
            .saturating_add(size);
        if tokens > 0 && found < expected {
            return Err(AttentionError::Short {
                what,
                found,
                expected,
            });
        }
        Ok(())
    }

    /// Copies, widening, the values of one head of one token.
    #[inline]
    pub(super) fn copy(&self, token: usize, head: usize, to: &mut [f32]) {
        let start = token * self.token + head * self.head;
        let range = start..start + to.len();
        match self.values {
            Floats::F32(x) => to.copy_from_slice(&x[range]),
            Floats::Bf16(x) => {
                for (to, x) in to.iter_mut().zip(&x[range]) {
                    *to = f32::from_bits(u32::from(x.to_bits()) << 16);
                }
            }
        }
    }
}
