//! What changes in the history, and how is it undone? Verdicts become one total plan, the plan becomes edits and a receipt. Sees no tensor.

mod build;
mod event;
mod observation;
mod reason;
mod receipt;
mod restore;
mod space;
mod survival;

pub use build::{EventInput, EventPlan, PlanOptions, SegmentPlan, Writer, build};
pub use event::{Event, Trigger, events};
pub use observation::{KEPT, MaskedReceipt, mask_observations};
pub use reason::{Reason, Verdict};
pub use receipt::{
    EventReceipt, ModelCard, Receipt, SegmentReceipt, SummaryReceipt, TextHash, hex, sha256,
};
pub use restore::{RestoreError, restore};

pub use survival::{Correction, Survival, staying_text};
