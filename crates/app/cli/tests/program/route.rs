//! The way to the target: two routers in line, and what becomes known when it changes.

use std::time::{Duration, Instant};

use serde_json::Value;

use crate::common::lab::Lab;
use crate::common::measuring::Measuring;
use crate::common::process::{self, Process};
use crate::common::{at, count, event_text, schema};

/// Host B behind both routers.
const TARGETS: [&str; 2] = ["198.19.0.2", "2001:2:0:19::2"];
/// The port of the router next to host A.
const FIRST: [&str; 2] = ["198.18.0.1", "2001:2:0:18::1"];
/// The ports of the other router, towards the first one, on either of the two links between them.
const SECOND: [[&str; 2]; 2] = [["198.18.100.2", "2001:2:0:100::2"], ["198.18.101.2", "2001:2:0:101::2"]];

/// How long the way may take until it carries packets.
const TIMEOUT: Duration = Duration::from_secs(60);

/// A laboratory whose router is two: R, and behind it, by one of two links, another that has R's port towards host B.
struct TwoRouters {
    /// Holds the second router's namespace.
    _second: Process,
    lab: Lab,
    id: String,
}

impl TwoRouters {
    fn up() -> Self {
        let lab = Lab::router();
        let mut command = lab.command("R", "unshare");
        let mut second = Process::start(command.args(["--net", "sh", "-c", "echo $$; exec sleep 600"]));
        let id = second.line().trim().to_owned();
        let routers = Self { lab, _second: second, id };
        routers.at_second(
            "ip link set lo up
             echo 1 > /proc/sys/net/ipv4/ip_forward
             echo 0 > /proc/sys/net/ipv6/conf/all/disable_ipv6
             for which in all default; do
                 echo 0 > /proc/sys/net/ipv4/conf/$which/rp_filter
                 echo 0 > /proc/sys/net/ipv6/conf/$which/disable_ipv6
                 echo 0 > /proc/sys/net/ipv6/conf/$which/accept_dad
             done
             echo 1 > /proc/sys/net/ipv6/conf/all/forwarding",
        );
        routers.at_first(&format!(
            "ip link set r1 netns {id}
             for link in 0 1; do
                 ip link add m$link type veth peer name n$link netns {id}
                 ip address add 198.18.10$link.1/30 dev m$link
                 ip address add 2001:2:0:10$link::1/64 dev m$link nodad
                 ip link set m$link up
             done",
            id = routers.id
        ));
        routers.at_second(
            "ip address add 198.19.0.1/24 dev r1
             ip address add 2001:2:0:19::1/64 dev r1 nodad
             ip link set r1 up
             for link in 0 1; do
                 ip address add 198.18.10$link.2/30 dev n$link
                 ip address add 2001:2:0:10$link::2/64 dev n$link nodad
                 ip link set n$link up
             done",
        );
        for at in [Self::at_first, Self::at_second] {
            // What is looked for is the way, and not how many errors a router tells a second.
            at(
                &routers,
                "echo 0 > /proc/sys/net/ipv4/icmp_ratelimit; echo 0 > /proc/sys/net/ipv6/icmp/ratelimit",
            );
        }
        routers.go_by(0);
        routers
    }

    fn at_first(&self, script: &str) {
        process::run(self.lab.command("R", "sh").args(["-e", "-c", script])).with_code(0);
    }

    fn at_second(&self, script: &str) {
        let enter = ["--target", &self.id, "--net", "sh", "-e", "-c", script];
        process::run(self.lab.command("R", "nsenter").args(enter)).with_code(0);
    }

    /// Lets packets take this link between the routers, each way.
    fn go_by(&self, link: usize) {
        self.at_second(&format!(
            "ip route replace 198.18.0.0/24 via 198.18.10{link}.1
             ip -6 route replace 2001:2:0:18::/64 via 2001:2:0:10{link}::1"
        ));
        self.at_first(&format!(
            "ip route replace 198.19.0.0/24 via 198.18.10{link}.2
             ip -6 route replace 2001:2:0:19::/64 via 2001:2:0:10{link}::2"
        ));
    }

