//! What happens to the measuring host during a run: seen, said, and not taken for loss.
//!
//! Each test does something, waits until the program says that it has seen it, and only then goes on: nothing hangs
//! on how fast that is.

use std::time::Duration;

use serde_json::Value;
use tempfile::TempDir;

use crate::common::lab::{FAR, Lab};
use crate::common::process::{self, Process};
use crate::common::{at, count, schema};

/// A measurement from host A, one probe every 10 ms, that goes on while something happens.
struct Measuring {
    process: Process,
    home: TempDir,
}

impl Measuring {
    /// Begins, and waits until probes are back.
    fn begin(lab: &Lab, arguments: &[&str]) -> Self {
        let common =
            ["--duration", "100s", "--interval", "10ms", "--stream", "--stream-interval", "100ms", FAR];
        let (mut command, home) = lab.measuring(&common);
        let process = Process::start(command.args(arguments));
        let mut measuring = Self { process, home };
        measuring.await_returned(100);
        measuring
    }

    fn line(&mut self) -> Value {
        let line = self.process.line();
        assert!(!line.is_empty(), "the measurement has ended");
        serde_json::from_str(&line).unwrap()
    }

    /// The next interval's count of probes that are back.
    fn returned(&mut self) -> u64 {
        loop {
            let line = self.line();
            if at(&line, "/type") == "interval" {
                return count(&line, "/returned");
            }
        }
    }

    fn await_returned(&mut self, probes: u64) {
        while self.returned() < probes {}
    }

    /// Waits until it has told of all of these, in whatever order.
    fn await_told(&mut self, texts: &[&str]) {
        let mut awaited = texts.to_vec();
        while !awaited.is_empty() {
            let line = self.line();
            if at(&line, "/type") == "event" {
                let told = at(&line, "/text").as_str().unwrap();
                awaited.retain(|text| !told.contains(text));
            }
        }
    }

    /// Waits until probes come back again.
    fn await_more(&mut self) {
        let before = self.returned();
        self.await_returned(before + 50);
    }

    /// Ends it, and gives its document.
    fn end(self) -> Value {
        self.process.signal("INT");
        self.process.wait().with_code(130);
        let text = std::fs::read_to_string(self.home.path().join("run/measurement.json")).unwrap();
        let document = serde_json::from_str(&text).unwrap();
        schema::assert_valid(&document, "measurement");
        document
    }
}

fn ip(lab: &Lab, arguments: &[&str]) {
    process::run(lab.command("A", "ip").args(arguments)).with_code(0);
}

fn assert_kinds(document: &Value, kinds: &[&str]) {
    let events = at(document, "/events").as_array().unwrap();
    for kind in kinds {
        assert!(events.iter().any(|event| event["kind"] == *kind), "no {kind}: {document:#}");
    }
}

/// Probes that did not leave are counted as such, and what was sent came back but for what was just on its way.
fn assert_not_taken_for_loss(document: &Value) {
    let [sent, received, lost, not_sent] = ["sent", "received", "lost", "not_sent"]
        .map(|name| count(document, &format!("/round_trip/packets/{name}")));
    assert_eq!(received + lost, sent, "{document:#}");
    assert!(not_sent > 0, "{document:#}");
    assert!(lost * 2 < sent, "{document:#}");
}

#[test]
fn a_link_that_goes_down_and_comes_back_is_told_and_its_probes_are_not_lost() {
    let lab = Lab::path();
    let _responder = lab.respond(&[]);
    let mut measuring = Measuring::begin(&lab, &[]);
    ip(&lab, &["link", "set", "t0", "down"]);
    measuring.await_told(&["t0 went down", "no route to 198.18.0.3", "were not sent"]);
    ip(&lab, &["link", "set", "t0", "up"]);
    measuring.await_told(&["t0 is up again", "a route to 198.18.0.3 again"]);
    measuring.await_more();
    let document = measuring.end();
    assert_kinds(&document, &["link-down", "link-up", "route-change", "not-sent"]);
    assert_not_taken_for_loss(&document);
}

#[test]
fn an_mtu_that_shrinks_is_told_and_probes_that_do_not_fit_are_not_lost() {
    let lab = Lab::path();
    let _responder = lab.respond(&[]);
    let mut measuring = Measuring::begin(&lab, &["--size", "1200B"]);
    ip(&lab, &["link", "set", "t0", "mtu", "1000"]);
    measuring.await_told(&["is 1000 octets now, and was 1500", "were not sent"]);
    ip(&lab, &["link", "set", "t0", "mtu", "1500"]);
    measuring.await_told(&["is 1500 octets now, and was 1000"]);
    measuring.await_more();
    let document = measuring.end();
    assert_kinds(&document, &["mtu-change", "not-sent"]);
    assert_not_taken_for_loss(&document);
}

#[test]
fn an_address_that_changes_is_told() {
    let lab = Lab::path();
    let _responder = lab.respond(&[]);
    let mut measuring = Measuring::begin(&lab, &[]);
    ip(&lab, &["address", "del", "198.18.0.2/24", "dev", "t0"]);
    measuring.await_told(&["198.18.0.2, which probes leave from, was taken away", "were not sent"]);
    ip(&lab, &["address", "add", "198.18.0.9/24", "dev", "t0"]);
    measuring.await_told(&["198.18.0.9"]);
    let document = measuring.end();
    assert_kinds(&document, &["address-change", "not-sent"]);
    assert_not_taken_for_loss(&document);
}

#[test]
fn a_program_that_stands_still_says_so_and_what_it_could_not_send_is_not_lost() {
    let lab = Lab::path();
    let _responder = lab.respond(&[]);
    let mut measuring = Measuring::begin(&lab, &[]);
    measuring.process.signal("STOP");
    // Longer than what counts as standing still.
    std::thread::sleep(Duration::from_secs(4));
    measuring.process.signal("CONT");
    measuring.await_told(&["the program stood still for", "were not sent: the program stood still"]);
    measuring.await_more();
    let document = measuring.end();
    assert_kinds(&document, &["pause", "not-sent"]);
    assert_not_taken_for_loss(&document);
}
