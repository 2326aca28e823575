//! Does a download go on where it broke off, and only from what is sound?

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use spare_models::hub::{HubError, Settings, Transfer, Watch, resolve};
use tempfile::TempDir;

use super::server::{Fault, Hub, sha256};
use super::{FIRST, REPO, bodies, get, hub, id, nothing_is_there, settings, weights};

/// Where what has arrived of the weights lies.
fn partial(cache: &Path) -> PathBuf {
    let name = format!("{}.incomplete", sha256(&weights()));
    cache.join("models--some-lab--Tiny-VL/blobs").join(name)
}

/// What was asked for of the weights' content, by range.
fn ranges(hub: &Hub) -> Vec<Option<String>> {
    let path = format!("/blobs/{}", sha256(&weights()));
    let log = hub.log();
    let of = bodies(&log).into_iter().filter(|r| r.path == path);
    of.map(|r| r.headers.get("range").cloned()).collect()
}

fn arrives(settings: &Settings) {
    let folder = get(settings, REPO).unwrap().snapshot.folder;
    let arrived = fs::read(folder.join("model.safetensors")).unwrap();
    assert_eq!(sha256(&arrived), sha256(&weights()));
    assert!(!partial(settings.cache.root()).exists());
}

#[test]
fn a_broken_body_is_gone_on_from() {
    let (hub, cache) = (hub(), TempDir::new().unwrap());
    let etag = sha256(&weights());
    hub.fault("GET", &etag, 1, Fault::Truncated(100_000));
    arrives(&settings(&hub, cache.path()));
    let rest = Some("bytes=100000-299999".to_owned());
    assert_eq!(ranges(&hub), [None, rest]);
}

#[test]
fn every_attempt_that_brings_something_earns_another() {
    let (hub, cache) = (hub(), TempDir::new().unwrap());
    let etag = sha256(&weights());
    // More breaks than attempts in a row.
    hub.fault("GET", &etag, 7, Fault::Truncated(30_000));
    arrives(&settings(&hub, cache.path()));
    assert_eq!(ranges(&hub).len(), 8);
}

#[test]
fn another_run_goes_on_from_what_one_has_left() {
    let (hub, cache) = (hub(), TempDir::new().unwrap());
    let mut settings = settings(&hub, cache.path());
    settings.limits.attempts = 1;
    let etag = sha256(&weights());
    hub.fault("GET", &etag, 1, Fault::Truncated(123_456));
    let error = get(&settings, REPO).unwrap_err();
    assert!(
        matches!(&error, HubError::Length { asked, found: 123_456, expected: 300_000, .. } if asked.file == "model.safetensors"),
        "{error:?}"
    );
    nothing_is_there(&settings, REPO);
    let left = fs::read(partial(cache.path())).unwrap();
    assert!(left == weights()[..123_456]);
    hub.log();
    arrives(&settings);
    assert_eq!(ranges(&hub), [Some("bytes=123456-299999".to_owned())]);
}

#[test]
fn what_is_damaged_is_fetched_from_the_start() {
    let (hub, cache) = (hub(), TempDir::new().unwrap());
    let settings = settings(&hub, cache.path());
    let path = partial(cache.path());
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let mut left = weights()[..50_000].to_vec();
    left[777] ^= 1;
    fs::write(&path, left).unwrap();
    arrives(&settings);
    let asked = Some("bytes=50000-299999".to_owned());
    assert_eq!(ranges(&hub), [asked, None]);
}

#[test]
fn what_is_longer_than_the_file_is_none_of_it() {
    let (hub, cache) = (hub(), TempDir::new().unwrap());
    let path = partial(cache.path());
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, vec![0; 300_001]).unwrap();
    arrives(&settings(&hub, cache.path()));
    assert_eq!(ranges(&hub), [None]);
}

#[test]
fn a_whole_file_that_only_lacked_its_name_is_not_fetched() {
    let (hub, cache) = (hub(), TempDir::new().unwrap());
    let path = partial(cache.path());
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, weights()).unwrap();
    arrives(&settings(&hub, cache.path()));
    assert_eq!(ranges(&hub), []);
}

#[test]
fn a_hub_that_knows_no_ranges_sends_everything_once() {
    let (hub, cache) = (hub(), TempDir::new().unwrap());
    let etag = sha256(&weights());
    hub.fault("GET", &etag, 1, Fault::Truncated(100_000));
    hub.fault("GET", &etag, 1, Fault::Whole);
    arrives(&settings(&hub, cache.path()));
    assert_eq!(ranges(&hub).len(), 2);
}

#[test]
fn a_body_without_a_length_arrives() {
    let (hub, cache) = (hub(), TempDir::new().unwrap());
    hub.fault("GET", "/blobs/", 9, Fault::Unsized);
    hub.fault("HEAD", "/cached/", 9, Fault::Unsized);
    hub.fault("GET", "/cached/", 9, Fault::Unsized);
    arrives(&settings(&hub, cache.path()));
}

#[test]
fn cancelling_keeps_what_has_arrived() {
    let (hub, cache) = (hub(), TempDir::new().unwrap());
    let settings = settings(&hub, cache.path());
    let etag = sha256(&weights());
    hub.fault("GET", &etag, 1, Fault::Stalled(Some(90_000)));
    let cancel = AtomicBool::new(false);
    let report = |t: Transfer<'_>| {
        // Of everything before the weights there are less than 21,000 bytes.
        cancel.store(t.done >= 90_000, Ordering::Relaxed);
    };
    let watch = Watch::none().with_cancel(&cancel).with_progress(&report);
    let error = resolve(&id(REPO), &settings, &watch).unwrap_err();
    assert!(matches!(error, HubError::Cancelled), "{error:?}");
    nothing_is_there(&settings, &format!("{REPO}@{FIRST}"));
    let left = fs::metadata(partial(cache.path())).unwrap().len();
    assert!((60_000..=90_000).contains(&left), "{left}");
    hub.log();
    arrives(&settings);
    assert_eq!(ranges(&hub), [Some(format!("bytes={left}-299999"))]);
}
