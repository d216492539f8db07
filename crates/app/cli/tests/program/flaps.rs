//! Links that go down and come back again and again, beyond this host or the far one.

use std::time::Duration;

use crate::common::lab::{FAR, Lab};
use crate::common::measuring::{Measuring, losses};
use crate::common::process::{self, romer};
use crate::common::{at, count};

/// Host B, behind the router.
const BEHIND: &str = "198.19.0.2";

/// The kernel opens the queue of an interface up to a second after its carrier is back, and drops meanwhile what is to leave.
#[test]
fn closed_queue_leaves_no_unknown_losses() {
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
        let [sent, received] = ["/sent", "/received"].map(|name| count(packets, name));
        // A busy machine may lose some itself.
        let [unknown, _] = losses(&document, direction);
        assert!(unknown <= 5, "{direction} {stamps}: {document:#}");
        // The table has what was sent and nothing else.
        process::run(romer(["report", "--quiet", "--csv"]).arg(&csv).arg(&run)).with_code(0);
        let table = std::fs::read_to_string(&csv).unwrap();
        let arrived = table.lines().skip(1).filter(|line| line.split(',').nth(3) != Some(""));
        assert_eq!(u64::try_from(arrived.count()).unwrap(), received, "{direction}");
        assert_eq!(u64::try_from(table.lines().count()).unwrap(), sent + 1, "{direction}");
    }
}

/// Has the far end of host A's cable go and come so often, as fast as that can be done.
fn flap(lab: &Lab, times: usize) {
    let changes = "link set e0 down\nlink set e0 up\n".repeat(times);
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), changes).unwrap();
    process::run(lab.command("E", "ip").arg("-batch").arg(file.path())).with_code(0);
}

/// The kernel gathers changes of carriers, and tells of those that follow one another with one message, or with none where all
/// is as before. It counts each nevertheless.
#[test]
fn an_interruption_that_the_kernel_does_not_tell_of_by_itself_is_told() {
    let lab = Lab::path();
    let _responder = lab.respond(&[]);
    let told = ["t0 went down", "t0 is up again"];
    let mut measuring = Measuring::begin(&lab, FAR, &[]);
    // Its program looks on.
    flap(&lab, 3);
    measuring.await_told(&told);
    measuring.await_more();
    // Its program stands still.
    let before = measuring.told.len();
    measuring.process.signal("STOP");
    std::thread::sleep(Duration::from_millis(700));
    flap(&lab, 3);
    std::thread::sleep(Duration::from_millis(700));
    measuring.process.signal("CONT");
    measuring.await_told(&told);
    measuring.await_more();
    let of_standing = measuring.told[before..].join("\n");
    let document = measuring.end();
    let events = at(&document, "/events").as_array().unwrap();
    for kind in ["link-down", "link-up"] {
        assert!(events.iter().filter(|event| event["code"] == kind).count() >= 2, "{events:#?}");
    }
    // However many messages there were, it went down three times.
    let times: u32 = of_standing
        .lines()
        .filter_map(|line| line.split_once("t0 went down"))
        .map(|(_, more)| more.trim().strip_suffix(" times").map_or(1, |times| times.parse().unwrap()))
        .sum();
    assert_eq!(times, 3, "{of_standing}");
}
