//! The models by name.

use core::fmt::{self, Write as _};
use core::str::FromStr;

use crate::bucket::TokenBucket;
use crate::codec::Codec;
use crate::imix::Imix;
use crate::on_off::{DurationLaw, Talkspurt};
use crate::parse_error::ParseError;

/// How departures follow one another, and how large the packets are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum TrafficModel {
    /// At exact multiples of the interval (RFC 3432).
    #[default]
    Periodic,
    /// With independent, exponentially distributed gaps (RFC 2330 section 11.1).
    Poisson,
    /// As a speech coder without silence detection: its packets, at its interval.
    Codec(Codec),
    /// Like instant messaging: few packets, at times that nobody foresees, mostly small ones. Gaps are independent
    /// and exponentially distributed, with a mean of 5 s unless an interval is asked for. 70 % of the packets are
    /// notices (typing, presence, acknowledgements) of 20 to 60 octets, 25 % short messages of 60 to 200, 5 % long
    /// ones of 200 to 1,000, each range evenly. A preset of this program: that notices outnumber messages is
    /// known of such systems (Xiao, Guo and Tracey, "Understanding Instant Messaging Traffic Characteristics",
    /// ICDCS 2007), the numbers are a choice.
    Messages,
    /// Talk-spurts of a model that has a name, over the packets of `codec`, or of an interval where that is `None`
    /// ([`crate::SPEECH_INTERVAL`] unless one is asked for).
    Talkspurt {
        /// Which model.
        of: Talkspurt,
        /// Whose packets.
        codec: Option<Codec>,
    },
    /// On and off in turn, over the packets of `codec`, or of an interval where that is `None`.
    OnOff {
        /// How long packets leave.
        on: DurationLaw,
        /// How long none do.
        off: DurationLaw,
        /// Whose packets.
        codec: Option<Codec>,
    },
    /// At exact multiples of the interval, in a mixture of sizes.
    Imix(Imix),
    /// As recorded in a file, which the caller reads into [`crate::Request::trace`].
    Trace {
        /// The file's name, as written.
        file: String,
    },
    /// As fast as a token bucket lets them.
    TokenBucket(TokenBucket),
}

/// What leads a model with an argument, and how it is completed.
const FORMS: [&str; 13] = [
    "periodic",
    "poisson",
    "melp",
    "g711",
    "g729",
    "opus[:RATE]",
    "amr-wb[:RATE]",
    "evs[:RATE]",
    "im",
    "talkspurt:p59|brady|hyper[@CODEC]",
    "onoff:ON,OFF[@CODEC]",
    "imix:chadda2004|simple|GENOME",
    "trace:FILE",
];
const BUCKET_FORM: &str = "token-bucket:RATE,DEPTH";

impl TrafficModel {
    /// MELP, the voice coder of Hershberger 2005.
    pub const MELP: Self = Self::Codec(Codec::Melp);

    /// The forms that are understood, in the order in which help shows them.
    pub const FORMS: [&str; 14] = {
        let mut forms = [BUCKET_FORM; 14];
        let mut place = 0;
        while place < FORMS.len() {
            forms[place] = FORMS[place];
            place += 1;
        }
        forms
    };

    /// The first word of the model's text.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Periodic => "periodic",
            Self::Poisson => "poisson",
            Self::Codec(codec) => codec.name(),
            Self::Messages => "im",
            Self::Talkspurt { .. } => "talkspurt",
            Self::OnOff { .. } => "onoff",
            Self::Imix(_) => "imix",
            Self::Trace { .. } => "trace",
            Self::TokenBucket(_) => "token-bucket",
        }
    }

    /// Whether the schedule depends on the seed.
    pub const fn is_random(&self) -> bool {
        match self {
            Self::Poisson | Self::Messages | Self::Talkspurt { .. } => true,
            Self::OnOff { on, off, .. } => on.is_random() || off.is_random(),
            Self::Imix(imix) => imix.is_random(),
            Self::Periodic | Self::Codec(_) | Self::Trace { .. } | Self::TokenBucket(_) => false,
        }
    }

    /// The file that this model wants: the caller reads it, gives it to [`crate::Trace::parse`], and puts that into
    /// [`crate::Request::trace`].
    pub fn trace_file(&self) -> Option<&str> {
        match self {
            Self::Trace { file } => Some(file),
            _ => None,
        }
    }

    /// The codec whose packets are sent, or gated.
    pub const fn codec(&self) -> Option<Codec> {
        match self {
            Self::Codec(codec) => Some(*codec),
            Self::Talkspurt { codec, .. } | Self::OnOff { codec, .. } => *codec,
            _ => None,
        }
    }

    /// How long talk and silence last, in a model that has both.
    pub fn laws(&self) -> Option<(DurationLaw, DurationLaw)> {
        match self {
            Self::Talkspurt { of, .. } => Some(of.laws()),
            Self::OnOff { on, off, .. } => Some((on.clone(), off.clone())),
            _ => None,
        }
    }
}

