//! Where do token ids become rows, and rows become logits?

use std::sync::Arc;

use half::{bf16, f16};
use spare_kernels::Weight;

use crate::linear::PackedMatrix;

/// A `[rows, width]` table on the host. It stays there because embeddings are gathered row by row, and because a tied
/// head is the same memory.
#[derive(Debug, Clone)]
pub(crate) struct Table {
    pub(crate) width: usize,
    data: Data,
}

/// Rows of an f16 table that are widened at once.
const PART: usize = 1024;

#[derive(Debug, Clone)]
enum Data {
    Packed(PackedMatrix),
    F16(Arc<Vec<f16>>),
}

impl Table {
    /// Stands for a table while a checkpoint is only looked at.
    pub(crate) fn empty(width: usize) -> Self {
        Self::from_f16(width, Vec::new())
    }

    pub(crate) fn from_f32(width: usize, data: &[f32]) -> candle_core::Result<Self> {
        let dims = (data.len() / width.max(1), width);
        let data = Data::Packed(PackedMatrix::of_f32(data, dims)?);
        Ok(Self { width, data })
    }

    pub(crate) fn from_bf16(width: usize, data: &[bf16]) -> candle_core::Result<Self> {
        let dims = (data.len() / width.max(1), width);
        let data = Data::Packed(PackedMatrix::of_bf16(data, dims)?);
        Ok(Self { width, data })
    }

    pub(crate) fn from_f16(width: usize, data: Vec<f16>) -> Self {
        let data = Data::F16(Arc::new(data));
        Self { width, data }
    }

    pub(crate) fn weight(&self) -> Weight<'_> {
        match &self.data {
            Data::Packed(data) => Weight::Packed(data.weight()),
            Data::F16(data) => Weight::F16(data),
        }
    }

    /// Whether a product rounds hidden states to bf16: see [`PackedMatrix::rounds_rows`].
    pub(crate) fn rounds_rows(&self) -> bool {
        matches!(&self.data, Data::Packed(data) if data.rounds_rows())
    }

    /// Appends row `row` to `out`; false where the table has no such row.
    pub(crate) fn push_row(&self, row: usize, out: &mut Vec<f32>) -> bool {
        let data = match &self.data {
            Data::Packed(data) => return data.push_row(row, out),
            Data::F16(data) => data,
        };
        let range = row
            .checked_mul(self.width)
            .and_then(|start| Some(start..start.checked_add(self.width)?));
        let values = range.and_then(|range| data.get(range));
        out.extend(values.into_iter().flatten().map(|v| v.to_f32()));
        values.is_some()
    }

    /// `rows · selfᵀ` for row-major `rows` of the table's width, in f32.
    pub(crate) fn project(&self, rows: &[f32]) -> candle_core::Result<Vec<f32>> {
        let data = match &self.data {
            Data::Packed(data) => return data.product(rows),
            Data::F16(data) => data,
        };
        // f16 is widened part by part, for the length of this product.
        let width = self.width.max(1);
        if !rows.len().is_multiple_of(width) {
            let message = format!("{} values, expected rows of {width}", rows.len());
            return Err(candle_core::Error::Msg(message));
        }
        let (count, vocab) = (rows.len() / width, data.len() / width);
        let mut out = vec![0.0; count * vocab];
        for (at, part) in data.chunks(PART * width).enumerate() {
            let len = part.len() / width;
            let logits = PackedMatrix::of_f16(part, (len, width))?.product(rows)?;
            for (out, logits) in out.chunks_mut(vocab).zip(logits.chunks(len)) {
                let places = out.iter_mut().skip(at * PART);
                places.zip(logits).for_each(|(to, from)| *to = *from);
            }
        }
        Ok(out)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn projection_equals_plain_sums() {
        let (width, vocab) = (37, 5);
        let weight: Vec<f32> = (0..width * vocab)
            .map(|i| ((i * 7 % 23) as f32 - 11.0) / 8.0)
            .collect();
        let rows: Vec<f32> = (0..width * 3)
            .map(|i| ((i * 5 % 17) as f32 - 8.0) / 4.0)
            .collect();
        let narrow: Vec<bf16> = weight.iter().map(|&v| bf16::from_f32(v)).collect();
        let half: Vec<f16> = weight.iter().map(|&v| f16::from_f32(v)).collect();
        // The weights above are exact in bf16, and in f16.
        let tables = [
            Table::from_f32(width, &weight).unwrap(),
            Table::from_bf16(width, &narrow).unwrap(),
            Table::from_f16(width, half),
        ];
        for table in tables {
            assert!(table.project(&rows[1..]).is_err());
            let got = table.project(&rows).unwrap();
            for (i, row) in rows.chunks(width).enumerate() {
                for (j, w) in weight.chunks(width).enumerate() {
                    let exact: f64 = row.iter().zip(w).map(|(x, y)| f64::from(x * y)).sum();
                    assert!((f64::from(got[i * vocab + j]) - exact).abs() < 1e-4);
                }
            }
            for (j, w) in weight.chunks(width).enumerate() {
                let mut row = Vec::new();
                assert!(table.push_row(j, &mut row));
                assert_eq!(row, w);
            }
        }
    }

    #[test]
    fn rows_outside_are_refused() {
        let table = Table::from_f32(2, &[1.0, 2.0, 3.0, 4.0]).unwrap();
        let mut out = Vec::new();
        assert!(table.push_row(1, &mut out));
        assert!(!table.push_row(2, &mut out));
        assert!(!table.push_row(usize::MAX, &mut out));
        assert_eq!(out, [3.0, 4.0]);
    }
}
