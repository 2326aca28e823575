//! Choices of a body. They follow from the input's bytes, so that a seed is a plain file and a find repeats.

use std::ops::Range;

pub struct Dice(u64);

impl Dice {
    pub fn of(data: &[u8]) -> Self {
        let fnv = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        Self(data.iter().fold(0xcbf2_9ce4_8422_2325, fnv))
    }

    /// A number below `n`; 0 for 0.
    pub fn below(&mut self, n: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        ((self.0 >> 33) as usize).checked_rem(n).unwrap_or(0)
    }

    pub fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    /// A range on character borders.
    pub fn range(&mut self, text: &str) -> Range<usize> {
        let a = text.floor_char_boundary(self.below(text.len() + 1));
        let b = text.floor_char_boundary(self.below(text.len() + 1));
        a.min(b)..a.max(b)
    }

    /// Text to write somewhere: nothing, a piece of `text`, or what breaks things.
    pub fn text(&mut self, text: &str) -> String {
        match self.below(6) {
            0 => String::new(),
            1 => "Evidence:\nNumber: 5".into(),
            2 => "Evidence (1 of 2 steps pruned):".into(),
            3 => "\"\\ \u{1} \u{2028}🎉e\u{301}</think><think>".into(),
            _ => {
                let range = self.range(text);
                text[range].to_owned()
            }
        }
    }
}
