//! The metrics of running commands over HTTP.

use std::fs;
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::common::lab::{FAR, Lab};
use crate::common::process::{self, Process};
use crate::common::{count, number};

/// How long anything may take. Only a failure waits as long.
const TIMEOUT: Duration = Duration::from_secs(60);
const ADDRESS: &str = "127.0.0.1:9862";

/// The metrics of a command on `host`; empty while there is no server.
fn scrape(lab: &Lab, host: &str) -> String {
    let url = format!("http://{ADDRESS}/metrics");
    process::run(lab.command(host, "curl").args(["--silent", "--fail", &url])).stdout
}

/// The value of the time series with this name and these labels.
fn value(text: &str, series: &str) -> Option<f64> {
    text.lines().find_map(|line| line.strip_prefix(series)?.strip_prefix(' ')?.parse().ok())
}

/// The metrics, once `is_there` holds for them.
fn scrape_until(lab: &Lab, host: &str, is_there: impl Fn(&str) -> bool) -> String {
    let deadline = Instant::now() + TIMEOUT;
    loop {
        let text = scrape(lab, host);
        if is_there(&text) {
            return text;
        }
        assert!(Instant::now() < deadline, "{text}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// Delays and counts of repeated runs are those of their documents, and the responder counts the same probes.
#[test]
fn metrics_equal_the_document() {
    let lab = Lab::path();
    let responder = lab.respond(&["--metrics", ADDRESS]);
    let home = tempfile::tempdir().unwrap();
    let mut command = lab.romer("A", ["measure", FAR, "--metrics", "9862", "--every", "1h", "--json", "-"]);
    command
        .args(["--count", "200", "--interval", "2ms", "--no-route", "--out"])
        .arg(home.path().join("runs"));
    let mut measuring = Process::start(&mut command);
    let document: Value = serde_json::from_str(&measuring.line()).unwrap();
    let text = scrape(&lab, "A");
    let of = |name: &str| {
        value(&text, &format!("{name}{{target=\"{FAR}\"}}")).unwrap_or_else(|| panic!("no {name}:\n{text}"))
    };
    let [sent, received] =
        ["sent", "received"].map(|name| count(&document, &format!("/round_trip/packets/{name}")));
    let is = |metric: f64, count: u64| (metric - f64::from(u32::try_from(count).unwrap())).abs() < 0.5;
    assert!(is(of("romer_probes_sent_total"), sent), "{sent}\n{text}");
    assert!(is(of("romer_probes_received_total"), received), "{received}\n{text}");
    assert!(is(of("romer_target_up"), 1), "{text}");
    let counted = of("romer_round_trip_seconds_count");
    assert!(is(counted, count(&document, "/round_trip/delay_ns/count")), "{text}");
    let mean = of("romer_round_trip_seconds_sum") / counted;
    let expected = number(&document, "/round_trip/delay_ns/mean") * 1e-9;
    assert!((mean / expected - 1.0).abs() < 1e-6, "{mean} for {expected}");
    let reflected = "romer_responder_packets_total{outcome=\"reflected\",reason=\"user-space\"}";
    scrape_until(&lab, "B", |text| value(text, reflected).is_some_and(|count| count > 199.5));
    measuring.signal("INT");
    measuring.wait().with_code(130);
    responder.signal("INT");
    responder.wait().with_code(130);
}

/// Whether Prometheus is here. If `CI` is set, it must be.
fn has_prometheus() -> bool {
    let found = Command::new("prometheus").arg("--version").output();
    let is_promised = std::env::var_os("CI").is_some();
    assert!(found.is_ok() || !is_promised, "{found:?}; scripts/need prometheus installs it");
    found.is_ok()
}

/// The only value of a query to the Prometheus on host A; `None` while there is none.
fn query(lab: &Lab, query: &str) -> Option<f64> {
    let mut command = lab.command("A", "curl");
    command.args(["--silent", "--get", "--data-urlencode", &format!("query={query}")]);
    let answer = process::run(command.arg("http://127.0.0.1:9090/api/v1/query")).stdout;
    let answer: Value = serde_json::from_str(&answer).ok()?;
    answer.pointer("/data/result/0/value/1")?.as_str()?.parse().ok()
}

/// The 99th percentile that Prometheus computes from native histograms is within 2 % of the document's. Their definitions may
/// differ by a few ranks, which is allowed for.
#[test]
fn prometheus_agrees_with_the_document() {
    if !has_prometheus() {
        return;
    }
    let lab = Lab::path();
    let _responder = lab.respond(&[]);
    let home = tempfile::tempdir().unwrap();
    let config = home.path().join("prometheus.yml");
    let job =
        format!("{{job_name: romer, scrape_interval: 1s, static_configs: [{{targets: ['{ADDRESS}']}}]}}");
    fs::write(&config, format!("scrape_configs: [{job}]\n")).unwrap();
    let mut command = lab.command("A", "prometheus");
    command.arg(format!("--config.file={}", config.display()));
    command.arg(format!("--storage.tsdb.path={}", home.path().join("data").display()));
    command.args(["--web.listen-address=127.0.0.1:9090", "--log.level=error"]);
    let _prometheus = Process::start(command.arg("--enable-feature=native-histograms"));
    let mut command = lab.romer("A", ["measure", FAR, "--metrics", ADDRESS, "--every", "1h", "--json", "-"]);
    command.args(["--count", "2000", "--interval", "1ms", "--no-route", "--quiet", "--out"]);
    let mut measuring = Process::start(command.arg(home.path().join("runs")));
    let document: Value = serde_json::from_str(&measuring.line()).unwrap();
    let expected = number(&document, "/round_trip/delay_ns/p99") * 1e-9;
    let all = f64::from(u32::try_from(count(&document, "/round_trip/delay_ns/count")).unwrap());
    let deadline = Instant::now() + TIMEOUT;
    while query(&lab, "histogram_count(romer_round_trip_seconds)").is_none_or(|count| count < all - 0.5) {
        assert!(Instant::now() < deadline, "Prometheus has not scraped all {all}");
        std::thread::sleep(Duration::from_millis(100));
    }
    let quantile =
        |share: &str| query(&lab, &format!("histogram_quantile({share}, romer_round_trip_seconds)")).unwrap();
    let [low, high] = ["0.989", "0.991"].map(quantile);
    assert!(low * 0.98 <= expected && expected <= high * 1.02, "{low} to {high} for {expected}");
    measuring.signal("INT");
    measuring.wait().with_code(130);
}

/// A target without a reflector has metrics, and is down.
#[test]
fn silent_targets_are_down() {
    let lab = Lab::path();
    let home = tempfile::tempdir().unwrap();
    let mut command = lab.romer("A", ["measure", FAR, "--stamp-only", "--metrics", ADDRESS, "--every", "1h"]);
    command.args(["--count", "5", "--interval", "10ms", "--no-route", "--quiet", "--out"]);
    let measuring = Process::start(command.arg(home.path().join("runs")));
    let sent = format!("romer_probes_sent_total{{target=\"{FAR}\"}}");
    let text = scrape_until(&lab, "A", |text| value(text, &sent).is_some_and(|count| count > 4.5));
    assert_eq!(value(&text, &format!("romer_target_up{{target=\"{FAR}\"}}")), Some(0.0), "{text}");
    assert_eq!(value(&text, &format!("romer_round_trip_seconds_count{{target=\"{FAR}\"}}")), Some(0.0));
    measuring.signal("INT");
    measuring.wait().with_code(130);
}

/// The metrics of all measurements of an agent are in one scrape, by measurement: of a target that answers, of one that does not, and of one
/// that has not been measured yet.
#[test]
fn agents_export_all_measurements() {
    let lab = Lab::path();
    let responder = lab.respond(&[]);
    let home = tempfile::tempdir().unwrap();
    let config = home.path().join("agent.toml");
    let measurement = |name: &str, target: &str, offset: &str| {
        format!(
            "[[measurement]]\nname = \"{name}\"\ntargets = [\"{target}\"]\nevery = \"1h\"\noffset = \"{offset}\"\ncount = 20\n\
             interval = \"2ms\"\nno-route = true\n"
        )
    };
    // Nothing listens at port 8999.
    let silent = format!("{FAR}:8999");
    let tables =
        [measurement("core", FAR, "0s"), measurement("edge", &silent, "0s"), measurement("later", FAR, "1h")];
    fs::write(&config, format!("out = {:?}\n{}", home.path().join("runs"), tables.concat())).unwrap();
    let mut command = lab.romer("A", ["agent", "--metrics", ADDRESS, "--quiet", "--config"]);
    let mut agent = Process::start(command.arg(&config));
    let series = |name: &str, target: &str, measurement: &str| {
        format!("{name}{{target=\"{target}\",measurement=\"{measurement}\"}}")
    };
    let runs = |measurement: &str, outcome: &str| {
        format!("romer_agent_runs_total{{measurement=\"{measurement}\",outcome=\"{outcome}\"}}")
    };
    // A run is counted when all else of it has been.
    let ended = [runs("core", "passed"), runs("edge", "failed")];
    let text = scrape_until(&lab, "A", |text| {
        ended.iter().all(|series| value(text, series).is_some_and(|count| count > 0.5))
    });
    assert_eq!(value(&text, &runs("later", "passed")), Some(0.0), "{text}");
    let of = |name: &str, target: &str, measurement: &str| value(&text, &series(name, target, measurement));
    assert_eq!(of("romer_target_up", FAR, "core"), Some(1.0), "{text}");
    assert!(of("romer_round_trip_seconds_count", FAR, "core").is_some_and(|count| count > 0.5), "{text}");
    assert_eq!(of("romer_probes_sent_total", FAR, "core"), Some(20.0), "{text}");
    for (target, measurement) in [(silent.as_str(), "edge"), (FAR, "later")] {
        assert_eq!(of("romer_target_up", target, measurement), Some(0.0), "{text}");
        assert_eq!(of("romer_probes_sent_total", target, measurement), Some(0.0), "{text}");
    }
    assert!(agent.is_running());
    agent.signal("TERM");
    agent.wait().with_code(0);
    responder.signal("INT");
    responder.wait().with_code(130);
}

/// The packets of a scrape of the emulator balance.
#[test]
fn emulator_metrics_balance() {
    let lab = Lab::path();
    let responder = lab.respond(&[]);
    let mut command = lab.romer("E", ["emulate", "--port", "a=e0", "--port", "b=e1", "--loss", "20%"]);
    let mut emulator = Process::start(command.args(["--metrics", ADDRESS]));
    loop {
        let line = emulator.line();
        assert!(!line.is_empty(), "{:?}", emulator.wait());
        if line == format!("metrics at http://{ADDRESS}/metrics\n") {
            break;
        }
    }
    lab.try_measure(&["--count", "100", "--interval", "2ms", "--stamp-only", FAR]);
    let text = scrape(&lab, "E");
    let sum = |parts: &[&str]| -> f64 {
        let of_port = text.lines().filter(|line| line.contains("port=\"a\""));
        let wanted = of_port.filter(|line| parts.iter().any(|part| line.contains(part)));
        wanted.filter_map(|line| line.rsplit(' ').next()?.parse::<f64>().ok()).sum()
    };
    let came = sum(&["fate=\"received\"", "fate=\"duplicated\""]);
    let left = sum(&["fate=\"transmitted\"", "fate=\"dropped\"", "romer_emulator_queued_packets{"]);
    assert!(came > 99.5 && (came - left).abs() < 0.5, "{came} {left}\n{text}");
    // 20 % of 100 packets are never 0, but with a probability of 2e-10.
    assert!(sum(&["cause=\"model\""]) > 0.5, "{text}");
    emulator.signal("INT");
    emulator.wait().with_code(130);
    drop(responder);
}
