//! How does Qwen2-VL see, and what does its text model fix in code?

mod config;
mod vision;

use crate::decoder::{Biases, RopeStyle, TextStyle};

pub(crate) use config::VisionConfig;
pub(crate) use vision::VisionTower;

/// Biases on queries, keys and values, three rotary axes in stretches. Qwen2.5-VL's text model is the same.
pub(crate) const TEXT: TextStyle = TextStyle {
    explicit_head_dim: false,
    biases: Some(Biases {
        qkv: true,
        output: false,
        mlp: false,
    }),
    head_norms: false,
    rope: RopeStyle::Chunked,
    default_theta: None,
};
