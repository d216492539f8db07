//! What is told while a measurement goes on.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::Receiver;

use romer_clock::skew::{Estimator, Method, method_of, so_far};
use romer_host::clock;
use romer_metrics::summary;
use romer_record::document::{ClockSoFar, ProbeDirection, STREAM, StreamInterval, StreamReturn};
use romer_record::manifest::{ClockRelation, Stream};
use romer_record::note::Notice;
use romer_store::{LogThread, Watermark};
use romer_units::{Direction, Duration, Monotonic, Timestamp, saturating_sum};

use super::observer::Observer;
use super::one_way_so_far::OneWaySoFar;
use super::options::MeasureOptions;
use super::prepared::Prepared;
use super::receiving::LiveDelay;
use super::stream::Shared;
use super::telemetry::StreamTelemetry;

/// Delays that are remembered of one interval and stream; a faster stream's interval line is of these.
const MAX_DELAYS_PER_INTERVAL: usize = 65_536;

struct Watched {
    number: u16,
    /// One, or one for each direction.
    parts: Vec<Arc<Shared>>,
    target: String,
    delays: Vec<i64>,
    clocks: Option<Clocks>,
    /// Of round trips.
    one_way: Option<OneWaySoFar>,
    telemetry: Option<StreamTelemetry>,
}

/// The least and the greatest time between two estimates of a stream's clocks; between them it is a share of the time that
/// has passed, since what is known changes ever more slowly. An estimate takes a tenth of a second of this thread, which
/// paces nothing.
const ESTIMATED: [Duration; 2] = [Duration::from_secs(2), Duration::from_secs(30)];
const SHARE: i64 = 4;

/// The clocks of a stream whose ends are not known to share one.
struct Clocks {
    estimator: Estimator,
    next: Timestamp<Monotonic>,
    so_far: ClockSoFar,
}

impl Clocks {
    /// Of a stream whose packets tell all four stamps while it runs. What the other ways' packets tell of the far end's
    /// clock is known when its log is here.
    fn new(stream: &Stream, started: Timestamp<Monotonic>) -> Option<Self> {
        let two_way = stream.traffic.direction == ProbeDirection::RoundTrip;
        if !two_way || stream.clock_relation != ClockRelation::Unknown {
            return None;
        }
        let asked = method_of(&stream.skew);
        // What keeps every packet is for afterwards.
        let method = if asked.is_bounded() { asked } else { Method::Best };
        let estimator = Estimator::new(method, stream.skew.calibration);
        let so_far = so_far(&estimator);
        (asked != Method::None).then_some(Self { estimator, next: started + ESTIMATED[0], so_far })
    }

    /// The error of delays at `until_ns` after the first, relative to it, by the interval of the skew, nanoseconds.
    fn error_ns(&self, until_ns: f64) -> Option<f64> {
        let [low, high] = self.so_far.skew_interval_ppm?;
        Some((high - low) / 2.0 * 1e-6 * until_ns)
    }

    fn take(&mut self, seen: &LiveDelay) {
        let Some([t2, t3]) = seen.there_ns else { return };
        let [t1, t4] = seen.here_ns;
        self.estimator.push(Direction::Forward, Timestamp::from_nanos(t1), Timestamp::from_nanos(t2));
        self.estimator.push(Direction::Reverse, Timestamp::from_nanos(t3), Timestamp::from_nanos(t4));
    }
}

