//! What does preprocessor_config.json ask for, and can it be honoured?

use super::error::ImageError;
use super::patchify::PatchShape;
use super::preprocess::Preprocessor;
use super::weights::Resizer;
use serde_json::{Map, Value};

/// Processors whose steps are the ones of this module.
const PROCESSORS: [&str; 4] = [
    "Qwen2VLImageProcessor",
    "Qwen2VLImageProcessorFast",
    "Qwen2VLImageProcessorPil",
    "Qwen2_5_VLImageProcessor",
];

/// `PIL.Image.Resampling.BICUBIC`.
const BICUBIC: u64 = 3;

/// Bound on patch_size, temporal_patch_size and merge_size: far above any model, and their products cannot overflow.
const MAX_PATCH_FIELD: u64 = 1024;

impl Preprocessor {
    /// Reads the text of preprocessor_config.json.
    ///
    /// Needed: patch_size, temporal_patch_size, merge_size; `size.shortest_edge` and `size.longest_edge`, which are
    /// pixel counts, or min_pixels and max_pixels, which win; image_mean and image_std unless do_normalize is false.
    /// The switches do_resize, do_rescale, do_normalize and do_convert_rgb are true and rescale_factor is 1/255 where
    /// absent, as in the reference: released checkpoints leave them out. The resizer is
    /// [`Resizer::Torchvision`] unless image_processor_type names the Pil processor.
    ///
    /// # Errors
    /// [`ImageError::Json`], [`ImageError::MissingField`] or [`ImageError::Field`], which names a field that is wrong
    /// or that asks for something else than these steps (cropping, padding, another filter, another processor).
    pub fn from_json(text: &str) -> Result<Self, ImageError> {
        let value: Value =
            serde_json::from_str(text).map_err(|error| ImageError::Json(error.to_string()))?;
        let Value::Object(config) = value else {
            return Err(ImageError::Json(format!("found {}", shorten(&value))));
        };
        let resizer = processor(&config)?;
        for field in ["do_center_crop", "do_pad"] {
            if switch(&config, field, false)? {
                return Err(ImageError::Field {
                    field,
                    found: "true".into(),
                    expected: "false, as it is not supported",
                });
            }
        }
        if !switch(&config, "do_convert_rgb", true)? {
            let expected = "true, as pictures are always read as rgb";
            return Err(ImageError::Field {
                field: "do_convert_rgb",
                found: "false".into(),
                expected,
            });
        }
        if let Some(resample) = present(&config, "resample")
            && resample.as_u64() != Some(BICUBIC)
        {
            return Err(wrong("resample", resample, "3 (bicubic)"));
        }
        let (min_pixels, max_pixels) = pixel_budget(&config)?;
        let rescale = switch(&config, "do_rescale", true)?
            .then(|| rescale_factor(&config))
            .transpose()?;
        let normalize = switch(&config, "do_normalize", true)?
            .then(|| normalization(&config))
            .transpose()?;
        Ok(Self {
            shape: PatchShape {
                patch: patch_field(&config, "patch_size")?,
                frames: patch_field(&config, "temporal_patch_size")?,
                merge: patch_field(&config, "merge_size")?,
            },
            min_pixels,
            max_pixels,
            do_resize: switch(&config, "do_resize", true)?,
            rescale,
            normalize,
            resizer,
        })
    }
}

fn processor(config: &Map<String, Value>) -> Result<Resizer, ImageError> {
    let expected = "Qwen2VLImageProcessor, its Fast or Pil form, or Qwen2_5_VLImageProcessor";
    match present(config, "image_processor_type") {
        None => Ok(Resizer::default()),
        Some(Value::String(name)) if PROCESSORS.contains(&name.as_str()) => {
            Ok(if name.ends_with("Pil") {
                Resizer::Pil
            } else {
                Resizer::default()
            })
        }
        Some(other) => Err(wrong("image_processor_type", other, expected)),
    }
}

