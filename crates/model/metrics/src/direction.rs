//! All of a direction's statistics, in the document that other programs read.

use romer_record::document::{
    DelayKind, DirectionResults, DscpSeen, Duplicates, EcnSeen, Histogram, Packets, Summary,
};
use romer_record::{Fate, OneWaySingleton};
use romer_units::{Dscp, Ecn};

use crate::header_counters::{HeaderCounters, ttl_changes};
use crate::histogram;
use crate::ipdv_interval::{self, Differences};
use crate::loss_pattern;
use crate::reordering;
use crate::sample::{
    self, departure_errors, duplicate_spacings, gaps_between_departures, in_order_of_arrival, received, sent,
    spacings_of,
};
use crate::sort;
use crate::summary::{Made, summary_made, summary_of};
use crate::value::Whole;
use crate::whole_numbers::WholeNumbers;
use crate::{jitter, loss, mean_deviation, summary};

/// What the singletons themselves do not say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DirectionContext {
    /// What the delays are.
    pub delay_kind: DelayKind,
    /// The singletons hold every packet that was sent in this direction. Where packets may have been sent and lost
    /// of which nothing is known, it cannot be said how many were sent, or lost.
    pub complete: bool,
    /// What is known of the number of the lost where it is not known of each packet whether it was.
    pub lost: Option<KnownLost>,
    /// The sequence numbers and the arrival stamps are of one order. Where the stamps that either follows from are refused, it is not known
    /// whether a packet was reordered.
    pub ordered: bool,
    /// Further copies were made in this direction. False where some may have been made in the other.
    pub copies_attributed: bool,
    /// Packets that the sending host refused to send; `None` where it does not say.
    pub not_sent: Option<u64>,
    /// The code point with which the packets were sent; `None` where it is not known.
    pub dscp_sent: Option<Dscp>,
    /// The ECN bits with which the packets were sent; `None` where they are not known.
    pub ecn_sent: Option<Ecn>,
}

/// How many packets were not received, those that a host dropped or that were in flight among them, where of some it is not known whether they did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KnownLost {
    /// So many.
    Exactly(u64),
    /// So many or more.
    AtLeast(u64),
}

impl KnownLost {
    const fn least(self) -> u64 {
        match self {
            Self::Exactly(lost) | Self::AtLeast(lost) => lost,
        }
    }
}

/// A part of a direction's statistics, which is computed by itself: those who have several processors compute several at
/// once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// Delays, what they lie above the least, and how far from their mean.
    Delays,
    /// What depends on the order and the moments of the arrivals.
    Arrivals,
    /// The differences of neighbours' delays.
    Differences,
    /// The differences of neighbours' spacings.
    Spacings,
    /// Times between departures.
    Departures,
    /// How late packets left.
    DepartureErrors,
    /// Counts, and what the packets carried.
    Counts,
}

impl Part {
    /// All, those that take longest first.
    pub const ALL: [Self; 7] = [
        Self::Delays,
        Self::Arrivals,
        Self::Differences,
        Self::Spacings,
        Self::Departures,
        Self::DepartureErrors,
        Self::Counts,
    ];

    /// Computes it. `singletons` are in order of sequence and copy.
    pub fn compute(self, singletons: &[OneWaySingleton], context: &DirectionContext) -> PartResult {
        let mut direction = DirectionResults::default();
        match self {
            Self::Delays => match sample::each_delay(singletons).collect() {
                WholeNumbers::Narrow(delays) => of_delays(delays, context.delay_kind, &mut direction),
                WholeNumbers::Wide(delays) => of_delays(delays, context.delay_kind, &mut direction),
            },
            Self::Arrivals => of_arrivals(singletons, context.ordered, &mut direction),
            Self::Differences => of_differences(singletons, &mut direction),
            Self::Spacings => {
                let differences: WholeNumbers = jitter::each_inter_arrival_difference(singletons).collect();
                direction.jitter_ns.inter_arrival_difference = from_zero(differences.of_neighbours(2));
            }
            Self::Departures => {
                let (summary, histogram) = gaps_between_departures::<WholeNumbers>(singletons).described();
                direction.inter_departure_ns = from_zero(summary);
                direction.histograms.inter_departure = histogram;
            }
            Self::DepartureErrors => direction.departure_error_ns = departure_error(singletons),
            Self::Counts => of_counts(singletons, context, &mut direction),
        }
        PartResult { part: self, direction: Box::new(direction) }
    }
}

