//! Are experts read from every layout, and picked as the reference picks them?

use candle_core::Device;
use safetensors::Dtype;
use serde_json::{Value, json};
use spare_models::{KvCache, ModelError, WeightDtype, load};

use crate::edited::{Tensors, configured, edited};
use crate::golden::{Golden, apart, data};

const RELEASED: &str = "qwen3_vl_moe/released";
const APART: &str = "qwen3_vl_moe/released-apart";
const LAYER: &str = "model.language_model.layers.0.mlp";

fn logits(golden: &Golden) -> Vec<f32> {
    golden.logits(&golden.prompt(), &mut KvCache::new(), &[])
}

/// The same weights as released, as transformers 5 saves them, and as a matrix for each projection of each expert.
#[test]
fn layouts_of_the_same_weights_give_the_same_logits() {
    for dtype in [WeightDtype::F32, WeightDtype::Bf16] {
        let first = Golden::open_as(RELEASED, dtype);
        let expected = logits(&first);
        for folder in ["qwen3_vl_moe/released-held", APART] {
            let model = load(&data(folder), dtype, &Device::Cpu).unwrap();
            assert_eq!(
                model.describe().parameters,
                first.model.describe().parameters
            );
            let other = Golden::of(RELEASED, model);
            assert!(logits(&other) == expected, "{folder} in {dtype:?}");
        }
    }
}

/// Zeros in place of the experts of layer 0, with `inner` rows each: only the shape is looked at.
fn with_inner(t: &mut Tensors, inner: usize) {
    let (experts, hidden) = (6, 32);
    for (part, shape) in [
        ("gate_up_proj", vec![experts, hidden, 2 * inner]),
        ("down_proj", vec![experts, inner, hidden]),
    ] {
        for layer in 0..2 {
            let bytes = vec![0; shape.iter().product::<usize>() * 2];
            let name = format!("model.language_model.layers.{layer}.mlp.experts.{part}");
            assert!(
                t.insert(name, (Dtype::BF16, shape.clone(), bytes))
                    .is_some()
            );
        }
    }
}

/// A square matrix does not tell which of its sides is which.
#[test]
fn square_experts_are_refused() {
    let load = |inner: usize| {
        edited(
            RELEASED,
            |c| c["text_config"]["moe_intermediate_size"] = json!(inner),
            |t| with_inner(t, inner),
        )
    };
    load(20).unwrap();
    for (inner, part) in [(16, "gate_up_proj"), (32, "down_proj")] {
        let error = load(inner).unwrap_err().to_string();
        assert!(
            error.contains(&format!("{LAYER}.experts.{part}")),
            "{error}"
        );
    }
}

#[test]
fn experts_that_are_missing_or_left_over_are_named() {
    let refused = |name: &str, change: &dyn Fn(&mut Tensors)| match edited(name, |_| {}, change) {
        Err(error @ ModelError::Weights { .. }) => error.to_string(),
        other => panic!("{:?}", other.map(drop)),
    };
    let up = format!("{LAYER}.experts.3.up_proj.weight");
    let error = refused(APART, &|t| drop(t.remove(&up)));
    assert!(error.contains(&up), "{error}");
    let seventh = format!("{LAYER}.experts.6.up_proj.weight");
    let error = refused(APART, &|t| drop(t.insert(seventh.clone(), t[&up].clone())));
    assert!(error.contains(&seventh), "{error}");
    // Two layouts at once: which one counts?
    let whole = data(APART).join("model.safetensors");
    let bytes = std::fs::read(whole).unwrap();
    let one = safetensors::SafeTensors::deserialize(&bytes).unwrap();
    let one = one.tensor(&up).unwrap();
    let error = refused(RELEASED, &|t| {
        let copy = (one.dtype(), one.shape().to_vec(), one.data().to_vec());
        drop(t.insert(up.clone(), copy));
    });
    assert!(error.contains(&up), "{error}");
    let router = format!("{LAYER}.gate.weight");
    let error = refused(RELEASED, &|t| drop(t.remove(&router)));
    assert!(error.contains(&router), "{error}");
}

#[test]
fn configs_of_experts_that_are_not_computed_are_refused_by_field() {
    for (field, value) in [
        // The reference renormalises whatever this says.
        ("norm_topk_prob", json!(false)),
        ("num_experts_per_tok", json!(7)),
        ("num_experts_per_tok", json!(0)),
        ("num_experts", Value::Null),
        ("moe_intermediate_size", Value::Null),
        ("decoder_sparse_step", json!(0)),
    ] {
        let change = |c: &mut Value| c["text_config"][field] = value;
        let error = configured(RELEASED, change).unwrap_err().to_string();
        assert!(error.contains(field), "{field}: {error}");
    }
}

/// Layers of experts and dense layers are told apart by the config: the other kind has other tensors.
#[test]
fn layers_are_dense_where_the_config_says_so() {
    let name = "qwen3_vl_moe/dense-first";
    let refused = |change: &dyn Fn(&mut Value)| {
        let error = configured(name, |c| change(&mut c["text_config"])).unwrap_err();
        error.to_string()
    };
    let error = refused(&|t| t["mlp_only_layers"] = json!([]));
    assert!(error.contains("layers.0.mlp.gate.weight"), "{error}");
    let error = refused(&|t| t["mlp_only_layers"] = json!([0, 2]));
    assert!(error.contains("layers.2.mlp.gate_proj.weight"), "{error}");
    let error = refused(&|t| t["decoder_sparse_step"] = json!(2));
    assert!(error.contains("layers.2.mlp.gate_proj.weight"), "{error}");
}

/// Experts with equal probabilities: the lower one, in every run. torch.topk takes another one now and then, and its logits
/// are far away, so that the golden logits (compared with the others in `exact`) tell the two rules apart.
#[test]
fn ties_go_to_the_lower_expert_every_time() {
    let golden = Golden::open("qwen3_vl_moe/ties");
    let first = logits(&golden);
    let gap = apart(&first, golden.floats("logits"));
    assert!(gap <= 1e-4, "{gap:e}");
    let moved = apart(golden.floats("topk_logits"), golden.floats("logits"));
    assert!(moved > 0.1, "{moved:e}");
    for _ in 0..20 {
        assert!(logits(&golden) == first);
    }
}
