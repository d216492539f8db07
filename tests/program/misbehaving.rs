//! Measuring against reflectors that misbehave.

use std::process::Command;
use std::time::Duration;

use serde_json::Value;
use tempfile::TempDir;

use crate::common::process::{self, Ended, romer};
use crate::common::reflector::{Fault, Reflector};
use crate::common::{count, schema};

/// Probes of one measurement; 80 ms of them.
const PROBES: u64 = 40;

/// A measurement of a reflector, of [`PROBES`] probes.
fn command(reflector: &Reflector, arguments: &[&str]) -> (Command, TempDir) {
    let home = tempfile::tempdir().unwrap();
    let mut command = romer(["measure", "--stamp-only", "--no-route", "--interval", "2ms"]);
    command.args(["--count", &PROBES.to_string(), "--waiting-time", "200ms", "--json", "-"]);
    command.args(arguments).arg(reflector.address.to_string()).arg("--out").arg(home.path().join("run"));
    (command, home)
}

fn measure(fault: Fault) -> Ended {
    let reflector = Reflector::start(fault);
    let ended = process::run(&mut command(&reflector, &[]).0);
    assert_eq!(reflector.seen(), PROBES, "{fault:?}: {}", ended.stderr);
    ended
}

fn document(ended: &Ended) -> Value {
    let document = ended.document();
    schema::assert_valid(&document, "measurement");
    document
}

/// Round trips and their losses do not depend on what a reflector writes into its time stamps, nor on fields that are not
/// needed to find the probe of a reply.
#[test]
fn faults_that_keep_round_trips() {
    let (second, ms) = (1_000_000_000, Duration::from_millis);
    for fault in [
        Fault::None,
        Fault::Ptp,
        Fault::WrongFraction,
        Fault::PtpWithoutZ,
        Fault::ZeroStamps,
        Fault::ZeroReceive,
        Fault::AllOnes,
        Fault::Swapped,
        Fault::LittleEndian,
        Fault::Constant,
        Fault::SecondEarly { probe: 20 },
        Fault::SecondLate { probe: 20 },
        Fault::SameStamps { after: ms(3) },
        Fault::Ahead { nanos: 3_600 * second },
        Fault::Fast { ppm: 600 },
        Fault::EraChange { after: ms(40) },
        Fault::Padded { octets: 20 },
        Fault::NonZeroMbz,
        Fault::NoTtl,
        Fault::NoSession,
        Fault::ZeroEstimate,
        Fault::Slow { after: ms(3) },
        Fault::Noise,
    ] {
        let ended = measure(fault);
        assert_eq!(ended.code, Some(0), "{fault:?}: {}", ended.stderr);
        let document = document(&ended);
        let of = |name: &str| count(&document, &format!("/round_trip/packets/{name}"));
        assert_eq!([of("sent"), of("received"), of("lost")], [PROBES, PROBES, 0], "{fault:?}");
    }
}

/// A reflector's losses and copies are counted as they were made.
#[test]
fn faults_that_lose_or_copy() {
    let lost = PROBES / 10;
    for (fault, lost, copies) in [
        (Fault::ForwardLoss { nth: 10 }, lost, 0),
        (Fault::ReverseLoss { nth: 10 }, lost, 0),
        (Fault::Loss { nth: 10 }, lost, 0),
        (Fault::Duplicates, 0, PROBES),
        (Fault::Reordered, 0, 0),
    ] {
        let ended = measure(fault);
        assert_eq!(ended.code, Some(0), "{fault:?}: {}", ended.stderr);
        let document = document(&ended);
        let of = |name: &str| count(&document, &format!("/round_trip/packets/{name}"));
        assert_eq!([of("sent"), of("lost"), of("duplicated")], [PROBES, lost, copies], "{fault:?}");
    }
}
