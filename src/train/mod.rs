//! How does a checkpoint learn from the world? Lessons become token ids with weights, a recipe says which and for how long.

mod lesson;
mod pruned;
mod recipe;
mod run;
pub mod sft;
mod tokens;

pub use lesson::{Lesson, lesson};
pub use pruned::pruned;
pub use recipe::{Portion, Recipe, Stage};
pub use run::{Report, run};
pub use tokens::{Targets, TokenKind, sequence};
