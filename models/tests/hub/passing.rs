//! What is tried again, after which wait, and when is it given up?

use std::time::{Duration, Instant};

use spare_models::hub::HubError;
use tempfile::TempDir;

use super::server::{Fault, sha256};
use super::{REPO, get, hub, nothing_is_there, settings, weights};

fn after(seconds: &str) -> Fault {
    Fault::Status(429, vec![("Retry-After", seconds.into())], "slow down")
}

#[test]
fn the_wait_that_a_hub_asks_for_is_kept() {
    for (method, part) in [
        ("GET", "/api/models/"),
        ("HEAD", "/config.json"),
        ("GET", "/blobs/"),
    ] {
        let (hub, cache) = (hub(), TempDir::new().unwrap());
        hub.fault(method, part, 1, after("1"));
        let start = Instant::now();
        get(&settings(&hub, cache.path()), REPO).unwrap();
        let took = start.elapsed();
        assert!(took >= Duration::from_secs(1), "{method} {part}: {took:?}");
    }
}

#[test]
fn a_hub_that_asks_for_too_much_is_given_up_at_once() {
    let (hub, cache) = (hub(), TempDir::new().unwrap());
    hub.fault("HEAD", "/config.json", 1, after("3600"));
    let settings = settings(&hub, cache.path());
    let start = Instant::now();
    let error = get(&settings, REPO).unwrap_err();
    assert!(start.elapsed() < Duration::from_secs(60));
    let HubError::RateLimited {
        asked,
        attempts: 1,
        asks_for: Some(3600),
    } = &error
    else {
        panic!("{error:?}");
    };
    assert_eq!(
        (asked.repo.as_str(), asked.file.as_str()),
        (REPO, "config.json")
    );
    for part in [REPO, "config.json", "429", "3600 s"] {
        assert!(error.to_string().contains(part), "{error}");
    }
}

#[test]
fn what_does_not_pass_is_given_up() {
    let (hub, cache) = (hub(), TempDir::new().unwrap());
    hub.fault("GET", "/api/", 99, Fault::Status(429, vec![], ""));
    let error = get(&settings(&hub, cache.path()), REPO).unwrap_err();
    assert!(
        matches!(
            error,
            HubError::RateLimited {
                attempts: 3,
                asks_for: None,
                ..
            }
        ),
        "{error:?}"
    );
    assert_eq!(hub.log().len(), 3);
}

#[test]
fn a_broken_hub_may_recover() {
    let (hub, cache) = (hub(), TempDir::new().unwrap());
    let broken = |status| Fault::Status(status, vec![("x-error-message", "hold on".into())], "");
    hub.fault("GET", "/api/", 2, broken(503));
    hub.fault("HEAD", "/resolve/", 2, broken(500));
    hub.fault("GET", "/blobs/", 2, broken(502));
    get(&settings(&hub, cache.path()), REPO).unwrap();
    hub.fault("GET", "/api/", 99, broken(503));
    let error = get(&settings(&hub, cache.path()), "some-lab/other").unwrap_err();
    assert!(
        matches!(&error, HubError::Status { status: 503, attempts: 3, message, .. } if message == "hold on"),
        "{error:?}"
    );
    // The cache answers for a hub that is down.
    let resolved = get(&settings(&hub, cache.path()), REPO).unwrap();
    assert!(matches!(
        resolved.unreachable,
        Some(HubError::Status { attempts: 1, .. })
    ));
}

#[test]
fn a_body_that_is_always_too_short_or_too_long_is_given_up() {
    for (first, then, least) in [
        (Fault::Truncated(1000), Fault::Truncated(0), 1000),
        // Everything is there and then some: no attempt may go on from that.
        (Fault::Longer, Fault::Longer, 300_001),
    ] {
        let (hub, cache) = (hub(), TempDir::new().unwrap());
        let settings = settings(&hub, cache.path());
        let etag = sha256(&weights());
        hub.fault("GET", &etag, 1, first);
        hub.fault("GET", &etag, 99, then.clone());
        let error = get(&settings, REPO).unwrap_err();
        let HubError::Length {
            asked,
            found,
            expected: 300_000,
            attempts: 3,
            ..
        } = &error
        else {
            panic!("{then:?}: {error:?}");
        };
        assert_eq!(asked.file, "model.safetensors");
        assert!((least..least + 4).contains(found), "{error:?}");
        assert!(error.to_string().contains(&found.to_string()), "{error}");
        nothing_is_there(&settings, REPO);
    }
}

#[test]
fn a_hub_that_falls_silent_is_left() {
    // Nothing at all, no metadata, no content, half of the content.
    for (method, part, fault) in [
        ("GET", "/api/".to_owned(), Fault::Stalled(None)),
        ("HEAD", "/config.json".to_owned(), Fault::Stalled(None)),
        ("GET", sha256(&weights()), Fault::Stalled(None)),
        ("GET", sha256(&weights()), Fault::Stalled(Some(150_000))),
    ] {
        let (hub, cache) = (hub(), TempDir::new().unwrap());
        let mut settings = settings(&hub, cache.path());
        settings.limits.stall = Duration::from_millis(700);
        settings.limits.attempts = 1;
        hub.fault(method, &part, 1, fault.clone());
        let start = Instant::now();
        let error = get(&settings, REPO).unwrap_err();
        assert!(start.elapsed() < Duration::from_secs(15), "{method} {part}");
        let HubError::Stalled {
            seconds: 0.7, done, ..
        } = error
        else {
            panic!("{method} {part}: {error:?}");
        };
        let expected = match fault {
            Fault::Stalled(Some(at)) => at as u64,
            _ => 0,
        };
        assert_eq!(done, expected, "{method} {part}");
        nothing_is_there(&settings, REPO);
        // It is gone on from when the hub speaks again.
        settings.limits.attempts = 3;
        get(&settings, REPO).unwrap();
    }
}
