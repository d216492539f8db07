//! Stated limits (`--limit 'forward.delay_ns.p99<30ms'`) and whether they held.

use std::fmt;
use std::str::FromStr;

use romer_record::document::{self, Measurement, ProbeDirection};
use romer_record::limit::{self, Relation, Written};
use romer_record::metric::{self, MetricPath, direction_name};
use romer_record::voice::Codec;
use serde_json::Value;

/// The directions of the document.
const DIRECTIONS: [&str; 3] = ["forward", "reverse", "round_trip"];
/// The ratings of calls in the document.
const VOICE: &str = "voice";

/// A limit on one number of a measurement: of one direction, or of each that is measured.
#[derive(Clone, Debug, PartialEq)]
pub struct Limit {
    text: String,
    path: MetricPath,
    relation: Relation,
    bound: f64,
}

impl FromStr for Limit {
    type Err = String;

    /// Reads `PATH RELATION BOUND`: a [`MetricPath`] or an alias (`forward.delay_ns.p99`, `loss`), one of `<`, `<=`, `>`, `>=`, and a
    /// bound with the unit of that number (`30ms` of a time, `1%` of a ratio, a plain number of a count).
    fn from_str(text: &str) -> Result<Self, String> {
        let Written { shown, path, relation, bound } =
            limit::written(text, "a metric of the measurement", "forward.delay_ns.p99<30ms")?;
        let path: MetricPath = path.parse().map_err(|why| format!("{shown:?}: {why}"))?;
        let bound = limit::bound(path.unit(), bound).map_err(|why| format!("{shown:?}: {why}"))?;
        Ok(Self { text: text.into(), path, relation, bound })
    }
}

impl fmt::Display for Limit {
    /// As it was written.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.text)
    }
}

impl Limit {
    /// That a measurement whose packets go `way`, and are a call by `codec`, can have its number.
    ///
    /// # Errors
    /// In words, where the number is of a direction in which none go, or of a call that is not rated.
    pub fn fits(&self, way: ProbeDirection, codec: Option<&Codec>) -> Result<(), String> {
        if self.path.is_voice() {
            self.fits_call(codec)?;
        }
        let ways = match way {
            ProbeDirection::RoundTrip => return Ok(()),
            other => self.path.directions(other),
        };
        if self.path.direction.is_none_or(|direction| ways.contains(&direction)) {
            return Ok(());
        }
        let instead: Vec<String> =
            ways.iter().map(|way| MetricPath { direction: Some(*way), ..self.path }.to_string()).collect();
        Err(format!("{:?}: no packets go in this direction; write {}", self.text, instead.join(" or ")))
    }

    fn fits_call(&self, codec: Option<&Codec>) -> Result<(), String> {
        let Some(codec) = codec else {
            return Err(format!(
                "{:?}: the stream is no telephone call; send one, such as --traffic g711, or name its codec with --codec",
                self.text
            ));
        };
        let of_rating = self.path.call_field().is_some_and(|field| ["r", "mos"].contains(&field));
        if of_rating && !codec.is_rated() {
            return Err(format!(
                "{:?}: no Ie of {codec} is published; give values with --voice-ie and --voice-bpl",
                self.text
            ));
        }
        Ok(())
    }

    /// Why a measurement has no value for it, and what gives it one, where that is known.
    pub fn why_unknown(&self, measurement: &Measurement) -> Option<String> {
        self.reason(!measurement.voice.is_empty() || !measurement.voice_unrated.is_empty())
    }

    fn reason(&self, has_codec: bool) -> Option<String> {
        (self.path.is_voice() && !has_codec).then(|| {
            "the traffic is not that of a call, and no codec is given; name one with --codec, such as --codec g711".into()
        })
    }

    /// The verdicts of `limits` on `measurement`. A value that is not known does not hold.
    pub fn judge_all(limits: &[Self], measurement: &Measurement) -> Vec<document::Limit> {
        if limits.is_empty() {
            return Vec::new();
        }
        let document = metric::numbers(measurement);
        let way = measurement.traffic.direction;
        limits.iter().map(|limit| limit.evaluate(&document, limit.path.directions(way))).collect()
    }

