//! Every broken checkpoint or prompt is refused by name.

use std::borrow::Cow;
use std::path::Path;

use candle_core::Device;
use safetensors::{Dtype, SafeTensors};
use serde_json::Value;
use spare_kernels::gemm::Packed;
use spare_models::{Checkpoint, ModelError, WeightDtype, WeightProblem, load};

use crate::edited::{Tensors, edited};
use crate::golden::{Golden, data, folder};

/// Loads `gqa1-tied` after its config and tensors have been changed.
fn load_changed(
    config: impl FnOnce(&mut Value),
    tensors: impl FnOnce(&mut Tensors),
) -> Result<(), ModelError> {
    edited("qwen3_vl/gqa1-tied", config, tensors).map(drop)
}

fn problems(tensors: impl FnOnce(&mut Tensors)) -> Vec<WeightProblem> {
    match load_changed(|_| {}, tensors) {
        Err(ModelError::Weights { problems, .. }) => problems,
        other => panic!("{other:?}"),
    }
}

pub fn refused(config: impl FnOnce(&mut Value)) -> String {
    load_changed(config, |_| {}).unwrap_err().to_string()
}

const NORM: &str = "model.language_model.norm.weight";
const GATE: &str = "model.language_model.layers.1.mlp.gate_proj.weight";
const FC1: &str = "model.visual.merger.linear_fc1.weight";

#[test]
fn an_unchanged_checkpoint_loads() {
    load_changed(|_| {}, |_| {}).unwrap();
}

#[test]
fn all_problems_come_in_one_error() {
    let found = problems(|t| {
        t.remove(GATE);
        let fc1 = t.get_mut(FC1).unwrap();
        fc1.1 = vec![48, 192];
        t.get_mut(NORM).unwrap().2[8..12].copy_from_slice(&f32::NAN.to_le_bytes());
        t.get_mut(NORM).unwrap().2[20..24].copy_from_slice(&f32::INFINITY.to_le_bytes());
        t.insert("model.extra".into(), (Dtype::F32, vec![1], vec![0; 4]));
        t.insert(
            "model.language_model.rotary_emb.inv_freq".into(),
            (Dtype::F32, vec![1], vec![0; 4]),
        );
        let bias = t.get_mut("model.visual.merger.linear_fc1.bias").unwrap();
        (bias.0, bias.2) = (Dtype::I64, vec![0; 96 * 8]);
    });
    let name = |s: &str| s.to_string();
    let expected = [
        WeightProblem::Shape {
            name: name(FC1),
            found: vec![48, 192],
            expected: vec![96, 96],
        },
        WeightProblem::Type {
            name: name("model.visual.merger.linear_fc1.bias"),
            found: name("I64"),
        },
        WeightProblem::Missing {
            name: name(GATE),
            expected: vec![48, 36],
        },
        WeightProblem::NotFinite {
            name: name(NORM),
            count: 2,
            first: 2,
        },
        WeightProblem::Unexpected {
            name: name("model.extra"),
            found: vec![1],
        },
    ];
    assert_eq!(found.len(), expected.len(), "{found:#?}");
    for problem in expected {
        assert!(found.contains(&problem), "{problem} not in {found:#?}");
    }
}

#[test]
fn two_naming_schemes_at_once_are_refused() {
    let embed = "model.language_model.embed_tokens.weight";
    let found = problems(|t| drop(t.insert("model.embed_tokens.weight".into(), t[embed].clone())));
    assert!(
        found.iter().any(|p| matches!(
            p,
            WeightProblem::Ambiguous {
                part: "text model",
                ..
            }
        )),
        "{found:?}"
    );
}

/// Older names load too.
#[test]
fn other_prefixes_load() {
    load_changed(
        |_| {},
        |t| {
            *t = std::mem::take(t)
                .into_iter()
                .map(|(name, tensor)| {
                    (
                        name.replace("model.language_model.", "model.")
                            .replace("model.visual.", "visual."),
                        tensor,
                    )
                })
                .collect();
        },
    )
    .unwrap();
}

