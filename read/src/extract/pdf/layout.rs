//! Stretches to lines in reading order: columns one after the other, rows of tables with their header, headings by their size.

use super::glyphs::Letter;
use super::lines::{Stretch, stretches};
use super::rows::{Row, tables};

/// A line of a page.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Line {
    pub text: String,
    /// Left, top, right, bottom.
    pub area: [f64; 4],
    /// Whether a paragraph begins with it.
    pub opens: bool,
    /// Whether the line before ends where it need not: its first word would have had room there.
    pub breaks: bool,
    pub heading: bool,
}

/// How often a page is divided into columns within columns.
const DEEPEST: usize = 4;
/// Points of the narrowest column and gutter.
const COLUMN: f64 = 80.0;
const GUTTER: f64 = 6.0;

/// The lines of a page.
pub(super) fn lines(letters: Vec<Letter>) -> Vec<Line> {
    let stretches = stretches(letters);
    let body = middle(
        stretches
            .iter()
            .flat_map(|stretch| std::iter::repeat_n(stretch.size, stretch.text.len()))
            .collect(),
    );
    let mut out = Vec::new();
    divide(stretches, 0, &mut |column| {
        paragraphs(column, body, &mut out)
    });
    out
}

pub(super) fn middle(mut numbers: Vec<f64>) -> f64 {
    numbers.sort_by(f64::total_cmp);
    numbers.get(numbers.len() / 2).copied().unwrap_or(0.0)
}

/// Hands on columns in reading order. What crosses the gutter ends the columns above it.
fn divide(stretches: Vec<Stretch>, depth: usize, take: &mut dyn FnMut(Vec<Stretch>)) {
    let Some(gutter) = gutter(&stretches).filter(|_| depth < DEEPEST) else {
        if !stretches.is_empty() {
            take(stretches);
        }
        return;
    };
    let (mut left, mut right) = (Vec::new(), Vec::new());
    for stretch in stretches {
        if stretch.right <= gutter {
            left.push(stretch);
        } else if stretch.left >= gutter {
            right.push(stretch);
        } else {
            divide(std::mem::take(&mut left), depth + 1, take);
            divide(std::mem::take(&mut right), depth + 1, take);
            take(vec![stretch]);
        }
    }
    divide(left, depth + 1, take);
    divide(right, depth + 1, take);
}

/// Where two columns of running text meet: hardly a stretch crosses it, and those on both sides fill their column, as cells of a table do not.
fn gutter(stretches: &[Stretch]) -> Option<f64> {
    let left = stretches
        .iter()
        .map(|stretch| stretch.left)
        .fold(f64::INFINITY, f64::min);
    let right = stretches
        .iter()
        .map(|stretch| stretch.right)
        .fold(f64::NEG_INFINITY, f64::max);
    if right - left < 2.0 * COLUMN || stretches.len() < 6 {
        return None;
    }
    let mut best: Option<(usize, f64)> = None;
    for start in stretches
        .iter()
        .map(|stretch| stretch.left)
        .filter(|start| *start > left + COLUMN && *start < right - COLUMN)
    {
        let at = start - 0.5;
        let before = stretches
            .iter()
            .filter(|stretch| stretch.right <= at)
            .map(|stretch| stretch.right)
            .fold(left, f64::max);
        let crossing = stretches
            .iter()
            .filter(|stretch| stretch.left < at && stretch.right > at)
            .count();
        let behind = stretches
            .iter()
            .filter(|stretch| stretch.left >= at && stretch.left <= start + 1.0)
            .count();
        if start - before < GUTTER || crossing * 5 > stretches.len() || behind < 3 {
            continue;
        }
        let fills = |from: f64, to: f64, on: &dyn Fn(&&Stretch) -> bool| {
            let widths: Vec<f64> = stretches
                .iter()
                .filter(on)
                .map(|stretch| stretch.right - stretch.left)
                .collect();
            widths.len() >= 3 && middle(widths) >= 0.7 * (to - from)
        };
        let prose = fills(left, before, &|stretch| stretch.right <= at)
            && fills(start, right, &|stretch| stretch.left >= at);
        if prose && best.is_none_or(|(fewest, _)| crossing < fewest) {
            best = Some((crossing, at));
        }
    }
    best.map(|(_, at)| at)
}

/// About the width of the first word of a row, with a space before it.
fn first_word(row: &Row) -> f64 {
    let letters = row.text.chars().count().max(1) as f64;
    let word = row.text.split(' ').next().unwrap_or_default();
    (word.chars().count() + 1) as f64 * (row.right - row.left) / letters
}

/// Lines of one column, with where paragraphs begin.
fn paragraphs(column: Vec<Stretch>, body: f64, out: &mut Vec<Line>) {
    let rows = tables(column);
    let gaps: Vec<f64> = rows
        .windows(2)
        .filter_map(|pair| Some(pair.get(1)?.y - pair.first()?.y))
        .filter(|gap| *gap > 0.0)
        .collect();
    let usual = middle(gaps);
    let edge = rows
        .iter()
        .filter(|row| !row.cells)
        .map(|row| row.right)
        .fold(f64::NEG_INFINITY, f64::max);
    let mut before: Option<f64> = None;
    let mut end_before = edge;
    let mut heading_before = false;
    for row in rows {
        let heading = row.size > 1.15 * body && row.text.chars().count() < 120;
        let gap = before.map_or(f64::INFINITY, |before| row.y - before);
        before = Some(row.y);
        let opens = row.cells || heading || heading_before || gap > 1.35 * usual || gap < 0.0;
        heading_before = heading || row.cells;
        let breaks = end_before + first_word(&row) < edge;
        end_before = row.right;
        out.push(Line {
            area: [
                row.left,
                row.y - row.size,
                row.right,
                row.y + 0.25 * row.size,
            ],
            opens,
            breaks,
            heading,
            text: row.text,
        });
    }
}
