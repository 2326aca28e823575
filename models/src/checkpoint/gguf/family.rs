//! Which model is in the file, and how does transformers name its parts?

/// An architecture of llama.cpp that has a model of transformers behind it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Family {
    Llama,
    Qwen3,
    Qwen2Vl,
    Qwen25Vl,
    Qwen3Vl,
    Qwen3VlMoe,
}

/// `general.architecture` values that load.
pub(super) const ARCHITECTURES: &str = "llama, qwen3, qwen2vl, qwen3vl, qwen3vlmoe";

impl Family {
    /// The family of `general.architecture`, and for one that sees of the mmproj's projector type.
    pub(super) fn of(architecture: &str, projector: Option<&str>) -> Option<Self> {
        Some(match (architecture, projector) {
            ("llama", None) => Self::Llama,
            ("qwen3", None) => Self::Qwen3,
            ("qwen2vl", Some("qwen2vl_merger")) => Self::Qwen2Vl,
            ("qwen2vl", Some("qwen2.5vl_merger")) => Self::Qwen25Vl,
            ("qwen3vl", Some("qwen3vl_merger")) => Self::Qwen3Vl,
            ("qwen3vlmoe", Some("qwen3vl_merger")) => Self::Qwen3VlMoe,
            _ => return None,
        })
    }

    /// Projector types that go with an architecture; none for one that does not see; `None` for an unknown one.
    pub(super) fn projectors(architecture: &str) -> Option<&'static [&'static str]> {
        Some(match architecture {
            "llama" | "qwen3" => &[],
            "qwen2vl" => &["qwen2vl_merger", "qwen2.5vl_merger"],
            "qwen3vl" | "qwen3vlmoe" => &["qwen3vl_merger"],
            _ => return None,
        })
    }

    /// `architectures` and `model_type` of config.json.
    pub(super) fn names(self) -> (&'static str, &'static str) {
        match self {
            Self::Llama => ("LlamaForCausalLM", "llama"),
            Self::Qwen3 => ("Qwen3ForCausalLM", "qwen3"),
            Self::Qwen2Vl => ("Qwen2VLForConditionalGeneration", "qwen2_vl"),
            Self::Qwen25Vl => ("Qwen2_5_VLForConditionalGeneration", "qwen2_5_vl"),
            Self::Qwen3Vl => ("Qwen3VLForConditionalGeneration", "qwen3_vl"),
            Self::Qwen3VlMoe => ("Qwen3VLMoeForConditionalGeneration", "qwen3_vl_moe"),
        }
    }

    /// What precedes the names of the text model's weights, and those of the tower.
    pub(super) fn prefixes(self) -> (&'static str, &'static str) {
        match self {
            Self::Llama | Self::Qwen3 | Self::Qwen2Vl | Self::Qwen25Vl => ("model.", "visual."),
            Self::Qwen3Vl | Self::Qwen3VlMoe => ("model.language_model.", "model.visual."),
        }
    }

    /// Whether q and k are stored with their rotary halves interleaved.
    pub(super) fn permuted(self) -> bool {
        self == Self::Llama
    }

    /// Whether the tower is the one with a learned position table and deepstack.
    pub(super) fn is_qwen3_tower(self) -> bool {
        matches!(self, Self::Qwen3Vl | Self::Qwen3VlMoe)
    }
}
