//! Who gets the token, and who does not?

use spare_models::hub::{HubError, Token};
use tempfile::TempDir;

use super::server::Fault;
use super::{REPO, get, hub, settings};

#[test]
fn the_token_goes_to_the_hub_and_to_nobody_else() {
    let (hub, cache) = (hub(), TempDir::new().unwrap());
    let mut settings = settings(&hub, cache.path());
    settings.token = Token::new(" hf_secret\n");
    get(&settings, REPO).unwrap();
    let log = hub.log();
    let sent = |content| {
        let of = log.iter().filter(move |r| r.content == content);
        of.map(|r| r.headers.get("authorization").map(String::as_str))
            .collect::<Vec<_>>()
    };
    assert!(sent(false).len() > 10);
    assert!(sent(false).iter().all(|t| *t == Some("Bearer hf_secret")));
    assert!(sent(true).len() >= 2);
    assert!(sent(true).iter().all(Option::is_none), "{log:?}");
    assert!(!format!("{settings:?}").contains("hf_secret"));
}

#[test]
fn a_hub_that_redirects_everything_elsewhere_does_not_take_the_token_along() {
    let (mirror, hub, cache) = (hub(), hub(), TempDir::new().unwrap());
    let mut settings = settings(&mirror, cache.path());
    settings.token = Token::new("hf_secret");
    let path = format!("/{REPO}/resolve/{}/config.json", super::FIRST);
    let elsewhere = Fault::Status(
        308,
        vec![("Location", format!("{}{path}", hub.endpoint()))],
        "",
    );
    mirror.fault("HEAD", "/config.json", 99, elsewhere.clone());
    mirror.fault("GET", "/config.json", 99, elsewhere);
    get(&settings, REPO).unwrap();
    let log = hub.log();
    assert!(!log.is_empty());
    let with_token = |r: &super::Request| r.headers.contains_key("authorization");
    assert!(!log.iter().any(with_token), "{log:?}");
}

/// reqwest would put the token back on the second step.
#[test]
fn content_that_is_redirected_again_is_refused_with_a_token() {
    let (hub, cache) = (hub(), TempDir::new().unwrap());
    let mut settings = settings(&hub, cache.path());
    let again = Fault::Status(302, vec![("Location", "/blobs/elsewhere".into())], "");
    hub.fault("GET", "/blobs/", 1, again);
    settings.token = Token::new("hf_secret");
    let error = get(&settings, REPO).unwrap_err();
    let redirects = matches!(
        &error,
        HubError::Answer {
            what: "redirects",
            ..
        }
    );
    assert!(redirects, "{error:?}");
    assert!(error.to_string().contains("token"), "{error}");
    let log = hub.log();
    let content: Vec<_> = log.iter().filter(|r| r.content).collect();
    assert!(!content.is_empty());
    let with_token = |r: &&super::Request| r.headers.contains_key("authorization");
    assert!(!content.iter().any(with_token), "{log:?}");
}

#[test]
fn a_token_that_no_header_can_hold_is_refused() {
    let (hub, cache) = (hub(), TempDir::new().unwrap());
    let mut settings = settings(&hub, cache.path());
    settings.token = Token::new("hf_a\nX-Evil: b");
    let error = get(&settings, REPO).unwrap_err();
    assert!(matches!(error, HubError::Token), "{error:?}");
    assert_eq!(hub.log().len(), 0);
}

/// The library reads no environment: a token that stands there belongs to whoever put it there.
#[test]
fn no_token_is_taken_from_the_environment() {
    const ASKED: &str = "SPARE_TEST_ENVIRONMENT_TOKEN";
    if std::env::var_os(ASKED).is_none() {
        let name = "token::no_token_is_taken_from_the_environment";
        let again = std::process::Command::new(std::env::current_exe().unwrap())
            .args([name, "--exact"])
            .envs([(ASKED, "1"), ("HF_TOKEN", "hf_from_the_environment")])
            .output()
            .unwrap();
        let says = String::from_utf8_lossy(&again.stdout);
        assert!(again.status.success(), "{says}");
        assert!(says.contains("1 passed"), "{says}");
        return;
    }
    let (hub, cache) = (hub(), TempDir::new().unwrap());
    get(&settings(&hub, cache.path()), REPO).unwrap();
    let log = hub.log();
    assert!(log.len() > 10);
    let with_token = |r: &super::Request| r.headers.contains_key("authorization");
    assert!(!log.iter().any(with_token), "{log:?}");
}