/// A part that was computed.
#[derive(Clone, Debug)]
pub struct PartResult {
    part: Part,
    direction: Box<DirectionResults>,
}

impl PartResult {
    /// Puts it where it belongs.
    pub fn put(self, whole: &mut DirectionResults) {
        let one = *self.direction;
        match self.part {
            Part::Delays => {
                (whole.delay_kind, whole.delay_ns, whole.pdv_ns) = (one.delay_kind, one.delay_ns, one.pdv_ns);
                whole.histograms.delay = one.histograms.delay;
                whole.jitter_ns.peak_to_peak = one.jitter_ns.peak_to_peak;
                whole.jitter_ns.deviation_from_mean = one.jitter_ns.deviation_from_mean;
            }
            Part::Arrivals => {
                whole.packets.reordered = one.packets.reordered;
                whole.reordering = one.reordering;
                (whole.ttl.changes, whole.ttl.changes_all) = (one.ttl.changes, one.ttl.changes_all);
                whole.jitter_ns.rfc3550 = one.jitter_ns.rfc3550;
                whole.jitter_ns.inter_arrival_difference_in_order_of_arrival =
                    one.jitter_ns.inter_arrival_difference_in_order_of_arrival;
                whole.inter_arrival_ns = one.inter_arrival_ns;
                whole.histograms.inter_arrival = one.histograms.inter_arrival;
            }
            Part::Differences => {
                whole.ipdv_ns = one.ipdv_ns;
                whole.jitter_ns.delay_difference = one.jitter_ns.delay_difference;
                whole.histograms.jitter = one.histograms.jitter;
            }
            Part::Spacings => {
                whole.jitter_ns.inter_arrival_difference = one.jitter_ns.inter_arrival_difference;
            }
            Part::Departures => {
                whole.inter_departure_ns = one.inter_departure_ns;
                whole.histograms.inter_departure = one.histograms.inter_departure;
            }
            Part::DepartureErrors => whole.departure_error_ns = one.departure_error_ns,
            Part::Counts => {
                whole.packets = Packets { reordered: whole.packets.reordered, ..one.packets };
                whole.ttl.min = one.ttl.min;
                whole.ttl.max = one.ttl.max;
                (whole.loss, whole.duplicates) = (one.loss, one.duplicates);
                (whole.dscp, whole.ecn) = (one.dscp, one.ecn);
            }
        }
    }
}

/// The statistics of one direction. `singletons` are in order of sequence and copy.
pub fn direction(singletons: &[OneWaySingleton], context: &DirectionContext) -> DirectionResults {
    let mut direction = DirectionResults::default();
    // One after the other: of a long run each takes room.
    Part::ALL.into_iter().for_each(|part| part.compute(singletons, context).put(&mut direction));
    direction
}

/// A sample in the order in which it was measured, and in order of size.
struct Sample<V> {
    series: Vec<V>,
    sorted: Vec<V>,
}

impl<V: Whole> Sample<V> {
    fn from_series(series: Vec<V>) -> Self {
        let sorted = sort::ascending(&series);
        Self { series, sorted }
    }

    fn summary(&self) -> Summary {
        summary_of(&self.series[..], &self.sorted[..])
    }

    fn histogram(&self) -> Histogram {
        histogram::of_sorted(&self.sorted)
    }
}

/// Figures of what cannot be below zero: neither can its mean be, which the intervals of a few large values among small ones do not
/// know.
fn from_zero(mut summary: Summary) -> Summary {
    if let Some([low, high]) = &mut summary.mean_interval {
        (*low, *high) = (low.max(0.0), high.max(0.0));
    }
    summary
}