    /// The verdicts of `limits` on the differences of the numbers of `b` from those of `a`. A difference that is not
    /// known does not hold; so it is with delays of which one is whole and the other above its least value.
    pub fn judge_differences(limits: &[Self], a: &Measurement, b: &Measurement) -> Vec<document::Limit> {
        let ways = [a.traffic.direction, b.traffic.direction];
        let [a, b] = [a, b].map(metric::numbers);
        let mut differences = difference(&a, &b);
        for way in DIRECTIONS {
            let kind = |document: &Value| document.pointer(&format!("/{way}/delay_kind")).cloned();
            if kind(&a) != kind(&b)
                && let Some(delay) = differences.pointer_mut(&format!("/{way}/delay_ns"))
            {
                *delay = Value::Null;
            }
            // Ratings of different scales, or of which one is a bound, have no difference.
            let basis = |document: &Value| {
                ["codec/scale", "delay_basis", "loss_basis", "variation_basis"]
                    .map(|name| document.pointer(&format!("/{VOICE}/{way}/{name}")).cloned())
            };
            if basis(&a) != basis(&b)
                && let Some(rating) = differences.pointer_mut(&format!("/{VOICE}/{way}"))
            {
                *rating = Value::Null;
            }
        }
        let judge = |limit: &Self| {
            let [of_a, of_b] = ways.map(|way| limit.path.directions(way));
            let common: Vec<ProbeDirection> = of_a.iter().copied().filter(|way| of_b.contains(way)).collect();
            limit.evaluate(&differences, &common)
        };
        limits.iter().map(judge).collect()
    }

    /// The verdict on its own direction, or on each of `ways`: of several, the value that is worst for it. Where one is not
    /// known and no other breaks it, it does not hold, and has no value.
    fn evaluate(&self, document: &Value, ways: &[ProbeDirection]) -> document::Limit {
        let own = self.path.direction;
        let ways = own.as_ref().map_or(ways, std::slice::from_ref);
        // The far end of a call may not be rated: those that are count.
        let rated = |way: &&ProbeDirection| {
            own.is_some()
                || !self.path.is_voice()
                || document.pointer(&format!("/{VOICE}/{}", direction_name(**way))).is_some()
        };
        let values: Vec<Option<f64>> =
            ways.iter().filter(rated).map(|way| self.value(document, *way)).collect();
        let known = values.iter().flatten().copied();
        let worst = match self.relation {
            Relation::Below | Relation::AtMost => known.reduce(f64::max),
            Relation::Above | Relation::AtLeast => known.reduce(f64::min),
        };
        let all = !values.is_empty() && values.iter().all(Option::is_some);
        let within = worst.is_some_and(|value| self.relation.holds(value, self.bound));
        let value = worst.filter(|_| all || !within);
        document::Limit { limit: self.text.clone(), value, passed: all && within }
    }

    fn value(&self, document: &Value, way: ProbeDirection) -> Option<f64> {
        MetricPath { direction: Some(way), ..self.path }.number(document)
    }
}

/// Number by number, what `b` has more than `a`; nothing where either has none.
fn difference(a: &Value, b: &Value) -> Value {
    match (a, b) {
        (Value::Object(a), Value::Object(b)) => {
            let both = a.iter().filter_map(|(name, a)| Some((name.clone(), difference(a, b.get(name)?))));
            Value::Object(both.collect())
        }
        (Value::Number(a), Value::Number(b)) => {
            a.as_f64().zip(b.as_f64()).map_or(Value::Null, |(a, b)| Value::from(b - a))
        }
        _ => Value::Null,
    }
}

#[cfg(test)]
mod tests {
    use romer_record::voice::{BufferChoice, LossBasis, Playout, Scale, VariationBasis, Voice};

    use super::*;
    use proptest::prelude::*;

    #[test]
    fn limits_are_read_with_the_unit_of_their_number() {
        for (text, bound) in [
            ("forward.delay_ns.p99<30ms", 30e6),
            ("round_trip.loss.ratio<=1%", 0.01),
            ("reverse.packets.lost < 5", 5.0),
            ("forward.delay_ns.count>=100", 100.0),
            ("forward.departure_error_ns.p99<5us", 5e3),
            ("forward.jitter_ns.rfc3550<1ms", 1e6),
            ("voice.forward.mos>=4", 4.0),
            ("voice.reverse.discard_ratio<1%", 0.01),
            ("voice.forward.mouth_to_ear_ns<150ms", 150e6),
            ("loss<1%", 0.01),
            ("rtt.p99<30ms", 30e6),
            ("jitter<1ms", 1e6),
            ("mos>=4", 4.0),
        ] {
            let limit: Limit = text.parse().unwrap_or_else(|why| panic!("{text}: {why}"));
            assert!((limit.bound - bound).abs() < 1e-12 * bound, "{text}: {}", limit.bound);
        }
    }

