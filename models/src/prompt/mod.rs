//! What does the model read, and which bytes and tokens of it came from which part of the chat?
//!
//! A [`Chat`] is rendered by the checkpoint's own template ([`Rendering`]: text, part <-> byte span) and encoded by its
//! own tokenizer ([`Encoded`]: ids, byte <-> token). Ids equal those of transformers' `apply_chat_template` with its
//! processor, except that special-token literals count only where the template wrote them.

mod clock;
mod cuts;
mod encoded;
mod error;
mod guards;
mod literals;
mod parts;
mod prompter;
mod python;
mod rendering;
mod sentinel;
mod settle;
mod shape;
mod spans;
mod special;
mod template;
mod trial;

pub use encoded::Encoded;
pub use error::PromptError;
pub use parts::Chat;
pub use prompter::{CallOpening, Prompter};
pub use rendering::{Cut, PartSpan, Rendering};
pub use special::SpecialTokens;
pub use template::ChatTemplate;
