//! Requests as they should not be, against a server at work: each is answered in words, none with 500.
#![expect(clippy::unwrap_used, reason = "the helpers of tests fail as the tests do")]

#[path = "fixtures/emulation.rs"]
mod fixture;
#[path = "http/kept.rs"]
mod kept;
#[path = "http/loops.rs"]
mod loops;

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration as StdDuration;

use romer_bench::options::{BenchOptions, Case, Claims, StreamOptions};
use romer_method::Frames;
use romer_method::campaign::Procedure;
use romer_server::{Options, Plan, PlanFault, Server, Tls};
use romer_store::Runs;
use romer_units::random::Seed;
use romer_units::{Duration, FrameSize, LineRate};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use serde_json::Value;

const TOKEN: &str = "0123456789abcdef0123456789abcdef";
/// Waited for an answer; nothing is asserted about how long it takes.
const TIMEOUT: StdDuration = StdDuration::from_secs(60);

struct Console {
    server: Server,
    state: tempfile::TempDir,
}

#[derive(Debug)]
struct HttpAnswer {
    status: u16,
    head: String,
    body: String,
}

/// Plans of two words: which are refused, and which run what.
fn plan(text: &str) -> Result<Plan, PlanFault> {
    if text == "wrong" {
        return Err(PlanFault {
            text: "the plan cannot be used (plan:1:1): it is wrong; mend it".into(),
            place: Some((1, 1)),
        });
    }
    let command = text.strip_prefix("case ").map(str::to_owned);
    let reset = text.strip_prefix("reset ").map(str::to_owned);
    let options = BenchOptions {
        name: "load-sweep",
        tx: "nowhere/t0".parse().unwrap(),
        rx: "nowhere/t1".parse().unwrap(),
        source: "198.18.0.2".parse().unwrap(),
        destination: "198.18.0.66".parse().unwrap(),
        next_hop: None,
        line: LineRate::new(100_000_000).unwrap(),
        virtual_line: true,
        streams: vec![StreamOptions::default()],
        frames: vec![Frames::Size(FrameSize::new(64).unwrap())],
        too_small: Vec::new(),
        procedure: Procedure::Sweep { loads: vec![0.1, 0.5], length: Duration::from_secs(1) },
        criterion: "each load".into(),
        repeats: 2,
        settle: Duration::ZERO,
        patience: Duration::from_secs(1),
        case_time: Duration::from_secs(600),
        cases: vec![Case { name: "baseline".into(), command }],
        claims: Claims::default(),
        labels: std::collections::BTreeMap::new(),
        capture: None,
        reset,
        self_test: None,
        subtract_baseline: false,
        seed: Seed([1; 6]),
        notes: Vec::new(),
    };
    Ok(Plan { options, limits: Vec::new() })
}

impl Console {
    fn start() -> Self {
        Self::with(None)
    }

    /// With the certificate of the tests.
    fn with_tls() -> Self {
        let of = |name| Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name);
        Self::with(Some(Tls { certificate: of("console.pem"), key: of("console.key") }))
    }

    fn with(tls: Option<Tls>) -> Self {
        let state = tempfile::tempdir().unwrap();
        let options = Options {
            listen: "127.0.0.1:0".parse().unwrap(),
            tls,
            hosts: Vec::new(),
            token: Some(TOKEN.into()),
            runs: Runs::at(state.path().join("runs")),
            emulation: None,
            plans: plan,
            allow_commands: false,
        };
        Self { server: Server::start(options).unwrap(), state }
    }

    fn host(&self) -> String {
        self.server.address().to_string()
    }

    /// Sends these octets and reads until the server closes.
    fn raw(&self, octets: &[u8]) -> HttpAnswer {
        let mut stream = TcpStream::connect(self.server.address()).unwrap();
        stream.set_read_timeout(Some(TIMEOUT)).unwrap();
        // The server may answer and close before all is sent.
        let _ = stream.write_all(octets);
        HttpAnswer::read(&mut stream)
    }

    fn request(&self, line: &str, lines: &str) -> String {
        let host = self.host();
        format!(
            "{line} HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {TOKEN}\r\nConnection: close\r\n{lines}\r\n"
        )
    }

    /// A request with the right host and token, and these lines besides.
    fn ask(&self, line: &str, lines: &str, body: &str) -> HttpAnswer {
        let length =
            if body.is_empty() { String::new() } else { format!("Content-Length: {}\r\n", body.len()) };
        let head = self.request(line, &format!("{length}{lines}"));
        self.raw(format!("{head}{body}").as_bytes())
    }

    fn send(&self, line: &str, body: &str) -> HttpAnswer {
        self.ask(line, "Content-Type: application/json\r\n", body)
    }
}

