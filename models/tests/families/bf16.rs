//! How far do weights kept in bf16 move the logits?

use spare_kernels::Path;
use spare_models::{KvCache, WeightDtype};

use crate::golden::{BOARD, FAMILIES, Golden, apart, names};

/// Stored in bf16, so that keeping them so rounds nothing.
const STORED: [&str; 7] = [
    "qwen2_vl/gqa4-bf16-sharded",
    "qwen2_5_vl/window3-bf16-sharded",
    "qwen3_vl/gqa4-bf16",
    "qwen3_vl_moe/released",
    "qwen3/gqa2-bf16-v4",
    "llama/llama3-bf16-tied",
    BOARD,
];

fn logits(name: &'static str, dtype: WeightDtype) -> (Golden, Vec<f32>) {
    let golden = Golden::open_as(name, dtype);
    let logits = golden.logits(&golden.prompt(), &mut KvCache::new(), &[]);
    (golden, logits)
}

/// transformers in bf16 is `reference` away from itself in f32. Weights in bf16 under sums in f32 must not be twice as far.
#[test]
fn weights_in_bf16_stay_within_twice_what_transformers_loses() {
    let mut compared = 0;
    for name in names() {
        let (golden, got) = logits(name, WeightDtype::Bf16);
        if !golden.has("logits_bf16") {
            continue;
        }
        let exact = golden.floats("logits");
        let reference = apart(golden.floats("logits_bf16"), exact);
        let ours = apart(&got, exact);
        println!("{name}: {ours:.4} from f32, transformers {reference:.4}");
        assert!(reference > 0.01, "{name}: {reference:e}");
        assert!(ours <= 2.0 * reference, "{name}: {ours:e}");
        // Rounding is seen where there is something to round: weights, or what meets them on a CPU that multiplies bf16 by bf16.
        let rounded = !STORED.contains(&name) || Path::current().multiplies_bf16();
        assert_eq!(ours > 1e-3, rounded, "{name}: {ours:e}");
        compared += 1;
    }
    assert_eq!(compared, 3 * FAMILIES.len());
}

/// A bf16 checkpoint kept in bf16 gives the numbers of the same checkpoint widened at loading, to the bit, on every path that widens.
/// `SPARE_KERNELS_PATH=avx2` forces one.
#[test]
fn bf16_at_rest_equals_f32() {
    if Path::current().multiplies_bf16() {
        println!(
            "skipped: {} rounds what meets weights in bf16",
            Path::current()
        );
        return;
    }
    for name in STORED {
        assert!(
            logits(name, WeightDtype::F32).1 == logits(name, WeightDtype::Bf16).1,
            "{name}"
        );
    }
}
