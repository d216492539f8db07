//! The numbers of a measurement that limits and comparisons name.
//!
//! A [`MetricPath`] is written `[DIRECTION.]METRIC[.STATISTIC]`: `forward.delay_ns.p99`, `loss.ratio`, `voice.forward.mos`.
//! [`METRICS`], [`STATISTICS`] and [`ALIASES`] are all that there are; `romer help metrics` and the reference print them.
//! [`quantity`](crate::quantity) has those of benchmarks.

use std::fmt;
use std::str::FromStr;

use serde_json::Value;

use crate::document::{Measurement, ProbeDirection};

/// What the numbers of a metric are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Nanoseconds; written with a unit, such as `30ms`.
    Time,
    /// From 0 to 1; also written as a percentage.
    Ratio,
    /// Percent of the line rate.
    Percent,
    /// Frames a second.
    FrameRate,
    /// Packets, frames or values.
    Count,
    /// Routers that a packet may still pass.
    Hops,
    /// A multiple of a reference, such as 2.
    Factor,
    /// MOS, from 1 to 5.
    Score,
    /// R of the E-model, from 0 to about 100.
    RFactor,
}

impl Unit {
    /// How a bound is written.
    pub const fn example(self) -> &'static str {
        match self {
            Self::Time => "time (30ms)",
            Self::Ratio => "ratio (1%)",
            Self::Percent => "percent (90%)",
            Self::FrameRate => "frames/s (1000)",
            Self::Count => "count (5)",
            Self::Hops => "hops (60)",
            Self::Factor => "factor (2)",
            Self::Score => "score (4)",
            Self::RFactor => "R (80)",
        }
    }
}

/// One kind of number that each direction of a measurement has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Metric {
    /// Its place in a direction of the document. That of a voice rating begins with `voice.`.
    pub path: &'static str,
    /// What its numbers are.
    pub unit: Unit,
    /// Whether it is a sample, of which a [`Statistic`] is one number.
    pub is_sample: bool,
    /// What it means, in a few words.
    pub meaning: &'static str,
}

const fn sample(path: &'static str, meaning: &'static str) -> Metric {
    Metric { path, unit: Unit::Time, is_sample: true, meaning }
}

const fn number(path: &'static str, unit: Unit, meaning: &'static str) -> Metric {
    Metric { path, unit, is_sample: false, meaning }
}

/// Every metric.
pub const METRICS: [Metric; 33] = [
    sample(
        "delay_ns",
        "delay: one-way (RFC 7679), or round trip without the time in the responder (RFC 2681)",
    ),
    sample("ipdv_ns", "delay difference of consecutive packets, signed (RFC 3393)"),
    sample("pdv_ns", "delay above the minimum (RFC 5481)"),
    sample("jitter_ns.delay_difference", "|IPDV|, absolute delay difference of consecutive packets"),
    sample("jitter_ns.deviation_from_mean", "absolute deviation from the mean delay"),
    sample(
        "jitter_ns.inter_arrival_difference",
        "absolute difference of consecutive inter-arrival times, in order of sending",
    ),
    sample(
        "jitter_ns.inter_arrival_difference_in_order_of_arrival",
        "the same in order of arrival, if packets were reordered",
    ),
    sample("jitter_ns.peak_to_peak", "maximum minus minimum delay: a sample with one value"),
    number("jitter_ns.rfc3550", Unit::Time, "interarrival jitter (RFC 3550) after the last packet"),
    number("loss.ratio", Unit::Ratio, "lost packets / sent packets (RFC 7680)"),
    number("loss.longest.packets", Unit::Count, "packets in the longest loss period (RFC 3357)"),
    number("packets.sent", Unit::Count, "packets that left the sending host"),
    number("packets.received", Unit::Count, "packets that arrived within the waiting time"),
    number("packets.lost", Unit::Count, "packets that did not arrive within the waiting time"),
    number("packets.late", Unit::Count, "packets that arrived after the waiting time, part of lost"),
    number("packets.duplicated", Unit::Count, "further copies that arrived (RFC 5560)"),
    number(
        "packets.reordered",
        Unit::Count,
        "packets that arrived after one with a higher number (RFC 4737)",
    ),
    number(
        "packets.corrupted",
        Unit::Count,
        "packets that arrived damaged (--checksum header), part of lost",
    ),
    number("packets.not_sent", Unit::Count, "packets that the sending host refused to send"),
    number("reordering.ratio", Unit::Ratio, "reordered packets / received packets (RFC 4737)"),
    sample("duplicates.spacing_ns", "time from the first copy of a packet to each further one"),
    sample("inter_departure_ns", "time between departures"),
    sample("inter_arrival_ns", "time between arrivals"),
    sample("departure_error_ns", "actual minus scheduled departure time"),
    number("ttl.min", Unit::Hops, "lowest TTL or hop limit on arrival"),
    number("ttl.max", Unit::Hops, "highest TTL or hop limit on arrival"),
    number("voice.mos", Unit::Score, "MOS of the call (ITU-T G.107)"),
    number("voice.r", Unit::RFactor, "R factor of the call (ITU-T G.107)"),
    number("voice.mouth_to_ear_ns", Unit::Time, "delay from mouth to ear, with codec and jitter buffer"),
    number("voice.jitter_buffer_ns", Unit::Time, "length of the jitter buffer"),
    number("voice.loss_ratio", Unit::Ratio, "packets lost in the network or discarded by the jitter buffer"),
    number("voice.discard_ratio", Unit::Ratio, "packets discarded by the jitter buffer"),
    number("voice.burst_ratio", Unit::Factor, "burst ratio of the loss, 1 if random (ITU-T G.107)"),
];

