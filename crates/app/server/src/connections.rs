//! Connections: limits of their number and times, TLS, and the layers that each request passes.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::convert::Infallible;
use std::io;
use std::net::TcpListener as StdListener;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::http::header::{
    AUTHORIZATION, CONTENT_SECURITY_POLICY, COOKIE, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};
use axum::http::{HeaderMap, HeaderValue, Request, Response, StatusCode};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use romer_session::network::ClientNetwork;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::AbortHandle;
use tokio_rustls::TlsAcceptor;
use tokio_util::io::InspectReader;

use crate::app::App;
use crate::auth::Credentials;
use crate::http1::{Framing, Worded};
use crate::problem::Problem;
use crate::request_guard::{self, Ends};
use crate::{ServerError, Tls, api, assets};

/// Connections at once; beyond them an idle one is closed ([`Connections::replaced`]).
const CONNECTIONS: usize = 256;
/// How long the head of a request, or a greeting of TLS, may take.
const HEAD_TIMEOUT: Duration = Duration::from_secs(10);
/// Octets and fields of a head.
const LARGEST_HEAD: usize = 128 << 10;
const MOST_FIELDS: usize = 100;
/// How often what happens is told.
const REPORT_INTERVAL: Duration = Duration::from_secs(1);

/// The certificate and key, ready to be used.
pub(crate) fn acceptor(tls: &Tls) -> Result<TlsAcceptor, ServerError> {
    let bad = |path: &std::path::Path, why: String| ServerError::Certificate { path: path.into(), why };
    let of = |error: rustls::pki_types::pem::Error| error.to_string();
    let chain = CertificateDer::pem_file_iter(&tls.certificate)
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .map_err(|error| bad(&tls.certificate, of(error)))?;
    if chain.is_empty() {
        return Err(bad(&tls.certificate, "there is no certificate in it".into()));
    }
    let key = PrivateKeyDer::from_pem_file(&tls.key).map_err(|error| bad(&tls.key, of(error)))?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .and_then(|builder| builder.with_no_client_auth().with_single_cert(chain, key));
    let mut config = config.map_err(|error| bad(&tls.key, error.to_string()))?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(TlsAcceptor::from(Arc::new(config)))
}

/// Connections that there are.
#[derive(Default)]
struct Connections {
    next: u64,
    open: BTreeMap<u64, Open>,
}

struct Open {
    network: ClientNetwork,
    /// Requests with a valid token that it works on.
    busy: Arc<AtomicUsize>,
    abort: AbortHandle,
}

impl Connections {
    /// The connection that a new one replaces: the oldest idle one of the network that has most of them.
    fn replaced(&self) -> Option<u64> {
        let mut idle: BTreeMap<ClientNetwork, (usize, u64)> = BTreeMap::new();
        for (number, open) in &self.open {
            if open.busy.load(Ordering::Acquire) == 0 {
                idle.entry(open.network).or_insert((0, *number)).0 += 1;
            }
        }
        idle.into_values().max_by_key(|(count, oldest)| (*count, Reverse(*oldest))).map(|(_, oldest)| oldest)
    }
}

type SharedConnections = Arc<Mutex<Connections>>;

/// Serves until `stopping` says so.
pub(crate) async fn serve(
    listener: StdListener,
    tls: Option<TlsAcceptor>,
    app: Arc<App>,
    mut stopping: watch::Receiver<bool>,
) {
    let Ok(listener) = TcpListener::from_std(listener) else { return };
    tokio::spawn(publish_every_second(Arc::clone(&app)));
    let router = api::router(&app).fallback(assets::serve);
    let connections = SharedConnections::default();
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            _ = stopping.changed() => return,
        };
        match accepted {
            Ok((stream, peer)) => {
                let Ok(local) = stream.local_addr() else { continue };
                let ends = Ends { local, peer };
                admit(
                    &connections,
                    Connection {
                        stream,
                        ends,
                        tls: tls.clone(),
                        app: Arc::clone(&app),
                        router: router.clone(),
                    },
                );
            }
            // No descriptors, most likely: others may end meanwhile.
            Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
        }
    }
}

/// Tells each second what has happened.
async fn publish_every_second(app: Arc<App>) {
    let mut clock = tokio::time::interval(REPORT_INTERVAL);
    clock.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Skip);
    loop {
        clock.tick().await;
        let app = Arc::clone(&app);
        // Asking the emulator may take a moment; another second waits for it.
        let _ = tokio::task::spawn_blocking(move || app.tick()).await;
    }
}

struct Connection {
    stream: TcpStream,
    ends: Ends,
    tls: Option<TlsAcceptor>,
    app: Arc<App>,
    router: Router,
}

