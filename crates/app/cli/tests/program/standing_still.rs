//! What happens while a program is not running, or only now and then: said, and not taken for loss.
//!
//! Each test waits until the program says that it has seen it, as those in `events` do.

use std::time::{Duration, Instant};

use serde_json::Value;

use crate::common::lab::{FAR, Lab};
use crate::common::measuring::{Measuring, instrument_drops, losses, lost_by};
use crate::common::process::{self, Process};
use crate::common::{at, count, warned};
use crate::events::{assert_kinds, assert_not_sent};

#[test]
fn a_program_that_stands_still_says_so_and_what_it_could_not_send_is_not_lost() {
    let lab = Lab::path();
    let _responder = lab.respond(&[]);
    let mut measuring = Measuring::begin(&lab, FAR, &[]);
    measuring.process.signal("STOP");
    // Longer than what counts as standing still.
    std::thread::sleep(Duration::from_secs(4));
    measuring.process.signal("CONT");
    measuring.await_told(&["the program was paused for", "not sent: the program was 2 s late with them"]);
    measuring.await_more();
    let document = measuring.end();
    assert_kinds(&document, &["pause", "not-sent"]);
    assert_not_sent(&document);
}

#[test]
fn what_came_while_the_program_stood_still_and_found_its_socket_full_is_not_lost() {
    let lab = Lab::path();
    let _responder = lab.respond(&[]);
    for direction in ["reverse", "both"] {
        let mut measuring = Measuring::closely(&lab, FAR, &["--direction", direction]);
        measuring.process.signal("STOP");
        // At 5,000 a second more than its socket holds.
        std::thread::sleep(Duration::from_secs(4));
        measuring.process.signal("CONT");
        measuring.await_told(&["the program was paused for", "this host's kernel dropped them"]);
        measuring.await_more();
        let document = measuring.end();
        assert_kinds(&document, &["pause", "receive-overflow"]);
        assert_found_full(&document, "reverse");
    }
}

/// What found a full socket is an instrument drop, wherever in the standstill or after it that was.
fn assert_found_full(document: &Value, way: &str) {
    let (drops, lost) = (instrument_drops(document, way), losses(document, way).iter().sum::<u64>());
    assert!(drops > 1_000, "{document:#}");
    // Those that a busy machine drops in its queues besides.
    assert!(lost * 20 < drops, "{document:#}");
    let warnings = warned(document);
    assert!(warnings.contains("receive-buffer-overflow"), "{warnings}");
}

#[test]
fn what_came_while_the_responder_stood_still_and_found_its_socket_full_is_not_lost() {
    let lab = Lab::path();
    // Without the right to more, its socket has the room that the system gives everybody.
    let without_rights = ["--bounding-set=-net_admin", "--inh-caps=-net_admin", process::PROGRAM, "respond"];
    let allow = ["--allow", "198.18.0.0/24"];
    let mut responder = Process::start(lab.command("B", "setpriv").args(without_rights).args(allow));
    assert!(responder.line().starts_with("responding: "));
    for direction in ["forward", "both"] {
        // Packets of this size fill the socket within two seconds.
        let mut measuring =
            Measuring::every("500us", &lab, FAR, &["--direction", direction, "--size", "1400B"]);
        responder.signal("STOP");
        std::thread::sleep(Duration::from_secs(5));
        responder.signal("CONT");
        measuring.await_told(&["the responder's host's kernel dropped them"]);
        measuring.await_more();
        let document = measuring.end();
        assert_kinds(&document, &["receive-overflow"]);
        assert_found_full(&document, "forward");
    }
}

/// Stops the measuring program while its link goes down and comes up again, and gives when each was: between two moments.
fn stand_still_over_a_link_down(lab: &Lab, measuring: &mut Measuring) -> [(i64, i64); 2] {
    measuring.process.signal("STOP");
    std::thread::sleep(Duration::from_millis(700));
    let moments = ["down", "up"].map(|state| {
        let before = clock_ns();
        process::run(lab.command("E", "ip").args(["link", "set", "e0", state])).with_code(0);
        let after = clock_ns();
        std::thread::sleep(Duration::from_secs(1));
        (before, after)
    });
    // The kernel tells a bridge late that the link is there again, and until then it drops what comes by it.
    let forwards = || {
        let shown = process::run(lab.command("E", "bridge").args(["link", "show", "dev", "e0"])).with_code(0);
        shown.stdout.contains("state forwarding")
    };
    let begin = Instant::now();
    while !forwards() {
        assert!(begin.elapsed() < Duration::from_secs(20), "the bridge never forwards again");
        std::thread::sleep(Duration::from_millis(20));
    }
    measuring.process.signal("CONT");
    measuring.await_told(&["the program was paused for", "t0 went down", "t0 is up again"]);
    measuring.await_more();
    moments
}

