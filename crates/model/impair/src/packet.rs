//! A packet as the engine knows it: a handle, never its octets.

use std::net::IpAddr;

use crate::nanos::Nanos;

/// One of the two ports, named as where a packet arrives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PortId {
    /// What arrives here goes from a to b.
    A,
    /// What arrives here goes from b to a.
    B,
}

impl PortId {
    /// Both.
    pub const BOTH: [Self; 2] = [Self::A, Self::B];

    /// 0 for a, 1 for b.
    pub const fn index(self) -> usize {
        match self {
            Self::A => 0,
            Self::B => 1,
        }
    }

    /// Where a packet that arrived here leaves.
    pub const fn other(self) -> Self {
        match self {
            Self::A => Self::B,
            Self::B => Self::A,
        }
    }

    /// `a` or `b`.
    pub const fn letter(self) -> char {
        match self {
            Self::A => 'a',
            Self::B => 'b',
        }
    }
}

/// What flows are told apart by; `None` is what the packet does not have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Headers {
    /// Code point of an IP packet.
    pub dscp: Option<u8>,
    /// Protocol of an IP packet.
    pub protocol: Option<u8>,
    /// Type of the frame, after VLAN tags.
    pub ethertype: Option<u16>,
    /// Outermost VLAN.
    pub vlan: Option<u16>,
    /// Source address.
    pub source: Option<IpAddr>,
    /// Destination address.
    pub destination: Option<IpAddr>,
    /// Source port of UDP or TCP.
    pub source_port: Option<u16>,
    /// Destination port of UDP or TCP.
    pub destination_port: Option<u16>,
}

/// A packet that has arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet {
    /// The caller's name for where the octets lie; given back with what becomes of the packet.
    pub slot: u32,
    /// Where it arrived.
    pub port: PortId,
    /// Octets of the frame with its check sequence.
    pub length: u32,
    /// Octets that count at layer 3: an IP packet's own length, by its header; of another frame what follows the
    /// Ethernet header and the VLAN tags, without the check sequence.
    pub network_length: u32,
    /// When it arrived, on the one clock of the engine's caller. A stamp before the port's last arrival counts as that one's,
    /// and one before something that is decided already as the moment after it ([`crate::Admission::arrival`]).
    pub arrival: Nanos,
    /// What flows are told apart by.
    pub headers: Headers,
}

impl Packet {
    /// A packet of which only the frame's length is known, which is taken for an untagged frame without padding.
    pub fn new(slot: u32, port: PortId, length: u32, arrival: Nanos) -> Self {
        /// Octets of an Ethernet header and the check sequence.
        const FRAMING: u32 = 18;
        let network_length = length.saturating_sub(FRAMING);
        Self { slot, port, length, network_length, arrival, headers: Headers::default() }
    }
}

/// Why a packet does not leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Cause {
    /// The loss stage.
    Model,
    /// The trace.
    Trace,
    /// The queue before the rate, or no room in the emulator.
    Queue,
    /// Larger than the port it would leave by takes.
    Oversize,
    /// The port it would leave by refuses it or is gone.
    Undeliverable,
    /// The kernel had dropped it before it came here.
    Kernel,
    /// It was held when the emulator ended.
    Shutdown,
}

impl Cause {
    /// All, in the order of [`Cause::index`].
    pub const ALL: [Self; 7] = [
        Self::Model,
        Self::Trace,
        Self::Queue,
        Self::Oversize,
        Self::Undeliverable,
        Self::Kernel,
        Self::Shutdown,
    ];

    /// The name in documents.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Model => "model",
            Self::Trace => "trace",
            Self::Queue => "queue",
            Self::Oversize => "oversize",
            Self::Undeliverable => "undeliverable",
            Self::Kernel => "kernel",
            Self::Shutdown => "shutdown",
        }
    }

    /// The place in [`Cause::ALL`].
    pub const fn index(self) -> usize {
        self as usize
    }
}

/// Which bits of a leaving packet are turned over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Corruption {
    word: u64,
    bits: u8,
    /// Whether the checksums are to be made right again.
    pub repair_checksum: bool,
}

/// The most bits that are turned over in one packet.
pub const MOST_BITS: u8 = 64;

