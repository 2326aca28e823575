//! In which order do patches come, and where do they fall on the table of learned positions?

use crate::image::Grid;

/// Row and column of every patch: merge cells in raster order, patches in raster order within a cell.
pub(super) fn patches_in_merge_order(
    grid: Grid,
    merge: usize,
) -> impl Iterator<Item = (usize, usize)> {
    let (rows, columns) = (grid.h / merge.max(1), grid.w / merge.max(1));
    (0..rows).flat_map(move |cell_row| {
        (0..columns).flat_map(move |cell_column| {
            (0..merge).flat_map(move |row| {
                (0..merge).map(move |column| (cell_row * merge + row, cell_column * merge + column))
            })
        })
    })
}

/// For each of `len` places along an axis the two entries of a table of `side` that it lies between, with their weights.
/// Both ends of the axis fall on both ends of the table; f32 in the operation order of transformers 5.24
/// (`_interpolation_axis_taps_weights`, bilinear, align_corners).
pub(super) fn table_taps(len: usize, side: usize) -> Vec<[(usize, f32); 2]> {
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
    fn cells_then_patches() {
        let grid = Grid { t: 1, h: 4, w: 4 };
        let order: Vec<_> = patches_in_merge_order(grid, 2).take(6).collect();
        assert_eq!(order, [(0, 0), (0, 1), (1, 0), (1, 1), (0, 2), (0, 3)]);
        assert_eq!(patches_in_merge_order(grid, 2).count(), 16);
    }

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
