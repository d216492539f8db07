//! A made-up path, always the same, for the tests and the example.
#![allow(dead_code, reason = "each test program uses a part, so that no expectation fits all")]

use romer_clock::skew::{Correction, Leg};
use romer_record::document::{
    ClockState, DelayDefinition, DelayKind, DelaySpan, DirectionResults, Histogram, Hop, HopAnswer, Limit,
    MEASUREMENT, Measurement, Metadata, Packets, Summary, Traffic,
};
use romer_record::document::{MissingStamps, ProbeDirection};
use romer_record::finding::{Finding, GridQuantity, Pattern};
use romer_record::warning::MeasurementWarning;
use romer_record::{Fate, OneWaySingleton};
use romer_singletons::{LocationSeries, LocationShapes};
use romer_units::{Duration, Timestamp, TimestampPoint};

/// What a stream is made of.
pub(crate) struct Path {
    pub(crate) target: &'static str,
    pub(crate) probes: u32,
    pub(crate) interval_ns: i64,
    pub(crate) base_ns: [f64; 2],
    pub(crate) spread_ns: f64,
    /// One probe in so many is lost, on either leg; 0 for none.
    pub(crate) lost_one_in: u32,
    pub(crate) shared: bool,
}

/// A stream's document and singletons.
pub(crate) struct Made {
    pub(crate) measurement: Measurement,
    pub(crate) forward: Vec<OneWaySingleton>,
    pub(crate) reverse: Vec<OneWaySingleton>,
    pub(crate) round_trip: Vec<OneWaySingleton>,
    pub(crate) corrections: [Correction; 2],
    pub(crate) location: LocationSeries,
}

impl Made {
    pub(crate) fn stream(&self) -> romer_report::Stream<'_> {
        let singletons = romer_report::Singletons {
            begins_ns: 0,
            forward: &self.forward,
            reverse: &self.reverse,
            round_trip: &self.round_trip,
            corrections: [&self.corrections[0], &self.corrections[1]],
            location: &self.location,
        };
        romer_report::Stream { measurement: &self.measurement, singletons: Some(singletons) }
    }
}

/// Uniform numbers in (0, 1): Knuth's MMIX generator, its upper bits.
struct Uniform(u64);

impl Uniform {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (f64::from(u32::try_from(self.0 >> 32).unwrap_or(0)) + 0.5) / 4_294_967_296.0
    }
    fn exponential(&mut self, mean: f64) -> f64 {
        -mean * self.next().ln()
    }
}

#[expect(clippy::cast_possible_truncation, reason = "nanoseconds of a made-up path")]
fn to_i64(nanos: f64) -> i64 {
    nanos.round() as i64
}

pub(crate) fn good() -> Path {
    Path {
        target: "198.18.0.2",
        probes: 1_500,
        interval_ns: 20_000_000,
        base_ns: [52_000.0, 58_000.0],
        spread_ns: 6_000.0,
        lost_one_in: 0,
        shared: true,
    }
}

pub(crate) fn bad() -> Path {
    Path {
        target: "probe-17.example.net",
        probes: 4_000,
        interval_ns: 45_000_000,
        base_ns: [14_200_000.0, 17_900_000.0],
        spread_ns: 1_400_000.0,
        lost_one_in: 160,
        shared: false,
    }
}

pub(crate) fn hostile() -> Path {
    Path { target: "<script>alert(1)</script>\x1b[2J&\u{202e}x", probes: 40, ..bad() }
}