impl HttpAnswer {
    /// All that comes until the server closes.
    fn read(stream: &mut impl Read) -> Self {
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        let text = String::from_utf8_lossy(&answer).into_owned();
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
        Self { status, head: head.to_ascii_lowercase(), body: body.into() }
    }

    fn is(&self, status: u16) -> &Self {
        assert_eq!(self.status, status, "{self:?}");
        self
    }

    /// A problem document with this status.
    fn is_problem(&self, status: u16) -> Value {
        self.is(status);
        assert!(self.head.contains("application/problem+json"), "{self:?}");
        let problem: Value = serde_json::from_str(&self.body).unwrap();
        assert_eq!(problem["status"], status);
        assert!(problem["detail"].as_str().is_some_and(|detail| detail.len() > 10), "{problem}");
        problem
    }
}

/// Requests with a foreign host or origin are refused.
#[test]
fn foreign_hosts_and_origins_are_refused() {
    let console = Console::start();
    let get =
        |host: &str| console.raw(format!("GET / HTTP/1.1\r\nConnection: close\r\n{host}\r\n").as_bytes());
    get("Host: evil.example\r\n").is_problem(421);
    get("").is_problem(400);
    get(&format!("Host: {0}\r\nHost: {0}\r\n", console.host())).is_problem(400);
    get(&format!("Host: 0.0.0.0:{}\r\n", console.server.address().port())).is_problem(421);
    let absolute =
        format!("GET http://evil.example/ HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\r\n", console.host());
    console.raw(absolute.as_bytes()).is_problem(421);
    for line in ["Origin: https://evil\r\n", "Sec-Fetch-Site: cross-site\r\n"] {
        let answer = console.ask("POST /api/statistics/reset", line, "");
        answer.is_problem(403);
        assert!(!answer.head.contains("access-control"), "{answer:?}");
    }
    let preflight = console.ask("OPTIONS /api/scenario", "Origin: https://evil\r\n", "");
    preflight.is_problem(403);
    assert!(!preflight.head.contains("access-control"));
}

/// Only the token opens; a wrong one gets the same reply as none.
#[test]
fn wrong_token_equals_no_token() {
    let console = Console::start();
    let host = console.host();
    let with = |lines: &str| {
        console.raw(
            format!("GET /api/runs HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n{lines}\r\n").as_bytes(),
        )
    };
    let none = with("");
    none.is_problem(401);
    assert!(none.head.contains("www-authenticate: bearer"), "{none:?}");
    let wrong = with("Authorization: Bearer 0123456789abcdef0123456789abcdeX\r\n");
    assert_eq!((wrong.status, &wrong.body), (401, &none.body));
    with(&format!("Cookie: romer_session_{}=1.{}\r\n", console.server.address().port(), "0".repeat(64)))
        .is_problem(401);
    with("Authorization: Basic YTpi\r\n").is_problem(401);
    console.ask("GET /api/runs?token=x", "", "").is_problem(400);
    with(&format!("Authorization: Bearer {TOKEN}\r\n")).is(200);
    let flood: Vec<HttpAnswer> = (0..100).map(|_| with("Authorization: Bearer wrong\r\n")).collect();
    let limited = flood.iter().find(|answer| answer.status == 429).expect("wrong tokens are slowed down");
    assert!(limited.head.contains("retry-after: 1"));
    with(&format!("Authorization: Bearer {TOKEN}\r\n")).is(200);
}