/// One number of a sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Statistic {
    /// Its field in the document.
    pub name: &'static str,
    /// What it means, in a few words.
    pub meaning: &'static str,
}

const fn statistic(name: &'static str, meaning: &'static str) -> Statistic {
    Statistic { name, meaning }
}

/// Name of the statistic that is a number of values, whatever the unit of the sample.
const COUNT: &str = "count";

/// Every statistic of a sample.
pub const STATISTICS: [Statistic; 15] = [
    statistic(COUNT, "number of values"),
    statistic("min", "minimum"),
    statistic("max", "maximum"),
    statistic("mean", "mean"),
    statistic("stddev", "standard deviation, with n - 1"),
    statistic("trimmed_mean", "mean without the lowest and highest 5 %"),
    statistic("trimmed_stddev", "standard deviation without the lowest and highest 5 %"),
    statistic("median", "median"),
    statistic("iqr", "interquartile range, p75 - p25"),
    statistic("p25", "25 % quantile"),
    statistic("p75", "75 % quantile"),
    statistic("p90", "90 % quantile"),
    statistic("p95", "95 % quantile"),
    statistic("p99", "99 % quantile"),
    statistic("p99_9", "99.9 % quantile"),
];

/// A short name for a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Alias {
    /// As it is written, after a direction or without one. A statistic may follow that of a sample.
    pub name: &'static str,
    /// What it stands for.
    pub path: &'static str,
}

pub(crate) const fn alias(name: &'static str, path: &'static str) -> Alias {
    Alias { name, path }
}

/// Every alias.
pub const ALIASES: [Alias; 11] = [
    alias("delay", "delay_ns"),
    alias("rtt", "round_trip.delay_ns"),
    alias("ipdv", "ipdv_ns"),
    alias("pdv", "pdv_ns"),
    alias("jitter", "jitter_ns.delay_difference.mean"),
    alias("loss", "loss.ratio"),
    alias("loss.longest", "loss.longest.packets"),
    alias("reordering", "reordering.ratio"),
    alias("duplicates", "packets.duplicated"),
    alias("mos", "voice.mos"),
    alias("r", "voice.r"),
];

/// Before the metrics of a call.
const VOICE: &str = "voice";
/// Where those that are missing here are listed.
const LIST: &str = "`romer help metrics` lists all";

/// One number of a measurement, of one direction or of each that was measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MetricPath {
    /// `None`: of each direction. Never [`ProbeDirection::Both`].
    pub direction: Option<ProbeDirection>,
    /// The metric.
    pub metric: &'static Metric,
    /// Of a metric that is a sample, which of its numbers.
    pub statistic: Option<&'static Statistic>,
}

impl MetricPath {
    /// The unit of the number.
    pub fn unit(&self) -> Unit {
        match self.statistic {
            Some(statistic) if statistic.name == COUNT => Unit::Count,
            _ => self.metric.unit,
        }
    }

    /// Whether it is of the rating of a call.
    pub fn is_voice(&self) -> bool {
        self.call_field().is_some()
    }

