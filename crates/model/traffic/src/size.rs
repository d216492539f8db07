//! How large the packets of a schedule are.

use std::sync::Arc;

use romer_units::random::{RandomStream, Seed};

use crate::draw;
use crate::imix::{Frames, Imix, IpVersion, Share, udp_payload};
use crate::trace::Recorded;

/// The payloads of UDP that a schedule asks for, in octets.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Payloads {
    /// The smallest.
    pub least: u32,
    /// The mean: of all packets that are foreseen where they are recorded or repeat, and otherwise expected.
    pub mean: f64,
    /// The largest.
    pub most: u32,
}

/// The packets of [`crate::TrafficModel::Messages`]: hundredths, smallest and largest payload.
const MESSAGES: [(u64, u32, u32); 3] = [(70, 20, 60), (25, 60, 200), (5, 200, 1_000)];

/// The source of sizes.
#[derive(Clone, Debug)]
pub(crate) enum Sizes {
    Constant(u32),
    Imix {
        imix: Imix,
        frames: Frames,
        version: IpVersion,
    },
    Messages {
        row: RandomStream,
        size: RandomStream,
    },
    /// As many packets as will leave, and no more.
    Recorded {
        packets: Arc<[Recorded]>,
        played: usize,
    },
}

impl Sizes {
    pub(crate) fn imix(imix: &Imix, version: IpVersion, seed: Seed) -> Self {
        Self::Imix { frames: imix.frames(seed), imix: imix.clone(), version }
    }

    pub(crate) const fn messages(seed: Seed) -> Self {
        Self::Messages { row: draw::stream(seed, b"imro"), size: draw::stream(seed, b"imsi") }
    }

    /// The payload of packet number `ordinal`.
    pub(crate) fn size(&self, ordinal: u64) -> u32 {
        match self {
            Self::Constant(size) => *size,
            Self::Imix { frames, version, .. } => udp_payload(frames.size(ordinal), *version),
            Self::Messages { row, size } => {
                let mut place = draw::integer(row, ordinal, 0, 99);
                let mut range = (0, 0);
                for (hundredths, least, most) in MESSAGES {
                    range = (least, most);
                    if place < hundredths {
                        break;
                    }
                    place -= hundredths;
                }
                let drawn = draw::integer(size, ordinal, u64::from(range.0), u64::from(range.1));
                u32::try_from(drawn).unwrap_or(u32::MAX)
            }
            Self::Recorded { packets, .. } => {
                let packet = usize::try_from(ordinal).ok().and_then(|place| packets.get(place));
                packet.map_or(0, |packet| packet.size)
            }
        }
    }

    /// What sizes there are where none is below `floor`.
    #[expect(clippy::cast_precision_loss, reason = "sums of sizes stay far below 2^53")]
    pub(crate) fn payloads(&self, floor: u32) -> Payloads {
        match self {
            Self::Constant(size) => {
                let size = (*size).max(floor);
                Payloads { least: size, mean: f64::from(size), most: size }
            }
            Self::Imix { imix, version, .. } => summed(
                imix.shares().into_iter().map(|Share { ratio, frame }| {
                    (ratio, udp_payload(*frame.start(), *version), udp_payload(*frame.end(), *version))
                }),
                floor,
            ),
            Self::Messages { .. } => summed(
                MESSAGES
                    .into_iter()
                    .map(|(hundredths, least, most)| (hundredths as f64 / 100.0, least, most)),
                floor,
            ),
            Self::Recorded { packets, played } => {
                let sizes = || packets.iter().take(*played).map(|packet| packet.size.max(floor));
                let sum: u64 = sizes().map(u64::from).sum();
                Payloads {
                    least: sizes().min().unwrap_or(floor),
                    mean: sum as f64 / (*played).max(1) as f64,
                    most: sizes().max().unwrap_or(floor),
                }
            }
        }
    }
}

/// The sizes of rows of share, smallest and largest payload, each range evenly filled, where none is below `floor`.
fn summed(rows: impl Iterator<Item = (f64, u32, u32)>, floor: u32) -> Payloads {
    rows.fold(Payloads { least: u32::MAX, mean: 0.0, most: 0 }, |sum, (share, low, high)| Payloads {
        least: sum.least.min(low.max(floor)),
        mean: share.mul_add(mean_above(floor, low, high), sum.mean),
        most: sum.most.max(high.max(floor)),
    })
}

/// The mean of the integers from `low` to `high` where those below `floor` are `floor`.
fn mean_above(floor: u32, low: u32, high: u32) -> f64 {
    if floor <= low {
        return f64::midpoint(f64::from(low), f64::from(high));
    }
    if floor >= high {
        return f64::from(floor);
    }
    let below = f64::from(floor - low);
    let above = f64::from(high - floor + 1);
    (below * f64::from(floor) + above * f64::midpoint(f64::from(floor), f64::from(high))) / (below + above)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn simple(version: IpVersion) -> Sizes {
        Sizes::imix(&"simple".parse().unwrap(), version, Seed([0; 6]))
    }

    #[test]
    fn the_sizes_of_a_mixture_are_payloads_of_udp() {
        let v4 = simple(IpVersion::V4);
        assert_eq!((v4.size(0), v4.size(1), v4.size(6)), (18, 548, 1_472));
        let payloads = v4.payloads(0);
        assert_eq!((payloads.least, payloads.most), (18, 1_472));
        assert!((payloads.mean - (7.0 * 18.0 + 4.0 * 548.0 + 1_472.0) / 12.0).abs() < 1e-9);
        assert_eq!(simple(IpVersion::V6).size(6), 1_452);
    }

    #[test]
    fn what_is_too_small_for_the_sender_is_raised_in_the_mean_too() {
        let payloads = simple(IpVersion::V4).payloads(44);
        assert_eq!(payloads.least, 44);
        assert!((payloads.mean - (7.0 * 44.0 + 4.0 * 548.0 + 1_472.0) / 12.0).abs() < 1e-9);
    }

    #[test]
    fn messages_have_the_mean_that_is_told() {
        let sizes = Sizes::messages(Seed([9; 6]));
        let payloads = sizes.payloads(0);
        assert_eq!((payloads.least, payloads.most), (20, 1_000));
        // The mean of the rows, (70 x 40 + 25 x 130 + 5 x 600) / 100, and a deviation of about 138 a packet: 4.9 of
        // the mean's are 1e-6.
        assert!((payloads.mean - 90.5).abs() < 1e-9);
        let count = 200_000;
        let sum: u64 = (0..count).map(|ordinal| u64::from(sizes.size(ordinal))).sum();
        let seen = sum as f64 / count as f64;
        assert!((seen - payloads.mean).abs() < 4.9 * 140.0 / (count as f64).sqrt(), "{seen}");
    }

    proptest! {
        #[test]
        fn a_mean_above_a_floor_is_that_of_the_integers(low in 0u32..200, span in 0u32..200, floor in 0u32..500) {
            let high = low + span;
            let sum: u32 = (low..=high).map(|size| size.max(floor)).sum();
            let mean = f64::from(sum) / f64::from(span + 1);
            prop_assert!((mean_above(floor, low, high) - mean).abs() < 1e-9);
        }
    }
}