/// A browser gets a session for the token, and the session passes.
#[test]
fn token_opens_a_browser_session() {
    let console = Console::start();
    let host = console.host();
    let opened = console.ask("POST /api/session", "", "");
    opened.is(204);
    let cookie = opened.head.lines().find_map(|line| line.strip_prefix("set-cookie: ")).unwrap();
    assert!(cookie.contains("httponly") && cookie.contains("samesite=strict") && cookie.contains("path=/"));
    let session = cookie.split(';').next().unwrap();
    let get = format!(
        "GET /api/about HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\nCookie: a=b; {session}\r\n\r\n"
    );
    console.raw(get.as_bytes()).is(200);
    // A session opens no session: it could be made to last for ever.
    let post = format!(
        "POST /api/session HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\nCookie: {session}\r\n\r\n"
    );
    console.raw(post.as_bytes()).is_problem(401);
}

#[test]
fn methods_and_paths_that_are_none_are_refused() {
    let console = Console::start();
    let stop = console.ask("GET /api/emulation/stop", "", "");
    stop.is_problem(405);
    assert!(stop.head.contains("allow: post"), "{stop:?}");
    console.ask("TRACE /", "", "").is_problem(405);
    let connect = format!("CONNECT {0} HTTP/1.1\r\nHost: {0}\r\nConnection: close\r\n\r\n", console.host());
    console.raw(connect.as_bytes()).is_problem(405);
    console.ask("POST /index.html", "", "").is_problem(405);
    for path in [
        "/../../etc/passwd",
        "/%2e%2e%2fetc/passwd",
        "/api/runs/..%2f..%2fetc",
        "/api/nothing",
        "/api/runs/none",
    ] {
        console.ask(&format!("GET {path}"), "", "").is_problem(404);
    }
    let odd = console.ask("GET /api/runs/%c0%ae", "", "");
    assert!([400, 404].contains(&odd.status), "{odd:?}");
    console.ask("GET /api/runs/a%00b", "", "").is_problem(400);
    let unknown = console.ask("GET /api/nothing", "", "").is_problem(404);
    assert!(unknown["detail"].as_str().unwrap().contains("/api/openapi.json"), "{unknown}");
    console.ask("DELETE /api/nothing", "", "").is_problem(404);
    for length in [9 << 10, 64 << 10, 100 << 10] {
        console.ask(&format!("GET /{}", "a".repeat(length)), "", "").is_problem(414);
    }
    console.ask("GET /", &format!("X: {}\r\n", "a".repeat(1 << 20)), "").is_problem(431);
    console.ask("GET /", &"X: a\r\n".repeat(10_000), "").is_problem(431);
    console.raw(b"\x16\x03\x01\x00\r\n\r\n").is_problem(400);
    console.ask("GET /", "Range: bytes=0-,0-\r\n", "").is_problem(416);
    console.ask("GET /", "Accept-Encoding: br;q=bogus\r\n", "").is(200);
    let page = console.ask("GET /", "", "").body.len();
    let head = console.ask("HEAD /", "", "");
    assert!(page > 100 && head.is(200).body.is_empty(), "{head:?}");
    assert!(head.head.to_ascii_lowercase().contains(&format!("content-length: {page}\r\n")), "{head:?}");
}

