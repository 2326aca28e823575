//! Any bytes as a safetensors file, and any text as the index of several: opened or refused in words.

use std::borrow::Cow;
use std::path::PathBuf;
use std::sync::OnceLock;

use spare_models::Checkpoint;

pub fn safetensors_header(data: &[u8]) {
    let weights = vec![Cow::Owned(data.to_vec())];
    match Checkpoint::from_bytes(b"{}", None, weights) {
        Ok(checkpoint) => assert_ne!(checkpoint.hash(), [0; 32]),
        Err(error) => assert!(!error.to_string().is_empty()),
    }
    if data.first() != Some(&b'{') {
        return;
    }
    let folder = folder();
    std::fs::write(folder.join("model.safetensors.index.json"), data).expect("writable");
    match Checkpoint::open(folder) {
        Ok(checkpoint) => assert!(!checkpoint.place().is_empty()),
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}

/// A model folder of this process: one whole file `a.safetensors`, one broken `b.safetensors`, the index to come.
fn folder() -> &'static PathBuf {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| {
        let name = format!("spare-fuzz-{}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&folder).expect("writable");
        let header = br#"{"x":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}"#;
        let length = (header.len() as u64).to_le_bytes();
        let whole = [&length[..], header, &[0; 4]].concat();
        std::fs::write(folder.join("a.safetensors"), &whole).expect("writable");
        std::fs::write(folder.join("b.safetensors"), &whole[..20]).expect("writable");
        std::fs::write(folder.join("config.json"), "{}").expect("writable");
        folder
    })
}
