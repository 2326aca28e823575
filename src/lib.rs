//! Makes long runs of multimodal agents lighter without making them blind.
//!
//! An agent that looks at pictures and calls tools writes reasoning before every step. That text piles up, outweighs the pictures and keeps wrong early
//! guesses alive. spare replays each piece of reasoning with and without a task-state summary, measures how far the summary moves the prediction of every
//! recorded token (reverse KL, in nats), deletes what the summary covers and rebuilds the rest as short structured evidence. Tool calls, results and pictures
//! are never touched, and a receipt brings the original back byte for byte. The method is SPARE (arXiv 2608.22963).
//!
//! The way of the data, each arrow a value that can be printed and tested alone:
//! file -> [`formats`] -> [`trajectory`] -> [`replay`] -> [`score`] -> [`rules`] -> [`plan`] with [`evidence`] -> the same format, and a [`plan::Receipt`].
//!
//! # Inside an agent
//! Offer the model `summarize_the_task`; when it calls it, prune. One event costs the tokens of the history that the model has not seen yet, and for each
//! candidate the summary, a header and its own tokens.
#![cfg_attr(feature = "embedded-model", doc = "```")]
#![cfg_attr(not(feature = "embedded-model"), doc = "```ignore")]
//! use spare::summary::{SUMMARY_ANSWER, summarize_the_task};
//! use spare::trajectory::{Message, Part, ToolCall, Trajectory};
//! use spare::{Engine, PruneOptions, Pruner};
//! # fn call(name: &str, arguments: serde_json::Value) -> Vec<ToolCall> { vec![ToolCall::new(name, name, arguments)] }
//! # fn model(history: &Trajectory) -> Message {
//! #     let think = |text: &str| Some(text.to_owned());
//! #     match history.messages.len() {
//! #         1 => Message::assistant(think("So far the plan is working well. The purple diamond is at cell (1, 2). I cannot read the digit at this size. I crop the cell to zoom in."), "", call("crop", serde_json::json!({"cell": [1, 2]}))),
//! #         3 => Message::assistant(think("I note the state before I go on."), "", call("summarize_the_task", serde_json::json!({"summary": "Question: Which digit is on the purple diamond? Done: crop(1, 2). Evidence: purple diamond = 9. Open: nothing."}))),
//! #         _ => Message::assistant(None, "purple diamond = 9", Vec::new()),
//! #     }
//! # }
//! # fn run_tool(_: &ToolCall) -> Vec<Part> { vec![Part::picture_path("examples/board/img/000-1.png")] }
//!
//! let pruner = Pruner::new(Engine::board()?.into(), PruneOptions::default());
//! let mut history = Trajectory::new(vec![summarize_the_task()]);
//! history.push(Message::user_parts(vec![
//!     Part::picture_path("examples/board/img/000-0.png"),
//!     Part::text("Which digit is on the purple diamond?"),
//! ]));
//! loop {
//!     let turn = model(&history);
//!     let calls = turn.calls.clone();
//!     history.push(turn);
//!     if calls.is_empty() {
//!         break;
//!     }
//!     for call in &calls {
//!         let summary = call.name == "summarize_the_task";
//!         let answer = if summary { vec![Part::text(SUMMARY_ANSWER)] } else { run_tool(call) };
//!         history.push(Message::tool(call.id.as_deref().unwrap_or_default(), answer));
//!         if summary {
//!             let receipt = pruner.on_summary(&mut history)?;
//!             assert!(receipt.after.bytes < receipt.before.bytes);
//!             assert_eq!(receipt.events[0].atoms.lost, Vec::<String>::new());
//!         }
//!     }
//! }
//! # Ok::<(), spare::Error>(())
//! ```
//!
//! # Features
//! `engine` (candle, the model), `embedded-model` (the small board checkpoint, 9 MB), `cli`; all on by default. `hub` downloads checkpoints by their
//! name (see [`hub::resolve`]) and is off: it brings 172 more crates. Without default features the crate reads, plans, edits and restores, and has no
//! candle in its tree.

#[cfg(feature = "cli")]
pub mod cli;
#[cfg(feature = "engine")]
mod engine;
mod error;
#[cfg(feature = "engine")]
pub mod eval;
pub mod evidence;
pub mod formats;
pub mod plan;
#[cfg(feature = "engine")]
mod pruner;
#[cfg(feature = "engine")]
pub mod replay;
pub mod rules;
pub mod score;
#[cfg(feature = "engine")]
mod session;
pub mod summary;
#[cfg(feature = "train")]
pub mod train;
pub mod trajectory;

#[cfg(feature = "engine")]
pub use engine::Engine;
pub use error::{Error, PictureProblem};
#[cfg(feature = "engine")]
pub use pruner::{EventOutcome, EvidenceBuilder, PruneOptions, Pruned, Pruner};
#[cfg(feature = "engine")]
pub use session::{Session, SessionMemory};
#[cfg(feature = "engine")]
pub use spare_kernels::keep_freed_memory;
#[cfg(feature = "engine")]
pub use spare_models::{Control, DeviceChoice, Progress, WeightDtype, hub};
