//! How does Qwen3-VL see, and what does its text model fix in code?

mod config;
mod table;
mod vision;

use crate::decoder::{Biases, RopeStyle, TextStyle};

pub(crate) use config::VisionConfig;
#[cfg(feature = "train")]
pub(crate) use table::table_taps;
pub(crate) use vision::VisionTower;

/// No biases, norms within each head, three rotary axes that take turns; head_dim differs from hidden / heads in released files.
pub(crate) const TEXT: TextStyle = TextStyle {
    explicit_head_dim: true,
    biases: Some(Biases {
        qkv: false,
        output: false,
        mlp: false,
    }),
    head_norms: true,
    rope: RopeStyle::Interleaved,
    default_theta: None,
};
