//! How well does sparse reading read? Sets of documents, tables, trees, folders and code are generated from seeds, so that the bytes of every answer are known by construction; nothing here knows how a reader works.
//!
//! Weights are fitted on [`seeds::DEV`] and numbers are reported on [`seeds::TEST`].

pub mod case;
pub mod language;
pub mod seeds;
pub mod sets;
