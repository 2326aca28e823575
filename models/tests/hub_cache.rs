//! Names, the environment's settings and a cache that is only read: no network, no feature.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use spare_models::hub::{HubCache, HubError, ModelId, Settings, Token, Watch, resolve};
use tempfile::TempDir;

const COMMIT: &str = "89644892e4d85e24eaac8bacfd4f463576704203";

#[test]
fn names_with_and_without_a_revision() {
    let id = ModelId::parse("Qwen/Qwen3-VL-2B-Instruct").unwrap();
    assert_eq!((id.owner(), id.name()), ("Qwen", "Qwen3-VL-2B-Instruct"));
    assert_eq!((id.revision(), id.commit()), ("main", None));
    assert_eq!(id.to_string(), "Qwen/Qwen3-VL-2B-Instruct@main");
    let id = ModelId::parse("a_b/c.d-e@refs/pr/12").unwrap();
    assert_eq!(
        (id.repo().as_str(), id.revision()),
        ("a_b/c.d-e", "refs/pr/12")
    );
    let upper = format!("a/b@{}", COMMIT.to_ascii_uppercase());
    assert_eq!(ModelId::parse(&upper).unwrap().commit(), Some(COMMIT));
    assert_eq!(ModelId::parse("a/b@8964489").unwrap().commit(), None);
}

#[test]
fn names_that_lead_elsewhere_are_refused() {
    let long = format!("a/{}", "b".repeat(97));
    for text in [
        "",
        "/",
        "a",
        "a/",
        "/b",
        "a/b/c",
        "../b",
        "a/..",
        "./b",
        "~/b",
        "a/.b",
        "a/b.",
        "-a/b",
        "a/b-",
        "a/b--c",
        "a/b..c",
        "a/b.git",
        "a b/c",
        "a/b\\c",
        "a/b?c",
        "a/b#c",
        "a/b%2e",
        "C:/b",
        "a/b\n",
        "ä/b",
        "/etc/passwd",
        "a/b@",
        "a/b@..",
        "a/b@../../x",
        "a/b@/x",
        "a/b@x/",
        "a/b@x//y",
        "a/b@.x",
        "a/b@x/.y",
        "a/b@x..y",
        "a/b@x.",
        "a/b@x y",
        "a/b@x@y",
        "a/b@x:y",
        "a/b@x\\y",
        "a/b@x?y",
        &long,
    ] {
        let error = ModelId::parse(text).unwrap_err();
        assert!(matches!(error, HubError::Id { .. }), "{text:?}: {error:?}");
        assert!(error.to_string().contains("owner/name@revision"), "{error}");
    }
}

fn settings(variables: &[(&str, &str)]) -> Result<Settings, HubError> {
    let map: BTreeMap<&str, &str> = variables.iter().copied().collect();
    Settings::from_env(|name| map.get(name).map(|value| (*value).to_owned()))
}

#[test]
fn the_cache_stands_where_huggingface_hub_looks_for_it() {
    let all = [
        ("HF_HUB_CACHE", "/one"),
        ("HUGGINGFACE_HUB_CACHE", "/two"),
        ("HF_HOME", "/three"),
        ("XDG_CACHE_HOME", "/four"),
        ("HOME", "/five"),
    ];
    let expected = [
        "/one",
        "/two",
        "/three/hub",
        "/four/huggingface/hub",
        "/five/.cache/huggingface/hub",
    ];
    for (skip, expected) in expected.iter().enumerate() {
        let cache = settings(&all[skip..]).unwrap().cache;
        assert_eq!(cache.root(), Path::new(expected));
    }
    assert!(matches!(settings(&[]), Err(HubError::NoHome)));
    let home = [("HF_HUB_CACHE", ""), ("HF_HOME", "~/hf"), ("HOME", "/me")];
    let cache = settings(&home).unwrap().cache;
    assert_eq!(cache.root(), Path::new("/me/hf/hub"));
}

