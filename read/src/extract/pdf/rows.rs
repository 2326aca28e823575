//! Rows of tables: stretches on one baseline, under a header that names their columns.

use super::lines::Stretch;

/// A line of a column of text, or a row of a table.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Row {
    pub text: String,
    pub left: f64,
    pub right: f64,
    pub y: f64,
    pub size: f64,
    /// Whether it has cells.
    pub cells: bool,
}

/// Fewest rows under a header.
const ROWS: usize = 2;

/// Stretches from top to bottom become rows; those of a table say the name of each cell's column.
pub(super) fn tables(mut stretches: Vec<Stretch>) -> Vec<Row> {
    stretches.sort_by(|one, other| {
        one.y
            .total_cmp(&other.y)
            .then(one.left.total_cmp(&other.left))
    });
    let mut lines: Vec<Vec<Stretch>> = Vec::new();
    for stretch in stretches {
        let same = |line: &&mut Vec<Stretch>| {
            line.last()
                .is_some_and(|last| (last.y - stretch.y).abs() <= 0.3 * stretch.size.max(1.0))
        };
        match lines.last_mut().filter(same) {
            Some(line) => line.push(stretch),
            None => lines.push(vec![stretch]),
        }
    }
    for line in &mut lines {
        line.sort_by(|one, other| one.left.total_cmp(&other.left));
    }
    let mut out = Vec::new();
    let mut at = 0;
    while let Some(line) = lines.get(at) {
        let below = lines
            .get(at + 1..)
            .unwrap_or_default()
            .iter()
            .take_while(|below| is_row(line, below))
            .count();
        let names = line
            .iter()
            .all(|cell| !cell.text.contains(|letter: char| letter.is_ascii_digit()));
        if line.len() >= 2 && names && below >= ROWS {
            out.push(row(line, None));
            for cells in lines.get(at + 1..=at + below).unwrap_or_default() {
                out.push(row(cells, Some(line)));
            }
            at += below + 1;
        } else {
            out.push(row(line, None));
            at += 1;
        }
    }
    out
}

/// Whether a line has cells that stand under those of a header.
fn is_row(header: &[Stretch], line: &[Stretch]) -> bool {
    line.len() >= 2
        && line.len() <= header.len()
        && line.iter().all(|cell| column(header, cell).is_some())
}

/// The cell of the header above: the one that overlaps most, or begins where the cell does.
fn column<'h>(header: &'h [Stretch], cell: &Stretch) -> Option<&'h Stretch> {
    let shared = |name: &Stretch| cell.right.min(name.right) - cell.left.max(name.left);
    let aligned = |name: &Stretch| (cell.left - name.left).abs() < 3.0;
    header
        .iter()
        .filter(|name| shared(name) > 0.0 || aligned(name))
        .max_by(|one, other| {
            aligned(one)
                .cmp(&aligned(other))
                .then(shared(one).total_cmp(&shared(other)))
        })
}

fn row(cells: &[Stretch], header: Option<&[Stretch]>) -> Row {
    let named = |cell: &Stretch| match header.and_then(|header| column(header, cell)) {
        Some(name) => format!("{}: {}", name.text, cell.text),
        None => cell.text.clone(),
    };
    let many = cells.len() > 1;
    Row {
        text: cells
            .iter()
            .map(named)
            .collect::<Vec<_>>()
            .join(if many { " | " } else { " " }),
        left: cells
            .iter()
            .map(|cell| cell.left)
            .fold(f64::INFINITY, f64::min),
        right: cells
            .iter()
            .map(|cell| cell.right)
            .fold(f64::NEG_INFINITY, f64::max),
        y: cells.first().map_or(0.0, |cell| cell.y),
        size: cells.iter().map(|cell| cell.size).fold(0.0, f64::max),
        cells: many,
    }
}
