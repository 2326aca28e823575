//! What is final, what does it say, and what is left behind?

use std::fs;

use spare_models::hub::HubError;
use tempfile::TempDir;

use super::server::{Fault, Files, git_blob, sha256};
use super::{FIRST, REPO, SECOND, get, hub, nothing_is_there, settings, single, tree, weights};

fn status(status: u16, code: &str, message: &str) -> Fault {
    let headers = vec![
        ("x-error-code", code.to_owned()),
        ("x-error-message", message.to_owned()),
    ];
    Fault::Status(status, headers, "")
}

/// The error of a download in which one kind of request is refused; it is asked once only.
fn refused(method: &'static str, part: &str, fault: Fault, token: bool) -> HubError {
    let (hub, cache) = (hub(), TempDir::new().unwrap());
    let mut settings = settings(&hub, cache.path());
    settings.token = token.then(|| spare_models::hub::Token::new("hf_secret").unwrap());
    hub.fault(method, part, 99, fault);
    let error = get(&settings, REPO).unwrap_err();
    let log = hub.log();
    let asked = |r: &&super::Request| r.method == method && r.path.contains(part);
    assert_eq!(log.iter().filter(asked).count(), 1, "{error}");
    nothing_is_there(&settings, REPO);
    assert!(!cache.path().join("models--some-lab--Tiny-VL/refs").exists());
    error
}

fn says(error: &HubError, parts: &[&str]) {
    let text = error.to_string();
    for part in parts {
        assert!(text.contains(part), "`{text}` lacks `{part}`");
    }
    assert!(!text.contains("hf_secret"), "{text}");
}

#[test]
fn unknown_askers_are_told_about_tokens() {
    let fault = || status(401, "", "Invalid username or password.");
    let error = refused("GET", "/api/", fault(), false);
    assert!(matches!(
        error,
        HubError::Unauthorized {
            status: 401,
            token: false,
            ..
        }
    ));
    says(&error, &[REPO, "401", "Invalid username", "give a token"]);
    let error = refused("HEAD", "/model.safetensors", fault(), true);
    assert!(matches!(error, HubError::Unauthorized { token: true, .. }));
    says(&error, &["model.safetensors", "refuses the token"]);
    let error = refused("GET", "/blobs/", status(403, "", "expired"), true);
    says(&error, &["403", "expired", "tokenizer.json"]);
}

#[test]
fn a_gated_repository_names_its_page() {
    for (number, method, part) in [
        (401, "HEAD", "/config.json"),
        (403, "HEAD", "/config.json"),
        (403, "GET", "/api/models"),
    ] {
        let error = refused(method, part, status(number, "GatedRepo", "no"), true);
        let HubError::Gated { status, page, .. } = &error else {
            panic!("{error:?}");
        };
        assert_eq!(*status, number);
        assert!(page.starts_with("http://127.0.0.1:") && page.ends_with(REPO));
        says(&error, &["gated", "licence", page, &number.to_string()]);
    }
}

#[test]
fn what_is_not_there_is_named() {
    let (hub, cache) = (hub(), TempDir::new().unwrap());
    let settings = settings(&hub, cache.path());
    for model in ["some-lab/other", "some-lab/Tiny-VL@v9"] {
        let error = get(&settings, model).unwrap_err();
        assert!(matches!(error, HubError::NotFound { .. }), "{error:?}");
        let (repo, revision) = model.split_once('@').unwrap_or((model, "main"));
        says(&error, &[repo, revision, "404"]);
    }
    let error = refused("HEAD", "/tokenizer.json", status(404, "", ""), false);
    says(&error, &["tokenizer.json", "404"]);
    let error = refused("HEAD", "/config.json", status(418, "", "a teapot"), false);
    assert!(matches!(error, HubError::Status { status: 418, .. }));
    says(&error, &["config.json", "418", "a teapot"]);
}

#[test]
fn content_that_is_not_what_was_announced_is_removed() {
    let config = b"{\"architectures\": []}";
    for (part, file, algorithm, sum) in [
        (
            sha256(&weights()),
            "model.safetensors",
            "sha256",
            sha256(&weights()),
        ),
        (
            "/cached/some-lab/Tiny-VL/resolve/1111111111111111111111111111111111111111/config.json"
                .into(),
            "config.json",
            "git blob sha1",
            git_blob(config),
        ),
    ] {
        let (hub, cache) = (hub(), TempDir::new().unwrap());
        let settings = settings(&hub, cache.path());
        hub.fault("GET", &part, 99, Fault::Corrupt);
        let error = get(&settings, REPO).unwrap_err();
        let HubError::Checksum {
            asked,
            algorithm: found_algorithm,
            found,
            expected,
        } = &error
        else {
            panic!("{error:?}");
        };
        assert_eq!(asked.file, file);
        assert_eq!((*found_algorithm, expected), (algorithm, &sum));
        assert_ne!(found, expected);
        says(&error, &[file, found, expected, algorithm]);
        nothing_is_there(&settings, REPO);
        let left = tree(cache.path());
        let of = |name: &str| left.iter().any(|(path, _)| path.contains(name));
        assert!(!of(&sum) && !of(file) && !of("incomplete"), "{left:?}");
    }
}

