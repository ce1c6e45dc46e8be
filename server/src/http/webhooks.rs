//! Webhooks: `POST /webhooks/{source}`, and `/webhooks/{source}/{token}` for senders that do not sign.
//!
//! Order: largest body cap of any source → content encoding → signature over the raw bytes → UTF-8 and
//! JSON → the source's own cap → event key → durable insert → answer. Every answer is a row of [`Answer`].
//!
//! # What stays true
//! - A 2xx is sent after the commit. A 5xx says that our storage failed and a retry is safe. No other
//!   call can come between: a [`Receiver`] holds the inbox writer, a registry in memory and a clock.
//! - A request for an unknown source gets the answer, and costs the work, of a wrong signature.
//! - The token in a path is a secret: it is never logged or stored.

mod answer;
mod headers;

use std::{net::SocketAddr, sync::Arc};

use axum::{
    Extension, Router,
    body::{Body, Bytes},
    extract::{ConnectInfo, RawPathParams, RawQuery, State},
    http::{HeaderMap, header},
    response::{IntoResponse, Response},
    routing::post,
};
use base64::Engine as _;
use chrono::{DateTime, Utc};
use domain::{
    adapter::{EnvelopeError, Incoming},
    canonical::Hash,
    signature::{self, Examined, Keys, Reject, Request, Scheme, Tolerance, UnixSeconds},
};
use engine::{
    clock::Clock,
    inbox::{Delivery, InboxWriter, Rejected},
    source::{ActiveSource, Sources},
};
use futures::StreamExt as _;

use self::{
    answer::{Answer, Refusal},
    headers::{sender_id, stored},
};
use super::problem::{Kind, Problem};

/// Longest name of an unknown source that is recorded.
const MAX_SLUG_CHARS: usize = 80;

/// Everything the accept path can reach. A field more than these would break I7; a test names them all.
#[derive(Clone, Debug)]
pub struct Receiver {
    /// Looks sources up, in memory.
    pub sources: Sources,
    /// Stores deliveries.
    pub inbox: InboxWriter,
    /// Tells the time.
    pub clock: Clock,
    /// Stands in for the keys of a source that does not exist.
    pub decoy: Arc<Keys>,
}

/// The decoy keys could not be drawn.
#[derive(Debug, thiserror::Error)]
#[error("the operating system gives no random bytes")]
pub struct ReceiverError(#[source] Box<dyn std::error::Error + Send + Sync>);

impl Receiver {
    /// A receiver.
    ///
    /// # Errors
    /// When there is no randomness for the keys that unknown sources are checked with.
    pub fn new(sources: Sources, inbox: InboxWriter, clock: Clock) -> Result<Self, ReceiverError> {
        let mut secret = [0; 32];
        getrandom::fill(&mut secret).map_err(|error| ReceiverError(error.into()))?;
        let secret = base64::engine::general_purpose::STANDARD.encode(secret);
        let decoy = Keys::parse(Scheme::StandardWebhooksV1, [secret.as_str()])
            .map_err(|error| ReceiverError(error.into()))?;
        Ok(Self {
            sources,
            inbox,
            clock,
            decoy: Arc::new(decoy),
        })
    }
}

/// The routes. Bodies are limited by each source, not by the framework.
pub fn routes(receiver: Receiver) -> Router {
    let wrong_method = || async {
        Problem::new(Kind::MethodNotAllowed, "Webhooks are delivered with POST.").into_response()
    };
    Router::new()
        .route("/webhooks/{source}", post(receive).fallback(wrong_method))
        .route(
            "/webhooks/{source}/{token}",
            post(receive).fallback(wrong_method),
        )
        .with_state(receiver)
}

/// One attempt, as far as it is known before anything is proven.
struct Attempt<'r> {
    slug: &'r str,
    token: Option<&'r str>,
    job_parameter: Option<String>,
    headers: &'r HeaderMap,
    remote_address: Option<String>,
    received_at: DateTime<Utc>,
}

