//! The figures by which measurements are compared.

use std::fmt;
use std::str::FromStr;

use romer_metrics::bootstrap::Statistic;
use romer_metrics::{delays, inter_arrivals, inter_departures, ipdv, pdv, sent};
use romer_record::document::{DelayKind, DirectionResults, Measurement, Summary};
use romer_record::metric::MetricPath;
use romer_record::voice::Voice;
use romer_record::{Fate, OneWaySingleton};

use crate::table::MeasuredPath;

/// A sequence of numbers of a direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Series {
    Delay,
    Ipdv,
    Pdv,
    DelayDifference,
    InterDeparture,
    InterArrival,
    Loss,
    /// The rating of the call, which has no series of numbers.
    R,
    Mos,
}

/// What a figure's numbers are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FigureUnit {
    Time,
    Share,
    /// R or MOS.
    Score,
}

impl FigureUnit {
    /// That of the figure at this place in a direction.
    pub(crate) fn of_path(path: &str) -> Self {
        match path {
            "loss.ratio" => Self::Share,
            score if score.starts_with("voice.") => Self::Score,
            _ => Self::Time,
        }
    }
}

impl Series {
    /// Whether its numbers are those above the minimum of all, where delays are of this kind.
    pub(crate) fn is_above_least(self, kind: Option<DelayKind>) -> bool {
        self == Self::Pdv || (self == Self::Delay && kind == Some(DelayKind::Variable))
    }

    /// With how many that follow it each value shares a packet.
    pub(super) const fn lags(self) -> usize {
        match self {
            Self::Ipdv | Self::DelayDifference | Self::InterDeparture | Self::InterArrival => 1,
            Self::Delay | Self::Pdv | Self::Loss | Self::R | Self::Mos => 0,
        }
    }

    /// Those without statistics of their own, with their places in a direction.
    const SINGLE: [(&'static str, Self); 3] =
        [("loss.ratio", Self::Loss), ("voice.r", Self::R), ("voice.mos", Self::Mos)];

    const ALL: [(&'static str, Self); 6] = [
        ("delay_ns", Self::Delay),
        ("ipdv_ns", Self::Ipdv),
        ("pdv_ns", Self::Pdv),
        ("jitter_ns.delay_difference", Self::DelayDifference),
        ("inter_departure_ns", Self::InterDeparture),
        ("inter_arrival_ns", Self::InterArrival),
    ];

    fn name(self) -> &'static str {
        Self::ALL.iter().find(|(_, one)| *one == self).map_or("", |(name, _)| *name)
    }

    fn summary(self, direction: &DirectionResults) -> Option<&Summary> {
        match self {
            Self::Delay => Some(&direction.delay_ns),
            Self::Ipdv => Some(&direction.ipdv_ns),
            Self::Pdv => Some(&direction.pdv_ns),
            Self::DelayDifference => Some(&direction.jitter_ns.delay_difference),
            Self::InterDeparture => Some(&direction.inter_departure_ns),
            Self::InterArrival => Some(&direction.inter_arrival_ns),
            Self::Loss | Self::R | Self::Mos => None,
        }
    }

    /// Its numbers, in order of sequence.
    pub(crate) fn values(self, singletons: &[OneWaySingleton]) -> Vec<f64> {
        let values = match self {
            Self::Delay => delays(singletons),
            Self::Ipdv => ipdv(singletons),
            Self::Pdv => pdv(singletons),
            Self::DelayDifference => {
                ipdv(singletons).into_iter().map(|value| value.saturating_abs()).collect()
            }
            Self::InterDeparture => inter_departures(singletons),
            Self::InterArrival => inter_arrivals(singletons),
            Self::Loss => sent(singletons)
                .filter(|singleton| singleton.fate != Fate::InFlight)
                .map(|singleton| i64::from(!matches!(singleton.fate, Fate::Arrived | Fate::InstrumentDrop)))
                .collect(),
            Self::R | Self::Mos => Vec::new(),
        };
        #[expect(clippy::cast_precision_loss, reason = "statistics, not a clock")]
        let reals = values.into_iter().map(|value| value as f64).collect();
        reals
    }
}

/// The place of the median among [`STATISTICS`].
const MEDIAN: usize = 1;
/// The statistics that can be compared, by name.
const STATISTICS: [(&str, Statistic); 8] = [
    ("mean", Statistic::Mean),
    ("median", Statistic::Quantile(0.5)),
    ("p25", Statistic::Quantile(0.25)),
    ("p75", Statistic::Quantile(0.75)),
    ("p90", Statistic::Quantile(0.9)),
    ("p95", Statistic::Quantile(0.95)),
    ("p99", Statistic::Quantile(0.99)),
    ("p99_9", Statistic::Quantile(0.999)),
];

/// A figure by which measurements are compared: `delay_ns.p99`, `loss.ratio`, or one of a single direction,
/// `forward.delay_ns.p99`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Figure {
    pub(super) way: Option<MeasuredPath>,
    pub(super) series: Series,
    /// Its place among [`STATISTICS`].
    statistic: usize,
}

impl Figure {
    /// The metric that leads where none is selected.
    pub(super) const fn median_delay() -> Self {
        Self { way: None, series: Series::Delay, statistic: MEDIAN }
    }

