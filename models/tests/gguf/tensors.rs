//! Every tensor of the source checkpoint comes out of the GGUF file under its name, bit for bit.

use std::collections::BTreeMap;

use candle_core::Device;
use half::f16;
use safetensors::{Dtype, SafeTensors};

use super::{FAMILIES, data, family};

type Tensors = BTreeMap<String, (Vec<usize>, Vec<f32>)>;

/// The source, widened to f32.
fn source(name: &str) -> Tensors {
    let bytes = std::fs::read(data(&format!("gguf/{name}/model.safetensors"))).unwrap();
    let file = SafeTensors::deserialize(&bytes).unwrap();
    let mut tensors = Tensors::new();
    for (name, tensor) in file.iter() {
        let bytes = tensor.data();
        let values: Vec<f32> = match tensor.dtype() {
            Dtype::F32 => bytes
                .chunks_exact(4)
                .map(|b| f32::from_le_bytes(b.try_into().unwrap()))
                .collect(),
            Dtype::F16 => bytes
                .chunks_exact(2)
                .map(|b| f16::from_le_bytes(b.try_into().unwrap()).to_f32())
                .collect(),
            other => panic!("{other:?}"),
        };
        tensors.insert(name.to_owned(), (tensor.shape().to_vec(), values));
    }
    experts_apart(tensors)
}

/// Stacked experts in the released layout, `[E, in, gate | up]` and `[E, in, out]`, as one matrix `[out, in]` each.
fn experts_apart(tensors: Tensors) -> Tensors {
    let mut apart = Tensors::new();
    for (name, (shape, values)) in tensors {
        let Some((layer, kind)) = name.split_once(".mlp.experts.") else {
            apart.insert(name, (shape, values));
            continue;
        };
        let [experts, rows, columns] = shape[..] else {
            panic!("{shape:?}")
        };
        let parts: &[&str] = match kind {
            "gate_up_proj" => &["gate_proj", "up_proj"],
            "down_proj" => &["down_proj"],
            other => panic!("{other}"),
        };
        let out = columns / parts.len();
        for e in 0..experts {
            for (p, part) in parts.iter().enumerate() {
                let at = |o, i| values[(e * rows + i) * columns + p * out + o];
                let matrix = (0..out)
                    .flat_map(|o| (0..rows).map(move |i| (o, i)))
                    .map(|(o, i)| at(o, i))
                    .collect();
                let name = format!("{layer}.mlp.experts.{e}.{part}.weight");
                apart.insert(name, (vec![out, rows], matrix));
            }
        }
    }
    apart
}

#[test]
fn every_tensor_of_every_family_is_that_of_the_source() {
    for (name, ..) in FAMILIES {
        let (checkpoint, source) = (family(name), source(name));
        let found: Vec<&String> = checkpoint.entries().keys().collect();
        assert_eq!(found, source.keys().collect::<Vec<_>>(), "{name}");
        for (tensor, (shape, values)) in &source {
            let entry = &checkpoint.entries()[tensor];
            assert_eq!(&entry.shape, shape, "{name}: {tensor}");
            let found = checkpoint.f32(entry).unwrap();
            assert!(found == *values, "{name}: {tensor} differs");
        }
    }
}

/// candle's quantised tensor holds the same numbers in the same rows, whatever was done to the rows.
#[test]
fn quantised_matrices_hold_the_same_numbers() {
    for (name, ..) in FAMILIES {
        let (checkpoint, source) = (family(name), source(name));
        let mut matrices = 0;
        for (tensor, (shape, values)) in source.iter().filter(|(_, (shape, _))| shape.len() == 2) {
            let entry = &checkpoint.entries()[tensor];
            let quantised = checkpoint.qtensor(entry, &Device::Cpu).unwrap();
            assert_eq!(quantised.shape().dims(), &shape[..], "{name}: {tensor}");
            assert_eq!(Some(quantised.dtype()), entry.dtype());
            let found = quantised.dequantize(&Device::Cpu).unwrap();
            let found: Vec<f32> = found.flatten_all().unwrap().to_vec1().unwrap();
            assert!(found == *values, "{name}: {tensor} differs");
            matrices += 1;
        }
        assert!(matrices >= 15, "{name}: {matrices} matrices");
    }
}

/// The rows of a convolution are no rows of a matrix.
#[test]
fn time_slices_have_no_quantised_form() {
    let checkpoint = family("qwen3_vl");
    let entry = &checkpoint.entries()["model.visual.patch_embed.proj.weight"];
    let error = checkpoint.qtensor(entry, &Device::Cpu).unwrap_err();
    assert!(error.to_string().contains("time slices"), "{error}");
}
