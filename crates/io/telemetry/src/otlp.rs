//! Metrics pushed to an OpenTelemetry collector: OTLP 1.0 over HTTP, in protobuf.
//!
//! The numbers of the fields are those of `opentelemetry/proto/metrics/v1/metrics.proto`.

use std::fmt;
use std::io::{self, Read};
use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::str::FromStr;
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use crate::histogram::{HistogramValues, SCHEMA};
use crate::protobuf::Message;
use crate::registry::{Cells, Counter, Entry, Registry, Spec};
use crate::server::write_all;

/// Time between two pushes.
pub const PUSH_INTERVAL: Duration = Duration::from_secs(10);
/// Time for a push, from the connection to the answer.
pub const PUSH_TIMEOUT: Duration = Duration::from_secs(5);
/// The port of OTLP over HTTP.
const PORT: u16 = 4_318;
/// The path of metrics.
const PATH: &str = "/v1/metrics";
/// `AGGREGATION_TEMPORALITY_CUMULATIVE`.
const CUMULATIVE: u64 = 2;

/// Where metrics are pushed: `http://HOST[:PORT][/PATH]`, by default port 4318 and `/v1/metrics`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OtlpUrl {
    /// Name or address, with the port, as `Host` has them.
    authority: String,
    path: String,
}

impl FromStr for OtlpUrl {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        const FORM: &str = "write one such as http://127.0.0.1:4318";
        if text.starts_with("https://") {
            return Err(format!("TLS is not supported; push to a collector on this host: {FORM}"));
        }
        let rest = text.strip_prefix("http://").ok_or_else(|| format!("not a URL; {FORM}"))?;
        let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
        let is_plain = |text: &str| text.bytes().all(|octet| octet.is_ascii_graphic());
        if authority.is_empty() || authority.contains(['@', '?', '#']) || !is_plain(rest) {
            return Err(format!("not a host and path; {FORM}"));
        }
        let host_end = authority.rfind(']').unwrap_or(0);
        let authority = match authority.get(host_end..).and_then(|end| end.split_once(':')) {
            Some((_, port)) if port.parse::<u16>().is_ok_and(|port| port > 0) => authority.to_owned(),
            Some(_) => return Err(format!("no port from 1 to 65535; {FORM}")),
            None => format!("{authority}:{PORT}"),
        };
        let path = if matches!(path, "" | "/") { PATH } else { path };
        Ok(Self { authority, path: path.to_owned() })
    }
}

impl fmt::Display for OtlpUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "http://{}{}", self.authority, self.path)
    }
}

/// Pushes the metrics of a registry every [`PUSH_INTERVAL`], and once more when it is dropped.
///
/// A push that fails is not repeated: the next one has all that it had. Pushes and failures are counted in the registry.
#[derive(Debug)]
pub struct OtlpPush {
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl OtlpPush {
    /// Pushes to `url`. Its name is resolved once, now.
    ///
    /// # Errors
    /// That of the system if the name cannot be resolved, or no thread can be started.
    pub fn start(url: &OtlpUrl, registry: &Registry) -> io::Result<Self> {
        Self::start_every(PUSH_INTERVAL, url, registry)
    }

    fn start_every(interval: Duration, url: &OtlpUrl, registry: &Registry) -> io::Result<Self> {
        let addresses: Vec<SocketAddr> = url.authority.to_socket_addrs()?.collect();
        let pushes = registry.counter(Spec {
            name: "romer_otlp_pushes",
            help: "Pushes of metrics to an OpenTelemetry collector.",
            labels: ["outcome"],
        });
        let outcomes: [Arc<Counter>; 2] = ["accepted", "failed"].map(|outcome| pushes.with([outcome]));
        let (stop, stopped) = channel();
        let (url, registry) = (url.clone(), registry.clone());
        let work = move || {
            loop {
                let is_last = stopped.recv_timeout(interval) != Err(RecvTimeoutError::Timeout);
                let body = registry.encode_with(encode);
                let is_accepted = push(&addresses, &url, &body).is_ok();
                outcomes[usize::from(!is_accepted)].add(1);
                if is_last {
                    return;
                }
            }
        };
        let thread = std::thread::Builder::new().name("romer-otlp".into()).spawn(work)?;
        Ok(Self { stop: Some(stop), thread: Some(thread) })
    }
}

impl Drop for OtlpPush {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // A panic of the thread has been reported by itself.
            let _ = thread.join();
        }
    }
}