#[test]
fn the_token_is_trimmed_and_never_shown() {
    let dir = TempDir::new().unwrap();
    let home = dir.path().to_str().unwrap();
    let secret = |more: &[(&str, &str)]| {
        let settings = settings(&[more, &[("HF_HOME", home)]].concat()).unwrap();
        assert!(!format!("{settings:?}").contains("hf_"), "{settings:?}");
        settings.token.map(|token| token.secret().to_owned())
    };
    assert_eq!(secret(&[]), None);
    fs::write(dir.path().join("token"), "hf_file\n").unwrap();
    assert_eq!(secret(&[]).as_deref(), Some("hf_file"));
    fs::write(dir.path().join("other"), " hf_other ").unwrap();
    let other = dir.path().join("other");
    let path = ("HF_TOKEN_PATH", other.to_str().unwrap());
    assert_eq!(secret(&[path]).as_deref(), Some("hf_other"));
    let token = ("HF_TOKEN", " hf_env\r\n");
    assert_eq!(secret(&[path, token]).as_deref(), Some("hf_env"));
    assert_eq!(secret(&[("HF_TOKEN", " \n")]).as_deref(), Some("hf_file"));
    let none = ("HF_HUB_DISABLE_IMPLICIT_TOKEN", "1");
    assert_eq!(secret(&[path, token, none]), None);
    assert_eq!(Token::new(" \n"), None);
    let error = settings(&[("HF_TOKEN_PATH", home), ("HF_HOME", home)]).unwrap_err();
    assert!(matches!(error, HubError::Io { .. }), "{error:?}");
}

#[test]
fn hub_and_offline() {
    let home = ("HOME", "/me");
    let plain = settings(&[home]).unwrap();
    assert_eq!(
        (plain.endpoint.as_str(), plain.offline),
        ("https://huggingface.co", false)
    );
    let mirror = settings(&[home, ("HF_ENDPOINT", "https://mirror.example/hf/")]).unwrap();
    assert_eq!(mirror.endpoint, "https://mirror.example/hf");
    for (value, offline) in [
        ("1", true),
        ("ON", true),
        ("yes", true),
        ("True", true),
        ("0", false),
        ("no", false),
        ("", false),
    ] {
        for name in ["HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE"] {
            let found = settings(&[home, (name, value)]).unwrap().offline;
            assert_eq!(found, offline, "{name}={value}");
        }
    }
    let both = [home, ("HF_HUB_OFFLINE", "0"), ("TRANSFORMERS_OFFLINE", "1")];
    assert!(!settings(&both).unwrap().offline);
}

const FILES: [&str; 5] = [
    "config.json",
    "tokenizer.json",
    "preprocessor_config.json",
    "chat_template.jinja",
    "model.safetensors",
];

/// Puts files into a cache, as huggingface_hub does.
fn snapshot(root: &Path, repo: &str, commit: &str, files: &[&str]) -> PathBuf {
    let repo = root.join(repo);
    let folder = repo.join("snapshots").join(commit);
    fs::create_dir_all(&folder).unwrap();
    fs::create_dir_all(repo.join("blobs")).unwrap();
    for file in files {
        fs::write(repo.join("blobs").join(file), "12345").unwrap();
        #[cfg(unix)]
        std::os::unix::fs::symlink(format!("../../blobs/{file}"), folder.join(file)).unwrap();
        #[cfg(not(unix))]
        fs::copy(repo.join("blobs").join(file), folder.join(file)).unwrap();
    }
    folder
}

