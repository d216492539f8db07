//! Counts the probes of a session that arrive damaged, which the kernel drops before a UDP socket sees them.
//!
//! A thread reads copies of the packets that have the session's tag ([`romer_wire::pattern`]) and checks them itself: the
//! checksums of IPv4 and UDP, and each bit of the pattern. It takes headers to be of their usual length and place, whatever they
//! say, so that damaged headers are counted too.

use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use romer_host::HostError;
use romer_host::socket::{Mark, PacketTap, TappedPacket, Waker, wait_any};
use romer_record::document::DamagedProbes;
use romer_wire::checksum::Sum;
use romer_wire::pattern::{Carrier, Pattern};

/// Octets of a UDP header.
const UDP: usize = 8;
/// The protocol number of UDP.
const PROTOCOL: u32 = 17;
/// Octets of the longest packet.
const LONGEST: usize = 1 << 16;

/// The probes of which damage is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WatchedProbes {
    /// Their contents.
    pub pattern: Pattern,
    /// Where these are.
    pub carrier: Carrier,
    /// Whether they come over IPv6.
    pub is_ipv6: bool,
    /// The UDP port of this host that they come to. Packets from it to another port are this host's own.
    pub port: u16,
}

impl WatchedProbes {
    /// Octets of the IP header.
    const fn ip_header(&self) -> usize {
        if self.is_ipv6 { 40 } else { 20 }
    }

    /// By what the packets are recognised.
    fn marks(&self) -> [Mark; 4] {
        let begin = self.ip_header() + UDP + self.carrier.offset();
        self.pattern
            .marks()
            .map(|(place, word)| Mark { offset: u32::try_from(begin + place).unwrap_or(u32::MAX), word })
    }

    /// The positions of the flipped bits of a damaged probe in its UDP payload. `None` for an undamaged probe, and for any other
    /// packet.
    fn damage(&self, packet: &TappedPacket<'_>) -> Option<Vec<u32>> {
        let (ip, segment) = packet.octets.split_at_checked(self.ip_header())?;
        let (udp, payload) = segment.split_at_checked(UDP)?;
        let word = |place: usize| udp.get(place..)?.first_chunk().map(|word| u16::from_be_bytes(*word));
        if word(0)? == self.port && word(2)? != self.port {
            return None;
        }
        let reading = self.pattern.read(payload.get(self.carrier.offset()..)?)?;
        let is_right = self.is_header_right(ip, segment.len())
            && (packet.is_checksum_unfinished || self.is_checksum_right(ip, segment, word(6)?));
        if is_right && reading.flipped.is_empty() {
            return None;
        }
        let begin = u32::try_from(8 * self.carrier.offset()).unwrap_or(u32::MAX);
        Some(reading.flipped.into_iter().map(|bit| begin.saturating_add(bit)).collect())
    }

    /// Whether the IP header is as its checksum says, or, of IPv6, which has none, has the right length.
    fn is_header_right(&self, ip: &[u8], segment: usize) -> bool {
        if self.is_ipv6 {
            let length = ip.get(4..).and_then(|rest| rest.first_chunk());
            length.is_some_and(|length| usize::from(u16::from_be_bytes(*length)) == segment)
        } else {
            Sum::new().octets(ip).is_right()
        }
    }

    /// Whether the checksum of UDP is right. Over IPv4, 0 stands for none.
    fn is_checksum_right(&self, ip: &[u8], segment: &[u8], field: u16) -> bool {
        let addresses = if self.is_ipv6 { ip.get(8..) } else { ip.get(12..) };
        let length = u32::try_from(segment.len()).unwrap_or(u32::MAX);
        let pseudo = Sum::new().octets(addresses.unwrap_or_default()).u32(length).u32(PROTOCOL);
        (field == 0 && !self.is_ipv6) || pseudo.octets(segment).is_right()
    }
}

/// A thread that counts the damaged probes of one session. It ends when this is dropped.
#[derive(Debug)]
pub struct DamageMonitor {
    is_over: Arc<AtomicBool>,
    waker: Arc<Waker>,
    thread: Option<JoinHandle<DamagedProbes>>,
}

impl DamageMonitor {
    /// Begins to count in the network namespace of the current thread.
    ///
    /// # Errors
    /// The capability `CAP_NET_RAW` is missing ([`HostError::is_permission`]), or the system has no descriptor or thread left.
    pub fn start(probes: WatchedProbes) -> Result<Self, HostError> {
        let tap = PacketTap::open(probes.is_ipv6, &probes.marks())?;
        let is_over = Arc::new(AtomicBool::new(false));
        let waker = Arc::new(Waker::new()?);
        let (over, woken) = (Arc::clone(&is_over), Arc::clone(&waker));
        let thread = std::thread::Builder::new()
            .name("romer-damage".into())
            .spawn(move || count(&probes, &tap, &over, &woken))
            .map_err(|source| HostError::System {
                operation: "start a thread",
                subject: "that counts damaged probes".into(),
                source,
            })?;
        Ok(Self { is_over, waker, thread: Some(thread) })
    }