async fn receive(
    State(receiver): State<Receiver>,
    path: RawPathParams,
    RawQuery(query): RawQuery,
    peer: Option<Extension<ConnectInfo<SocketAddr>>>,
    headers: HeaderMap,
    body: Body,
) -> Response {
    let parameter = |name: &str| {
        path.iter()
            .find(|(key, _)| *key == name)
            .map(|(_, value)| value)
    };
    let attempt = Attempt {
        slug: parameter("source").unwrap_or_default(),
        token: parameter("token"),
        job_parameter: query.as_deref().and_then(job_parameter),
        headers: &headers,
        remote_address: peer
            .map(|Extension(ConnectInfo(address))| address.ip().to_canonical().to_string()),
        received_at: receiver.clock.now(),
    };
    let source = receiver.sources.find(attempt.slug);
    // The same for every name: how much is read tells nobody which sources there are.
    let limit = receiver.sources.largest_body_bytes();
    let (answer, body_bytes) = match read(&headers, body, limit).await {
        Ok(body) => {
            let bytes = body.len();
            (
                decide(&receiver, &attempt, source.as_deref(), body).await,
                bytes,
            )
        }
        Err((refusal, bytes)) => (Answer::Refused(refusal), bytes),
    };
    if let Answer::Refused(refusal) = answer {
        record(&receiver, &attempt, source.as_deref(), refusal, body_bytes);
    }
    tracing::debug!(source = attempt.slug, ?answer, "delivery");
    answer.into_response()
}

/// Reads the body, up to the limit and not a byte more. `Err` tells how much was read.
async fn read(headers: &HeaderMap, body: Body, limit: usize) -> Result<Bytes, (Refusal, usize)> {
    let declared = headers
        .get(header::CONTENT_LENGTH)
        .and_then(|value| value.to_str().ok()?.parse::<usize>().ok());
    if declared.is_some_and(|bytes| bytes > limit) {
        return Err((Refusal::BodyTooLarge, 0));
    }
    let mut parts = body.into_data_stream();
    let mut whole = Bytes::new();
    let mut joined = Vec::new();
    while let Some(part) = parts.next().await {
        let read = whole.len().max(joined.len());
        let part = part.map_err(|_| (Refusal::BodyCut, read))?;
        if read + part.len() > limit {
            return Err((Refusal::BodyTooLarge, read + part.len()));
        }
        if read == 0 {
            // Most bodies come in one piece, which is kept as it is.
            whole = part;
        } else {
            if joined.is_empty() {
                joined.reserve(declared.unwrap_or(read + part.len()));
                joined.extend_from_slice(&whole);
            }
            joined.extend_from_slice(&part);
        }
    }
    Ok(if joined.is_empty() {
        whole
    } else {
        joined.into()
    })
}

/// Everything after the body cap.
async fn decide(
    receiver: &Receiver,
    attempt: &Attempt<'_>,
    source: Option<&ActiveSource>,
    body: Bytes,
) -> Answer {
    let delivery = match examine(receiver, attempt, source, body) {
        Ok(delivery) => delivery,
        Err(refusal) => return Answer::Refused(refusal),
    };
    let ack = delivery.status;
    match receiver.inbox.accept(delivery).await {
        Ok(accepted) => Answer::Stored(accepted, ack),
        Err(error) => Answer::NotStored(error),
    }
}

