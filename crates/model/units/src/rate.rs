//! Rates, and the arithmetic of a line.

use core::fmt;
use core::str::FromStr;

use crate::quantity::{self, QuantityError, Unit};
use crate::size::FrameSize;
use crate::time::Duration;

/// The layer at which a rate counts octets. A rate without it means little.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Layer {
    /// With preamble and inter-frame gap.
    L1,
    /// Ethernet frames with their check sequence.
    L2,
    /// IP packets.
    L3,
    /// What the transport carries.
    Payload,
}

impl Layer {
    /// All layers, from the line upwards.
    pub const ALL: [Self; 4] = [Self::L1, Self::L2, Self::L3, Self::Payload];

    /// The octets that count at this layer of a packet with `payload` octets behind `headers` octets of IP and transport, in an
    /// Ethernet frame without VLAN tag.
    pub const fn octets(self, payload: u32, headers: u32) -> u32 {
        let packet = payload.saturating_add(headers);
        match self {
            Self::L1 => FrameSize::of_ip_packet(packet).on_the_line(),
            Self::L2 => FrameSize::of_ip_packet(packet).octets(),
            Self::L3 => packet,
            Self::Payload => payload,
        }
    }
}

impl FromStr for Layer {
    type Err = QuantityError;

    /// Reads `l1`, `l2`, `l3` or `payload`.
    fn from_str(text: &str) -> Result<Self, QuantityError> {
        Self::ALL.into_iter().find(|layer| layer.to_string() == text).ok_or_else(|| {
            QuantityError::NotANumber {
                text: crate::words::excerpt(text, 64),
                what: "a layer".into(),
                example: "l1, l2, l3 or payload".into(),
            }
        })
    }
}

impl fmt::Display for Layer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::L1 => "l1",
            Self::L2 => "l2",
            Self::L3 => "l3",
            Self::Payload => "payload",
        })
    }
}

/// How much in a second: bits, or packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Rate {
    /// Bits a second.
    Bits(u64),
    /// Packets a second.
    Packets(u64),
}

const BIT_UNITS: &[Unit] = &[
    Unit { name: "bit", nanos_or_one: 1 },
    Unit { name: "kbit", nanos_or_one: 1_000 },
    Unit { name: "Mbit", nanos_or_one: 1_000_000 },
    Unit { name: "Gbit", nanos_or_one: 1_000_000_000 },
    Unit { name: "Bps", nanos_or_one: 8 },
    Unit { name: "kBps", nanos_or_one: 8_000 },
    Unit { name: "MBps", nanos_or_one: 8_000_000 },
    Unit { name: "GBps", nanos_or_one: 8_000_000_000 },
];
const PACKET_UNITS: &[Unit] = &[
    Unit { name: "pps", nanos_or_one: 1 },
    Unit { name: "kpps", nanos_or_one: 1_000 },
    Unit { name: "Mpps", nanos_or_one: 1_000_000 },
];

impl FromStr for Rate {
    type Err = QuantityError;

    /// Reads `100Mbit`, `12.5MBps`, `148809pps`. `10MB` and `10M` are ambiguous and refused; zero is refused.
    fn from_str(text: &str) -> Result<Self, QuantityError> {
        let example = "10Mbit, 12.5MBps or 148809pps";
        let (units, make): (_, fn(u64) -> Self) =
            if text.ends_with("pps") { (PACKET_UNITS, Self::Packets) } else { (BIT_UNITS, Self::Bits) };
        let value = quantity::sum_of_parts(text, text, units, "a rate", example)?;
        match u64::try_from(value) {
            Ok(0) => Err(QuantityError::OutOfRange {
                text: text.into(),
                allowed: "write a rate greater than 0".into(),
            }),
            Ok(value) => Ok(make(value)),
            Err(_) => Err(QuantityError::OutOfRange {
                text: text.into(),
                allowed: "write at most 2^64-1 a second".into(),
            }),
        }
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bits(bits) => f.pad(&format!("{bits}bit")),
            Self::Packets(packets) => f.pad(&format!("{packets}pps")),
        }
    }
}

/// The bit rate of a medium, counted at layer 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LineRate(u64);

impl LineRate {
    /// A line of `bits` bits a second; `None` for zero.
    pub const fn new(bits: u64) -> Option<Self> {
        if bits == 0 { None } else { Some(Self(bits)) }
    }
    /// Bits a second.
    pub const fn bits(self) -> u64 {
        self.0
    }
    /// The most frames of one size that this line carries in a second (RFC 2544 appendix B).
    #[expect(clippy::cast_precision_loss, reason = "a rate for people and loads, not a clock")]
    pub fn frames_per_second(self, frame: FrameSize) -> f64 {
        self.0 as f64 / (f64::from(frame.on_the_line()) * 8.0)
    }
    /// How long one frame occupies the line, rounded up to the nanosecond.
    pub fn frame_time(self, frame: FrameSize) -> Duration {
        let bits = u128::from(frame.on_the_line()) * 8;
        let nanos = (bits * 1_000_000_000).div_ceil(u128::from(self.0));
        Duration::from_nanos(i64::try_from(nanos).unwrap_or(i64::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_read_with_their_unit() {
        assert_eq!("100Mbit".parse(), Ok(Rate::Bits(100_000_000)));
        assert_eq!("12.5MBps".parse(), Ok(Rate::Bits(100_000_000)));
        assert_eq!("148809pps".parse(), Ok(Rate::Packets(148_809)));
        for text in ["0bit", "10MB", "10M", "-5Mbit", "1e400bit", "NaN", "1.5pps", ""] {
            assert!(text.parse::<Rate>().is_err(), "{text} was accepted");
        }
    }

    /// A packet counts with the headers of its layer, and a short frame with its padding.
    #[test]
    fn layers_count_their_headers() {
        let counts = |payload| Layer::ALL.map(|layer| layer.octets(payload, 28));
        assert_eq!(counts(1_472), [1_538, 1_518, 1_500, 1_472]);
        assert_eq!(counts(0), [84, 64, 28, 0]);
        for layer in Layer::ALL {
            assert_eq!(layer.to_string().parse(), Ok(layer));
        }
        assert!("L2".parse::<Layer>().unwrap_err().to_string().ends_with("write l1, l2, l3 or payload"));
    }

    #[test]
    fn line_rates_are_those_of_rfc_2544() {
        // The two rates that every benchmark of 64 and 1518 octets at 100 Mbit/s starts from.
        let line = LineRate::new(100_000_000).unwrap();
        let smallest = line.frames_per_second(FrameSize::MINIMUM);
        assert!((smallest - 148_809.523_809).abs() < 1e-6, "{smallest}");
        let largest = line.frames_per_second(FrameSize::new(1518).unwrap());
        assert!((largest - 8_127.438_231).abs() < 1e-6, "{largest}");
        assert_eq!(line.frame_time(FrameSize::MINIMUM), Duration::from_nanos(6_720));
        assert_eq!(FrameSize::of_ip_packet(28), FrameSize::MINIMUM);
        assert_eq!(FrameSize::of_ip_packet(1500).octets(), 1518);
    }
}
