//! Does every family load and run in every type that is offered, and what does the type cost?

use spare_kernels::Path;
use spare_models::{KvCache, WeightDtype};

use crate::golden::{BOARD, Golden, apart, names};

/// Stored in f16, so that the text model's weights lose nothing in it.
const STORED: [&str; 5] = [
    "qwen2_vl/gqa2-f16-tied",
    "qwen2_5_vl/window4-f16-tied",
    "qwen3_vl_moe/step2-f16-sharded",
    "qwen3/gqa4-f16-sharded",
    "llama/plain-f16",
];

fn logits(name: &'static str, dtype: WeightDtype) -> (Golden, Vec<f32>) {
    let golden = Golden::open_as(name, dtype);
    let logits = golden.logits(&golden.prompt(), &mut KvCache::new(), &[]);
    (golden, logits)
}

/// Every checkpoint in every type. Experts may be picked otherwise where weights are rounded, so there only finite numbers
/// are asked for.
#[test]
fn every_type_runs_in_every_family() {
    for name in names() {
        for dtype in WeightDtype::ALL {
            let (golden, got) = logits(name, dtype);
            assert!(got.iter().all(|v| v.is_finite()), "{name} in {dtype}");
            let exact = golden.floats("logits");
            let scale = exact.iter().fold(0f32, |top, v| top.max(v.abs()));
            let gap = apart(&got, exact) / scale;
            println!(
                "{name} in {dtype}: {} kept, {gap:.1e} of the largest logit",
                golden.model.describe().dtype
            );
            let bound = match dtype {
                WeightDtype::Auto | WeightDtype::F32 => 1e-5,
                // A tower stored in bf16 stays in it.
                WeightDtype::F16 if Path::current().multiplies_bf16() => 0.05,
                WeightDtype::F16 => 0.005,
                WeightDtype::Bf16 => 0.05,
                _ => 0.1,
            };
            assert!(
                golden.has_experts() || gap < bound,
                "{name} in {dtype}: {gap:e}"
            );
        }
    }
}

#[test]
fn f16_at_rest_equals_f32() {
    for name in STORED {
        let (narrow, got) = logits(name, WeightDtype::F16);
        assert_eq!(narrow.model.describe().dtype, "f16", "{name}");
        assert!(logits(name, WeightDtype::F32).1 == got, "{name}");
    }
}

/// Rows of whole blocks are quantised, others stay as they are stored: the board's width is 192, six blocks of 32,
/// the other's 48.
#[test]
fn blocks_are_used_where_rows_are_whole_blocks() {
    for dtype in [WeightDtype::Q8_0, WeightDtype::Q4K] {
        let (golden, got) = logits(BOARD, dtype);
        assert_eq!(golden.model.describe().dtype, "q8_0");
        let gap = apart(&got, golden.floats("logits"));
        assert!(gap > 1e-3 && gap < 1.0, "{dtype}: {gap:e}");
        let (narrow, _) = logits("qwen2_5_vl/window3-bf16-sharded", dtype);
        assert_eq!(narrow.model.describe().dtype, "bf16");
    }
}
