//! Damaged probes, counted by `measure --checksum header`. The ledger of the emulator that damages them is the truth.

use serde_json::Value;

use crate::common::lab::{FAR, FAR_V6, Lab};
use crate::common::{at, count, process, warned};
use crate::emulate::Emulator;

/// Probes of a run. That none of them is damaged, each with probability 0.1, has probability 1e-45.
const PROBES: u64 = 1_000;
/// Octets of UDP payload.
const PAYLOAD: u64 = 400;

/// Measures through an emulator that flips `bits` bits in every tenth packet of UDP, on average, from or to the responder's port, in
/// `direction` of the emulator. Gives both documents.
fn damaged(lab: &Lab, direction: &str, bits: u32, arguments: &[&str]) -> (Value, Value) {
    let folder = tempfile::tempdir().unwrap();
    let scenario = folder.path().join("damage.toml");
    let port = if direction == "a_to_b" { "destination_port" } else { "source_port" };
    let text = format!(
        "[[flow]]\nmatch = {{ protocol = \"udp\", {port} = 862 }}\n{direction}.corrupt = {{ probability = 0.1, bits = {bits} }}\n"
    );
    std::fs::write(&scenario, text).unwrap();
    let emulator = Emulator::start(lab, &["--scenario", scenario.to_str().unwrap()]);
    let size = PAYLOAD.to_string();
    let count = PROBES.to_string();
    let limit =
        format!("{}.packets.corrupted<={PROBES}", if direction == "a_to_b" { "forward" } else { "reverse" });
    let usual =
        ["--checksum", "header", "--count", &count, "--interval", "1ms", "--size", &size, "--limit", &limit];
    let run = lab.measure(&[&usual[..], arguments].concat());
    let (emulation, _) = emulator.end("TERM", 0);
    (run.document(), emulation)
}

/// The numbers of a histogram.
fn numbers(document: &Value, pointer: &str) -> Vec<u64> {
    at(document, pointer).as_array().unwrap().iter().map(|number| number.as_u64().unwrap()).collect()
}

/// The histograms of the damaged probes of `way` agree with each other, with their count and with `bits` flipped bits in each probe.
fn assert_located(document: &Value, way: &str, bits: usize) {
    let probes = count(document, &format!("/{way}/packets/corrupted"));
    assert_eq!(count(document, &format!("/damage/{way}/probes")), probes);
    let by_bits = numbers(document, &format!("/damage/{way}/flipped_bits"));
    assert_eq!(by_bits.iter().sum::<u64>(), probes);
    assert!(by_bits.len() <= bits + 1, "more bits than were flipped: {by_bits:?}");
    let flipped: u64 = by_bits.iter().zip(0_u64..).map(|(probes, bits)| probes * bits).sum();
    let positions = numbers(document, &format!("/damage/{way}/bit_positions"));
    assert_eq!(positions.iter().sum::<u64>(), flipped);
    // The pattern has more than four fifths of the octets. That less than half of the flipped bits meet it has a probability below
    // 1e-9.
    assert!(2 * flipped > probes * u64::try_from(bits).unwrap(), "{flipped} of {probes}: {by_bits:?}");
    let width = count(document, &format!("/damage/{way}/bits_per_bin"));
    assert!(u64::try_from(positions.len()).unwrap() * width <= 8 * PAYLOAD + width, "{positions:?}");
}

/// Damaged replies and damaged probes of the responder are counted as the emulator damaged them, and each is lost.
#[test]
fn reverse_damage_equals_the_ledger() {
    let lab = Lab::path();
    let _responder = lab.respond(&[]);
    for (arguments, bits) in [(&[FAR][..], 1), (&[FAR, "--direction", "reverse"][..], 3)] {
        let (document, emulation) = damaged(&lab, "b_to_a", bits, arguments);
        let corrupted = count(&document, "/reverse/packets/corrupted");
        assert!(corrupted > 0);
        let value = at(&document, "/limits/0/value");
        assert_eq!(value.as_f64(), Some(corrupted as f64), "the limit is of the same count");
        assert_eq!(corrupted, count(&emulation, "/b_to_a/corrupted"), "{arguments:?}: {document:#}");
        assert_eq!(corrupted, count(&document, "/reverse/packets/lost"), "{arguments:?}");
        assert_located(&document, "reverse", usize::try_from(bits).unwrap());
    }
}

/// The responder reports the damaged probes that arrived at it: exactly those that were lost. The emulator damages also some
/// datagrams that associate the session, which are no probes.
#[test]
fn forward_damage_is_reported_by_the_responder() {
    let lab = Lab::path();
    let _responder = lab.respond(&[]);
    for arguments in [&[FAR][..], &[FAR, "--direction", "forward"]] {
        let (document, emulation) = damaged(&lab, "a_to_b", 1, arguments);
        let corrupted = count(&document, "/forward/packets/corrupted");
        assert!(corrupted > 0);
        assert_eq!(corrupted, count(&document, "/forward/packets/lost"), "{arguments:?}: {document:#}");
        let ledger = count(&emulation, "/a_to_b/corrupted");
        assert!((corrupted..=corrupted + 20).contains(&ledger), "{arguments:?}: {corrupted} of {ledger}");
        assert_located(&document, "forward", 1);
        assert!(!warned(&document).contains("damage-uncounted"));
    }
}

/// On an undamaged path nothing is counted, over either version of IP, though checksums of virtual links are unfinished.
#[test]
fn undamaged_probes_are_not_counted() {
    let lab = Lab::path();
    let _responder = lab.respond(&[]);
    for target in [FAR, FAR_V6] {
        for direction in ["round-trip", "both"] {
            let usual = ["--checksum", "header", "--count", "50", "--interval", "2ms"];
            let document =
                lab.measure(&[&usual[..], &["--direction", direction, target]].concat()).document();
            for way in ["forward", "reverse"] {
                assert_eq!(count(&document, &format!("/{way}/packets/corrupted")), 0, "{target} {direction}");
                assert_eq!(count(&document, &format!("/{way}/packets/lost")), 0, "{target} {direction}");
            }
        }
    }
    let document = lab.measure(&["--count", "5", FAR]).document();
    assert!(document.get("damage").is_none() && at(&document, "/forward/packets/corrupted").is_null());
}

/// A probe that is too small for the pattern is refused, with the least size.
#[test]
fn small_probes_are_refused() {
    let ended = process::run(&mut process::romer([
        "measure",
        "127.0.0.1",
        "--checksum",
        "header",
        "--size",
        "79",
        "--stamp-only",
    ]));
    assert_ne!(ended.code, Some(0));
    assert!(ended.stderr.contains("use at least 80 bytes"), "{ended:?}");
}