pub(crate) fn make(path: &Path) -> Made {
    let mut random = Uniform(1_676);
    let start = 1_794_046_272_000_000_000_i64;
    let (mut forward, mut reverse, mut round_trip) = (Vec::new(), Vec::new(), Vec::new());
    let mut burst = 0;
    for sequence in 0..path.probes {
        let noise = |random: &mut Uniform| {
            let wave = 0.8 + 0.5 * (f64::from(sequence) * 9.0 / f64::from(path.probes)).sin().max(0.0);
            let outlier = if random.next() < 0.004 { random.exponential(18.0) } else { 0.0 };
            path.spread_ns * (wave * random.exponential(1.0) + 0.3 * random.next() + outlier)
        };
        let error = to_i64(random.exponential(90.0));
        let sent = start + i64::from(sequence) * path.interval_ns + error;
        let legs = [path.base_ns[0] + noise(&mut random), path.base_ns[1] + noise(&mut random)].map(to_i64);
        if path.lost_one_in > 0 && random.next() * f64::from(path.lost_one_in) < 0.4 {
            burst = 1 + sequence % 5;
        }
        let lost_there = burst > 0;
        burst = burst.saturating_sub(1);
        let lost_back =
            !lost_there && path.lost_one_in > 0 && random.next() * f64::from(path.lost_one_in) < 0.5;
        let singleton = |departure: i64, delay: i64, fate, shown: f64| OneWaySingleton {
            sequence: sequence.into(),
            copy: 0,
            size: 44,
            fate,
            departure: Some(Timestamp::from_nanos(departure)),
            arrival: (fate == Fate::Arrived).then(|| Timestamp::from_nanos(departure + delay)),
            delay: (fate == Fate::Arrived).then(|| Duration::from_nanos(delay - to_i64(shown))),
            ttl: Some(63),
            tos: Some(0),
            leaving: romer_record::Leaving::after(Duration::from_nanos(error)),
        };
        let fate = |lost| if lost { Fate::Lost } else { Fate::Arrived };
        let hidden = if path.shared { [0.0, 0.0] } else { path.base_ns };
        forward.push(singleton(sent, legs[0], fate(lost_there), hidden[0]));
        if !lost_there {
            reverse.push(singleton(sent + legs[0] + 9_000, legs[1], fate(lost_back), hidden[1]));
        }
        round_trip.push(singleton(sent, legs[0] + legs[1], fate(lost_there || lost_back), 0.0));
    }
    let mut measurement = document(path);
    let kind = if path.shared { DelayKind::Absolute } else { DelayKind::Variable };
    measurement.forward = direction(&forward, kind, &mut random);
    measurement.reverse = direction(&reverse, kind, &mut random);
    measurement.round_trip = direction(&round_trip, DelayKind::Absolute, &mut random);
    let apart = |step: i64, scale: f64, random: &mut Uniform| {
        (0..400).map(|n| (n * step, to_i64(random.exponential(scale)))).collect()
    };
    let step = i64::from(path.probes) * path.interval_ns / 400;
    let mut location = LocationSeries {
        sender_departure: apart(step, 1_500.0, &mut random),
        sender_arrival: apart(step, 22_000.0, &mut random),
        responder_arrival: apart(step, 17_000.0, &mut random),
        responder_departure: apart(step, 1_900.0, &mut random),
        shapes: LocationShapes::default(),
    };
    let shape =
        |series: &[(i64, i64)]| histogram(&series.iter().map(|(_, apart)| *apart as f64).collect::<Vec<_>>());
    location.shapes = LocationShapes {
        sender_departure: shape(&location.sender_departure),
        sender_arrival: shape(&location.sender_arrival),
        responder_arrival: shape(&location.responder_arrival),
        responder_departure: shape(&location.responder_departure),
    };
    let corrections =
        if path.shared { Default::default() } else { [1.0, -1.0].map(|sign| clock(path, start, sign)) };
    Made { measurement, forward, reverse, round_trip, corrections, location }
}

/// A clock that runs faster by 40 ppm and is set in the middle.
fn clock(path: &Path, origin_ns: i64, sign: f64) -> Correction {
    let length = i64::from(path.probes) * path.interval_ns;
    let middle = length / 2;
    let leg = |from_ns: i64, value: f64| Leg { from_ns, value_ns: sign * value, slope: sign * 4e-5 };
    Correction {
        origin_ns,
        legs: vec![leg(0, 0.0), leg(middle, 4e-5 * middle as f64 + 3e6)],
        rate_error: 2e-8,
        floor_error_ns: 900.0,
        anchor_ns: middle,
    }
}

