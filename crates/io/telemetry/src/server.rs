//! The HTTP server of metrics: one resource, `GET` and `HEAD`, and a limit of everything.

use std::io::{self, Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::format::Format;
use crate::registry::Registry;

/// Connections that are served at the same time; as many more wait, and further ones are closed.
pub const MAX_CONNECTIONS: usize = 4;
/// Octets of a request's head.
pub const HEAD_OCTETS: usize = 8_192;
/// Time for a request to arrive, and for its answer to be taken.
pub const REQUEST_TIMEOUT: Duration = Duration::from_secs(5);

/// A server of the metrics of a [`Registry`] at `/metrics`. It ends when it is dropped.
///
/// It has neither TLS nor authentication: whoever reaches its address reads all metrics, and can change nothing.
#[derive(Debug)]
pub struct MetricsServer {
    address: SocketAddr,
    stop: Arc<AtomicBool>,
    acceptor: Option<JoinHandle<()>>,
}

impl MetricsServer {
    /// Listens on `address`; port 0 selects a free one.
    ///
    /// # Errors
    /// That of the system if the address cannot be bound, or no thread can be started.
    pub fn start(address: SocketAddr, registry: &Registry) -> io::Result<Self> {
        let listener = TcpListener::bind(address)?;
        let address = listener.local_addr()?;
        let stop = Arc::new(AtomicBool::new(false));
        let (sender, receiver) = sync_channel(MAX_CONNECTIONS);
        let receiver = Arc::new(Mutex::new(receiver));
        for _ in 0..MAX_CONNECTIONS {
            let (receiver, registry) = (Arc::clone(&receiver), registry.clone());
            spawn(move || serve(&receiver, &registry))?;
        }
        let until = Arc::clone(&stop);
        let acceptor = spawn(move || accept(&listener, &sender, &until))?;
        Ok(Self { address, stop, acceptor: Some(acceptor) })
    }

    /// The address that it listens on.
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// The address of its metrics, for people.
    pub fn url(&self) -> String {
        format!("http://{}/metrics", self.address)
    }
}

fn spawn(work: impl FnOnce() + Send + 'static) -> io::Result<JoinHandle<()>> {
    std::thread::Builder::new().name("romer-metrics".into()).spawn(work)
}

impl Drop for MetricsServer {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Release);
        // The thread that accepts looks up with a connection.
        let here: IpAddr = match self.address.ip() {
            IpAddr::V4(address) if address.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
            IpAddr::V6(address) if address.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
            address => address,
        };
        let address = SocketAddr::new(here, self.address.port());
        if TcpStream::connect_timeout(&address, Duration::from_secs(1)).is_ok()
            && let Some(acceptor) = self.acceptor.take()
        {
            // A panic of the thread has been reported by itself. Those that serve end with their last connection.
            let _ = acceptor.join();
        }
    }
}

fn accept(listener: &TcpListener, sender: &SyncSender<TcpStream>, stop: &AtomicBool) {
    /// After an error, such as no free descriptor.
    const PAUSE: Duration = Duration::from_millis(50);
    while !stop.load(Ordering::Acquire) {
        match listener.accept() {
            // A connection beyond the limit is closed here.
            Ok((connection, _)) => _ = sender.try_send(connection),
            Err(_) => std::thread::sleep(PAUSE),
        }
    }
}

/// Serves connections one after the other, until the thread that accepts has ended.
fn serve(connections: &Mutex<Receiver<TcpStream>>, registry: &Registry) {
    loop {
        let next = connections.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok(mut connection) = next else { return };
        // What goes wrong is the client's, and it sees it.
        let _ = answer(&mut connection, registry);
    }
}

fn answer(connection: &mut TcpStream, registry: &Registry) -> io::Result<()> {
    let head = read_head(connection, Instant::now() + REQUEST_TIMEOUT)?;
    let reply = match head {
        Head::Complete(head) => respond(&head, registry),
        Head::TooLong => Reply::error("431 Request Header Fields Too Large"),
        Head::TooLate => Reply::error("408 Request Timeout"),
    };
    write_all(connection, &reply.octets(), Instant::now() + REQUEST_TIMEOUT)?;
    connection.shutdown(Shutdown::Write)
}

