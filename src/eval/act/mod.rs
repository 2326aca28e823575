//! How does a model act with tools, whatever the tools are, and what does pruning on the way do to its answers?
//!
//! An [`Actor`] lets a model write turns, answers its calls by [`Tools`] and hands the history to a pruner where its trigger says so. Everything
//! up to the first summary is played once ([`Acting`]) and gone on from once a setting.

mod actor;
mod standings;
mod turn;

pub use actor::{Acted, Acting, Actor, Stop, Tools};
pub use standings::{Scored, Standing, Standings};
pub use turn::parse;
