//! Live delays of a measurement, read from its packet log while it grows.
//!
//! The document at the end is made from the same log. Here each round trip is evaluated once, as soon as the time stamps of both
//! ends are known. For one-way probes, the log has both ends only if the responder sends its log during the run. Otherwise only
//! the arrivals at this host are known.

mod one_way;

use std::collections::BTreeMap;
use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};

use romer_metrics::jitter::InterarrivalJitter;
use romer_metrics::summary;
use romer_record::document::{DelayKind, ProbeDirection, StreamWay, Synchronisation};
use romer_record::log::Entry;
use romer_record::manifest::{self, ClockRelation, StampRequest};
use romer_report::live::OneWayDelay;
use romer_singletons::WatchedDelays;
use romer_store::{LogFrame, LogReader, Run};
use romer_units::{Direction, Duration, Timestamp};
use schemars::JsonSchema;
use serde::Serialize;

use crate::emulation::TickSummary;
use one_way::{Arrives, OneWayState};

/// Values of one interval that are summarised: the last ones.
const SUMMARISED: usize = 4_096;
/// Probes of a stream that are waited for: beyond them the oldest is forgotten.
const AWAITED: usize = 65_536;

/// Results of a stream within an interval.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct LiveStream {
    /// Stream number, from 0.
    pub(crate) stream: u16,
    /// End of the interval, nanoseconds after the start of the measurement.
    elapsed_ns: i64,
    /// Kind of the one-way delays: absolute, or relative to the minimum so far. Relative delays still include
    /// the clock skew, which the final document removes.
    delay_kind: DelayKind,
    /// Forward direction (initiator to responder).
    pub(crate) forward: LiveWay,
    /// Reverse direction (responder to initiator).
    pub(crate) reverse: LiveWay,
    /// Round trip, without the processing time of the responder.
    pub(crate) round_trip: LiveWay,
    /// Times between arrivals at this host, nanoseconds.
    inter_arrival_ns: TickSummary,
}

/// Results of one direction within an interval; empty if nothing is known yet.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct LiveWay {
    /// Delays of the packets that arrived within the interval, nanoseconds.
    delay_ns: TickSummary,
    /// Interarrival jitter (RFC 3550, section 6.4.1) since the start, nanoseconds.
    jitter_rfc3550_ns: Option<f64>,
    /// One-way packets since the start that are due: a later one has arrived, or, if they arrive at this host, they
    /// left two seconds before the last. `null` for round trips, and before the other host has reported any.
    sent: Option<u64>,
    /// Packets counted by `sent` that are known to have arrived.
    arrived: Option<u64>,
}

impl LiveStream {
    /// From here to the other end.
    pub const fn forward(&self) -> &LiveWay {
        &self.forward
    }

    /// From the other end to here.
    pub const fn reverse(&self) -> &LiveWay {
        &self.reverse
    }

    /// There and back, without the time at the other end.
    pub const fn round_trip(&self) -> &LiveWay {
        &self.round_trip
    }

    /// What is known of each way of packets that go one way: there and here.
    pub fn ways(&self) -> [OneWayDelay; 2] {
        [&self.forward, &self.reverse].map(|way| OneWayDelay {
            median: way.delay_ns.median,
            jitter: way.jitter_rfc3550_ns,
            counts: way.counts(),
            above_least: self.is_above_least(),
        })
    }

    /// The same as it stands in a line of `--json-lines`; `None` of a way of which nothing is known.
    pub fn to_stream(&self) -> [Option<StreamWay>; 2] {
        [&self.forward, &self.reverse].map(|way| {
            let is_known = way.delay_ns.count() > 0 || way.jitter_rfc3550_ns.is_some() || way.sent.is_some();
            is_known.then_some(StreamWay {
                delay_kind: self.delay_kind,
                delays: way.delay_ns.count(),
                delay_median_ns: way.delay_ns.median,
                delay_p99_ns: way.delay_ns.p99,
                jitter_rfc3550_ns: way.jitter_rfc3550_ns,
                sent: way.sent,
                arrived: way.arrived,
            })
        })
    }

    /// Whether the delays of one way are above the least that came so far, rather than absolute.
    pub fn is_above_least(&self) -> bool {
        self.delay_kind == DelayKind::Variable
    }

    /// Median and greatest time between arrivals here.
    pub(crate) const fn between(&self) -> [Option<f64>; 2] {
        [self.inter_arrival_ns.median, self.inter_arrival_ns.max]
    }
}