enum Head {
    Complete(Vec<u8>),
    TooLong,
    TooLate,
}

/// Reads up to the empty line. An error if the client closes before.
fn read_head(connection: &mut TcpStream, deadline: Instant) -> io::Result<Head> {
    let mut head = Vec::new();
    let mut part = [0; 1_024];
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Ok(Head::TooLate);
        }
        connection.set_read_timeout(Some(left))?;
        match connection.read(&mut part) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(octets) => head.extend_from_slice(part.get(..octets).unwrap_or_default()),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => {
                return Ok(Head::TooLate);
            }
            Err(error) => return Err(error),
        }
        if head.windows(4).any(|four| four == b"\r\n\r\n") {
            return Ok(Head::Complete(head));
        }
        if head.len() > HEAD_OCTETS {
            return Ok(Head::TooLong);
        }
    }
}

/// Writes all until `deadline`, however slowly the other end reads.
pub(crate) fn write_all(connection: &mut TcpStream, mut octets: &[u8], deadline: Instant) -> io::Result<()> {
    while !octets.is_empty() {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        connection.set_write_timeout(Some(left))?;
        match connection.write(octets) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(written) => octets = octets.get(written..).unwrap_or_default(),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

struct Reply {
    status: &'static str,
    content_type: &'static str,
    body: Vec<u8>,
    has_body: bool,
}

impl Reply {
    fn error(status: &'static str) -> Self {
        let body = format!("{status}\n").into_bytes();
        Self { status, content_type: "text/plain; charset=utf-8", body, has_body: true }
    }

    fn octets(&self) -> Vec<u8> {
        let Self { status, content_type, body, has_body } = self;
        let allow = if status.starts_with("405") { "Allow: GET, HEAD\r\n" } else { "" };
        let mut octets = format!(
            "HTTP/1.1 {status}\r\nContent-Type: {content_type}\r\nContent-Length: {}\r\n{allow}Cache-Control: no-store\r\n\
             X-Content-Type-Options: nosniff\r\nConnection: close\r\n\r\n",
            body.len()
        )
        .into_bytes();
        if *has_body {
            octets.extend_from_slice(body);
        }
        octets
    }
}

fn respond(head: &[u8], registry: &Registry) -> Reply {
    let Ok(head) = str::from_utf8(head) else { return Reply::error("400 Bad Request") };
    let mut lines = head.split("\r\n");
    let mut request = lines.next().unwrap_or_default().split(' ');
    let (Some(method), Some(target), Some("HTTP/1.0" | "HTTP/1.1"), None) =
        (request.next(), request.next(), request.next(), request.next())
    else {
        return Reply::error("400 Bad Request");
    };
    if !matches!(method, "GET" | "HEAD") {
        return Reply::error("405 Method Not Allowed");
    }
    let has_body = method == "GET";
    if target.split('?').next() != Some("/metrics") {
        return Reply { has_body, ..Reply::error("404 Not Found") };
    }
    let headers = lines.filter_map(|line| line.split_once(':'));
    let accept = headers.filter(|(name, _)| name.eq_ignore_ascii_case("accept")).map(|(_, value)| value);
    let format = Format::accepted(&accept.collect::<Vec<_>>().join(","));
    Reply { status: "200 OK", content_type: format.content_type(), body: registry.encode(format), has_body }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn server() -> MetricsServer {
        MetricsServer::start((Ipv4Addr::LOCALHOST, 0).into(), &Registry::new()).unwrap()
    }

    /// Sends `request`, and gives all that comes until the server closes.
    fn exchange(server: &MetricsServer, request: &[u8]) -> String {
        let mut connection = TcpStream::connect(server.address()).unwrap();
        connection.write_all(request).unwrap();
        let mut reply = Vec::new();
        // A server that closes with unread octets resets the connection; what it answered is here.
        let _ = connection.read_to_end(&mut reply);
        String::from_utf8_lossy(&reply).into_owned()
    }

    /// The answer to each kind of request, by its first line.
    #[test]
    fn only_metrics_are_served() {
        let server = server();
        for (request, status) in [
            ("GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n", "200 OK"),
            ("GET /metrics?x=1 HTTP/1.0\r\n\r\n", "200 OK"),
            ("HEAD /metrics HTTP/1.1\r\n\r\n", "200 OK"),
            ("GET / HTTP/1.1\r\n\r\n", "404 Not Found"),
            ("GET /metrics/../etc HTTP/1.1\r\n\r\n", "404 Not Found"),
            ("POST /metrics HTTP/1.1\r\n\r\n", "405 Method Not Allowed"),
            ("GET /metrics\r\n\r\n", "400 Bad Request"),
            ("GET /metrics HTTP/2\r\n\r\n", "400 Bad Request"),
            ("\r\n\r\n", "400 Bad Request"),
        ] {
            let reply = exchange(&server, request.as_bytes());
            assert!(reply.starts_with(&format!("HTTP/1.1 {status}\r\n")), "{request:?}: {reply}");
        }
        let reply = exchange(&server, b"\xff\xfe\r\n\r\n");
        assert!(reply.starts_with("HTTP/1.1 400 "), "{reply}");
    }

    /// The answer to `HEAD` has the length of that to `GET`, and no body.
    #[test]
    fn heads_have_no_body() {
        let server = server();
        let reply = exchange(&server, b"HEAD /metrics HTTP/1.1\r\n\r\n");
        let length = reply.lines().find_map(|line| line.strip_prefix("Content-Length: ")).unwrap();
        assert!(reply.ends_with("\r\n\r\n") && length.parse::<usize>().unwrap() > 100, "{reply}");
        let full = exchange(&server, b"GET /metrics HTTP/1.1\r\n\r\n");
        assert_eq!(full.split_once("\r\n\r\n").unwrap().1.len(), length.parse::<usize>().unwrap());
    }

    /// A head above the limit is refused before its end.
    #[test]
    fn long_heads_are_refused() {
        let server = server();
        let reply = exchange(&server, &vec![b'a'; HEAD_OCTETS + 1]);
        assert!(reply.starts_with("HTTP/1.1 431 ") || reply.is_empty(), "{reply}");
        assert!(exchange(&server, b"GET /metrics HTTP/1.1\r\n\r\n").contains("200 OK"), "it goes on");
    }

    /// Connections that send nothing are closed at their limit of time, and the server answers others then.
    #[test]
    fn silent_connections_end() {
        let server = server();
        let silent: Vec<_> =
            (0..MAX_CONNECTIONS).map(|_| TcpStream::connect(server.address()).unwrap()).collect();
        for mut connection in silent {
            let mut reply = String::new();
            connection.read_to_string(&mut reply).unwrap();
            assert!(reply.starts_with("HTTP/1.1 408 "), "{reply}");
        }
        assert!(exchange(&server, b"GET /metrics HTTP/1.1\r\n\r\n").contains("200 OK"));
    }

    /// Connections beyond the limit are closed; those within it are served.
    #[test]
    fn excess_connections_are_closed() {
        let server = server();
        let many: Vec<_> =
            (0..4 * MAX_CONNECTIONS).map(|_| TcpStream::connect(server.address()).unwrap()).collect();
        let served = many.into_iter().filter(|mut connection| {
            let mut reply = Vec::new();
            let _ = connection.read_to_end(&mut reply);
            !reply.is_empty()
        });
        let served = served.count();
        assert!((MAX_CONNECTIONS..4 * MAX_CONNECTIONS).contains(&served), "{served}");
    }

    /// The address is free after the server has ended.
    #[test]
    fn ended_servers_free_their_address() {
        let server = server();
        let address = server.address();
        drop(server);
        assert!(MetricsServer::start(address, &Registry::new()).is_ok());
    }

    /// The representation follows `Accept`.
    #[test]
    fn accept_selects_the_format() {
        let server = server();
        let request =
            "GET /metrics HTTP/1.1\r\naccept: application/openmetrics-text;version=1.0.0\r\n\r\n".as_bytes();
        let reply = exchange(&server, request);
        assert!(reply.contains(Format::OpenMetrics.content_type()) && reply.ends_with("# EOF\n"), "{reply}");
    }
}
