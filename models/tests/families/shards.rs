//! A checkpoint in as many files as it has tensors is the same checkpoint.

use candle_core::Device;
use safetensors::SafeTensors;
use safetensors::tensor::TensorView;
use serde_json::{Map, json};
use spare_models::{KvCache, WeightDtype, load};

use crate::golden::{Golden, folder};

#[test]
fn one_tensor_a_file_gives_the_same_bits() {
    let name = "qwen3_vl/gqa1-tied";
    let (source, scratch) = (folder(name), tempfile::tempdir().unwrap());
    let bytes = std::fs::read(source.join("model.safetensors")).unwrap();
    let tensors = SafeTensors::deserialize(&bytes).unwrap();
    let count = tensors.len();
    let mut map = Map::new();
    for (i, (tensor, view)) in tensors.iter().enumerate() {
        let file = format!("model-{:05}-of-{count:05}.safetensors", i + 1);
        let view = TensorView::new(view.dtype(), view.shape().to_vec(), view.data()).unwrap();
        let shard = safetensors::serialize([(tensor, view)], None).unwrap();
        std::fs::write(scratch.path().join(&file), shard).unwrap();
        map.insert(tensor.into(), file.into());
    }
    assert!(count > 60, "{count} files");
    let index = json!({"metadata": {}, "weight_map": map}).to_string();
    std::fs::write(scratch.path().join("model.safetensors.index.json"), index).unwrap();
    std::fs::copy(
        source.join("config.json"),
        scratch.path().join("config.json"),
    )
    .unwrap();
    let whole = Golden::open(name);
    let mut apart = Golden::open(name);
    apart.model = load(scratch.path(), WeightDtype::F32, &Device::Cpu).unwrap();
    let logits = |golden: &Golden| golden.logits(&golden.prompt(), &mut KvCache::new(), &[]);
    assert!(logits(&whole) == logits(&apart));
}
