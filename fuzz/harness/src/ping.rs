//! The output of ping.

use romer_exchange::ping::read;

use crate::{Seed, assert_message};

/// The longest message.
const LONGEST_MESSAGE: usize = 1_000;
/// Rows that few lines may make: lost packets are rows.
const ROWS_ALWAYS: usize = 66_000;
const ROWS_PER_OCTET: usize = 100;

pub(crate) fn run(octets: &[u8]) {
    match read(octets, |_| Ok(())) {
        Ok(recording) => {
            let most = ROWS_ALWAYS + ROWS_PER_OCTET * octets.len();
            assert!(recording.rows.len() <= most, "{} rows", recording.rows.len());
            assert!(recording.rows.is_sorted_by_key(|row| row.sequence));
            assert!(recording.rows.iter().all(|row| row.stamps[0].is_some()));
        }
        Err(fault) => assert_message(&fault, LONGEST_MESSAGE),
    }
}

pub(crate) fn seeds() -> Vec<Seed> {
    [
        ("empty", ""),
        ("iputils", "PING a (192.0.2.7) 56(84) bytes of data.\n64 bytes from 192.0.2.7: icmp_seq=1 ttl=56 time=11.6 ms\n64 bytes from 192.0.2.7: icmp_seq=3 ttl=56 time=0.045 ms\n\n--- a ping statistics ---\n3 packets transmitted, 2 received, 33.3333% packet loss, time 2003ms\nrtt min/avg/max/mdev = 0.045/5.822/11.600/5.777 ms\n"),
        ("stamps", "[1795964420.000500] 64 bytes from 192.0.2.7: icmp_seq=1 ttl=56 time=0.500 ms\n[1795964421.900000] no answer yet for icmp_seq=2\n[1795964422.010000] 64 bytes from 192.0.2.7: icmp_seq=3 ttl=56 time=10.0 ms\n"),
        ("duplicate", "64 bytes from 192.0.2.7: icmp_seq=1 ttl=56 time=1.00 ms\n64 bytes from 192.0.2.7: icmp_seq=1 ttl=56 time=2.00 ms (DUP!)\n"),
        ("unreachable", "PING a (192.0.2.7) 56(84) bytes of data.\nFrom 198.51.100.1 icmp_seq=1 Destination Host Unreachable\n"),
        ("busybox", "PING 192.0.2.7 (192.0.2.7): 56 data bytes\n64 bytes from 192.0.2.7: seq=0 ttl=57 time=11.123 ms\n3 packets transmitted, 1 packets received, 66% packet loss\n"),
        ("bsd_version_6", "PING6(56=40+8+8 bytes) ::1 --> ::1\n16 bytes from ::1, icmp_seq=0 hlim=64 time=0.117 ms\n"),
        ("wrap", "64 bytes from 192.0.2.7: icmp_seq=65535 ttl=56 time=1.00 ms\n64 bytes from 192.0.2.7: icmp_seq=1 ttl=56 time=1.00 ms\n"),
        ("two_runs", "PING a (192.0.2.7) 56(84) bytes of data.\n64 bytes from 192.0.2.7: icmp_seq=1 ttl=56 time=1.00 ms\nPING a (192.0.2.7) 56(84) bytes of data.\n"),
        ("other_language", "64 octets de 192.0.2.7 : icmp_seq=2 ttl=56 temps=1.00 ms\n"),
        ("cut", "64 bytes from 192.0.2.7: icmp_seq=1 ttl=56 time=1.00 ms\n64 bytes from 192.0.2.7: icmp_seq=2 ttl=56 ti"),
        ("many_lost", "PING a (192.0.2.7) 56(84) bytes of data.\n18446744073709551615 packets transmitted, 0 received\n"),
        ("far_stamps", "[999999999999.999999999] 64 bytes from 192.0.2.7: icmp_seq=1 ttl=56 time=999999999999.9 ms\n"),
    ]
    .map(|(name, text)| Seed::new(name, text))
    .into()
}