    /// The field of a rating.
    pub fn call_field(&self) -> Option<&'static str> {
        self.metric.path.strip_prefix(VOICE)?.strip_prefix('.')
    }

    /// The directions that a measurement whose packets go `way` has it of, without regard to its own.
    pub fn directions(&self, way: ProbeDirection) -> &'static [ProbeDirection] {
        match way {
            // The two directions of a call are rated from the round trip.
            ProbeDirection::RoundTrip if self.is_voice() => ProbeDirection::Both.parts(),
            way => way.parts(),
        }
    }

    /// The number at this path in a document of [`numbers`], or in differences of two.
    pub fn number(&self, document: &Value) -> Option<f64> {
        document.pointer(&format!("/{}", self.to_string().replace('.', "/"))).and_then(Value::as_f64)
    }
}

/// The name of a direction in the document.
pub const fn direction_name(way: ProbeDirection) -> &'static str {
    match way {
        ProbeDirection::Forward => "forward",
        ProbeDirection::Reverse => "reverse",
        ProbeDirection::RoundTrip => "round_trip",
        ProbeDirection::Both => "both",
    }
}

/// The direction of this name.
fn direction(name: &str) -> Option<ProbeDirection> {
    [ProbeDirection::Forward, ProbeDirection::Reverse, ProbeDirection::RoundTrip]
        .into_iter()
        .find(|way| direction_name(*way) == name)
}

impl fmt::Display for MetricPath {
    /// As the document has it: `forward.delay_ns.p99`, `voice.forward.mos`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.direction.map(direction_name);
        match (name, self.call_field()) {
            (Some(name), Some(field)) => write!(f, "{VOICE}.{name}.{field}")?,
            (Some(name), None) => write!(f, "{name}.{}", self.metric.path)?,
            (None, _) => f.write_str(self.metric.path)?,
        }
        self.statistic.map_or(Ok(()), |statistic| write!(f, ".{}", statistic.name))
    }
}

impl FromStr for MetricPath {
    type Err = String;

    /// Reads a path or an alias.
    ///
    /// # Errors
    /// In words: what is no part of a path, and what may stand in its place.
    fn from_str(text: &str) -> Result<Self, String> {
        let (direction, rest) = split(text);
        if let Some(path) = find_path(direction, &rest) {
            return in_direction(path, &rest);
        }
        let aliased = ALIASES.iter().filter_map(|alias| {
            let path = after(alias.path, rest.strip_prefix(alias.name)?)?;
            let (of_alias, path) = split(&path);
            Some((alias, of_alias, path))
        });
        let mut why = missing(text, &rest);
        for (alias, of_alias, path) in aliased {
            if direction.is_some() && of_alias.is_some() {
                return Err(format!("{} has a direction; write {}", alias.name, alias.path));
            }
            match find_path(direction.or(of_alias), &path) {
                Some(path) => return in_direction(path, &rest),
                None if !continued(&[]).iter().any(|name| rest.split('.').next() == Some(name)) => {
                    why = missing(text, &path);
                }
                None => {}
            }
        }
        Err(why)
    }
}

/// What an alias stands for with what follows it: `.p99` replaces a statistic of the alias's own.
fn after(path: &str, tail: &str) -> Option<String> {
    let Some(tail) = tail.strip_prefix('.') else {
        return tail.is_empty().then(|| path.to_owned());
    };
    let sample = path.rsplit_once('.').filter(|(_, last)| STATISTICS.iter().any(|one| one.name == *last));
    Some(format!("{}.{tail}", sample.map_or(path, |(sample, _)| sample)))
}

/// The direction that a path states, and the rest.
fn split(text: &str) -> (Option<ProbeDirection>, String) {
    let (first, rest) = text.split_once('.').unwrap_or((text, ""));
    if let Some(way) = direction(first) {
        return (Some(way), rest.to_owned());
    }
    if first == VOICE {
        let (second, rest) = rest.split_once('.').unwrap_or((rest, ""));
        if let Some(way) = direction(second) {
            return (Some(way), format!("{VOICE}.{rest}").trim_end_matches('.').to_owned());
        }
    }
    (None, text.to_owned())
}

/// The path that is `rest` in a direction.
fn find_path(direction: Option<ProbeDirection>, rest: &str) -> Option<MetricPath> {
    METRICS.iter().find_map(|metric| {
        let tail = rest.strip_prefix(metric.path)?;
        if !metric.is_sample {
            return tail.is_empty().then_some(MetricPath { direction, metric, statistic: None });
        }
        let name = tail.strip_prefix('.')?;
        let statistic = STATISTICS.iter().find(|statistic| statistic.name == name)?;
        Some(MetricPath { direction, metric, statistic: Some(statistic) })
    })
}

