//! What happens, told as it happens: server-sent events, to any number of pages, each at its own speed.
//!
//! Every event is written once and shared. A page that reads too slowly misses some, and is told how many.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::http::{HeaderValue, Response};
use hyper::body::Frame;
use serde::Serialize;
use tokio::sync::broadcast::{self, error::RecvError};
use tokio::sync::mpsc;

/// Events that a page may be behind.
const BEHIND: usize = 256;
/// Seconds that a page which comes later sees of before.
const HISTORY_SECONDS: usize = 300;
/// How often a quiet stream shows that it is alive.
const ALIVE: Duration = Duration::from_secs(5);

/// Where events come together.
pub(crate) struct Hub {
    sender: broadcast::Sender<Bytes>,
    /// Ticks of the last minutes; the lock also orders the past before what follows.
    past: Mutex<Past>,
}

#[derive(Default)]
struct Past {
    number: u64,
    ticks: VecDeque<(u64, Bytes)>,
}

impl Hub {
    pub(crate) fn new() -> Self {
        Self { sender: broadcast::channel(BEHIND).0, past: Mutex::default() }
    }

    /// Tells of something.
    pub(crate) fn send<T: Serialize>(&self, kind: &str, what: &T) {
        if let Ok(text) = serde_json::to_string(what) {
            // Nobody listens: nobody is told.
            let _ = self.sender.send(Bytes::from(format!("event: {kind}\ndata: {text}\n\n")));
        }
    }

    /// Tells of something that pages which come later want to see as well.
    pub(crate) fn tick<T: Serialize>(&self, what: &T) {
        let Ok(text) = serde_json::to_string(what) else { return };
        let mut past = self.past.lock().unwrap_or_else(PoisonError::into_inner);
        past.number += 1;
        let number = past.number;
        let event = Bytes::from(format!("id: {number}\nevent: tick\ndata: {text}\n\n"));
        past.ticks.push_back((number, event.clone()));
        if past.ticks.len() > HISTORY_SECONDS {
            past.ticks.pop_front();
        }
        let _ = self.sender.send(event);
    }

    /// Another emulation begins: what the last one did is not its past.
    pub(crate) fn forget(&self) {
        self.past.lock().unwrap_or_else(PoisonError::into_inner).ticks.clear();
    }

    /// The stream of events, with the ticks after number `after` first. Runs on the server's thread.
    pub(crate) fn stream(&self, after: Option<u64>) -> Response<Body> {
        let (past, mut events) = {
            let past = self.past.lock().unwrap_or_else(PoisonError::into_inner);
            // Numbers begin anew with the server: one from before its restart counts for nothing.
            let after = after.filter(|after| *after <= past.number).unwrap_or(0);
            let ticks = past.ticks.iter().filter(|(number, _)| *number > after);
            let mut whole = b"retry: 1000\n\n".to_vec();
            ticks.for_each(|(_, event)| whole.extend_from_slice(event));
            (Bytes::from(whole), self.sender.subscribe())
        };
        let (to_page, page) = mpsc::channel(8);
        tokio::spawn(async move {
            if to_page.send(past).await.is_err() {
                return;
            }
            loop {
                let event = match tokio::time::timeout(ALIVE, events.recv()).await {
                    Err(_) => Bytes::from_static(b"event: alive\ndata: {}\n\n"),
                    Ok(Ok(event)) => event,
                    Ok(Err(RecvError::Lagged(missed))) => {
                        Bytes::from(format!("event: missed\ndata: {{\"events\":{missed}}}\n\n"))
                    }
                    Ok(Err(RecvError::Closed)) => return,
                };
                if to_page.send(event).await.is_err() {
                    return;
                }
            }
        });
        let mut response = Response::new(Body::new(EventStream { page }));
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        response
    }
}

/// The body of a stream of events.
struct EventStream {
    page: mpsc::Receiver<Bytes>,
}

impl hyper::body::Body for EventStream {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        self.page.poll_recv(context).map(|event| event.map(|event| Ok(Frame::data(event))))
    }
}

/// Shared with those that tell.
pub(crate) type SharedHub = Arc<Hub>;
