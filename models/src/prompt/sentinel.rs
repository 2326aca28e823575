//! Where do marks placed in the input stand in the output?
//!
//! A mark is a private-use opener, a number in private-use digits, and a closer, of characters that the input
//! does not contain. Marks are never searched by the text around them.

/// Eighteen consecutive private-use characters: opener, closer, sixteen digits.
#[derive(Debug, Clone, Copy)]
pub(super) struct Alphabet {
    base: u32,
}

const SIZE: u32 = 18;
const PLANES: [(u32, u32); 3] = [
    (0xE000, 0xF8FF),
    (0xF_0000, 0xF_FFFD),
    (0x10_0000, 0x10_FFFD),
];

impl Alphabet {
    /// The first block of characters that occurs in none of `texts`.
    pub(super) fn unused<'a>(texts: impl Iterator<Item = &'a str>) -> Option<Self> {
        let mut taken: Vec<u32> = texts
            .flat_map(str::chars)
            .map(u32::from)
            .filter(|c| {
                PLANES
                    .iter()
                    .any(|(first, last)| (first..=last).contains(&c))
            })
            .collect();
        taken.sort_unstable();
        taken.dedup();
        PLANES.iter().find_map(|&(first, last)| {
            (first..=last + 1 - SIZE)
                .step_by(SIZE as usize)
                .find_map(|base| {
                    let next = taken.partition_point(|&c| c < base);
                    let free = taken.get(next).is_none_or(|&c| c >= base + SIZE);
                    free.then_some(Self { base })
                })
        })
    }

    /// The mark with this number, between its opener and its closer.
    pub(super) fn mark(self, number: usize) -> String {
        let digits = format!("{number:x}");
        let digits = digits.chars().filter_map(|c| c.to_digit(16));
        let digits = digits.filter_map(|d| char::from_u32(self.base + 2 + d));
        char::from_u32(self.base)
            .into_iter()
            .chain(digits)
            .chain(char::from_u32(self.base + 1))
            .collect()
    }

    /// A character that occurs nowhere in the input.
    pub(super) fn guard(self) -> char {
        char::from_u32(self.base).unwrap_or('\u{E000}')
    }

    /// Takes the marks out: the text without them, and for each of `count` marks the bytes of that text before which
    /// it stood. `None` when a mark was cut, changed or written by something else.
    pub(super) fn strip(self, text: &str, count: usize) -> Option<(String, Vec<Vec<usize>>)> {
        let mut plain = String::with_capacity(text.len());
        let mut places = vec![Vec::new(); count];
        let mut chars = text.chars();
        while let Some(c) = chars.next() {
            let code = u32::from(c).wrapping_sub(self.base);
            if code >= SIZE {
                plain.push(c);
                continue;
            }
            if code != 0 {
                return None;
            }
            let mut number = 0usize;
            loop {
                match u32::from(chars.next()?).wrapping_sub(self.base) {
                    1 => break,
                    digit @ 2..SIZE => {
                        number = number.checked_mul(16)?.checked_add(digit as usize - 2)?;
                    }
                    _ => return None,
                }
            }
            places.get_mut(number)?.push(plain.len());
        }
        Some((plain, places))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::Alphabet;

    #[test]
    fn marks_come_out_where_they_went_in() {
        let alphabet = Alphabet::unused(["\u{E000}\u{E013}"].into_iter()).unwrap();
        let text = format!(
            "a{}é{}{}",
            alphabet.mark(0),
            alphabet.mark(300),
            alphabet.mark(0)
        );
        let (plain, places) = alphabet.strip(&text, 301).unwrap();
        assert_eq!(plain, "aé");
        assert_eq!((&places[0], &places[300]), (&vec![1, 3], &vec![3]));
        let cut: String = alphabet.mark(7).chars().take(2).collect();
        assert!(alphabet.strip(&cut, 8).is_none());
        assert!(alphabet.strip(&alphabet.mark(8), 8).is_none());
    }

    #[test]
    fn a_text_with_every_private_use_character_leaves_none() {
        let all: String = (0xE000..=0xF8FFu32)
            .chain(0xF_0000..=0xF_FFFD)
            .chain(0x10_0000..=0x10_FFFD)
            .filter_map(char::from_u32)
            .collect();
        assert!(Alphabet::unused([all.as_str()].into_iter()).is_none());
        let bmp: String = all.chars().take(6400).collect();
        assert!(Alphabet::unused([bmp.as_str()].into_iter()).is_some());
    }
}
