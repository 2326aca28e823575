//! What does Qwen2.5-VL's vision_config ask for?

use serde_json::json;

use crate::ModelError;
use crate::checkpoint::Fields;
use crate::decoder::TextConfig;
use crate::vision::TowerShape;

#[derive(Debug, Clone)]
pub(crate) struct VisionConfig {
    pub(crate) shape: TowerShape,
    /// Width of the gated MLP's inner states.
    pub(crate) inner: usize,
    /// Merge cells along one side of a window.
    pub(crate) window: usize,
    /// Blocks in which every patch sees the whole picture.
    pub(crate) full: Vec<usize>,
}

impl VisionConfig {
    pub(crate) fn read(vision: &Fields, text: &TextConfig) -> Result<Self, ModelError> {
        vision.only("hidden_act", &json!("silu"), false)?;
        vision.only("out_hidden_size", &json!(text.hidden), false)?;
        let shape = TowerShape::read(vision, "hidden_size")?;
        let size = vision.count("window_size")?;
        let window = size / shape.merge / shape.patch;
        if window == 0 {
            let expected = format!(
                "at least one merge cell of {} pixels",
                shape.merge * shape.patch
            );
            return Err(vision.refuse("window_size", size, expected));
        }
        let full = vision.counts("fullatt_block_indexes")?;
        if let Some(block) = full.iter().find(|block| **block >= shape.depth) {
            let expected = format!("block indexes below depth {}", shape.depth);
            return Err(vision.refuse("fullatt_block_indexes", block, expected));
        }
        Ok(Self {
            inner: vision.count("intermediate_size")?,
            shape,
            window,
            full,
        })
    }
}