impl Corruption {
    pub(crate) const fn new(word: u64, bits: u8, repair_checksum: bool) -> Self {
        Self { word, bits, repair_checksum }
    }

    /// The bits, numbered from the frame's first, of a frame of which `octets` octets may be turned over (its header
    /// and check sequence are the caller's to leave out). Each is equally likely to be any of them, and all are different;
    /// fewer than asked for where there are fewer.
    pub fn positions(&self, octets: u32) -> impl Iterator<Item = u32> {
        // A walk in steps of one length around the frame: where it begins is uniform over the bits, and so is every place of it;
        // all are different as long as the step and the number of bits have no common factor.
        let number = u64::from(octets.saturating_mul(8));
        let scaled = |word: u64, of: u64| ((word & 0xffff_ffff) * of) >> 32;
        let begin = scaled(self.word, number);
        let drawn = 1 + scaled(self.word >> 32, number.saturating_sub(1));
        let step = (drawn..number).find(|step| gcd(*step, number) == 1).unwrap_or(1);
        (0..number.min(u64::from(self.bits)))
            .filter_map(move |n| u32::try_from((begin + n * step) % number).ok())
    }
}

const fn gcd(mut one: u64, mut other: u64) -> u64 {
    while other > 0 {
        (one, other) = (other, one % other);
    }
    one
}

/// What becomes of a packet or of its copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// As it was given.
    pub slot: u32,
    /// Where it arrived.
    pub port: PortId,
    /// Which arrival of that port it was, from 0.
    pub ordinal: u64,
    /// 0 for the packet itself, from 1 for copies.
    pub copy: u8,
    /// Octets of the frame with its check sequence.
    pub length: u32,
    /// Octets that count at layer 3, as they were given.
    pub network_length: u32,
    /// When the packet arrived.
    pub arrival: Nanos,
    /// When it was let into the delay stage: its arrival, or later for a copy or a displaced packet.
    pub entered: Nanos,
    /// The delay that the fourth stage was asked for.
    pub requested: Nanos,
    /// When the fourth stage let it go; without a rate, when it leaves.
    pub released: Nanos,
    /// When it leaves or was dropped.
    pub time: Nanos,
    /// Whether it met a rate after the fourth stage: it went through the rate's queue, were it for no time.
    pub rated: bool,
    /// How many packets were to go past it.
    pub displacement: u32,
    /// The bits to turn over before it is sent.
    pub corruption: Option<Corruption>,
    /// Why it does not leave; `None`: it leaves.
    pub lost: Option<Cause>,
}

#[cfg(test)]
mod tests {
    use romer_units::random::{RandomStream, Seed};

    use super::*;

    #[test]
    fn every_bit_of_a_frame_is_as_likely_to_be_turned_over_and_none_twice() {
        const DRAWS: u32 = 200_000;
        let draws = RandomStream::new(Seed([7; 6]), [0, 0]);
        for (octets, bits) in [(46_u32, 1_u8), (46, 3), (128, 2), (186, 1), (1_500, 5), (1, 64), (0, 3)] {
            let mut counts = vec![0_u32; octets as usize];
            for draw in 0..DRAWS {
                let turned: Vec<u32> =
                    Corruption::new(draws.bits(u64::from(draw)), bits, false).positions(octets).collect();
                let different: std::collections::BTreeSet<_> = turned.iter().collect();
                assert_eq!((turned.len(), different.len()), {
                    let expected = u32::from(bits).min(octets * 8) as usize;
                    (expected, expected)
                });
                for bit in turned {
                    counts[(bit / 8) as usize] += 1;
                }
            }
            let Some(freedom) = octets.checked_sub(1).filter(|freedom| *freedom > 0).map(f64::from) else {
                continue;
            };
            let expected = f64::from(DRAWS) * f64::from(bits) / f64::from(octets);
            let squares: f64 =
                counts.iter().map(|count| (f64::from(*count) - expected).powi(2) / expected).sum();
            // Six deviations of chi-squared: a fresh seed would break it with a probability below 1e-7. Bits of one draw are not
            // independent of each other, by a factor of their number at the most.
            let bound = f64::from(bits) * (freedom + 6.0 * (2.0 * freedom).sqrt());
            assert!(squares < bound, "{octets} octets, {bits} bits: {squares} of {bound}");
        }
    }
}
