//! Words and sentence shapes of five languages. `{e}` is the thing asked about, `{a}` an attribute of it, `{o}` the same attribute in its oblique form, `{v}` the value.

mod arabic;
mod chinese;
mod english;
mod japanese;
mod russian;

pub use arabic::ARABIC;
pub use chinese::CHINESE;
pub use english::ENGLISH;
pub use japanese::JAPANESE;
pub use russian::RUSSIAN;

use fastrand::Rng;

/// What a value looks like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ValueKind {
    /// A number with thousands.
    Amount,
    /// A calendar day.
    Day,
    /// Letters and digits, as on a label.
    Code,
    /// A short number.
    Count,
}

/// An attribute: its name, its oblique form, its values.
pub type Attribute = (&'static str, &'static str, ValueKind);

/// The words of one language.
#[derive(Debug)]
pub struct Language {
    /// ISO code.
    pub code: &'static str,
    /// Parts of a name, joined by `joint`.
    pub name: [&'static [&'static str]; 3],
    /// Between the parts of a name.
    pub joint: &'static str,
    /// Attributes.
    pub attributes: &'static [Attribute],
    /// Sentences that state a fact.
    pub statements: &'static [&'static str],
    /// Pairs of sentences of which the second refers to the first.
    pub pairs: &'static [(&'static str, &'static str)],
    /// Questions whose content words all stand in a statement.
    pub questions: &'static [&'static str],
    /// Questions with a word that no text has.
    pub loose: &'static [&'static str],
    /// Subjects, verbs, objects of sentences that say nothing asked.
    pub filler: [&'static [&'static str]; 3],
    /// Between the parts of such a sentence, and its end.
    pub filler_joint: (&'static str, &'static str),
    /// Month names, or none where a day is written in digits.
    pub months: &'static [&'static str],
    /// Encodings that hold it besides UTF-8 and UTF-16.
    pub encodings: &'static [&'static str],
}

fn pick<T: Copy>(rng: &mut Rng, from: &[T]) -> Option<T> {
    from.get(rng.usize(..from.len().max(1))).copied()
}

/// One of `from`; the empty string where there is none.
pub fn word(rng: &mut Rng, from: &'static [&'static str]) -> &'static str {
    pick(rng, from).unwrap_or_default()
}

impl Language {
    /// A name of a thing.
    pub fn entity(&self, rng: &mut Rng) -> String {
        self.name
            .iter()
            .map(|part| word(rng, part))
            .filter(|part| !part.is_empty())
            .collect::<Vec<_>>()
            .join(self.joint)
    }

    /// An attribute.
    pub fn attribute(&self, rng: &mut Rng) -> Attribute {
        pick(rng, self.attributes).unwrap_or(("", "", ValueKind::Count))
    }

    /// A value of a kind.
    pub fn value(&self, rng: &mut Rng, kind: ValueKind) -> String {
        match kind {
            ValueKind::Amount => {
                let amount = rng.u32(10_000..990_000);
                if self.months.is_empty() {
                    amount.to_string()
                } else {
                    format!("{},{:03}", amount / 1_000, amount % 1_000)
                }
            }
            ValueKind::Day => {
                let (day, year) = (rng.u32(1..29), rng.u32(2015..2035));
                match pick(rng, self.months) {
                    Some(month) => format!("{day} {month} {year}"),
                    None => format!("{year}年{}月{day}日", rng.u32(1..13)),
                }
            }
            ValueKind::Code => {
                let letter = |rng: &mut Rng| char::from(b'A' + rng.u8(..26));
                format!("{}{}-{}", letter(rng), letter(rng), rng.u32(1_000..10_000))
            }
            ValueKind::Count => rng.u32(100..1_000).to_string(),
        }
    }

    /// A sentence that states nothing asked.
    pub fn sentence(&self, rng: &mut Rng) -> String {
        let [subject, verb, object] = self.filler.map(|part| word(rng, part));
        let (joint, end) = self.filler_joint;
        format!("{subject}{joint}{verb}{joint}{object}{end}")
    }

    /// A shape with its places filled.
    pub fn fill(shape: &str, entity: &str, attribute: Attribute, value: &str) -> String {
        shape
            .replace("{e}", entity)
            .replace("{a}", attribute.0)
            .replace("{o}", attribute.1)
            .replace("{v}", value)
    }

    /// Whether words are separated by spaces.
    pub fn spaced(&self) -> bool {
        self.joint == " "
    }
}