/// Proves where the request comes from and what it is about. Nothing here waits.
fn examine(
    receiver: &Receiver,
    attempt: &Attempt<'_>,
    source: Option<&ActiveSource>,
    body: Bytes,
) -> Result<Delivery, Refusal> {
    let listed: Vec<_> = attempt
        .headers
        .iter()
        .map(|(name, value)| (name.as_str(), value.as_bytes()))
        .collect();
    let request = Request {
        headers: &listed,
        body: &body,
        token: attempt.token,
    };
    let now = UnixSeconds::from(attempt.received_at);
    let imitated = |instead| match signature::examine(
        &receiver.decoy,
        &request,
        now,
        Tolerance::of(receiver.decoy.scheme()),
    ) {
        Err(Reject::ContentEncoding) => Refusal::Signature(Reject::ContentEncoding),
        Err(_) | Ok(_) => instead,
    };
    let Some(source) = source else {
        return Err(imitated(Refusal::UnknownSource));
    };
    if source.disabled {
        return Err(imitated(Refusal::SourceDisabled));
    }
    let Some(keys) = &source.keys else {
        return Err(imitated(Refusal::NoActiveSecret));
    };
    let refused = |reject| {
        if reject == Reject::SignatureMismatch {
            source.no_key_matched();
        }
        Refusal::Signature(reject)
    };
    if body.len() > source.body_limit_bytes {
        // Only who proves to be the sender learns what the source takes.
        signature::verify(keys, &request, now, source.tolerance).map_err(refused)?;
        return Err(Refusal::BodyTooLarge);
    }
    let Examined { verified, text } =
        signature::examine(keys, &request, now, source.tolerance).map_err(refused)?;
    if source.account.as_deref() != verified.account {
        return Err(Refusal::OtherAccount);
    }
    if let Some(timestamp) = verified.timestamp {
        let skew = i32::try_from(now.0 - timestamp.0).unwrap_or(i32::MAX);
        metrics::gauge!("webhook_clock_skew_seconds", "scheme" => source.scheme.name()).set(skew);
    }
    let delivery_id = match verified.delivery_id {
        Some(id) => Some(id),
        None => sender_id(attempt.headers).map_err(Refusal::Signature)?,
    };
    let incoming = Incoming {
        delivery_id,
        job_parameter: attempt.job_parameter.as_deref(),
        body: text,
    };
    let envelope = source
        .adapter
        .envelope(&incoming)
        .map_err(|EnvelopeError::NoEventKey| Refusal::NoEventKey)?;
    Ok(Delivery {
        source: source.id,
        source_slug: source.slug.clone(),
        livemode: source.livemode,
        envelope,
        raw_hash: Hash::of_bytes(&body),
        headers: stored(
            attempt.headers,
            source.header_name.as_deref(),
            attempt.token,
        ),
        sender_id: delivery_id.map(str::to_owned),
        remote_address: attempt.remote_address.clone(),
        status: source.ack_status,
        received_at: attempt.received_at,
        asked: false,
        body,
    })
}

/// `job` of the query, which a provider hands back from the URL it was given.
fn job_parameter(query: &str) -> Option<String> {
    let mut pairs = query.split('&').filter_map(|pair| pair.split_once('='));
    // Job ids need no percent coding; anything that does is no job id.
    pairs
        .find(|(name, _)| *name == "job")
        .map(|(_, value)| value.to_owned())
}

/// Leaves a trace of a refused delivery, without its payload.
fn record(
    receiver: &Receiver,
    attempt: &Attempt<'_>,
    source: Option<&ActiveSource>,
    refusal: Refusal,
    body_bytes: usize,
) {
    let (kind, reason, _) = refusal.row();
    metrics::counter!("inbox_deliveries_total", "outcome" => "rejected", "reason" => reason)
        .increment(1);
    let clean = |c: &char| !c.is_control();
    receiver.inbox.reject(Rejected {
        source_slug: attempt
            .slug
            .chars()
            .filter(clean)
            .take(MAX_SLUG_CHARS)
            .collect(),
        source: source.map(|source| source.id),
        reason,
        status: kind.status().as_u16(),
        sender_id: sender_id(attempt.headers).ok().flatten().map(str::to_owned),
        body_bytes,
        remote_address: attempt.remote_address.clone(),
        received_at: attempt.received_at,
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    /// I7. The pattern has no `..`: another field, and so another thing the accept path could call,
    /// does not compile until someone decides that it may be here.
    #[test]
    fn the_accept_path_reaches_the_inbox_and_nothing_else() {
        fn reaches(receiver: Receiver) -> (Sources, InboxWriter, Clock, Arc<Keys>) {
            let Receiver {
                sources,
                inbox,
                clock,
                decoy,
            } = receiver;
            (sources, inbox, clock, decoy)
        }
        let _: fn(Receiver) -> (Sources, InboxWriter, Clock, Arc<Keys>) = reaches;
    }

    #[test]
    fn a_job_may_be_named_in_the_query() {
        assert_eq!(job_parameter("a=1&job=job_7&b=2").as_deref(), Some("job_7"));
        assert_eq!(job_parameter("jobs=1&job"), None);
    }
}
