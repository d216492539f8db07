//! Packets that wait until their host knows the hardware address of the next one: they leave later, and are stamped then.

use std::time::Duration;

use serde_json::Value;

use crate::common::lab::{FAR, Lab};
use crate::common::measuring::{Measuring, losses};
use crate::common::{at, count, event_text, process, warned};

/// Host A.
const NEAR: &str = "198.18.0.2";

/// What `host` knows of where `neighbour` is, behind its `interface`.
struct Neighbour<'a> {
    lab: &'a Lab,
    host: &'static str,
    interface: &'static str,
    address: &'static str,
    mac: String,
}

impl<'a> Neighbour<'a> {
    /// The neighbour `address` of `host`, behind its `interface`; it is another `host` of the laboratory, by its own interface.
    fn new(
        lab: &'a Lab,
        [host, interface]: [&'static str; 2],
        address: &'static str,
        [other, its]: [&str; 2],
    ) -> Self {
        let link = process::run(lab.command(other, "ip").args(["-j", "link", "show", its])).with_code(0);
        let mac = link.document()[0]["address"].as_str().unwrap().to_owned();
        Self { lab, host, interface, address, mac }
    }

    /// The host forgets it, and nobody answers when it asks.
    fn forget(&self) {
        self.lab.filter(
            "E",
            "table bridge deaf { chain c { type filter hook forward priority 0; ether type arp drop; }; }",
        );
        self.ip(&["neigh", "del", self.address, "dev", self.interface]);
    }

    /// The host is told where it is.
    fn learn(&self) {
        let known = ["lladdr", &self.mac, "dev", self.interface, "nud", "permanent"];
        self.ip(&[&["neigh", "replace", self.address], &known[..]].concat());
        self.lab.filter("E", "delete table bridge deaf");
    }

    fn ip(&self, arguments: &[&str]) {
        process::run(self.lab.command(self.host, "ip").args(arguments)).with_code(0);
    }
}

#[test]
fn what_waits_for_its_neighbour_at_the_far_end_has_the_stamp_of_when_it_left() {
    let lab = Lab::path();
    let _responder = lab.respond(&[]);
    let near = Neighbour::new(&lab, ["B", "t1"], NEAR, ["A", "t0"]);
    for direction in ["reverse", "round-trip"] {
        let mut measuring = Measuring::begin(&lab, FAR, &["--direction", direction]);
        near.forget();
        std::thread::sleep(Duration::from_secs(1));
        near.learn();
        measuring.await_more();
        let (document, rows) = measuring.end_with_rows();
        assert_eq!(at(&document, "/stamps/responder_departure"), "kernel", "{direction}: {document:#}");
        assert_eq!(at(&document, "/stamps/missing/responder_departure"), 0, "{direction}: {document:#}");
        let warnings = warned(&document);
        assert!(warnings.contains("the responder's host queued them"), "{direction}: {warnings}");
        let waited = rows.iter().filter_map(|row| Some(row.t3.kernel? - row.t3.user?));
        let waited = waited.filter(|waited| waited.as_nanos() > 300_000_000).count();
        assert!(waited > 20, "{direction}: {waited} of {} waited for long", rows.len());
    }
}

#[test]
fn what_this_host_drops_for_a_neighbour_that_does_not_answer_is_not_sent_and_not_lost() {
    let lab = Lab::path();
    let _responder = lab.respond(&[]);
    let far = Neighbour::new(&lab, ["A", "t0"], FAR, ["B", "t1"]);
    for direction in ["round-trip", "forward"] {
        let mut measuring = Measuring::begin(&lab, FAR, &["--direction", direction]);
        far.forget();
        // Longer than the kernel asks, and at a hundred a second more than it keeps meanwhile.
        measuring.await_told(&["ARP or neighbour discovery for the next hop"]);
        std::thread::sleep(Duration::from_millis(1_500));
        far.learn();
        measuring.await_more();
        let document = measuring.end();
        let way = if direction == "forward" { "forward" } else { "round_trip" };
        let [unknown, _] = losses(&document, way);
        let not_sent = count(&document, &format!("/{way}/packets/not_sent"));
        assert!(
            unknown <= 2 && not_sent > 250,
            "{direction}: {unknown} lost, {not_sent} not sent: {document:#}"
        );
        let events = at(&document, "/events").as_array().unwrap();
        let event = events.iter().find(|event| event["code"] == "not-sent").unwrap();
        assert!(event_text(event).contains("ARP or neighbour discovery"), "{event}");
    }
}

#[test]
fn where_nobody_is_at_an_address_of_the_link_nothing_was_sent() {
    let lab = Lab::path();
    let asked =
        ["measure", "198.18.0.99", "--stamp-only", "--count", "10", "--interval", "50ms", "--json", "-"];
    let run = process::run(&mut lab.romer("A", &asked));
    let document: Value = serde_json::from_str(&run.stdout).unwrap();
    let packets = |name: &str| count(&document, &format!("/round_trip/packets/{name}"));
    assert_eq!([packets("sent"), packets("not_sent"), packets("lost")], [0, 10, 0], "{document:#}");
    assert!(run.with_code(5).stderr.contains("does not answer ARP or neighbour discovery"));
}
