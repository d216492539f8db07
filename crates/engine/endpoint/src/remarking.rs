//! Marks of packets beyond a traffic profile: rules of nftables (`limit rate over`) for one flow of this host, which are removed at
//! the end of this process in whatever way it ends.

use std::fmt::Display;
use std::net::{IpAddr, SocketAddr};
use std::process::Command;

use romer_host::program;
use romer_host::watchdog_process::WatchdogProcess;
use romer_record::service::Marks;

use crate::EndpointError;

/// The first of two arguments with which this program removes rules; the second is the name of their table. A program that uses
/// [`Remarker`] calls [`remarking_guard_main`] when it is started so.
pub const REMARKING_GUARD_ARGUMENT: &str = "__remarking-guard";
/// The rules: a class `0:N` of nftables is the priority N.
const RULES: &str = include_str!("remarking.nft");
/// Seconds of a day, the unit of rates.
const DAY: u128 = 86_400;

/// A token bucket that counts packets: nftables has none of octets that is less than a second deep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PacketLimit {
    /// Packets in a day, at least 1.
    pub packets_per_day: u64,
    /// Depth in packets, at least 1.
    pub depth: u32,
}

impl PacketLimit {
    /// The bucket of `depth` octets, filled with `bits_per_second`, for packets of `size` octets each, rounded down to whole packets.
    /// `None` if it gives less than one packet in a day, or does not hold one.
    pub fn new(bits_per_second: u64, depth: u64, size: u32) -> Option<Self> {
        let size = u64::from(size).max(1);
        let packets = u128::from(bits_per_second) * DAY / (u128::from(size) * 8);
        let limit = Self {
            packets_per_day: u64::try_from(packets).ok()?,
            depth: u32::try_from(depth / size).unwrap_or(u32::MAX),
        };
        (limit.packets_per_day > 0 && limit.depth > 0).then_some(limit)
    }
}

/// Which packets are marked, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Remarking {
    /// The port that the packets leave from.
    pub local_port: u16,
    /// Where they go.
    pub remote: SocketAddr,
    /// The first four octets, in network order, of payloads that neither count nor are marked.
    pub exempt: Option<u32>,
    /// The profile. Packets beyond it are marked.
    pub limit: PacketLimit,
    /// Their marks.
    pub marks: Marks,
}

impl Remarking {
    /// The rules, in a table of this name.
    fn rules(&self, table: &str) -> String {
        let Self { local_port, remote, exempt, limit, marks } = *self;
        let family = match remote.ip() {
            IpAddr::V4(_) => "ip",
            IpAddr::V6(_) => "ip6",
        };
        let exempt = exempt.map_or_else(String::new, |word| format!("@th,64,32 != {word:#010x}"));
        let (port, address, dscp) = (remote.port(), remote.ip(), marks.dscp.value());
        let values: [(&str, &dyn Display); 10] = [
            ("$table", &table),
            ("$local", &local_port),
            ("$remote", &port),
            ("$family", &family),
            ("$address", &address),
            ("$exempt", &exempt),
            ("$rate", &limit.packets_per_day),
            ("$depth", &limit.depth),
            ("$dscp", &dscp),
            ("$priority", &marks.priority),
        ];
        let put =
            |rules: String, (name, value): (&str, &dyn Display)| rules.replace(name, &value.to_string());
        values.into_iter().fold(RULES.to_owned(), put)
    }
}

/// Marks packets until it is dropped, or this process ends.
#[derive(Debug)]
pub struct Remarker {
    /// Removes the rules when it is dropped.
    _watchdog: WatchdogProcess,
}

impl Remarker {
    /// Installs the rules, in this thread's network namespace.
    ///
    /// # Errors
    /// [`EndpointError::Remarking`]: `nft` is missing or refuses, or the rights are missing (`CAP_NET_ADMIN`). There are no rules then.
    pub fn install(remarking: &Remarking) -> Result<Self, EndpointError> {
        let table = format!("romer-{}-{}", std::process::id(), remarking.local_port);
        let watchdog = WatchdogProcess::running(&[REMARKING_GUARD_ARGUMENT, &table])
            .map_err(|error| EndpointError::Remarking { why: error.to_string() })?;
        match program::run(Command::new("nft"), &["-f", "-"], &remarking.rules(&table)) {
            Ok(_) => Ok(Self { _watchdog: watchdog }),
            Err(why) => Err(EndpointError::Remarking { why }),
        }
    }
}

/// Removes the rules in `table`, whose owner is no more.
pub fn remarking_guard_main(table: &str) {
    // Where they are gone, there is nothing to remove.
    let _ = program::run(Command::new("nft"), &["delete", "table", "inet", table], "");
}

#[cfg(test)]
mod tests {
    use super::*;

    fn remarking(remote: &str) -> Remarking {
        Remarking {
            local_port: 4_000,
            remote: remote.parse().unwrap(),
            exempt: Some(0x726f_6d65),
            limit: PacketLimit { packets_per_day: 4_050_000, depth: 3 },
            marks: Marks { dscp: "cs0".parse().unwrap(), priority: 1 },
        }
    }

    /// Rates and depths are whole packets, rounded down: 3 kB/s of 64 octets are 46.875 packets/s.
    #[test]
    fn limits_count_packets() {
        let limit = |bits, depth, size| PacketLimit::new(bits, depth, size);
        assert_eq!(limit(24_000, 192, 64), Some(PacketLimit { packets_per_day: 4_050_000, depth: 3 }));
        assert_eq!(limit(24_000, 255, 64).unwrap().depth, 3);
        assert_eq!(limit(24_000, 63, 64), None, "it never holds a packet");
        assert_eq!(limit(1, 1_472, 1_472).unwrap().packets_per_day, 7);
        assert_eq!(limit(1, 1 << 20, 1 << 20), None);
        assert_eq!(limit(u64::MAX, 1, 0), None, "beyond 64 bits");
    }

    /// A rule selects one flow of one family, counts and marks what is beyond the limit, and exempts payloads.
    #[test]
    fn rules_select_one_flow() {
        let rules = remarking("192.0.2.7:862").rules("romer-1");
        let rule = "udp sport 4000 udp dport 862 ip daddr 192.0.2.7 @th,64,32 != 0x726f6d65 limit rate over 4050000/day burst 3 packets \
                    ip dscp set 0 meta priority set 0:1 counter\n";
        assert!(rules.starts_with("table inet romer-1 {") && rules.contains(rule), "{rules}");
        let rules = Remarking { exempt: None, ..remarking("[2001:db8::7]:862") }.rules("romer-1");
        assert!(
            rules.contains(" ip6 daddr 2001:db8::7  limit rate ") && rules.contains(" ip6 dscp set 0 "),
            "{rules}"
        );
    }
}
