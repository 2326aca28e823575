//! What happened in a run, whatever file it came from: messages, their parts, the reasoning segments and the atoms in them.
//! Nothing here knows a wire format or a tensor.

pub mod atom;
mod message;
mod segment;
mod think;

pub(crate) use atom::Haystack;
pub use atom::{Atom, AtomKind, atoms, occurs};
pub use message::{
    Message, Part, Picture, PictureSource, Reasoning, Role, Slot, Text, ToolCall, Trajectory,
};
pub use segment::{Frozen, Place, Segment, SegmentKind, VisibleText, segments};
pub(crate) use think::{CLOSE, is_free_of_tags, tagged, think_text};
