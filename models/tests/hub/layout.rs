//! What lies in the cache afterwards, and what is not asked for again?

use std::fs;
use std::sync::Mutex;
use std::thread;

use spare_models::hub::{HubError, Transfer, Watch, resolve};
use tempfile::TempDir;

use super::server::{git_blob, sha256};
use super::{
    FIRST, REPO, SECOND, WANTED, bodies, get, hub, id, noise, settings, single, tree, weights,
};

#[test]
fn a_checkpoint_lies_as_huggingface_hub_would_put_it() {
    let (hub, cache) = (hub(), TempDir::new().unwrap());
    let resolved = get(&settings(&hub, cache.path()), REPO).unwrap();
    assert!(resolved.unreachable.is_none());
    assert_eq!(resolved.snapshot.repo, REPO);
    assert_eq!(resolved.snapshot.commit, FIRST);
    let repo = "models--some-lab--Tiny-VL";
    let mut expected = vec![(format!("{repo}/refs/main"), sha256(FIRST.as_bytes()))];
    for (name, bytes, large) in single() {
        if WANTED.contains(&name) {
            let etag = match large {
                true => sha256(&bytes),
                false => git_blob(&bytes),
            };
            expected.push((format!("{repo}/blobs/{etag}"), sha256(&bytes)));
            let link = format!("{repo}/snapshots/{FIRST}/{name}");
            expected.push((link, format!("-> ../../blobs/{etag}")));
        }
    }
    expected.sort();
    assert_eq!(tree(cache.path()), expected);
    assert_eq!(
        resolved.snapshot.folder,
        cache.path().join(repo).join("snapshots").join(FIRST)
    );
    let arrived = fs::read(resolved.snapshot.folder.join("model.safetensors")).unwrap();
    assert_eq!(arrived, weights());
}

#[test]
fn shards_of_the_index_and_no_others() {
    let (hub, cache) = (hub(), TempDir::new().unwrap());
    let mut files = single();
    files.retain(|(name, _, _)| *name != "model.safetensors");
    let index = serde_json::json!({"metadata": {}, "weight_map": {
        "a": "model-00002-of-00002.safetensors", "b": "model-00001-of-00002.safetensors", "c": "model-00001-of-00002.safetensors"
    }});
    let index = index.to_string().into_bytes();
    files.push(("model.safetensors.index.json", index, false));
    for (seed, name) in [
        (4, "model-00001-of-00002.safetensors"),
        (5, "model-00002-of-00002.safetensors"),
        (6, "other.safetensors"),
    ] {
        files.push((name, noise(seed, 5000), true));
    }
    hub.commit(REPO, "sharded", SECOND, files);
    let settings = settings(&hub, cache.path());
    let folder = get(&settings, &format!("{REPO}@sharded"))
        .unwrap()
        .snapshot
        .folder;
    let first = fs::read(folder.join("model-00001-of-00002.safetensors")).unwrap();
    assert_eq!(first, noise(4, 5000));
    assert!(folder.join("model-00002-of-00002.safetensors").is_file());
    assert!(!folder.join("other.safetensors").exists());
}

#[test]
fn what_is_there_is_not_fetched_again() {
    let (hub, cache) = (hub(), TempDir::new().unwrap());
    let settings = settings(&hub, cache.path());
    get(&settings, REPO).unwrap();
    hub.log();
    get(&settings, REPO).unwrap();
    let paths: Vec<String> = hub.log().into_iter().map(|r| r.path).collect();
    assert_eq!(paths, [format!("/api/models/{REPO}/revision/main")]);
    // A commit cannot have moved.
    get(&settings, &format!("{REPO}@{FIRST}")).unwrap();
    assert_eq!(hub.log().len(), 0);
}

#[test]
fn a_moved_revision_brings_what_has_changed() {
    let (hub, cache) = (hub(), TempDir::new().unwrap());
    let settings = settings(&hub, cache.path());
    get(&settings, REPO).unwrap();
    let mut files = single();
    for (name, bytes, _) in &mut files {
        if *name == "config.json" {
            *bytes = b"{\"changed\": true}".to_vec();
        }
    }
    hub.commit(REPO, "main", SECOND, files);
    hub.log();
    let snapshot = get(&settings, REPO).unwrap().snapshot;
    assert_eq!(snapshot.commit, SECOND);
    let log = hub.log();
    let fetched: Vec<&str> = bodies(&log).iter().map(|r| r.path.as_str()).collect();
    assert!(!fetched.is_empty());
    assert!(
        fetched.iter().all(|path| path.ends_with("/config.json")),
        "{fetched:?}"
    );
    let listed = settings.cache.list().unwrap();
    let refs: Vec<_> = listed
        .iter()
        .map(|c| (c.snapshot.commit.as_str(), c.refs.clone()))
        .collect();
    assert_eq!(refs, [(FIRST, vec![]), (SECOND, vec!["main".to_owned()])]);
}

