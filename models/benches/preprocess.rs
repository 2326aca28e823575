//! What does a picture cost before the tower: decoding, resizing, cutting into patches? Elements are pixels of the picture.
#![allow(missing_docs, clippy::unwrap_used)]

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use spare_models::image::{Preprocessor, Resizer, RgbImage, decode, encode_png};

/// Qwen3-VL's own settings.
const CONFIG: &str = r#"{"size": {"shortest_edge": 65536, "longest_edge": 16777216}, "patch_size": 16,
    "temporal_patch_size": 2, "merge_size": 2, "image_mean": [0.5, 0.5, 0.5], "image_std": [0.5, 0.5, 0.5]}"#;

/// Edges and a grain, so that neither the decoder nor the resizer has it easy.
fn picture(width: u32, height: u32) -> RgbImage {
    RgbImage::from_fn(width, height, |x, y| {
        let grain = (x.wrapping_mul(2_654_435_761) ^ y.wrapping_mul(40_503)) >> 13;
        let edge = if (x / 37 + y / 23) % 2 == 0 { 160 } else { 40 };
        [0, 1, 2]
            .map(|c| (edge + (grain >> (3 * c)) % 64) as u8)
            .into()
    })
}

fn preprocess(c: &mut Criterion) {
    let plain = Preprocessor::from_json(CONFIG).unwrap();
    for (width, height) in [(640, 480), (1920, 1080), (4000, 3000)] {
        let picture = picture(width, height);
        let png = encode_png(&picture).unwrap();
        let mut group = c.benchmark_group(format!("picture {width} x {height}"));
        group
            .sample_size(10)
            .throughput(Throughput::Elements(u64::from(width * height)));
        group.bench_function("decode png", |b| b.iter(|| decode(&png).unwrap()));
        for resizer in [Resizer::Pil, Resizer::Torchvision] {
            let preprocessor = plain.clone().with_resizer(resizer);
            group.bench_function(BenchmarkId::new("resize and cut", resizer.name()), |b| {
                b.iter(|| preprocessor.process(&picture).unwrap());
            });
        }
        group.finish();
    }
}

criterion_group!(benches, preprocess);
criterion_main!(benches);
