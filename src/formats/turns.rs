//! How does one wire message that holds results among its blocks become messages of the neutral model? In order, each result one of its own.

use crate::trajectory::{Message, Role};

/// A message without content.
pub(crate) fn empty(role: Role) -> Message {
    let mut message = Message::user("");
    message.role = role;
    message.parts.clear();
    message
}

/// The messages of one wire message so far.
pub(crate) struct Turns {
    role: Role,
    open: Message,
    done: Vec<Message>,
}

impl Turns {
    pub(crate) fn of(role: Role) -> Self {
        Self {
            role,
            open: empty(role),
            done: Vec::new(),
        }
    }

    /// The message that takes the next block.
    pub(crate) fn open(&mut self) -> &mut Message {
        &mut self.open
    }

    /// Adds a result; blocks behind it go to a message of their own.
    pub(crate) fn result(&mut self, result: Message) {
        self.close();
        self.done.push(result);
    }

    /// All messages, at least one.
    pub(crate) fn finish(mut self) -> Vec<Message> {
        self.close();
        if self.done.is_empty() {
            self.done.push(self.open);
        }
        self.done
    }

    fn close(&mut self) {
        let mut message = std::mem::replace(&mut self.open, empty(self.role));
        if message.parts.is_empty() && message.calls.is_empty() && message.reasoning.is_empty() {
            return;
        }
        message.content_is_list = !message.parts.is_empty();
        self.done.push(message);
    }
}
