//! How is a box to be read: which order, which unit, of which picture?
//!
//! Agents differ in all three (`[x1, y1, x2, y2]` in 0..1000, `[ymin, xmin, ymax, xmax]`, pixels of the original or
//! of the resized picture), so a box without them is worth little, and a guess is worse: what is not known is named
//! as not stated. The numbers are never rescaled.

use crate::trajectory::atom::{Atom, AtomKind};

/// The order of a box's four numbers.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum BoxOrder {
    /// Two corners, x first.
    Xyxy,
    /// A corner, width and height.
    Xywh,
    /// Two corners, y first.
    Yxyx,
}

/// The unit of a box's numbers.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BoxUnit {
    /// Pixels of the named picture.
    Pixels,
    /// Parts of its width and height, 0 to 1.
    Fraction,
    /// Thousandths of its width and height, 0 to 1000.
    Thousandths,
}

/// What is known about the boxes of a turn.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct BoxSpace {
    /// Order of the four numbers.
    pub order: Option<BoxOrder>,
    /// Their unit.
    pub unit: Option<BoxUnit>,
    /// The picture they refer to, in the words of the call (`0`, `observation_1`).
    pub picture: Option<String>,
    /// That picture's width and height in pixels.
    pub picture_size: Option<(u32, u32)>,
}

impl BoxSpace {
    /// What stands in brackets behind a box: `(x1, y1, x2, y2; 0..1000; picture 0)`.
    #[must_use]
    pub fn note(&self) -> String {
        let order = self.order.map(|o| match o {
            BoxOrder::Xyxy => "x1, y1, x2, y2",
            BoxOrder::Xywh => "x, y, width, height",
            BoxOrder::Yxyx => "y1, x1, y2, x2",
        });
        let unit = self.unit.map(|u| match u {
            BoxUnit::Pixels => "pixels",
            BoxUnit::Fraction => "0..1",
            BoxUnit::Thousandths => "0..1000",
        });
        let picture = self.picture.as_ref().map(|p| {
            let name: String = p
                .chars()
                .map(|c| if c.is_control() { ' ' } else { c })
                .collect();
            match self.picture_size {
                Some((width, height)) => format!("picture {name}, {width} x {height} pixels"),
                None => format!("picture {name}"),
            }
        });
        let named = [
            ("order", order),
            ("unit", unit),
            ("picture", picture.as_deref()),
        ];
        let missing: Vec<&str> = named
            .iter()
            .filter(|(_, v)| v.is_none())
            .map(|(n, _)| *n)
            .collect();
        let mut parts: Vec<String> = named
            .iter()
            .filter_map(|(_, v)| v.map(str::to_owned))
            .collect();
        match missing.as_slice() {
            [] => {}
            [one] => parts.push(format!("{one} not stated")),
            [head @ .., last] => parts.push(format!("{} and {last} not stated", head.join(", "))),
        }
        format!("({})", parts.join("; "))
    }
}

/// The note for a turn whose call may say nothing.
pub(super) fn note(space: Option<&BoxSpace>) -> String {
    space.cloned().unwrap_or_default().note()
}

/// A list of four numbers, or of several such lists.
pub(super) fn is_box(atom: &Atom, text: &str) -> bool {
    let numbers = atom.list_len(text);
    let nested = || atom.text(text).matches(['[', '(', '{']).count() > 1;
    atom.kind == AtomKind::List
        && (numbers == 4 || (numbers > 4 && numbers.is_multiple_of(4) && nested()))
}
