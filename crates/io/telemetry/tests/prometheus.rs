//! A real Prometheus scrapes the metrics: its quantiles, and every query of the dashboards and rules of `packaging`.
#![expect(clippy::unwrap_used, reason = "the helpers of tests fail as the tests do")]

use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use std::{fs, thread};

use romer_telemetry::{
    AgentMetrics, EmulatorMetrics, Format, MetricsServer, PacketFate, PacketOutcome, ProbeMetrics, Reference,
    Registry, ResponderMetrics, RunOutcome, SessionOutcome, Way,
};
use serde_json::Value;

/// How long anything may take. Only a failure waits as long.
const TIMEOUT: Duration = Duration::from_secs(60);

fn packaging() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../packaging").canonicalize().unwrap()
}

/// A program of the package `prometheus`; `None` where it is absent and nothing promises it.
fn start(command: &mut Command) -> Option<Child> {
    match command.spawn() {
        Ok(child) => Some(child),
        Err(error) if error.kind() == ErrorKind::NotFound => {
            let promised = std::env::var_os("CI").is_some();
            assert!(!promised, "{command:?}: {error}; scripts/need prometheus installs it");
            None
        }
        Err(error) => panic!("{command:?}: {error}"),
    }
}

/// A Prometheus that scrapes one server, and ends with this.
struct Prometheus {
    child: Child,
    address: SocketAddr,
    _folder: tempfile::TempDir,
}

impl Drop for Prometheus {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Prometheus {
    fn start(scraped: SocketAddr, is_native: bool) -> Option<Self> {
        let folder = tempfile::tempdir().unwrap();
        let config = folder.path().join("prometheus.yml");
        let rules = packaging().join("prometheus/romer.rules.yml");
        let text = format!(
            "global: {{scrape_interval: 1s, evaluation_interval: 1s}}\nrule_files: ['{}']\nscrape_configs:\n- job_name: romer\n  \
             static_configs: [{{targets: ['{scraped}']}}]\n",
            rules.display()
        );
        fs::write(&config, text).unwrap();
        // A port that is free now. Another program may take it before Prometheus does, which then ends.
        let address = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap();
        let mut command = Command::new("prometheus");
        command.arg(format!("--config.file={}", config.display()));
        command.arg(format!("--storage.tsdb.path={}", folder.path().join("data").display()));
        command.arg(format!("--web.listen-address={address}")).arg("--log.level=error");
        if is_native {
            command.arg("--enable-feature=native-histograms");
        }
        let child = start(command.stdout(Stdio::null()))?;
        Some(Self { child, address, _folder: folder })
    }

    /// The answer of the API to a path; `None` while it does not listen.
    fn get(&self, path: &str) -> Option<Value> {
        let mut connection = TcpStream::connect(self.address).ok()?;
        // By HTTP/1.0 an answer is in one piece.
        write!(connection, "GET {path} HTTP/1.0\r\nHost: localhost\r\n\r\n").ok()?;
        let mut reply = String::new();
        connection.read_to_string(&mut reply).ok()?;
        serde_json::from_str(reply.split_once("\r\n\r\n")?.1).ok()
    }

    /// The result of a query; a query that is wrong fails the test.
    fn query(&self, query: &str) -> Vec<Value> {
        let encoded: String = query.bytes().map(|octet| format!("%{octet:02x}")).collect();
        let Some(answer) = self.get(&format!("/api/v1/query?query={encoded}")) else { return Vec::new() };
        // Until it is ready it answers 503 in another form.
        assert_eq!(answer["status"], "success", "{query}: {answer}");
        answer["data"]["result"].as_array().cloned().unwrap_or_default()
    }

