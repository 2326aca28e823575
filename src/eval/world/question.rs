//! What is asked of a board, and what is right?

use super::scene::{Figure, Mix, Thing, things};
use crate::eval::Random;

/// What has to be done with what is read.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize,
)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// Say every value.
    Read,
    /// Say which thing has the largest number.
    Compare,
    /// Add the numbers up.
    Add,
    /// Count the numbers above a limit.
    Count,
    /// Say where the one thing is.
    Locate,
    /// Order the things by their numbers.
    Order,
}

impl Kind {
    /// All kinds.
    pub const ALL: [Self; 6] = [
        Self::Read,
        Self::Compare,
        Self::Add,
        Self::Count,
        Self::Locate,
        Self::Order,
    ];
}

/// Limit of [`Kind::Count`].
pub(super) const LIMIT: u32 = 4;

/// A board and a question about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Task {
    /// What is asked.
    pub kind: Kind,
    /// Everything on the board; the first ones are asked for, in this order.
    pub things: Vec<Thing>,
    /// How many are asked for.
    pub steps: usize,
}

impl Task {
    /// A task of `steps` steps; [`Kind::Locate`] always has one, [`Kind::Compare`] and [`Kind::Order`] at least two.
    pub(super) fn new(random: &mut Random, kind: Kind, steps: usize, mix: &Mix) -> Self {
        let steps = match kind {
            Kind::Locate => 1,
            Kind::Compare | Kind::Order => steps.clamp(2, 8),
            _ => steps.clamp(1, 8),
        };
        let numbers = matches!(kind, Kind::Compare | Kind::Add | Kind::Count | Kind::Order);
        let distinct = matches!(kind, Kind::Compare | Kind::Order);
        loop {
            let count = random.within(3, 6).max(steps + 1);
            let things = things(random, mix, count);
            let asked = things.get(..steps).unwrap_or_default();
            let words = asked.iter().any(|t| t.figure == Figure::Card);
            let mut values: Vec<&str> = asked.iter().map(|t| t.value.as_str()).collect();
            values.sort_unstable();
            values.dedup();
            if (numbers && words) || (distinct && values.len() < steps) {
                continue;
            }
            return Self {
                kind,
                things,
                steps,
            };
        }
    }

    /// What is asked for, in order.
    pub fn asked(&self) -> &[Thing] {
        self.things.get(..self.steps).unwrap_or_default()
    }

    /// The question in words.
    pub fn question(&self) -> String {
        let names: Vec<String> = self.asked().iter().map(Thing::name).collect();
        let names = names.join(", the ");
        match self.kind {
            Kind::Read => format!("Which digits are on the {names}?"),
            Kind::Compare => format!("Which has the largest digit, the {names}?"),
            Kind::Add => format!("What is the sum of the digits on the {names}?"),
            Kind::Count => format!("How many digits are above {LIMIT} on the {names}?"),
            Kind::Locate => format!("In which cell is the {names}?"),
            Kind::Order => format!("What is the order of the digits on the {names}?"),
        }
    }

    /// The answer that values lead to, those of the board or others.
    pub fn answer(&self, values: &[String]) -> String {
        let pairs = || self.asked().iter().zip(values);
        let number = |value: &String| value.parse::<u32>().unwrap_or(0);
        match self.kind {
            Kind::Read => {
                let each = pairs().map(|(thing, value)| format!("{} = {value}", thing.name()));
                each.collect::<Vec<_>>().join(", ")
            }
            Kind::Locate => {
                let cell = self.asked().first().map_or((0, 0), |thing| thing.cell);
                format!("cell = ({}, {})", cell.0, cell.1)
            }
            Kind::Order => {
                let mut sorted: Vec<_> = pairs().collect();
                sorted.sort_by_key(|(_, value)| number(value));
                let names: Vec<String> = sorted.iter().map(|(thing, _)| thing.name()).collect();
                format!("order = {}", names.join(", "))
            }
            _ => format!("{} = {}", self.word(), self.result(values)),
        }
    }

    /// What is known of the result after the first `values`, as its own value; empty where nothing is derived.
    pub fn result(&self, values: &[String]) -> String {
        let numbers = values.iter().map(|v| v.parse::<u32>().unwrap_or(0));
        match self.kind {
            Kind::Add => numbers.sum::<u32>().to_string(),
            Kind::Count => numbers.filter(|n| *n > LIMIT).count().to_string(),
            Kind::Compare => {
                // Largest numbers are never equal on the board; of equal misreadings the first counts.
                let mut best: Option<(&Thing, u32)> = None;
                for (thing, number) in self.asked().iter().zip(numbers) {
                    if best.is_none_or(|(_, top)| number > top) {
                        best = Some((thing, number));
                    }
                }
                best.map_or(String::new(), |(thing, _)| thing.name())
            }
            _ => String::new(),
        }
    }

    /// The word for the derived result.
    pub(super) fn word(&self) -> &'static str {
        match self.kind {
            Kind::Add => "total",
            Kind::Count => "count",
            Kind::Compare => "largest",
            _ => "",
        }
    }

    /// Values on the board, in order.
    pub fn values(&self) -> Vec<String> {
        self.asked().iter().map(|t| t.value.clone()).collect()
    }
}

/// Whether an answer says what is right; spaces and a full stop at the end do not count.
pub fn grade(answer: &str, right: &str) -> bool {
    let plain = |text: &str| -> String {
        let text = text.trim().trim_end_matches('.');
        text.split_whitespace()
            .collect::<Vec<_>>()
            .join(" ")
            .to_lowercase()
    };
    plain(answer) == plain(right)
}
