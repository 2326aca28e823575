//! In which order do patches come?

use crate::image::Grid;

/// Row and column of every patch: merge cells in raster order, patches in raster order within a cell.
pub(crate) fn patches_in_merge_order(
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
}