impl Watched {
    /// A reply that was just taken in.
    fn returned(&mut self, seen: &LiveDelay) -> StreamReturn {
        let [forward, reverse] =
            self.one_way.as_mut().map(|so_far| so_far.returned(seen)).unwrap_or_default();
        let clocks = self.clocks.as_ref();
        let by_skew = |so_far: &OneWaySoFar| clocks.and_then(|clocks| clocks.error_ns(so_far.until_ns()));
        let error_ns = |so_far: &OneWaySoFar| so_far.absolute_error_ns().or_else(|| by_skew(so_far));
        StreamReturn {
            schema: STREAM.into(),
            stream: self.number,
            sequence: seen.sequence,
            departure_ns: seen.here_ns[0],
            round_trip_delay_ns: seen.round_trip_ns,
            forward,
            reverse,
            skew_ppm: clocks.and_then(|clocks| clocks.so_far.skew_ppm),
            delay_error_ns: self.one_way.as_ref().filter(|_| seen.there_ns.is_some()).and_then(error_ns),
        }
    }
}

/// Collects what has happened since the last interval line.
pub(super) struct Live {
    streams: Vec<Watched>,
    seen: Receiver<LiveDelay>,
    kept: Arc<Watermark>,
    every: Duration,
    /// Each return is told.
    tells_returns: bool,
    started: Timestamp<Monotonic>,
    next: Timestamp<Monotonic>,
}

impl Live {
    pub(super) fn new(
        options: &MeasureOptions,
        streams: &[Prepared],
        seen: Receiver<LiveDelay>,
        log: &LogThread,
    ) -> Self {
        let started = clock::monotonic_now();
        let mut watched: Vec<Watched> = Vec::new();
        for stream in streams {
            let shared = Arc::clone(&stream.shared);
            match watched.iter_mut().find(|one| one.number == shared.number) {
                Some(one) => one.parts.push(shared),
                None => watched.push(Watched {
                    number: shared.number,
                    parts: vec![shared],
                    target: stream.manifest.target.clone(),
                    delays: Vec::new(),
                    clocks: Clocks::new(&stream.manifest, started),
                    one_way: one_way(&stream.manifest),
                    telemetry: telemetry(options, &stream.manifest),
                }),
            }
        }
        Self {
            streams: watched,
            seen,
            kept: Arc::clone(log.kept()),
            every: options.report_every,
            tells_returns: options.report_returns,
            started,
            next: started + options.report_every,
        }
    }

    /// How long may be waited until the next look, `look` at the longest: an interval's line is told when the interval is over.
    pub(super) fn pause(&self, look: Duration) -> Duration {
        pause(look, self.next - clock::monotonic_now())
    }

    /// Takes in what came, and tells it when the interval is over. Gives whether it was.
    pub(super) fn look(&mut self, observer: &mut dyn Observer) -> bool {
        while let Ok(seen) = self.seen.try_recv() {
            let Some(stream) = self.streams.get_mut(usize::from(seen.stream)) else { continue };
            if stream.delays.len() < MAX_DELAYS_PER_INTERVAL {
                stream.delays.push(seen.round_trip_ns);
            }
            if let Some(clocks) = &mut stream.clocks {
                clocks.take(&seen);
            }
            if let Some(one_way) = &mut stream.one_way {
                one_way.take(&seen);
            }
            if self.tells_returns {
                observer.on_return(&stream.returned(&seen));
            }
            if let Some(telemetry) = &mut stream.telemetry {
                telemetry.take(&seen);
            }
        }
        let now = clock::monotonic_now();
        let is_over = now >= self.next;
        if is_over {
            self.estimate(now, observer);
            self.report(now, observer);
            // A look that came late does not make the following ones late.
            while self.next <= now {
                self.next = self.next + self.every;
            }
        }
        is_over
    }

    /// Tells what is left.
    pub(super) fn last(&mut self, observer: &mut dyn Observer) {
        self.next = clock::monotonic_now();
        self.look(observer);
    }

