//! Many continuations in one forward: each as if it were alone.

use spare_models::{Branch, Control, HiddenRows, KvCache, ModelError};

use crate::golden::{Golden, all};

/// Two ways through the cache may differ in the order of sums only.
const CACHE: f32 = 3e-5;

fn filled(golden: &Golden) -> KvCache {
    let (prompt, mut cache) = (golden.prompt(), KvCache::new());
    let range = 0..prompt.len();
    let ctl = Control::none();
    golden
        .model
        .prefill(&prompt, range, &mut cache, &[], &ctl)
        .unwrap();
    cache
}

/// Continuations of several lengths behind several places, all text.
fn branches(golden: &Golden) -> Vec<Branch> {
    let prompt = golden.prompt();
    let after = prompt.pictures().last().map_or(3, |p| p.tokens.end);
    let places = [prompt.len(), after + 1, prompt.len() - 1, prompt.len(), 1];
    let mut out = Vec::new();
    for (i, at) in places.into_iter().enumerate() {
        let ids: Vec<u32> = (0..3 + 4 * i as u32)
            .map(|k| 11 + (k + i as u32) % 9)
            .collect();
        let whole = prompt.splice(&golden.model, at, &ids, at).unwrap();
        out.push(Branch {
            at,
            rows: vec![at, whole.len() - 1],
            prompt: whole,
            hidden: 0..0,
        });
    }
    out
}

fn alone(golden: &Golden, branch: &Branch) -> HiddenRows {
    let range = 0..branch.prompt.len();
    let ctl = Control::none();
    let mut cache = KvCache::new();
    golden
        .model
        .prefill(&branch.prompt, range, &mut cache, &branch.rows, &ctl)
        .unwrap()
}

fn apart(a: &HiddenRows, b: &HiddenRows) -> f32 {
    assert_eq!(a.values.len(), b.values.len());
    let pairs = a.values.iter().zip(&b.values);
    pairs.fold(0.0, |most, (a, b)| f32::max(most, (a - b).abs()))
}

#[test]
fn a_packed_branch_equals_a_plain_run_of_its_own_context() {
    for golden in all() {
        let (cache, branches) = (filled(&golden), branches(&golden));
        // All at once, two or three at a time, one by one.
        for batch in [1024, 16, 1] {
            let found = golden
                .model
                .prefill_branches(&cache, &branches, batch, &Control::none())
                .unwrap();
            for (i, (branch, rows)) in branches.iter().zip(&found).enumerate() {
                let gap = apart(rows, &alone(&golden, branch));
                assert!(
                    gap <= CACHE,
                    "{} branch {i}, batch {batch}: {gap:e}",
                    golden.name
                );
            }
        }
        assert_eq!(cache.len(), golden.prompt().len());
    }
}

/// What a branch does not see makes a difference, and only where something is hidden.
#[test]
fn hidden_tokens_are_not_seen() {
    for golden in all() {
        let cache = filled(&golden);
        let read = |hidden| {
            let mut branch = branches(&golden).remove(0);
            branch.hidden = hidden;
            let found = golden
                .model
                .prefill_branches(&cache, &[branch], 64, &Control::none());
            found.unwrap().remove(0)
        };
        let whole = read(0..0);
        assert_eq!(apart(&whole, &read(2..2)), 0.0, "{}", golden.name);
        assert!(apart(&whole, &read(0..2)) > 1e-4, "{}", golden.name);
    }
}

#[test]
fn a_branch_that_does_not_fit_the_cache_is_refused() {
    let golden = all().next().unwrap();
    let cache = filled(&golden);
    let good = branches(&golden).remove(0);
    let read = |branch: Branch, cache: &KvCache| {
        golden
            .model
            .prefill_branches(cache, &[branch], 64, &Control::none())
    };
    let empty = Branch {
        at: good.prompt.len(),
        rows: Vec::new(),
        ..good.clone()
    };
    let early = Branch {
        rows: vec![good.at - 1],
        ..good.clone()
    };
    for branch in [empty, early] {
        let found = read(branch, &cache);
        assert!(matches!(found, Err(ModelError::Range { .. })), "{found:?}");
    }
    let found = read(good.clone(), &KvCache::new());
    assert!(matches!(found, Err(ModelError::Range { .. })), "{found:?}");
    let other = golden.prompt();
    let mut ids = other.ids().to_vec();
    let last = ids.len() - 1;
    ids[last] = if ids[last] == 11 { 12 } else { 11 };
    let other = spare_models::PreparedPrompt::new(&golden.model, ids, other.pictures().to_vec());
    let other = other
        .unwrap()
        .splice(&golden.model, last + 1, &[11, 12], last + 1)
        .unwrap();
    let strange = Branch {
        prompt: other,
        at: last + 1,
        rows: Vec::new(),
        hidden: 0..0,
    };
    let found = read(strange, &cache);
    assert!(matches!(found, Err(ModelError::Cache { .. })), "{found:?}");
}
