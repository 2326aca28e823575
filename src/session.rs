//! An agent's run as it grows: each message is read once, when it comes, so that an event costs only its branches.

use crate::error::Error;
use crate::plan::Receipt;
use crate::pruner::Pruner;
use crate::replay::{self, PictureRoot};
use crate::score::LocalScorer;
use crate::trajectory::{Message, Segment, Trajectory, segments};
use spare_models::Control;

/// One run online. It is `Send` and knows its engine by a shared pointer; `clone` forks it for the price of the history's text, its token ids and
/// a pointer a block of 256 tokens and a row of reasoning. Keys, values, states and features are shared.
///
/// ```no_run
/// use spare::trajectory::{Message, Trajectory};
/// use spare::replay::PictureRoot;
/// use spare::{Control, Engine, PruneOptions, Pruner, Session};
///
/// let pruner = Pruner::new(Engine::board()?.into(), PruneOptions::default());
/// let mut session = Session::new(pruner, Trajectory::new(Vec::new()), PictureRoot::new("."));
/// session.push(Message::user("Which digit is on the red circle?"), &Control::default())?;
/// // ... the agent's turns, each pushed when it comes; after the one that calls the summary tool:
/// let receipt = session.on_summary(&Control::default())?;
/// println!("{} bytes went", receipt.before.bytes - receipt.after.bytes);
/// # Ok::<(), spare::Error>(())
/// ```
#[derive(Clone)]
pub struct Session {
    pruner: Pruner,
    root: PictureRoot,
    history: Trajectory,
    scorer: LocalScorer,
    limit: Option<u64>,
}

/// Bytes that a session holds between calls, forks' shared blocks counted in each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SessionMemory {
    /// Keys and values of the trunk.
    pub cache: u64,
    /// Hidden states of the rows that predict reasoning.
    pub states: u64,
    /// Features of the pictures.
    pub pictures: u64,
}

impl SessionMemory {
    /// All of it.
    pub fn total(self) -> u64 {
        self.cache + self.states + self.pictures
    }
}

impl Session {
    /// A session that begins with `history`, of which nothing has been read yet; the first push reads it.
    pub fn new(pruner: Pruner, history: Trajectory, root: PictureRoot) -> Self {
        let scorer = pruner.scorer();
        Self {
            pruner,
            root,
            history,
            scorer,
            limit: None,
        }
    }

    /// Holds at most about `bytes` of keys, values and states between calls. What of the history lies beyond is not read ahead: an event
    /// reads it, and pays for it. Pictures are always kept.
    #[must_use]
    pub fn with_memory_limit(mut self, bytes: u64) -> Self {
        self.limit = Some(bytes);
        self
    }

    /// The history as it stands.
    pub fn history(&self) -> &Trajectory {
        &self.history
    }

    /// What is held.
    pub fn memory(&self) -> SessionMemory {
        let [cache, states, pictures] = self.scorer.bytes();
        SessionMemory {
            cache,
            states,
            pictures,
        }
    }

    /// Tokens of the history that have been read and are held.
    pub fn tokens_held(&self) -> usize {
        self.scorer.held()
    }

    /// Appends a message and reads it: its tokens go through the model once, and the states that predict its reasoning are kept.
    ///
    /// # Errors
    /// Those of rendering, of opening pictures and of the model, [`Control`]'s flag included. The message stands in the history all the
    /// same, and what was not read is read by the next call; what a stopped call has read stays read, but for states of its reasoning.
    pub fn push(&mut self, message: Message, control: &Control) -> Result<(), Error> {
        self.history.push(message);
        self.read(control)
    }

    /// Decides the events that are new and edits the history in place, as [`Pruner::on_summary`] does.
    ///
    /// # Errors
    /// Those of [`Pruner::prune`]; the history is then as before.
    pub fn on_summary(&mut self, control: &Control) -> Result<Receipt, Error> {
        let (history, scorer) = (&mut self.history, &mut self.scorer);
        let receipt = self
            .pruner
            .on_summary_from(history, scorer, &self.root, control);
        self.keep_to_limit();
        receipt
    }

    /// A second session with the same past; either may go on without the other.
    #[must_use]
    pub fn fork(&self) -> Self {
        self.clone()
    }

    /// Goes back to the first `messages` messages. Costs nothing: the next push keeps what still stands. More than there are changes nothing.
    pub fn rewind(&mut self, messages: usize) {
        self.history.messages.truncate(messages);
    }

    fn read(&mut self, control: &Control) -> Result<(), Error> {
        let engine = self.pruner.engine();
        let at = self.history.messages.len();
        let view = engine.view(&self.history, at)?;
        let pictures = self.scorer.pictures(&view, at, &self.root)?;
        let segments = segments(&self.history, self.pruner.options().visible);
        let open: Vec<&Segment> = segments.iter().filter(|s| s.frozen.is_none()).collect();
        let (trunk, mut rows) =
            replay::student_rows(&engine.prompter, &view, at, &open, &pictures)?;
        let spans: Vec<_> = trunk
            .pictures
            .iter()
            .cloned()
            .zip(pictures.into_iter().map(|(_, key)| key))
            .collect();
        let mut prompt = self.scorer.prepare(trunk.ids, &spans)?;
        if let Some(most) = self.most(&rows, prompt.len()).filter(|m| *m < prompt.len()) {
            // No picture is cut in two.
            let mut pictures = spans.iter().map(|(tokens, _)| tokens);
            let cut = pictures.find(|t| t.start < most && most < t.end);
            let most = cut.map_or(most, |t| t.start);
            prompt = prompt.splice(&engine.model, most, &[], most)?;
            rows.retain(|row| *row < most);
        }
        let read = self.scorer.advance(prompt, &rows, control);
        self.keep_to_limit();
        read.map(|_| ())
    }

    /// Forgets what lies beyond the limit, and passes over other histories.
    fn keep_to_limit(&mut self) {
        if let Some(most) = self.most(&self.scorer.rows(), self.scorer.held()) {
            self.scorer.shorten(most);
        }
    }

    /// The most tokens of `len` whose keys and values, with the states of those of `rows` among them, fit into the limit; `None` without one.
    fn most(&self, rows: &[usize], len: usize) -> Option<usize> {
        let limit = self.limit?;
        let model = &self.pruner.engine().model;
        let (token, state) = (model.cache_bytes(), 4 * model.hidden_size() as u64);
        let fits = |tokens: usize| {
            let states = rows.partition_point(|row| *row < tokens) as u64;
            (tokens as u64)
                .saturating_mul(token)
                .saturating_add(states.saturating_mul(state))
                <= limit
        };
        let (mut low, mut high) = (0, len);
        while low < high {
            let middle = low + (high - low).div_ceil(2);
            if fits(middle) {
                low = middle;
            } else {
                high = middle - 1;
            }
        }
        Some(low)
    }
}
