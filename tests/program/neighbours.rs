//! Packets that wait until their host knows the hardware address of the next one: they leave later, and are stamped then.

use std::time::Duration;

use crate::common::at;
use crate::common::lab::{FAR, Lab};
use crate::common::measuring::Measuring;
use crate::common::process;

/// Host A.
const NEAR: &str = "198.18.0.2";

#[test]
fn what_waits_for_its_neighbour_at_the_far_end_has_the_stamp_of_when_it_left() {
    let lab = Lab::path();
    let _responder = lab.respond(&[]);
    let ip =
        |host: &str, arguments: &[&str]| process::run(lab.command(host, "ip").args(arguments)).with_code(0);
    let link = ip("A", &["-j", "link", "show", "t0"]).document();
    let mac = link[0]["address"].as_str().unwrap();
    let deaf = "table bridge deaf { chain c { type filter hook forward priority 0; ether type arp drop; }; }";
    for direction in ["reverse", "round-trip"] {
        let mut measuring = Measuring::begin(&lab, FAR, &["--direction", direction]);
        lab.filter("E", deaf);
        ip("B", &["neigh", "del", NEAR, "dev", "t1"]);
        std::thread::sleep(Duration::from_secs(1));
        ip("B", &["neigh", "replace", NEAR, "lladdr", mac, "dev", "t1", "nud", "permanent"]);
        lab.filter("E", "delete table bridge deaf");
        measuring.await_more();
        let (document, rows) = measuring.end_with_rows();
        assert_eq!(at(&document, "/stamps/responder_departure"), "kernel", "{direction}: {document:#}");
        assert_eq!(at(&document, "/stamps/missing/responder_departure"), 0, "{direction}: {document:#}");
        let warnings = at(&document, "/warnings").to_string();
        assert!(warnings.contains("the far host kept them"), "{direction}: {warnings}");
        let waited = rows.iter().filter_map(|row| Some(row.t3.kernel? - row.t3.user?));
        let waited = waited.filter(|waited| waited.as_nanos() > 300_000_000).count();
        assert!(waited > 20, "{direction}: {waited} of {} waited for long", rows.len());
    }
}
