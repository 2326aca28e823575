//! Is the cache the one that Python's huggingface_hub writes, and does it find ours? Needs a Python that has it:
//! `SPARE_PYTHON=python3 cargo test --release -p spare-models --features hub --test hub -- --ignored`.

use std::fs;
use std::path::Path;
use std::process::Command;

use tempfile::TempDir;

use super::server::Hub;
use super::{FIRST, REPO, WANTED, get, hub, settings, tree};

fn python(hub: &Hub, cache: &Path, offline: &str, script: &str) -> String {
    let python = std::env::var("SPARE_PYTHON").expect("SPARE_PYTHON");
    let out = Command::new(python)
        .args(["-c", script])
        .env("HF_ENDPOINT", hub.endpoint())
        .env("HF_HUB_CACHE", cache)
        .env("HF_HUB_OFFLINE", offline)
        .env("HF_HUB_DISABLE_PROGRESS_BARS", "1")
        .env_remove("HF_TOKEN")
        .output()
        .unwrap();
    assert!(
        out.status.success(),
        "{}",
        String::from_utf8_lossy(&out.stderr)
    );
    String::from_utf8(out.stdout).unwrap().trim().to_owned()
}

/// Without Python's own notes: a tag for backup programs, and the list of a commit's files.
fn models(cache: &Path) -> Vec<(String, String)> {
    let mut tree = tree(cache);
    tree.retain(|(path, _)| path != "CACHEDIR.TAG" && !path.contains("/trees/"));
    tree
}

#[test]
#[ignore = "needs a Python with huggingface_hub"]
fn python_writes_the_same_cache_and_each_finds_the_others() {
    let hub = hub();
    let (ours, theirs) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    let folder = get(&settings(&hub, ours.path()), REPO)
        .unwrap()
        .snapshot
        .folder;
    let patterns = WANTED.map(|name| format!("{name:?}")).join(", ");
    let download = format!(
        "from huggingface_hub import snapshot_download\nprint(snapshot_download('{REPO}', allow_patterns=[{patterns}]))"
    );
    python(&hub, theirs.path(), "0", &download);
    let locks = |cache: &Path| {
        let folder = cache.join(".locks/models--some-lab--Tiny-VL");
        let names = fs::read_dir(folder).unwrap();
        let mut names: Vec<_> = names.map(|e| e.unwrap().file_name()).collect();
        names.sort();
        names
    };
    assert_eq!(models(ours.path()), models(theirs.path()));
    println!(
        "locks: {:?} and {:?}",
        locks(ours.path()),
        locks(theirs.path())
    );

    // Python finds ours without a hub, file by file and whole.
    hub.log();
    let found = python(&hub, ours.path(), "1", &download);
    assert_eq!(Path::new(&found), folder);
    let one = format!(
        "from huggingface_hub import try_to_load_from_cache, scan_cache_dir\nprint(try_to_load_from_cache('{REPO}', 'model.safetensors'))\n[r] = scan_cache_dir().repos\nassert r.repo_id == '{REPO}', r\n[v] = r.revisions\nassert v.commit_hash == '{FIRST}' and v.refs == {{'main'}}, v\nassert len(v.files) == {}, v",
        WANTED.len()
    );
    let found = python(&hub, ours.path(), "1", &one);
    assert_eq!(Path::new(&found), folder.join("model.safetensors"));
    // We find Python's.
    let mut settings = settings(&hub, theirs.path());
    settings.offline = true;
    assert_eq!(get(&settings, REPO).unwrap().snapshot.commit, FIRST);
    assert_eq!(hub.log().len(), 0);
}