/// Sends one request, and reads the status of its answer.
fn push(addresses: &[SocketAddr], url: &OtlpUrl, body: &[u8]) -> io::Result<()> {
    let deadline = Instant::now() + PUSH_TIMEOUT;
    let left = || {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() { Err(io::Error::from(io::ErrorKind::TimedOut)) } else { Ok(left) }
    };
    let mut result = Err(io::ErrorKind::AddrNotAvailable.into());
    for address in addresses {
        result = TcpStream::connect_timeout(address, left()?);
        if result.is_ok() {
            break;
        }
    }
    let mut connection = result?;
    let head = format!(
        "POST {} HTTP/1.1\r\nHost: {}\r\nContent-Type: application/x-protobuf\r\nContent-Length: {}\r\nUser-Agent: romer/{}\r\n\
         Connection: close\r\n\r\n",
        url.path,
        url.authority,
        body.len(),
        env!("CARGO_PKG_VERSION")
    );
    write_all(&mut connection, head.as_bytes(), deadline)?;
    write_all(&mut connection, body, deadline)?;
    let mut answer = Vec::new();
    // The status is in the first octets; the rest of the answer is not used.
    while answer.len() < 12 {
        connection.set_read_timeout(Some(left()?))?;
        let before = answer.len();
        let mut part = [0; 512];
        let octets = connection.read(&mut part)?;
        answer.extend_from_slice(part.get(..octets).unwrap_or_default());
        if answer.len() == before {
            break;
        }
    }
    let is_accepted = answer.starts_with(b"HTTP/1.") && answer.get(8..10) == Some(b" 2");
    if is_accepted { Ok(()) } else { Err(io::ErrorKind::InvalidData.into()) }
}

/// An `ExportMetricsServiceRequest` with all metrics.
fn encode(entries: &[Entry], started: SystemTime) -> Vec<u8> {
    let nanos = |time: SystemTime| {
        let since = time.duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
        u64::try_from(since).unwrap_or(u64::MAX)
    };
    let times = [nanos(started), nanos(SystemTime::now())];
    let mut resource = Message::default();
    attribute(&mut resource, 1, "service.name", "romer");
    attribute(&mut resource, 1, "service.version", env!("CARGO_PKG_VERSION"));
    if let Ok(host) = std::fs::read_to_string("/proc/sys/kernel/hostname") {
        attribute(&mut resource, 1, "host.name", host.trim());
    }
    let mut scope = Message::default();
    scope.octets(1, b"romer");
    let mut of_scope = Message::default();
    of_scope.octets(1, scope.as_ref());
    for entry in entries {
        of_scope.octets(2, metric(entry, times).as_ref());
    }
    let mut of_resource = Message::default();
    of_resource.octets(1, resource.as_ref());
    of_resource.octets(2, of_scope.as_ref());
    let mut request = Message::default();
    request.octets(1, of_resource.as_ref());
    request.into()
}

fn attribute(message: &mut Message, field: u64, name: &str, value: &str) {
    let mut text = Message::default();
    text.octets(1, value.as_bytes());
    let mut pair = Message::default();
    pair.octets(1, name.as_bytes());
    pair.octets(2, text.as_ref());
    message.octets(field, pair.as_ref());
}

fn metric(entry: &Entry, [started, now]: [u64; 2]) -> Message {
    let mut metric = Message::default();
    metric.octets(1, entry.name.as_bytes());
    metric.octets(2, entry.help.as_bytes());
    if entry.name.ends_with("_seconds") {
        metric.octets(3, b"s");
    }
    let mut data = Message::default();
    let mut add = |labels_field: u64, values: &[String], write: &dyn Fn(&mut Message)| {
        let mut point = Message::default();
        for (name, value) in entry.labels(values) {
            attribute(&mut point, labels_field, name, value);
        }
        point.fixed(2, started);
        point.fixed(3, now);
        write(&mut point);
        data.octets(1, point.as_ref());
    };
    let field = match &entry.cells {
        Cells::Gauge(series) => {
            Entry::each(series, |values, gauge| {
                if let Some(value) = gauge.get() {
                    add(7, values, &|point| point.double(4, value));
                }
            });
            5
        }
        Cells::Counter(series) => {
            Entry::each(series, |values, counter| add(7, values, &|point| point.fixed(6, counter.get())));
            data.unsigned(2, CUMULATIVE);
            data.unsigned(3, 1);
            7
        }
        Cells::Histogram(series) => {
            Entry::each(series, |values, cell| {
                let read = cell.read();
                add(1, values, &|point| histogram(point, &read));
            });
            data.unsigned(2, CUMULATIVE);
            10
        }
    };
    metric.octets(field, data.as_ref());
    metric
}

