//! Speech coders: what they put into a packet, and how often.
//!
//! Sizes are octets of UDP payload. All but MELP travel in RTP, whose 12 octets of header (RFC 3550 section 5.1, no
//! extension, no contributing sources) are counted. MELP of Hershberger 2005 travels bare: 14 octets in UDP are two frames and
//! nothing else.

use core::fmt;

use romer_units::{Duration, Rate, counted_as};
use thiserror::Error;

/// Octets of an RTP header.
const RTP: u32 = 12;

/// A number of frames that a codec does not bundle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error(
    "{} not foreseen; use {least} to {most}",
    counted_as(u64::from(*bundle), "frame in a packet is", "frames in a packet are")
)]
pub struct BundleOutOfRange {
    /// What was requested.
    pub bundle: u32,
    /// Fewest.
    pub least: u32,
    /// Most.
    pub most: u32,
}

/// A speech coder that sends at a constant rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Codec {
    /// MELP at 2,400 bit/s: 54 bits, in 7 octets, every 22.5 ms, 2 to 5 frames to a packet (Hershberger 2005 section 2.2),
    /// without RTP.
    Melp,
    /// G.711 at 64 kbit/s: 80 octets every 10 ms, 2 to a packet (RFC 3551 section 4.5.14), in RTP.
    G711,
    /// G.729 at 8 kbit/s: 10 octets every 10 ms, 2 to a packet (RFC 3551 section 4.5.6), in RTP.
    G729,
    /// Opus at a constant bit rate: a frame every 20 ms (RFC 6716 section 2.1.4), in RTP (RFC 7587).
    Opus {
        /// Bits of Opus, all of its own headers among them, a second: 6,000 to 510,000 (RFC 6716 section 2.1.1).
        bits_per_second: u32,
    },
    /// AMR-WB: a frame every 20 ms (ITU-T G.722.2), in RTP in the bandwidth-efficient format (RFC 4867 section 4.3).
    AmrWb {
        /// Bits of speech a second, one of `AMR_WB_RATES`.
        bits_per_second: u32,
    },
    /// EVS in its primary modes of constant rate: a frame every 20 ms, in RTP (3GPP TS 26.445 annex A), one alone in the
    /// compact format and several in the header-full one.
    Evs {
        /// Bits a second, one of `EVS_RATES`.
        bits_per_second: u32,
    },
}

/// Bit rates that AMR-WB has, with the bits of a frame (ITU-T G.722.2; 3GPP TS 26.201 table 2).
const AMR_WB_RATES: [(u32, u32); 9] = [
    (6_600, 132),
    (8_850, 177),
    (12_650, 253),
    (14_250, 285),
    (15_850, 317),
    (18_250, 365),
    (19_850, 397),
    (23_050, 461),
    (23_850, 477),
];

/// Constant bit rates that EVS has in its primary modes (3GPP TS 26.441).
const EVS_RATES: [u32; 11] =
    [7_200, 8_000, 9_600, 13_200, 16_400, 24_400, 32_000, 48_000, 64_000, 96_000, 128_000];

/// Bit rates that Opus has (RFC 6716 section 2.1.1).
const OPUS_RATES: core::ops::RangeInclusive<u64> = 6_000..=510_000;

/// What a codec puts into each packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PacketFormat {
    pub(crate) interval: Duration,
    pub(crate) octets: u32,
}

/// Frames in a packet: fewest, most, and how many where nothing is said.
struct Bundles {
    least: u32,
    most: u32,
    own: u32,
}

impl Codec {
    /// Opus where no rate is said: 32 kbit/s, in the middle of what RFC 6716 section 2.1.1 gives for speech of full
    /// bandwidth. 80 octets every 20 ms.
    pub const OPUS: Self = Self::Opus { bits_per_second: 32_000 };

    /// AMR-WB where no rate is said: 12.65 kbit/s.
    pub const AMR_WB: Self = Self::AmrWb { bits_per_second: 12_650 };

    /// EVS where no rate is said: 24.4 kbit/s.
    pub const EVS: Self = Self::Evs { bits_per_second: 24_400 };

    /// Each codec, at the rate that it has where none is said.
    pub const ALL: [Self; 6] = [Self::Melp, Self::G711, Self::G729, Self::OPUS, Self::AMR_WB, Self::EVS];

