//! The small checkpoint that is compiled in, so that the main job runs without a download.

use std::borrow::Cow;

use candle_core::Device;

use crate::{Companions, Model, ModelError, WeightDtype, load_from_bytes};

macro_rules! file {
    ($name:literal) => {
        include_bytes!(concat!("../pretrained/board/", $name))
    };
    (text $name:literal) => {
        include_str!(concat!("../pretrained/board/", $name))
    };
}

/// The card of the checkpoint: what it is, what it knows and how it was made.
pub const CARD: &str = file!(text "README.md");

/// Loads the board checkpoint.
///
/// # Errors
/// Those of [`load_from_bytes`].
pub fn board(dtype: WeightDtype) -> Result<(Model, Companions), ModelError> {
    let model = load_from_bytes(
        file!("config.json"),
        Some(file!("generation_config.json")),
        vec![Cow::Borrowed(file!("model.safetensors"))],
        dtype,
        &Device::Cpu,
    )?;
    let companions = Companions {
        tokenizer: Cow::Borrowed(file!("tokenizer.json")),
        tokenizer_config: Cow::Borrowed(file!("tokenizer_config.json")),
        template: Cow::Borrowed(file!(text "chat_template.jinja")),
        preprocessor: Some(Cow::Borrowed(file!(text "preprocessor_config.json"))),
    };
    Ok((model, companions))
}
