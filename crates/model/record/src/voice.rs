//! The rating of a telephone call over a measured path: what the E-model (ITU-T G.107) has to know of the codec, and
//! what the document says of each direction.

use std::fmt;
use std::str::FromStr;

use romer_units::{Duration, Rate};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::probe_direction::ProbeDirection;

/// The scale of a transmission rating factor R. Ratings of different scales cannot be compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Scale {
    /// 300 to 3,400 Hz, R up to 93.2 (ITU-T G.107).
    #[default]
    Narrowband,
    /// 50 to 7,000 Hz, R up to 129 (ITU-T G.107.1).
    Wideband,
    /// 20 to 20,000 Hz, R up to 148 (ITU-T G.107.2).
    Fullband,
}

impl Scale {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Narrowband, Self::Wideband, Self::Fullband];

    /// The name, as it is read.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Narrowband => "narrowband",
            Self::Wideband => "wideband",
            Self::Fullband => "fullband",
        }
    }

    /// The recommendation that defines it.
    pub const fn recommendation(self) -> &'static str {
        match self {
            Self::Narrowband => "G.107",
            Self::Wideband => "G.107.1",
            Self::Fullband => "G.107.2",
        }
    }
}

impl fmt::Display for Scale {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Scale {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Self::ALL.into_iter().find(|scale| scale.name() == text).ok_or_else(|| {
            format!("{:?} is no scale of the E-model; use narrowband, wideband or fullband", shown(text))
        })
    }
}

/// Parameters of a codec for the E-model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Codec {
    /// Name, as for `--codec`, or `custom`.
    pub name: String,
    /// Scale of `ie` and of the ratings.
    #[serde(default)]
    pub scale: Scale,
    /// Equipment impairment factor without loss (G.113); `null` where none is published and none was given.
    pub ie: Option<f64>,
    /// Packet-loss robustness factor (G.113), above 0; `null` if none is published or given.
    pub bpl: Option<f64>,
    /// Speech in a frame, nanoseconds.
    pub frame_ns: i64,
    /// Speech in a packet, nanoseconds.
    #[serde(default)]
    pub packet_ns: i64,
    /// Look-ahead of the coder, nanoseconds.
    pub lookahead_ns: i64,
}

/// A codec of the table.
struct CodecEntry {
    name: &'static str,
    /// The codec of `--traffic` that sends its packets.
    traffic: &'static str,
    scale: Scale,
    /// Ie and Bpl.
    published: (Option<f64>, Option<f64>),
    /// Frame and look-ahead, microseconds.
    micros: (i64, i64),
}

/// Codecs with one rate. Ie is that of G.113 table I.1, Bpl of table I.3, frame and look-ahead of the codec's own
/// recommendation; the look-ahead of Opus is that of its reference encoder at 48 kHz. G.711 has the concealment of
/// its appendix I, unless the name says otherwise. The values of `g729` and `g723.1` are for their annex A and with
/// silence suppression, as Bpl is published for nothing else. For MELP and Opus G.113 has no values; no look-ahead of
/// MELP is counted.
const CODECS: [CodecEntry; 7] = [
    known("g711", "g711", (Some(0.0), Some(25.1)), (10_000, 0)),
    known("g711-no-plc", "g711", (Some(0.0), Some(4.3)), (10_000, 0)),
    known("g729", "g729", (Some(11.0), Some(19.0)), (10_000, 5_000)),
    known("g723.1", "g723.1", (Some(15.0), Some(16.1)), (30_000, 7_500)),
    known("gsm-efr", "gsm-efr", (Some(5.0), Some(10.0)), (20_000, 0)),
    known("melp", "melp", (None, None), (22_500, 0)),
    CodecEntry {
        name: "opus",
        traffic: "opus",
        scale: Scale::Fullband,
        published: (None, None),
        micros: (20_000, 6_500),
    },
];

const fn known(
    name: &'static str,
    traffic: &'static str,
    published: (Option<f64>, Option<f64>),
    micros: (i64, i64),
) -> CodecEntry {
    CodecEntry { name, traffic, scale: Scale::Narrowband, published, micros }
}

/// A codec with several rates.
struct Rated {
    name: &'static str,
    scale: Scale,
    /// Where no rate is said, bits a second.
    own: u64,
    /// Bits a second with Ie and Bpl.
    published: &'static [(u64, f64, Option<f64>)],
    /// Look-ahead, microseconds.
    lookahead: i64,
}

