//! Output of ping, and files that have no packets.

use romer_record::warning::{DepartureBasis, MeasurementWarning};

use super::file_tests::folder;
use super::{Analysis, analyze, is_log, is_of_qtcp};

const PING: &str = "PING far.example (192.0.2.7) 56(84) bytes of data.\n\
    64 bytes from 192.0.2.7: icmp_seq=1 ttl=56 time=11.6 ms\n\
    64 bytes from 192.0.2.7: icmp_seq=2 ttl=56 time=12.4 ms\n\
    64 bytes from 192.0.2.7: icmp_seq=2 ttl=56 time=13.2 ms (DUP!)\n\
    64 bytes from 192.0.2.7: icmp_seq=5 ttl=56 time=123 ms\n\n\
    --- far.example ping statistics ---\n\
    6 packets transmitted, 3 received, +1 duplicates, 50% packet loss, time 1000ms\n";

/// The figures are those of the round trips: which way a packet was lost, and how long either way took, is unknown. The name of the file
/// does not matter.
#[test]
fn ping_has_round_trips() {
    let folder = folder("ping");
    for name in ["ping.log", "ping.txt", "ping", "ping.csv"] {
        let file = folder.join(name);
        std::fs::write(&file, PING).unwrap();
        assert!(is_log(&file) && !is_of_qtcp(&file), "{name}");
        let found = analyze(&Analysis::new(&file, String::new())).unwrap();
        let m = &found.measurement;
        let packets = &m.round_trip.packets;
        let counts = [packets.sent, packets.received, packets.lost, packets.duplicated];
        assert_eq!(counts, [6, 3, 3, 1].map(Some), "{name}");
        assert_eq!(m.round_trip.delay_ns.max, Some(123e6));
        assert_eq!((m.forward.delay_ns.max, m.reverse.delay_ns.max), (None, None));
        assert_eq!((m.traffic.interval_ns, m.traffic.payload_octets), (200_000_000, 56));
        assert_eq!(m.traffic.protocol, "ping, to far.example");
        let note = MeasurementWarning::DeparturesComputed {
            basis: DepartureBasis::Statistics,
            interval_ns: 200_000_000,
        };
        assert!(m.warnings.contains(&note), "{:?}", m.warnings);
        assert_eq!(found.related.forward.iter().filter(|one| one.copy == 0).count(), 6);
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

/// Rates of a link are recognised, and refused with the command that takes them.
#[test]
fn rates_have_no_packets() {
    let folder = folder("link");
    for (name, text) in
        [("link.csv", "time_s,rate_bit_per_s\n0,1\n1,2\n"), ("link.up", "0\n5\n"), ("link", "3\n")]
    {
        let file = folder.join(name);
        std::fs::write(&file, text).unwrap();
        assert!(is_log(&file), "{name}");
        let why = analyze(&Analysis::new(&file, String::new())).unwrap_err().to_string();
        assert!(why.contains("romer model FILE --write"), "{why}");
    }
    std::fs::remove_dir_all(&folder).unwrap();
}