    #[test]
    fn a_limit_on_a_way_that_no_packets_go_is_refused() {
        let fits = |text: &str, way| text.parse::<Limit>().unwrap().fits(way, None);
        for way in [ProbeDirection::RoundTrip, ProbeDirection::Forward, ProbeDirection::Both] {
            assert_eq!(fits("forward.packets.lost<5", way), Ok(()), "{way:?}");
        }
        let why = fits("round_trip.delay_ns.p99<30ms", ProbeDirection::Both).unwrap_err();
        assert!(
            why.contains("in this direction; write forward.delay_ns.p99 or reverse.delay_ns.p99"),
            "{why}"
        );
        assert!(fits("forward.packets.lost<5", ProbeDirection::Reverse).is_err());
        assert!(fits("reverse.packets.lost<5", ProbeDirection::Forward).is_err());
    }

    /// Without a codec no call is rated: the option that names one is given.
    #[test]
    fn limit_on_rating_without_codec_names_option() {
        let why = |limit: &str, has_codec| limit.parse::<Limit>().unwrap().reason(has_codec);
        assert!(why("mos>=4", false).unwrap().contains("--codec"));
        assert_eq!(why("mos>=4", true), None);
        assert_eq!(why("forward.delay_ns.p99<30ms", false), None);
    }

    /// A limit on a rating needs a call that is rated, in a direction that packets go.
    #[test]
    fn voice_limits_need_rated_call() {
        let fits = |text: &str, way, codec: Option<&str>| {
            let codec = codec.map(|name| name.parse::<Codec>().unwrap());
            text.parse::<Limit>().unwrap().fits(way, codec.as_ref())
        };
        assert_eq!(fits("voice.forward.mos>=4", ProbeDirection::RoundTrip, Some("g711")), Ok(()));
        assert_eq!(fits("voice.reverse.r>70", ProbeDirection::Both, Some("g729")), Ok(()));
        let why = fits("voice.reverse.mos>=4", ProbeDirection::Forward, Some("g711")).unwrap_err();
        assert!(why.contains("write voice.forward.mos"), "{why}");
        let why = fits("voice.forward.mos>=4", ProbeDirection::RoundTrip, None).unwrap_err();
        assert!(why.contains("--traffic g711"), "{why}");
        let why = fits("voice.forward.mos>=4", ProbeDirection::RoundTrip, Some("melp")).unwrap_err();
        assert!(why.contains("--voice-ie"), "{why}");
        assert_eq!(fits("voice.forward.loss_ratio<1%", ProbeDirection::RoundTrip, Some("melp")), Ok(()));
    }

    /// A limit without a direction is on each that packets go, and the worst value decides.
    #[test]
    fn limit_without_direction_covers_all() {
        let mut m = crate::evaluate::evaluate(&romer_testing::stream(), &[], false).measurement;
        m.traffic.direction = ProbeDirection::Both;
        (m.forward.loss.ratio, m.reverse.loss.ratio) = (Some(0.01), Some(0.03));
        let judge =
            |text: &str, m: &Measurement| Limit::judge_all(&[text.parse().unwrap()], m).swap_remove(0);
        assert_eq!((judge("loss<=3%", &m).passed, judge("loss<3%", &m).value), (true, Some(0.03)));
        assert_eq!(judge("forward.loss<2%", &m).value, Some(0.01));
        m.forward.loss.ratio = None;
        assert_eq!((judge("loss<=3%", &m).passed, judge("loss<=3%", &m).value), (false, None));
        assert_eq!(judge("loss<=2%", &m).value, Some(0.03), "one that breaks it decides");
        m.traffic.direction = ProbeDirection::RoundTrip;
        m.round_trip.loss.ratio = Some(0.5);
        assert_eq!(judge("loss<=3%", &m).value, Some(0.5));
        assert!(!judge("mos>=1", &m).passed, "no call is rated");
    }