#[test]
fn a_commit_and_a_revision_with_slashes() {
    let (hub, cache) = (hub(), TempDir::new().unwrap());
    let settings = settings(&hub, cache.path());
    get(&settings, &format!("{REPO}@{FIRST}")).unwrap();
    let refs = cache.path().join("models--some-lab--Tiny-VL/refs");
    assert!(!refs.exists());
    hub.commit(REPO, "refs/pr/1", SECOND, single());
    let pull = format!("{REPO}@refs/pr/1");
    assert_eq!(get(&settings, &pull).unwrap().snapshot.commit, SECOND);
    assert_eq!(fs::read_to_string(refs.join("refs/pr/1")).unwrap(), SECOND);
}

#[test]
fn a_full_cache_needs_no_hub() {
    let (hub, cache) = (hub(), TempDir::new().unwrap());
    let mut settings = settings(&hub, cache.path());
    get(&settings, REPO).unwrap();
    hub.log();
    settings.offline = true;
    let snapshot = get(&settings, REPO).unwrap().snapshot;
    assert_eq!((snapshot.commit.as_str(), hub.log().len()), (FIRST, 0));
    let error = get(&settings, "some-lab/other").unwrap_err();
    assert!(matches!(error, HubError::NotCached { offline: true, .. }));
    let says = error.to_string();
    for part in ["some-lab/other", "HF_HUB_OFFLINE", "hf download"] {
        assert!(says.contains(part), "{says}");
    }
    assert!(says.contains(&cache.path().display().to_string()), "{says}");
    // A hub that is gone is said, and forgiven.
    settings.offline = false;
    drop(hub);
    let resolved = get(&settings, REPO).unwrap();
    assert_eq!(resolved.snapshot.commit, FIRST);
    assert!(resolved.unreachable.unwrap().is_unreachable());
    let error = get(&settings, "some-lab/other").unwrap_err();
    assert!(
        matches!(error, HubError::Unreachable { attempts: 3, .. }),
        "{error:?}"
    );
}

#[test]
fn an_incomplete_snapshot_is_no_answer_offline_and_is_completed_online() {
    let (hub, cache) = (hub(), TempDir::new().unwrap());
    let mut settings = settings(&hub, cache.path());
    let folder = get(&settings, REPO).unwrap().snapshot.folder;
    // The link stays, its content is gone.
    let link = folder.join("tokenizer.json");
    fs::remove_file(link.canonicalize().unwrap()).unwrap();
    settings.offline = true;
    let error = get(&settings, REPO).unwrap_err();
    assert!(
        matches!(&error, HubError::Incomplete { missing, .. } if *missing == ["tokenizer.json"]),
        "{error:?}"
    );
    settings.offline = false;
    get(&settings, &format!("{REPO}@{FIRST}")).unwrap();
    assert_eq!(fs::read(link).unwrap(), noise(3, 20_000));
}

#[test]
fn two_downloads_at_once_fetch_everything_once() {
    let (hub, cache) = (hub(), TempDir::new().unwrap());
    let settings = settings(&hub, cache.path());
    thread::scope(|scope| {
        let both = [(); 2].map(|()| scope.spawn(|| get(&settings, REPO).unwrap()));
        for one in both {
            let folder = one.join().unwrap().snapshot.folder;
            let arrived = fs::read(folder.join("model.safetensors")).unwrap();
            assert_eq!(arrived, weights());
        }
    });
    let log = hub.log();
    let large = |r: &&&super::Request| r.content;
    assert_eq!(bodies(&log).iter().filter(large).count(), 2);
}

#[test]
fn progress_grows_up_to_the_sum() {
    let (hub, cache) = (hub(), TempDir::new().unwrap());
    let seen = Mutex::new(Vec::new());
    let report = |t: Transfer<'_>| {
        let of = (t.file.to_owned(), t.done, t.total);
        seen.lock().unwrap().push(of);
    };
    let watch = Watch::none().with_progress(&report);
    resolve(&id(REPO), &settings(&hub, cache.path()), &watch).unwrap();
    let seen = seen.into_inner().unwrap();
    let wanted = single().into_iter().filter(|f| WANTED.contains(&f.0));
    let sum: u64 = wanted.map(|f| f.1.len() as u64).sum();
    let (file, done, total) = seen.last().unwrap();
    let end = (file.as_str(), *done, *total);
    assert_eq!(end, ("model.safetensors", sum, sum));
    assert!(seen.windows(2).all(|w| w[0].1 < w[1].1), "{seen:?}");
    assert!(seen.iter().all(|(_, done, total)| done <= total));
}