    /// Waits until packets go to `target` and back.
    fn await_path(&self, target: &str) {
        let since = Instant::now();
        loop {
            let options =
                ["--stamp-only", "--count", "5", "--interval", "5ms", "--waiting-time", "200ms", target];
            let ended = self.lab.try_measure(&options).ended;
            if ended.code == Some(0) && count(&ended.document(), "/round_trip/packets/lost") == 0 {
                return;
            }
            assert!(since.elapsed() < TIMEOUT, "{target}: {ended:?}");
        }
    }
}

/// Who answered from each hop, and whether it was the target.
fn answers<'a>(document: &'a Value, when: &str) -> Vec<(Option<&'a str>, bool)> {
    let hops = at(document, "/metadata/route").as_array().unwrap();
    for (hop, number) in hops.iter().zip(1..) {
        assert_eq!(count(hop, "/hop"), number);
    }
    let answers = hops.iter().map(|hop| at(hop, &format!("/{when}")));
    answers.map(|answer| (answer["address"].as_str(), answer["target"] == true)).collect()
}

fn by(link: usize, family: usize) -> [(Option<&'static str>, bool); 3] {
    [(Some(FIRST[family]), false), (Some(SECOND[link][family]), false), (Some(TARGETS[family]), true)]
}

#[test]
fn the_routers_on_the_way_are_found_and_the_responder_counts_no_probe_for_it() {
    let routers = TwoRouters::up();
    let responder = routers.lab.respond(&[]);
    for (family, target) in TARGETS.into_iter().enumerate() {
        routers.await_path(target);
        for direction in ["round-trip", "both"] {
            let options =
                ["--direction", direction, "--count", "20", "--interval", "5ms", "--json", "-", target];
            let (mut command, _home) = routers.lab.finding_the_way(&options);
            let ended = process::run(&mut command).with_code(0);
            let document = ended.document();
            schema::assert_valid(&document, "measurement");
            assert_eq!(answers(&document, "at_start"), by(0, family), "{document:#}");
            assert_eq!(answers(&document, "at_end"), by(0, family), "{document:#}");
            assert_eq!(at(&document, "/events").as_array().unwrap().len(), 0, "{document:#}");
            assert_eq!(at(&document, "/warnings").as_array().unwrap().len(), 0, "{document:#}");
            for packets in ["/forward/packets", "/reverse/packets"] {
                let packets = at(&document, packets);
                assert_eq!(["/sent", "/received"].map(|name| count(packets, name)), [20, 20], "{document:#}");
            }
        }
    }
    let (mut command, _home) =
        routers.lab.finding_the_way(&["--count", "5", "--interval", "5ms", TARGETS[0]]);
    let ended = process::run(&mut command).with_code(0);
    let line = format!("3 hops: {}, {}, target", FIRST[0], SECOND[0][0]);
    assert!(ended.stdout.contains(&line), "{}", ended.stdout);
    responder.signal("TERM");
    responder.wait().with_code(0);
}

#[test]
fn a_way_that_changes_during_the_run_is_seen_and_told() {
    let routers = TwoRouters::up();
    let _responder = routers.lab.respond(&[]);
    for (family, target) in TARGETS.into_iter().enumerate() {
        routers.go_by(0);
        routers.await_path(target);
        let mut measuring = Measuring::finding_the_way(&routers.lab, target, &[]);
        routers.go_by(1);
        measuring.await_more();
        let document = measuring.end();
        assert_eq!(answers(&document, "at_start"), by(0, family), "{document:#}");
        assert_eq!(answers(&document, "at_end"), by(1, family), "{document:#}");
        let events = at(&document, "/events").as_array().unwrap();
        let told = format!(
            "the path to {target} changed during the run: hop 2 was {} and is {}",
            SECOND[0][family], SECOND[1][family]
        );
        let found = events.iter().find(|event| event_text(event) == told);
        let found = found.unwrap_or_else(|| panic!("{told}: {document:#}"));
        assert_eq!((&found["code"], &found["location"]), (&"route-change".into(), &"path".into()));
        // When it was is not known any better than that it was between the two searches.
        assert_eq!(found["at_ns"], 0, "{found}");
        assert!(found["until_ns"].as_i64().is_some_and(|until| until > 0), "{found}");
    }
}

#[test]
fn without_the_search_there_is_no_route() {
    let lab = Lab::router();
    let _responder = lab.respond(&[]);
    let document = lab.measure(&["--count", "5", "--interval", "5ms", TARGETS[0]]).document();
    assert_eq!(at(&document, "/metadata/route"), &Value::Null);
}
