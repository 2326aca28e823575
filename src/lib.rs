//! spare.

pub mod evidence;
pub mod trajectory;
