//! Links that go down and come back again and again, beyond this host or the far one.

use std::time::Duration;

use crate::common::lab::Lab;
use crate::common::measuring::Measuring;
use crate::common::process::{self, romer};
use crate::common::{at, count};

/// Host B, behind the router.
const BEHIND: &str = "198.19.0.2";

/// The kernel opens the queue of an interface up to a second after its carrier is back, and drops meanwhile what is to leave.
#[test]
fn what_an_interface_does_not_let_out_yet_though_its_carrier_is_back_is_neither_sent_nor_lost() {
    let lab = Lab::router();
    let _responder = lab.respond(&[]);
    for (direction, interface, stamps) in [
        ("forward", "r0", "best"),
        ("reverse", "r1", "best"),
        ("forward", "r0", "user"),
        ("reverse", "r1", "user"),
    ] {
        let options = ["--direction", direction, "--stamp", stamps];
        let mut measuring = Measuring::begin(&lab, BEHIND, &options);
        for (down, up) in [(100, 900), (100, 300), (100, 300), (500, 100)] {
            for (state, length) in [("down", down), ("up", up)] {
                process::run(lab.command("R", "ip").args(["link", "set", interface, state])).with_code(0);
                std::thread::sleep(Duration::from_millis(length));
            }
        }
        measuring.await_told(&["is up again"]);
        measuring.await_more();
        let csv = measuring.home.path().join("packets.csv");
        let run = measuring.home.path().join("run");
        measuring.process.signal("INT");
        measuring.process.wait().with_code(130);
        let document = crate::common::lab::kept(&measuring.home);
        let packets = at(&document, &format!("/{direction}/packets"));
        let [sent, received, lost, astray] =
            ["sent", "received", "lost", "astray"].map(|name| count(packets, &format!("/{name}")));
        // A busy machine may lose some itself.
        assert!(lost <= 5, "{direction} {stamps}: {document:#}");
        assert_eq!(received + lost + astray, sent, "{direction}: {packets}");
        // The table has what was sent and nothing else.
        process::run(romer(["report", "--quiet", "--csv"]).arg(&csv).arg(&run)).with_code(0);
        let table = std::fs::read_to_string(&csv).unwrap();
        let arrived = table.lines().skip(1).filter(|line| line.split(',').nth(3) != Some(""));
        assert_eq!(u64::try_from(arrived.count()).unwrap(), received, "{direction}");
        assert_eq!(u64::try_from(table.lines().count()).unwrap(), sent + 1, "{direction}");
    }
}
