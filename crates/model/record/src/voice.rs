//! What a telephone call over a measured path would be worth (ITU-T G.107), and what must be known of its codec.

use std::fmt;
use std::str::FromStr;

use romer_units::Duration;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::document::Way;

/// What the E-model must know of a codec.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Codec {
    /// Its name, or `custom`.
    pub name: String,
    /// Equipment impairment without loss, 0 to 95 (G.113).
    pub ie: f64,
    /// Robustness to loss, above 0 (G.113).
    pub bpl: f64,
    /// Speech in a packet, nanoseconds.
    pub frame_ns: i64,
    /// Speech that the coder has to hear besides, nanoseconds.
    pub lookahead_ns: i64,
}

/// Name, Ie and Bpl (G.113 appendix I; those of G.711 with the concealment of its appendix I), packet and look-ahead in
/// milliseconds (of the codecs' own recommendations).
const PRESETS: [(&str, f64, f64, f64, f64); 5] = [
    ("g711", 0.0, 25.1, 20.0, 0.0),
    ("g711-no-plc", 0.0, 4.3, 20.0, 0.0),
    ("g729a-vad", 11.0, 19.0, 20.0, 5.0),
    ("g723.1-vad", 15.0, 16.1, 30.0, 7.5),
    ("gsm-efr", 5.0, 10.0, 20.0, 0.0),
];

impl Codec {
    /// The names of the presets.
    pub fn presets() -> impl Iterator<Item = &'static str> {
        PRESETS.iter().map(|preset| preset.0)
    }
}

impl Default for Codec {
    /// G.711 with concealment.
    fn default() -> Self {
        preset(&PRESETS[0])
    }
}

fn preset((name, ie, bpl, frame, lookahead): &(&str, f64, f64, f64, f64)) -> Codec {
    Codec {
        name: (*name).into(),
        ie: *ie,
        bpl: *bpl,
        frame_ns: millis(*frame),
        lookahead_ns: millis(*lookahead),
    }
}

#[expect(clippy::cast_possible_truncation, reason = "some milliseconds")]
fn millis(value: f64) -> i64 {
    (value * 1e6).round() as i64
}

impl FromStr for Codec {
    type Err = String;

    /// A preset's name, or `ie=IE,bpl=BPL` with `frame=D` and `lookahead=D` where they are not 20ms and 0ms.
    fn from_str(text: &str) -> Result<Self, String> {
        let shown: String = text.chars().take(64).collect();
        if let Some(found) = PRESETS.iter().find(|preset| preset.0 == text) {
            return Ok(preset(found));
        }
        let names = || Self::presets().collect::<Vec<_>>().join(", ");
        let (mut ie, mut bpl) = (None, None);
        let mut codec = Self { name: "custom".into(), lookahead_ns: 0, ..Self::default() };
        for part in text.split(',') {
            let (name, value) = part.split_once('=').ok_or_else(|| {
                format!(
                    "{shown:?} is no codec; choose one of {}, or write for instance ie=11,bpl=19",
                    names()
                )
            })?;
            match name.trim() {
                "ie" => ie = Some(number(value, 0.0, 95.0)?),
                "bpl" => bpl = Some(number(value, 0.1, 1_000.0)?),
                "frame" => codec.frame_ns = speech(value)?,
                "lookahead" => codec.lookahead_ns = speech(value)?,
                _ => {
                    return Err(format!(
                        "{shown:?} has a part that no codec has; write ie, bpl, frame and lookahead"
                    ));
                }
            }
        }
        let (Some(ie), Some(bpl)) = (ie, bpl) else {
            return Err(format!("{shown:?} lacks a part; a codec has both ie= and bpl= (G.113)"));
        };
        Ok(Self { ie, bpl, ..codec })
    }
}

fn number(text: &str, least: f64, most: f64) -> Result<f64, String> {
    let shown: String = text.chars().take(64).collect();
    match text.trim().parse() {
        Ok(value) if (least..=most).contains(&value) => Ok(value),
        _ => Err(format!("{shown:?} is no value of a codec here; write a number from {least} to {most}")),
    }
}

