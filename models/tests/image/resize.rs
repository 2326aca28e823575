//! Resized bytes and pixel values against both reference processors.

use super::pattern::pattern;
use super::{GOLDEN, cases, number, picture, sha256, sha256_of_values, string};
use rayon::prelude::*;
use serde_json::Value;
use spare_models::image::{Preprocessor, Resizer, resize};

const RESIZERS: [Resizer; 2] = [Resizer::Torchvision, Resizer::Pil];

/// Any size to any size, sides of one pixel included.
#[test]
fn free_sizes_equal_both_references() {
    let mut compared = 0;
    for case in cases("resized") {
        let (from, to) = (&case["from"], &case["to"]);
        let picture = pattern(
            string(&case["pattern"]),
            number(&from[0]),
            number(&from[1]),
            number(&case["seed"]),
        );
        for resizer in RESIZERS {
            // The reference has no answer for some results one pixel wide; the golden script says why.
            let Some(expected) = case.get(resizer.name()) else {
                continue;
            };
            let resized = resize(&picture, number(&to[0]), number(&to[1]), resizer).unwrap();
            assert_eq!(
                sha256(resized.as_raw()),
                string(expected),
                "{resizer:?} {case}"
            );
            compared += 1;
        }
    }
    assert!(compared > 700, "only {compared} results compared");
}

/// The two references do differ, so equality with each says something.
#[test]
fn the_references_differ_from_one_another() {
    let differing = cases("resized")
        .iter()
        .filter(|case| case["bytes_that_differ"].as_u64() > Some(0))
        .count();
    assert!(differing > 50, "{differing}");
}

/// Size, grid, resized bytes and pixel values for the released settings.
#[test]
fn processed_pictures_equal_both_processors() {
    cases("processed")
        .par_iter()
        .for_each(|case| check(&GOLDEN["presets"][string(&case["preset"])], case));
}

/// Switches and factors away from their usual values.
#[test]
fn variants_equal_both_processors() {
    for case in cases("variants") {
        check(&case["config"], case);
    }
}

fn check(config: &Value, case: &Value) {
    let (width, height) = (number(&case["width"]), number(&case["height"]));
    let picture = pattern(
        string(&case["pattern"]),
        width,
        height,
        number(&case["seed"]),
    );
    let preprocessor = Preprocessor::from_json(&config.to_string()).unwrap();
    assert_eq!(preprocessor.resizer(), Resizer::Torchvision);
    let grid = preprocessor.grid_for(width, height).unwrap();
    assert_eq!(
        Value::from(vec![grid.t, grid.h, grid.w]),
        case["grid"],
        "{case}"
    );
    for resizer in RESIZERS {
        let expected = &case[resizer.name()];
        let resized = resize(
            &picture,
            number(&case["resized"][0]),
            number(&case["resized"][1]),
            resizer,
        )
        .unwrap();
        assert_eq!(
            sha256(resized.as_raw()),
            string(&expected["rgb"]),
            "{resizer:?} bytes of {case}"
        );
        let Some(values) = expected.get("values") else {
            continue;
        };
        let pixels = preprocessor
            .clone()
            .with_resizer(resizer)
            .process(&picture)
            .unwrap();
        assert_eq!(pixels.grid, grid);
        let shape = [grid.patches(), preprocessor.row_len()];
        assert_eq!(Value::from(shape.to_vec()), expected["shape"], "{case}");
        assert_eq!(pixels.values.len(), shape[0] * shape[1]);
        assert_eq!(
            sha256_of_values(&pixels.values),
            string(values),
            "{resizer:?} values of {case}"
        );
    }
}

/// Whole pictures: a failure here says where and by how much, which a hash cannot.
#[test]
fn shown_pictures_equal_pixel_by_pixel() {
    for case in cases("shown") {
        let source = picture(string(&case["file"]));
        for resizer in RESIZERS {
            let expected = picture(string(&case[resizer.name()]));
            let resized = resize(&source, expected.width(), expected.height(), resizer).unwrap();
            for ((x, y, found), expected) in resized.enumerate_pixels().zip(expected.pixels()) {
                assert_eq!(
                    found, expected,
                    "{resizer:?} at column {x}, row {y} of {case}"
                );
            }
        }
    }
}

#[test]
fn an_unchanged_size_is_not_resized() {
    let source = pattern("noise", 64, 32, 1);
    for resizer in RESIZERS {
        let same = resize(&source, 64, 32, resizer).unwrap();
        assert!(matches!(same, std::borrow::Cow::Borrowed(same) if std::ptr::eq(same, &source)));
    }
}

#[test]
fn impossible_targets_are_refused() {
    let source = pattern("flat", 4, 4, 1);
    for (width, height, text) in [
        (0, 4, "0 x 4"),
        (4, 0, "4 x 0"),
        (100_000, 100_000, "at most 178956970"),
    ] {
        let error = resize(&source, width, height, Resizer::Pil)
            .unwrap_err()
            .to_string();
        assert!(error.contains(text), "{error}");
    }
}
