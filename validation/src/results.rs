//! What was measured, and what it says of the claims.

pub(crate) mod emulated;
pub(crate) mod reservation;

use romer_record::benchmark::Overall;
use romer_units::Duration;
use serde::Serialize;

pub(crate) use emulated::{Emulation, middle, target};
use reservation::{Held, Reservations};

use crate::analyse::Analysed;
use crate::circumstances::Circumstances;
use crate::clock::Clocks;
use crate::closed_loop::Loops;
use crate::figures::{Figures, Lateness, median};
use crate::in_packet::Stamped;
use crate::parameters::{ACCURACY, PEER_SIZE};
use crate::reflect::Reflected;
use crate::scale::fast::Fast;
use crate::scale::frames::{Frames, Sweep};
use crate::scale::many::Many;
use crate::scale::voice::{CostOwner, Voice};
use crate::steal_log::Condition;

/// Least factor between the deviations of user and kernel stamps of the same packets where every core is busy.
pub(crate) const LEAST_FACTOR: f64 = 20.0;
/// Largest deviation of four-stamp round trips.
pub(crate) const MOST_DEVIATION_NS: f64 = 2_000.0;
/// Largest wake error of the sender: median and 99 %.
pub(crate) const MOST_WAKE_P50_NS: f64 = 500.0;
pub(crate) const MOST_WAKE_P99_NS: f64 = 5_000.0;

/// Most growth of resident memory while packets are sent, KiB.
pub(crate) const MOST_GROWTH_KIB: f64 = 1_024.0;
/// Most scatter of one of many targets over that of one alone.
pub(crate) const MOST_MANY_FACTOR: f64 = 1.5;
/// Most of a core that a voice stream costs.
pub(crate) const MOST_VOICE_PERCENT: f64 = 1.0;

/// Most lateness of a benchmark's frames at a tenth of 100 Mbit/s: median and 99 %.
pub(crate) const MOST_LATENESS_P50_NS: f64 = 1_000.0;
pub(crate) const MOST_LATENESS_P99_NS: f64 = 20_000.0;
/// Most that the analysis of ten million packets takes: 2 GB.
pub(crate) const MOST_ANALYSIS_SECONDS: f64 = 10.0;
pub(crate) const MOST_ANALYSIS_KIB: f64 = 2e9 / 1_024.0;

/// Most of the round trip with a reply from the kernel: its median, and that divided by the median with a reply of the thread.
pub(crate) const MOST_KERNEL_P50_NS: f64 = 25_000.0;
pub(crate) const MOST_KERNEL_RATIO: f64 = 0.25;

/// The longest sweep.
pub(crate) const MOST_SWEEP_SECONDS: f64 = 1_800.0;
/// Share of the places of a sweep whose differences have an interval: trials that the host has spoilt have none.
pub(crate) const LEAST_WITH_INTERVAL: f64 = 0.9;

/// Who says how long a round trip was.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Tool {
    /// The engine, four stamps of the kernel.
    RomerKernel,
    /// The engine, four stamps of the program, of the same packets.
    RomerUser,
    /// `romer measure`, as users have it.
    RomerProgram,
    Ping,
    Irtt,
    SockperfPingPong,
    SockperfUnderLoad,
    StampSuite,
    Ditg,
    /// One way, where all others tell of round trips.
    Iperf,
}

impl Tool {
    /// Whether these are stamps of the engine in this process.
    const fn is_the_engine(self) -> bool {
        matches!(self, Self::RomerKernel | Self::RomerUser)
    }

    /// All of them, in the order of the page.
    pub(crate) const ALL: [Self; 10] = [
        Self::RomerKernel,
        Self::RomerProgram,
        Self::RomerUser,
        Self::Ping,
        Self::Irtt,
        Self::SockperfPingPong,
        Self::SockperfUnderLoad,
        Self::StampSuite,
        Self::Ditg,
        Self::Iperf,
    ];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::RomerKernel => "romer, kernel stamps",
            Self::RomerUser => "romer, user stamps",
            Self::RomerProgram => "`romer measure`",
            Self::Ping => "ping",
            Self::Irtt => "irtt",
            Self::SockperfPingPong => "sockperf, ping-pong",
            Self::SockperfUnderLoad => "sockperf, under load",
            Self::StampSuite => "stamp-suite",
            Self::Ditg => "D-ITG",
            Self::Iperf => "iperf 2, one way",
        }
    }
}