    /// What is shown of every direction.
    pub(super) const SHOWN: [&'static str; 7] = [
        "delay_ns.mean",
        "delay_ns.median",
        "delay_ns.p95",
        "delay_ns.p99",
        "jitter_ns.delay_difference.mean",
        "loss.ratio",
        "voice.mos",
    ];

    pub(crate) fn series(self) -> Series {
        self.series
    }

    pub(super) fn statistic(self) -> (&'static str, Statistic) {
        STATISTICS[self.statistic]
    }

    /// Its place in a direction.
    pub(super) fn path(self) -> String {
        match Series::SINGLE.iter().find(|(_, one)| *one == self.series) {
            Some((path, _)) => (*path).into(),
            None => format!("{}.{}", self.series.name(), self.statistic().0),
        }
    }

    pub(super) fn unit(self) -> FigureUnit {
        match self.series {
            Series::Loss => FigureUnit::Share,
            Series::R | Series::Mos => FigureUnit::Score,
            _ => FigureUnit::Time,
        }
    }

    /// For a sentence.
    pub(super) fn text(self) -> String {
        let series = match self.series {
            Series::Delay => "delay",
            Series::Ipdv => "IPDV",
            Series::Pdv => "PDV",
            Series::DelayDifference => "|IPDV|",
            Series::InterDeparture => "time between departures",
            Series::InterArrival => "time between arrivals",
            Series::Loss => return "loss".into(),
            Series::R => return "R".into(),
            Series::Mos => return "MOS".into(),
        };
        format!("{} {series}", self.statistic().0.replace('_', "."))
    }

    /// Whether a change by `difference` is an improvement. `None` of what is neither good nor bad.
    pub(super) fn is_better(self, difference: f64) -> Option<bool> {
        match self.series {
            Series::Delay | Series::Pdv | Series::DelayDifference | Series::Loss => Some(difference < 0.0),
            Series::R | Series::Mos => Some(difference > 0.0),
            Series::Ipdv | Series::InterDeparture | Series::InterArrival => None,
        }
    }

    pub(super) fn value(self, m: &Measurement, way: MeasuredPath) -> Option<f64> {
        let direction = way.results(m);
        match self.series {
            Series::Loss => return direction.loss.ratio,
            Series::R => return rating(m, way)?.playout.r,
            Series::Mos => return rating(m, way)?.playout.mos,
            _ => {}
        }
        self.of_summary(self.series.summary(direction)?)
    }

    /// Of the summary of its series.
    pub(crate) fn of_summary(self, summary: &Summary) -> Option<f64> {
        match self.statistic().0 {
            "mean" => summary.mean,
            "median" => summary.median,
            "p25" => summary.p25,
            "p75" => summary.p75,
            "p90" => summary.p90,
            "p95" => summary.p95,
            "p99" => summary.p99,
            _ => summary.p99_9,
        }
    }

    /// Its interval, where the document has one.
    pub(super) fn interval(self, direction: &DirectionResults) -> Option<[f64; 2]> {
        match (self.series.summary(direction), self.statistic().0) {
            (None, _) if self.series == Series::Loss => direction.loss.ratio_interval,
            (Some(summary), "mean") => summary.mean_interval,
            (Some(summary), "median") => summary.median_interval,
            _ => None,
        }
    }
}

/// The rating of a direction as a call.
pub(crate) fn rating(m: &Measurement, way: MeasuredPath) -> Option<&Voice> {
    m.voice.iter().find(|voice| voice.direction == way.in_document())
}

impl FromStr for Figure {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let path: MetricPath = text
            .parse()
            .map_err(|why| format!("{:?} cannot be compared: {why}", romer_units::excerpt(text, 80)))?;
        let way =
            path.direction.and_then(|way| MeasuredPath::ALL.into_iter().find(|one| one.in_document() == way));
        if let Some((_, series)) = Series::SINGLE.iter().find(|(single, _)| *single == path.metric.path) {
            return Ok(Self { way, series: *series, statistic: 0 });
        }
        let series = Series::ALL.iter().find(|(name, _)| *name == path.metric.path);
        let statistic = path
            .statistic
            .and_then(|statistic| STATISTICS.iter().position(|(name, _)| *name == statistic.name));
        if let (Some((_, series)), Some(statistic)) = (series, statistic) {
            return Ok(Self { way, series: *series, statistic });
        }
        let names = |names: &mut dyn Iterator<Item = &'static str>| names.collect::<Vec<_>>().join(", ");
        Err(format!(
            "{path} cannot be compared; write one of {}, a dot, and one of {}, e.g. delay_ns.p99; or one of {}",
            names(&mut Series::ALL.iter().map(|(name, _)| *name)),
            names(&mut STATISTICS.iter().map(|(name, _)| *name)),
            names(&mut Series::SINGLE.iter().map(|(single, _)| *single)),
        ))
    }
}

impl fmt::Display for Figure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.way, self.path().strip_prefix("voice.")) {
            (Some(way), Some(score)) => write!(f, "voice.{}.{score}", way.field()),
            (Some(way), None) => write!(f, "{}.{}", way.field(), self.path()),
            (None, _) => f.write_str(&self.path()),
        }
    }
}