fn pixel_budget(config: &Map<String, Value>) -> Result<(u64, u64), ImageError> {
    let size = match present(config, "size") {
        None => None,
        Some(Value::Object(size)) => Some(size),
        Some(other) => {
            return Err(wrong(
                "size",
                other,
                "an object with shortest_edge and longest_edge",
            ));
        }
    };
    let edge = |top: &'static str, name: &'static str, full: &'static str| {
        let (field, value) = match (
            present(config, top),
            size.and_then(|size| present(size, name)),
        ) {
            (Some(value), _) => (top, value),
            (None, Some(value)) => (full, value),
            (None, None) => {
                return Err(ImageError::MissingField {
                    field: full,
                    expected: "a number of pixels",
                });
            }
        };
        value
            .as_u64()
            .filter(|n| *n > 0)
            .ok_or_else(|| wrong(field, value, "a positive number of pixels"))
    };
    let min = edge("min_pixels", "shortest_edge", "size.shortest_edge")?;
    let max = edge("max_pixels", "longest_edge", "size.longest_edge")?;
    if min > max {
        let found = format!("{min}, above size.longest_edge {max}");
        return Err(ImageError::Field {
            field: "size.shortest_edge",
            found,
            expected: "at most size.longest_edge",
        });
    }
    Ok((min, max))
}

fn rescale_factor(config: &Map<String, Value>) -> Result<f64, ImageError> {
    let Some(value) = present(config, "rescale_factor") else {
        return Ok(1.0 / 255.0);
    };
    let usable = |factor: &f64| factor.is_finite() && *factor > 0.0;
    value
        .as_f64()
        .filter(usable)
        .ok_or_else(|| wrong("rescale_factor", value, "a positive number"))
}

fn normalization(config: &Map<String, Value>) -> Result<[[f32; 3]; 2], ImageError> {
    let mean = channels(config, "image_mean")?;
    let std = channels(config, "image_std")?;
    if std.iter().any(|std| *std <= 0.0) {
        return Err(ImageError::Field {
            field: "image_std",
            found: format!("{std:?}"),
            expected: "3 positive numbers",
        });
    }
    Ok([mean, std])
}

/// Three numbers, or one for all channels.
fn channels(config: &Map<String, Value>, field: &'static str) -> Result<[f32; 3], ImageError> {
    let expected = "3 numbers, one a channel";
    let value = present(config, field).ok_or(ImageError::MissingField { field, expected })?;
    let number = |value: &Value| value.as_f64().map(|n| n as f32).filter(|n| n.is_finite());
    let numbers = match value {
        Value::Array(list) => list.iter().map(number).collect::<Option<Vec<_>>>(),
        single => number(single).map(|n| vec![n; 3]),
    };
    numbers
        .and_then(|list| <[f32; 3]>::try_from(list).ok())
        .ok_or_else(|| wrong(field, value, expected))
}

fn patch_field(config: &Map<String, Value>, field: &'static str) -> Result<usize, ImageError> {
    let expected = "an integer from 1 to 1024";
    let value = present(config, field).ok_or(ImageError::MissingField { field, expected })?;
    let fits = value.as_u64().filter(|n| (1..=MAX_PATCH_FIELD).contains(n));
    fits.map(|n| n as usize)
        .ok_or_else(|| wrong(field, value, expected))
}

fn switch(
    config: &Map<String, Value>,
    field: &'static str,
    default: bool,
) -> Result<bool, ImageError> {
    match present(config, field) {
        None => Ok(default),
        Some(value) => value
            .as_bool()
            .ok_or_else(|| wrong(field, value, "true or false")),
    }
}

/// The field's value; null counts as absent, as in the reference.
fn present<'a>(config: &'a Map<String, Value>, field: &str) -> Option<&'a Value> {
    config.get(field).filter(|value| !value.is_null())
}

fn wrong(field: &'static str, value: &Value, expected: &'static str) -> ImageError {
    ImageError::Field {
        field,
        found: shorten(value),
        expected,
    }
}

fn shorten(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(80) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text,
    }
}