/// Packets that met a gap, and the figures without them.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(crate) struct Without<F> {
    /// Packets in whose time the host took the core away.
    pub(crate) touched: u64,
    /// The figures of the others; `None` where there are none.
    pub(crate) figures: Option<F>,
}

/// One sample of round trips.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Trips {
    #[serde(flatten)]
    pub(crate) circumstances: Circumstances,
    pub(crate) tool: Tool,
    /// Octets of the IP packet.
    pub(crate) packet_octets: u32,
    /// Packets that did not come back, or lack a stamp.
    pub(crate) incomplete: u64,
    pub(crate) figures: Figures,
    /// `None` where gaps were not watched for meanwhile.
    pub(crate) without_gaps: Option<Without<Figures>>,
    /// One way there and back; of kernel stamps only.
    pub(crate) forward: Option<Figures>,
    pub(crate) reverse: Option<Figures>,
}

/// One sample of wake errors.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Wakes {
    #[serde(flatten)]
    pub(crate) circumstances: Circumstances,
    pub(crate) interval_ns: i64,
    pub(crate) figures: Lateness,
    pub(crate) without_gaps: Option<Without<Lateness>>,
    /// All errors, and those that no gap touched, for figures of all runs together.
    #[serde(skip)]
    pub(crate) all: Vec<i64>,
    #[serde(skip)]
    pub(crate) untouched: Vec<i64>,
}

/// A claim, and what was found.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Claim {
    /// What is claimed, in words.
    pub(crate) claim: String,
    /// Of what the figure is.
    pub(crate) subject: String,
    pub(crate) figure: f64,
    /// `ns`, `ratio`, `count`, `kib`, `percent`, `ppm` or `seconds`.
    pub(crate) unit: &'static str,
    pub(crate) at_least: Option<f64>,
    pub(crate) at_most: Option<f64>,
    pub(crate) passed: bool,
}

impl Claim {
    fn at_least(claim: &str, subject: String, figure: f64, limit: f64) -> Self {
        let passed = figure >= limit;
        let claim = claim.into();
        Self { claim, subject, figure, unit: "ratio", at_least: Some(limit), at_most: None, passed }
    }

    pub(crate) fn at_most(claim: &str, subject: String, figure: f64, limit: f64) -> Self {
        let passed = figure <= limit;
        let claim = claim.into();
        Self { claim, subject, figure, unit: "ns", at_least: None, at_most: Some(limit), passed }
    }

    pub(crate) fn in_units(self, unit: &'static str) -> Self {
        Self { unit, ..self }
    }
}

/// Everything that was measured.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(crate) struct Results {
    pub(crate) round_trips: Vec<Trips>,
    pub(crate) wake_errors: Vec<Wakes>,
    pub(crate) fast: Vec<Fast>,
    /// One target alone, then all.
    pub(crate) many: Vec<[Many; 2]>,
    pub(crate) voice: Vec<Voice>,
    /// The benchmark's generator and analyser.
    pub(crate) frames: Vec<Frames>,
    /// A sweep of the laboratory's router; `None` where it was not made.
    pub(crate) sweep: Option<Sweep>,
    /// The emulator.
    #[serde(flatten)]
    pub(crate) emulation: Emulation,
    /// The clocks' table; `None` where it was not made.
    pub(crate) clocks: Option<Clocks>,
    /// Runs that were analysed.
    pub(crate) analysed: Vec<Analysed>,
    /// Replies from the kernel; `None` where they were not measured.
    pub(crate) reflected: Option<Reflected>,
    /// In-packet stamps; `None` where they were not measured.
    pub(crate) stamped: Option<Stamped>,
    /// The closed loop; `None` where it was not made.
    pub(crate) loops: Option<Loops>,
    /// Calls with and without reservations, and shaped streams; `None` where they were not made.
    pub(crate) reservations: Option<Reservations>,
    /// Reservations that were held; `None` where they were not.
    pub(crate) held: Option<Held>,
}