    /// Estimates the clocks of the stream that has waited longest for it: of one, so that this thread is soon back. Tells where that
    /// moves earlier delays by more than their stated error.
    fn estimate(&mut self, now: Timestamp<Monotonic>, observer: &mut dyn Observer) {
        let known = self
            .streams
            .iter_mut()
            .filter_map(|stream| Some((stream.clocks.as_mut()?, &mut stream.one_way, stream.number)));
        let due = known.filter(|(clocks, ..)| clocks.next <= now);
        if let Some((clocks, one_way, number)) = due.min_by_key(|(clocks, ..)| clocks.next) {
            let stated = one_way.as_ref().and_then(|one_way| clocks.error_ns(one_way.until_ns()));
            clocks.so_far = so_far(&clocks.estimator);
            if let Some(one_way) = one_way {
                clocks.so_far.revision_ns = one_way.estimate(clocks.so_far.skew_ppm);
            }
            if let Some(notice) = revised(clocks.so_far.revision_ns, stated) {
                observer.on_note(number, &notice.into());
            }
            let share = Duration::from_nanos((now - self.started).as_nanos() / SHARE);
            clocks.next = now + share.clamp(ESTIMATED[0], ESTIMATED[1]);
        }
    }

    fn report(&mut self, now: Timestamp<Monotonic>, observer: &mut dyn Observer) {
        for stream in &mut self.streams {
            let sum = |count: fn(&Shared) -> u64| saturating_sum(stream.parts.iter().map(|part| count(part)));
            let sent = |part: &Shared| {
                // The responder sent at least the probes of which the fate is known.
                let sent = part.sent.load(Ordering::Acquire).max(if part.way == ProbeDirection::Reverse {
                    part.settled().0.probes
                } else {
                    0
                });
                sent.saturating_sub(part.not_sent.load(Ordering::Acquire))
            };
            if let (Some(telemetry), Some(one_way)) = (&stream.telemetry, &stream.one_way) {
                telemetry.take_one_way(one_way.absolute_error_ns().is_some(), || one_way.fresh());
            }
            let [forward, reverse] = stream.one_way.as_mut().map(OneWaySoFar::told).unwrap_or_default();
            let fates: Vec<_> = stream.parts.iter().map(|part| part.settled()).collect();
            let (sent, returned) = (sum(sent), sum(|part| part.returned.load(Ordering::Acquire)));
            if let Some(telemetry) = &mut stream.telemetry {
                let lost =
                    stream.parts.iter().zip(&fates).map(|(part, (settled, _))| (part.way, settled.lost));
                telemetry.take_totals(sent, returned, lost);
            }
            observer.on_interval(&StreamInterval {
                settled: saturating_sum(fates.iter().map(|(settled, _)| settled.probes)),
                lost: saturating_sum(fates.iter().map(|(settled, _)| settled.lost)),
                outstanding: saturating_sum(fates.iter().map(|(_, outstanding)| *outstanding)),
                schema: STREAM.into(),
                stream: stream.number,
                target: stream.target.clone(),
                elapsed_ns: (now - self.started).as_nanos(),
                sent,
                returned,
                durable_entries: self.kept.entries(),
                durable_sent: self.kept.sent(stream.number),
                round_trip_delay_ns: summary(&stream.delays),
                forward,
                reverse,
                clock: stream.clocks.as_ref().map(|clocks| clocks.so_far.clone()),
            });
            stream.delays.clear();
            // An estimate moves what was told before once.
            if let Some(clocks) = &mut stream.clocks {
                clocks.so_far.revision_ns = None;
            }
        }
    }
}

/// What is told where an estimate moves earlier delays by more than the error that was stated for them.
fn revised(revision_ns: Option<f64>, stated_ns: Option<f64>) -> Option<Notice> {
    let (revision_ns, error_ns) = revision_ns.zip(stated_ns)?;
    (revision_ns > error_ns).then_some(Notice::DelaysRevised { revision_ns, error_ns })
}

/// The one-way delays of a stream of round trips.
fn one_way(stream: &Stream) -> Option<OneWaySoFar> {
    let is_one_clock = stream.clock_relation != ClockRelation::Unknown;
    let synchronised = stream.skew.synchronisation.as_ref();
    (stream.traffic.direction == ProbeDirection::RoundTrip)
        .then(|| OneWaySoFar::new(is_one_clock, synchronised))
}

