//! What is asked of the hub?

use std::ops::Range;
use std::time::Duration;

use futures_util::{Stream, TryStreamExt};
use hf_hub::repository::{HFRepository, RepoTypeModel};
use hf_hub::{HFClient, HFError};
use reqwest::header::{ACCEPT_ENCODING, CONTENT_LENGTH, ETAG, HeaderMap, LOCATION, RETRY_AFTER};
use reqwest::redirect::Policy;
use reqwest::{Response, Url};

use super::super::id::as_commit;
use super::super::{Asked, HubError, ModelId, Settings, Watch};
use super::blob::Etag;
use super::patience::{Failure, Patience};
use super::refusal::{Asker, Refusal, chain, words};

/// Redirects that a request for metadata follows.
const REDIRECTS: usize = 10;

/// The etag of a large file, on the redirect to its content.
const LINKED_ETAG: &str = "x-linked-etag";

/// Its size.
const LINKED_SIZE: &str = "x-linked-size";

/// A part of a body.
pub(super) type Piece = Result<Vec<u8>, HFError>;

/// One repository of the hub.
pub(super) struct Client<'a> {
    pub(super) id: &'a ModelId,
    pub(super) patience: Patience<'a>,
    pub(super) asker: Asker<'a>,
    token: Option<&'a str>,
    repo: HFRepository<RepoTypeModel>,
    /// The same without a token.
    anonymous: HFRepository<RepoTypeModel>,
    /// Follows nothing: the metadata of a large file stand on the redirect itself.
    head: reqwest::Client,
    base: Url,
}

/// What the hub announces of a file.
pub(super) struct Metadata {
    pub(super) etag: Etag,
    /// In bytes, where it says so.
    pub(super) size: Option<u64>,
    /// Whether somebody else announces it, to whom the hub has redirected.
    pub(super) foreign: bool,
}

impl<'a> Client<'a> {
    pub(super) fn new(
        id: &'a ModelId,
        settings: &'a Settings,
        watch: &Watch<'a>,
    ) -> Result<Self, HubError> {
        let endpoint = |message: String| HubError::Endpoint {
            endpoint: settings.endpoint.clone(),
            message,
        };
        let base = Url::parse(&settings.endpoint).map_err(|error| endpoint(error.to_string()))?;
        if !matches!(base.scheme(), "http" | "https") {
            return Err(endpoint(format!("the scheme is {}", base.scheme())));
        }
        let secret = settings.token.as_ref().map(|token| token.secret());
        if secret.is_some_and(|text| !text.bytes().all(|b| b.is_ascii_graphic())) {
            return Err(HubError::Token);
        }
        let builder = || {
            reqwest::Client::builder()
                .user_agent(concat!("spare/", env!("CARGO_PKG_VERSION")))
                .connect_timeout(settings.limits.stall)
        };
        let built = |error: reqwest::Error| endpoint(chain(&error));
        let repo = |token: Option<&str>| {
            let client = builder().redirect(redirects(token.is_some()));
            let hub = HFClient::builder()
                .client(client.build().map_err(built)?)
                .endpoint(&settings.endpoint)
                // hf-hub 1.0 looks for a token in the environment where it is given none. One that no header can hold
                // is never sent.
                .token(token.unwrap_or("\n"))
                .cache_dir(settings.cache.root())
                .cache_enabled(false)
                // It tries again at once, whatever the hub asks for; `Patience` does it here.
                .retry_max_attempts(0)
                .build()
                .map_err(|error| endpoint(chain(&error)))?;
            Ok(hub.model(id.owner(), id.name()))
        };
        Ok(Self {
            id,
            patience: Patience {
                limits: settings.limits,
                watch: *watch,
            },
            asker: Asker {
                endpoint: &settings.endpoint,
                token: secret.is_some(),
            },
            token: secret,
            repo: repo(secret)?,
            anonymous: repo(None)?,
            head: builder().redirect(Policy::none()).build().map_err(built)?,
            base,
        })
    }

    pub(super) fn asked(&self, revision: &str, file: &str) -> Asked {
        Asked {
            repo: self.id.repo(),
            revision: revision.to_owned(),
            file: file.to_owned(),
        }
    }

    /// The commit of the revision, and the names of its files.
    pub(super) async fn list(&self, attempts: u32) -> Result<(String, Vec<String>), HubError> {
        let asked = || self.asked(self.id.revision(), "");
        let attempt = async || {
            let request = self.repo.info().revision(self.id.revision()).send();
            match self.patience.within(request).await {
                Ok(Ok(info)) => Ok(info),
                Ok(Err(error)) => Err(self.asker.of(asked(), error)),
                Err(by) => Err(self.patience.interrupted(asked(), by, 0)),
            }
        };
        let info = self.patience.retrying(attempts, attempt).await?;
        let wrong = |what, found: Option<String>, expected| {
            let found = found.unwrap_or_else(|| "nothing".into());
            self.asker.answer(asked(), what, found, expected)
        };
        let Some(commit) = info.sha.as_deref().and_then(as_commit) else {
            return Err(wrong("sha", info.sha, "a commit of 40 hexadecimal digits"));
        };
        let Some(files) = info.siblings else {
            return Err(wrong("siblings", None, "the files of the repository"));
        };
        Ok((commit, files.into_iter().map(|f| f.rfilename).collect()))
    }

