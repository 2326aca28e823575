//! What does Qwen2-VL's vision_config ask for? Here hidden_size is the text model's width and embed_dim the tower's.

use serde_json::json;

use crate::ModelError;
use crate::checkpoint::Fields;
use crate::decoder::TextConfig;
use crate::vision::TowerShape;

#[derive(Debug, Clone)]
pub(crate) struct VisionConfig {
    pub(crate) shape: TowerShape,
    /// Width of the MLP's inner states.
    pub(crate) inner: usize,
}

impl VisionConfig {
    pub(crate) fn read(vision: &Fields, text: &TextConfig) -> Result<Self, ModelError> {
        vision.only("hidden_act", &json!("quick_gelu"), true)?;
        vision.only("hidden_size", &json!(text.hidden), false)?;
        let shape = TowerShape::read(vision, "embed_dim")?;
        let ratio = vision.count("mlp_ratio")?;
        let inner = shape.hidden.checked_mul(ratio).filter(|n| *n < 1 << 31);
        let inner = inner.ok_or_else(|| vision.refuse("mlp_ratio", ratio, "a small number"))?;
        Ok(Self { shape, inner })
    }
}
