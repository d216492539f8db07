//! Stated limits (`--limit 'forward.delay_ns.p99<30ms'`) and whether they held.

use std::fmt;
use std::str::FromStr;

use romer_record::document::{self, Direction, Measurement, Summary, Way};
use romer_record::limit::{self, Relation, Written};
use romer_record::voice::Codec;
use serde_json::Value;

/// The directions of the document.
const DIRECTIONS: [&str; 3] = ["forward", "reverse", "round_trip"];
/// Before a direction: of its rating as a call.
const VOICE: &str = "voice";

/// A limit on one number of the measurement document.
#[derive(Clone, Debug, PartialEq)]
pub struct Limit {
    text: String,
    path: Vec<String>,
    relation: Relation,
    bound: f64,
}

impl FromStr for Limit {
    type Err = String;

    /// Reads `PATH RELATION BOUND`: the path of a number in the document (`forward.delay_ns.p99`,
    /// `round_trip.loss.ratio`, `reverse.packets.lost`, `voice.forward.mos`), one of `<`, `<=`, `>`, `>=`, and a bound with the unit of
    /// that number (`30ms` where the path has `_ns`, `1%` for a ratio, a plain number for a count).
    fn from_str(text: &str) -> Result<Self, String> {
        let Written { shown, path, relation, bound } =
            limit::written(text, "a number of the document", "forward.delay_ns.p99<30ms")?;
        let path: Vec<String> = path.split('.').map(str::to_owned).collect();
        known(&path).map_err(|why| format!("{shown:?}: {why}"))?;
        let bound = limit::bound(&path, bound).map_err(|why| format!("{shown:?}: {why}"))?;
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
    pub fn fits(&self, way: Way, codec: Option<&Codec>) -> Result<(), String> {
        let mut path = self.path.iter().map(String::as_str);
        let mut first = path.next().unwrap_or("");
        let is_voice = first == VOICE;
        if is_voice {
            self.fits_call(codec)?;
            first = path.next().unwrap_or("");
        }
        let ways: &[&str] = match way {
            Way::RoundTrip => return Ok(()),
            Way::Forward => &["forward"],
            Way::Reverse => &["reverse"],
            Way::Both => &["forward", "reverse"],
        };
        if ways.contains(&first) {
            return Ok(());
        }
        let ways: Vec<String> =
            ways.iter().map(|way| if is_voice { format!("{VOICE}.{way}") } else { (*way).into() }).collect();
        Err(format!(
            "{:?}: no packets go that way, so that it could never hold; begin with {}",
            self.text,
            ways.join(" or ")
        ))
    }

    fn fits_call(&self, codec: Option<&Codec>) -> Result<(), String> {
        let Some(codec) = codec else {
            return Err(format!(
                "{:?}: the stream is no telephone call, so that it could never hold; send one, such as --traffic g711, or \
                 name its codec with --codec",
                self.text
            ));
        };
        let of_rating = self.path.last().is_some_and(|last| ["r", "mos"].contains(&last.as_str()));
        if of_rating && !codec.is_rated() {
            return Err(format!(
                "{:?}: no Ie of {codec} is published, so that it could never hold; give values with --voice-ie and \
                 --voice-bpl",
                self.text
            ));
        }
        Ok(())
    }

    /// The verdicts of `limits` on `measurement`. A value that is not known does not hold.
    pub fn judge_all(limits: &[Self], measurement: &Measurement) -> Vec<document::Limit> {
        if limits.is_empty() {
            return Vec::new();
        }
        let document = document_of(measurement);
        limits.iter().map(|limit| limit.judge(&document)).collect()
    }

    /// The verdicts of `limits` on the differences of the numbers of `b` from those of `a`. A difference that is not
    /// known does not hold; so it is with delays of which one is whole and the other above its least value.
    pub fn judge_differences(limits: &[Self], a: &Measurement, b: &Measurement) -> Vec<document::Limit> {
        let [a, b] = [a, b].map(document_of);
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
        limits.iter().map(|limit| limit.judge(&differences)).collect()
    }

    fn judge(&self, document: &Value) -> document::Limit {
        let value =
            self.path.iter().try_fold(document, |value, name| value.get(name)).and_then(Value::as_f64);
        let held = value.is_some_and(|value| self.relation.holds(value, self.bound));
        document::Limit { limit: self.text.clone(), value, held }
    }
}

/// The document, with the ratings of calls by direction.
fn document_of(measurement: &Measurement) -> Value {
    let mut document = serde_json::to_value(measurement).unwrap_or_default();
    let mut by_direction = serde_json::Map::new();
    for rating in document.get(VOICE).and_then(Value::as_array).into_iter().flatten() {
        if let Some(direction) = rating.get("direction").and_then(Value::as_str) {
            by_direction.insert(direction.into(), rating.clone());
        }
    }
    if let Some(ratings) = document.get_mut(VOICE) {
        *ratings = Value::Object(by_direction);
    }
    document
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

/// A document's direction with everything that can be in one.
fn template() -> Value {
    let direction = Direction { departure_error_ns: Some(Summary::default()), ..Direction::default() };
    serde_json::to_value(direction).unwrap_or_default()
}

/// The numbers of a call's rating.
fn rating_template() -> Value {
    serde_json::json!({
        "r": 0.0,
        "mos": 0.0,
        "mouth_to_ear_ns": 0.0,
        "jitter_buffer_ns": 0,
        "loss_ratio": 0.0,
        "discard_ratio": 0.0,
        "burst_ratio": 0.0,
    })
}

/// The names of an object's fields that are numbers or lead to some; empty for anything else.
fn names(value: &Value) -> String {
    let fields =
        value.as_object().into_iter().flatten().filter(|(name, field)| leads_to_numbers(name, field));
    fields.map(|(name, _)| name.as_str()).collect::<Vec<_>>().join(", ")
}

/// Whether a limit can go on from the field of that name. What is not known yet (`null`) is a number, unless it is an interval,
/// which has two.
fn leads_to_numbers(name: &str, field: &Value) -> bool {
    match field {
        Value::Object(fields) => fields.iter().any(|(name, field)| leads_to_numbers(name, field)),
        Value::Number(_) => true,
        Value::Null => name != "delay_kind" && !name.ends_with("_interval"),
        Value::Array(_) | Value::String(_) | Value::Bool(_) => false,
    }
}

/// Whether the document has a number at `path`.
fn known(path: &[String]) -> Result<(), String> {
    let (first, mut rest) = path.split_first().ok_or("the path is empty")?;
    let template = match (first.as_str(), rest.split_first()) {
        (VOICE, Some((way, numbers))) if ["forward", "reverse"].contains(&way.as_str()) => {
            rest = numbers;
            rating_template()
        }
        (VOICE, None) => return Err(format!("{VOICE} is not one number; go on to one of forward, reverse")),
        (VOICE, Some((way, _))) => {
            return Err(format!("{way:?} is no direction of a call; go on to forward or reverse"));
        }
        (direction, _) if DIRECTIONS.contains(&direction) => template(),
        _ => {
            return Err(format!(
                "{first:?} is no direction of the document; begin with forward, reverse, round_trip or {VOICE}"
            ));
        }
    };
    let mut value = &template;
    for name in rest {
        value = value.get(name).ok_or_else(|| {
            let names = names(value);
            if names.is_empty() {
                format!("{name:?} is not in the document; the path goes too deep")
            } else {
                format!("{name:?} is not in the document there; choose one of {names}")
            }
        })?;
    }
    let last = rest.last().map_or("", String::as_str);
    if !leads_to_numbers(last, value) {
        let what =
            if last.ends_with("_interval") { "an interval, which has two ends" } else { "not one number" };
        let before = rest[..rest.len() - 1].iter().try_fold(&template, |value, name| value.get(name));
        let others = before.map(names).filter(|names| !names.is_empty());
        let instead = others.map_or(String::new(), |names| format!("; choose one of {names} instead"));
        return Err(format!("{} is {what}{instead}", path.join(".")));
    }
    if value.is_object() {
        return Err(format!("{} is not one number; go on to one of {}", path.join("."), names(value)));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use romer_record::voice::{BufferChoice, LossBasis, Playout, Scale, VariationBasis, Voice};

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
        ] {
            let limit: Limit = text.parse().unwrap_or_else(|why| panic!("{text}: {why}"));
            assert!((limit.bound - bound).abs() < 1e-12 * bound, "{text}: {}", limit.bound);
        }
    }

    #[test]
    fn a_limit_on_a_way_that_no_packets_go_is_refused() {
        let fits = |text: &str, way| text.parse::<Limit>().unwrap().fits(way, None);
        for way in [Way::RoundTrip, Way::Forward, Way::Both] {
            assert_eq!(fits("forward.packets.lost<5", way), Ok(()), "{way:?}");
        }
        let why = fits("round_trip.delay_ns.p99<30ms", Way::Both).unwrap_err();
        assert!(why.contains("never hold; begin with forward or reverse"), "{why}");
        assert!(fits("forward.packets.lost<5", Way::Reverse).is_err());
        assert!(fits("reverse.packets.lost<5", Way::Forward).is_err());
    }

    /// A limit on a rating needs a call that is rated, in a direction that packets go.
    #[test]
    fn voice_limits_need_rated_call() {
        let fits = |text: &str, way, codec: Option<&str>| {
            let codec = codec.map(|name| name.parse::<Codec>().unwrap());
            text.parse::<Limit>().unwrap().fits(way, codec.as_ref())
        };
        assert_eq!(fits("voice.forward.mos>=4", Way::RoundTrip, Some("g711")), Ok(()));
        assert_eq!(fits("voice.reverse.r>70", Way::Both, Some("g729")), Ok(()));
        let why = fits("voice.reverse.mos>=4", Way::Forward, Some("g711")).unwrap_err();
        assert!(why.contains("begin with voice.forward"), "{why}");
        let why = fits("voice.forward.mos>=4", Way::RoundTrip, None).unwrap_err();
        assert!(why.contains("--traffic g711"), "{why}");
        let why = fits("voice.forward.mos>=4", Way::RoundTrip, Some("melp")).unwrap_err();
        assert!(why.contains("--voice-ie"), "{why}");
        assert_eq!(fits("voice.forward.loss_ratio<1%", Way::RoundTrip, Some("melp")), Ok(()));
    }

    /// The rating of the direction that is named is judged, and the difference of two on one scale.
    #[test]
    fn voice_limits_are_judged() {
        let with = |scale: Scale, mos: f64| {
            let codec = Codec { scale, ..Codec::custom(20_000_000) };
            let mut m = crate::evaluate::evaluate(&romer_testing::stream(), &[], false).measurement;
            m.voice = [(Way::Forward, mos), (Way::Reverse, mos - 1.0)]
                .map(|(direction, mos)| rating(direction, codec.clone(), mos))
                .into();
            m
        };
        let limits = ["voice.forward.mos>=4", "voice.reverse.mos>=4"].map(|text| text.parse().unwrap());
        let judged = Limit::judge_all(&limits, &with(Scale::Narrowband, 4.2));
        assert_eq!(judged.iter().map(|one| one.held).collect::<Vec<_>>(), [true, false]);
        let [fewer] = ["voice.forward.mos>=-0.1"].map(|text| text.parse().unwrap());
        let differs = |b: &Measurement| {
            Limit::judge_differences(std::slice::from_ref(&fewer), &with(Scale::Narrowband, 4.2), b)
                .swap_remove(0)
        };
        assert!(differs(&with(Scale::Narrowband, 4.15)).held);
        assert!(!differs(&with(Scale::Narrowband, 4.0)).held);
        assert_eq!(differs(&with(Scale::Wideband, 4.2)).value, None, "scales differ");
    }

    fn rating(direction: Way, codec: Codec, mos: f64) -> Voice {
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
        }
    }

