//! What waits at a responder to be answered: as much as the sessions that it has granted send, and not much besides.

use std::time::{Duration, Instant};

use crate::common::lab::{FAR, Lab};
use crate::common::measuring::Measuring;
use crate::common::process;

/// What the sockets at the port of the test packets on host B may hold, octets as the kernel counts them; the most of them.
fn held(lab: &Lab) -> u64 {
    let sockets = process::run(lab.command("B", "ss").args(["-uanmH", "sport = :862"])).with_code(0).stdout;
    let sizes = sockets.split("rb").skip(1).filter_map(|rest| rest.split(',').next()?.parse().ok());
    sizes.max().unwrap_or_else(|| panic!("no socket: {sockets}"))
}

/// What is held while sessions send so many packets a second.
const fn room(a_second: u64) -> u64 {
    (16_000 + a_second) * 2 * 1024
}

#[test]
fn a_responder_holds_what_its_sessions_send_in_a_second_and_little_where_it_has_none() {
    let lab = Lab::path();
    let _responder = lab.respond(&[]);
    // Whoever floods it fills that, and who asks meanwhile waits for it: 40,000 short requests, at 100,000 a second. 1 KiB is asked
    // for each, of which the kernel grants twice as much; without privileges up to the system's limit.
    let alone = held(&lab);
    let limit = std::fs::read_to_string("/proc/sys/net/core/rmem_max").unwrap();
    let limit = 2 * limit.trim().parse::<u64>().unwrap();
    let has_limit = alone < room(0);
    let granted = |a_second| if has_limit { limit.min(room(a_second)) } else { room(a_second) };
    assert_eq!(alone, granted(0));
    let with_a_session = |direction: &str| {
        // 5,000 a second.
        let measuring = Measuring::closely(&lab, FAR, &["--direction", direction]);
        let held = held(&lab);
        measuring.end();
        held
    };
    for direction in ["forward", "round-trip"] {
        assert_eq!(with_a_session(direction), granted(5_000), "{direction}");
        // The session is over a moment after the measurement is.
        let until = Instant::now() + Duration::from_secs(10);
        while held(&lab) != alone {
            assert!(Instant::now() < until, "after {direction}: {}", held(&lab));
            std::thread::sleep(Duration::from_millis(20));
        }
    }
    assert_eq!(with_a_session("reverse"), alone, "nothing of it comes here");
}
