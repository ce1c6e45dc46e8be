//! Calls to providers: bounded in time and size, and never sent elsewhere. What is on the other side is not
//! ours, so nothing of it is trusted before it is read.

use std::time::Duration;

use futures::StreamExt as _;
use reqwest::{Client, header, redirect::Policy};

/// Longest wait for a connection.
const CONNECT_LIMIT: Duration = Duration::from_secs(5);

/// Why there is no whole answer.
#[derive(Debug, thiserror::Error)]
pub(crate) enum GetError {
    /// There was no connection, or it broke.
    #[error("the provider could not be reached")]
    Unreachable(#[source] reqwest::Error),
    /// It took too long.
    #[error("the provider did not answer in time")]
    TooSlow,
    /// It is larger than we read.
    #[error("the answer is larger than {0} bytes")]
    TooLarge(usize),
}

impl From<reqwest::Error> for GetError {
    fn from(error: reqwest::Error) -> Self {
        if error.is_timeout() {
            Self::TooSlow
        } else {
            // The address is known to whoever reads this, and may be long.
            Self::Unreachable(error.without_url())
        }
    }
}

/// A whole answer.
#[derive(Debug)]
pub(crate) struct Got {
    pub(crate) status: u16,
    /// Type and date, as a JSON array of `[name, value]`.
    pub(crate) headers: String,
    pub(crate) body: Vec<u8>,
}

/// A client whose calls take no longer than so.
///
/// # Errors
/// When the operating system gives no cryptography to build it with.
pub(crate) fn client(limit: Duration) -> Result<Client, reqwest::Error> {
    choose_cryptography();
    Client::builder()
        .timeout(limit)
        .connect_timeout(CONNECT_LIMIT)
        .redirect(Policy::none())
        .build()
}

/// The HTTP client wants to know whose cryptography to use, even where it will use none.
pub(crate) fn choose_cryptography() {
    // Another part may have installed the same provider; either way there is one afterwards.
    if rustls::crypto::ring::default_provider()
        .install_default()
        .is_err()
    {
        tracing::debug!("a TLS provider was installed before");
    }
}

/// Gets what is there, whatever the status, up to so many bytes.
///
/// # Errors
/// [`GetError`].
pub(crate) async fn get(
    client: &Client,
    url: &str,
    token: &str,
    most_bytes: usize,
) -> Result<Got, GetError> {
    let request = client
        .get(url)
        .bearer_auth(token)
        .header(header::ACCEPT, "application/json");
    let response = request.send().await?;
    let status = response.status().as_u16();
    let kept: Vec<_> = [header::CONTENT_TYPE, header::DATE]
        .iter()
        .filter_map(|name| {
            let value = response.headers().get(name)?.to_str().ok()?;
            Some((name.as_str(), value))
        })
        .collect();
    let headers = serde_json::json!(kept).to_string();
    let mut parts = response.bytes_stream();
    let mut body = Vec::new();
    while let Some(part) = parts.next().await {
        let part = part?;
        if body.len() + part.len() > most_bytes {
            return Err(GetError::TooLarge(most_bytes));
        }
        body.extend_from_slice(&part);
    }
    Ok(Got {
        status,
        headers,
        body,
    })
}