/// A link that went down while the program stood still is the cause of what was lost in the time in which that may have been.
#[test]
fn link_down_in_standstill_is_cause() {
    let lab = Lab::path();
    let _responder = lab.respond(&[]);
    let mut measuring = Measuring::begin(&lab, FAR, &["--direction", "reverse"]);
    stand_still_over_a_link_down(&lab, &mut measuring);
    let document = measuring.end();
    let [unknown, _] = losses(&document, "reverse");
    // A hundred a second, for at least a second. A busy machine may lose some itself.
    assert!(unknown <= 3 && lost_by(&document, "reverse", "interface-down") >= 80, "{document:#}");
}

/// The real-time clock, which both hosts of a laboratory read.
fn clock_ns() -> i64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    i64::try_from(now.as_nanos()).unwrap()
}

#[test]
fn a_link_that_goes_down_while_the_program_stands_still_and_nothing_comes_says_in_which_time_that_was() {
    for (options, way) in [(&["--stamp-only"][..], "round_trip"), (&["--direction", "forward"], "forward")] {
        let lab = Lab::path();
        let _responder = lab.respond(&[]);
        let mut measuring = Measuring::begin(&lab, FAR, options);
        let looked = at(&measuring.interval(), "/elapsed_ns").as_i64().unwrap();
        measuring.await_more();
        let moments = stand_still_over_a_link_down(&lab, &mut measuring);
        let document = measuring.end();
        let events = at(&document, "/events").as_array().unwrap();
        for (kind, (before, after)) in ["link-down", "link-up"].into_iter().zip(moments) {
            let event = events.iter().find(|event| event["code"] == kind).unwrap();
            let [latest, late] = ["clock_ns", "detection_latency_ns"].map(|name| event[name].as_i64());
            let (latest, late) = (latest.unwrap(), late.unwrap_or_else(|| panic!("{way}: {event}")));
            assert!(latest - late <= before && latest >= after, "{way}: {event}, {before} to {after}");
            // Until it was stopped it looked at every interval.
            assert!(event["at_ns"].as_i64().unwrap() - late >= looked, "{way}: {event}, {looked}");
        }
        let [unknown, _] = losses(&document, way);
        // A busy machine may lose some itself.
        assert!(unknown <= 3, "{way}: {document:#}");
    }
}

#[test]
fn what_a_program_had_no_time_to_read_because_it_stood_still_is_not_laid_to_the_rate() {
    let lab = Lab::path();
    let _responder = lab.respond(&[]);
    let mut measuring = Measuring::closely(&lab, FAR, &["--direction", "reverse"]);
    measuring.process.signal("STOP");
    std::thread::sleep(Duration::from_secs(4));
    measuring.process.signal("CONT");
    measuring.await_told(&["the program was paused for", "this host's kernel dropped them"]);
    measuring.await_more();
    let document = measuring.end();
    let warnings = warned(&document);
    assert!(warnings.contains("receive-buffer-overflow"), "{warnings}");
    assert!(warnings.contains(r#""while_running":0"#), "{warnings}");
}

#[test]
fn a_program_that_stands_still_for_little_more_than_a_second_says_so() {
    let lab = Lab::path();
    let _responder = lab.respond(&[]);
    let mut measuring = Measuring::begin(&lab, FAR, &[]);
    measuring.process.signal("STOP");
    std::thread::sleep(Duration::from_millis(1_300));
    measuring.process.signal("CONT");
    measuring.await_told(&["the program was paused for"]);
    assert_kinds(&measuring.end(), &["pause"]);
}

#[test]
fn what_the_responder_could_not_send_because_it_stood_still_does_not_leave_late_and_is_not_lost() {
    let lab = Lab::path();
    let responder = lab.respond(&[]);
    for direction in ["reverse", "both"] {
        let mut measuring = Measuring::begin(&lab, FAR, &["--direction", direction]);
        responder.signal("STOP");
        // Longer than what counts as too late.
        std::thread::sleep(Duration::from_secs(4));
        responder.signal("CONT");
        measuring.await_told(&["the responder did not send", "the responder was paused for"]);
        measuring.await_more();
        let document = measuring.end();
        assert_kinds(&document, &["pause", "not-sent"]);
        losses(&document, "reverse");
        let not_sent = count(&document, "/reverse/packets/not_sent");
        // What was due in the first two of the four seconds was too late when its turn came: 200 probes, but for those that left
        // while the signal was under way.
        assert!(not_sent > 190, "{direction}: {document:#}");
        let warnings = warned(&document);
        assert!(warnings.contains("did not leave the responder's host"), "{direction}: {warnings}");
    }
}