/// AMR-WB: G.113 tables IV.3 and IV.4, listening with both ears, for which alone Bpl is published. EVS in its
/// super-wideband mode: G.113 (09/2024) table V.1 with erratum 1. Both have frames of 20 ms.
const RATED: [Rated; 2] = [
    Rated {
        name: "amr-wb",
        scale: Scale::Wideband,
        own: 12_650,
        published: &[
            (6_600, 56.0, None),
            (8_850, 41.0, None),
            (12_650, 20.0, Some(4.3)),
            (15_850, 17.0, None),
            (23_050, 8.0, Some(4.6)),
            (23_850, 10.0, Some(4.9)),
        ],
        lookahead: 5_000,
    },
    Rated {
        name: "evs",
        scale: Scale::Fullband,
        own: 24_400,
        published: &[
            (9_600, 22.7, Some(13.0)),
            (13_200, 17.1, Some(11.7)),
            (16_400, 10.8, Some(10.3)),
            (24_400, 7.2, Some(11.4)),
            (32_000, 8.7, Some(9.3)),
            (48_000, 10.2, Some(9.6)),
        ],
        lookahead: 12_000,
    },
];

/// Frame of the codecs with several rates, nanoseconds.
const RATED_FRAME_NS: i64 = 20_000_000;

impl Codec {
    /// The forms of names that are understood.
    pub fn names() -> impl Iterator<Item = String> {
        let rated = RATED.iter().map(|codec| format!("{}[:RATE]", codec.name));
        CODECS.iter().map(|codec| codec.name.to_owned()).chain(rated)
    }

    /// One that is in no table, with frames and packets of `packet_ns`.
    pub fn custom(packet_ns: i64) -> Self {
        Self {
            name: "custom".into(),
            scale: Scale::default(),
            ie: None,
            bpl: None,
            frame_ns: packet_ns,
            packet_ns,
            lookahead_ns: 0,
        }
    }

    /// The codec of `--traffic` that sends its packets, without a rate: that of `g711-no-plc` is `g711`.
    pub fn traffic_name(&self) -> &str {
        let base = self.name.split_once(':').map_or(self.name.as_str(), |(base, _)| base);
        CODECS.iter().find(|codec| codec.name == base).map_or(base, |codec| codec.traffic)
    }

    /// Whether R can be found, at least of packets of which none is lost.
    pub const fn is_rated(&self) -> bool {
        self.ie.is_some()
    }
}

impl FromStr for Codec {
    type Err = String;

    /// A name of the tables, with packets of one frame; codecs of several rates with or without one (`evs:13.2kbit`).
    fn from_str(text: &str) -> Result<Self, String> {
        let (base, rate) = text.split_once(':').map_or((text, None), |(base, rate)| (base, Some(rate)));
        if let Some(codec) = RATED.iter().find(|codec| codec.name == base) {
            let bits = match rate.map(str::parse::<Rate>).transpose() {
                Ok(None) => codec.own,
                Ok(Some(Rate::Bits(bits))) => bits,
                Ok(Some(Rate::Packets(_))) | Err(_) => {
                    let example = Rate::Bits(codec.own);
                    return Err(format!("{:?} has no rate in bits; write {base}:{example}", shown(text)));
                }
            };
            let values = codec.published.iter().find(|(rate, ..)| *rate == bits);
            return Ok(Self {
                name: text.into(),
                scale: codec.scale,
                ie: values.map(|values| values.1),
                bpl: values.and_then(|values| values.2),
                frame_ns: RATED_FRAME_NS,
                packet_ns: RATED_FRAME_NS,
                lookahead_ns: codec.lookahead * 1_000,
            });
        }
        // Nothing is published of Opus by its rate.
        let found = CODECS.iter().find(|codec| codec.name == base && (rate.is_none() || base == "opus"));
        let Some(CodecEntry { scale, published: (ie, bpl), micros: (frame, lookahead), .. }) = found else {
            let names = Self::names().collect::<Vec<_>>().join(", ");
            return Err(format!(
                "{:?} is no codec; use one of {names}, or give --voice-ie and --voice-bpl",
                shown(text)
            ));
        };
        Ok(Self {
            name: text.into(),
            scale: *scale,
            ie: *ie,
            bpl: *bpl,
            frame_ns: frame * 1_000,
            packet_ns: frame * 1_000,
            lookahead_ns: lookahead * 1_000,
        })
    }
}