/// What is counted.
fn of_counts(singletons: &[OneWaySingleton], context: &DirectionContext, direction: &mut DirectionResults) {
    let pattern = loss_pattern(singletons).filter(|_| context.complete);
    let seen = HeaderCounters::count(singletons);
    let fates = Fates::count(singletons);
    let packets = packets(singletons, &fates, context);
    let lost = pattern.as_ref().map(|pattern| pattern.lost as u64);
    let (late, unobserved) = (fates.late, fates.instrument_drops + fates.in_flight);
    let counted = match context.lost {
        Some(KnownLost::Exactly(lost)) if pattern.is_none() && context.complete => {
            Some(lost.saturating_sub(unobserved) + late)
        }
        _ => None,
    };
    let judged = packets.sent.map(|sent| sent.saturating_sub(fates.in_flight));
    direction.loss = match counted.zip(judged) {
        Some((lost, sent)) => loss::of_number(lost, sent),
        None => loss::document(pattern.as_ref()),
    };
    let lost = lost.or(counted);
    let least = || {
        let known = fates.lost + late;
        let told = context.lost.map_or(0, |lost| lost.least().saturating_sub(unobserved) + late);
        Some(known.max(told)).filter(|least| *least > 0)
    };
    // Of those of which it is not known, the rest arrived.
    let received =
        counted.zip(packets.sent).map(|(lost, sent)| sent.saturating_sub(lost).saturating_sub(unobserved));
    let received = received.or(packets.received);
    direction.packets = Packets {
        lost,
        received,
        received_at_least: lost.is_none() && received > Some(0),
        lost_at_least: if lost.is_none() { least() } else { None },
        ..packets
    };
    if context.copies_attributed {
        direction.duplicates = Duplicates { spacing_ns: from_zero(summary(&duplicate_spacings(singletons))) };
    }
    direction.dscp = DscpSeen { sent: context.dscp_sent.map(Dscp::value), received: seen.dscp() };
    direction.ecn = EcnSeen { sent: context.ecn_sent.map(|ecn| ecn.to_string()), received: seen.ecn() };
    direction.ttl = seen.ttl(Vec::new());
}

fn departure_error(singletons: &[OneWaySingleton]) -> Option<Summary> {
    let errors: WholeNumbers = departure_errors(singletons).collect();
    (!errors.is_empty()).then(|| errors.summary())
}

/// What follows from the delays by themselves.
fn of_delays<V: Whole>(series: Vec<V>, kind: DelayKind, direction: &mut DirectionResults) {
    let mut delays = Sample::from_series(series);
    direction.delay_kind = (!delays.series.is_empty()).then_some(kind);
    direction.delay_ns = delays.summary();
    direction.histograms.delay = delays.histogram();
    let (least, greatest) = (delays.sorted.first().copied(), delays.sorted.last().copied());
    let peak = least.zip(greatest).map(|(least, greatest)| greatest.less(least));
    direction.jitter_ns.peak_to_peak = summary(&Vec::from_iter(peak));
    direction.jitter_ns.deviation_from_mean =
        from_zero(mean_deviation::of_delays(&delays.series, &delays.sorted));
    // What they lie above the least is in the same order.
    let least = least.unwrap_or_default();
    for values in [&mut delays.series, &mut delays.sorted] {
        values.iter_mut().for_each(|delay| *delay = delay.less(least));
    }
    direction.pdv_ns = from_zero(delays.summary());
}

/// What follows from the differences of neighbours' delays.
fn of_differences(singletons: &[OneWaySingleton], direction: &mut DirectionResults) {
    let mut found = Differences::between_neighbours(singletons);
    match std::mem::take(&mut found.values) {
        WholeNumbers::Narrow(values) => of_signed_differences(values, direction),
        WholeNumbers::Wide(values) => of_signed_differences(values, direction),
    }
    direction.ipdv_ns.mean_interval = found.interval(singletons, &direction.ipdv_ns);
}

