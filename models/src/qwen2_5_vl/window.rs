//! Which merge cells share a window?

/// Merge cells in the order in which the tower works on them, and the number of cells in each window.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Windows {
    /// `order[i]` is the raster index of the cell at place i.
    pub(super) order: Vec<u32>,
    /// Cells of each window, in order; none is empty.
    pub(super) cells: Vec<usize>,
}

impl Windows {
    /// Cuts `rows * columns` cells into windows of `side * side` from the top left; those at the right and the bottom may be smaller.
    pub(super) fn of(rows: usize, columns: usize, side: usize) -> Self {
        let side = side.max(1);
        let (mut order, mut cells) = (Vec::with_capacity(rows * columns), Vec::new());
        for top in (0..rows).step_by(side) {
            for left in (0..columns).step_by(side) {
                let before = order.len();
                for row in top..rows.min(top + side) {
                    let window = left..columns.min(left + side);
                    order.extend(window.map(|column| (row * columns + column) as u32));
                }
                cells.push(order.len() - before);
            }
        }
        Self { order, cells }
    }

    /// `inverse[c]` is the place of the cell with raster index c.
    pub(super) fn inverse(&self) -> Vec<u32> {
        let mut inverse = vec![0; self.order.len()];
        for (place, cell) in (0u32..).zip(&self.order) {
            if let Some(slot) = inverse.get_mut(*cell as usize) {
                *slot = place;
            }
        }
        inverse
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ragged_windows_come_row_by_row() {
        let windows = Windows::of(5, 6, 4);
        let order = [
            0, 1, 2, 3, 6, 7, 8, 9, 12, 13, 14, 15, 18, 19, 20, 21, 4, 5, 10, 11, 16, 17, 22, 23,
            24, 25, 26, 27, 28, 29,
        ];
        assert_eq!(windows.order, order);
        assert_eq!(windows.cells, [16, 8, 4, 2]);
        let inverse = windows.inverse();
        assert!((0..30).all(|c| windows.order[inverse[c] as usize] as usize == c));
    }

    #[test]
    fn a_picture_of_one_window_keeps_its_order() {
        let windows = Windows::of(4, 4, 4);
        assert_eq!(windows.order, (0..16).collect::<Vec<u32>>());
        assert_eq!(windows.cells, [16]);
    }
}