fn document(path: &Path) -> Measurement {
    let mut random = Uniform(4);
    let mut errors = |mean: f64| summary((0..500).map(|_| 2_000.0 + random.exponential(mean)).collect());
    let mut m = Measurement {
        schema: MEASUREMENT.into(),
        target: path.target.into(),
        address: None,
        replies: Default::default(),
        checksum_errors: Default::default(),
        damage: None,
        calibration_phase: None,
        source: None,
        started: "2026-11-07T10:11:12.345Z".into(),
        ended: Some("2026-11-07T10:11:44.345Z".into()),
        partial: false,
        early_end: None,
        responder_log_complete: Some(true),
        not_logged: Vec::new(),
        traffic: Traffic {
            model: "periodic".into(),
            interval_ns: path.interval_ns,
            payload_octets: 44,
            payload_octets_min: None,
            payload_octets_max: None,
            departure_jitter: None,
            packet_octets: Some(72),
            count: Some(path.probes.into()),
            waiting_time_ns: 2_000_000_000,
            protocol: "STAMP (RFC 8762), unauthenticated".into(),
            ..Traffic::default()
        },
        calibration: None,
        limits: Vec::new(),
        metadata: Metadata {
            host: "tabarin".into(),
            kernel: "Linux 6.18.0".into(),
            nic_driver: Some("veth".into()),
            clock_source: Some("tsc".into()),
            command: format!("romer measure {} --count {} --interval 20ms", path.target, path.probes),
            software: "romer 0.1.0".into(),
            responder_clock_sync: None,
            responder_software: Some("romer 0.1.0".into()),
            ..Metadata::default()
        },
        stamps: Default::default(),
        location_error_ns: Default::default(),
        forward: DirectionResults::default(),
        reverse: DirectionResults::default(),
        round_trip: DirectionResults::default(),
        clock: ClockState { method: "shared".into(), ..ClockState::default() },
        events: Vec::new(),
        findings: Vec::new(),
        voice: Vec::new(),
        voice_unrated: Vec::new(),
        interval_method: String::new(),
        warnings: Vec::new(),
    };
    let kernel = Some(TimestampPoint::Kernel);
    m.stamps.sender_departure = kernel;
    m.stamps.sender_arrival = kernel;
    m.stamps.responder_arrival = kernel;
    m.stamps.responder_departure = kernel;
    let one_way = DelaySpan::OneWay { departure: kernel, arrival: kernel, includes_responder: false };
    m.stamps.delay_definition = [
        (ProbeDirection::Forward, one_way),
        (ProbeDirection::Reverse, one_way),
        (ProbeDirection::RoundTrip, DelaySpan::RoundTrip),
    ]
    .map(|(direction, span)| DelayDefinition { direction, span, baseline_ns: None })
    .to_vec();
    m.location_error_ns.sender.departure = errors(1_500.0);
    m.location_error_ns.sender.arrival = errors(22_000.0);
    m.location_error_ns.responder.arrival = errors(17_000.0);
    m.location_error_ns.responder.departure = errors(1_900.0);
    if !path.shared {
        m.clock = ClockState {
            method: "none".into(),
            offset_bounds_ns: Some([-17_900_123, 14_201_456]),
            ..ClockState::default()
        };
        m.clock.method = "piecewise".into();
        m.clock.identifiable = true;
        m.clock.skew_ppm = Some(40.0);
        m.clock.skew_interval_ppm = Some([39.98, 40.02]);
        m.clock.delay_error_ns = Some(2_700.0);
        m.traffic.model = "poisson".into();
        m.traffic.dscp = Some(46);
        m.stamps.missing.responder_departure = 3;
        let missing = MissingStamps { responder_departure: 3, ..MissingStamps::default() };
        m.warnings.push(MeasurementWarning::TimeStampsMissing(missing));
        m.limits = vec![
            Limit { limit: "round_trip.delay_ns.p99<50ms".into(), value: Some(41_234_567.0), passed: true },
            Limit { limit: "forward.loss.ratio<0.1%".into(), value: Some(0.0062), passed: false },
        ];
        m.findings = findings();
        let answer = |address: &str| HopAnswer { address: address.into(), target: address == "203.0.113.17" };
        let hops = [Some("192.0.2.1"), None, Some("198.51.100.9"), Some("203.0.113.17")];
        let hops = hops.into_iter().zip(1..).map(|(found, hop)| Hop {
            hop,
            at_start: found.map(answer),
            at_end: found.map(answer),
        });
        m.metadata.route = Some(hops.collect());
        m.metadata.comment = Some("Second floor, before the switch was exchanged".into());
    }
    m
}

/// One of each kind of which a word may change with its numbers.
fn findings() -> Vec<Finding> {
    let found = |direction, at: Option<i64>, pattern| Finding {
        direction,
        at_ns: at.map(|seconds| seconds * 1_000_000_000),
        until_ns: None,
        false_alarm_probability: Some(1e-9),
        pattern,
    };
    vec![
        found(
            ProbeDirection::Reverse,
            None,
            Pattern::PeriodicDelaySpikes {
                period_ns: 30.72e9,
                period_interval_ns: [30.7e9, 30.74e9],
                phase_ns: 3e9,
                height_ns: 24e6,
                spikes: 5,
                cycles: 6,
                strength_ratio: 5.0 / 6.0,
                multiple_of_ns: Some(10.24e9),
            },
        ),
        found(
            ProbeDirection::Forward,
            None,
            Pattern::DelayGrid {
                quantity: GridQuantity::Ipdv,
                step_ns: 10.7e6,
                step_interval_ns: None,
                offset_ns: Some(2.1e6),
                offset_interval_ns: None,
                points: 8,
                strength_ratio: 0.97,
                doubtful: false,
            },
        ),
        found(
            ProbeDirection::Forward,
            Some(60),
            Pattern::RouteChange { ttl_from: 60, ttl_to: 57, delay_step_ns: Some(-2.1e6) },
        ),
    ]
}