    /// Etag and size of a file. hf-hub has `get_file_metadata` for it, which in 1.0 follows the redirect of a large file
    /// to a place that knows neither.
    pub(super) async fn metadata(&self, commit: &str, file: &str) -> Result<Metadata, HubError> {
        let attempt = async || {
            let asked = || self.asked(commit, file);
            let (response, foreign) = self.head(commit, file).await?;
            let status = response.status();
            let text = |name| header(response.headers(), name);
            if !status.is_success() && text(LINKED_ETAG).is_none() {
                let refusal = Refusal {
                    status: status.as_u16(),
                    code: text("x-error-code"),
                    message: text("x-error-message").unwrap_or_default(),
                    retry_after: text(RETRY_AFTER.as_str())
                        .and_then(|seconds| seconds.trim().parse().ok())
                        .map(Duration::from_secs),
                };
                return Err(self.asker.status(asked(), refusal));
            }
            let etag = text(LINKED_ETAG).or_else(|| text(ETAG.as_str()));
            let Some(etag) = etag.as_deref().and_then(Etag::parse) else {
                let found = etag.unwrap_or_else(|| "nothing".into());
                let expected = "a SHA-256 or a git blob id, without which nothing can be checked";
                let answer = self.asker.answer(asked(), "etag", words(&found), expected);
                return Err(answer.into());
            };
            // The length of a redirect is not that of the file.
            let length = text(CONTENT_LENGTH.as_str()).filter(|_| status.is_success());
            let size = text(LINKED_SIZE).or(length);
            Ok(Metadata {
                etag,
                size: size.and_then(|size| size.parse().ok()),
                foreign,
            })
        };
        let attempts = self.patience.limits.attempts;
        self.patience.retrying(attempts, attempt).await
    }

    /// Follows redirects up to the answer that has the metadata. The token stays with the hub; also, whether another gives
    /// that answer.
    async fn head(&self, commit: &str, file: &str) -> Result<(Response, bool), Failure> {
        let asked = || self.asked(commit, file);
        let mut url = self.base.clone();
        if let Ok(mut path) = url.path_segments_mut() {
            let parts = [self.id.owner(), self.id.name(), "resolve", commit, file];
            path.pop_if_empty().extend(parts);
        }
        for _ in 0..=REDIRECTS {
            let mut request = self.head.head(url.clone());
            request = request.header(ACCEPT_ENCODING, "identity");
            let foreign = url.origin() != self.base.origin();
            if let Some(token) = self.token.filter(|_| !foreign) {
                request = request.bearer_auth(token);
            }
            let response = match self.patience.within(request.send()).await {
                Ok(Ok(response)) => response,
                Ok(Err(error)) => return Err(self.asker.request(asked(), &error)),
                Err(by) => return Err(self.patience.interrupted(asked(), by, 0)),
            };
            let headers = response.headers();
            let target = header(headers, LOCATION.as_str())
                .filter(|_| response.status().is_redirection())
                .filter(|_| !headers.contains_key(LINKED_ETAG))
                .and_then(|target| url.join(&target).ok());
            match target {
                Some(target) => url = target,
                None => return Ok((response, foreign)),
            }
        }
        let found = format!("more than {REDIRECTS}");
        let answer = self.asker.answer(asked(), "redirects", found, "a few");
        Err(answer.into())
    }

    /// The bytes of a file, or those in `range`. The length is that of the body, where the hub says it. What is `foreign`
    /// needs no token of the hub.
    pub(super) async fn stream(
        &self,
        commit: &str,
        file: &str,
        foreign: bool,
        range: Option<Range<u64>>,
    ) -> Result<(Option<u64>, impl Stream<Item = Piece> + Unpin), Failure> {
        let repo = if foreign { &self.anonymous } else { &self.repo };
        let request = repo.download_file_stream().filename(file);
        let request = request.revision(commit).maybe_range(range);
        match self.patience.within(request.send()).await {
            Ok(Ok((length, body))) => Ok((length, body.map_ok(|piece| piece.to_vec()))),
            Ok(Err(error)) => Err(self.asker.of(self.asked(commit, file), error)),
            Err(by) => Err(self.patience.interrupted(self.asked(commit, file), by, 0)),
        }
    }
}

/// reqwest takes the token off where a redirect leads to another host, and puts it back where that host redirects to
/// itself (seen in 0.13.5). Such a second step is refused.
fn redirects(token: bool) -> Policy {
    Policy::custom(move |attempt| {
        let known = attempt.previous();
        let (first, last) = (known.first(), known.last());
        let stays = |url: &Url| url.origin() == attempt.url().origin();
        let leaks = last.is_some_and(stays) && !first.is_some_and(stays);
        if known.len() > REDIRECTS {
            attempt.error(format!("more than {REDIRECTS}"))
        } else if token && leaks {
            let host = attempt.url().host_str().unwrap_or_default().to_owned();
            attempt.error(format!(
                "{host} redirects to itself, and the token would go along"
            ))
        } else {
            attempt.follow()
        }
    })
}

fn header(headers: &HeaderMap, name: &str) -> Option<String> {
    headers.get(name)?.to_str().ok().map(str::to_owned)
}
