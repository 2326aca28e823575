//! What does an answer that is no success mean, and may it be asked again?

use std::error::Error;
use std::time::Duration;

use hf_hub::HFError;

use super::super::{Asked, HubError};
use super::patience::{Failure, Passing, Why};

/// What a refusal's text depends on beside the answer.
pub(super) struct Asker<'a> {
    pub(super) endpoint: &'a str,
    pub(super) token: bool,
}

/// A status that is no success, with what the hub says of it.
pub(super) struct Refusal {
    pub(super) status: u16,
    /// The hub's own code, as in `GatedRepo`.
    pub(super) code: Option<String>,
    pub(super) message: String,
    pub(super) retry_after: Option<Duration>,
}

impl Asker<'_> {
    /// Of a status.
    pub(super) fn status(&self, asked: Asked, refusal: Refusal) -> Failure {
        let Refusal {
            status,
            code,
            message,
            retry_after,
        } = refusal;
        let message = words(&message);
        let gated = code.as_deref() == Some("GatedRepo");
        match status {
            401 | 403 if gated => Failure::Final(HubError::Gated {
                status,
                page: format!("{}/{}", self.endpoint, asked.repo),
                asked: Box::new(asked),
            }),
            401 | 403 => Failure::Final(HubError::Unauthorized {
                asked: Box::new(asked),
                status,
                token: self.token,
                message,
            }),
            404 => Failure::Final(HubError::NotFound {
                asked: Box::new(asked),
            }),
            429 => Failure::Passing(Passing {
                asked,
                why: Why::RateLimited,
                wait: retry_after,
                advanced: false,
            }),
            408 | 500..=599 => Failure::passing(asked, Why::Status { status, message }),
            _ => Failure::Final(HubError::Status {
                asked: Box::new(asked),
                status,
                attempts: 1,
                message,
            }),
        }
    }

    /// Of an error that hf-hub makes of an answer, or of none.
    pub(super) fn of(&self, asked: Asked, error: HFError) -> Failure {
        let (context, retry_after) = match error {
            HFError::Http { context }
            | HFError::AuthRequired { context }
            | HFError::Forbidden { context }
            | HFError::Conflict { context } => (Some(context), None),
            HFError::RateLimited {
                retry_after,
                context,
            } => (Some(context), retry_after),
            HFError::RepoNotFound { context, .. }
            | HFError::RevisionNotFound { context, .. }
            | HFError::EntryNotFound { context, .. } => (context, None),
            HFError::Request { source, .. } => return self.request(asked, &source),
            other => {
                let found = words(&chain(&other));
                return self.answer(asked, "answer", found, "one of a hub").into();
            }
        };
        let refusal = match context {
            Some(context) => Refusal {
                status: context.status.as_u16(),
                code: context.error_code,
                message: context.server_message.unwrap_or_default(),
                retry_after,
            },
            None => Refusal {
                status: 404,
                code: None,
                message: String::new(),
                retry_after: None,
            },
        };
        self.status(asked, refusal)
    }

    /// Of a request without an answer, or one whose body is broken.
    pub(super) fn request(&self, asked: Asked, error: &reqwest::Error) -> Failure {
        if error.is_builder() {
            return Failure::Final(HubError::Endpoint {
                endpoint: self.endpoint.to_owned(),
                message: chain(error),
            });
        }
        if error.is_redirect() {
            let found = words(&chain(error));
            let expected = "a few, none of which takes the token along";
            return self.answer(asked, "redirects", found, expected).into();
        }
        if has_source::<serde_json::Error>(error) {
            let found = words(&chain(error));
            return self.answer(asked, "body", found, "a model as JSON").into();
        }
        Failure::passing(asked, Why::Unreachable(words(&chain(error))))
    }

    /// Of an answer that no hub gives.
    pub(super) fn answer(
        &self,
        asked: Asked,
        what: &'static str,
        found: String,
        expected: &'static str,
    ) -> HubError {
        HubError::Answer {
            asked: Box::new(asked),
            what,
            found,
            expected,
            endpoint: self.endpoint.to_owned(),
        }
    }
}

/// An error with its causes. Causes that only repeat what is said already are left out.
pub(super) fn chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let cause_text = cause.to_string();
        if !text.contains(&cause_text) {
            text.push_str(": ");
            text.push_str(&cause_text);
        }
        source = cause.source();
    }
    text
}

fn has_source<T: Error + 'static>(error: &dyn Error) -> bool {
    let mut source = error.source();
    while let Some(cause) = source {
        if cause.is::<T>() {
            return true;
        }
        source = cause.source();
    }
    false
}

/// Somebody else's words in one short line.
pub(super) fn words(text: &str) -> String {
    let line: String = text
        .chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .take(300)
        .collect();
    line.trim().to_owned()
}