    /// The result of a query once it has one.
    fn await_result(&mut self, query: &str) -> Result<Vec<Value>, String> {
        let deadline = Instant::now() + TIMEOUT;
        while Instant::now() < deadline {
            let found = self.query(query);
            // A ratio of nothing is no result.
            if found.iter().any(|one| one["value"][1].as_str().is_none_or(|value| value != "NaN")) {
                return Ok(found);
            }
            if let Some(status) = self.child.try_wait().unwrap() {
                panic!("prometheus has ended: {status}");
            }
            thread::sleep(Duration::from_millis(100));
        }
        Err(format!("no result: {query}"))
    }
}

/// Delays in nanoseconds of several distributions, each by its quantile function at `count` places.
fn distributions(count: u32) -> Vec<(&'static str, Vec<i64>)> {
    let quantile: [(&str, Law); 5] = [
        ("constant", |_| 1.234e7),
        ("uniform", |p| 1e6 + 9e6 * p),
        ("exponential", |p| 2e7 - 5e6 * (1.0 - p).ln()),
        ("heavy", |p| 1e5 * (1.0 - p).powf(-0.7)),
        ("two-modes", |p| if p < 0.7 { 1e7 + 1e5 * p } else { 8e7 + 3e6 * p }),
    ];
    let places = || (0..count).map(|n| (f64::from(n) + 0.5) / f64::from(count));
    #[expect(clippy::cast_possible_truncation, reason = "below an hour")]
    let values = |quantile: fn(f64) -> f64| places().map(|p| quantile(p).round() as i64).collect();
    quantile.map(|(name, quantile)| (name, values(quantile))).to_vec()
}

/// Quantiles that Prometheus computes from native histograms are within 2 % of those of the values.
/// The value below which a share of a distribution lies.
type Law = fn(f64) -> f64;

#[test]
fn native_quantiles_are_exact_enough() {
    let registry = Registry::new();
    let metrics = ProbeMetrics::new(&registry);
    let all = distributions(5_000);
    for (name, values) in &all {
        let target = metrics.target(name);
        values.iter().for_each(|value| target.observe_round_trip(*value));
    }
    // Delays that a clock error made negative.
    let negative = metrics.target("negative").one_way(Way::Forward, Reference::Departure);
    (1..=1_000).for_each(|n| negative.observe(-n * 1_000));
    let server = MetricsServer::start((Ipv4Addr::LOCALHOST, 0).into(), &registry).unwrap();
    let Some(mut prometheus) = Prometheus::start(server.address(), true) else { return };
    for (name, values) in &all {
        for (text, percent) in [("0.5", 50), ("0.9", 90), ("0.99", 99)] {
            let query = format!("histogram_quantile({text}, romer_round_trip_seconds{{target=\"{name}\"}})");
            let found = number(&prometheus.await_result(&query).unwrap());
            let mut sorted = values.clone();
            sorted.sort_unstable();
            let expected = sorted[sorted.len() * percent / 100 - 1] as f64 * 1e-9;
            assert!((found / expected - 1.0).abs() < 0.02, "{name} {text}: {found} for {expected}");
        }
        let count = format!("histogram_count(romer_round_trip_seconds{{target=\"{name}\"}})");
        assert!((number(&prometheus.await_result(&count).unwrap()) - 5_000.0).abs() < 0.5);
    }
    let query = "histogram_quantile(0.5, romer_one_way_delay_seconds{target=\"negative\"})";
    let median = number(&prometheus.await_result(query).unwrap());
    assert!((median / -500e-6 - 1.0).abs() < 0.02, "{median}");
}

fn number(result: &[Value]) -> f64 {
    assert_eq!(result.len(), 1, "{result:?}");
    result[0]["value"][1].as_str().unwrap().parse().unwrap()
}

/// Everything that romer counts, with something wrong of each kind that an alert is for.
struct Troubled {
    probes: ProbeMetrics,
    agent: AgentMetrics,
    responder: ResponderMetrics,
    emulator: EmulatorMetrics,
}

impl Troubled {
    fn new(registry: &Registry) -> Self {
        Self {
            probes: ProbeMetrics::new(registry),
            agent: AgentMetrics::new(registry),
            responder: ResponderMetrics::new(registry),
            emulator: EmulatorMetrics::new(registry),
        }
    }