fn admit(connections: &SharedConnections, connection: Connection) {
    let mut all = connections.lock().unwrap_or_else(PoisonError::into_inner);
    if all.open.len() >= CONNECTIONS {
        let replaced = all.replaced();
        let Some(replaced) = replaced.and_then(|number| all.open.remove(&number)) else { return };
        replaced.abort.abort();
    }
    let number = all.next;
    all.next += 1;
    let network = ClientNetwork::from_address(connection.ends.peer.ip());
    let busy = Arc::new(AtomicUsize::new(0));
    let (held, counted) = (Arc::clone(connections), Arc::clone(&busy));
    let task = tokio::spawn(async move {
        let _gone = Gone { number, connections: held };
        connection.run(counted).await;
    });
    all.open.insert(number, Open { network, busy, abort: task.abort_handle() });
}

/// Takes a connection off the list when it ends, however it does.
struct Gone {
    number: u64,
    connections: SharedConnections,
}

impl Drop for Gone {
    fn drop(&mut self) {
        self.connections.lock().unwrap_or_else(PoisonError::into_inner).open.remove(&self.number);
    }
}

impl Connection {
    async fn run(self, busy: Arc<AtomicUsize>) {
        let _ = self.stream.set_nodelay(true);
        let Some(tls) = self.tls else {
            return exchange(self.stream, self.ends, self.app, self.router, busy).await;
        };
        let mut stream = self.stream;
        let mut first = [0];
        match tokio::time::timeout(HEAD_TIMEOUT, stream.peek(&mut first)).await {
            // A greeting of TLS begins so.
            Ok(Ok(1)) if first[0] == 0x16 => {}
            Ok(Ok(1)) => {
                let problem = Problem::bad("https", "this port accepts TLS only; use https");
                return refuse(&mut stream, problem).await;
            }
            _ => return,
        }
        if let Ok(Ok(stream)) = tokio::time::timeout(HEAD_TIMEOUT, tls.accept(stream)).await {
            exchange(stream, self.ends, self.app, self.router, busy).await;
        }
    }
}

/// Refuses what has not become a request, and closes.
async fn refuse<S: AsyncWrite + Unpin>(stream: &mut S, problem: Problem) {
    let _: io::Result<()> = stream.write_all(&problem.into_message()).await;
    let _ = stream.shutdown().await;
}

async fn exchange<S: AsyncRead + AsyncWrite + Unpin>(
    mut stream: S,
    ends: Ends,
    app: Arc<App>,
    router: Router,
    busy: Arc<AtomicUsize>,
) {
    let router = TowerToHyperService::new(router);
    // Whether something came since the last request: a connection that says nothing is closed without a word.
    let begun = Arc::new(AtomicBool::new(false));
    let (came, taken) = (Arc::clone(&begun), Arc::clone(&begun));
    let framing = Arc::new(Mutex::new(Framing::default()));
    let followed = Arc::clone(&framing);
    let watched = InspectReader::new(Worded::new(&mut stream), move |octets: &[u8]| {
        came.fetch_or(!octets.is_empty(), Ordering::Relaxed);
        followed.lock().unwrap_or_else(PoisonError::into_inner).take(octets);
    });
    let service = service_fn(move |request: Request<Incoming>| {
        taken.store(false, Ordering::Relaxed);
        let is_twice = framing.lock().unwrap_or_else(PoisonError::into_inner).next_is_twice();
        let (app, router) = (Arc::clone(&app), router.clone());
        let busy = Arc::clone(&busy);
        async move { Ok::<_, Infallible>(answer(&app, router, ends, request, is_twice, &busy).await) }
    });
    let serving = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIMEOUT)
        .max_buf_size(LARGEST_HEAD)
        .max_headers(MOST_FIELDS)
        .serve_connection(TokioIo::new(watched), service);
    // A connection that breaks off is the other end's affair.
    let ended = serving.await;
    if ended.is_err_and(|error| error.is_timeout()) && begun.load(Ordering::Relaxed) {
        let detail = "the head of the request did not come within 10 s";
        refuse(&mut stream, Problem::new(StatusCode::REQUEST_TIMEOUT, "slow", detail)).await;
    }
}

/// As long as it lives, its connection is not idle.
struct Working(Arc<AtomicUsize>);

impl Working {
    fn begin(busy: &Arc<AtomicUsize>) -> Self {
        busy.fetch_add(1, Ordering::AcqRel);
        Self(Arc::clone(busy))
    }
}

