//! What does Qwen3-VL's vision_config ask for?

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
    /// Rows (and columns) of the square table of learned positions.
    pub(crate) table_side: usize,
    /// Blocks after which features are tapped, ascending.
    pub(crate) taps: Vec<usize>,
}

impl VisionConfig {
    pub(crate) fn read(vision: &Fields, text: &TextConfig) -> Result<Self, ModelError> {
        vision.only("hidden_act", &json!("gelu_pytorch_tanh"), false)?;
        vision.only("out_hidden_size", &json!(text.hidden), false)?;
        let shape = TowerShape::read(vision, "hidden_size")?;
        let entries = vision.count("num_position_embeddings")?;
        let table_side = entries.isqrt();
        if table_side * table_side != entries {
            return Err(vision.refuse("num_position_embeddings", entries, "a square number"));
        }
        let taps = vision.counts("deepstack_visual_indexes")?;
        let ascending = taps.windows(2).all(|pair| pair.first() < pair.last());
        if !ascending || taps.iter().any(|t| *t >= shape.depth) || taps.len() > text.layers {
            let expected = format!(
                "ascending block indexes below depth {}, at most {} (text layers)",
                shape.depth, text.layers
            );
            return Err(vision.refuse("deepstack_visual_indexes", format!("{taps:?}"), expected));
        }
        Ok(Self {
            inner: vision.count("intermediate_size")?,
            shape,
            table_side,
            taps,
        })
    }
}
