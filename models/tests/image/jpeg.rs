//! How far do decoded JPEGs lie from the reference's? Two JPEG decoders may round differently, so the difference is
//! measured and printed (`--nocapture`), not asserted to be zero.

use super::{GOLDEN, number, sha256, string};
use spare_models::image::decode;
use std::path::Path;

#[test]
fn drift_of_real_jpegs_is_measured() {
    let folder =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/trajectories/qwen3vl-hop-inn");
    for case in GOLDEN["jpeg"].as_array().unwrap() {
        let name = string(&case["file"]);
        let Ok(bytes) = std::fs::read(folder.join(name)) else {
            println!("{name}: skipped, {} is not there", folder.display());
            continue;
        };
        let picture = decode(&bytes).unwrap();
        assert_eq!(
            picture.dimensions(),
            (number(&case["width"]), number(&case["height"]))
        );
        let identical = sha256(picture.as_raw()) == string(&case["rgb"]);
        let count = f64::from(picture.width()) * f64::from(picture.height());
        let mean_drift: Vec<_> = (0..3)
            .map(|channel| {
                let sum: u64 = picture
                    .pixels()
                    .map(|pixel| u64::from(pixel.0[channel]))
                    .sum();
                format!(
                    "{:+.5}",
                    sum as f64 / count - case["mean"][channel].as_f64().unwrap()
                )
            })
            .collect();
        let list = |field: &str| {
            case[field]
                .as_array()
                .unwrap()
                .iter()
                .map(number)
                .collect::<Vec<_>>()
        };
        let (rows, columns, samples) = (list("rows"), list("columns"), list("samples"));
        let found = rows
            .iter()
            .flat_map(|y| columns.iter().flat_map(|x| picture.get_pixel(*x, *y).0));
        let differences: Vec<u32> = found
            .zip(samples)
            .map(|(a, b)| u32::from(a).abs_diff(b))
            .collect();
        assert_eq!(differences.len(), rows.len() * columns.len() * 3);
        let differing = differences
            .iter()
            .filter(|difference| **difference > 0)
            .count();
        println!(
            "{name}: identical {identical}, drift of the channel means {}, {differing} of {} samples differ, by at most {}",
            mean_drift.join(" "),
            differences.len(),
            differences.iter().max().unwrap(),
        );
    }
}