/// The metrics of a stream, where metrics follow the measurement.
fn telemetry(options: &MeasureOptions, stream: &Stream) -> Option<StreamTelemetry> {
    let telemetry = options.telemetry.as_ref()?;
    Some(StreamTelemetry::new(telemetry, &stream.target, options.direction, stream.clock_relation))
}

/// The shorter of a `look` and what is `left` of an interval, which may be over.
fn pause(look: Duration, left: Duration) -> Duration {
    left.max(Duration::from_millis(1)).min(look)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_that_ends_before_the_next_look_is_not_overslept() {
        let paused = |left| pause(Duration::from_millis(50), Duration::from_millis(left));
        assert_eq!([20, 70, -3].map(paused), [20, 50, 1].map(Duration::from_millis));
    }
    /// Earlier delays are revised where they move by more than their stated error, and not where none was stated.
    #[test]
    fn revisions_beyond_the_error_are_told() {
        let told = Notice::DelaysRevised { revision_ns: 5e3, error_ns: 4e3 };
        assert_eq!(revised(Some(5e3), Some(4e3)), Some(told));
        for (revision, stated) in [(Some(4e3), Some(4e3)), (Some(5e3), None), (None, Some(4e3))] {
            assert_eq!(revised(revision, stated), None);
        }
    }
    use romer_record::document::Traffic;
    use romer_record::manifest::SkewRequest;

    fn stream(way: ProbeDirection, relation: ClockRelation, method: &str) -> Stream {
        Stream {
            traffic: Traffic { direction: way, ..Traffic::default() },
            clock_relation: relation,
            skew: SkewRequest { method: method.into(), ..SkewRequest::default() },
            ..romer_testing::stream()
        }
    }

    #[test]
    fn clocks_are_followed_where_packets_tell_of_two() {
        let begin = Timestamp::from_nanos(0);
        let of = |way, relation, method: &str| Clocks::new(&stream(way, relation, method), begin);
        assert!(of(ProbeDirection::RoundTrip, ClockRelation::Shared, "best").is_none(), "they are one");
        assert!(
            of(ProbeDirection::Forward, ClockRelation::Unknown, "best").is_none(),
            "the far end's log comes afterwards"
        );
        assert!(of(ProbeDirection::RoundTrip, ClockRelation::Unknown, "none").is_none(), "nobody asked");
        let kept = of(ProbeDirection::RoundTrip, ClockRelation::Unknown, "least-absolute").unwrap();
        assert_eq!(kept.so_far.method, "piecewise", "what keeps every packet is for afterwards");
        let mut clocks = of(ProbeDirection::RoundTrip, ClockRelation::Unknown, "khlifi:5s,0.5").unwrap();
        assert!(clocks.so_far.skew_ppm.is_none() && clocks.so_far.why_not.is_some());
        // A minute of packets every 20 ms, the far clock an hour ahead and 30 ppm faster; some wait.
        for n in 0..3_000_i64 {
            let t1 = n * 20_000_000;
            let far = |at: i64| at + 3_600_000_000_000 + at / 100_000 * 3;
            let (there, back) = (1_000_000 + n * 7_919 % 90_000, 1_500_000 + n * 104_729 % 80_000);
            let (t2, t3) = (far(t1 + there), far(t1 + there + 50_000));
            let here_ns = [t1, t1 + there + 50_000 + back];
            let there_ns = Some([t2, t3]);
            clocks.take(&LiveDelay { stream: 0, sequence: 0, round_trip_ns: 0, there_ns, here_ns });
        }
        let found = so_far(&clocks.estimator);
        let [low, high] = found.skew_interval_ppm.unwrap();
        assert!((found.skew_ppm.unwrap() - 30.0).abs() < 0.5 && low < high, "{found:?}");
        assert_eq!(found.method, "khlifi:5s,0.5");
    }
}
