//! What a checkpoint says of itself by its headers alone.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[allow(dead_code)]
#[path = "../examples/random_checkpoint.rs"]
mod random_checkpoint;

use spare_models::{Checkpoint, Family, ModelError, WeightDtype};

fn headers(shape: &str) -> (tempfile::TempDir, Checkpoint) {
    let folder = tempfile::tempdir().unwrap();
    let config = random_checkpoint::config(shape).unwrap();
    random_checkpoint::write(&config, folder.path(), true).unwrap();
    let checkpoint = Checkpoint::open(folder.path()).unwrap();
    (folder, checkpoint)
}

/// Counted by hand from the released sizes: `(layers, parameters)` of each part.
#[test]
fn a_30b_a3b_of_headers_only_has_the_right_parameters_and_memory() {
    let (_folder, checkpoint) = headers("qwen3-vl-30b-a3b");
    let about = checkpoint.inspect().unwrap();
    assert_eq!(about.family, Family::Qwen3VlMoe);
    assert_eq!(about.problems, []);
    assert!(!about.without_data.is_empty());
    let (hidden, vocab) = (2048u64, 151_936);
    let attention = 2 * hidden * 32 * 128 + 2 * hidden * 4 * 128 + 2 * 128;
    let experts = 128 * hidden + 128 * 3 * hidden * 768;
    let text = 48 * (attention + experts + 2 * hidden) + hidden + 2 * vocab * hidden;
    let (width, inner) = (1152u64, 4304);
    let norm = 2 * width;
    let block = 4 * width * width + 4 * width + 2 * width * inner + inner + width + 2 * norm;
    let cell = 4 * width;
    let merger = |normed: u64| 2 * normed + cell * cell + cell + cell * hidden + hidden;
    let tower = 27 * block + width * 1536 + width + 2304 * width + merger(width) + 3 * merger(cell);
    assert_eq!(about.parameters, text + tower);
    assert_eq!(about.parameters, 31_070_754_032);
    assert_eq!(
        (about.layers, about.experts, about.context),
        (48, Some((128, 8)), Some(262_144))
    );
    // Keys and values of 4 heads of 128 in 48 layers, f32.
    assert_eq!(about.cache_bytes, 196_608);
    // Everything is stored in bf16; norms, biases and routers are widened.
    let bf16 = about.weight_bytes(WeightDtype::Auto);
    assert_eq!(bf16, about.weight_bytes(WeightDtype::Bf16));
    let widened = bf16 - 2 * about.parameters;
    assert!(
        widened > 2 * 48 * 128 * hidden && widened < 30_000_000,
        "{widened}"
    );
    assert_eq!(about.weight_bytes(WeightDtype::F32), 4 * about.parameters);
    let q4 = about.weight_bytes(WeightDtype::Q4K);
    assert!(q4 < bf16 / 3 && q4 > bf16 / 4, "{q4}");
}

#[test]
fn what_cannot_fit_is_refused_with_what_would() {
    let (_folder, checkpoint) = headers("qwen3-vl-2b");
    let about = checkpoint.inspect().unwrap();
    assert_eq!(about.family, Family::Qwen3Vl);
    assert_eq!(about.parameters, 2_127_532_032);
    let gib = 1u64 << 30;
    about.fits(WeightDtype::Bf16, 4096, 6 * gib).unwrap();
    let error = about.fits(WeightDtype::F32, 4096, 6 * gib).unwrap_err();
    let ModelError::Memory {
        needed,
        available,
        fitting,
        ..
    } = &error
    else {
        panic!("{error}");
    };
    assert!(*needed > 8 * gib && *available == 6 * gib);
    assert_eq!(fitting[..2], [WeightDtype::Bf16, WeightDtype::F16]);
    let text = error.to_string();
    assert!(
        text.contains("this model in f32 with a context of 4096 tokens needs"),
        "{text}"
    );
    assert!(
        text.contains("6.0 GiB available")
            && text.contains("--dtype bf16 or f16 or q8_0 or q4_k would fit"),
        "{text}"
    );
    let error = about
        .fits(WeightDtype::Q4K, 4096, gib)
        .unwrap_err()
        .to_string();
    assert!(error.contains("no --dtype would fit"), "{error}");
}

/// What can be described without weights cannot be loaded.
#[test]
fn headers_alone_do_not_load() {
    let (_folder, checkpoint) = headers("qwen3-vl-2b");
    let error =
        spare_models::Model::load(checkpoint, WeightDtype::Auto, &spare_models::Device::Cpu);
    let error = error.unwrap_err().to_string();
    assert!(
        error.contains("found a header and no tensors behind it"),
        "{error}"
    );
}