/// A head in the file counts although the configuration calls it tied, and it is not the embedding.
#[test]
fn a_head_in_the_file_is_used() {
    let golden = Golden::open("qwen3_vl/gqa2-untied");
    let spare_kernels::Weight::Packed(Packed::F32(head)) = golden.model.head() else {
        panic!()
    };
    let head: Vec<f32> = (0..head.out()).flat_map(|r| head.row(r).unwrap()).collect();
    let bytes = std::fs::read(data("qwen3_vl/gqa2-untied/model.safetensors")).unwrap();
    let file = SafeTensors::deserialize(&bytes).unwrap();
    let words = |name: &str| -> Vec<f32> {
        file.tensor(name)
            .unwrap()
            .data()
            .chunks_exact(4)
            .map(|b| f32::from_le_bytes(b.try_into().unwrap()))
            .collect()
    };
    assert!(head == words("lm_head.weight"));
    assert!(head != words("model.language_model.embed_tokens.weight"));
    let missing_rows = problems(|t| {
        drop(t.insert(
            "lm_head.weight".into(),
            (Dtype::F32, vec![1, 36], vec![0; 144]),
        ))
    });
    assert!(
        matches!(&missing_rows[..], [WeightProblem::Shape { name, .. }] if name == "lm_head.weight")
    );
}

fn copy(from: &Path, to: &Path) {
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        std::fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
    }
}

#[test]
fn missing_files_are_named() {
    let open = |folder: &Path| load(folder, WeightDtype::F32, &Device::Cpu);
    let dir = tempfile::tempdir().unwrap();
    let error = open(dir.path()).unwrap_err().to_string();
    assert!(error.contains("found no config.json"), "{error}");

    copy(&data("qwen3_vl/gqa4-sharded"), dir.path());
    open(dir.path()).unwrap();
    std::fs::remove_file(dir.path().join("model-00002-of-00003.safetensors")).unwrap();
    let error = open(dir.path()).unwrap_err();
    let text = error.to_string();
    let ModelError::Weights { problems, .. } = error else {
        panic!("{text}")
    };
    assert!(
        matches!(&problems[0], WeightProblem::MissingShard { file, tensors }
        if file == "model-00002-of-00003.safetensors" && *tensors > 10)
    );
    // The tensors of that shard are named as well.
    assert!(
        problems
            .iter()
            .filter(|p| matches!(p, WeightProblem::Missing { .. }))
            .count()
            > 10,
        "{text}"
    );

    std::fs::remove_file(dir.path().join("model.safetensors.index.json")).unwrap();
    let error = open(dir.path()).unwrap_err().to_string();
    assert!(
        error.contains("found no model.safetensors or model.safetensors.index.json"),
        "{error}"
    );
}

#[test]
fn files_that_do_not_parse_are_named() {
    let dir = tempfile::tempdir().unwrap();
    copy(&data("qwen3_vl/gqa1-tied"), dir.path());
    let path = dir.path().join("model.safetensors");
    let whole = std::fs::read(&path).unwrap();
    for bytes in [&b""[..], b"hello", &whole[..whole.len() - 1], &[0xff; 64]] {
        std::fs::write(&path, bytes).unwrap();
        let error = load(dir.path(), WeightDtype::F32, &Device::Cpu)
            .unwrap_err()
            .to_string();
        assert!(error.contains("model.safetensors"), "{error}");
    }
    std::fs::write(&path, whole).unwrap();
    let config = dir.path().join("config.json");
    for (text, message) in [
        ("{", "config.json: not valid JSON"),
        ("[]", "found a list, expected an object"),
    ] {
        std::fs::write(&config, text).unwrap();
        let error = load(dir.path(), WeightDtype::F32, &Device::Cpu)
            .unwrap_err()
            .to_string();
        assert!(error.contains(message), "{error}");
    }
    copy(&data("qwen3_vl/gqa4-sharded"), dir.path());
    std::fs::remove_file(&path).unwrap();
    let index = dir.path().join("model.safetensors.index.json");
    std::fs::write(&index, r#"{"weight_map": {"a": "../b.safetensors"}}"#).unwrap();
    let error = load(dir.path(), WeightDtype::F32, &Device::Cpu)
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("weight_map.a: found \"../b.safetensors\", expected a file name"),
        "{error}"
    );
}

#[test]
fn the_hash_is_of_the_content() {
    let bytes = |file: &str| std::fs::read(data(file)).unwrap();
    let file = Checkpoint::open(&folder("qwen3_vl/gqa1-tied"))
        .unwrap()
        .hash();
    let memory = |config: &[u8], weights: Vec<u8>| {
        Checkpoint::from_bytes(config, None, vec![Cow::Owned(weights)])
            .unwrap()
            .hash()
    };
    let config = bytes("qwen3_vl/gqa1-tied/config.json");
    assert_eq!(
        file,
        memory(&config, bytes("qwen3_vl/gqa1-tied/model.safetensors"))
    );
    let mut other = bytes("qwen3_vl/gqa1-tied/model.safetensors");
    *other.last_mut().unwrap() ^= 1;
    assert_ne!(file, memory(&config, other));
    assert_ne!(
        file,
        Checkpoint::open(&folder("qwen3_vl/gqa2-untied"))
            .unwrap()
            .hash()
    );
}
