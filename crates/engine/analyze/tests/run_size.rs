//! What a run takes on the disk.
#![expect(clippy::unwrap_used, reason = "the helpers of tests fail as the tests do")]

use std::collections::BTreeMap;
use std::fs;

use romer_analyze::evaluate::evaluate;
use romer_analyze::outcomes::RunOutcomes;
use romer_record::document::ProbeDirection;
use romer_record::manifest::{ClockRelation, Manifest, Status, Stream};
use romer_record::{RoundTrip, Stamps};
use romer_store::{Finished, Location, NewRun};
use romer_units::{Clock, Timestamp};

/// Packets of a minute.
const PACKETS: u64 = 600;
const INTERVAL_NS: i64 = 100_000_000;
/// The most that such a run may take, bytes. Some 20 kB of it are the twelve times of each packet, which no encoding makes smaller.
const MOST_OCTETS: u64 = 38_000;

/// A number below `most` that looks random: the same at each run of the test (Knuth's multiplier of 64 bits).
fn below(most: i64, state: &mut u64) -> i64 {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    i64::try_from(*state >> 33).unwrap() % most
}

fn stamps<C: Clock>(kernel: i64, user: i64) -> Stamps<C> {
    let at = |nanos| Some(Timestamp::from_nanos(nanos));
    Stamps { kernel: at(kernel), user: at(user), ..Stamps::default() }
}

/// Packets of a quiet path between two busy hosts: 0.2 ms of queuing, and programs that wait up to 30 µs for the processor.
fn rows() -> Vec<RoundTrip> {
    let mut state = 1;
    let row = |sequence: u64| {
        let mut up_to = |most: i64| below(most, &mut state);
        let wake_error = up_to(100_000);
        let t1_user = 1_700_000_000_000_000_000 + i64::try_from(sequence).unwrap() * INTERVAL_NS + wake_error;
        let t1 = t1_user + 5_000 + up_to(30_000);
        let t2 = t1 + 1_000_000 + up_to(200_000);
        let t2_user = t2 + 5_000 + up_to(30_000);
        let t3_told = t2_user + 2_000 + up_to(8_000);
        let t3_user = t3_told + 1_000 + up_to(4_000);
        let t3 = t3_user + 5_000 + up_to(30_000);
        let t4 = t3 + 1_000_000 + up_to(200_000);
        let told = |nanos| Some(Timestamp::from_nanos(nanos));
        RoundTrip {
            sequence,
            size: 44,
            wake_error_ns: Some(wake_error),
            t1: stamps(t1, t1_user),
            t2: Stamps { told: told(t2), ..stamps(t2, t2_user) },
            t3: Stamps { told: told(t3_told), ..stamps(t3, t3_user) },
            t4: stamps(t4, t4 + 5_000 + up_to(30_000)),
            forward_ttl: Some(64),
            reverse_ttl: Some(64),
            forward_tos: Some(0),
            reverse_tos: Some(0),
            seen_by_responder: true,
            returned: true,
            ..RoundTrip::default()
        }
    };
    (0..PACKETS).map(row).collect()
}

/// A run of a minute, with a packet every 100 ms, is small enough that nobody has to delete runs to save space.
#[test]
fn a_minute_takes_little_space() {
    let mut stream = Stream {
        target: "198.18.0.3".into(),
        started: "2023-11-14T22:13:20Z".into(),
        clock_relation: ClockRelation::Shared,
        ..romer_testing::stream()
    };
    stream.traffic.direction = ProbeDirection::RoundTrip;
    stream.traffic.interval_ns = INTERVAL_NS;
    stream.traffic.payload_octets = 44;
    stream.traffic.count = Some(PACKETS);
    stream.traffic.waiting_time_ns = 2_000_000_000;
    let streams = vec![stream];
    let manifest = Manifest {
        schema: String::new(),
        name: String::new(),
        created: "2023-11-14T22:13:20Z".into(),
        status: Status::Running,
        software: romer_record::SOFTWARE.into(),
        streams: streams.clone(),
    };
    let home = tempfile::tempdir().unwrap();
    let location = Location::Folder { path: home.path().join("run"), force: false };
    let run = NewRun::create(&location, manifest).unwrap();
    let rows = rows();
    let evaluated = [evaluate(&streams[0], &rows, false)];
    let run = run
        .finish(&Finished {
            status: Status::Complete,
            rows: &BTreeMap::from([(0, rows.clone())]),
            measurements: &[evaluated[0].measurement.clone()],
            outcomes: &RunOutcomes { streams: &streams, evaluated: &evaluated },
            html: None,
        })
        .unwrap();
    assert_eq!(run.rows().unwrap().streams, BTreeMap::from([(0, rows)]));
    let sizes: Vec<(String, u64)> = fs::read_dir(run.folder())
        .unwrap()
        .map(|entry| entry.unwrap())
        .map(|entry| (entry.file_name().into_string().unwrap(), entry.metadata().unwrap().len()))
        .collect();
    let octets: u64 = sizes.iter().map(|(_, octets)| octets).sum();
    assert!(octets <= MOST_OCTETS, "{octets} bytes: {sizes:?}");
}