impl fmt::Display for Codec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.name)
    }
}

/// The beginning of what was written.
fn shown(text: &str) -> String {
    romer_units::excerpt(text, 64)
}

/// Parameters of the call that the user stated. Others follow from the traffic.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct VoiceRequest {
    /// Name of the codec; `null` for that of the traffic.
    #[serde(default)]
    pub codec_name: Option<String>,
    /// Equipment impairment factor Ie; `null` for the published value.
    #[serde(default)]
    pub ie: Option<f64>,
    /// Packet-loss robustness factor Bpl; `null` for the published value.
    #[serde(default)]
    pub bpl: Option<f64>,
    /// Scale of Ie and Bpl; `null` for that of the codec.
    #[serde(default)]
    pub scale: Option<Scale>,
    /// Length of the jitter buffer, nanoseconds; `null` for the one with the best rating.
    #[serde(default)]
    pub jitter_buffer_ns: Option<i64>,
}

impl VoiceRequest {
    /// The codec of a call: the one that is stated, or else `sent`, with the values that are stated. `packet_ns` is the speech
    /// in a packet. `None` where the stream is no call: it is of no codec, and none is stated.
    ///
    /// # Errors
    /// In words, where the codec that is stated is not the one whose packets are sent, or is none.
    pub fn codec(&self, sent: Option<&Codec>, packet_ns: i64) -> Result<Option<Codec>, String> {
        let stated = self.codec_name.as_deref().map(str::parse::<Codec>).transpose()?;
        if let (Some(stated), Some(sent)) = (&stated, sent)
            && stated.traffic_name() != sent.traffic_name()
        {
            return Err(format!(
                "the packets are of another codec (--codec {stated}): the stream is of {sent}; leave --codec out"
            ));
        }
        let gives_values = self.ie.is_some() || self.bpl.is_some();
        let Some(base) = stated.or_else(|| sent.cloned()).or_else(|| {
            // Who gives a codec's values states that there is one.
            gives_values.then(|| Codec::custom(packet_ns))
        }) else {
            return Ok(None);
        };
        let scale = self.scale.unwrap_or(base.scale);
        // Values of one scale say nothing on another.
        let published = |value: Option<f64>| value.filter(|_| scale == base.scale);
        Ok(Some(Codec {
            scale,
            ie: self.ie.or(published(base.ie)),
            bpl: self.bpl.or(published(base.bpl)),
            packet_ns,
            ..base
        }))
    }
}

/// Source of the path delay used for the rating.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum DelayBasis {
    /// One-way delay.
    OneWay,
    /// Half of the round-trip delay (mean of both directions).
    HalfRoundTrip,
}

/// Source of the losses of this direction used for the rating.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LossBasis {
    /// The fate of each packet in this direction is known.
    #[default]
    OneWay,
    /// Of some packets only the loss of the round trip is known. They count as lost in this direction, so
    /// that `loss_ratio` is an upper bound, and `r` and `mos` are lower bounds.
    RoundTrip,
}

/// Source of the delay variation used by the jitter buffer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum VariationBasis {
    /// One-way delays.
    #[default]
    OneWay,
    /// Round-trip delays, as there are no one-way delays. They include the variation of both directions and
    /// of the responder, so that `discard_ratio` is an upper bound, and `r` and `mos` are lower bounds.
    RoundTrip,
}

/// User satisfaction (G.107, table B.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Rating {
    /// R of 90 or more: very satisfied.
    VerySatisfied,
    /// R of 80 or more: satisfied.
    Satisfied,
    /// R of 70 or more: some users dissatisfied.
    SomeDissatisfied,
    /// R of 60 or more: many users dissatisfied.
    ManyDissatisfied,
    /// R of 50 or more: nearly all users dissatisfied.
    NearlyAllDissatisfied,
    /// R below 50: not recommended.
    NotRecommended,
}

/// Class of a call by delay and loss alone, for any codec (targets for conversational voice, ITU-T G.1010,
/// table I.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum DelayAndLoss {
    /// Beyond limits: mouth-to-ear delay above 400 ms, or loss of 3 % or more.
    BeyondLimits,
    /// Within limits: at most 400 ms, and less than 3 %.
    WithinLimits,
    /// Preferred: at most 150 ms, and less than 3 %.
    Preferred,
}

