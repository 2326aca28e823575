//! How does somebody think aloud about a board, in the labelled runs and in the world? `{a}` is a thing, `{v}` what is said of it.

/// Where a thing is.
pub(crate) const LOCATE: &[&str] = &[
    "The {a} is in cell {v}.",
    "I can see the {a} at cell {v}.",
    "Looking at the board, the {a} sits in cell {v}.",
];
/// Why a crop is called.
pub(crate) const NEED: &[&str] = &[
    "Its digit is too small to read here, so I will crop that cell.",
    "I cannot read the digit at this size. I crop the cell to zoom in.",
    "I should zoom in with a crop before I trust any reading.",
];
/// A reading from afar.
pub(super) const GUESS: &[&str] = &[
    "At this size the digit looks like {v}.",
    "My first guess for it is {v}.",
    "It might be a {v}, but I am not sure.",
];
/// A reading from a crop.
pub(super) const READ: &[&str] = &[
    "The crop shows the digit {v} on the {a}.",
    "Now I can read it: the {a} carries {v}.",
    "The {a} has the digit {v}.",
];
/// Nothing.
pub(super) const FLUFF: &[&str] = &[
    "Let me keep going step by step.",
    "I keep the question in mind while I work.",
    "So far the plan is working well.",
    "The board has several shapes, and I only need some of them.",
    "I will stay careful and check each shape that the question names.",
];
/// What comes next.
pub(super) const NEXT: &[&str] = &[
    "Next I look for the {a}.",
    "That leaves the {a}.",
    "The next shape to check is the {a}.",
];