    /// Ends the thread, which first reads what has arrived; `None` if it panicked.
    pub fn finish(mut self) -> Option<DamagedProbes> {
        self.end();
        self.thread.take().and_then(|thread| thread.join().ok())
    }

    fn end(&self) {
        self.is_over.store(true, Ordering::Release);
        self.waker.wake();
    }
}

impl Drop for DamageMonitor {
    fn drop(&mut self) {
        self.end();
    }
}

/// Counts until `is_over`, and then what has arrived.
fn count(probes: &WatchedProbes, tap: &PacketTap, is_over: &AtomicBool, waker: &Waker) -> DamagedProbes {
    let mut damaged = DamagedProbes::default();
    let mut buffer = vec![0; LONGEST];
    loop {
        let is_last = is_over.load(Ordering::Acquire);
        while let Ok(Some(packet)) = tap.receive(&mut buffer) {
            if let Some(positions) = probes.damage(&packet) {
                damaged.add(positions.into_iter());
            }
        }
        if is_last || wait_any(&[tap.as_fd()], Some(waker), None).is_err() {
            return damaged;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use romer_wire::udp;

    const PROBES: WatchedProbes = WatchedProbes {
        pattern: Pattern::new(0x0bad_cafe),
        carrier: Carrier::OneWay,
        is_ipv6: false,
        port: 862,
    };

    /// A probe over IPv4 as it arrives, with right checksums.
    fn packet(source_port: u16) -> Vec<u8> {
        let mut packet = vec![0; 28 + Carrier::OneWay.shortest_payload()];
        let length = u16::try_from(packet.len()).unwrap();
        packet[..10].copy_from_slice(&[0x45, 0, 0, 0, 0, 1, 0x40, 0, 64, 17]);
        packet[2..4].copy_from_slice(&length.to_be_bytes());
        packet[12..20].copy_from_slice(&[192, 0, 2, 1, 192, 0, 2, 2]);
        let sum = romer_wire::checksum::checksum(&packet[..20]);
        packet[10..12].copy_from_slice(&sum.to_be_bytes());
        assert!(Carrier::OneWay.write(PROBES.pattern, 5, &mut packet[28..]));
        let pseudo = romer_wire::ipv4::Packet::parse(&packet).unwrap().pseudo();
        let ports = udp::Repr { source_port, destination_port: 862 };
        ports.emit(pseudo, &mut packet[20..]).unwrap();
        packet
    }

    fn damage(octets: &[u8]) -> Option<Vec<u32>> {
        PROBES.damage(&TappedPacket { octets, is_checksum_unfinished: false })
    }

    /// Each single bit that is flipped behind the Ethernet header is seen, and located where the pattern has it.
    #[test]
    fn every_flipped_bit_is_seen() {
        let right = packet(40_000);
        assert_eq!(damage(&right), None);
        let pattern = 8 * (28 + Carrier::OneWay.offset());
        for bit in 0..8 * right.len() {
            let mut octets = right.clone();
            octets[bit / 8] ^= 0x80 >> (bit % 8);
            let located = (bit >= pattern).then(|| u32::try_from(bit - 8 * 28).unwrap());
            assert_eq!(damage(&octets), Some(Vec::from_iter(located)), "bit {bit}");
        }
    }

    /// A packet without a finished checksum is judged by its pattern, and a packet of this host is not counted.
    #[test]
    fn offloaded_checksums_are_not_damage() {
        let mut octets = packet(40_000);
        octets[26] ^= 0xff;
        assert_eq!(damage(&octets), Some(Vec::new()));
        let unfinished = TappedPacket { octets: &octets, is_checksum_unfinished: true };
        assert_eq!(PROBES.damage(&unfinished), None);
        let mut own = packet(862);
        own[23] ^= 1;
        assert_eq!(damage(&own), None);
    }

    /// The marks are words of the packet.
    #[test]
    fn marks_are_in_the_packet() {
        let octets = packet(1);
        for mark in PROBES.marks() {
            let place = usize::try_from(mark.offset).unwrap();
            assert_eq!(octets[place..place + 4], mark.word.to_be_bytes());
        }
    }
}