#[test]
fn an_etag_that_cannot_be_checked_is_refused() {
    for etag in ["\"abc\"", "../../../../evil", "W/\"xyz\"", ""] {
        let (hub, cache) = (hub(), TempDir::new().unwrap());
        let settings = settings(&hub, cache.path());
        let fault = Fault::Header("X-Linked-Etag", etag.into());
        hub.fault("HEAD", "/model.safetensors", 99, fault);
        let error = get(&settings, REPO).unwrap_err();
        assert!(
            matches!(&error, HubError::Answer { what: "etag", .. }),
            "{error:?}"
        );
        says(&error, &["model.safetensors", &hub.endpoint()]);
        nothing_is_there(&settings, REPO);
    }
}

#[test]
fn answers_that_no_hub_gives() {
    for (body, what) in [
        ("<html>Sign in to the network</html>", "body"),
        ("{\"id\": \"a/b\", \"siblings\": []}", "sha"),
        (
            "{\"id\": \"a/b\", \"sha\": \"../../etc\", \"siblings\": []}",
            "sha",
        ),
        (
            "{\"id\": \"a/b\", \"sha\": \"1111111111111111111111111111111111111111\"}",
            "siblings",
        ),
    ] {
        let error = refused("GET", "/api/", Fault::Status(200, vec![], body), false);
        assert!(
            matches!(&error, HubError::Answer { what: found, .. } if *found == what),
            "{body}: {error:?}"
        );
    }
    let around = Fault::Status(
        302,
        vec![("Location", "/some-lab/Tiny-VL/resolve/x/config.json".into())],
        "",
    );
    let (hub, cache) = (hub(), TempDir::new().unwrap());
    hub.fault("HEAD", "/config.json", 99, around);
    let error = get(&settings(&hub, cache.path()), REPO).unwrap_err();
    assert!(matches!(
        error,
        HubError::Answer {
            what: "redirects",
            ..
        }
    ));
}

#[test]
fn repositories_without_a_checkpoint() {
    let gguf: Files = vec![
        ("README.md", b"#".to_vec(), false),
        ("tiny-Q4_K_M.gguf", weights(), true),
        ("tiny-f16.gguf", weights(), true),
    ];
    let mut no_tokenizer = single();
    no_tokenizer.retain(|(name, _, _)| *name != "tokenizer.json");
    let mut no_template = single();
    no_template
        .retain(|(name, _, _)| !name.contains("template") && *name != "tokenizer_config.json");
    for (files, parts) in [
        (
            gguf,
            &["GGUF", "tiny-Q4_K_M.gguf, tiny-f16.gguf", "config.json"][..],
        ),
        (no_tokenizer, &["found no tokenizer.json", "README.md"]),
        (no_template, &["chat_template.jinja"]),
        (vec![], &["is empty"]),
    ] {
        let (hub, cache) = (hub(), TempDir::new().unwrap());
        let settings = settings(&hub, cache.path());
        hub.commit(REPO, "main", SECOND, files);
        let error = get(&settings, REPO).unwrap_err();
        assert!(matches!(error, HubError::NoCheckpoint { .. }), "{error:?}");
        says(&error, parts);
        // Before anything is fetched.
        assert_eq!(hub.log().len(), 1);
    }
}

#[test]
fn an_index_cannot_name_files_elsewhere() {
    for name in [
        "../../evil.safetensors",
        "/evil.safetensors",
        "a.bin",
        ".x.safetensors",
    ] {
        let (hub, cache) = (hub(), TempDir::new().unwrap());
        let mut files = single();
        files.retain(|(name, _, _)| *name != "model.safetensors");
        let index = serde_json::json!({"weight_map": {"a": name}}).to_string();
        files.push(("model.safetensors.index.json", index.into_bytes(), false));
        hub.commit(REPO, "main", FIRST, files);
        let error = get(&settings(&hub, cache.path()), REPO).unwrap_err();
        assert!(matches!(error, HubError::Index { .. }), "{error:?}");
        says(&error, &["model.safetensors.index.json", name]);
    }
}

#[test]
fn an_address_that_is_none_and_a_cache_that_cannot_be_written() {
    let (hub, cache) = (hub(), TempDir::new().unwrap());
    let mut bad = settings(&hub, cache.path());
    for endpoint in ["huggingface.co", "ftp://127.0.0.1", "http://"] {
        bad.endpoint = endpoint.into();
        let error = get(&bad, REPO).unwrap_err();
        assert!(matches!(error, HubError::Endpoint { .. }), "{error:?}");
    }
    let file = cache.path().join("a-file");
    fs::write(&file, "").unwrap();
    let error = get(&settings(&hub, &file), REPO).unwrap_err();
    assert!(matches!(error, HubError::Io { .. }), "{error:?}");
    says(&error, &["a-file"]);
}
