//! Delivering webhooks as real senders do: signed anew on each attempt, again until acknowledged, and
//! sometimes without waiting for the answer.

use std::{
    io,
    sync::Arc,
    time::{Duration, Instant},
};

use domain::signature::{Message, Scheme, SigningKey, UnixSeconds, sign};
use engine::clock::Clock;
use tokio::{
    io::AsyncWriteExt as _,
    net::TcpStream,
    time::{sleep, timeout},
};

use super::Ledger;
use crate::demo::{cast::Sender, plan::Forgery, wire::Part};

/// How long an event is tried before the run is given up.
const PATIENCE: Duration = Duration::from_secs(90);
/// How long an answer may take.
const ANSWER_LIMIT: Duration = Duration::from_secs(15);
/// A secret that is not the receiver's.
const OTHER_SECRET: &str = "whsec_bm90IHRoZSBzZWNyZXQgdGhhdCB5b3UgaGF2ZSE=";
/// Age of a captured request, in seconds: well outside any tolerance we set.
const CAPTURED_AGO: i64 = 3_600;

/// A webhook ready to be sent.
#[derive(Clone, Debug)]
pub(super) struct Letter {
    /// Who sends it.
    pub(super) sender: Sender,
    /// Path and query.
    pub(super) target: String,
    /// Its id, the same on every attempt.
    pub(super) id: String,
    /// Its body.
    pub(super) body: Vec<u8>,
}

/// Where letters are signed and posted.
pub(super) struct Mail {
    client: reqwest::Client,
    base_url: String,
    authority: String,
    keys: Vec<SigningKey>,
    stranger: SigningKey,
    clock: Clock,
    tally: Arc<Ledger>,
}

impl Mail {
    pub(super) fn new(
        part: &Part,
        clock: Clock,
        tally: Arc<Ledger>,
    ) -> Result<Self, Box<dyn std::error::Error + Send + Sync>> {
        let authority = part.base_url.trim_start_matches("http://").to_owned();
        let mut keys = Vec::new();
        for (sender, mailbox) in Sender::ALL.iter().zip(&part.mailboxes) {
            keys.push(SigningKey::parse(scheme(*sender), &mailbox.secret)?);
        }
        Ok(Self {
            client: reqwest::Client::builder().timeout(ANSWER_LIMIT).build()?,
            base_url: part.base_url.clone(),
            authority,
            keys,
            stranger: SigningKey::parse(Scheme::StandardWebhooksV1, OTHER_SECRET)?,
            clock,
            tally,
        })
    }

    /// Sends until it is acknowledged. A refusal that a retry cannot heal is an error.
    pub(super) async fn deliver(&self, letter: &Letter) -> Result<(), String> {
        let begun = Instant::now();
        let mut pause = Duration::from_millis(100);
        loop {
            let answer = self.post(letter, self.signed(letter, 0)).await;
            let said = match answer {
                Ok(200..=299) => {
                    self.tally.count(|tally| tally.acknowledged += 1);
                    return Ok(());
                }
                Ok(status @ 400..=499) if status != 429 => {
                    return Err(format!("webhook {} was refused with {status}", letter.id));
                }
                Ok(status) => format!("status {status}"),
                Err(error) => error.to_string(),
            };
            if begun.elapsed() > PATIENCE {
                return Err(format!(
                    "webhook {} was not acknowledged in {PATIENCE:?}: {said}",
                    letter.id
                ));
            }
            self.tally.count(|tally| tally.retried += 1);
            sleep(pause).await;
            pause = (pause * 2).min(Duration::from_secs(2));
        }
    }

    /// Sends it whole and hangs up before the answer can be read. Whether it arrived, nobody knows.
    pub(super) async fn lose_answer(&self, letter: &Letter, linger: Duration) {
        let request = self.raw(letter);
        let sent = timeout(ANSWER_LIMIT, async {
            let mut stream = TcpStream::connect(&self.authority).await?;
            stream.write_all(&request).await?;
            stream.flush().await?;
            sleep(linger).await;
            io::Result::Ok(())
        });
        if matches!(sent.await, Ok(Ok(()))) {
            self.tally.count(|tally| tally.lost += 1);
        }
    }

    /// Sends it as one without the secret would; it must be turned away.
    pub(super) async fn forge(
        &self,
        letter: &Letter,
        how: Forgery,
        other_body: Vec<u8>,
    ) -> Result<(), String> {
        let forged = Letter {
            body: other_body,
            ..letter.clone()
        };
        let headers = match how {
            Forgery::OtherSecret => self.signed_by(&self.stranger, &forged, 0),
            Forgery::OtherBody => self.signed(letter, 0),
            Forgery::Stale => self.signed(&forged, CAPTURED_AGO),
            Forgery::Unsigned => Vec::new(),
        };
        for _ in 0..5 {
            match self.post(&forged, headers.clone()).await {
                Ok(401) => {
                    self.tally.count(|tally| tally.turned_away += 1);
                    return Ok(());
                }
                Ok(status @ 200..=299) => {
                    return Err(format!(
                        "forged webhook {} ({how:?}) was taken with {status}",
                        letter.id
                    ));
                }
                Ok(_) | Err(_) => sleep(Duration::from_millis(200)).await,
            }
        }
        Err(format!(
            "forged webhook {} ({how:?}) was never answered 401",
            letter.id
        ))
    }

    async fn post(
        &self,
        letter: &Letter,
        headers: Vec<(String, String)>,
    ) -> Result<u16, reqwest::Error> {
        let url = format!("{}{}", self.base_url, letter.target);
        let mut request = self
            .client
            .post(url)
            .header("content-type", "application/json");
        for (name, value) in headers {
            request = request.header(name, value);
        }
        let response = request.body(letter.body.clone()).send().await?;
        let status = response.status().as_u16();
        // Read to the end, so that the connection serves the next letter.
        response.bytes().await?;
        Ok(status)
    }

    fn signed(&self, letter: &Letter, age: i64) -> Vec<(String, String)> {
        let at = Sender::ALL
            .iter()
            .position(|sender| *sender == letter.sender)
            .unwrap_or(0);
        self.signed_by(&self.keys[at], letter, age)
    }

    fn signed_by(&self, key: &SigningKey, letter: &Letter, age: i64) -> Vec<(String, String)> {
        let timestamp = UnixSeconds(self.clock.now().timestamp() - age);
        sign(
            key,
            &Message {
                id: &letter.id,
                timestamp,
                account: "",
                body: &letter.body,
            },
        )
    }

    fn raw(&self, letter: &Letter) -> Vec<u8> {
        let mut request = format!(
            "POST {} HTTP/1.1\r\nhost: {}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n",
            letter.target,
            self.authority,
            letter.body.len()
        );
        for (name, value) in self.signed(letter, 0) {
            request.push_str(&format!("{name}: {value}\r\n"));
        }
        request.push_str("\r\n");
        let mut request = request.into_bytes();
        request.extend_from_slice(&letter.body);
        request
    }
}

/// How a sender signs.
pub(in crate::demo) fn scheme(sender: Sender) -> Scheme {
    match sender {
        Sender::Replicate => Scheme::Replicate,
        Sender::Acme | Sender::AcmeTest => Scheme::StandardWebhooksV1,
    }
}
