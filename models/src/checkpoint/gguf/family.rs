//! Which model is in the files, and how does transformers name its parts?

pub(super) use crate::families::Family;

/// `general.architecture` values that load.
pub(super) const ARCHITECTURES: &str = "llama, qwen3, qwen2vl, qwen3vl, qwen3vlmoe";

/// The family of `general.architecture` and of the projector type of an mmproj.
pub(super) fn of(architecture: &str, projector: Option<&str>) -> Option<Family> {
    Some(match (architecture, projector) {
        ("llama", None) => Family::Llama,
        ("qwen3", None) => Family::Qwen3,
        ("qwen2vl", Some("qwen2vl_merger")) => Family::Qwen2Vl,
        // Without its tower Qwen2-VL is Qwen2.5-VL: their text models compute the same.
        ("qwen2vl", Some("qwen2.5vl_merger") | None) => Family::Qwen2_5Vl,
        ("qwen3vl", Some("qwen3vl_merger") | None) => Family::Qwen3Vl,
        ("qwen3vlmoe", Some("qwen3vl_merger") | None) => Family::Qwen3VlMoe,
        _ => return None,
    })
}

/// Projector types that go with an architecture, none for one that does not see; `None` for an unknown architecture.
pub(super) fn projectors(architecture: &str) -> Option<&'static [&'static str]> {
    Some(match architecture {
        "llama" | "qwen3" => &[],
        "qwen2vl" => &["qwen2vl_merger", "qwen2.5vl_merger"],
        "qwen3vl" | "qwen3vlmoe" => &["qwen3vl_merger"],
        _ => return None,
    })
}

/// What precedes the names of the text model's weights, and those of the tower.
pub(super) fn prefixes(family: Family) -> (&'static str, &'static str) {
    if is_qwen3_tower(family) {
        ("model.language_model.", "model.visual.")
    } else {
        ("model.", "visual.")
    }
}

/// Whether the model sees.
pub(super) fn sees(family: Family) -> bool {
    !matches!(family, Family::Llama | Family::Qwen3)
}

/// Whether the tower is the one with a learned position table and deepstack.
pub(super) fn is_qwen3_tower(family: Family) -> bool {
    matches!(family, Family::Qwen3Vl | Family::Qwen3VlMoe)
}
