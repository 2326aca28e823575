//! What must hold for any bytes? One body for each fuzz target; `tests/fuzz_seeds.rs` of the root package calls the same bodies on
//! the seeds, so they stay green without cargo-fuzz.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod atoms_evidence;
#[path = "../../tests/common/check.rs"]
mod check;
#[cfg(feature = "cli")]
mod compressed;
mod dice;
#[cfg(feature = "cli")]
mod extract;
mod json_pointer_edit;
#[path = "../../tests/common/prune.rs"]
mod prune;
mod python_call;
mod read_run;
mod records;
mod repair;
mod restore_receipt;
mod undone;

pub use atoms_evidence::atoms_evidence;
#[cfg(feature = "cli")]
pub use compressed::compressed;
#[cfg(feature = "cli")]
pub use extract::extract;
pub use json_pointer_edit::json_pointer_edit;
pub use python_call::python_call;
pub use read_run::read_run;
pub use records::records;
pub use repair::mend;
pub use restore_receipt::restore_receipt;
