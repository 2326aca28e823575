//! Which cache, which hub, whose token?

use std::fmt;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::{HubCache, HubError};

/// The hub unless another is named.
const ENDPOINT: &str = "https://huggingface.co";

/// Everything that a download depends on beside the name.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Where snapshots lie.
    pub cache: HubCache,
    /// Address of the hub, with or without a path.
    pub endpoint: String,
    /// Sent to the endpoint, never to the place that it redirects to.
    pub token: Option<Token>,
    /// Whether the cache alone has to do.
    pub offline: bool,
    /// How patient a download is.
    pub limits: Limits,
}

/// How patient a download is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// A connection, an answer or the next piece of a body may take this long.
    pub stall: Duration,
    /// Attempts in a row that bring nothing new before the download gives up; at least one is made.
    pub attempts: u32,
    /// The wait before the second attempt; it doubles with each one.
    pub backoff: Duration,
    /// The longest wait that a hub may ask for (`Retry-After`).
    pub longest_wait: Duration,
}

impl Default for Limits {
    /// 30 s without a byte, 5 attempts from half a second on, 5 minutes asked for.
    fn default() -> Self {
        Self {
            stall: Duration::from_secs(30),
            attempts: 5,
            backoff: Duration::from_millis(500),
            longest_wait: Duration::from_secs(300),
        }
    }
}

/// An access token. It is never printed.
#[derive(Clone, PartialEq, Eq)]
pub struct Token(String);

impl Token {
    /// The token without the white space around it, which files and shells leave there; none where nothing remains.
    pub fn new(text: &str) -> Option<Self> {
        Some(text.trim())
            .filter(|t| !t.is_empty())
            .map(|t| Self(t.into()))
    }

    /// The secret itself.
    pub fn secret(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(..)")
    }
}

impl Settings {
    /// The public hub, no token, online.
    pub fn new(cache: HubCache) -> Self {
        Self {
            cache,
            endpoint: ENDPOINT.into(),
            token: None,
            offline: false,
            limits: Limits::default(),
        }
    }

    /// What the variables of huggingface_hub ask for; `env` gives the value of one. An empty value counts as none.
    ///
    /// Cache: `HF_HUB_CACHE`, `HUGGINGFACE_HUB_CACHE`, `$HF_HOME/hub`, `$XDG_CACHE_HOME/huggingface/hub`,
    /// `~/.cache/huggingface/hub`. Token: `HF_TOKEN`, the file `HF_TOKEN_PATH`, the file `token` beside the cache's
    /// default place; none with `HF_HUB_DISABLE_IMPLICIT_TOKEN`. Hub: `HF_ENDPOINT`. Offline: `HF_HUB_OFFLINE`, else
    /// `TRANSFORMERS_OFFLINE`; `1`, `on`, `yes` and `true` count, in any case.
    ///
    /// # Errors
    /// [`HubError::NoHome`] where nothing says where the cache is, [`HubError::Io`] for a token file that cannot be read.
    pub fn from_env(env: impl Fn(&str) -> Option<String>) -> Result<Self, HubError> {
        let get = |name: &str| env(name).filter(|value| !value.is_empty());
        let truthy = |name: &str| {
            get(name).map(|value| {
                ["1", "ON", "YES", "TRUE"].contains(&value.to_ascii_uppercase().as_str())
            })
        };
        let home = get("HOME").or_else(|| get("USERPROFILE"));
        let path = |name: &str| get(name).map(|value| expand(&value, home.as_deref()));
        let hf_home = path("HF_HOME")
            .or_else(|| path("XDG_CACHE_HOME").map(|cache| cache.join("huggingface")))
            .or_else(|| {
                home.as_deref()
                    .map(|h| Path::new(h).join(".cache/huggingface"))
            });
        let root = path("HF_HUB_CACHE")
            .or_else(|| path("HUGGINGFACE_HUB_CACHE"))
            .or_else(|| hf_home.as_ref().map(|home| home.join("hub")))
            .ok_or(HubError::NoHome)?;
        let token = match get("HF_TOKEN").as_deref().and_then(Token::new) {
            _ if truthy("HF_HUB_DISABLE_IMPLICIT_TOKEN") == Some(true) => None,
            Some(token) => Some(token),
            None => {
                match path("HF_TOKEN_PATH").or_else(|| hf_home.map(|home| home.join("token"))) {
                    Some(file) => token_in(file)?,
                    None => None,
                }
            }
        };
        let mut settings = Self::new(HubCache::new(root));
        if let Some(endpoint) = get("HF_ENDPOINT") {
            settings.endpoint = endpoint.trim_end_matches('/').to_owned();
        }
        settings.token = token;
        settings.offline = truthy("HF_HUB_OFFLINE")
            .or_else(|| truthy("TRANSFORMERS_OFFLINE"))
            .unwrap_or(false);
        Ok(settings)
    }
}

fn expand(path: &str, home: Option<&str>) -> PathBuf {
    match (path.strip_prefix('~'), home) {
        (Some(""), Some(home)) => home.into(),
        (Some(rest), Some(home)) if rest.starts_with('/') => format!("{home}{rest}").into(),
        _ => path.into(),
    }
}

fn token_in(file: PathBuf) -> Result<Option<Token>, HubError> {
    match std::fs::read_to_string(&file) {
        Ok(text) => Ok(Token::new(&text)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(source) => Err(HubError::Io {
            path: file,
            action: "reading the token",
            source,
        }),
    }
}
