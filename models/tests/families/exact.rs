//! Tensor by tensor against transformers in f32.

use spare_models::{KvCache, PreparedPrompt, WeightDtype};

use crate::golden::{FAMILIES, Golden, all, apart, data, names, seeing};

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

/// Files that nothing reads would prove nothing: every folder with golden numbers is in the list, and three or more a family.
#[test]
fn every_golden_file_is_used() {
    for (family, known) in FAMILIES {
        let mut found: Vec<String> = std::fs::read_dir(data(family))
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .filter_map(|file| Some(file.strip_suffix(".golden.safetensors")?.to_owned()))
            .map(|name| format!("{family}/{name}"))
            .collect();
        found.sort();
        let mut used: Vec<&str> = names()
            .filter(|n| n.split_once('/').unwrap().0 == family)
            .collect();
        used.sort_unstable();
        assert_eq!(found, used);
        assert!(known.len() >= 3);
    }
}

#[test]
fn tower_is_that_of_transformers() {
    for golden in seeing() {
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
        let table: Vec<f32> = states
            .iter()
            .flat_map(|s| s.learned_positions.clone())
            .collect();
        assert_eq!(!table.is_empty(), golden.has("table"), "{}", golden.name);
        if golden.has("table") {
            check("table", table, 1e-6);
        }
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
        let taps = states[0].deepstack.len();
        assert!(!golden.has(&format!("deepstack.{taps}")), "{}", golden.name);
        for k in 0..taps {
            let rows = states.iter().flat_map(|s| s.deepstack[k].clone()).collect();
            check(&format!("deepstack.{k}"), rows, 5e-5);
        }
    }
}

#[test]
fn every_layer_is_that_of_transformers() {
    for golden in all() {
        let states = golden.model.text_states(&golden.prompt()).unwrap();
        assert!(golden.has(&format!("state.{}", states.text.len() - 1)));
        assert!(!golden.has(&format!("state.{}", states.text.len())));
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
        assert!(states.text.len() > 2);
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

/// Chunks whose borders cut through both pictures, and chunks of nothing but a picture or the text beside it.
#[test]
fn logits_cut_at_pictures_are_the_same() {
    for golden in seeing() {
        let prompt = golden.prompt();
        let spans = || prompt.pictures().iter().map(|p| p.tokens.clone());
        let within: Vec<usize> = spans().flat_map(|t| [t.start + 2, t.end - 3]).collect();
        let beside: Vec<usize> = spans().flat_map(|t| [t.start, t.end]).collect();
        for cuts in [within, beside] {
            same(&golden, &prompt, &cuts);
        }
    }
}

#[test]
fn chunked_logits_are_the_same() {
    for tokens in [1, 3, 7] {
        for mut golden in all() {
            golden.model = golden.model.with_chunk(tokens);
            same(&golden, &golden.prompt(), &[]);
        }
    }
}

fn same(golden: &Golden, prompt: &PreparedPrompt, cuts: &[usize]) {
    let got = golden.logits(prompt, &mut KvCache::new(), cuts);
    let gap = apart(&got, golden.floats("logits"));
    assert!(gap <= LOGITS, "{} cut at {cuts:?}: {gap:e}", golden.name);
}

#[test]
fn small_models_are_f32_unless_asked_otherwise() {
    let logits = |dtype| {
        let golden = Golden::open_as("qwen3/gqa1-tied", dtype);
        golden.logits(&golden.prompt(), &mut KvCache::new(), &[])
    };
    let (auto, wide, narrow) = (
        logits(WeightDtype::Auto),
        logits(WeightDtype::F32),
        logits(WeightDtype::Bf16),
    );
    assert!(auto == wide && auto != narrow);
}
