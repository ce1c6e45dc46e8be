//! A proxy between the product and PostgreSQL that reads the wire protocol and loses commits of
//! transactions that write settlements: it either cuts the connection before the server hears COMMIT, or
//! lets the server commit and then cuts before the client hears of it. The client cannot tell which.

use std::{
    collections::HashSet,
    io,
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream, tcp::OwnedReadHalf},
    task::JoinHandle,
};

/// Ask for TLS, which a loopback server refuses; another untyped message follows.
const SSL_REQUEST: u32 = 80_877_103;

/// What the proxy shall do with the next commits.
#[derive(Debug, Default)]
struct Orders {
    cut_before: AtomicU64,
    cut_after: AtomicU64,
    lost: AtomicU64,
}

/// The proxy; it ends when dropped.
#[derive(Debug)]
pub(crate) struct FaultProxy {
    address: SocketAddr,
    orders: Arc<Orders>,
    task: JoinHandle<()>,
}

impl FaultProxy {
    /// Listens on a free port and forwards to `upstream`.
    pub(crate) async fn start(upstream: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let orders = Arc::new(Orders::default());
        let task = tokio::spawn(accept(listener, upstream, Arc::clone(&orders)));
        Self {
            address,
            orders,
            task,
        }
    }

    /// Where to connect instead of the server.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// The server never hears of the next `count` commits.
    pub(crate) fn cut_before_commit(&self, count: u64) {
        self.orders.cut_before.store(count, Ordering::SeqCst);
    }

    /// The client never hears of the next `count` commits, which the server makes.
    pub(crate) fn cut_after_commit(&self, count: u64) {
        self.orders.cut_after.store(count, Ordering::SeqCst);
    }

    /// How many commits were lost so far, one way or the other.
    pub(crate) fn lost(&self) -> u64 {
        self.orders.lost.load(Ordering::SeqCst)
    }
}

impl Drop for FaultProxy {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn accept(listener: TcpListener, upstream: SocketAddr, orders: Arc<Orders>) {
    while let Ok((client, _)) = listener.accept().await {
        let orders = Arc::clone(&orders);
        tokio::spawn(async move {
            // Either side may hang up at any time; that ends this connection only.
            if let Ok(server) = TcpStream::connect(upstream).await {
                forward(client, server, &orders).await.unwrap_or_default();
            }
        });
    }
}

/// Takes one of the cuts ordered, if any is left.
fn take(orders: &Orders, which: &AtomicU64) -> bool {
    let taken = which
        .fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| {
            left.checked_sub(1)
        })
        .is_ok();
    if taken {
        orders.lost.fetch_add(1, Ordering::SeqCst);
    }
    taken
}

async fn forward(client: TcpStream, server: TcpStream, orders: &Orders) -> io::Result<()> {
    client.set_nodelay(true)?;
    server.set_nodelay(true)?;
    let (mut from_client, mut to_client) = client.into_split();
    let (mut from_server, mut to_server) = server.into_split();
    let silenced = Arc::new(tokio::sync::Notify::new());
    let asked = Arc::clone(&silenced);
    // Answers flow back as they come, until a commit is to be kept from the client. That commit is the
    // only thing the server has been asked by then, so what it says next is its answer.
    let mut back = tokio::spawn(async move {
        let copied = tokio::select! {
            copied = tokio::io::copy(&mut from_server, &mut to_client) => copied.map(|_| ()),
            () = asked.notified() => Ok(()),
        };
        (from_server, to_client, copied)
    });
    let mut started = false;
    let mut settling = Settling::default();
    loop {
        let message = tokio::select! {
            message = read_message(&mut from_client, started) => message?,
            _ = &mut back => return Ok(()),
        };
        started |= !message.is_ssl_request();
        let commits = started && settling.ends_with(&message);
        if commits && take(orders, &orders.cut_before) {
            back.abort();
            return Ok(());
        }
        if commits && take(orders, &orders.cut_after) {
            silenced.notify_one();
            let (mut from_server, _to_client, copied) = back.await?;
            copied?;
            to_server.write_all(&message.bytes).await?;
            // The server has committed once it is ready for the next query.
            while read_message(&mut from_server, true).await?.bytes.first() != Some(&b'Z') {}
            return Ok(());
        }
        to_server.write_all(&message.bytes).await?;
    }
}

/// Whether the open transaction of a connection has written settlements.
#[derive(Default)]
struct Settling {
    statements: HashSet<Vec<u8>>,
    written: bool,
}

impl Settling {
    /// Follows the client's messages; true for the COMMIT of a transaction that wrote settlements.
    fn ends_with(&mut self, message: &Message) -> bool {
        let mut texts = message
            .bytes
            .get(5..)
            .unwrap_or_default()
            .split(|byte| *byte == 0);
        let (first, second) = (
            texts.next().unwrap_or_default(),
            texts.next().unwrap_or_default(),
        );
        match message.bytes.first() {
            // Parse: name of the statement, then its text.
            Some(b'P') if contains(second, b"INSERT INTO settlements") => {
                self.statements.insert(first.to_vec());
            }
            // Bind: name of the portal, then of the statement.
            Some(b'B') => self.written |= self.statements.contains(second),
            Some(b'Q') if first.starts_with(b"COMMIT") => return std::mem::take(&mut self.written),
            Some(b'Q') if first.starts_with(b"ROLLBACK") => self.written = false,
            _ => {}
        }
        false
    }
}

fn contains(text: &[u8], part: &[u8]) -> bool {
    text.windows(part.len()).any(|window| window == part)
}

struct Message {
    bytes: Vec<u8>,
}

impl Message {
    fn is_ssl_request(&self) -> bool {
        self.bytes.len() == 8 && self.bytes[4..] == SSL_REQUEST.to_be_bytes()
    }
}

/// One message with its header. The first ones of a connection have no type byte.
async fn read_message(from: &mut OwnedReadHalf, typed: bool) -> io::Result<Message> {
    let header = if typed { 5 } else { 4 };
    let mut bytes = vec![0; header];
    from.read_exact(&mut bytes).await?;
    let length = u32::from_be_bytes(bytes[header - 4..].try_into().unwrap());
    let body = usize::try_from(length)
        .unwrap()
        .checked_sub(4)
        .ok_or(io::ErrorKind::InvalidData)?;
    bytes.resize(header + body, 0);
    from.read_exact(&mut bytes[header..]).await?;
    Ok(Message { bytes })
}
