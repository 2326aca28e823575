//! An edit can be undone: from the edited text and the receipt comes the text, byte for byte.

use spare::formats::{Edit, apply};
use spare::plan::{Receipt, TextHash, restore};

/// The edited text, once it was restored.
pub fn edited(text: &str, edits: &[Edit]) -> String {
    let (after, replaced) = apply(text, edits).expect("each edit has its own place");
    let receipt = Receipt {
        schema: 1,
        before: TextHash::of(text),
        after: TextHash::of(&after),
        replaced,
        ..Receipt::default()
    };
    assert_eq!(restore(&after, &receipt).as_deref(), Ok(text));
    after
}