impl Results {
    /// The groups in which something was measured, each with its name and alone: each is a page and a document.
    pub(crate) fn groups(&self) -> Vec<(&'static str, Self)> {
        let mut round_trips = self.round_trips.clone();
        let others = round_trips.iter().any(|trips| !trips.tool.is_the_engine());
        let mut beside = round_trips.clone();
        beside.retain(|trips| others && trips.packet_octets == PEER_SIZE);
        // Of a measurement of others alone, what is ours belongs beside them.
        let alone = beside.len() == round_trips.len();
        round_trips.retain(|trips| trips.tool.is_the_engine() && !alone);
        let wake_errors = self.wake_errors.clone();
        let groups = [
            (ACCURACY, Self { round_trips, wake_errors, ..Self::default() }),
            ("peers", Self { round_trips: beside, ..Self::default() }),
            ("fast", Self { fast: self.fast.clone(), ..Self::default() }),
            ("many", Self { many: self.many.clone(), ..Self::default() }),
            ("voice", Self { voice: self.voice.clone(), ..Self::default() }),
            ("bench", Self { frames: self.frames.clone(), sweep: self.sweep.clone(), ..Self::default() }),
            ("emulate", Self { emulation: self.emulation.clone(), ..Self::default() }),
            ("clock", Self { clocks: self.clocks.clone(), ..Self::default() }),
            ("loop", Self { loops: self.loops.clone(), ..Self::default() }),
            ("reflect", Self { reflected: self.reflected.clone(), ..Self::default() }),
            ("in-packet", Self { stamped: self.stamped.clone(), ..Self::default() }),
            ("analyse", Self { analysed: self.analysed.clone(), ..Self::default() }),
            ("reserve", Self { reservations: self.reservations.clone(), ..Self::default() }),
            ("hold", Self { held: self.held, ..Self::default() }),
        ];
        groups.into_iter().filter(|(_, results)| *results != Self::default()).collect()
    }

