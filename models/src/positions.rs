//! On which rotary position does each token stand?

use std::ops::Range;

/// Rotary position ids of a whole context: time, height and width, one value a token on each axis.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Positions {
    /// The three axes, all of the same length.
    pub axes: [Vec<i32>; 3],
}

impl Positions {
    /// Positions of `len` tokens of which `pictures` (place and merged grid rows, columns) are pictures, in order:
    /// text counts up on all axes, a picture spreads its rows and columns from the cursor and moves it by the longer side.
    pub fn of(
        len: usize,
        pictures: impl IntoIterator<Item = (Range<usize>, (usize, usize))>,
    ) -> Self {
        let mut positions = Self::default();
        let mut cursor = 0i32;
        for (tokens, (rows, columns)) in pictures {
            cursor = positions.text(cursor, tokens.start);
            for row in 0..rows {
                for column in 0..columns {
                    positions.push([cursor, cursor + row as i32, cursor + column as i32]);
                }
            }
            cursor += rows.max(columns) as i32;
        }
        positions.text(cursor, len);
        positions
    }

    /// Tokens placed so far.
    pub fn len(&self) -> usize {
        self.axes[0].len()
    }

    /// True for no tokens.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The position that the next text token gets on every axis.
    pub fn next(&self) -> i32 {
        let top = self.axes.iter().flat_map(|axis| axis.iter().max());
        top.max().map_or(0, |top| top + 1)
    }

    fn text(&mut self, cursor: i32, until: usize) -> i32 {
        let count = until.saturating_sub(self.len()) as i32;
        for position in cursor..cursor + count {
            self.push([position; 3]);
        }
        cursor + count
    }

    pub(crate) fn push(&mut self, position: [i32; 3]) {
        for (axis, value) in self.axes.iter_mut().zip(position) {
            axis.push(value);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_of_two_pictures_between_text() {
        let positions = Positions::of(19, [(3..9, (2, 3)), (11..17, (3, 2))]);
        let triples: Vec<[i32; 3]> = (0..19)
            .map(|i| {
                [
                    positions.axes[0][i],
                    positions.axes[1][i],
                    positions.axes[2][i],
                ]
            })
            .collect();
        let expected = [
            [0, 0, 0],
            [1, 1, 1],
            [2, 2, 2],
            [3, 3, 3],
            [3, 3, 4],
            [3, 3, 5],
            [3, 4, 3],
            [3, 4, 4],
            [3, 4, 5],
            [6, 6, 6],
            [7, 7, 7],
            [8, 8, 8],
            [8, 8, 9],
            [8, 9, 8],
            [8, 9, 9],
            [8, 10, 8],
            [8, 10, 9],
            [11, 11, 11],
            [12, 12, 12],
        ];
        assert_eq!(triples, expected);
        assert_eq!(positions.next() - positions.len() as i32, -6);
    }
}
