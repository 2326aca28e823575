//! What does Qwen3 text fix in code? Norms within each head, one rotary axis, head_dim given.

use crate::decoder::{RopeStyle, TextStyle};

pub(crate) const TEXT: TextStyle = TextStyle {
    explicit_head_dim: true,
    biases: None,
    head_norms: true,
    rope: RopeStyle::Text,
    default_theta: None,
};
