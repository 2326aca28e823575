//! Any bytes as a GGUF file: opened or refused in words; of what opens every number can be read.

use std::borrow::Cow;

use spare_models::checkpoint::gguf::{GgufCheckpoint, Header, Value};

/// The input is a text file, and from its second `GGUF` on an mmproj.
pub fn gguf_header(data: &[u8]) {
    let second = data.windows(4).skip(1).position(|w| w == b"GGUF");
    let (text, mmproj) = data.split_at(second.map_or(data.len(), |at| at + 1));
    header(text);
    header(mmproj);
    let mmproj = (!mmproj.is_empty()).then(|| Cow::Owned(mmproj.to_vec()));
    let checkpoint = match GgufCheckpoint::from_bytes(Cow::Owned(text.to_vec()), mmproj) {
        Ok(checkpoint) => checkpoint,
        Err(error) => {
            assert!(!error.to_string().is_empty());
            return;
        }
    };
    for json in [
        checkpoint.config(),
        checkpoint.generation_config(),
        checkpoint.tokenizer(),
        checkpoint.tokenizer_config(),
        checkpoint.preprocessor().unwrap_or("{}").as_bytes(),
    ] {
        assert!(serde_json::from_slice::<serde_json::Value>(json).is_ok());
    }
    for (name, entry) in checkpoint.entries() {
        let values = checkpoint.f32(entry).expect(name);
        assert_eq!(values.len(), entry.elements(), "{name}");
    }
}

fn header(data: &[u8]) {
    let Ok(header) = Header::parse("input", data) else {
        return;
    };
    for (key, value) in header.entries() {
        // NaN is not itself.
        if let Some(Value::Integer(_) | Value::Text(_) | Value::Bool(_)) = header.get(key) {
            assert_eq!(header.get(key), Some(*value));
        }
        if let Value::Array(array) = value {
            assert_eq!(array.iter().count(), array.len());
        }
    }
    let mut used = vec![false; data.len()];
    for tensor in header.tensors() {
        let elements: usize = tensor.shape.iter().product();
        let blocks = elements / tensor.dtype.block_size();
        assert_eq!(tensor.bytes.len(), blocks * tensor.dtype.type_size());
        for byte in &mut used[tensor.bytes.clone()] {
            assert!(!std::mem::replace(byte, true), "{} twice", tensor.name);
        }
    }
}
