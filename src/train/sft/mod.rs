//! How does a summariser learn to write summaries? From histories and the summaries that were written behind them.
//!
//! SPARE (arXiv 2608.22963) fine-tunes the summariser on (context, summary) pairs with the plain next-token loss on the summary. A [`Pair`] is
//! taken from any run ([`Pair::of_run`]) or written by hand; an [`Example`] is the pair as the model reads it when it is asked for a summary,
//! and [`Tuning`] trains the whole weights or adapters on them.

mod batches;
mod curve;
mod example;
mod pair;
mod run;

pub use batches::{Batches, split};
pub use example::{Example, Gallery, SummaryToken, example};
pub use pair::{Collected, Pair, Skipped};
pub use run::{Done, Report, Settings, Tuning};
