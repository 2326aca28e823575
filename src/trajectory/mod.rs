//! What does a run consist of, whatever wire format it came in?

pub mod atom;
