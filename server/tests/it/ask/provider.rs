//! A provider on this machine that answers as it is told.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use axum::{
    Router,
    body::Body,
    extract::{Request, State},
    http::{StatusCode, header},
    response::{IntoResponse, Response},
};
use tokio::{net::TcpListener, task::JoinHandle};

/// What it does with the next requests.
#[derive(Clone)]
pub struct Reply {
    status: u16,
    location: Option<String>,
    body: String,
    pause: Duration,
    bytes: usize,
}

impl Reply {
    pub fn body(body: &str) -> Self {
        Self {
            status: 200,
            location: None,
            body: body.to_owned(),
            pause: Duration::ZERO,
            bytes: 0,
        }
    }

    pub fn status(status: u16) -> Self {
        Self {
            status,
            ..Self::body("<html>hello")
        }
    }

    pub fn elsewhere(place: &str) -> Self {
        Self {
            location: Some(place.to_owned()),
            ..Self::status(302)
        }
    }

    /// Longer than anyone waits.
    pub fn slow() -> Self {
        Self {
            pause: Duration::from_secs(30),
            ..Self::body("{}")
        }
    }

    /// More than a source may send, without saying so first.
    pub fn huge() -> Self {
        Self {
            bytes: 3 << 20,
            ..Self::body("")
        }
    }
}

#[derive(Default)]
struct Desk {
    reply: Option<Reply>,
    asked: Vec<String>,
}

/// It listens below `/api` until it is stopped.
pub struct Provider {
    pub base: String,
    desk: Arc<Mutex<Desk>>,
    task: JoinHandle<()>,
}

impl Provider {
    pub async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base = format!("http://{}/api", listener.local_addr().unwrap());
        let desk = Arc::new(Mutex::new(Desk::default()));
        let routes = Router::new().fallback(answer).with_state(Arc::clone(&desk));
        let task = tokio::spawn(async move { axum::serve(listener, routes).await.unwrap() });
        Self { base, desk, task }
    }

    /// Sets what it answers from now on.
    pub fn will(&self, reply: Reply) {
        self.desk.lock().unwrap().reply = Some(reply);
    }

    /// What it was asked: method, path and authorization.
    pub fn asked(&self) -> Vec<String> {
        self.desk.lock().unwrap().asked.clone()
    }

    pub async fn until_asked(&self) {
        for _ in 0..1000 {
            if !self.asked().is_empty() {
                return;
            }
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
        panic!("nobody asks");
    }

    /// Ends it; its port answers nobody.
    pub async fn stop(&self) {
        self.task.abort();
        while !self.task.is_finished() {
            tokio::task::yield_now().await;
        }
    }
}

async fn answer(State(desk): State<Arc<Mutex<Desk>>>, request: Request) -> Response {
    let token = request.headers().get(header::AUTHORIZATION);
    let token = token.and_then(|value| value.to_str().ok());
    let asked = format!(
        "{} {} {}",
        request.method(),
        request.uri(),
        token.unwrap_or("nobody")
    );
    let reply = {
        let mut desk = desk.lock().unwrap();
        desk.asked.push(asked);
        desk.reply.clone()
    };
    let Some(reply) = reply else {
        return StatusCode::IM_A_TEAPOT.into_response();
    };
    tokio::time::sleep(reply.pause).await;
    let body = match reply.bytes {
        0 => Body::from(reply.body),
        bytes => {
            let parts = (0..bytes >> 16).map(|_| Ok::<_, std::io::Error>(vec![b' '; 1 << 16]));
            Body::from_stream(futures::stream::iter(parts))
        }
    };
    let mut response = Response::builder()
        .status(reply.status)
        .header(header::CONTENT_TYPE, "application/json");
    if let Some(place) = reply.location {
        response = response.header(header::LOCATION, place);
    }
    response.body(body).unwrap()
}
