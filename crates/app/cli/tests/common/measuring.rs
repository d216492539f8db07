//! Measurements that go on while something happens.

use std::process::Command;

use romer_record::RoundTrip;
use serde_json::Value;
use tempfile::TempDir;

use super::lab::{Lab, kept, packets};
use super::process::Process;
use super::{at, count};

const COMMON: [&str; 7] =
    ["--duration", "100s", "--interval", "10ms", "--json-lines", "--json-lines-interval", "100ms"];

/// A measurement from host A, one probe every 10 ms, that goes on while something happens.
pub(crate) struct Measuring {
    pub(crate) process: Process,
    pub(crate) home: TempDir,
    /// What it has told so far of what happened.
    pub(crate) told: Vec<String>,
}

impl Measuring {
    /// Begins, and waits until probes are back.
    pub(crate) fn begin(lab: &Lab, target: &str, arguments: &[&str]) -> Self {
        Self::start(lab.measuring(&[&COMMON, &[target][..]].concat()), arguments)
    }

    /// The same, with a probe every 200 us.
    pub(crate) fn closely(lab: &Lab, target: &str, arguments: &[&str]) -> Self {
        Self::every("200us", lab, target, arguments)
    }

    /// The same, with this interval.
    pub(crate) fn every(interval: &str, lab: &Lab, target: &str, arguments: &[&str]) -> Self {
        let common = COMMON.map(|argument| if argument == "10ms" { interval } else { argument });
        Self::start(lab.measuring(&[&common, &[target][..]].concat()), arguments)
    }

    /// The same as [`Measuring::begin`], which looks for the way first and last.
    pub(crate) fn finding_the_way(lab: &Lab, target: &str, arguments: &[&str]) -> Self {
        Self::start(lab.finding_the_way(&[&COMMON, &[target][..]].concat()), arguments)
    }

    fn start((mut command, home): (Command, TempDir), arguments: &[&str]) -> Self {
        let process = Process::start(command.args(arguments));
        let mut measuring = Self { process, home, told: Vec::new() };
        measuring.await_returned(100);
        measuring
    }

    pub(crate) fn line(&mut self) -> Value {
        let line = self.process.line();
        assert!(!line.is_empty(), "the measurement has ended");
        let line: Value = serde_json::from_str(&line).unwrap();
        if at(&line, "/type") == "event" {
            self.told.push(at(&line, "/text").as_str().unwrap().to_owned());
        }
        line
    }

    /// The line of the next interval.
    pub(crate) fn interval(&mut self) -> Value {
        loop {
            let line = self.line();
            if at(&line, "/type") == "interval" {
                return line;
            }
        }
    }

    /// The next interval's count of probes that are back.
    pub(crate) fn returned(&mut self) -> u64 {
        count(&self.interval(), "/returned")
    }

    pub(crate) fn await_returned(&mut self, probes: u64) {
        while self.returned() < probes {}
    }

    /// Waits until it has told of all of these, in whatever order.
    pub(crate) fn await_told(&mut self, texts: &[&str]) {
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
    pub(crate) fn await_more(&mut self) {
        let before = self.returned();
        self.await_returned(before + 50);
    }

    /// Waits until so many more probes were sent.
    pub(crate) fn await_sent(&mut self, more: u64) {
        let before = count(&self.interval(), "/sent");
        while count(&self.interval(), "/sent") < before + more {}
    }

    /// Ends it, and gives its document.
    pub(crate) fn end(self) -> Value {
        self.end_with_rows().0
    }

    /// Ends it, and gives its document and the rows of its first stream.
    pub(crate) fn end_with_rows(self) -> (Value, Vec<RoundTrip>) {
        self.process.signal("INT");
        self.process.wait().with_code(130);
        (kept(&self.home), packets(&self.home))
    }
}

/// How many packets of a way were lost without a known cause, and how many with one. All others were received, or dropped by a
/// host that they arrived at.
pub(crate) fn losses(document: &Value, way: &str) -> [u64; 2] {
    let [sent, received, lost] =
        ["sent", "received", "lost"].map(|name| count(document, &format!("/{way}/packets/{name}")));
    assert_eq!(received + lost + instrument_drops(document, way), sent, "{way}: {document:#}");
    let causes = document.pointer(&format!("/{way}/loss/causes")).and_then(Value::as_array);
    let counted = |is_known: bool| -> u64 {
        let these = causes.into_iter().flatten().filter(|one| (one["cause"] != "unknown") == is_known);
        these.map(|one| one["count"].as_u64().unwrap()).sum()
    };
    let all = [counted(false), counted(true)];
    assert_eq!(all.iter().sum::<u64>(), lost, "{way}: the causes add up: {document:#}");
    all
}

/// How many packets arrived at a host and were dropped there unread.
pub(crate) fn instrument_drops(document: &Value, way: &str) -> u64 {
    let told = document.pointer(&format!("/{way}/packets/instrument_drops"));
    told.and_then(Value::as_u64).unwrap_or(0)
}

/// How many losses of a way have this cause.
pub(crate) fn lost_by(document: &Value, way: &str, cause: &str) -> u64 {
    let causes = document.pointer(&format!("/{way}/loss/causes")).and_then(Value::as_array);
    let these = causes.into_iter().flatten().filter(|one| one["cause"] == cause);
    these.map(|one| one["count"].as_u64().unwrap()).sum()
}
