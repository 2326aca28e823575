//! What does it do to an agent's answers when its reasoning is pruned on the way?
//!
//! A model acts in the [`world`](super::world): it reasons, calls, sees, summarises; at each summary a method prunes the history, and the
//! model goes on with what is left. Every method sees the same beginning up to the first summary.

mod choice;
mod method;
mod outcome;
mod play;
mod probe;
mod probed;
mod result;
mod skill;
mod sweep;
mod turn;

pub use method::Method;
pub use outcome::{Played, Set};
pub use play::Player;
pub use probe::{Probe, probe};
pub use probed::{ProbeRow, Probes};
pub use result::{Row, Table};
pub use skill::{Skill, Times};
pub use sweep::{Setting, sweep};
pub use turn::{Turn, parse};