/// Bodies that are not strict JSON are refused.
#[test]
fn invalid_bodies_are_refused() {
    let console = Console::start();
    let check = "POST /api/scenario/check";
    console.ask(check, "Content-Type: text/plain\r\n", "a=b").is_problem(415);
    console.ask(check, "", "{}").is_problem(415);
    console.ask(check, "Content-Type: application/json\r\nContent-Encoding: gzip\r\n", "{}").is_problem(415);
    let large = console
        .ask(check, "Content-Type: application/json\r\nContent-Length: 10000000000\r\n", "")
        .is_problem(413);
    let told = large["detail"].as_str().unwrap();
    assert!(told.contains("16 MiB, the quota") && told.contains("all 16 MiB are left"), "{told}");
    for body in ["{", "{}x", "[]x", "{\"toml\":1e999}", "{\"toml\":\"\",\"toml\":\"\"}", "{\"los\":1}"] {
        console.send(check, body).is_problem(400);
    }
    console.send(check, &"[".repeat(100_000)).is_problem(400);
    let host = console.host();
    let sent = |lines: &str, body: &[u8]| {
        let head = format!(
            "POST /api/scenario/check HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {TOKEN}\r\nConnection: \
             close\r\nContent-Type: application/json\r\n{lines}\r\n"
        );
        console.raw(&[head.as_bytes(), body].concat())
    };
    sent("Content-Length: 12\r\n", b"{\"toml\":\"\xff\"}").is_problem(400);
    // Framed twice, with a body that would do by itself, in either order.
    let chunked = b"b\r\n{\"toml\":\"\"}\r\n0\r\n\r\n";
    for lines in [
        "Content-Length: 11\r\nTransfer-Encoding: chunked\r\n",
        "Transfer-Encoding: chunked\r\nContent-Length: 11\r\n",
    ] {
        let twice = sent(lines, chunked).is_problem(400);
        assert!(twice["detail"].as_str().unwrap().contains("Transfer-Encoding"), "{twice}");
    }
    sent("Transfer-Encoding: xchunked\r\n", b"").is_problem(400);
    sent("Transfer-Encoding: chunked\r\n", b"zz\r\n{}\r\n0\r\n\r\n").is_problem(400);
    sent("Transfer-Encoding: chunked\r\n", b"b\r\n{\"toml\":\"\"}zz0\r\n\r\n").is_problem(400);
    let nested = |depth: usize| format!("{{\"scenario\":{}{}}}", "[".repeat(depth), "]".repeat(depth));
    let deep = console.send(check, &nested(64)).is_problem(400);
    assert!(deep["detail"].as_str().unwrap().contains("more than 64 deep"), "{deep}");
    console.send(check, &nested(63)).is_problem(422);
    sent("Transfer-Encoding: chunked\r\n", b"b\r\n{\"toml\":\"\"}\r\n0\r\n\r\n").is(200);
}

