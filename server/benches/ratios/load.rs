//! A closed loop of signed webhooks over loopback: each connection sends its next request when the
//! last one was answered. HTTP is written by hand, because the generator shares two cores with what
//! it measures.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use base64::Engine as _;
use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
    task::JoinSet,
    time::Instant,
};

use crate::{Failure, fail, pgbench::percentile};

/// Where and as whom to send.
#[derive(Clone)]
pub(crate) struct Sender {
    pub(crate) address: SocketAddr,
    pub(crate) path: String,
    pub(crate) key: Arc<Vec<u8>>,
    /// Part of every event id, so that runs do not repeat each other.
    pub(crate) run: String,
}

/// What the loop saw.
pub(crate) struct Outcome {
    pub(crate) accepted: u64,
    pub(crate) per_second: f64,
    pub(crate) p99_ms: f64,
}

/// Runs `connections` loops for a while. Any answer but 2xx ends the run with an error.
pub(crate) async fn closed_loop(
    sender: &Sender,
    connections: usize,
    time: Duration,
) -> Result<Outcome, Failure> {
    let until = Instant::now() + time;
    let start = Instant::now();
    let mut loops = JoinSet::new();
    for number in 0..connections {
        let sender = sender.clone();
        loops.spawn(async move { sender.send_until(number, until).await });
    }
    let mut latencies = Vec::new();
    while let Some(ended) = loops.join_next().await {
        latencies.extend(ended??);
    }
    let accepted = latencies.len() as u64;
    let per_second = accepted as f64 / start.elapsed().as_secs_f64();
    Ok(Outcome {
        accepted,
        per_second,
        p99_ms: percentile(latencies, 99),
    })
}

impl Sender {
    async fn send_until(self, number: usize, until: Instant) -> Result<Vec<f64>, Failure> {
        let mut stream = TcpStream::connect(self.address).await?;
        stream.set_nodelay(true)?;
        let mut latencies = Vec::new();
        let mut answer = vec![0; 4096];
        let mut count = 0_u64;
        while Instant::now() < until {
            let request = self.request(&format!("{}-{number}-{count}", self.run));
            let sent = Instant::now();
            stream.write_all(&request).await?;
            let length = read_answer(&mut stream, &mut answer).await?;
            if !answer.starts_with(b"HTTP/1.1 20") {
                return fail(format!(
                    "refused: {}",
                    String::from_utf8_lossy(&answer[..length])
                ));
            }
            latencies.push(sent.elapsed().as_secs_f64() * 1000.0);
            count += 1;
        }
        Ok(latencies)
    }

    /// One job event, signed by Standard Webhooks v1.
    fn request(&self, id: &str) -> Vec<u8> {
        let now = engine::clock::Clock::system().now().timestamp();
        let body = format!(
            r#"{{"type":"job.succeeded","occurred_at":"2026-11-30T20:55:00Z","data":{{"provider_reference":"ref-{id}","model":"m-large","usage":{{"images":"1","input_tokens":"1834"}}}},"trace":"4bf92f3577b34da6a3ce929d0e0e4736","region":"eu-west","customer":"cus_0000018273"}}"#
        );
        let mut mac = Hmac::<Sha256>::new_from_slice(&self.key).expect("any key length is legal");
        mac.update(format!("{id}.{now}.").as_bytes());
        mac.update(body.as_bytes());
        let signature =
            base64::engine::general_purpose::STANDARD.encode(mac.finalize().into_bytes());
        format!(
            "POST {} HTTP/1.1\r\nhost: {}\r\ncontent-type: application/json\r\nwebhook-id: {id}\r\nwebhook-timestamp: {now}\r\nwebhook-signature: v1,{signature}\r\ncontent-length: {}\r\n\r\n{body}",
            self.path,
            self.address,
            body.len()
        )
        .into_bytes()
    }
}

/// Reads one answer with a content-length.
async fn read_answer(stream: &mut TcpStream, into: &mut [u8]) -> Result<usize, Failure> {
    let mut filled = 0;
    loop {
        let read = stream.read(&mut into[filled..]).await?;
        if read == 0 {
            return fail("the server closed the connection".to_owned());
        }
        filled += read;
        let head = into[..filled]
            .windows(4)
            .position(|window| window == b"\r\n\r\n");
        if let Some(head) = head {
            let text = String::from_utf8_lossy(&into[..head]).to_ascii_lowercase();
            let length = text
                .lines()
                .find_map(|line| line.strip_prefix("content-length: ")?.trim().parse().ok());
            let length: usize = length.unwrap_or(0);
            if filled >= head + 4 + length {
                return Ok(filled);
            }
        }
    }
}