    /// The name, as it is read.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Melp => "melp",
            Self::G711 => "g711",
            Self::G729 => "g729",
            Self::Opus { .. } => "opus",
            Self::AmrWb { .. } => "amr-wb",
            Self::Evs { .. } => "evs",
        }
    }

    /// Speech of one frame.
    pub const fn frame(self) -> Duration {
        match self {
            Self::Melp => Duration::from_micros(22_500),
            Self::G711 | Self::G729 => Duration::from_millis(10),
            Self::Opus { .. } | Self::AmrWb { .. } | Self::Evs { .. } => Duration::from_millis(20),
        }
    }

    /// Frames in a packet, where `bundle` is asked for, or the codec's own number where `None`.
    pub fn frames(self, bundle: Option<u32>) -> u32 {
        bundle.unwrap_or(self.bundles().own)
    }

    /// Speech of a packet that bundles `bundle` frames, or the codec's own number where `None`.
    ///
    /// # Errors
    /// [`BundleOutOfRange`].
    pub fn speech(self, bundle: Option<u32>) -> Result<Duration, BundleOutOfRange> {
        self.packet(bundle).map(|packet| packet.interval)
    }

    /// Hershberger 2005 bundles MELP from 2 to 5; RFC 3551 section 4.2 has receivers take packets of up to 200 ms; a packet
    /// of Opus has at most 120 ms (RFC 6716 section 3.2).
    const fn bundles(self) -> Bundles {
        match self {
            Self::Melp => Bundles { least: 2, most: 5, own: 2 },
            Self::G711 | Self::G729 => Bundles { least: 1, most: 20, own: 2 },
            Self::Opus { .. } => Bundles { least: 1, most: 6, own: 1 },
            Self::AmrWb { .. } | Self::Evs { .. } => Bundles { least: 1, most: 10, own: 1 },
        }
    }

    /// Octets of UDP payload of `frames` frames.
    fn octets(self, frames: u32) -> u32 {
        match self {
            Self::Melp => 7 * frames,
            Self::G711 => RTP + 80 * frames,
            Self::G729 => RTP + 10 * frames,
            // 8,000 bit milliseconds to an octet a second, to the nearest octet.
            Self::Opus { bits_per_second } => RTP + (bits_per_second * 20 * frames + 4_000) / 8_000,
            // A mode request of 4 bits, and for each frame 6 bits of its type.
            Self::AmrWb { bits_per_second } => {
                let of_rate = AMR_WB_RATES.iter().find(|(rate, _)| *rate == bits_per_second);
                let bits = of_rate.map_or(0, |(_, bits)| *bits);
                RTP + (4 + frames * (6 + bits)).div_ceil(8)
            }
            // An octet for the type of each frame, unless it is alone.
            Self::Evs { bits_per_second } => {
                let octets = bits_per_second / 50 / 8;
                RTP + if frames == 1 { octets } else { frames * (1 + octets) }
            }
        }
    }

    /// The packets that bundle `bundle` frames, or the codec's own number where `None`.
    pub(crate) fn packet(self, bundle: Option<u32>) -> Result<PacketFormat, BundleOutOfRange> {
        let Bundles { least, most, .. } = self.bundles();
        let frames = self.frames(bundle);
        if !(least..=most).contains(&frames) {
            return Err(BundleOutOfRange { bundle: frames, least, most });
        }
        let interval = Duration::from_nanos(self.frame().as_nanos() * i64::from(frames));
        Ok(PacketFormat { interval, octets: self.octets(frames) })
    }

    /// Reads a name, `opus:RATE`, `amr-wb:RATE` or `evs:RATE`, in small or capital letters; `None` where it is none of
    /// them, and otherwise the codec or what is wrong with it.
    pub(crate) fn read(text: &str) -> Option<Result<Self, String>> {
        let (name, rate) = text.split_once(':').map_or((text, None), |(name, rate)| (name, Some(rate)));
        let named = Self::ALL.into_iter().find(|codec| codec.name().eq_ignore_ascii_case(name))?;
        Some(match rate {
            None => Ok(named),
            Some(rate) => named.with_rate(rate),
        })
    }

    /// The same codec at the rate that is written.
    fn with_rate(self, text: &str) -> Result<Self, String> {
        if matches!(self, Self::Melp | Self::G711 | Self::G729) {
            return Err(format!("{} has one rate; write {} alone", self.name(), self.name()));
        }
        let rate = text.parse().map_err(|error: romer_units::QuantityError| error.to_string())?;
        let bits = match rate {
            Rate::Bits(bits) => u32::try_from(bits).ok(),
            Rate::Packets(_) => None,
        };
        let listed = |rates: &mut dyn Iterator<Item = u32>| rates.map(kbit).collect::<Vec<_>>().join(", ");
        match (self, bits) {
            (Self::Opus { .. }, Some(bits_per_second)) if OPUS_RATES.contains(&bits_per_second.into()) => {
                Ok(Self::Opus { bits_per_second })
            }
            (Self::AmrWb { .. }, Some(bits_per_second))
                if AMR_WB_RATES.iter().any(|(rate, _)| *rate == bits_per_second) =>
            {
                Ok(Self::AmrWb { bits_per_second })
            }
            (Self::Evs { .. }, Some(bits_per_second)) if EVS_RATES.contains(&bits_per_second) => {
                Ok(Self::Evs { bits_per_second })
            }
            (Self::AmrWb { .. }, _) => Err(format!(
                "AMR-WB has no such rate; use one of {}",
                listed(&mut AMR_WB_RATES.iter().map(|(rate, _)| *rate))
            )),
            (Self::Evs { .. }, _) => {
                Err(format!("EVS has no such rate; use one of {}", listed(&mut EVS_RATES.into_iter())))
            }
            _ => Err("Opus has 6 to 510 kbit a second; write opus:32kbit".into()),
        }
    }
}

