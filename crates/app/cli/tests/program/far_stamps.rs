//! Measuring against reflectors whose time stamps are wrong: what the document says of one-way delays.

use std::process::Command;
use std::time::Duration;

use serde_json::Value;

use crate::common::process::{self, romer};
use crate::common::reflector::{Fault, Reflector};
use crate::common::{at, count, number, warned};

/// Probes of one measurement.
const PROBES: u64 = 40;

fn measured(fault: Fault) -> (Value, String) {
    let reflector = Reflector::start(fault);
    let home = tempfile::tempdir().unwrap();
    // The reflector answers one probe after the other: what it takes for one must be over before the next.
    let mut command: Command = romer(["measure", "--stamp-only", "--no-route", "--interval", "20ms"]);
    command.args(["--count", &PROBES.to_string(), "--json", "-"]);
    command.arg(reflector.address.to_string()).arg("--out").arg(home.path().join("run"));
    let ended = process::run(&mut command);
    assert_eq!(ended.code, Some(0), "{fault:?}: {}", ended.stderr);
    let document = ended.document();
    let said = warned(&document);
    for way in ["forward", "reverse", "round_trip"] {
        for fate in ["lost", "late"] {
            let number = document[way]["packets"][fate].as_u64().unwrap_or(0);
            assert_eq!(number, 0, "{fault:?}: {way} {fate}: {said}");
        }
    }
    (document, said)
}

/// Stamps that no clock gives: there are no one-way delays, and no call is rated by them.
#[test]
fn stamps_of_no_clock_are_refused() {
    for fault in [
        Fault::WrongFraction,
        Fault::PtpWithoutZ,
        Fault::AllOnes,
        Fault::Swapped,
        Fault::LittleEndian,
        Fault::Constant,
        Fault::Steps { nanos: 1_000_000_000 },
        Fault::Steps { nanos: 100_000_000 },
    ] {
        let (document, said) = measured(fault);
        for way in ["forward", "reverse"] {
            assert_eq!(count(&document, &format!("/{way}/delay_ns/count")), 0, "{fault:?}: {way}: {said}");
        }
        assert_eq!(document["voice"].as_array().map_or(0, Vec::len), 0, "{fault:?}: {said}");
        assert!(said.contains("one-way delays"), "{fault:?}: {said}");
        assert_eq!(count(&document, "/round_trip/delay_ns/count"), PROBES, "{fault:?}: {said}");
    }
}

/// A reflector's clock that passes from NTP's first era to the second, as all will in 2036, is no clock that was set: every probe has
/// its one-way delays, which are no longer than its round trip.
#[test]
fn era_change_is_no_step() {
    let (document, said) = measured(Fault::EraChange { after: Duration::from_millis(400) });
    let longest = number(&document, "/round_trip/delay_ns/max");
    for way in ["forward", "reverse"] {
        assert_eq!(count(&document, &format!("/{way}/delay_ns/count")), PROBES, "{way}: {said}");
        let most = number(&document, &format!("/{way}/delay_ns/max"));
        assert!((0.0..longest).contains(&most), "{way}: {most} of {longest}: {said}");
    }
    let events = at(&document, "/clock/events").as_array().map_or(0, Vec::len);
    assert_eq!(events, 0, "{document}");
}

/// One false stamp takes the one-way delays of one probe, and nothing else.
#[test]
fn one_false_stamp_takes_one_probe() {
    for fault in [Fault::SecondEarly { probe: 20 }, Fault::SecondLate { probe: 20 }] {
        let (document, said) = measured(fault);
        for way in ["forward", "reverse"] {
            let count = count(&document, &format!("/{way}/delay_ns/count"));
            assert_eq!(count, PROBES - 1, "{fault:?}: {way}: {said}");
        }
        assert_eq!(count(&document, "/round_trip/delay_ns/count"), PROBES, "{fault:?}: {said}");
        assert!(said.contains("stamps of 1 reply contradict each other"), "{fault:?}: {said}");
    }
}

/// False pairs at the ends of a run, and beside each other, take the one-way delays of their own probes.
#[test]
fn false_pairs_take_their_probes() {
    for probes in [&[0][..], &[PROBES - 1], &[20, 21]] {
        for nanos in [-1_000_000_000, 1_000_000_000] {
            let fault = Fault::FalsePairs { probes, nanos };
            let (document, said) = measured(fault);
            for way in ["forward", "reverse"] {
                let count = count(&document, &format!("/{way}/delay_ns/count"));
                assert_eq!(count, PROBES - probes.len() as u64, "{fault:?}: {way}: {said}");
            }
            assert_eq!(count(&document, "/round_trip/delay_ns/count"), PROBES, "{fault:?}: {said}");
            assert!(said.contains("contradict each other"), "{fault:?}: {said}");
        }
    }
}

/// Equal stamps of a reflector that took 15 ms: the round trips contain that time, and the document says so.
#[test]
fn equal_stamps_leave_the_answer_in() {
    let (document, said) = measured(Fault::SameStamps { after: Duration::from_millis(15) });
    let stamps = &document["stamps"];
    assert_eq!(stamps["round_trip_includes_responder"], true, "{stamps} {said}");
    assert_eq!(stamps["delay_definition"][2]["span"], "round-trip-with-responder", "{stamps}");
    assert!(
        document["round_trip"]["delay_ns"]["min"].as_f64().unwrap() >= 15e6,
        "{}",
        document["round_trip"]
    );
    assert!(said.contains("t2 = t3"), "{said}");
    let (document, _) = measured(Fault::None);
    assert!(document["stamps"]["round_trip_includes_responder"].is_null(), "{}", document["stamps"]);
}
