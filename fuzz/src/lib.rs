//! What must hold for any bytes? One body for each fuzz target; `tests/fuzz_seeds.rs` of the root package calls the same bodies on
//! the seeds, so they stay green without cargo-fuzz.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod atoms_evidence;
mod dice;
mod json_pointer_edit;
mod read_chat;
mod restore_receipt;

pub use atoms_evidence::atoms_evidence;
pub use json_pointer_edit::json_pointer_edit;
pub use read_chat::read_chat;
pub use restore_receipt::restore_receipt;
