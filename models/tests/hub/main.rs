//! Downloads from a small hub on the loopback interface: what arrives, what is refused, what goes on where it broke off.
#![cfg(feature = "hub")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod layout;
mod passing;
mod python;
mod refused;
mod resume;
mod server;
mod token;

use std::fs;
use std::path::Path;
use std::time::Duration;

use server::{Files, Hub, Request};
use spare_models::hub::{HubCache, HubError, ModelId, Resolved, Settings, Watch, resolve};

/// The repository of most tests.
pub const REPO: &str = "some-lab/Tiny-VL";
/// Its first commit.
pub const FIRST: &str = "1111111111111111111111111111111111111111";
/// Another commit.
pub const SECOND: &str = "2222222222222222222222222222222222222222";

/// Bytes that repeat nowhere.
pub fn noise(seed: u64, length: usize) -> Vec<u8> {
    let mut state = seed;
    let next = |_| {
        state = state
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        (state >> 56) as u8
    };
    (0..length).map(next).collect()
}

/// The weights of [`single`].
pub fn weights() -> Vec<u8> {
    noise(1, 300_000)
}

/// A repository with all weights in one file, and with files that nobody asks for.
pub fn single() -> Files {
    vec![
        (".gitattributes", b"* text".to_vec(), false),
        ("README.md", b"# Tiny".to_vec(), false),
        ("chat_template.jinja", b"{{ messages }}".to_vec(), false),
        ("config.json", b"{\"architectures\": []}".to_vec(), false),
        ("generation_config.json", b"{\"eos\": 1}".to_vec(), false),
        ("model.safetensors", weights(), true),
        ("preprocessor_config.json", b"{\"size\": 1}".to_vec(), false),
        ("pytorch_model.bin", noise(2, 1000), true),
        // Large on the hub, as real ones are.
        ("tokenizer.json", noise(3, 20_000), true),
        ("tokenizer_config.json", b"{\"a\": 1}".to_vec(), false),
    ]
}

/// Only what a checkpoint needs of [`single`].
pub const WANTED: [&str; 7] = [
    "chat_template.jinja",
    "config.json",
    "generation_config.json",
    "model.safetensors",
    "preprocessor_config.json",
    "tokenizer.json",
    "tokenizer_config.json",
];

/// A hub whose `main` of [`REPO`] is [`single`] at [`FIRST`].
pub fn hub() -> Hub {
    let hub = Hub::start();
    hub.commit(REPO, "main", FIRST, single());
    hub
}

/// Patient enough for a busy machine, quick to try again.
pub fn settings(hub: &Hub, cache: &Path) -> Settings {
    let mut settings = Settings::new(HubCache::new(cache));
    settings.endpoint = hub.endpoint();
    settings.limits.stall = Duration::from_secs(10);
    settings.limits.backoff = Duration::from_millis(1);
    settings.limits.attempts = 3;
    settings
}

/// A well-formed name.
pub fn id(text: &str) -> ModelId {
    ModelId::parse(text).unwrap()
}

/// Resolves a name with nobody watching.
pub fn get(settings: &Settings, model: &str) -> Result<Resolved, HubError> {
    resolve(&id(model), settings, &Watch::none())
}

/// Requests for content, by file or etag.
pub fn bodies(log: &[Request]) -> Vec<&Request> {
    let is_body = |r: &&Request| r.method == "GET" && !r.path.starts_with("/api/");
    log.iter().filter(is_body).collect()
}

/// Every file and link below a folder, with content or target, locks left out.
pub fn tree(folder: &Path) -> Vec<(String, String)> {
    let mut out = Vec::new();
    let mut stack = vec![folder.to_owned()];
    while let Some(next) = stack.pop() {
        for entry in fs::read_dir(&next).unwrap() {
            let path = entry.unwrap().path();
            let name = path.strip_prefix(folder).unwrap().display().to_string();
            if name == ".locks" {
                continue;
            }
            if let Ok(target) = fs::read_link(&path) {
                out.push((name, format!("-> {}", target.display())));
            } else if path.is_dir() {
                stack.push(path);
            } else {
                out.push((name, server::sha256(&fs::read(&path).unwrap())));
            }
        }
    }
    out.sort();
    out
}

/// Nothing of a failed download may look like a model.
pub fn nothing_is_there(settings: &Settings, model: &str) {
    let found = settings.cache.snapshot(&id(model)).unwrap();
    let complete = found.is_some_and(|s| s.missing().unwrap().is_empty());
    assert!(!complete, "{model} looks complete");
}
