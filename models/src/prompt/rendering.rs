//! What did the template write, and where does each part of the chat stand in it?

use std::ops::Range;

/// A rendered chat and where its parts stand.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rendering {
    /// The text that the template writes.
    pub text: String,
    /// The shown parts in the order of the text. A part that the template cuts (`<think>` inside content) has one
    /// entry for each piece.
    pub parts: Vec<PartSpan>,
    /// JSON pointers of the parts that the template does not show, empty strings included.
    pub hidden: Vec<String>,
    /// The rendered bytes of each requested [`Cut`], in the order of the request; `None` where it is not shown.
    pub cuts: Vec<Option<Range<usize>>>,
}

impl Rendering {
    /// The spans of one part, in order.
    pub fn spans<'a>(&'a self, pointer: &'a str) -> impl Iterator<Item = &'a PartSpan> {
        self.parts
            .iter()
            .filter(move |part| part.pointer == pointer)
    }
}

/// One shown part, or piece of a part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PartSpan {
    /// JSON pointer of the part, such as `/messages/2/reasoning_content`.
    pub pointer: String,
    /// Bytes of the rendering. Inside a `tojson` dump they hold the escaped string.
    pub span: Range<usize>,
    /// Bytes of the part's own string that stand there.
    pub trimmed: Range<usize>,
}

/// A piece of a part whose place in the rendering is wanted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cut {
    /// JSON pointer of the part.
    pub pointer: String,
    /// Bytes of the part's string.
    pub range: Range<usize>,
}
