//! Which frequencies do the rotary embeddings turn with?
//!
//! llama.cpp stores the scaling of Llama 3.1 not as its parameters but as `rope_freqs.weight`, the factor by which each
//! frequency is divided. transformers computes frequencies from the parameters, so these are found again: the largest
//! factor is `factor`, the others of every released model are [`LOW`], [`HIGH`] and [`ORIGINAL`], and the factors that
//! they give must be those of the file.

use std::f32::consts::PI;

use half::{bf16, f16};
use serde_json::{Value as Json, json};

use candle_core::quantized::GgmlDType;

use super::bytes::shown;
use super::metadata::Metadata;
use super::names::ROPE_FREQS;
use crate::ModelError;

const LOW: f32 = 1.0;
const HIGH: f32 = 4.0;
const ORIGINAL: f32 = 8192.0;

/// A factor may differ by this part of itself: the converter computes in f32, in an order of its own.
const TOLERANCE: f32 = 1e-5;

/// `rope_parameters` of config.json without sections. `bytes` is the whole file.
pub(super) fn parameters(
    metadata: &Metadata<'_>,
    architecture: &str,
    head_dim: usize,
    bytes: &[u8],
) -> Result<Json, ModelError> {
    let key = |name: &str| format!("{architecture}.rope.{name}");
    let expected = "no scaling but the factors of Llama 3.1 in rope_freqs.weight";
    match metadata.optional_text(&key("scaling.type"))? {
        Some("none") => {}
        Some(kind) => {
            return Err(metadata.refuse(&key("scaling.type"), shown(kind), expected));
        }
        // A factor alone scales as well.
        None => {
            let factor = metadata.optional_positive(&key("scaling.factor"))?;
            if let Some(factor) = factor.filter(|factor| *factor != 1.0) {
                return Err(metadata.refuse(&key("scaling.factor"), factor, expected));
            }
        }
    }
    if let Some(turned) = metadata.optional_count(&key("dimension_count"))?
        && turned != head_dim
    {
        let expected = format!("all {head_dim} of a head");
        return Err(metadata.refuse(&key("dimension_count"), turned, expected));
    }
    let base = match metadata.optional_positive(&key("freq_base"))? {
        Some(base) => base,
        // Files of Llama 2 leave out what was then the only base.
        None if architecture == "llama" => 10_000.0,
        None => metadata.positive(&key("freq_base"))?,
    };
    match factors(metadata, head_dim, bytes)? {
        None => Ok(json!({"rope_type": "default", "rope_theta": base})),
        Some(factors) => llama3(metadata, base, &factors),
    }
}

fn factors(
    metadata: &Metadata<'_>,
    head_dim: usize,
    bytes: &[u8],
) -> Result<Option<Vec<f32>>, ModelError> {
    let Some(tensor) = metadata.header.tensor(ROPE_FREQS) else {
        return Ok(None);
    };
    let bytes = bytes.get(tensor.bytes.clone()).unwrap_or_default();
    let factors: Vec<f32> = match tensor.dtype {
        GgmlDType::F32 => each(bytes, f32::from_le_bytes),
        GgmlDType::F16 => each(bytes, |b| f16::from_le_bytes(b).to_f32()),
        GgmlDType::BF16 => each(bytes, |b| bf16::from_le_bytes(b).to_f32()),
        _ => Vec::new(),
    };
    let sane = factors.iter().all(|f| f.is_finite() && *f >= 1.0);
    if tensor.shape != [head_dim / 2] || !sane || factors.len() != head_dim / 2 {
        let found = format!("shape {:?}, {factors:.3?}", tensor.shape);
        let expected = format!("{} factors from 1, one a frequency", head_dim / 2);
        return Err(metadata.refuse(ROPE_FREQS, found, expected));
    }
    Ok(Some(factors))
}

fn each<const N: usize>(bytes: &[u8], read: fn([u8; N]) -> f32) -> Vec<f32> {
    let chunks = bytes.as_chunks::<N>().0;
    chunks.iter().map(|b| read(*b)).collect()
}

fn llama3(metadata: &Metadata<'_>, base: f64, factors: &[f32]) -> Result<Json, ModelError> {
    let factor = factors.iter().copied().fold(1.0, f32::max);
    let wanted: Vec<f32> = (0..factors.len())
        .map(|i| llama3_factor(base as f32, factor, i, factors.len()))
        .collect();
    let near = |(found, wanted): (&f32, &f32)| (found - wanted).abs() <= TOLERANCE * wanted;
    if factors.iter().zip(&wanted).all(near) {
        return Ok(json!({
            "rope_type": "llama3",
            "rope_theta": base,
            "factor": factor,
            "low_freq_factor": LOW,
            "high_freq_factor": HIGH,
            "original_max_position_embeddings": ORIGINAL as u32,
        }));
    }
    let expected = format!(
        "{wanted:.3?}, those of Llama 3.1 with factor {factor}; no other scaling is computed"
    );
    Err(metadata.refuse(ROPE_FREQS, format!("{factors:.3?}"), expected))
}

/// By what Llama 3.1 divides frequency `i` of `count`: 1 for short waves, `factor` for long ones, between them a smooth
/// step.
fn llama3_factor(base: f32, factor: f32, i: usize, count: usize) -> f32 {
    let frequency = 1.0 / base.powf(i as f32 / count as f32);
    let wave = 2.0 * PI / frequency;
    if wave < ORIGINAL / HIGH {
        1.0
    } else if wave > ORIGINAL / LOW {
        factor
    } else {
        let smooth = (ORIGINAL / wave - LOW) / (HIGH - LOW);
        1.0 / ((1.0 - smooth) / factor + smooth)
    }
}