/// Choice of the jitter buffer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum BufferChoice {
    /// The constant length with the best rating.
    #[default]
    Optimal,
    /// Length given by the user.
    Fixed,
}

/// Result of a call with a jitter buffer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Playout {
    /// Length of the jitter buffer, nanoseconds: delay added to the packet with the minimum delay.
    pub jitter_buffer_ns: i64,
    /// Mouth-to-ear delay, nanoseconds: minimum delay of the path, jitter buffer, packet and look-ahead of
    /// the codec; `null` if the path delay is unknown.
    pub mouth_to_ear_ns: Option<f64>,
    /// Share of the sent packets that were lost in the network or discarded.
    pub loss_ratio: f64,
    /// Share of the sent packets that arrived after their playout time and were discarded.
    #[serde(default)]
    pub discard_ratio: f64,
    /// Burst ratio (G.107: BurstR): mean length of loss bursts / mean length with independent losses.
    pub burst_ratio: f64,
    /// Transmission rating factor R of the E-model on the scale of the codec, with perfect echo cancellation;
    /// `null` if Ie, or with losses Bpl, is unknown.
    pub r: Option<f64>,
    /// Mean opinion score, 1 to 4.5.
    pub mos: Option<f64>,
    /// User satisfaction; `null` on other scales than narrowband.
    pub rating: Option<Rating>,
    /// Class by delay and loss alone; `null` if the path delay is unknown and may decide it.
    #[serde(default)]
    pub delay_and_loss: Option<DelayAndLoss>,
}

/// Voice rating of one direction of a call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Voice {
    /// Direction of the speech.
    pub direction: ProbeDirection,
    /// Codec.
    pub codec: Codec,
    /// Choice of the jitter buffer.
    #[serde(default)]
    pub jitter_buffer: BufferChoice,
    /// Source of the path delay; `null` if unknown, in which case `r` and `mos` are upper bounds.
    pub delay_basis: Option<DelayBasis>,
    /// Source of the losses.
    #[serde(default)]
    pub loss_basis: LossBasis,
    /// Source of the delay variation.
    #[serde(default)]
    pub variation_basis: VariationBasis,
    /// Result with the chosen jitter buffer.
    #[serde(flatten)]
    pub playout: Playout,
    /// Results with jitter buffers of 20, 40, 60, 80 and 100 ms, except those shorter than a frame.
    #[serde(default)]
    pub jitter_buffers: Vec<Playout>,
    /// Result with an adaptive jitter buffer (Ramjee et al. 1994), with its mean length over the played packets; `null` if no
    /// packet arrived.
    #[serde(default)]
    pub adaptive: Option<Playout>,
}

/// A direction of a call without a rating, and the reason.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Unrated {
    /// Direction of the speech.
    pub direction: ProbeDirection,
    /// Reason.
    pub reason: UnratedReason,
    /// Packets that are known to be received or lost, or that count as lost.
    pub packets: u64,
    /// Minimum number of packets for a rating.
    pub packets_min: u64,
}

/// Reason why a direction of a call has no rating.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum UnratedReason {
    /// `packets` is less than `packets_min`.
    TooFewPackets,
    /// No packet is known to have arrived, and the direction of the losses is unknown.
    LossesUnknown,
    /// The received packets have neither one-way delays nor round-trip delays.
    DelaysUnknown,
}

