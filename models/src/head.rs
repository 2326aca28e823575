//! Where do token ids become rows, and rows become logits?

use std::sync::Arc;

use half::{bf16, f16};
use rayon::prelude::*;

/// The output head's weight, row-major `[vocab, hidden]`, in the type it is kept in.
#[derive(Debug, Clone, Copy)]
pub enum HeadWeight<'a> {
    /// 32-bit floats.
    F32(&'a [f32]),
    /// bfloat16, to be widened without rounding.
    Bf16(&'a [bf16]),
    /// Half precision, to be widened without rounding.
    F16(&'a [f16]),
}

/// A `[rows, width]` table on the host. It stays there because embeddings are gathered row by row, and because a tied
/// head is the same memory.
#[derive(Debug, Clone)]
pub(crate) struct Table {
    pub(crate) width: usize,
    data: Data,
}

#[derive(Debug, Clone)]
enum Data {
    F32(Arc<Vec<f32>>),
    Bf16(Arc<Vec<bf16>>),
    F16(Arc<Vec<f16>>),
}

impl Table {
    pub(crate) fn from_f32(width: usize, data: Vec<f32>) -> Self {
        let data = Data::F32(Arc::new(data));
        Self { width, data }
    }

    pub(crate) fn from_bf16(width: usize, data: Vec<bf16>) -> Self {
        let data = Data::Bf16(Arc::new(data));
        Self { width, data }
    }

    pub(crate) fn from_f16(width: usize, data: Vec<f16>) -> Self {
        let data = Data::F16(Arc::new(data));
        Self { width, data }
    }

    pub(crate) fn weight(&self) -> HeadWeight<'_> {
        match &self.data {
            Data::F32(data) => HeadWeight::F32(data),
            Data::Bf16(data) => HeadWeight::Bf16(data),
            Data::F16(data) => HeadWeight::F16(data),
        }
    }

    /// Appends row `row` to `out`; false where the table has no such row.
    pub(crate) fn push_row(&self, row: usize, out: &mut Vec<f32>) -> bool {
        let Some(range) = row
            .checked_mul(self.width)
            .and_then(|start| Some(start..start.checked_add(self.width)?))
        else {
            return false;
        };
        match &self.data {
            Data::F32(data) => match data.get(range) {
                Some(values) => out.extend_from_slice(values),
                None => return false,
            },
            Data::Bf16(data) => match data.get(range) {
                Some(values) => out.extend(values.iter().map(|v| v.to_f32())),
                None => return false,
            },
            Data::F16(data) => match data.get(range) {
                Some(values) => out.extend(values.iter().map(|v| v.to_f32())),
                None => return false,
            },
        }
        true
    }

    /// `rows · selfᵀ` for row-major `rows` of the table's width; f32 products, sums in 16 lanes.
    pub(crate) fn project(&self, rows: &[f32]) -> Vec<f32> {
        let width = self.width.max(1);
        let count = rows.len() / width;
        let columns = match &self.data {
            Data::F32(data) => columns(data, rows, width, |v| *v),
            Data::Bf16(data) => columns(data, rows, width, |v| v.to_f32()),
            Data::F16(data) => columns(data, rows, width, |v| v.to_f32()),
        };
        let mut out = Vec::with_capacity(count * columns.len());
        for row in 0..count {
            out.extend(columns.iter().filter_map(|column| column.get(row)));
        }
        out
    }
}

/// For each row of the table its products with all `rows`.
fn columns<T: Sync>(
    table: &[T],
    rows: &[f32],
    width: usize,
    widen: impl Fn(&T) -> f32 + Sync,
) -> Vec<Vec<f32>> {
    let product = |wide: &mut Vec<f32>, weight: &[T]| {
        wide.clear();
        wide.extend(weight.iter().map(&widen));
        rows.chunks(width).map(|row| dot(row, wide)).collect()
    };
    table
        .par_chunks(width)
        .map_init(Vec::new, product)
        .collect()
}

fn dot(a: &[f32], b: &[f32]) -> f32 {
    const LANES: usize = 16;
    let mut lanes = [0f32; LANES];
    let (a, b) = (a.chunks_exact(LANES), b.chunks_exact(LANES));
    let rest: f32 = a
        .remainder()
        .iter()
        .zip(b.remainder())
        .map(|(x, y)| x * y)
        .sum();
    for (x, y) in a.zip(b) {
        for ((lane, x), y) in lanes.iter_mut().zip(x).zip(y) {
            *lane += x * y;
        }
    }
    lanes.iter().sum::<f32>() + rest
}

#[cfg(test)]
mod tests {
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
        let wide = Table::from_f32(width, weight.clone()).project(&rows);
        // The weights above are exact in bf16, and in f16, so all tables must agree to the bit.
        assert_eq!(wide, Table::from_bf16(width, narrow).project(&rows));
        let half: Vec<f16> = weight.iter().map(|&v| f16::from_f32(v)).collect();
        assert_eq!(wide, Table::from_f16(width, half).project(&rows));
        for (i, row) in rows.chunks(width).enumerate() {
            for (j, w) in weight.chunks(width).enumerate() {
                let exact: f64 = row.iter().zip(w).map(|(x, y)| f64::from(x * y)).sum();
                assert!((f64::from(wide[i * vocab + j]) - exact).abs() < 1e-4);
            }
        }
    }

    #[test]
    fn rows_outside_are_refused() {
        let table = Table::from_f32(2, vec![1.0, 2.0, 3.0, 4.0]);
        let mut out = Vec::new();
        assert!(table.push_row(1, &mut out));
        assert!(!table.push_row(2, &mut out));
        assert!(!table.push_row(usize::MAX, &mut out));
        assert_eq!(out, [3.0, 4.0]);
    }
}