impl LiveWay {
    /// Median and 99 % quantile of the delays, nanoseconds.
    pub const fn quantiles(&self) -> [Option<f64>; 2] {
        [self.delay_ns.median, self.delay_ns.p99]
    }

    /// Interarrival jitter (RFC 3550) so far, nanoseconds.
    pub const fn jitter(&self) -> Option<f64> {
        self.jitter_rfc3550_ns
    }

    /// One-way packets so far of which it is time that they have arrived, and those that have.
    pub fn counts(&self) -> Option<[u64; 2]> {
        self.sent.zip(self.arrived).map(<[u64; 2]>::from)
    }
}

/// A probe of which something is missing yet.
#[derive(Clone, Copy, Debug, Default)]
struct PendingProbe {
    user_ns: Option<i64>,
    kernel_ns: Option<i64>,
    back: Option<Back>,
}

/// What a reflection brings.
#[derive(Clone, Copy, Debug)]
struct Back {
    there_ns: Option<(i64, i64)>,
    here_ns: i64,
}

struct LiveStreamState {
    /// Of probes that go one way: there and here.
    one_way: Option<[OneWayState; 2]>,
    kernel: bool,
    awaited: BTreeMap<u64, PendingProbe>,
    /// Whether the kernel tells when probes leave.
    stamped: bool,
    forward: WatchedDelays,
    reverse: WatchedDelays,
    round_trips: Vec<i64>,
    round_trip_jitter: InterarrivalJitter,
    last_arrival: Option<i64>,
    between: Vec<i64>,
}

impl LiveStreamState {
    fn new(way: ProbeDirection, relation: ClockRelation, stamps: StampRequest) -> Self {
        // A network card's are not known yet while it runs.
        let kernel = stamps != StampRequest::User;
        let of = |arrives| OneWayState::new(arrives, relation, kernel);
        Self {
            one_way: (way != ProbeDirection::RoundTrip).then(|| [of(Arrives::There), of(Arrives::Here)]),
            kernel,
            awaited: BTreeMap::new(),
            stamped: false,
            forward: WatchedDelays::new(relation),
            reverse: WatchedDelays::new(relation),
            round_trips: Vec::new(),
            round_trip_jitter: InterarrivalJitter::default(),
            last_arrival: None,
            between: Vec::new(),
        }
    }

    fn from_manifest(stream: &manifest::Stream) -> Self {
        let own = Self::new(stream.traffic.direction, stream.clock_relation, stream.stamp_request);
        own.with_synchronisation(stream.skew.synchronisation.as_ref())
    }

    /// Of clocks that are stated to be synchronised.
    fn with_synchronisation(self, stated: Option<&Synchronisation>) -> Self {
        Self {
            one_way: self.one_way.map(|ways| ways.map(|way| way.with_synchronisation(stated))),
            forward: self.forward.with_synchronisation(stated, Direction::Forward),
            reverse: self.reverse.with_synchronisation(stated, Direction::Reverse),
            ..self
        }
    }

    /// What the one-way delays are: absolute if those of both directions are.
    fn delay_kind(&self) -> DelayKind {
        let kinds = match &self.one_way {
            Some(ways) => ways.each_ref().map(OneWayState::kind),
            None => [self.forward.kind(), self.reverse.kind()],
        };
        if kinds == [DelayKind::Absolute; 2] { DelayKind::Absolute } else { DelayKind::Variable }
    }

    fn take(&mut self, entry: &Entry) {
        match &mut self.one_way {
            Some(ways) => Self::take_half(ways, entry),
            None => self.take_round_trip(entry),
        }
        if let Entry::Came { user_ns, kernel_ns, .. } = *entry {
            self.arrived(kernel_ns.unwrap_or(user_ns));
        }
    }

    fn take_half([there, here]: &mut [OneWayState; 2], entry: &Entry) {
        match *entry {
            Entry::Sent { sequence, user_ns, .. } => there.sent(sequence, user_ns),
            Entry::SentStamp { sequence, kernel_ns } => there.stamped(sequence, kernel_ns),
            Entry::Far(far) => there.came(far.sequence, far.t2_user_ns, far.t2_kernel_ns),
            Entry::FarSent(sent) => here.record_departure(&sent),
            Entry::Came { sequence, user_ns, kernel_ns, .. } => here.came(sequence, user_ns, kernel_ns),
            Entry::NotSent { .. } | Entry::Returned { .. } | Entry::Card(_) => {}
        }
    }

