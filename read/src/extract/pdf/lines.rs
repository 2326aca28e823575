//! Letters to words to stretches: letters on one baseline with no wide gap between them.

use super::glyphs::Letter;

/// Words on one baseline without a wide gap.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Stretch {
    pub text: String,
    pub left: f64,
    pub right: f64,
    /// The baseline.
    pub y: f64,
    pub size: f64,
}

/// Gaps in heights of the font: above the first a space, above the second another stretch.
const SPACE: f64 = 0.18;
const WIDE: f64 = 1.6;

/// Stretches from top to bottom, then from left to right.
pub(super) fn stretches(mut letters: Vec<Letter>) -> Vec<Stretch> {
    letters.sort_by(|one, other| one.y.total_cmp(&other.y).then(one.x.total_cmp(&other.x)));
    let mut rows: Vec<Vec<Letter>> = Vec::new();
    for letter in letters {
        let near = |row: &&mut Vec<Letter>| {
            row.last().is_some_and(|last| {
                (last.y - letter.y).abs() <= 0.3 * letter.size.min(last.size).max(1.0)
            })
        };
        match rows.last_mut().filter(near) {
            Some(row) => row.push(letter),
            None => rows.push(vec![letter]),
        }
    }
    rows.into_iter().flat_map(cut).collect()
}

fn cut(mut row: Vec<Letter>) -> Vec<Stretch> {
    row.sort_by(|one, other| one.x.total_cmp(&other.x));
    let mut out: Vec<Stretch> = Vec::new();
    let mut drawn: Option<(f64, String)> = None;
    for letter in row {
        // A letter that is drawn twice to look bold stands there once.
        let again = drawn.as_ref().is_some_and(|(x, text)| {
            (x - letter.x).abs() < 0.1 * letter.size && *text == letter.text
        });
        drawn = Some((letter.x, letter.text.clone()));
        if again {
            continue;
        }
        let gap = |stretch: &Stretch| (letter.x - stretch.right) / letter.size.max(0.1);
        match out.last_mut().filter(|stretch| gap(stretch) < WIDE) {
            Some(stretch) => {
                let spaced = stretch.text.ends_with(' ') || letter.text.starts_with(' ');
                if gap(stretch) > SPACE && !spaced {
                    stretch.text.push(' ');
                }
                stretch.text.push_str(&letter.text);
                // Spaces do not count for the width of what follows.
                if !letter.text.trim().is_empty() || gap(stretch) < WIDE {
                    stretch.right = stretch.right.max(letter.end);
                }
                stretch.size = stretch.size.max(letter.size);
            }
            None if letter.text.trim().is_empty() => {}
            None => out.push(Stretch {
                text: letter.text,
                left: letter.x,
                right: letter.end,
                y: letter.y,
                size: letter.size,
            }),
        }
    }
    for stretch in &mut out {
        stretch.text = stretch
            .text
            .split_whitespace()
            .collect::<Vec<_>>()
            .join(" ");
    }
    out.retain(|stretch| !stretch.text.is_empty());
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn letters(text: &str, x: f64, y: f64) -> Vec<Letter> {
        let place = |at: usize| x + 6.0 * at as f64;
        text.chars()
            .enumerate()
            .map(|(at, letter)| Letter {
                text: letter.to_string(),
                x: place(at),
                y,
                end: place(at + 1),
                size: 10.0,
            })
            .collect()
    }

    #[test]
    fn letters_become_words_and_wide_gaps_part_stretches() {
        let apart = [
            letters("two", 0.0, 10.0),
            letters("words", 24.0, 10.2),
            letters("cell", 120.0, 9.9),
        ]
        .concat();
        let found: Vec<(String, f64)> = stretches(apart)
            .into_iter()
            .map(|stretch| (stretch.text, stretch.left))
            .collect();
        assert_eq!(
            found,
            [("two words".to_owned(), 0.0), ("cell".to_owned(), 120.0)]
        );
    }

    #[test]
    fn a_letter_that_is_drawn_twice_stands_once() {
        let mut twice = letters("bold", 0.0, 10.0);
        twice.extend(letters("bold", 0.3, 10.0));
        let text: Vec<String> = stretches(twice)
            .into_iter()
            .map(|stretch| stretch.text)
            .collect();
        assert_eq!(text, ["bold"]);
    }
}
