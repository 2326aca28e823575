//! Reads less in the first place: a preview of an object, bounded evidence with anchors for what an agent wants to know, and a gate that leaves native reading alone where that is cheaper.
//!
//! The protocol is SparseRead's (arXiv 2608.22237): no model runs here, the agent decides, and what was searched, found, contradicted or not looked at is said in so many words.

mod anchor;
mod answer;
mod collect;
mod encoding;
mod error;
mod evidence;
pub mod extract;
mod gate;
mod ignored;
mod intent;
mod limits;
mod native;
mod preview;
mod query;
mod rank;
mod read;
pub mod readers;
mod redact;
mod session;
mod source;
mod state;
mod tokens;
mod verify;
mod visible;

pub use anchor::Anchor;
pub use collect::{Collector, Found, Piece};
pub use encoding::{Charset, Decoded};
pub use error::{Error, Result};
pub use evidence::{Coverage, EvidencePack, NativeRange, NeedReport, Next, Round, Span, Status};
pub use gate::{Decision, Gate, Mode, ObjectSize, Weights};
pub use intent::{Action, Intent, MOST_NEEDS, Need, Purpose, Scope, Want};
pub use limits::{Limits, Stop};
pub use preview::{Card, FilePreview, Preview};
pub use query::{Form, Forms, Hit, Mask, NeedTerms, Query, Term};
pub use redact::{holds_credentials, redact};
pub use session::{ReadRequest, Session};
pub use source::{Object, Root, Target};
pub use state::EvidenceState;
pub use tokens::{estimate_tokens, estimate_tokens_of_bytes};
pub use verify::{Match, Verdict, Verification};
pub use visible::make_visible;