impl FromStr for TrafficModel {
    type Err = ParseError;

    /// Reads one of [`TrafficModel::FORMS`]; names in small or capital letters.
    fn from_str(text: &str) -> Result<Self, ParseError> {
        let shown = || romer_units::excerpt(text, 64);
        let (name, argument) = text.split_once(':').map_or((text, None), |(name, rest)| (name, Some(rest)));
        let malformed = |why| ParseError::Malformed { text: shown(), why };
        if let Some(codec) = Codec::read(text) {
            return codec.map(Self::Codec).map_err(malformed);
        }
        match (name.to_ascii_lowercase().as_str(), argument) {
            ("periodic", None) => Ok(Self::Periodic),
            ("poisson", None) => Ok(Self::Poisson),
            ("im", None) => Ok(Self::Messages),
            (name @ ("periodic" | "poisson" | "im"), Some(_)) => {
                Err(malformed(format!("{name} takes nothing after it; write {name} alone")))
            }
            ("talkspurt", Some(argument)) => talkspurt(argument).map_err(malformed),
            ("onoff", Some(argument)) => onoff(argument).map_err(malformed),
            ("imix", Some(argument)) => argument.parse().map(Self::Imix),
            ("trace", Some(file)) if !file.is_empty() => Ok(Self::Trace { file: file.into() }),
            ("token-bucket", Some(argument)) => {
                TokenBucket::read(argument).map(Self::TokenBucket).map_err(malformed)
            }
            (name @ ("talkspurt" | "onoff" | "imix" | "trace" | "token-bucket"), _) => {
                let form = Self::FORMS.into_iter().find(|form| form.starts_with(name)).unwrap_or(name);
                Err(malformed(format!("{name} wants something after it; write {form}")))
            }
            _ => Err(ParseError::UnknownModel { name: shown(), forms: &Self::FORMS }),
        }
    }
}

/// Splits `LAW@CODEC`.
fn carrier(text: &str) -> Result<(&str, Option<Codec>), String> {
    let Some((law, codec)) = text.split_once('@') else { return Ok((text, None)) };
    match Codec::read(codec) {
        Some(codec) => Ok((law, Some(codec?))),
        None => {
            let shown = romer_units::excerpt(codec, 40);
            Err(format!("no codec is named {shown:?}; use melp, g711, g729, opus, amr-wb or evs"))
        }
    }
}

fn talkspurt(text: &str) -> Result<TrafficModel, String> {
    let (name, codec) = carrier(text)?;
    Ok(TrafficModel::Talkspurt { of: Talkspurt::read(name)?, codec })
}

fn onoff(text: &str) -> Result<TrafficModel, String> {
    let (laws, codec) = carrier(text)?;
    let (on, off) = laws
        .split_once(',')
        .ok_or("on and off have a length each; write onoff:1s,1.5s, or onoff:=1s,=1.5s for constant ones")?;
    Ok(TrafficModel::OnOff { on: DurationLaw::read(on)?, off: DurationLaw::read(off)?, codec })
}