fn histogram(point: &mut Message, values: &HistogramValues) {
    point.fixed(4, values.count());
    point.double(5, values.sum);
    point.signed(6, SCHEMA.into());
    point.fixed(7, values.zero);
    for (field, buckets) in [(8, &values.positive), (9, &values.negative)] {
        let Some((first, _)) = buckets.first() else { continue };
        let mut counts = Message::default();
        let mut next = *first;
        for (index, count) in buckets {
            (next..*index).for_each(|_| counts.varint(0));
            counts.varint(*count);
            next = index + 1;
        }
        let mut side = Message::default();
        // Buckets are numbered by their lower bound here, by their upper bound in Prometheus.
        side.signed(1, i64::from(*first) - 1);
        side.octets(2, counts.as_ref());
        point.octets(field, side.as_ref());
    }
    point.double(14, HistogramValues::ZERO_THRESHOLD);
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::net::{Ipv4Addr, TcpListener};

    use super::*;

    /// URLs, with what is added to them, and those that are refused.
    #[test]
    fn urls_have_defaults() {
        for (text, expected) in [
            ("http://127.0.0.1", Some("http://127.0.0.1:4318/v1/metrics")),
            ("http://[::1]/", Some("http://[::1]:4318/v1/metrics")),
            ("http://[::1]:9090/api/v1/otlp/v1/metrics", Some("http://[::1]:9090/api/v1/otlp/v1/metrics")),
            ("http://collector.example:80", Some("http://collector.example:80/v1/metrics")),
            ("https://collector.example", None),
            ("collector.example:4318", None),
            ("http://", None),
            ("http://a:0", None),
            ("http://a:x", None),
            ("http://user@a", None),
            ("http://a/b\r\nc", None),
        ] {
            assert_eq!(
                text.parse::<OtlpUrl>().ok().map(|url| url.to_string()).as_deref(),
                expected,
                "{text}"
            );
        }
    }

    /// The buckets of a histogram are dense, and numbered from their lower bound.
    #[test]
    fn histograms_are_dense() {
        let values = HistogramValues { positive: vec![(-3, 2), (-1, 5)], ..HistogramValues::default() };
        let mut point = Message::default();
        histogram(&mut point, &values);
        // Field 8: offset -4 (zigzag 7), counts 2, 0, 5.
        let expected = [0x42, 7, 0x08, 7, 0x12, 3, 2, 0, 5];
        assert!(point.as_ref().windows(expected.len()).any(|part| part == expected), "{:?}", point.as_ref());
    }

    /// Reads one request, and gives its head and body.
    fn request(connection: &mut TcpStream) -> (String, Vec<u8>) {
        let mut read = Vec::new();
        loop {
            let mut part = [0; 4_096];
            let octets = connection.read(&mut part).unwrap();
            read.extend_from_slice(&part[..octets]);
            let Some(end) = read.windows(4).position(|four| four == b"\r\n\r\n") else { continue };
            let head = String::from_utf8(read[..end].to_vec()).unwrap();
            let length = head.lines().find_map(|line| line.strip_prefix("Content-Length: ")).unwrap();
            if read.len() == end + 4 + length.parse::<usize>().unwrap() {
                return (head, read.split_off(end + 4));
            }
        }
    }

    /// Pushes go on after a failure, the last one is at the end, and each has all metrics.
    #[test]
    fn pushes_are_repeated_and_counted() {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let url: OtlpUrl = format!("http://{}", listener.local_addr().unwrap()).parse().unwrap();
        let registry = Registry::new();
        let push = OtlpPush::start_every(Duration::from_millis(10), &url, &registry).unwrap();
        for status in ["503 Service Unavailable", "200 OK"] {
            let (mut connection, _) = listener.accept().unwrap();
            let (head, body) = request(&mut connection);
            assert!(head.starts_with("POST /v1/metrics HTTP/1.1\r\n"), "{head}");
            assert!(head.contains("Content-Type: application/x-protobuf"), "{head}");
            let name = b"romer_build_info";
            assert!(body.windows(name.len()).any(|part| part == name));
            write!(connection, "HTTP/1.1 {status}\r\nContent-Length: 0\r\n\r\n").unwrap();
        }
        let ended = std::thread::spawn(move || drop(push));
        // At most one is under way, and the last one follows it.
        while !ended.is_finished() {
            listener.set_nonblocking(true).unwrap();
            if let Ok((mut connection, _)) = listener.accept() {
                connection.set_nonblocking(false).unwrap();
                request(&mut connection);
                write!(connection, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").unwrap();
            }
        }
        ended.join().unwrap();
        let text = String::from_utf8(registry.encode(crate::Format::Text)).unwrap();
        assert!(text.contains("romer_otlp_pushes_total{outcome=\"failed\"} 1\n"), "{text}");
        let accepted = text.lines().find_map(|line| {
            line.strip_prefix("romer_otlp_pushes_total{outcome=\"accepted\"} ")?.parse::<u64>().ok()
        });
        assert!(accepted.is_some_and(|count| count >= 2), "{text}");
    }
}