/// Reads a jitter buffer: up to a second.
///
/// # Errors
/// In words: it is none, or too long.
pub fn jitter_buffer(text: &str) -> Result<Duration, String> {
    let length: Duration = text.parse().map_err(|error: romer_units::QuantityError| error.to_string())?;
    if (1..=1_000_000_000).contains(&length.as_nanos()) {
        Ok(length)
    } else {
        Err(format!(
            "a jitter buffer of {length} has no use; write more than 0ms and at most 1s, such as 60ms"
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The values are those of G.113: table I.1 and I.3, IV.3 and IV.4, V.1.
    #[test]
    fn codecs_have_published_values() {
        for (name, scale, ie, bpl) in [
            ("g711", Scale::Narrowband, Some(0.0), Some(25.1)),
            ("g711-no-plc", Scale::Narrowband, Some(0.0), Some(4.3)),
            ("g729", Scale::Narrowband, Some(11.0), Some(19.0)),
            ("g723.1", Scale::Narrowband, Some(15.0), Some(16.1)),
            ("gsm-efr", Scale::Narrowband, Some(5.0), Some(10.0)),
            ("amr-wb", Scale::Wideband, Some(20.0), Some(4.3)),
            ("amr-wb:23.05kbit", Scale::Wideband, Some(8.0), Some(4.6)),
            ("amr-wb:6.6kbit", Scale::Wideband, Some(56.0), None),
            ("amr-wb:14.25kbit", Scale::Wideband, None, None),
            ("evs", Scale::Fullband, Some(7.2), Some(11.4)),
            ("evs:13.2kbit", Scale::Fullband, Some(17.1), Some(11.7)),
            ("opus:24kbit", Scale::Fullband, None, None),
            ("melp", Scale::Narrowband, None, None),
        ] {
            let codec: Codec = name.parse().unwrap();
            assert_eq!((codec.scale, codec.ie, codec.bpl), (scale, ie, bpl), "{name}");
            assert_eq!(codec.to_string(), name);
        }
        for text in ["g999", "", "g711:64kbit", "evs:50pps", "evs:"] {
            assert!(text.parse::<Codec>().is_err(), "{text}");
        }
        assert!("g999".parse::<Codec>().unwrap_err().contains("amr-wb[:RATE]"));
    }

    /// A stream is a call where its packets are of a codec, or where the user says of which.
    #[test]
    fn call_needs_codec() {
        let none = VoiceRequest::default();
        assert_eq!(none.codec(None, 20_000_000), Ok(None));
        let g711: Codec = "g711".parse().unwrap();
        let call = none.codec(Some(&g711), 40_000_000).unwrap().unwrap();
        assert_eq!((call.frame_ns, call.packet_ns), (10_000_000, 40_000_000));
        let stated = |name: &str| VoiceRequest { codec_name: Some(name.into()), ..VoiceRequest::default() };
        let call = stated("g711-no-plc").codec(Some(&g711), 20_000_000).unwrap().unwrap();
        assert_eq!(call.bpl, Some(4.3));
        let why = stated("g729").codec(Some(&g711), 20_000_000).unwrap_err();
        assert!(why.contains("--codec g729") && why.contains("is of g711"), "{why}");
        assert_eq!(stated("g729").codec(None, 30_000_000).unwrap().unwrap().packet_ns, 30_000_000);
        let values = VoiceRequest { ie: Some(7.0), ..VoiceRequest::default() };
        assert_eq!(values.codec(None, 30_000_000).unwrap().unwrap().name, "custom");
    }

    /// Values of the user replace published ones; published ones hold on their own scale only.
    #[test]
    fn stated_values_replace_published() {
        let melp: Codec = "melp".parse().unwrap();
        let values = VoiceRequest { ie: Some(45.0), bpl: Some(12.0), ..VoiceRequest::default() };
        let call = values.codec(Some(&melp), 45_000_000).unwrap().unwrap();
        assert_eq!((call.ie, call.bpl, call.name.as_str()), (Some(45.0), Some(12.0), "melp"));
        let evs: Codec = "evs".parse().unwrap();
        let wide = VoiceRequest { scale: Some(Scale::Wideband), ie: Some(3.0), ..VoiceRequest::default() };
        let call = wide.codec(Some(&evs), 20_000_000).unwrap().unwrap();
        assert_eq!((call.scale, call.ie, call.bpl), (Scale::Wideband, Some(3.0), None));
    }

    /// A manifest that was written before codecs came from the traffic is read.
    #[test]
    fn old_request_is_read() {
        let old = r#"{"codec":{"name":"g711","ie":0.0,"bpl":25.1,"frame_ns":1,"lookahead_ns":0},"late_ratio":0.01}"#;
        assert_eq!(serde_json::from_str::<VoiceRequest>(old).unwrap(), VoiceRequest::default());
    }

    /// A jitter buffer is longer than nothing and at most a second.
    #[test]
    fn jitter_buffer_is_bounded() {
        assert_eq!(jitter_buffer("60ms"), Ok(Duration::from_millis(60)));
        for text in ["0ms", "-1ms", "1.1s", "60", ""] {
            assert!(jitter_buffer(text).is_err(), "{text}");
        }
    }
}
