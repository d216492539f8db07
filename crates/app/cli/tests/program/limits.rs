//! Limits that are stated, and what becomes of them.

use crate::common::at;
use crate::common::lab::{FAR, Lab, stored};
use crate::common::process;

#[test]
fn limits_that_hold_give_exit_code_0_and_one_that_is_broken_gives_6_with_the_results_kept() {
    let lab = Lab::path();
    let _responder = lab.respond(&[]);
    let held = lab.measure(&[
        "--count",
        "5",
        "--interval",
        "5ms",
        "--limit",
        "round_trip.packets.lost<1",
        "--limit",
        "forward.loss.ratio<=0%",
        FAR,
    ]);
    let document = held.document();
    assert_eq!(at(&document, "/limits/0/passed"), true);
    assert_eq!(at(&document, "/limits/0/value"), 0.0);
    assert_eq!(at(&document, "/limits/1/limit"), "forward.loss.ratio<=0%");

    let broken =
        lab.try_measure(&["--count", "5", "--interval", "5ms", "--limit", "round_trip.delay_ns.min>1h", FAR]);
    assert_eq!(broken.ended.code, Some(6), "{:?}", broken.ended);
    assert!(broken.ended.stderr.contains("round_trip.delay_ns.min>1h"), "{}", broken.ended.stderr);
    assert_eq!(at(&broken.document(), "/limits/0/passed"), false);

    // Read again, the run has the same verdicts.
    let again = process::run(process::romer(["report", "--json", "-"]).arg(broken.folder())).with_code(0);
    assert_eq!(again.document(), stored(&broken.folder()));
}