impl Drop for Working {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

/// A body that counts as work until it has gone out.
struct CountedBody {
    body: Body,
    _working: Option<Working>,
}

impl hyper::body::Body for CountedBody {
    type Data = axum::body::Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: std::pin::Pin<&mut Self>,
        context: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Option<Result<hyper::body::Frame<Self::Data>, Self::Error>>> {
        std::pin::Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> hyper::body::SizeHint {
        self.body.size_hint()
    }
}

async fn answer(
    app: &App,
    router: TowerToHyperService<Router>,
    ends: Ends,
    request: Request<Incoming>,
    is_framed_twice: bool,
    busy: &Arc<AtomicUsize>,
) -> Response<Body> {
    let (head, body) = request.into_parts();
    let path = head.uri.path().to_owned();
    let is_open = api::is_open(&path);
    let passed = request_guard::check(&head, &app.names, ends)
        .and_then(|()| if is_framed_twice { Err(request_guard::framed_twice()) } else { Ok(()) })
        .and_then(|()| if is_open { Ok(()) } else { authorise(app, &head.headers, &path, ends) });
    // What a stranger asks for keeps no place from others.
    let working = (passed.is_ok() && !is_open).then(|| Working::begin(busy));
    let mut response = match passed {
        Err(problem) => problem.into_response(),
        Ok(()) => {
            let answered = router.call(Request::from_parts(head, Body::new(body))).await;
            answered.unwrap_or_else(|never| match never {})
        }
    };
    guard(response.headers_mut(), &path);
    response.map(|body| Body::new(CountedBody { body, _working: working }))
}

/// Whoever asks has the token, or, but for opening one, a session.
fn authorise(app: &App, headers: &HeaderMap, path: &str, ends: Ends) -> Result<(), Problem> {
    let address = ends.peer.ip().to_canonical();
    let mut tokens = headers.get_all(AUTHORIZATION).iter();
    let token = tokens.next();
    if tokens.next().is_some() {
        return Err(Problem::bad("header", "the header Authorization is there twice"));
    }
    if let Some(token) = token {
        let token = token.to_str().ok().and_then(|text| {
            let (scheme, token) = text.split_once(' ')?;
            scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
        });
        return app.guard.check(Credentials::Token(token.unwrap_or_default()), address);
    }
    if path == "/api/session" {
        return app.guard.check(Credentials::Nothing, address);
    }
    let name = app.cookie_name();
    let session = headers
        .get_all(COOKIE)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|cookies| cookies.split(';'))
        .filter_map(|cookie| cookie.trim().split_once('='))
        .find(|(found, _)| *found == name)
        .map(|(_, session)| session);
    app.guard.check(session.map_or(Credentials::Nothing, Credentials::Session), address)
}

/// What a browser may do with a report, in a frame of the page or by itself: run the script of our own reports, which
/// lets its figures be zoomed and its data be saved, and nothing else; it is no document of this server's origin.
static OF_REPORTS: LazyLock<String> = LazyLock::new(|| {
    format!(
        "default-src 'none'; style-src 'unsafe-inline'; img-src data:; script-src '{}'; base-uri 'none'; \
         form-action 'none'; frame-ancestors 'self'; sandbox allow-scripts allow-downloads",
        romer_report::html::script_hash()
    )
});

/// What a browser may do with an answer.
fn guard(headers: &mut HeaderMap, path: &str) {
    let is_report = path.ends_with("/report.html");
    let policy = if is_report {
        OF_REPORTS.as_str()
    } else {
        "default-src 'self'; img-src 'self' data:; object-src 'none'; base-uri 'none'; form-action 'self'; \
         frame-ancestors 'none'"
    };
    let frame = if is_report { "SAMEORIGIN" } else { "DENY" };
    for (name, value) in [
        (CONTENT_SECURITY_POLICY, policy),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (X_FRAME_OPTIONS, frame),
        (REFERRER_POLICY, "no-referrer"),
    ] {
        if let Ok(value) = HeaderValue::from_str(value) {
            headers.insert(name, value);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A new connection replaces the oldest idle one of the network that has most of them, and none that works.
    #[tokio::test]
    async fn crowds_replace_their_own() {
        let mut all = Connections::default();
        assert_eq!(all.replaced(), None);
        let hosts = [("192.0.2.1", 0), ("198.51.100.1", 1), ("198.51.100.2", 0), ("198.51.100.1", 0)];
        for (number, (host, busy)) in (0..).zip(hosts) {
            let network = ClientNetwork::from_address(host.parse().unwrap());
            let abort = tokio::spawn(std::future::pending::<()>()).abort_handle();
            all.open.insert(number, Open { network, busy: Arc::new(AtomicUsize::new(busy)), abort });
        }
        assert_eq!(all.replaced(), Some(2));
        all.open.remove(&2);
        assert_eq!(all.replaced(), Some(0), "the oldest, where two networks have as many");
    }
}