    /// The longest loss period is judged also where it is of one packet or none.
    #[test]
    fn longest_loss_period_is_judged() {
        let mut m = crate::evaluate::evaluate(&romer_testing::stream(), &[], false).measurement;
        let longest = |m: &Measurement| {
            Limit::judge_all(&["forward.loss.longest<2".parse().unwrap()], m).swap_remove(0).value
        };
        m.forward.loss = document::Loss::default();
        m.forward.packets.lost = Some(0);
        assert_eq!(longest(&m), Some(0.0));
        (m.forward.packets.lost, m.forward.loss.periods) = (Some(2), vec![1, 1]);
        assert_eq!(longest(&m), Some(1.0));
        m.forward.loss.periods.clear();
        assert_eq!(longest(&m), None, "it is not known which were lost");
        m.forward.loss.longest =
            Some(document::LossPeriod { packets: 7, sequence: 1, at_ns: None, duration_ns: None });
        assert_eq!(longest(&m), Some(7.0));
    }

    /// The rating of the direction that is named is judged, and the difference of two on one scale.
    #[test]
    fn voice_limits_are_judged() {
        let with = |scale: Scale, mos: f64| {
            let codec = Codec { scale, ..Codec::custom(20_000_000) };
            let mut m = crate::evaluate::evaluate(&romer_testing::stream(), &[], false).measurement;
            m.voice = [(ProbeDirection::Forward, mos), (ProbeDirection::Reverse, mos - 1.0)]
                .map(|(direction, mos)| rating(direction, codec.clone(), mos))
                .into();
            m
        };
        let limits = ["voice.forward.mos>=4", "voice.reverse.mos>=4"].map(|text| text.parse().unwrap());
        let judged = Limit::judge_all(&limits, &with(Scale::Narrowband, 4.2));
        assert_eq!(judged.iter().map(|one| one.passed).collect::<Vec<_>>(), [true, false]);
        let [fewer] = ["voice.forward.mos>=-0.1"].map(|text| text.parse().unwrap());
        let differs = |b: &Measurement| {
            Limit::judge_differences(std::slice::from_ref(&fewer), &with(Scale::Narrowband, 4.2), b)
                .swap_remove(0)
        };
        assert!(differs(&with(Scale::Narrowband, 4.15)).passed);
        assert!(!differs(&with(Scale::Narrowband, 4.0)).passed);
        assert_eq!(differs(&with(Scale::Wideband, 4.2)).value, None, "scales differ");
    }

    fn rating(direction: ProbeDirection, codec: Codec, mos: f64) -> Voice {
        Voice {
            direction,
            codec,
            jitter_buffer: BufferChoice::Optimal,
            delay_basis: None,
            loss_basis: LossBasis::OneWay,
            variation_basis: VariationBasis::OneWay,
            playout: Playout {
                jitter_buffer_ns: 20_000_000,
                mouth_to_ear_ns: None,
                loss_ratio: 0.0,
                discard_ratio: 0.0,
                burst_ratio: 1.0,
                r: None,
                mos: Some(mos),
                rating: None,
                delay_and_loss: None,
            },
            jitter_buffers: Vec::new(),
            adaptive: None,
        }
    }

    #[test]
    fn what_is_no_limit_is_refused_with_what_there_is() {
        for (text, part) in [
            ("forward.delay_ns.p99", "has no comparison"),
            ("forward.delay_ns.p98<30ms", "p99"),
            ("latency<30ms", "use one of delay"),
            ("forward.delay_ns<30ms", "continue with one of"),
            ("forward.delay_ns.p99<30", "unit"),
            ("forward.loss.ratio<5", "write 5% or 0.05"),
            ("reverse.packets.lost<many", "not a number"),
            ("voice.mos>=four", "not a number"),
            ("<", "the path is empty"),
            ("", "has no comparison"),
        ] {
            let why = text.parse::<Limit>().unwrap_err();
            assert!(why.contains(part), "{text:?}: {why}");
        }
    }

    proptest! {
        #[test]
        fn reading_never_panics(text in "\\PC{0,60}") {
            let _ = text.parse::<Limit>();
        }
    }
}