fn of_signed_differences<V: Whole>(values: Vec<V>, direction: &mut DirectionResults) {
    let mut differences = Sample::from_series(values);
    direction.ipdv_ns = differences.summary();
    for values in [&mut differences.series, &mut differences.sorted] {
        values.iter_mut().for_each(|difference| *difference = difference.size());
    }
    differences.sorted = sort::of_valley(&differences.sorted, |a, b| a < b);
    let Sample { series, sorted } = &differences;
    direction.jitter_ns.delay_difference =
        from_zero(summary_made(&series[..], &sorted[..], Made { lags: 1, centre: None }));
    direction.histograms.jitter = differences.histogram();
}

/// What follows from the order and the moments of the arrivals.
fn of_arrivals(singletons: &[OneWaySingleton], ordered: bool, direction: &mut DirectionResults) {
    let arrived = in_order_of_arrival(singletons);
    let is_known = ordered && (!arrived.is_empty() || received(singletons).next().is_none());
    if is_known {
        let reordered = reordering::of_arrivals(arrived.iter().map(|singleton| singleton.sequence));
        direction.packets.reordered = Some(reordered.len() as u64);
        direction.reordering = reordering::document(&reordered, arrived.len());
        let differences = || jitter::second_differences(&arrived).collect::<WholeNumbers>();
        direction.jitter_ns.inter_arrival_difference_in_order_of_arrival =
            (!reordered.is_empty()).then(|| from_zero(differences().of_neighbours(2)));
    }
    direction.ttl.list(ttl_changes(singletons));
    direction.jitter_ns.rfc3550 = jitter::rfc3550_in_order(&arrived);
    let spacings: WholeNumbers = spacings_of(&arrived).collect();
    let error = ipdv_interval::error_of_mean_spacing(&arrived);
    drop(arrived);
    (direction.inter_arrival_ns, direction.histograms.inter_arrival) = spacings.described();
    let told = direction.inter_arrival_ns.mean.zip(error);
    if let Some(interval) = told.and_then(|(mean, error)| ipdv_interval::around(mean, error)) {
        direction.inter_arrival_ns.mean_interval = Some(interval);
    }
    direction.inter_arrival_ns = from_zero(std::mem::take(&mut direction.inter_arrival_ns));
}

/// How many packets that were sent had which fate.
#[derive(Default)]
struct Fates {
    arrived: u64,
    late: u64,
    lost: u64,
    instrument_drops: u64,
    in_flight: u64,
    unknown: u64,
}

impl Fates {
    fn count(singletons: &[OneWaySingleton]) -> Self {
        let mut fates = Self::default();
        for singleton in sent(singletons) {
            *match singleton.fate {
                Fate::Arrived => &mut fates.arrived,
                Fate::Late => &mut fates.late,
                Fate::Lost => &mut fates.lost,
                Fate::InstrumentDrop => &mut fates.instrument_drops,
                Fate::InFlight => &mut fates.in_flight,
                Fate::Unknown => &mut fates.unknown,
            } += 1;
        }
        fates
    }
}

/// The counts that need no pattern. Lateness is a matter of the whole delay, and is not known where only its
/// variable part is. Damage is not seen: the checksum of UDP drops it before us.
fn packets(singletons: &[OneWaySingleton], fates: &Fates, context: &DirectionContext) -> Packets {
    let &Fates { arrived, late, lost, instrument_drops, in_flight, unknown } = fates;
    let told = |count: u64| Some(count).filter(|count| context.complete && *count > 0);
    let mut duplicated = 0_u64;
    for copy in singletons.iter().filter(|singleton| singleton.copy > 0) {
        duplicated += u64::from(matches!(copy.fate, Fate::Arrived | Fate::Late));
    }
    Packets {
        sent: context.complete.then_some(arrived + late + lost + instrument_drops + in_flight + unknown),
        received: (arrived > 0 || unknown == 0).then_some(arrived),
        received_at_least: false,
        lost: None,
        lost_at_least: None,
        duplicated: context.copies_attributed.then_some(duplicated),
        reordered: None,
        instrument_drops: told(instrument_drops),
        in_flight: told(in_flight),
        // By the part above the least delay some may be known to be late, though others may be late as well.
        late: (context.delay_kind == DelayKind::Absolute || late > 0).then_some(late),
        corrupted: None,
        not_sent: context.not_sent,
    }
}
