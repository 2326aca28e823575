//! Forks, rewinds and appends in any order, against plain lists of tokens.
#![allow(clippy::unwrap_used)]

use candle_core::Device;
use proptest::prelude::*;

use super::*;

const LAYERS: usize = 2;
const HEADS: usize = 2;
const WIDTH: usize = 3;

/// Keys or values of `tokens`, `[HEADS, tokens, WIDTH]`, all different: no mixed-up head, layer or token goes unseen.
fn rows(tokens: &[u32], layer: usize, value: bool) -> Tensor {
    let mut data = Vec::new();
    for head in 0..HEADS {
        for &token in tokens {
            for column in 0..WIDTH {
                let side = layer * 2 + usize::from(value);
                data.push((token as usize * 64 + side * 16 + head * 4 + column) as f32);
            }
        }
    }
    Tensor::from_vec(data, (HEADS, tokens.len(), WIDTH), &Device::Cpu).unwrap()
}

fn pairs(tokens: &[u32]) -> Vec<(Tensor, Tensor)> {
    (0..LAYERS)
        .map(|layer| (rows(tokens, layer, false), rows(tokens, layer, true)))
        .collect()
}

fn grow(cache: &mut KvCache, shadow: &mut Vec<u32>, tokens: &[u32]) {
    let start = shadow.len();
    shadow.extend(tokens);
    let prompt = PreparedPrompt::of_text(shadow.clone());
    cache
        .append(7, &prompt, start..shadow.len(), pairs(tokens))
        .unwrap();
}

fn holds(cache: &KvCache, shadow: &[u32]) {
    assert_eq!(cache.len(), shadow.len());
    let next = [1_000_000];
    let all = [shadow, &next].concat();
    for layer in 0..LAYERS {
        let (keys, values) = cache
            .joined(
                layer,
                cache.len(),
                &(rows(&next, layer, false), rows(&next, layer, true)),
            )
            .unwrap();
        for (got, want) in [
            (keys, rows(&all, layer, false)),
            (values, rows(&all, layer, true)),
        ] {
            assert_eq!(
                got.to_vec3::<f32>().unwrap(),
                want.to_vec3::<f32>().unwrap()
            );
        }
    }
    let bytes = shadow.len() * LAYERS * 2 * HEADS * WIDTH * 4;
    assert_eq!(cache.bytes(), bytes);
    cache.check(7, &PreparedPrompt::of_text(all)).unwrap();
}

#[derive(Debug, Clone)]
enum Step {
    Append(usize, usize),
    Truncate(usize, f64),
    Fork(usize),
    Drop(usize),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (any::<usize>(), prop_oneof![1usize..5, 1usize..600]).prop_map(|(at, n)| Step::Append(at, n)),
        2 => (any::<usize>(), 0.0..1.1f64).prop_map(|(at, part)| Step::Truncate(at, part)),
        2 => any::<usize>().prop_map(Step::Fork),
        1 => any::<usize>().prop_map(Step::Drop),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn forks_never_see_one_another(steps in prop::collection::vec(step(), 1..24)) {
        let mut forks = vec![(KvCache::new(), Vec::new())];
        let mut token = 0;
        for step in steps {
            let count = forks.len();
            match step {
                Step::Append(at, n) => {
                    let tokens: Vec<u32> = (token..token + n as u32).collect();
                    token += n as u32;
                    let (cache, shadow) = &mut forks[at % count];
                    grow(cache, shadow, &tokens);
                }
                Step::Truncate(at, part) => {
                    let (cache, shadow) = &mut forks[at % count];
                    let len = (shadow.len() as f64 * part) as usize;
                    cache.truncate(len).unwrap();
                    shadow.truncate(len);
                }
                Step::Fork(at) if count < 5 => {
                    let (cache, shadow) = &forks[at % count];
                    forks.push((cache.fork(), shadow.clone()));
                }
                Step::Drop(at) if count > 1 => drop(forks.swap_remove(at % count)),
                _ => {}
            }
            for (cache, shadow) in &forks {
                holds(cache, shadow);
            }
        }
    }
}

#[test]
fn a_fork_shares_its_blocks() {
    let (mut cache, mut shadow) = (KvCache::new(), Vec::new());
    grow(&mut cache, &mut shadow, &(0..600).collect::<Vec<_>>());
    let mut fork = cache.fork();
    assert!(
        cache
            .blocks
            .iter()
            .zip(&fork.blocks)
            .all(|(a, b)| Arc::ptr_eq(a, b))
    );
    fork.truncate(512).unwrap();
    let mut other = shadow[..512].to_vec();
    grow(&mut fork, &mut other, &[9000]);
    // Full blocks are still the same memory, tails are not.
    assert_eq!(cache.blocks.len(), 3);
    assert!(Arc::ptr_eq(&cache.blocks[1], &fork.blocks[1]));
    assert!(!Arc::ptr_eq(&cache.blocks[2], &fork.blocks[2]));
}

#[test]
fn a_cache_of_something_else_is_refused() {
    let (mut cache, mut shadow) = (KvCache::new(), Vec::new());
    grow(&mut cache, &mut shadow, &[3, 4, 5]);
    let error = |owner, ids: &[u32]| {
        cache
            .check(owner, &PreparedPrompt::of_text(ids.to_vec()))
            .unwrap_err()
            .to_string()
    };
    assert_eq!(
        error(7, &[3, 9, 5, 6]),
        "cache: token 1: found id 4, expected id 9"
    );
    assert_eq!(
        error(7, &[3, 4]),
        "cache: token 2: found id 5, expected the end of the prompt"
    );
    assert!(error(8, &[3, 4, 5]).contains("another model"));
}

proptest! {
    /// What is hidden is left out, wherever it lies among the blocks, and nothing else is.
    #[test]
    fn a_hole_leaves_out_its_tokens(len in 1usize..700, at in 0usize..700, start in 0usize..700, size in 0usize..300) {
        let (mut cache, mut shadow) = (KvCache::new(), Vec::new());
        let tokens: Vec<u32> = (0..len as u32).collect();
        grow(&mut cache, &mut shadow, &tokens);
        let (at, hole) = (at.min(len), start..start + size);
        let next = [1_000_000];
        let seen = tokens.iter().copied().take(at).filter(|t| !hole.contains(&(*t as usize)));
        let all: Vec<u32> = seen.chain(next).collect();
        let new = (rows(&next, 1, false), rows(&next, 1, true));
        let (keys, values) = cache.joined_without(1, at, &hole, &new).unwrap();
        prop_assert_eq!(keys.to_vec3::<f32>().unwrap(), rows(&all, 1, false).to_vec3::<f32>().unwrap());
        prop_assert_eq!(values.to_vec3::<f32>().unwrap(), rows(&all, 1, true).to_vec3::<f32>().unwrap());
    }
}
