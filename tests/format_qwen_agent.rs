#![allow(clippy::unwrap_used)]

mod common;

use common::format::{every_way, files};

const SIGMA: &str = "Question: which jar is it? Evidence: label KX-407. Open: nothing.";

#[test]
fn every_shape_is_pruned_and_restored() {
    for (name, text) in files("qwen-agent") {
        for sigma in [None, Some(SIGMA)] {
            let ways = every_way("qwen-agent", &text, sigma);
            println!("== {name} {sigma:?}\n{}", ways[1].text);
            for p in &ways[1].plans {
                for s in &p.segments {
                    println!("{} {:?} {}", s.segment, s.verdict, s.reason.code());
                }
            }
        }
    }
}