/// A rate in kbit, as it is read: `12.65kbit`.
fn kbit(bits: u32) -> String {
    match bits % 1_000 {
        0 => format!("{}kbit", bits / 1_000),
        rest => {
            let decimals = format!("{rest:03}");
            format!("{}.{}kbit", bits / 1_000, decimals.trim_end_matches('0'))
        }
    }
}

impl fmt::Display for Codec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Opus { bits_per_second }
            | Self::AmrWb { bits_per_second }
            | Self::Evs { bits_per_second }
                if !Self::ALL.contains(self) =>
            {
                write!(f, "{}:{}", self.name(), kbit(*bits_per_second))
            }
            codec => f.pad(codec.name()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Codec {
        Codec::read(text).unwrap().unwrap()
    }

    #[test]
    fn melp_bundles_two_to_five_frames_of_seven_octets_without_rtp() {
        let own = Codec::Melp.packet(None).unwrap();
        assert_eq!(own, PacketFormat { interval: Duration::from_millis(45), octets: 14 });
        for frames in 2..=5 {
            let packet = Codec::Melp.packet(Some(frames)).unwrap();
            assert_eq!(packet.interval.as_nanos(), i64::from(frames) * 22_500_000);
            assert_eq!(packet.octets, frames * 7);
        }
        for frames in [0, 1, 6, u32::MAX] {
            let error = Codec::Melp.packet(Some(frames)).unwrap_err().to_string();
            assert!(error.contains("2 to 5"), "{error}");
        }
        let one = Codec::Melp.packet(Some(1)).unwrap_err().to_string();
        assert_eq!(one, "1 frame in a packet is not foreseen; use 2 to 5");
    }

    #[test]
    fn telephone_codecs_send_every_twenty_milliseconds_in_rtp() {
        for (codec, octets) in [(Codec::G711, 172), (Codec::G729, 32), (Codec::OPUS, 92)] {
            let packet = codec.packet(None).unwrap();
            assert_eq!(packet, PacketFormat { interval: Duration::from_millis(20), octets }, "{codec}");
        }
        let ten = Codec::G711.packet(Some(1)).unwrap();
        assert_eq!(ten, PacketFormat { interval: Duration::from_millis(10), octets: 92 });
        assert_eq!(Codec::G729.packet(Some(20)).unwrap().octets, 212);
        assert!(Codec::OPUS.packet(Some(7)).is_err() && Codec::G711.packet(Some(0)).is_err());
    }

    #[test]
    fn opus_has_the_rate_that_is_said() {
        assert_eq!(read("opus"), Codec::OPUS);
        assert_eq!(read("opus:32kbit"), Codec::OPUS);
        assert_eq!(read("opus:6kbit").packet(None).unwrap().octets, 12 + 15);
        // The longest frame that Opus has: RFC 6716 section 3.2.1.
        assert_eq!(read("opus:510kbit").packet(None).unwrap().octets, 12 + 1_275);
        assert_eq!(read("opus:510kbit").packet(Some(6)).unwrap().octets, 12 + 7_650);
        for wrong in ["opus:5kbit", "opus:511kbit", "opus:50pps", "opus:32", "opus:", "melp:2400bit"] {
            assert!(Codec::read(wrong).unwrap().is_err(), "{wrong}");
        }
    }

    /// A frame of AMR-WB at 12.65 kbit/s has 253 bits, 263 with both headers: 33 octets. EVS at 24.4 kbit/s has 61.
    #[test]
    fn mobile_codecs_have_frame_sizes() {
        for (text, bundle, octets) in [
            ("amr-wb", None, 12 + 33),
            ("amr-wb:6.6kbit", None, 12 + 18),
            ("amr-wb:23.85kbit", None, 12 + 61),
            ("amr-wb", Some(2), 12 + 66),
            ("evs", None, 12 + 61),
            ("evs:13.2kbit", None, 12 + 33),
            ("evs:13.2kbit", Some(2), 12 + 68),
        ] {
            assert_eq!(read(text).packet(bundle).unwrap().octets, octets, "{text} {bundle:?}");
        }
        assert_eq!(read("evs").speech(Some(3)).unwrap(), Duration::from_millis(60));
        for (wrong, part) in [("amr-wb:12kbit", "12.65kbit, "), ("evs:5pps", "13.2kbit, ")] {
            let why = Codec::read(wrong).unwrap().unwrap_err();
            assert!(why.contains(part), "{why}");
        }
    }

    #[test]
    fn a_codec_is_printed_as_it_is_read() {
        for text in [
            "melp",
            "g711",
            "g729",
            "opus",
            "opus:24kbit",
            "opus:24.001kbit",
            "amr-wb",
            "amr-wb:6.6kbit",
            "amr-wb:23.85kbit",
            "evs",
            "evs:13.2kbit",
            "evs:128kbit",
        ] {
            assert_eq!(read(text).to_string(), text);
            assert_eq!(read(&text.replace("opus", "OPUS")).to_string(), text);
        }
        assert_eq!((read("amr-wb:12650bit"), read("evs:24400bit")), (Codec::AMR_WB, Codec::EVS));
        assert!(Codec::read("g722").is_none() && Codec::read("").is_none());
    }
}
