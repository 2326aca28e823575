//! What stands on a board, and where?

use crate::eval::Random;

/// Cells along one side.
pub const SIDE: usize = 3;

/// Names and values of the colours.
pub(super) const COLOURS: [(&str, [u8; 3]); 5] = [
    ("red", [214, 48, 49]),
    ("green", [39, 174, 96]),
    ("blue", [41, 98, 255]),
    ("yellow", [241, 196, 15]),
    ("purple", [142, 68, 173]),
];

const WORDS: [&str; 16] = [
    "CAT", "SUN", "HAT", "BOX", "KEY", "MAP", "JAR", "PEN", "FOX", "DOG", "CUP", "BUS", "TEA",
    "ZOO", "WAX", "LID",
];

/// What a thing looks like from afar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Figure {
    /// A disc.
    Circle,
    /// A square on its side.
    Square,
    /// A triangle on its base.
    Triangle,
    /// A square on its tip.
    Diamond,
    /// A wide card with a word.
    Card,
    /// A column that is filled up to a mark.
    Bar,
}

impl Figure {
    const SHAPES: [Self; 4] = [Self::Circle, Self::Square, Self::Triangle, Self::Diamond];

    /// As it is called.
    pub fn name(self) -> &'static str {
        match self {
            Self::Circle => "circle",
            Self::Square => "square",
            Self::Triangle => "triangle",
            Self::Diamond => "diamond",
            Self::Card => "card",
            Self::Bar => "bar",
        }
    }
}

/// Every word of the names of things.
#[cfg(feature = "train")]
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    let figures = Figure::SHAPES.iter().chain(&[Figure::Card, Figure::Bar]);
    let colours = COLOURS.iter().map(|(name, _)| *name);
    colours.chain(figures.map(|figure| figure.name()))
}

/// One thing on the board.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Thing {
    pub(super) colour: usize,
    /// What it looks like.
    pub figure: Figure,
    /// Column and row.
    pub cell: (usize, usize),
    /// Digits, a word, or a bar's height from 0 to 9.
    pub value: String,
}

impl Thing {
    /// Colour and figure.
    pub fn name(&self) -> String {
        let colour = COLOURS.get(self.colour).map_or("", |c| c.0);
        format!("{colour} {}", self.figure.name())
    }

    /// Its value as a number; `None` for a word.
    pub fn number(&self) -> Option<u32> {
        self.value.parse().ok()
    }

    /// The argument that names its cell, as models are taught to write it.
    pub(crate) fn place(&self) -> String {
        format!("{{\"cell\": [{}, {}]}}", self.cell.0, self.cell.1)
    }

    /// The tool that shows its value.
    pub fn tool(&self) -> &'static str {
        match (self.figure, self.value.len()) {
            (Figure::Bar, _) => "read_bar",
            (Figure::Card, _) | (_, 3..) => "zoom",
            _ => "crop",
        }
    }
}

/// What a board is made of, in per cent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Mix {
    /// Shapes whose value has two digits.
    pub two_digits: usize,
    /// Shapes whose value has four.
    pub four_digits: usize,
    /// Cards with words among the things.
    pub cards: usize,
    /// Bars among the things.
    pub bars: usize,
}

impl Default for Mix {
    fn default() -> Self {
        Self {
            two_digits: 25,
            four_digits: 10,
            cards: 10,
            bars: 10,
        }
    }
}

impl Mix {
    /// Shapes with one digit each.
    pub const PLAIN: Self = Self {
        two_digits: 0,
        four_digits: 0,
        cards: 0,
        bars: 0,
    };
}

/// `count` things in different cells, no two of one name.
pub(super) fn things(random: &mut Random, mix: &Mix, count: usize) -> Vec<Thing> {
    let mut cells: Vec<(usize, usize)> = (0..SIDE * SIDE).map(|i| (i % SIDE, i / SIDE)).collect();
    random.shuffle(&mut cells);
    let mut out: Vec<Thing> = Vec::with_capacity(count);
    for cell in cells.into_iter().take(count) {
        loop {
            let thing = thing(random, mix, cell);
            if out.iter().all(|other| other.name() != thing.name()) {
                out.push(thing);
                break;
            }
        }
    }
    out
}

fn thing(random: &mut Random, mix: &Mix, cell: (usize, usize)) -> Thing {
    let colour = random.below(COLOURS.len());
    let kind = random.below(100);
    let shape = Figure::SHAPES.get(random.below(4)).copied();
    let size = random.below(100);
    let (figure, value) = if kind < mix.cards {
        (Figure::Card, random.pick(&WORDS).to_owned())
    } else if kind < mix.cards + mix.bars {
        (Figure::Bar, random.below(10).to_string())
    } else if size < mix.four_digits {
        (
            shape.unwrap_or(Figure::Circle),
            random.within(1000, 9999).to_string(),
        )
    } else if size < mix.four_digits + mix.two_digits {
        (
            shape.unwrap_or(Figure::Circle),
            random.within(10, 99).to_string(),
        )
    } else {
        (
            shape.unwrap_or(Figure::Circle),
            random.below(10).to_string(),
        )
    };
    Thing {
        colour,
        figure,
        cell,
        value,
    }
}
