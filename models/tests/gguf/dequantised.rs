//! Every block type that candle reads gives the numbers of gguf-py, or where it has no reader of the type, of its definition.

use std::borrow::Cow;

use candle_core::Device;
use half::f16;
use safetensors::SafeTensors;
use spare_models::checkpoint::gguf::GgufCheckpoint;

use super::data;
use super::writer::{Gguf, minimal};

/// `ffn_gate` of the first layer of a file, with these bytes in `kind`.
fn read(kind: u32, rows: usize, width: usize, bytes: &[u8]) -> (Vec<f32>, Vec<f32>) {
    let mut file = minimal();
    file.tensor(
        "blk.0.ffn_gate.weight",
        &[width as u64, rows as u64],
        kind,
        bytes,
    );
    let file = Cow::Owned(file.bytes());
    let checkpoint = GgufCheckpoint::from_bytes(file, None).unwrap();
    let entry = &checkpoint.entries()["model.layers.0.mlp.gate_proj.weight"];
    let quantised = checkpoint.qtensor(entry, &Device::Cpu).unwrap();
    let quantised = quantised.dequantize(&Device::Cpu).unwrap();
    let quantised = quantised.flatten_all().unwrap().to_vec1().unwrap();
    (checkpoint.f32(entry).unwrap(), quantised)
}

#[test]
fn blocks_give_the_numbers_of_gguf_py() {
    let bytes = std::fs::read(data("gguf/blocks.safetensors")).unwrap();
    let golden = SafeTensors::deserialize(&bytes).unwrap();
    let kinds = [
        ("F32", 0),
        ("F16", 1),
        ("Q4_0", 2),
        ("Q4_1", 3),
        ("Q5_0", 6),
        ("Q5_1", 7),
        ("Q8_0", 8),
        ("Q2_K", 10),
        ("Q3_K", 11),
        ("Q4_K", 12),
        ("Q5_K", 13),
        ("Q6_K", 14),
        ("BF16", 30),
    ];
    for (name, kind) in kinds {
        let stored = golden.tensor(&format!("{name}.bytes")).unwrap();
        let values = golden.tensor(&format!("{name}.values")).unwrap();
        let wanted: Vec<f32> = values
            .data()
            .chunks_exact(4)
            .map(|b| f32::from_le_bytes(b.try_into().unwrap()))
            .collect();
        let [rows, width] = values.shape()[..] else {
            panic!("{name}")
        };
        let (found, quantised) = read(kind, rows, width, stored.data());
        assert_eq!(found.len(), wanted.len(), "{name}");
        let far = found.iter().zip(&wanted).filter(|(a, b)| a != b).count();
        assert_eq!(far, 0, "{name}: {far} of {} differ", wanted.len());
        assert!(quantised == wanted, "{name}: quantised tensor differs");
        assert!(wanted.iter().any(|v| *v != 0.0), "{name}: all zero");
    }
}

/// gguf-py does not read the types that llama.cpp keeps activations in; their values are scale times number.
#[test]
fn q8_1_and_q8_k_are_scale_times_number() {
    let numbers: Vec<i8> = (0..256).map(|i| (i * 37 % 256 - 128) as i8).collect();
    let mut q8_1 = Vec::new();
    for block in numbers.chunks(32) {
        q8_1.extend(f16::from_f32(0.125).to_le_bytes());
        q8_1.extend([0x55, 0x12]);
        q8_1.extend(block.iter().map(|n| *n as u8));
    }
    let mut q8_k: Vec<u8> = 0.125f32.to_le_bytes().into();
    q8_k.extend(numbers.iter().map(|n| *n as u8));
    q8_k.extend([0x77; 32]);
    let wanted: Vec<f32> = numbers.iter().map(|n| f32::from(*n) * 0.125).collect();
    for (kind, bytes) in [(9, q8_1), (15, q8_k)] {
        let (found, quantised) = read(kind, 1, 256, &bytes);
        assert!(found == wanted && quantised == wanted, "type {kind}");
    }
}

/// Bytes at an odd address, as in a file that was read into memory.
#[test]
fn bytes_may_lie_at_any_address() {
    let file = std::fs::read(data("gguf/llama-q8/text-q8_0.gguf")).unwrap();
    let whole = GgufCheckpoint::from_bytes(Cow::Owned(file.clone()), None).unwrap();
    for shift in 1..8 {
        let shifted: &'static [u8] = Vec::leak([vec![0; shift], file.clone()].concat());
        let moved = GgufCheckpoint::from_bytes(Cow::Borrowed(&shifted[shift..]), None).unwrap();
        for (name, entry) in moved.entries() {
            let values = whole.f32(&whole.entries()[name]).unwrap();
            assert!(
                moved.f32(entry).unwrap() == values,
                "{name} shifted by {shift}"
            );
        }
    }
}

/// More blocks than one task takes.
#[test]
fn long_tensors_are_dequantised_in_pieces() {
    let (rows, width) = (300, 256);
    let mut bytes = Vec::new();
    for i in 0..rows * width / 32 {
        bytes.extend(f16::from_f32(i as f32).to_le_bytes());
        bytes.extend([1u8; 32]);
    }
    let (found, _) = read(8, rows, width, &bytes);
    let wanted: Vec<f32> = (0..rows * width)
        .map(|i| f16::from_f32((i / 32) as f32).to_f32())
        .collect();
    assert!(found == wanted);
}

#[test]
fn a_minimal_file_opens() {
    let file: Gguf = minimal();
    GgufCheckpoint::from_bytes(Cow::Owned(file.bytes()), None).unwrap();
}