/// An invalid scenario is refused with the field.
#[test]
fn invalid_scenarios_name_the_field() {
    let console = Console::start();
    let check = |body: &str| console.send("POST /api/scenario/check", body);
    let unknown = check(r#"{"scenario":{"a_to_b":{"los":{}}}}"#).is_problem(422);
    assert!(unknown["detail"].as_str().unwrap().contains("did you mean loss"), "{unknown}");
    let text = check(r#"{"scenario":"[a_to_b.delay]\nfixed = \"30ms\"\n"}"#).is_problem(422);
    assert!(text["detail"].as_str().unwrap().contains(r#"send a text as "toml""#), "{text}");
    let start = r#"{"a":"none0","b":"none1","scenario":"[a_to_b.delay]"}"#;
    let start = console.send("POST /api/emulation", start).is_problem(422);
    assert!(start["detail"].as_str().unwrap().contains(r#"a text as "toml""#), "{start}");
    let range = check(r#"{"scenario":{"a_to_b":{"loss":{"probability":150}}}}"#).is_problem(422);
    assert_eq!(range["errors"][0]["field"], "a_to_b.loss.probability");
    let trace = r#"{"scenario":{"trace":{"file":"t.csv","format":"pham"}},"files":{"t.csv":"1,0,0,0,10\n1,2,0,0,x\n"}}"#;
    let trace = check(trace).is_problem(422);
    assert!(trace["detail"].as_str().unwrap().contains('2'), "the line is told: {trace}");
    let two = r#"{"scenario":{"a_to_b":{"loss":{"probability":150}},"b_to_a":{"delay":{"fixed":"3"}}}}"#;
    let two = check(two).is_problem(422);
    let fields: Vec<_> =
        two["errors"].as_array().unwrap().iter().map(|error| error["field"].clone()).collect();
    assert_eq!(fields, ["a_to_b.loss.probability", "b_to_a.delay.fixed"]);
    let right = check(r#"{"scenario":{"a_to_b":{"delay":{"fixed":"30ms"}}}}"#);
    let shown: Value = serde_json::from_str(&right.is(200).body).unwrap();
    assert_eq!(shown["toml"], "[a_to_b.delay]\nfixed = \"30ms\"\n");
    console.send("PUT /api/scenario", "{\"toml\":\"\"}").is_problem(404);
    console.send("POST /api/emulation/pass", "").is_problem(404);
    console.send("POST /api/emulation/impair", "").is_problem(404);
    let refused = console.send("POST /api/emulation", r#"{"a":"none0","b":"none1"}"#);
    assert!((400..500).contains(&refused.status), "{refused:?}");
    let problem = refused.is_problem(refused.status);
    assert!(problem["errors"][0]["field"] == "a" || refused.status == 403, "the port is told: {problem}");
    let same = console.send("POST /api/emulation", r#"{"a":"lo","b":"lo"}"#).is_problem(422);
    assert!(same["detail"].as_str().unwrap().contains("two interfaces"), "{same}");
}

/// An invalid measurement is refused with the field.
#[test]
fn invalid_measurements_name_the_field() {
    let console = Console::start();
    for (body, field) in [
        (r#"{"targets":[]}"#, "targets"),
        (r#"{"targets":["a b"]}"#, "targets"),
        (r#"{"targets":["h"],"traffic":"g7"}"#, "traffic"),
        (r#"{"targets":["h"],"traffic":"imix:18446744073709551615()a"}"#, "traffic"),
        (r#"{"targets":["h"],"traffic":"trace:/etc/passwd"}"#, "trace"),
        (r#"{"targets":["h"],"traffic":"trace:t.csv","trace":"0,44\nlater,44\n"}"#, "trace"),
        (r#"{"targets":["h"],"trace":"0,44\n"}"#, "trace"),
        (r#"{"targets":["h"],"duration":"10"}"#, "duration"),
        (r#"{"targets":["h"],"duration":"-1s"}"#, "duration"),
        (r#"{"targets":["h"],"size":"12"}"#, "size"),
        (r#"{"targets":["h"],"size":"70000B"}"#, "size"),
        (r#"{"targets":["h"],"size":"1B"}"#, "size"),
        (r#"{"targets":["h"],"interval":"0s"}"#, "interval"),
        (r#"{"targets":["h"],"traffic":"g711","interval":"5ms"}"#, "interval"),
        (r#"{"targets":["h"],"bundle":2}"#, "bundle"),
        (r#"{"targets":["h"],"traffic":"poisson","seed":[0,0,0,0,0,0]}"#, "seed"),
        (r#"{"targets":["h"],"dscp":"99"}"#, "dscp"),
        (r#"{"targets":["h"],"limits":["x"]}"#, "limits"),
        (r#"{"targets":["h"],"direction":"forward","limits":["round_trip.delay_ns.p99<1s"]}"#, "limits"),
        (r#"{"targets":["h"],"comment":"a\nb"}"#, "comment"),
    ] {
        let problem = console.send("POST /api/measurements", body).is_problem(422);
        assert_eq!(problem["errors"][0]["field"], field, "{problem}");
    }
    for (field, value) in [
        ("limits", serde_json::json!(vec!["round_trip.delay_ns.p99<1s"; 200])),
        ("duration", format!("{}s", "0".repeat(5_000)).into()),
    ] {
        let body = serde_json::json!({ "targets": ["h"], field: value }).to_string();
        let problem = console.send("POST /api/measurements", &body).is_problem(422);
        assert!(problem["detail"].as_str().unwrap().contains(&format!("{field}: takes at most 4096 bytes")));
    }
    let through = console.send("POST /api/measurements", r#"{"targets":["h"],"emulated":"a_to_b"}"#);
    assert_eq!(through.is_problem(409)["errors"][0]["field"], "emulated");
    console.send("GET /api/measurements/1", "").is_problem(404);
    for odd in ["runs/%c0%ae%c0%ae/report.html", "runs/%ff", "measurements/%ff", "benchmarks/%ff"] {
        console.send(&format!("GET /api/{odd}"), "").is_problem(404);
    }
    console.send("POST /api/measurements/x/stop", "").is_problem(404);
    let listed = console.send("GET /api/measurements", "");
    assert_eq!(listed.is(200).body, "[]");
}

/// Served pages have a strict content security policy.
#[test]
fn content_policy_is_strict() {
    let console = Console::start();
    for path in ["/", "/app.js", "/app.css", "/icon.svg", "/api/openapi.json"] {
        let answer = console.raw(
            format!("GET {path} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\r\n", console.host())
                .as_bytes(),
        );
        answer.is(200);
        assert!(answer.head.contains("content-security-policy: default-src 'self'"), "{}", answer.head);
        assert!(answer.head.contains("x-content-type-options: nosniff"));
        assert!(answer.body.len() > 50, "{path} is empty");
    }
}

#[test]
fn idle_connections_are_closed_for_new_ones() {
    let console = Console::start();
    let idle: Vec<TcpStream> =
        (0..400).filter_map(|_| TcpStream::connect(console.server.address()).ok()).collect();
    assert!(idle.len() > 256);
    console.ask("GET /api/about", "", "").is(200);
}

/// Requests without a token keep no place from one with it, whatever they leave open; a body that nobody takes is not waited for.
#[test]
fn strangers_keep_no_place() {
    let console = Console::start();
    let head = format!("GET /api/openapi.json HTTP/1.1\r\nHost: {}\r\n", console.host());
    let unfinished = format!("{head}Content-Type: application/json\r\nContent-Length: 11\r\n\r\n0123456789");
    let strangers: Vec<TcpStream> = (0..300)
        .filter_map(|_| {
            let mut stream = TcpStream::connect(console.server.address()).ok()?;
            stream.set_read_timeout(Some(TIMEOUT)).ok()?;
            stream.write_all(unfinished.as_bytes()).ok().map(|()| stream)
        })
        .collect();
    console.ask("GET /api/about", "", "").is(200);
    let mut last = strangers.last().unwrap();
    HttpAnswer::read(&mut last).is(200);
}

/// Requests whose head or body does not arrive in time are closed.
#[test]
fn slow_requests_are_closed() {
    let console = Console::start();
    let connect = |octets: &str| {
        let mut stream = TcpStream::connect(console.server.address()).unwrap();
        stream.set_read_timeout(Some(TIMEOUT)).unwrap();
        stream.write_all(octets.as_bytes()).unwrap();
        stream
    };
    let head = connect("GET /api/about HTTP/1.1\r\nHo");
    let body = connect(
        &console
            .request("POST /api/scenario/check", "Content-Type: application/json\r\nContent-Length: 100\r\n"),
    );
    let silent = connect("");
    for mut stream in [head, body] {
        HttpAnswer::read(&mut stream).is_problem(408);
    }
    let mut said = Vec::new();
    let _ = (&silent).read_to_end(&mut said);
    assert!(said.is_empty(), "a browser that connects ahead of time has asked for nothing");
}

/// With TLS, clients that speak plain HTTP get an explanation.
#[test]
fn plain_http_on_tls_is_explained() {
    let console = Console::with_tls();
    let plain = console.ask("GET /api/about", "", "").is_problem(400);
    assert!(plain["detail"].as_str().unwrap().contains("use https"));

    let mut roots = RootCertStore::empty();
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/console.pem");
    roots.add(CertificateDer::from_pem_file(file).unwrap()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let client = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let name = ServerName::try_from("127.0.0.1").unwrap();
    let connection = ClientConnection::new(Arc::new(client), name).unwrap();
    let stream = TcpStream::connect(console.server.address()).unwrap();
    stream.set_read_timeout(Some(TIMEOUT)).unwrap();
    let mut stream = StreamOwned::new(connection, stream);
    stream.write_all(console.request("POST /api/session", "").as_bytes()).unwrap();
    let answer = HttpAnswer::read(&mut stream);
    answer.is(204);
    assert!(answer.head.contains("set-cookie: __host-"), "{answer:?}");
    assert!(answer.head.contains("; secure"), "{answer:?}");
    assert!(console.server.url().starts_with("https://"));
}

/// Events are sent, and the server stops although pages are open.
#[test]
fn server_stops_with_open_pages() {
    let console = Console::start();
    let mut stream = TcpStream::connect(console.server.address()).unwrap();
    stream.set_read_timeout(Some(TIMEOUT)).unwrap();
    let host = console.host();
    write!(stream, "GET /api/events HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {TOKEN}\r\n\r\n")
        .unwrap();
    let mut seen = String::new();
    let mut piece = [0; 1024];
    while !seen.contains("event: alive") {
        let read = stream.read(&mut piece).unwrap();
        assert!(read > 0, "closed after {seen:?}");
        seen.push_str(&String::from_utf8_lossy(&piece[..read]));
    }
    assert!(seen.contains("text/event-stream"));
    console.server.stop();
    let mut rest = Vec::new();
    let _ = stream.read_to_end(&mut rest);
}

/// Benchmark plans are checked before anything runs.
#[test]
fn plans_are_checked_before_the_run() {
    let console = Console::start();
    let problem = console.send("POST /api/benchmarks/check", r#"{"plan":"wrong"}"#).is_problem(422);
    assert_eq!(problem["errors"][0]["field"], "plan", "{problem}");
    assert_eq!(problem["errors"][0]["line"], 1, "{problem}");
    let preview = console.send("POST /api/benchmarks/check", r#"{"plan":"case ip route"}"#);
    let preview: Value = serde_json::from_str(&preview.is(200).body).unwrap();
    assert_eq!(preview["trials"].as_array().map(Vec::len), Some(4), "{preview}");
    assert_eq!(preview["commands"][0], "ip route");
    let length = preview["duration_ns"].as_i64().unwrap();
    assert!(length >= 4_000_000_000, "four trials of a second: {length}");
    let refused = console.send("POST /api/benchmarks", r#"{"plan":"case ip route"}"#).is_problem(403);
    assert!(refused["detail"].as_str().unwrap().contains("--allow-commands"), "{refused}");
    console.send("POST /api/benchmarks", r#"{"plan":"reset reboot"}"#).is_problem(403);
    console.send("GET /api/benchmarks/1", "").is_problem(404);
    console.send("POST /api/benchmarks", r#"{"plan":"","x":1}"#).is_problem(400);
}

/// A failed benchmark states the reason and stays in the list.
#[test]
fn failed_benchmarks_state_the_reason() {
    let console = Console::start();
    let job = console.send("POST /api/benchmarks", r#"{"plan":""}"#);
    let job: Value = serde_json::from_str(&job.is(201).body).unwrap();
    assert_eq!(job["id"], 1, "{job}");
    let end = std::time::Instant::now() + TIMEOUT;
    let job = loop {
        let job: Value =
            serde_json::from_str(&console.send("GET /api/benchmarks/1", "").is(200).body).unwrap();
        if job["state"] != "running" {
            break job;
        }
        assert!(std::time::Instant::now() < end, "{job}");
        std::thread::sleep(StdDuration::from_millis(10));
    };
    assert_eq!(job["state"], "failed", "{job}");
    assert!(job["error"].as_str().is_some_and(|error| error.contains("nowhere")), "{job}");
    console.send("GET /api/benchmarks/1/document", "").is_problem(404);
    console.send("GET /api/benchmarks/1/report.html", "").is_problem(404);
    let listed: Value = serde_json::from_str(&console.send("GET /api/benchmarks", "").is(200).body).unwrap();
    assert_eq!(listed.as_array().map(Vec::len), Some(1));
}

#[test]
fn beyond_this_machine_nothing_is_served_without_tls() {
    let state = tempfile::tempdir().unwrap();
    let options = |token: &str| Options {
        listen: "0.0.0.0:0".parse().unwrap(),
        tls: None,
        hosts: Vec::new(),
        token: Some(token.into()),
        runs: Runs::at(state.path().into()),
        emulation: None,
        plans: plan,
        allow_commands: false,
    };
    let refused = Server::start(options(TOKEN)).unwrap_err();
    assert!(matches!(refused, romer_server::ServerError::NeedsTls(_)), "{refused}");
    let short = Options { listen: "127.0.0.1:0".parse().unwrap(), ..options("short") };
    assert!(matches!(Server::start(short).unwrap_err(), romer_server::ServerError::Token(5)));
}