    #[test]
    fn what_is_no_limit_is_refused_with_what_there_is() {
        for (text, part) in [
            ("forward.delay_ns.p99", "has no comparison"),
            ("forward.delay_ns.p98<30ms", "p99"),
            ("delay<30ms", "round_trip"),
            ("forward.delay_ns<30ms", "go on to one of"),
            ("forward.delay_ns.p99<30", "unit"),
            ("forward.loss.ratio<5", "1% or 0.01"),
            ("reverse.packets.lost<many", "not a number"),
            ("forward.packets.lost.more<1", "too deep"),
            ("forward.delay_ns.mean_interval<1ms", "an interval, which has two ends; choose one of count, "),
            ("forward.delay_ns.p99_interval.0<1ms", "too deep"),
            ("forward.loss.ratio_interval<1%", "two ends; choose one of ratio"),
            ("forward.delay_kind<1", "is not one number; choose one of "),
            ("forward.loss.periods<5", "is not one number; choose one of "),
            ("forward.ttl.changes<1", "is not one number; choose one of "),
            ("voice.mos>=4", "go on to forward or reverse"),
            ("voice.round_trip.mos>=4", "go on to forward or reverse"),
            ("voice.forward.moss>=4", "choose one of"),
            ("voice.forward>=4", "go on to one of"),
            ("<", "direction"),
            ("", "has no comparison"),
        ] {
            let why = text.parse::<Limit>().unwrap_err();
            assert!(why.contains(part), "{text:?}: {why}");
        }
    }

    #[test]
    fn whatever_is_offered_can_be_taken() {
        let mut paths: Vec<String> = DIRECTIONS.iter().copied().chain([VOICE]).map(str::to_owned).collect();
        let mut numbers = 0;
        while let Some(path) = paths.pop() {
            let limit = ["1ns", "1%", "1"].map(|bound| format!("{path}<{bound}").parse::<Limit>());
            if limit.iter().any(Result::is_ok) {
                numbers += 1;
                continue;
            }
            let why = limit.into_iter().find_map(Result::err).unwrap();
            let offered = why.split_once("go on to one of ").unwrap_or_else(|| panic!("{why}")).1;
            paths.extend(offered.split(", ").map(|name| format!("{path}.{name}")));
        }
        assert!(numbers > 60, "{numbers}");
    }

    proptest! {
        #[test]
        fn reading_never_panics(text in "\\PC{0,60}") {
            let _ = text.parse::<Limit>();
        }
    }
}