/// Refuses the rating of a round trip.
fn in_direction(path: MetricPath, rest: &str) -> Result<MetricPath, String> {
    if path.is_voice() && path.direction == Some(ProbeDirection::RoundTrip) {
        let name = rest.rsplit('.').next().unwrap_or(rest);
        return Err(format!(
            "a call is rated in each direction, not as a round trip; write voice.forward.{name} or voice.reverse.{name}"
        ));
    }
    Ok(path)
}

/// The names that may follow `parts`, each once.
fn continued(parts: &[&str]) -> Vec<&'static str> {
    let mut names = Vec::new();
    for metric in &METRICS {
        let mut own = metric.path.split('.');
        if !parts.iter().all(|part| own.next() == Some(part)) {
            continue;
        }
        match own.next() {
            Some(name) if !names.contains(&name) => names.push(name),
            None if metric.is_sample => names.extend(STATISTICS.map(|statistic| statistic.name)),
            _ => {}
        }
    }
    names
}

/// What is wrong with a path that leads to no number.
fn missing(text: &str, rest: &str) -> String {
    let parts: Vec<&str> = rest.split('.').filter(|part| !part.is_empty()).collect();
    for (depth, part) in parts.iter().enumerate() {
        let known = continued(&parts[..depth]);
        if known.contains(part) {
            continue;
        }
        let shown = romer_units::excerpt(part, 40);
        let aliases = ALIASES.iter().map(|alias| alias.name);
        return match (depth, known.is_empty()) {
            (0, _) if STATISTICS.iter().any(|statistic| statistic.name == *part) => {
                format!(
                    "{part:?} is a statistic; name its metric too, such as delay.{part} or rtt.{part}; {LIST}"
                )
            }
            (0, _) => {
                let mut names: Vec<&str> = aliases.collect();
                names
                    .extend(known.into_iter().filter(|name| ALIASES.iter().all(|alias| alias.name != *name)));
                format!("{shown:?} is not a metric; use one of {}; {LIST}", names.join(", "))
            }
            (_, true) => {
                format!("{} has no part {shown:?}; leave it out", parts[..depth].join("."))
            }
            _ => format!(
                "{} has no part {shown:?}; write one of {}; {LIST}",
                parts[..depth].join("."),
                known.join(", ")
            ),
        };
    }
    let known = continued(&parts);
    if parts.is_empty() {
        let what = if text.is_empty() { "the path is empty" } else { "a direction has many metrics" };
        return format!("{what}; write one of {} after it; {LIST}", known.join(", "));
    }
    let example = if known.contains(&"p99") { "p99" } else { known.first().copied().unwrap_or_default() };
    format!("{text} is not one number; write {text}.{example}, or continue with one of {}", known.join(", "))
}

