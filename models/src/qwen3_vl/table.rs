//! Where does the grid of a picture fall on the table of learned positions?

use candle_core::{Device, Tensor};

use crate::ModelError;
use crate::checkpoint::Weights;
use crate::head::Table;
use crate::image::Grid;
use crate::vision::patches_in_merge_order;

/// A square table of learned positions, interpolated to the grid of each picture.
#[derive(Debug)]
pub(super) struct LearnedPositions {
    table: Table,
    side: usize,
    merge: usize,
}

impl LearnedPositions {
    pub(super) fn load(
        weights: &mut Weights,
        name: &str,
        (side, width): (usize, usize),
        merge: usize,
    ) -> Result<Self, ModelError> {
        let table = weights.table(name, side * side, width)?;
        Ok(Self { table, side, merge })
    }

    /// Rows of the table, interpolated to the grid: `[h*w, hidden]` in merge-cell order.
    pub(super) fn at(&self, grid: Grid, device: &Device) -> Result<Tensor, ModelError> {
        let width = self.table.width;
        let (rows, columns) = (table_taps(grid.h, self.side), table_taps(grid.w, self.side));
        let mut out = Vec::with_capacity(grid.h * grid.w * width);
        let (mut sum, mut entry) = (vec![0f32; width], Vec::with_capacity(width));
        for (row, column) in patches_in_merge_order(grid, self.merge) {
            sum.fill(0.0);
            for (r, row_weight) in rows.get(row).into_iter().flatten() {
                for (c, column_weight) in columns.get(column).into_iter().flatten() {
                    entry.clear();
                    self.table.push_row(r * self.side + c, &mut entry);
                    let weight = row_weight * column_weight;
                    for (sum, value) in sum.iter_mut().zip(&entry) {
                        *sum += value * weight;
                    }
                }
            }
            out.extend_from_slice(&sum);
        }
        Ok(Tensor::from_vec(out, (grid.h * grid.w, width), device)?)
    }
}

/// For each of `len` places along an axis the two entries of a table of `side` that it lies between, with their weights.
/// Both ends of the axis fall on both ends of the table; f32 in the operation order of transformers 5.24
/// (`_interpolation_axis_taps_weights`, bilinear, align_corners).
pub(crate) fn table_taps(len: usize, side: usize) -> Vec<[(usize, f32); 2]> {
    let last = side.saturating_sub(1);
    (0..len)
        .map(|index| {
            let source = index as f32 * last as f32 / (len - 1).max(1) as f32;
            let floor = source.floor();
            let tap = |offset: usize| {
                let distance = (source - floor - offset as f32).abs();
                (
                    (floor as usize + offset).min(last),
                    (1.0 - distance).max(0.0),
                )
            };
            [tap(0), tap(1)]
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn corners_align_and_a_single_place_takes_the_first_entry() {
        assert_eq!(table_taps(1, 48), [[(0, 1.0), (1, 0.0)]]);
        let taps = table_taps(6, 48);
        assert_eq!(taps[0], [(0, 1.0), (1, 0.0)]);
        assert_eq!(taps[5], [(47, 1.0), (47, 0.0)]);
        // 1 * 47 / 5 = 9.4
        assert_eq!((taps[1][0].0, taps[1][1].0), (9, 10));
        assert!((taps[1][1].1 - 0.4).abs() < 1e-6);
    }
}