fn quantile(sorted: &[f64], q: f64) -> Option<f64> {
    #[expect(clippy::cast_precision_loss, reason = "a made-up sample")]
    let position = (sorted.len().checked_sub(1)? as f64) * q;
    let index = usize::try_from(to_i64(position.floor())).ok()?;
    let low = *sorted.get(index)?;
    let high = sorted.get(index + 1).copied().unwrap_or(low);
    Some(low + (high - low) * position.fract())
}

/// A summary as the metrics make it, near enough for a picture.
#[expect(clippy::cast_precision_loss, reason = "a made-up sample")]
pub(crate) fn summary(mut values: Vec<f64>) -> Summary {
    if values.is_empty() {
        return Summary::default();
    }
    values.sort_unstable_by(f64::total_cmp);
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let stddev = (values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / (n - 1.0).max(1.0)).sqrt();
    let q = |p| quantile(&values, p);
    let half = 0.98 / n.sqrt();
    Summary {
        count: values.len() as u64,
        min: q(0.0),
        max: q(1.0),
        mean: Some(mean),
        stddev: Some(stddev),
        median: q(0.5),
        iqr: q(0.75).zip(q(0.25)).map(|(a, b)| a - b),
        p25: q(0.25),
        p75: q(0.75),
        p90: q(0.9),
        p95: q(0.95),
        p99: q(0.99),
        p99_9: q(0.999),
        mean_interval: Some([mean - 1.96 * stddev / n.sqrt(), mean + 1.96 * stddev / n.sqrt()]),
        median_interval: q(0.5 - half).zip(q(0.5 + half)).map(|(a, b)| [a, b]),
        ..Summary::default()
    }
}

fn histogram(values: &[f64]) -> Histogram {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let (Some(low), Some(high), Some(max)) =
        (quantile(&sorted, 0.0), quantile(&sorted, 0.995), quantile(&sorted, 1.0))
    else {
        return Histogram::default();
    };
    let width = ((high - low) / 60.0).max(1.0);
    let mut edges: Vec<i64> = (0..=60).map(|n| to_i64(low + width * f64::from(n))).collect();
    edges.push(to_i64(max.max(high + width)) + 1);
    let counts = edges
        .windows(2)
        .map(|edge| sorted.iter().filter(|v| (edge[0]..edge[1]).contains(&to_i64(**v))).count() as u64)
        .collect();
    Histogram { bin_edges_ns: edges, counts }
}

#[expect(clippy::cast_precision_loss, reason = "a made-up sample")]
fn direction(singletons: &[OneWaySingleton], kind: DelayKind, random: &mut Uniform) -> DirectionResults {
    let delays: Vec<f64> = singletons.iter().filter_map(|p| p.delay.map(|d| d.as_nanos() as f64)).collect();
    let changes: Vec<f64> = delays.windows(2).map(|w| w[1] - w[0]).collect();
    let lost = singletons.iter().filter(|p| p.fate != Fate::Arrived).count() as u64;
    let sent = singletons.len() as u64;
    let ratio = lost as f64 / sent as f64;
    let least = delays.iter().copied().fold(f64::INFINITY, f64::min);
    let mut d = DirectionResults {
        packets: Packets {
            sent: Some(sent),
            received: Some(sent - lost),
            lost: Some(lost),
            received_at_least: false,
            lost_at_least: None,
            duplicated: Some(0),
            reordered: Some(0),
            instrument_drops: None,
            in_flight: None,
            late: Some(0),
            corrupted: None,
            not_sent: Some(0),
        },
        delay_kind: Some(kind),
        delay_ns: summary(delays.clone()),
        ipdv_ns: summary(changes.clone()),
        pdv_ns: summary(delays.iter().map(|d| d - least).collect()),
        inter_departure_ns: summary((0..200).map(|_| 20e6 + random.exponential(90.0)).collect()),
        departure_error_ns: Some(summary((0..200).map(|_| random.exponential(90.0)).collect())),
        ..DirectionResults::default()
    };
    d.jitter_ns.delay_difference = summary(changes.iter().map(|c| c.abs()).collect());
    d.jitter_ns.rfc3550 = d.jitter_ns.delay_difference.mean;
    d.histograms.delay = histogram(&delays);
    d.loss.ratio = Some(ratio);
    d.loss.ratio_interval = Some([ratio * 0.6, ratio * 1.6 + 1e-4]);
    if lost > 0 {
        d.loss.periods = vec![1, 3, 2, 5, 1];
        d.loss.distances = vec![170, 12, 402, 77];
    }
    d.ttl.min = Some(63);
    d.ttl.max = Some(63);
    d.dscp.sent = Some(0);
    d.dscp.received.insert("default".into(), sent - lost);
    d
}