/// The document of a measurement in which paths lead to numbers: with the ratings of calls by direction, and the longest loss
/// period also where it is of one packet or none.
pub fn numbers(measurement: &Measurement) -> Value {
    let mut document = serde_json::to_value(measurement).unwrap_or_default();
    for (name, direction) in ["forward", "reverse", "round_trip"].into_iter().zip([
        &measurement.forward,
        &measurement.reverse,
        &measurement.round_trip,
    ]) {
        let longest = match (&direction.loss.longest, direction.packets.lost) {
            (None, Some(0)) => 0,
            (None, Some(_)) if !direction.loss.periods.is_empty() => 1,
            _ => continue,
        };
        if let Some(Value::Object(loss)) = document.pointer_mut(&format!("/{name}/loss")) {
            loss.insert("longest".into(), serde_json::json!({ "packets": longest }));
        }
    }
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

/// Every number that a measurement has in the directions that packets go, with its path.
pub fn values(measurement: &Measurement) -> Vec<(MetricPath, f64)> {
    let document = numbers(measurement);
    let way = measurement.traffic.direction;
    let mut values = Vec::new();
    for direction in [ProbeDirection::Forward, ProbeDirection::Reverse, ProbeDirection::RoundTrip] {
        if way != ProbeDirection::RoundTrip && !way.parts().contains(&direction) {
            continue;
        }
        for metric in &METRICS {
            let of = |statistic| MetricPath { direction: Some(direction), metric, statistic };
            let paths: Vec<MetricPath> = match metric.is_sample {
                true => STATISTICS.iter().map(|statistic| of(Some(statistic))).collect(),
                false => vec![of(None)],
            };
            values.extend(paths.into_iter().filter_map(|path| Some((path, path.number(&document)?))));
        }
    }
    values
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::document::{DirectionResults, Summary};

    fn read(text: &str) -> String {
        text.parse::<MetricPath>().unwrap_or_else(|why| panic!("{text}: {why}")).to_string()
    }

    /// A path is read and written, and an alias stands for its path with any direction and statistic.
    #[test]
    fn paths_and_aliases_are_read() {
        for (text, path) in [
            ("forward.delay_ns.p99", "forward.delay_ns.p99"),
            ("delay_ns.count", "delay_ns.count"),
            ("round_trip.loss.ratio", "round_trip.loss.ratio"),
            ("voice.forward.mos", "voice.forward.mos"),
            ("loss", "loss.ratio"),
            ("forward.loss", "forward.loss.ratio"),
            ("rtt.p99", "round_trip.delay_ns.p99"),
            ("jitter", "jitter_ns.delay_difference.mean"),
            ("reverse.jitter.p95", "reverse.jitter_ns.delay_difference.p95"),
            ("mos", "voice.mos"),
            ("reverse.mos", "voice.reverse.mos"),
            ("voice.reverse.r", "voice.reverse.r"),
            ("loss.longest", "loss.longest.packets"),
            ("duplicates", "packets.duplicated"),
            ("duplicates.spacing_ns.max", "duplicates.spacing_ns.max"),
        ] {
            assert_eq!(read(text), path);
        }
    }

    /// What is no path is refused with what may stand there.
    #[test]
    fn other_paths_are_refused() {
        for (text, part) in [
            ("", "the path is empty; write one of delay_ns, "),
            ("forward", "a direction has many metrics; write one of delay_ns, "),
            ("up.delay_ns.p99", "\"up\" is not a metric; use one of delay, rtt, "),
            ("p99", "\"p99\" is a statistic; name its metric too, such as delay.p99 or rtt.p99"),
            ("forward.delay_ns", "write forward.delay_ns.p99, or continue with one of count, min"),
            ("forward.delay_ns.p98", "delay_ns has no part \"p98\"; write one of count"),
            ("forward.delay_ns.mean_interval", "write one of count, "),
            ("packets.lost.more", "packets.lost has no part \"more\"; leave it out"),
            ("forward.rtt.p99", "rtt has a direction; write round_trip.delay_ns"),
            ("rtt", "rtt is not one number; write rtt.p99, or continue with one of count, "),
            ("delay.p98", "delay_ns has no part \"p98\"; write one of count"),
            ("voice.round_trip.mos", "write voice.forward.mos or voice.reverse.mos"),
            ("round_trip.mos", "write voice.forward.mos or voice.reverse.mos"),
            ("voice", "is not one number; write voice.mos, or continue with one of mos, r"),
            ("loss.periods", "loss has no part \"periods\"; write one of ratio, longest"),
        ] {
            let why = text.parse::<MetricPath>().unwrap_err();
            assert!(why.contains(part), "{text:?}: {why}");
        }
    }

    /// Each alias stands for a path, or for a sample that a statistic makes one.
    #[test]
    fn aliases_stand_for_paths() {
        for Alias { name, path } in ALIASES {
            let is_number = path.parse::<MetricPath>().is_ok();
            let tail = if is_number { "" } else { ".p99" };
            assert_eq!(read(&format!("{name}{tail}")), format!("{path}{tail}"));
        }
    }

    /// The metrics are the numbers of a direction in the document, but for lists, maps, and bounds of a number.
    #[test]
    fn metrics_are_those_of_document() {
        let some = || Some(Summary::default());
        let mut direction = DirectionResults { departure_error_ns: some(), ..DirectionResults::default() };
        direction.jitter_ns.inter_arrival_difference_in_order_of_arrival = some();
        let mut left = Vec::new();
        let mut open = vec![(String::new(), serde_json::to_value(direction).unwrap())];
        while let Some((path, value)) = open.pop() {
            match value {
                Value::Object(fields) => open.extend(fields.into_iter().map(|(name, value)| {
                    (if path.is_empty() { name } else { format!("{path}.{name}") }, value)
                })),
                Value::Null | Value::Number(_) if path.parse::<MetricPath>().is_err() => {
                    left.push(path);
                }
                _ => {}
            }
        }
        left.retain(|path| !path.ends_with("_interval"));
        left.sort();
        // The kind of a delay is a word; the rest is what was sent, which is stated.
        assert_eq!(left, ["delay_kind", "dscp.sent", "ecn.sent"]);
    }

    proptest! {
        #[test]
        fn reading_never_panics(text in "\\PC{0,60}") {
            let _ = text.parse::<MetricPath>();
        }
    }
}