    /// The counts after a further step.
    fn step(&self, step: u64) {
        for name in ["far", "gone"] {
            let target = self.probes.target(name);
            target.set_up(name == "far");
            target.add_sent(100);
            target.add_received(90);
            target.add_lost(Way::RoundTrip, 10);
            target.add_lost_by(Way::Forward, "unknown", 10);
            target.set_offset_bound(150_000_000);
            for nanos in [300_000_000, 310_000_000, 320_000_000] {
                target.observe_round_trip(nanos);
                target.one_way(Way::Forward, Reference::Minimum).observe(nanos / 10);
                target.observe_variation(Way::RoundTrip, 10_000_000);
            }
        }
        for outcome in [RunOutcome::LimitFailed, RunOutcome::Failed] {
            self.agent.add_run("core", outcome);
        }
        self.agent.add_missed("core", 1);
        let total = step * 1_000;
        self.responder.set_packets(PacketOutcome::Reflected, "user-space", total);
        self.responder.set_packets(PacketOutcome::Refused, "rate-limited", total);
        self.responder.set_packets(PacketOutcome::Dropped, "receive-queue", total);
        self.responder.set_sessions(SessionOutcome::Granted, "", total);
        self.responder.set_not_sent(total);
        self.responder.set_probes(total, total);
        self.responder.set_remembered(3);
        let port = self.emulator.port("a");
        port.set_packets(PacketFate::Received, "", 2 * total);
        port.set_packets(PacketFate::Duplicated, "", 0);
        port.set_packets(PacketFate::Transmitted, "", total);
        port.set_packets(PacketFate::Dropped, "kernel", total);
        port.set_queued(5);
    }
}

/// All queries of the dashboards, with the names of their panels.
fn dashboard_queries() -> Vec<(String, String)> {
    let mut queries = Vec::new();
    for file in fs::read_dir(packaging().join("grafana")).unwrap() {
        let path = file.unwrap().path();
        let dashboard: Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
        for panel in dashboard["panels"].as_array().unwrap() {
            for target in panel["targets"].as_array().unwrap() {
                let name = format!("{}: {}", path.file_name().unwrap().display(), panel["title"]);
                let query = target["expr"].as_str().unwrap();
                let query =
                    query.replace("$__rate_interval", "1m").replace("$target", ".*").replace("$port", ".*");
                assert!(!query.contains('$'), "{name}: a variable without a value: {query}");
                queries.push((name, query));
            }
        }
        for variable in dashboard["templating"]["list"].as_array().unwrap() {
            if let Some(rest) = variable["query"].as_str().unwrap().strip_prefix("label_values(") {
                let (metric, label) = rest.trim_end_matches(')').split_once(", ").unwrap();
                queries.push((format!("variable {label}"), format!("count by ({label}) ({metric})")));
            }
        }
    }
    assert!(queries.len() > 20, "{}", queries.len());
    queries
}

/// Every query of the dashboards and every alert has a result, with native and with classic histograms.
#[test]
fn dashboards_and_alerts_have_results() {
    let registry = Registry::new();
    let troubled = Troubled::new(&registry);
    troubled.step(0);
    let server = MetricsServer::start((Ipv4Addr::LOCALHOST, 0).into(), &registry).unwrap();
    let (address, stop) = (server.address(), AtomicBool::new(false));
    let faults = thread::scope(|scope| {
        scope.spawn(|| {
            let mut step = 0;
            while !stop.load(Ordering::Acquire) {
                step += 1;
                troubled.step(step);
                thread::sleep(Duration::from_millis(100));
            }
        });
        let both: Vec<_> = [true, false]
            .map(|is_native| scope.spawn(move || faults(address, is_native)))
            .into_iter()
            .map(thread::ScopedJoinHandle::join)
            .collect();
        stop.store(true, Ordering::Release);
        both
    });
    let faults: Vec<_> = faults.into_iter().flat_map(Result::unwrap).collect();
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// The queries without a result.
fn faults(scraped: SocketAddr, is_native: bool) -> Vec<String> {
    let Some(mut prometheus) = Prometheus::start(scraped, is_native) else { return Vec::new() };
    let mut faults = Vec::new();
    // In the form that the other Prometheus has.
    let kind = if is_native {
        "histogram_count(romer_round_trip_seconds)"
    } else {
        "romer_round_trip_seconds_bucket"
    };
    faults.extend(prometheus.await_result(kind).err());
    let rules = prometheus.get("/api/v1/rules").unwrap();
    let alerts = rules["data"]["groups"].as_array().unwrap().iter();
    let alerts: Vec<_> = alerts.flat_map(|group| group["rules"].as_array().unwrap().clone()).collect();
    assert!(alerts.len() > 4, "{rules}");
    let of_alerts = alerts
        .iter()
        .map(|rule| (rule["name"].as_str().unwrap().to_owned(), rule["query"].as_str().unwrap().to_owned()));
    for (name, query) in of_alerts.chain(dashboard_queries()) {
        faults.extend(
            prometheus.await_result(&query).err().map(|fault| format!("{name}, {is_native}: {fault}")),
        );
    }
    faults
}

/// Promtool accepts the rules and their tests, and the text of all metrics with their names and help.
#[test]
fn promtool_accepts_rules_and_metrics() {
    let registry = Registry::new();
    Troubled::new(&registry).step(1);
    let folder = packaging().join("prometheus");
    for arguments in [["check", "rules", "romer.rules.yml"], ["test", "rules", "romer.test.yml"]] {
        let mut command = Command::new("promtool");
        command.args(arguments).current_dir(&folder).stdout(Stdio::piped()).stderr(Stdio::piped());
        let Some(child) = start(&mut command) else { return };
        let ended = child.wait_with_output().unwrap();
        assert!(ended.status.success(), "{arguments:?}: {ended:?}");
    }
    let mut command = Command::new("promtool");
    command.args(["check", "metrics"]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let Some(mut child) = start(&mut command) else { return };
    child.stdin.take().unwrap().write_all(&registry.encode(Format::Text)).unwrap();
    let ended = child.wait_with_output().unwrap();
    assert!(ended.status.success() && ended.stderr.is_empty(), "{ended:?}");
}

/// The reference page has every metric, and no other.
#[test]
fn the_reference_page_has_every_metric() {
    let registry = Registry::new();
    Troubled::new(&registry).step(1);
    let text = String::from_utf8(registry.encode(Format::Text)).unwrap();
    let typed = text.lines().filter_map(|line| line.strip_prefix("# TYPE "));
    let mut exported: Vec<_> = typed.map(|line| line.replace(' ', " | ")).collect();
    let page = packaging().join("../docs/reference/exported-metrics.md");
    let page = fs::read_to_string(page).unwrap();
    let rows = page.lines().filter_map(|line| line.strip_prefix("| `")?.split_once("` | "));
    let of_metrics = rows.filter(|(name, _)| name.starts_with("romer_") || name.starts_with("process_"));
    let kind = |rest: &str| rest.split(' ').next().unwrap().to_owned();
    let mut documented: Vec<_> = of_metrics.map(|(name, rest)| format!("{name} | {}", kind(rest))).collect();
    exported.sort();
    documented.sort();
    assert_eq!(documented, exported);
}
