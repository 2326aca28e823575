//! Tensor by tensor against transformers in f32.

use spare_models::{KvCache, WeightDtype};

use crate::golden::{Golden, all, apart};

/// Largest absolute logit difference that counts as the same model.
const LOGITS: f32 = 1e-4;

#[test]
fn positions_are_those_of_transformers() {
    for golden in all() {
        let prompt = golden.prompt();
        let axes = prompt.positions().axes.concat();
        assert_eq!(axes, golden.ints("positions"), "{}", golden.name);
        let delta = prompt.positions().next() - prompt.len() as i32;
        assert_eq!([delta], golden.ints("delta"), "{}", golden.name);
    }
}

#[test]
fn tower_is_that_of_transformers() {
    for golden in all() {
        let states: Vec<_> = golden
            .grids
            .iter()
            .zip(&golden.pixels)
            .map(|(grid, pixels)| golden.model.vision_states(*grid, pixels).unwrap())
            .collect();
        let check = |what: &str, got: Vec<f32>, bound: f32| {
            let gap = apart(&got, golden.floats(what));
            println!("{}: {what} {gap:.1e}", golden.name);
            assert!(gap <= bound, "{}: {what} {gap:e}", golden.name);
        };
        check(
            "table",
            states
                .iter()
                .flat_map(|s| s.learned_positions.clone())
                .collect(),
            1e-6,
        );
        check(
            "blocks",
            states.iter().flat_map(|s| s.blocks.clone()).collect(),
            5e-5,
        );
        check(
            "merged",
            states.iter().flat_map(|s| s.merged.clone()).collect(),
            5e-5,
        );
        assert!(!states[0].deepstack.is_empty());
        for k in 0..states[0].deepstack.len() {
            let rows = states.iter().flat_map(|s| s.deepstack[k].clone()).collect();
            check(&format!("deepstack.{k}"), rows, 5e-5);
        }
    }
}

#[test]
fn every_layer_is_that_of_transformers() {
    for golden in all() {
        let states = golden.model.text_states(&golden.prompt()).unwrap();
        let width = golden.model.hidden_size();
        for (i, state) in states.text.iter().enumerate() {
            let rows: Vec<f32> = golden
                .rows()
                .iter()
                .flat_map(|r| state[r * width..(r + 1) * width].to_vec())
                .collect();
            let gap = apart(&rows, golden.floats(&format!("state.{i}")));
            println!("{}: state {i} {gap:.1e}", golden.name);
            assert!(gap <= 1e-4, "{}: state {i} {gap:e}", golden.name);
        }
        assert!(states.text.len() > golden.model.describe().layers);
    }
}

#[test]
fn logits_are_those_of_transformers() {
    for golden in all() {
        let got = golden.logits(&golden.prompt(), &mut KvCache::new(), &[]);
        let gap = apart(&got, golden.floats("logits"));
        println!(
            "{}: {} rows of logits, largest difference {gap:.2e}",
            golden.name,
            golden.rows().len()
        );
        assert!(gap <= LOGITS, "{}: {gap:e}", golden.name);
    }
}

/// Chunks whose borders cut through both pictures, whichever way they are asked for.
#[test]
fn chunked_logits_are_the_same() {
    for golden in all() {
        let prompt = golden.prompt();
        let cuts: Vec<usize> = prompt
            .pictures()
            .iter()
            .flat_map(|p| [p.tokens.start + 2, p.tokens.end - 3])
            .collect();
        let got = golden.logits(&prompt, &mut KvCache::new(), &cuts);
        let gap = apart(&got, golden.floats("logits"));
        println!(
            "{}: cut at {cuts:?}, largest difference {gap:.2e}",
            golden.name
        );
        assert!(gap <= LOGITS, "{}: {gap:e}", golden.name);
    }
    for tokens in [1, 3, 7] {
        for name in ["gqa2-untied", "gqa4-sharded", "board"] {
            let mut golden = Golden::open(name);
            golden.model = golden.model.with_chunk(tokens);
            let got = golden.logits(&golden.prompt(), &mut KvCache::new(), &[]);
            let gap = apart(&got, golden.floats("logits"));
            println!("{name}: {tokens} at a time, largest difference {gap:.2e}");
            assert!(gap <= LOGITS, "{name}: {gap:e}");
        }
    }
}

/// A bf16 checkpoint kept in bf16 gives the numbers of the same checkpoint widened at loading, to the bit.
#[test]
fn bf16_at_rest_equals_f32() {
    for name in ["board", "gqa4-bf16"] {
        let (wide, narrow) = (Golden::open(name), Golden::open_as(name, WeightDtype::Bf16));
        assert_eq!(narrow.model.describe().dtype, "bf16");
        let logits = |g: &Golden| g.logits(&g.prompt(), &mut KvCache::new(), &[]);
        assert!(logits(&wide) == logits(&narrow), "{name}");
    }
}

#[test]
fn small_models_are_f32_unless_asked_otherwise() {
    let golden = Golden::open_as("gqa4-bf16", WeightDtype::Auto);
    assert_eq!(golden.model.describe().dtype, "f32");
}