fn speech(text: &str) -> Result<i64, String> {
    let length: Duration =
        text.trim().parse().map_err(|error: romer_units::QuantityError| error.to_string())?;
    if (0..=1_000_000_000).contains(&length.as_nanos()) {
        Ok(length.as_nanos())
    } else {
        Err(format!("{length} is no length of speech in a packet; write 0ms to 1s"))
    }
}

impl fmt::Display for Codec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.name)
    }
}

/// For which call a verdict is wanted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct VoiceRequest {
    /// The codec.
    pub codec: Codec,
    /// The share of packets that may come too late to be played.
    pub late_ratio: f64,
}

impl Default for VoiceRequest {
    /// G.711 with concealment; one packet of a hundred may be late.
    fn default() -> Self {
        Self { codec: Codec::default(), late_ratio: 0.01 }
    }
}

/// Whence the delay of the path is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum DelayBasis {
    /// The one-way delay is known.
    OneWay,
    /// Half of the round trip, which is the mean of both ways.
    HalfRoundTrip,
}

/// Whence it is known which packets were lost on this way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LossBasis {
    /// Of each packet.
    #[default]
    OneWay,
    /// Some packets are only known not to have come back: they count as lost on this way, so that `loss_ratio` is the
    /// most that it can be, and `r` and `mos` the least.
    RoundTrip,
}

/// What users think of such calls (G.107, table B.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Rating {
    /// R from 90.
    VerySatisfied,
    /// R from 80.
    Satisfied,
    /// R from 70.
    SomeDissatisfied,
    /// R from 60.
    ManyDissatisfied,
    /// R from 50.
    NearlyAllDissatisfied,
    /// Below.
    NotRecommended,
}

/// The verdict on a call's one direction.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Voice {
    /// Which way the speech goes.
    pub direction: Way,
    /// The codec.
    pub codec: Codec,
    /// The share of the packets that may come too late to be played, as stated.
    pub late_ratio: f64,
    /// How long the receiver must hold the quickest packet back, so that no more come too late.
    pub jitter_buffer_ns: i64,
    /// Whence the delay of the path is known; `null` where it is not, and then `r` and `mos` are upper bounds.
    pub delay_basis: Option<DelayBasis>,
    /// From mouth to ear: the quickest packet's delay, the jitter buffer, and the codec's packet and look-ahead.
    pub mouth_to_ear_ns: Option<f64>,
    /// Lost or too late to be played, of those sent.
    pub loss_ratio: f64,
    /// Whence the losses are known.
    #[serde(default)]
    pub loss_basis: LossBasis,
    /// The mean length of a run of losses, over that of independent ones (G.107: BurstR).
    pub burst_ratio: f64,
    /// The transmission rating factor R of the E-model, echo being cancelled.
    pub r: f64,
    /// The mean opinion score that goes with it, 1 to 4.5.
    pub mos: f64,
    /// In a word.
    pub rating: Rating,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_codec_is_a_preset_or_has_its_own_values() {
        assert_eq!("g711".parse(), Ok(Codec::default()));
        for name in Codec::presets() {
            assert_eq!(name.parse::<Codec>().map(|codec| codec.to_string()).as_deref(), Ok(name));
        }
        let codec: Codec = "ie=7,bpl=17.5,frame=10ms".parse().unwrap();
        assert_eq!((codec.ie, codec.bpl, codec.frame_ns, codec.lookahead_ns), (7.0, 17.5, 10_000_000, 0));
        for (text, part) in [
            ("g999", "g729a-vad"),
            ("ie=7", "bpl="),
            ("ie=96,bpl=1", "0 to 95"),
            ("ie=1,bpl=0", "0.1 to"),
            ("ie=nan,bpl=3", "0 to 95"),
            ("ie=1,bpl=3,frame=20", "unit"),
            ("ie=1,bpl=3,frame=2s", "1s"),
            ("ie=1,bpl=3,x=2", "no codec has"),
            ("", "choose"),
        ] {
            let why = text.parse::<Codec>().unwrap_err();
            assert!(why.contains(part), "{text}: {why}");
        }
    }
}
