//! How does Qwen2.5-VL see? Its text model is Qwen2-VL's.

mod config;
mod vision;
mod window;

pub(crate) use config::VisionConfig;
pub(crate) use vision::VisionTower;