    /// The circumstances of everything, in the order of the page.
    pub(crate) fn circumstances(&self) -> impl Iterator<Item = Circumstances> + '_ {
        let trips = self.round_trips.iter().map(|trips| trips.circumstances);
        let wakes = self.wake_errors.iter().map(|wakes| wakes.circumstances);
        let fast = self.fast.iter().map(|fast| fast.circumstances);
        let many = self.many.iter().flatten().map(|many| many.circumstances);
        let voice = self.voice.iter().map(|voice| voice.circumstances);
        let frames = self.frames.iter().map(|frames| frames.circumstances);
        let sweep = self.sweep.iter().map(|sweep| sweep.circumstances);
        let emulation = self.emulation.circumstances();
        trips.chain(wakes).chain(fast).chain(many).chain(voice).chain(frames).chain(sweep).chain(emulation)
    }

    /// The samples of one kind, one of each run.
    pub(crate) fn trips(&self, tool: Tool, condition: Condition, octets: u32) -> Vec<&Trips> {
        self.round_trips
            .iter()
            .filter(|trips| {
                trips.tool == tool
                    && trips.circumstances.condition == condition
                    && trips.packet_octets == octets
            })
            .collect()
    }

    /// The packet sizes that were measured with our own stamps, in order.
    pub(crate) fn sizes(&self) -> Vec<u32> {
        let mut sizes: Vec<u32> = self.round_trips.iter().map(|trips| trips.packet_octets).collect();
        sizes.sort_unstable();
        sizes.dedup();
        sizes
    }

    /// The factor between the deviations of user and kernel stamps, the median over the runs.
    pub(crate) fn factor(&self, condition: Condition, octets: u32) -> Option<f64> {
        let kernel = self.trips(Tool::RomerKernel, condition, octets);
        let user = self.trips(Tool::RomerUser, condition, octets);
        let factors: Vec<f64> = user
            .iter()
            .zip(kernel)
            .map(|(user, kernel)| user.figures.stddev_ns / kernel.figures.stddev_ns)
            .collect();
        median(&factors)
    }

    /// The wake errors of all runs together, with all probes and without those that a gap touched.
    pub(crate) fn wakes(
        &self,
        condition: Condition,
        interval: Duration,
    ) -> Option<(Lateness, Without<Lateness>)> {
        let mut all = Vec::new();
        let mut untouched = Vec::new();
        for wakes in &self.wake_errors {
            if wakes.circumstances.condition == condition && wakes.interval_ns == interval.as_nanos() {
                all.extend_from_slice(&wakes.all);
                untouched.extend_from_slice(&wakes.untouched);
            }
        }
        let touched = (all.len() - untouched.len()) as u64;
        Some((Lateness::from_values(&all)?, Without { touched, figures: Lateness::from_values(&untouched) }))
    }

    /// The intervals of the wake errors, the longest first.
    pub(crate) fn intervals(&self) -> Vec<Duration> {
        let mut intervals: Vec<i64> = self.wake_errors.iter().map(|wakes| wakes.interval_ns).collect();
        intervals.sort_unstable();
        intervals.dedup();
        intervals.into_iter().rev().map(Duration::from_nanos).collect()
    }

    /// The claims for which there is something measured.
    pub(crate) fn claims(&self) -> Vec<Claim> {
        let mut claims = Vec::new();
        for octets in self.sizes() {
            if let Some(factor) = self.factor(Condition::Busy, octets) {
                claims.push(Claim::at_least(
                    "every core busy: the deviation of round trips by kernel stamps is at least 20 times below that \
                     by user stamps of the same packets (median of the runs)",
                    format!("{octets} B"),
                    factor,
                    LEAST_FACTOR,
                ));
            }
        }
        for condition in Condition::ALL {
            for octets in self.sizes() {
                let deviations: Vec<f64> = self
                    .trips(Tool::RomerKernel, condition, octets)
                    .iter()
                    .map(|trips| trips.figures.stddev_ns)
                    .collect();
                if let Some(deviation) = median(&deviations) {
                    claims.push(Claim::at_most(
                        "the deviation of round trips by kernel stamps is at most 2 us (median of the runs)",
                        format!("{}, {octets} B", condition.name()),
                        deviation,
                        MOST_DEVIATION_NS,
                    ));
                }
            }
        }
        self.claim_wakes(&mut claims);
        self.claim_fast(&mut claims);
        self.claim_many(&mut claims);
        self.claim_voice(&mut claims);
        self.claim_frames(&mut claims);
        self.claim_sweep(&mut claims);
        self.emulation.claim(&mut claims);
        claims.extend(self.clocks.iter().flat_map(Clocks::claims));
        claims.extend(self.loops.iter().flat_map(Loops::claims));
        self.claim_analysed(&mut claims);
        claims.extend(self.reservations.iter().flat_map(Reservations::claims));
        claims.extend(self.held.iter().flat_map(Held::claims));
        self.claim_reflected(&mut claims);
        self.claim_stamped(&mut claims);
        claims
    }

    #[expect(clippy::cast_precision_loss, reason = "counts of packets are below 2^53")]
    fn claim_reflected(&self, claims: &mut Vec<Claim>) {
        let Some(run) = &self.reflected else { return };
        let subject = || run.mode.clone();
        let claim =
            "reflection in the kernel: median round trip of a user, beside that with the responder's thread";
        claims.push(Claim::at_most(claim, subject(), run.ratio(), MOST_KERNEL_RATIO).in_units("ratio"));
        let claim = "reflection in the kernel: median round trip of a user";
        claims.push(Claim::at_most(claim, subject(), run.kernel.p50_ns, MOST_KERNEL_P50_NS));
        let claim = "reflection in the kernel: replies that the program did not send";
        let missing = run.probes.saturating_sub(run.counted);
        claims.push(Claim::at_most(claim, subject(), missing as f64, 0.0).in_units("count"));
    }

    #[expect(clippy::cast_precision_loss, reason = "counts of packets are below 2^53")]
    fn claim_stamped(&self, claims: &mut Vec<Claim>) {
        let Some(run) = &self.stamped else { return };
        let subject = || format!("{} probes", run.probes);
        let claim = "in-packet stamps: interquartile range of the round trip, beside that of user space";
        claims.push(Claim::at_most(claim, subject(), run.ratio(), 1.0).in_units("ratio"));
        let claim = "in-packet stamps: probes that did not return with four stamps";
        let missing = u64::from(run.probes).saturating_sub(run.program.count);
        claims.push(Claim::at_most(claim, subject(), missing as f64, 0.0).in_units("count"));
        let claim = "in-packet stamps: datagrams with a wrong checksum";
        claims.push(Claim::at_most(claim, subject(), run.checksum_errors as f64, 0.0).in_units("count"));
    }

    #[expect(clippy::cast_precision_loss, reason = "octets of memory are below 2^53")]
    fn claim_analysed(&self, claims: &mut Vec<Claim>) {
        for run in &self.analysed {
            let ways = if run.round_trips { "there and back" } else { "one way" };
            let subject = format!("{} packets {ways}", run.packets);
            let claim = "10 million packets are analysed in at most 10 s";
            claims.push(
                Claim::at_most(claim, subject.clone(), run.analysis.seconds, MOST_ANALYSIS_SECONDS)
                    .in_units("seconds"),
            );
            let claim = "10 million packets are analysed in at most 2 GB";
            let kib = run.analysis.peak_octets as f64 / 1_024.0;
            claims.push(Claim::at_most(claim, subject, kib, MOST_ANALYSIS_KIB).in_units("kib"));
        }
    }

    #[expect(clippy::cast_precision_loss, reason = "counts of packets and of KiB are below 2^53")]
    fn claim_fast(&self, claims: &mut Vec<Claim>) {
        let subject = |run: &Fast| format!("run {}", run.circumstances.run);
        for run in &self.fast {
            let missing = run.requested.saturating_sub(run.counts.stamped);
            claims.push(
                Claim::at_most(
                    "100,000 one-way probes a second: probes of the schedule that were not sent or lack the kernel's stamp \
                     of either end in the log",
                    subject(run),
                    missing as f64,
                    0.0,
                )
                .in_units("count"),
            );
        }
        for run in &self.fast {
            for (end, memory) in [("sender", run.sender), ("responder", run.responder)] {
                claims.push(
                    Claim::at_most(
                        "100,000 one-way probes a second: growth of resident memory while they are sent, after admission",
                        format!("{}, {end}", subject(run)),
                        memory.growth_kib() as f64,
                        MOST_GROWTH_KIB,
                    )
                    .in_units("kib"),
                );
            }
        }
    }

    #[expect(clippy::cast_precision_loss, reason = "counts of frames are below 2^53")]
    fn claim_frames(&self, claims: &mut Vec<Claim>) {
        let subject = |run: &Frames| format!("run {}", run.circumstances.run);
        for run in &self.frames {
            let missing = run.requested.saturating_sub(run.with_latency);
            claims.push(
                Claim::at_most(
                    "148,809 frames of 64 octets a second from generator to analyser: frames of the schedule without a \
                     recorded latency",
                    subject(run),
                    missing as f64,
                    0.0,
                )
                .in_units("count"),
            );
        }
        for (claim, limit, of) in [
            (
                "14,881 frames a second: lateness of the departures, median",
                MOST_LATENESS_P50_NS,
                (|run| run.lateness_p50_ns) as fn(&Frames) -> f64,
            ),
            (
                "14,881 frames a second: lateness of the departures, 99 %, those that a gap of the host touched among them",
                MOST_LATENESS_P99_NS,
                |run| run.lateness_p99_ns,
            ),
        ] {
            let all: Vec<f64> = self.frames.iter().map(of).collect();
            if let Some(figure) = median(&all) {
                claims.push(Claim::at_most(claim, "median of the runs".into(), figure, limit));
            }
        }
    }

    #[expect(clippy::cast_precision_loss, reason = "counts of places are below 2^53")]
    fn claim_sweep(&self, claims: &mut Vec<Claim>) {
        let Some(sweep) = &self.sweep else { return };
        claims.push(
            Claim::at_most(
                "a sweep of the laboratory's router, 5 sizes, 10 loads and 3 cases, takes at most 30 minutes",
                format!("{} trials", sweep.trials),
                sweep.seconds,
                MOST_SWEEP_SECONDS,
            )
            .in_units("seconds"),
        );
        for [from, to] in [["none", "classify"], ["classify", "remark"]] {
            let of = |one: &&Overall| (one.from.as_str(), one.to.as_str()) == (from, to);
            let overall = sweep.overall.iter().find(of).is_some_and(|one| one.median_interval.is_some());
            let places = if overall { sweep.places(from, to) } else { 0 };
            let with_interval = places.min(usize::from(u16::MAX)) as f64 / sweep.places.max(1) as f64;
            claims.push(Claim::at_least(
                "the sweep tells what a case costs over the one before it with an interval, over all sizes and loads and at each: \
                 share of these",
                to.into(),
                with_interval,
                LEAST_WITH_INTERVAL,
            ));
        }
    }

    fn claim_many(&self, claims: &mut Vec<Claim>) {
        if let Some((factor, targets)) = self.many_factor() {
            claims.push(
                Claim::at_most(
                    "200 targets at 50 probes a second in one process: the scatter of a target's round trips, which 19 of \
                     20 targets do not exceed, over that of one target alone, median of the runs",
                    format!("{targets} targets"),
                    factor,
                    MOST_MANY_FACTOR,
                )
                .in_units("ratio"),
            );
        }
    }

    /// The scatter which 19 of 20 targets do not exceed over that of one target alone, the median over the runs, and how
    /// many targets there were.
    pub(crate) fn many_factor(&self) -> Option<(f64, u64)> {
        let factors: Vec<f64> =
            self.many.iter().filter_map(|[alone, all]| Some(all.spread()?[1] / alone.spread()?[0])).collect();
        Some((median(&factors)?, self.many.first()?[1].targets))
    }

    fn claim_voice(&self, claims: &mut Vec<Claim>) {
        for voice in self.voice.iter().filter(|voice| voice.of != CostOwner::Irtt) {
            for (end, ratio) in [("sender", voice.sender_ratio), ("responder", voice.responder_ratio)] {
                claims.push(
                    Claim::at_most(
                        "a MELP stream costs at most 1 % of a core",
                        format!("{}, {end}", voice.of.name()),
                        ratio * 100.0,
                        MOST_VOICE_PERCENT,
                    )
                    .in_units("percent"),
                );
            }
        }
    }

    fn claim_wakes(&self, claims: &mut Vec<Claim>) {
        let (mut halves, mut tails) = (Vec::new(), Vec::new());
        for condition in Condition::ALL {
            for interval in self.intervals() {
                let Some((_, Without { figures: Some(outside), .. })) = self.wakes(condition, interval)
                else {
                    continue;
                };
                let subject = format!("{}, every {interval}", condition.name());
                halves.push(Claim::at_most(
                    "the sender's wake error outside host gaps, all runs together: p50 at most 0.5 us",
                    subject.clone(),
                    outside.p50_ns,
                    MOST_WAKE_P50_NS,
                ));
                tails.push(Claim::at_most(
                    "the sender's wake error outside host gaps, all runs together: p99 at most 5 us",
                    subject,
                    outside.p99_ns,
                    MOST_WAKE_P99_NS,
                ));
            }
        }
        claims.append(&mut halves);
        claims.append(&mut tails);
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::steal_log::HostGaps;

    pub(crate) fn circumstances(run: u32, condition: Condition) -> Circumstances {
        Circumstances { run, condition, load_average: 0.5, quiet: true, host: HostGaps::default() }
    }

    pub(crate) fn trips(run: u32, condition: Condition, tool: Tool, stddev_ns: f64) -> Trips {
        let figures = Figures { count: 10, min_ns: 200.0, mean_ns: 300.0, max_ns: 9_000.0, stddev_ns };
        Trips {
            circumstances: circumstances(run, condition),
            tool,
            packet_octets: 64,
            incomplete: 0,
            figures,
            without_gaps: Some(Without { touched: 1, figures: Some(figures) }),
            forward: None,
            reverse: None,
        }
    }

    pub(crate) fn wakes(run: u32, condition: Condition, all: Vec<i64>, untouched: Vec<i64>) -> Wakes {
        Wakes {
            circumstances: circumstances(run, condition),
            interval_ns: 20_000_000,
            figures: Lateness::from_values(&all).unwrap(),
            without_gaps: None,
            all,
            untouched,
        }
    }

    #[test]
    fn the_factor_is_the_median_of_the_runs_own_factors() {
        let mut results = Results::default();
        for (run, (kernel, user)) in (1..).zip([(100.0, 1_000.0), (50.0, 5_000.0), (200.0, 6_000.0)]) {
            results.round_trips.push(trips(run, Condition::Busy, Tool::RomerKernel, kernel));
            results.round_trips.push(trips(run, Condition::Busy, Tool::RomerUser, user));
        }
        assert_eq!(results.factor(Condition::Busy, 64), Some(30.0), "of 10, 100 and 30");
        assert_eq!(results.factor(Condition::Idle, 64), None);
        let claims = results.claims();
        assert_eq!(claims.len(), 2, "the factor, and the deviation of the one condition");
        assert!(claims.iter().all(|claim| claim.passed));
        assert!((claims[1].figure - 100.0).abs() < 1e-12);
    }

    #[test]
    fn what_was_measured_is_told_in_groups_and_nothing_twice() {
        let mut results = Results::default();
        assert_eq!(results.groups(), []);
        results.round_trips.push(trips(1, Condition::Busy, Tool::RomerKernel, 10.0));
        results.wake_errors.push(wakes(1, Condition::Busy, vec![10], vec![10]));
        assert_eq!(results.groups(), [(ACCURACY, results.clone())]);
        let mut ours = trips(1, Condition::Busy, Tool::RomerUser, 10.0);
        ours.packet_octets = PEER_SIZE;
        let theirs = Trips { tool: Tool::Ping, ..ours.clone() };
        let peers = Results { round_trips: vec![ours.clone(), theirs.clone()], ..Results::default() };
        assert_eq!(peers.groups(), [("peers", peers.clone())], "measured alone");
        results.round_trips.push(ours);
        let accuracy = results.clone();
        results.round_trips.push(theirs);
        assert_eq!(results.groups(), [(ACCURACY, accuracy), ("peers", peers)]);
    }

    #[test]
    fn a_limit_that_is_broken_is_said_to_be() {
        let mut results = Results::default();
        results.round_trips.push(trips(1, Condition::Busy, Tool::RomerKernel, 2_001.0));
        results.round_trips.push(trips(1, Condition::Busy, Tool::RomerUser, 2_001.0));
        assert!(results.claims().iter().all(|claim| !claim.passed));
    }

    #[test]
    fn wake_errors_of_all_runs_are_judged_together_and_without_what_a_gap_touched() {
        let mut results = Results::default();
        results.wake_errors.push(wakes(1, Condition::Busy, vec![10, 20, 90_000], vec![10, 20]));
        results.wake_errors.push(wakes(2, Condition::Busy, vec![30], vec![30]));
        let (all, without) = results.wakes(Condition::Busy, Duration::from_millis(20)).unwrap();
        assert_eq!((all.count, without.touched), (4, 1));
        assert!((without.figures.unwrap().p50_ns - 20.0).abs() < 1e-12);
        assert!(results.claims().iter().all(|claim| claim.passed));
        assert_eq!(results.wakes(Condition::Idle, Duration::from_millis(20)), None);
    }
}
