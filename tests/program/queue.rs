//! What waits at a responder to be answered: as much as the sessions that it has granted send, and not much besides.

use crate::common::lab::{FAR, Lab};
use crate::common::measuring::Measuring;
use crate::common::process;

/// What the sockets at the port of the test packets on host B may hold, octets as the kernel counts them; the most of them.
fn held(lab: &Lab) -> u64 {
    let sockets = process::run(lab.command("B", "ss").args(["-uanmH", "sport = :862"])).with_code(0).stdout;
    let sizes = sockets.split("rb").skip(1).filter_map(|rest| rest.split(',').next()?.parse().ok());
    sizes.max().unwrap_or_else(|| panic!("no socket: {sockets}"))
}

#[test]
fn a_responder_holds_what_its_sessions_send_in_a_second_and_little_where_it_has_none() {
    let lab = Lab::path();
    let _responder = lab.respond(&[]);
    // Whoever floods it fills that, and who asks meanwhile waits for it: 40,000 short requests, at 100,000 a second.
    let alone = held(&lab);
    assert!((8 << 20..=40 << 20).contains(&alone), "{alone}");
    let with_a_session = |direction: &str| {
        // 5,000 a second.
        let measuring = Measuring::closely(&lab, FAR, &["--direction", direction]);
        let held = held(&lab);
        measuring.end();
        held
    };
    // 1 KiB is asked for each, of which the kernel grants twice as much.
    for direction in ["forward", "round-trip"] {
        assert_eq!(with_a_session(direction), alone + 5_000 * 2 * 1024, "{direction}");
        assert_eq!(held(&lab), alone, "after {direction}");
    }
    assert_eq!(with_a_session("reverse"), alone, "nothing of it comes here");
}