impl fmt::Display for TrafficModel {
    /// As it is read.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let carried = |f: &mut fmt::Formatter<'_>, codec: &Option<Codec>| match codec {
            Some(codec) => write!(f, "@{codec}"),
            None => Ok(()),
        };
        match self {
            Self::Periodic | Self::Poisson | Self::Messages => f.pad(self.name()),
            Self::Codec(codec) => codec.fmt(f),
            Self::Talkspurt { of, codec } => {
                write!(f, "talkspurt:{}", of.name())?;
                carried(f, codec)
            }
            Self::OnOff { on, off, codec } => {
                write!(f, "onoff:{on},{off}")?;
                carried(f, codec)
            }
            Self::Imix(imix) => write!(f, "imix:{imix}"),
            // A file's name may hold control characters, which a terminal would obey.
            Self::Trace { file } => {
                f.write_str("trace:")?;
                file.chars().try_for_each(|c| match c.is_control() {
                    true => write!(f, "{}", c.escape_default()),
                    false => f.write_char(c),
                })
            }
            Self::TokenBucket(bucket) => write!(f, "token-bucket:{bucket}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn every_model_is_read_and_printed_back() {
        for text in [
            "periodic",
            "poisson",
            "melp",
            "g711",
            "g729",
            "opus",
            "opus:24kbit",
            "amr-wb",
            "evs:13.2kbit",
            "im",
            "talkspurt:p59",
            "talkspurt:brady@melp",
            "talkspurt:hyper@opus:24kbit",
            "onoff:1s,1.5s",
            "onoff:=100ms,0.5*1s+0.5*3s@g711",
            "imix:simple",
            "imix:chadda2004",
            "imix:20(abcd)A,A=70B",
            "trace:/tmp/a b:c,d.csv",
            "token-bucket:16kBps,64B",
        ] {
            let model: TrafficModel = text.parse().unwrap();
            assert_eq!(model.to_string().parse(), Ok(model.clone()), "{text}");
            assert!(text.starts_with(model.name()), "{text}");
            assert!(TrafficModel::FORMS.iter().any(|form| form.starts_with(model.name())), "{text}");
        }
        for text in [
            "PERIODIC",
            "Poisson",
            "Melp",
            "TALKSPURT:P59",
            "Imix:Simple",
            "OnOff:1s,2s",
            "Token-Bucket:1kbit,64B",
        ] {
            assert!(text.parse::<TrafficModel>().is_ok(), "{text}");
        }
    }

    #[test]
    fn an_unknown_name_is_answered_with_those_that_exist() {
        for name in ["g722", "", "periodic ", "melp,3", &"x".repeat(10_000)] {
            let error = name.parse::<TrafficModel>().unwrap_err().to_string();
            assert!(error.contains("periodic, poisson, melp") && error.len() < 400, "{error}");
        }
    }

    #[test]
    fn what_is_wrong_after_a_name_is_said_in_one_line() {
        for (wrong, part) in [
            ("periodic:20ms", "write periodic alone"),
            ("melp:3", "melp has one rate"),
            ("opus:1kbit", "opus:32kbit"),
            ("talkspurt", "write talkspurt:p59|brady|hyper"),
            ("talkspurt:p58", "use p59, brady or hyper"),
            ("talkspurt:p59@gsm", "no codec is named \"gsm\""),
            ("onoff:1s", "write onoff:1s,1.5s"),
            ("onoff:1,2", "no unit"),
            ("onoff:1s,0s", "at least 1ms"),
            ("imix:", "no frames"),
            ("imix", "write imix:chadda2004|simple|GENOME"),
            ("trace:", "write trace:FILE"),
            ("token-bucket:16kBps", "write token-bucket:16kBps,64B"),
            ("token-bucket:250pps,64B", "not packets"),
        ] {
            let error = wrong.parse::<TrafficModel>().unwrap_err().to_string();
            assert!(error.contains(part) && error.contains("; ") && error.len() < 300, "{wrong}: {error}");
        }
    }

    #[test]
    fn a_trace_tells_which_file_it_wants() {
        let trace: TrafficModel = "trace:calls/one.csv".parse().unwrap();
        assert_eq!(trace.trace_file(), Some("calls/one.csv"));
        assert_eq!(TrafficModel::Poisson.trace_file(), None);
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "\\PC{0,60}") {
            let _ = text.parse::<TrafficModel>();
        }

        #[test]
        fn no_near_text_panics_and_what_is_read_is_printed_back(
            name in "(talkspurt|onoff|imix|trace|token-bucket|opus|melp|im)", rest in "[:,@=*+.()0-9a-zA-Z-]{0,40}",
        ) {
            let text = format!("{name}:{rest}");
            match text.parse::<TrafficModel>() {
                Ok(model) => prop_assert_eq!(model.to_string().parse(), Ok(model)),
                Err(error) => prop_assert!(error.to_string().len() < 400),
            }
        }
    }
}