    fn take_round_trip(&mut self, entry: &Entry) {
        match *entry {
            Entry::Sent { sequence, user_ns, .. } => {
                self.probe(sequence, |probe| probe.user_ns = Some(user_ns));
            }
            Entry::SentStamp { sequence, kernel_ns } if self.kernel => {
                self.stamped = true;
                self.probe(sequence, |probe| probe.kernel_ns = Some(kernel_ns));
            }
            Entry::Returned { sequence, user_ns, kernel_ns, told_t2_ns, told_t3_ns, .. } => {
                let here_ns = kernel_ns.filter(|_| self.kernel).unwrap_or(user_ns);
                self.arrived(here_ns);
                let back = Back { there_ns: told_t2_ns.zip(told_t3_ns), here_ns };
                // Of several copies the first.
                self.probe(sequence, |probe| probe.back = probe.back.or(Some(back)));
            }
            // What is shown live is of the kernel's stamps; the document has the cards'.
            _ => {}
        }
    }

    fn arrived(&mut self, at: i64) {
        if let Some(last) = self.last_arrival.replace(at) {
            self.between.push(at.saturating_sub(last));
        }
    }

    /// Changes what is known of a probe; one of which both departures are known is taken in.
    fn probe(&mut self, sequence: u64, change: impl FnOnce(&mut PendingProbe)) {
        let probe = self.awaited.entry(sequence).or_default();
        change(probe);
        if let (Some(_), Some(departure), Some(back)) = (probe.user_ns, probe.kernel_ns, probe.back) {
            self.awaited.remove(&sequence);
            self.passed(departure, back);
        } else if self.awaited.len() > AWAITED {
            self.awaited.pop_first();
        }
    }

    fn passed(&mut self, departure: i64, back: Back) {
        let there = back.there_ns.map_or(0, |(came, left)| left.saturating_sub(came));
        let round_trip = back.here_ns.saturating_sub(departure).saturating_sub(there);
        self.round_trips.push(round_trip);
        self.round_trip_jitter.take(round_trip);
        if let Some((came, left)) = back.there_ns {
            let whole = Some(Duration::from_nanos(round_trip));
            self.forward.take(Timestamp::from_nanos(departure), Timestamp::from_nanos(came), whole);
            self.reverse.take(Timestamp::from_nanos(left), Timestamp::from_nanos(back.here_ns), whole);
        }
    }

    /// Where the kernel does not tell when probes leave, the program's own stamps have to do.
    fn settle(&mut self) {
        if self.stamped {
            return;
        }
        let whole = self.awaited.iter().filter_map(|(sequence, probe)| {
            probe.user_ns.zip(probe.back).map(|(departure, back)| (*sequence, departure, back))
        });
        let mut whole: Vec<_> = whole.collect();
        whole.sort_by_key(|(_, _, back)| back.here_ns);
        for (sequence, departure, back) in whole {
            self.awaited.remove(&sequence);
            self.passed(departure, back);
        }
    }

    fn interval(&mut self, stream: u16, elapsed_ns: i64) -> LiveStream {
        self.settle();
        if self.delay_kind() == DelayKind::Variable {
            // What one direction contradicts holds for neither.
            self.one_way.iter_mut().flatten().for_each(OneWayState::withdraw_synchronisation);
            self.forward.withdraw_synchronisation();
            self.reverse.withdraw_synchronisation();
        }
        let of = |delays: &[i64], jitter_rfc3550_ns| LiveWay {
            delay_ns: last(delays),
            jitter_rfc3550_ns,
            sent: None,
            arrived: None,
        };
        let [forward, reverse] = match &mut self.one_way {
            Some(ways) => ways.each_mut().map(OneWayState::interval),
            None => [&mut self.forward, &mut self.reverse].map(|way| of(&way.fresh(), way.jitter())),
        };
        let told = LiveStream {
            stream,
            elapsed_ns,
            delay_kind: self.delay_kind(),
            forward,
            reverse,
            round_trip: of(&self.round_trips, self.round_trip_jitter.value()),
            inter_arrival_ns: last(&self.between),
        };
        self.round_trips.clear();
        self.between.clear();
        told
    }
}

fn last(values: &[i64]) -> TickSummary {
    (&summary(values.get(values.len().saturating_sub(SUMMARISED)..).unwrap_or_default())).into()
}

/// Follows the packet log of a run that is being measured.
pub struct Follower {
    folder: PathBuf,
    log: Option<LogReader<BufReader<File>>>,
    streams: BTreeMap<u16, LiveStreamState>,
}

impl Follower {
    /// Of the run in this folder.
    pub fn new(folder: &Path) -> Self {
        Self { folder: folder.to_path_buf(), log: None, streams: BTreeMap::new() }
    }

