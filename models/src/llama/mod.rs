//! What does Llama text fix in code? One rotary axis; head_dim and the rotary base may be left out.

use crate::decoder::{RopeStyle, TextStyle};

pub(crate) const TEXT: TextStyle = TextStyle {
    explicit_head_dim: false,
    biases: None,
    head_norms: false,
    rope: RopeStyle::Text,
    // Llama 2's released files were written before the field.
    default_theta: Some(10_000.0),
};