fn reference(root: &Path, repo: &str, name: &str, text: &str) {
    let path = root.join(repo).join("refs").join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

#[test]
fn a_snapshot_is_found_by_revision_and_by_commit() {
    let dir = TempDir::new().unwrap();
    let cache = HubCache::new(dir.path());
    let find = |text: &str| cache.snapshot(&ModelId::parse(text).unwrap()).unwrap();
    assert_eq!(find("a/b"), None);
    let folder = snapshot(dir.path(), "models--a--b", COMMIT, &FILES);
    assert_eq!(find("a/b"), None);
    // Some tools write a line end.
    reference(dir.path(), "models--a--b", "main", &format!("{COMMIT}\n"));
    reference(dir.path(), "models--a--b", "refs/pr/1", COMMIT);
    reference(dir.path(), "models--a--b", "gone", &"0".repeat(40));
    for text in ["a/b", "a/b@refs/pr/1", &format!("a/b@{COMMIT}")] {
        let found = find(text).unwrap();
        assert_eq!((&found.folder, found.commit.as_str()), (&folder, COMMIT));
        assert_eq!(
            (found.repo.as_str(), found.missing().unwrap()),
            ("a/b", vec![])
        );
    }
    for text in ["a/b@v2", "a/b@gone", "a/b@refs", "a/c"] {
        assert_eq!(find(text), None, "{text}");
    }
    reference(dir.path(), "models--a--b", "bad", "../../../etc");
    let error = cache
        .snapshot(&ModelId::parse("a/b@bad").unwrap())
        .unwrap_err();
    assert!(error.to_string().contains("../../../etc"), "{error}");
}

#[test]
fn what_a_snapshot_lacks() {
    let dir = TempDir::new().unwrap();
    let id = ModelId::parse("a/b").unwrap();
    reference(dir.path(), "models--a--b", "main", COMMIT);
    let folder = snapshot(dir.path(), "models--a--b", COMMIT, &["config.json"]);
    let mut settings = Settings::new(HubCache::new(dir.path()));
    settings.offline = true;
    let error = resolve(&id, &settings, &Watch::none()).unwrap_err();
    for part in [
        "tokenizer.json",
        "preprocessor_config.json",
        "chat_template.jinja or",
        "model.safetensors or model.safetensors.index.json",
        "HF_HUB_OFFLINE",
    ] {
        assert!(error.to_string().contains(part), "{error}");
    }
    let index = folder.join("model.safetensors.index.json");
    for (name, text) in [
        ("tokenizer.json", ""),
        ("preprocessor_config.json", ""),
        ("tokenizer_config.json", ""),
        (
            "model.safetensors.index.json",
            r#"{"weight_map": {"a": "x-2.safetensors", "b": "x-1.safetensors", "c": "x-2.safetensors"}}"#,
        ),
        ("x-1.safetensors", ""),
    ] {
        fs::write(folder.join(name), text).unwrap();
    }
    let snapshot = settings.cache.snapshot(&id).unwrap().unwrap();
    assert_eq!(snapshot.missing().unwrap(), ["x-2.safetensors"]);
    fs::write(folder.join("x-2.safetensors"), "").unwrap();
    assert_eq!(snapshot.missing().unwrap(), [""; 0]);
    assert_eq!(
        resolve(&id, &settings, &Watch::none()).unwrap().snapshot,
        snapshot
    );
    for text in [
        "{",
        "{}",
        r#"{"weight_map": {}}"#,
        r#"{"weight_map": {"a": "../x.safetensors"}}"#,
    ] {
        fs::write(&index, text).unwrap();
        let error = snapshot.missing().unwrap_err();
        assert!(error.to_string().contains("index.json"), "{error}");
    }
}

#[cfg(not(feature = "hub"))]
#[test]
fn a_build_that_cannot_download_says_so() {
    let dir = TempDir::new().unwrap();
    let settings = Settings::new(HubCache::new(dir.path()));
    let id = ModelId::parse("a/b@v1").unwrap();
    let error = resolve(&id, &settings, &Watch::none()).unwrap_err();
    let says = error.to_string();
    let root = dir.path().display().to_string();
    for part in [
        "a/b@v1",
        &root,
        "feature `hub`",
        "hf download a/b --revision v1",
    ] {
        assert!(says.contains(part), "{says}");
    }
}

#[test]
fn the_list_of_a_cache() {
    let dir = TempDir::new().unwrap();
    let cache = HubCache::new(dir.path().join("cache"));
    assert_eq!(cache.list().unwrap(), []);
    let root = cache.root();
    let other = "f".repeat(40);
    snapshot(root, "models--z--b", COMMIT, &FILES);
    snapshot(root, "models--z--b", &other, &FILES[..1]);
    snapshot(root, "models--gpt2", COMMIT, &FILES[..2]);
    snapshot(root, "datasets--a--b", COMMIT, &FILES);
    snapshot(root, "models--z--b", "no-commit", &[]);
    for (name, text) in [
        ("main", COMMIT),
        ("refs/pr/1", COMMIT),
        ("old", other.as_str()),
        ("bad", "x"),
    ] {
        reference(root, "models--z--b", name, text);
    }
    // A link whose content is gone counts nothing.
    let gone = root.join("models--gpt2/blobs/tokenizer.json");
    fs::remove_file(gone).unwrap();
    let listed = cache.list().unwrap();
    let lines: Vec<String> = listed
        .iter()
        .map(|c| {
            format!(
                "{} {} {} {}",
                c.snapshot.repo,
                c.snapshot.commit,
                c.refs.join(","),
                c.bytes
            )
        })
        .collect();
    let five = if cfg!(unix) { 5 } else { 10 };
    assert_eq!(
        lines,
        [
            format!("gpt2 {COMMIT}  {five}"),
            format!("z/b {COMMIT} main,refs/pr/1 25"),
            format!("z/b {other} old 5"),
        ]
    );
}