    /// What came of the stream since it was asked for last; `None` where the log cannot be read.
    pub fn interval(&mut self, stream: u16, elapsed_ns: i64) -> Option<LiveStream> {
        self.read()?;
        self.streams.get_mut(&stream).map(|one| one.interval(stream, elapsed_ns))
    }

    fn read(&mut self) -> Option<()> {
        if self.log.as_ref().is_none_or(|log| log.good_octets() == 0) {
            let run = Run::open(&self.folder).ok()?;
            self.streams = (0..)
                .zip(&run.manifest().streams)
                .map(|(number, stream)| (number, LiveStreamState::from_manifest(stream)))
                .collect();
            self.log = LogReader::open(&run.log_path()).ok();
        }
        let log = self.log.as_mut()?;
        log.go_on().ok()?;
        while let Some(frame) = log.next_frame().ok()? {
            let LogFrame::Entries(entries) = frame else { continue };
            for (number, entry) in entries {
                if let Some(stream) = self.streams.get_mut(&number) {
                    stream.take(&entry);
                }
            }
        }
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use romer_record::log::{ResponderDeparture, ResponderRecord};

    use super::*;

    /// The other end's clock is an hour ahead.
    const AHEAD: i64 = 3_600_000_000_000;

    fn sent(sequence: u64, at: i64) -> [Entry; 2] {
        let kernel_ns = at + 40;
        [
            Entry::Sent { sequence, size: 64, wake_error_ns: 0, user_ns: at },
            Entry::SentStamp { sequence, kernel_ns },
        ]
    }

    fn back(sequence: u64, departure: i64, there: i64, here: i64) -> Entry {
        let came = departure + 40 + there + AHEAD;
        Entry::Returned {
            sequence,
            user_ns: came - AHEAD + 500 + here + 900,
            kernel_ns: Some(came - AHEAD + 500 + here),
            told_t2_ns: Some(came),
            told_t3_ns: Some(came + 500),
            ttl: None,
            tos: None,
            told_ttl: None,
            reply_number: None,
        }
    }

    fn state_of(entries: &[Entry]) -> LiveStreamState {
        let mut stream =
            LiveStreamState::new(ProbeDirection::RoundTrip, ClockRelation::Unknown, StampRequest::Best);
        entries.iter().for_each(|entry| stream.take(entry));
        stream
    }

    fn maxima(told: &LiveStream) -> serde_json::Value {
        let whole = serde_json::to_value(told).unwrap();
        let max = |way: &str| whole[way]["delay_ns"]["max"].clone();
        serde_json::json!([max("forward"), max("reverse"), max("round_trip")])
    }

    /// One-way delays are relative to their minimum; round-trip delays are absolute.
    #[test]
    fn one_way_delays_are_above_the_minimum() {
        let delays = [(1_000, 7_000), (1_300, 7_050), (1_100, 7_200)];
        let mut entries = Vec::new();
        for (sequence, (there, here)) in (0u64..).zip(delays) {
            let at = 100_000 * i64::try_from(sequence).unwrap();
            entries.extend(sent(sequence, at));
            entries.push(back(sequence, at, there, here));
        }
        let told = state_of(&entries).interval(0, 5);
        assert_eq!(maxima(&told), serde_json::json!([300.0, 200.0, 8_350.0]));
        assert_eq!(told.inter_arrival_ns.count(), 2);
        // |D| of 300 and 200 there, 50 and 150 back.
        let jitter = |first: f64, second: f64| first / 16.0 + (second - first / 16.0) / 16.0;
        assert_eq!(told.forward.jitter_rfc3550_ns, Some(jitter(300.0, 200.0)));
        assert_eq!(told.reverse.jitter_rfc3550_ns, Some(jitter(50.0, 150.0)));
    }

    /// Delays of synchronised clocks are absolute; a packet that arrives before it leaves makes both directions relative.
    #[test]
    fn synchronised_clocks_give_absolute_delays() {
        let interval = |offset_ns| {
            let mut stream =
                LiveStreamState::new(ProbeDirection::RoundTrip, ClockRelation::Unknown, StampRequest::Best)
                    .with_synchronisation(Some(&Synchronisation::by_user(1_000, offset_ns)));
            for (sequence, (there, here)) in (0u64..).zip([(1_000, 7_000), (1_300, 7_050)]) {
                let at = 100_000 * i64::try_from(sequence).unwrap();
                sent(sequence, at).iter().for_each(|entry| stream.take(entry));
                stream.take(&back(sequence, at, there, here));
            }
            stream.interval(0, 5)
        };
        let told = interval(AHEAD);
        assert_eq!(maxima(&told), serde_json::json!([1_300.0, 7_050.0, 8_350.0]));
        assert!(!told.is_above_least());
        let told = interval(0);
        assert_eq!(maxima(&told), serde_json::json!([300.0, 50.0, 8_350.0]));
        assert!(told.is_above_least());
    }

    /// The order of log entries from different threads changes nothing.
    #[test]
    fn entry_order_is_irrelevant() {
        let [departure, stamp] = sent(0, 0);
        let arrival = back(0, 0, 1_000, 7_000);
        for entries in [[departure, stamp, arrival], [arrival, departure, stamp], [stamp, arrival, departure]]
        {
            let mut stream = state_of(&entries);
            assert_eq!(maxima(&stream.interval(0, 0)), serde_json::json!([0.0, 0.0, 8_000.0]));
            assert!(stream.awaited.is_empty());
        }
    }

    /// Without kernel stamps the user-space stamps are used; both are never mixed.
    #[test]
    fn user_stamps_replace_missing_kernel_stamps() {
        let [departure, stamp] = sent(0, 0);
        let mut alone = state_of(&[departure, back(0, 0, 1_000, 7_000)]);
        assert_eq!(alone.interval(0, 0).round_trip.delay_ns.count(), 1);
        let [second, _] = sent(1, 100_000);
        let mut both =
            state_of(&[departure, stamp, back(0, 0, 1_000, 7_000), second, back(1, 100_000, 1_000, 7_000)]);
        assert_eq!(both.interval(0, 0).round_trip.delay_ns.count(), 1, "the second waits for its stamp");
    }

    #[test]
    fn a_packet_that_comes_twice_counts_once() {
        let mut entries = sent(0, 0).to_vec();
        entries.extend([back(0, 0, 1_000, 7_000), back(0, 0, 1_000, 9_000)]);
        let told = state_of(&entries).interval(0, 0);
        assert_eq!(told.round_trip.delay_ns.count(), 1);
    }

    /// Streams of both directions have separate delays and losses, although their numbers are equal.
    #[test]
    fn directions_are_separate() {
        let mut stream =
            LiveStreamState::new(ProbeDirection::Both, ClockRelation::Shared, StampRequest::Best);
        let came = |sequence, at| Entry::Came {
            sequence,
            size: 64,
            user_ns: at + 9,
            kernel_ns: Some(at),
            ttl: None,
            tos: None,
        };
        for sequence in 0..3 {
            sent(sequence, 0).iter().for_each(|entry| stream.take(entry));
        }
        [came(0, 1_000), came(1, 3_000)].iter().for_each(|entry| stream.take(entry));
        let told = stream.interval(0, 0);
        let counts = |told: &LiveStream| [&told.forward, &told.reverse].map(LiveWay::counts);
        assert_eq!((told.inter_arrival_ns.count(), told.forward.delay_ns.count()), (1, 0));
        assert_eq!(counts(&told), [None, None], "the other end has told nothing");
        let far = |sequence, at| {
            Entry::Far(ResponderRecord {
                sequence,
                t2_user_ns: at + 9,
                t2_kernel_ns: Some(at),
                ..ResponderRecord::default()
            })
        };
        let left = |sequence, at| {
            Entry::FarSent(ResponderDeparture {
                sequence,
                user_ns: at - 9,
                kernel_ns: Some(at),
                ..ResponderDeparture::default()
            })
        };
        [far(0, 5_040), far(2, 6_040), left(0, 300), left(1, 900)]
            .iter()
            .for_each(|entry| stream.take(entry));
        let told = stream.interval(0, 1);
        assert_eq!(maxima(&told), serde_json::json!([6_000.0, 2_100.0, null]));
        assert_eq!(counts(&told), [Some([3, 2]), Some([2, 2])]);
        assert!(told.forward.jitter_rfc3550_ns.is_some() && told.reverse.jitter_rfc3550_ns.is_some());
        assert!(!told.is_above_least());
    }

    /// If user-space stamps are requested, kernel stamps are ignored.
    #[test]
    fn requested_user_stamps_are_used() {
        let [departure, stamp] = sent(0, 0);
        let arrival = back(0, 0, 1_000, 7_000);
        let of = |asked| {
            let mut stream = LiveStreamState::new(ProbeDirection::RoundTrip, ClockRelation::Unknown, asked);
            [departure, stamp, arrival].iter().for_each(|entry| stream.take(entry));
            maxima(&stream.interval(0, 0))[2].clone()
        };
        assert_eq!([of(StampRequest::Best), of(StampRequest::User)], [8_000.0, 8_940.0]);
    }
}
