//! What is asked of the engine: plain values, already checked by who made them (`romer-scenario`, or a caller in
//! code; [`Path::check`] tells in words what cannot be).

use std::net::IpAddr;
use std::sync::Arc;

use romer_units::random::Seed;
use romer_units::{Layer, Prefix, Rate};

use crate::chain::Chain;
use crate::delay_process::DelayProcess;
use crate::distribution::DelayDistribution;
use crate::generator::Generator;
use crate::loss_model::Decision;
use crate::nanos::Nanos;
use crate::packet::{Headers, PortId};
use crate::regimes::Regimes;
use crate::trace::Trace;

pub use crate::nanos::LONGEST_DELAY;

/// A model, or one for each state of a Markov chain.
#[derive(Clone, Debug, PartialEq)]
pub enum Model<P> {
    /// Always this.
    Plain(P),
    /// What the chain's state says.
    Markov {
        /// The chain.
        chain: Arc<Chain>,
        /// One for each of its states.
        states: Arc<[P]>,
    },
}

impl<P: Default> Default for Model<P> {
    fn default() -> Self {
        Self::Plain(P::default())
    }
}

impl<P> Model<P> {
    /// Every one of the parameters.
    pub fn all(&self) -> impl Iterator<Item = &P> {
        match self {
            Self::Plain(one) => core::slice::from_ref(one).iter(),
            Self::Markov { states, .. } => states.iter(),
        }
    }
}

/// Duplication: at most one copy a packet.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Duplicate {
    /// Which packets.
    pub decision: Decision,
    /// How much later than the packet the copy goes on to reordering and delay.
    pub delay: Nanos,
}

/// How far a packet is displaced: by a number of packets that go past it, or for a time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Displacement {
    /// Every whole number from `low` to `high` alike.
    Uniform {
        /// Least.
        low: u32,
        /// Greatest.
        high: u32,
    },
    /// Normal, rounded to the nearest whole number; what lies below 0 is 0.
    Normal {
        /// Mean.
        mean: f64,
        /// Standard deviation.
        stddev: f64,
    },
    /// Until a time is up, whatever goes past meanwhile: every time from `low` to `high` alike.
    Time {
        /// Shortest.
        low: Nanos,
        /// Longest.
        high: Nanos,
    },
}

impl Default for Displacement {
    fn default() -> Self {
        Self::Uniform { low: 1, high: 1 }
    }
}

/// The largest displacement that is kept to; a larger draw of a normal law is this.
pub const MOST_DISPLACED: u32 = 65_535;

/// Reordering by displacement.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reorder {
    /// Which packets.
    pub decision: Decision,
    /// How far.
    pub displacement: Displacement,
}

/// What is added to a fixed delay.
#[derive(Clone, Debug, PartialEq)]
pub struct Variable {
    pub(crate) law: DelayDistribution,
    pub(crate) width: f64,
    pub(crate) skewness: f64,
    pub(crate) correlation: Option<f64>,
    pub(crate) process: Option<Arc<DelayProcess>>,
}

impl Variable {
    /// A distribution; with `correlation`, a Gaussian copula of first order: packet after packet, the normal scores
    /// of the delays have autocorrelation `correlation`^k, and each delay has the law exactly.
    pub fn new(law: DelayDistribution, correlation: Option<f64>) -> Self {
        Self { width: law.width(), skewness: law.skewness(), law, correlation, process: None }
    }

    /// A distribution, and delays that are a process in time: their normal scores have the autocorrelation exp(-gap/`time`),
    /// nanoseconds.
    pub fn in_time(law: DelayDistribution, time: Nanos) -> Self {
        let process = Some(Arc::new(DelayProcess::new(&law, time)));
        Self { process, ..Self::new(law, None) }
    }

    /// The process in time, where the delays are one.
    pub fn process(&self) -> Option<&DelayProcess> {
        self.process.as_deref()
    }

    /// Nanoseconds between packets from which on delays in exact order are as correlated as asked for, to 0.02 or so: nearer
    /// ones are more alike, because order asks for it. `None` where no correlation is asked for.
    pub fn correlated_from(&self) -> Option<f64> {
        self.correlation.map(|correlation| crate::order::step_quantile(&self.law, correlation, 0.003))
    }

    /// Whether a correlation is asked for, by packets or in time.
    pub const fn is_correlated(&self) -> bool {
        self.correlation.is_some() || self.process.is_some()
    }

    /// The distribution.
    pub const fn law(&self) -> &DelayDistribution {
        &self.law
    }
}

/// Delay.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Delay {
    /// For every packet.
    pub fixed: Nanos,
    /// Added to it.
    pub variable: Option<Variable>,
}

/// What happens where a later packet would leave before an earlier one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// It does not come to that, and the distribution is kept (`order` in this crate).
    #[default]
    Exact,
    /// It waits for the earlier one, and the distribution suffers: Pham 2004's queue.
    Fifo,
    /// It overtakes.
    Independent,
}

impl Order {
    /// The name in scenario and document.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Exact => "exact",
            Self::Fifo => "fifo",
            Self::Independent => "independent",
        }
    }
}

/// Corruption of bits.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Corrupt {
    /// Which packets.
    pub decision: Decision,
    /// How many different bits of a packet are turned over, 1 to [`crate::MOST_BITS`].
    pub bits: u8,
    /// Whether the checksums are made right again, so that the far end takes the packet for good.
    pub repair_checksum: bool,
}

/// What a full queue does.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Discipline {
    /// Drops what does not fit.
    #[default]
    TailDrop,
    /// Random early detection (Floyd and Jacobson 1993), with the gentle slope above the upper threshold.
    Red {
        /// Average octets below which nothing is dropped.
        low: u64,
        /// Average octets at which `probability` is reached.
        high: u64,
        /// Of a drop at `high`.
        probability: f64,
        /// Of the newest length in the average.
        weight: f64,
    },
    /// Controlled delay (RFC 8289).
    CoDel {
        /// Acceptable standing delay.
        target: Nanos,
        /// The time over which it is judged.
        interval: Nanos,
    },
}

/// A rate with its queue, after all other stages.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RateLimit {
    /// How much in a second.
    pub limit: Rate,
    /// What counts: [`Layer::L1`], [`Layer::L2`] or [`Layer::L3`].
    pub layer: Layer,
    /// Octets of frames in the queue, the one that is being sent included.
    pub queue: u64,
    /// What happens to more.
    pub discipline: Discipline,
}

/// The octets of a queue for which nothing is said: 64 KiB.
pub const DEFAULT_QUEUE: u64 = 65_536;

/// One way through the emulator.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Path {
    /// First stage.
    pub loss: Model<Decision>,
    /// Second stage.
    pub duplicate: Model<Duplicate>,
    /// Third stage.
    pub reorder: Model<Reorder>,
    /// How long a displaced packet waits at most for those that are to go past it.
    pub flush: Nanos,
    /// Fourth stage.
    pub delay: Model<Delay>,
    /// How the fourth stage keeps order.
    pub order: Order,
    /// Marks; what is marked is turned over as it leaves.
    pub corrupt: Corrupt,
    /// Fifth stage.
    pub rate: Option<RateLimit>,
    /// Recorded fates instead of the first four stages, or recorded delivery opportunities instead of the fifth.
    pub trace: Option<Arc<Trace>>,
    /// Other paths in turn, by a chain in time, instead of all of the above.
    pub regimes: Option<Arc<Regimes<Self>>>,
}

/// How long a displaced packet waits at most where nothing is said.
pub const DEFAULT_FLUSH: Nanos = 100_000_000;

impl Path {
    /// Whether the numbers can be what they say.
    ///
    /// # Errors
    /// In words, the stage first.
    pub fn check(&self) -> Result<(), String> {
        let staged =
            |stage: &str, result: Result<(), String>| result.map_err(|why| format!("{stage}: {why}"));
        for decision in self.loss.all() {
            staged("loss", decision.check())?;
        }
        for duplicate in self.duplicate.all() {
            staged("duplicate", duplicate.decision.check())?;
            staged("duplicate", within_an_hour("delay", duplicate.delay))?;
        }
        for reorder in self.reorder.all() {
            staged("reorder", reorder.decision.check())?;
            staged("reorder", reorder.displacement.check())?;
        }
        staged("reorder", within_an_hour("flush", self.flush))?;
        for delay in self.delay.all() {
            staged("delay", within_an_hour("fixed", delay.fixed))?;
        }
        staged("corrupt", self.corrupt.decision.check())
    }

    /// This path, a `share` of the way to `other`: numbers of models of one kind in between, and of the rest what this
    /// one says. Traces and chains stay as they are.
    #[must_use]
    pub fn between(&self, other: &Self, share: f64) -> Self {
        let mut mixed = self.clone();
        if let (Model::Plain(a), Model::Plain(b)) = (&self.loss, &other.loss) {
            mixed.loss = Model::Plain(a.between(b, share).unwrap_or(*a));
        }
        if let (Model::Plain(a), Model::Plain(b)) = (&self.duplicate, &other.duplicate) {
            let decision = a.decision.between(&b.decision, share).unwrap_or(a.decision);
            mixed.duplicate = Model::Plain(Duplicate { decision, delay: part(a.delay, b.delay, share) });
        }
        if let (Model::Plain(a), Model::Plain(b)) = (&self.reorder, &other.reorder) {
            let decision = a.decision.between(&b.decision, share).unwrap_or(a.decision);
            mixed.reorder = Model::Plain(Reorder { decision, displacement: a.displacement });
        }
        if let (Model::Plain(a), Model::Plain(b)) = (&self.delay, &other.delay) {
            let variable = match (&a.variable, &b.variable) {
                // A process in time keeps its numbers: each of them has a table of its own.
                (Some(a), Some(b))
                    if a.correlation == b.correlation && a.process.is_none() && b.process.is_none() =>
                {
                    a.law.between(&b.law, share).map(|law| Variable::new(law, a.correlation))
                }
                _ => None,
            };
            let variable = variable.or_else(|| a.variable.clone());
            mixed.delay = Model::Plain(Delay { fixed: part(a.fixed, b.fixed, share), variable });
        }
        let decision = self.corrupt.decision.between(&other.corrupt.decision, share);
        mixed.corrupt.decision = decision.unwrap_or(self.corrupt.decision);
        if let (Some(a), Some(b)) = (self.rate, other.rate) {
            let limit = match (a.limit, b.limit) {
                (Rate::Bits(a), Rate::Bits(b)) => Rate::Bits(part_of_rate(a, b, share)),
                (Rate::Packets(a), Rate::Packets(b)) => Rate::Packets(part_of_rate(a, b, share)),
                (a, _) => a,
            };
            mixed.rate = Some(RateLimit { limit, ..a });
        }
        mixed
    }

    /// Whether it makes copies of packets.
    fn duplicates(&self) -> bool {
        self.duplicate.all().any(|copy| copy.decision.ratio() > 0.0)
            || self.trace.as_ref().is_some_and(|trace| trace.duplicates())
    }

    /// The longest that this path holds a packet before the rate queue, as good as always: what a buffer is made for.
    pub fn longest_hold(&self) -> Nanos {
        let delay = self.delay.all().map(|delay| {
            let variable = delay.variable.as_ref().map_or(0.0, |variable| variable.law.practical_maximum());
            delay.fixed.saturating_add(crate::convert::nanos(variable).min(LONGEST_DELAY))
        });
        let copy = self.duplicate.all().filter(|copy| copy.decision.ratio() > 0.0).map(|copy| copy.delay);
        let displaced = self.reorder.all().filter(|reorder| reorder.decision.ratio() > 0.0);
        let displaced = displaced.map(|reorder| match reorder.displacement {
            Displacement::Time { high, .. } => high,
            Displacement::Uniform { .. } | Displacement::Normal { .. } => self.flush,
        });
        let traced = self.trace.as_ref().map_or(0, |trace| trace.longest_delay());
        delay
            .max()
            .unwrap_or(0)
            .max(traced)
            .saturating_add(copy.max().unwrap_or(0))
            .saturating_add(displaced.max().unwrap_or(0))
    }
}

/// The paths of a path's regimes; itself where it has none.
pub(crate) fn regimes_of(path: &Arc<Path>) -> &[Arc<Path>] {
    path.regimes.as_ref().map_or(core::slice::from_ref(path), |regimes| regimes.states())
}

fn part(a: Nanos, b: Nanos, share: f64) -> Nanos {
    a.saturating_add(crate::convert::nanos(crate::convert::real(b.saturating_sub(a)) * share))
}

fn part_of_rate(a: u64, b: u64, share: f64) -> u64 {
    let signed = |rate: u64| Nanos::try_from(rate).unwrap_or(Nanos::MAX);
    part(signed(a), signed(b), share).max(1).unsigned_abs()
}

fn within_an_hour(name: &str, nanos: Nanos) -> Result<(), String> {
    if (0..=LONGEST_DELAY).contains(&nanos) {
        Ok(())
    } else {
        Err(format!("{name} is {}; it is from 0s to 1h", romer_units::Duration::from_nanos(nanos)))
    }
}

impl Displacement {
    fn check(&self) -> Result<(), String> {
        match *self {
            Self::Uniform { low, high } if low > high => {
                Err(format!("displacement has low {low} above high {high}"))
            }
            Self::Uniform { high, .. } if high > MOST_DISPLACED => {
                Err(format!("displacement is up to {high}; at most {MOST_DISPLACED} packets go past"))
            }
            Self::Time { low, high } if low > high => Err("displacement has low above high".to_owned()),
            Self::Time { low, high } => {
                within_an_hour("displacement", low).and_then(|()| within_an_hour("displacement", high))
            }
            _ => Ok(()),
        }
    }
}

/// What a flow's packets look like; what is `None` does not matter.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Match {
    /// Code point.
    pub dscp: Option<u8>,
    /// Protocol of the IP packet.
    pub protocol: Option<u8>,
    /// Type of the frame, after VLAN tags.
    pub ethertype: Option<u16>,
    /// Outermost VLAN.
    pub vlan: Option<u16>,
    /// Source address, or a range of them.
    pub source: Option<Prefix>,
    /// Destination address, or a range of them.
    pub destination: Option<Prefix>,
    /// Source port of UDP or TCP.
    pub source_port: Option<u16>,
    /// Destination port of UDP or TCP.
    pub destination_port: Option<u16>,
}

impl Match {
    /// Whether a packet with these headers belongs to the flow.
    pub fn covers(&self, headers: &Headers) -> bool {
        fn same<T: PartialEq>(wanted: &Option<T>, found: &Option<T>) -> bool {
            wanted.is_none() || wanted == found
        }
        fn within(wanted: Option<Prefix>, found: Option<IpAddr>) -> bool {
            wanted.is_none_or(|prefix| found.is_some_and(|address| prefix.contains(address)))
        }
        same(&self.dscp, &headers.dscp)
            && same(&self.protocol, &headers.protocol)
            && same(&self.ethertype, &headers.ethertype)
            && same(&self.vlan, &headers.vlan)
            && within(self.source, headers.source)
            && within(self.destination, headers.destination)
            && same(&self.source_port, &headers.source_port)
            && same(&self.destination_port, &headers.destination_port)
    }
}

/// The paths of one moment, for each port (a first): number 0 is of what belongs to no flow, number n of the n-th
/// flow; a flow without a path takes number 0.
#[derive(Clone, Debug, PartialEq)]
pub struct Setting {
    /// By port, then by flow.
    pub paths: [Vec<Option<Arc<Path>>>; 2],
}

impl Default for Setting {
    fn default() -> Self {
        let nothing = || vec![Some(Arc::new(Path { flush: DEFAULT_FLUSH, ..Path::default() }))];
        Self { paths: [nothing(), nothing()] }
    }
}

/// A change at a moment.
#[derive(Clone, Debug, PartialEq)]
pub struct TimelineStep {
    /// After the start, or after the start of each repetition.
    pub at: Nanos,
    /// What holds from then on.
    pub setting: Setting,
}

/// What is held of one direction, before the rates' queues.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Held {
    /// The longest of a packet.
    pub longest: Nanos,
    /// Octets at once, at the rates that are stated in bits.
    pub octets: u64,
    /// Packets at once, at the rates that are stated in packets.
    pub packets: u64,
}

/// All that the engine is asked for.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Config {
    /// Six numbers.
    pub seed: Option<Seed>,
    /// How chance comes about.
    pub generator: Generator,
    /// The flows, the first that covers a packet wins.
    pub flows: Vec<Match>,
    /// From the start.
    pub base: Setting,
    /// Later, by ascending time.
    pub timeline: Vec<TimelineStep>,
    /// After so long the start's setting holds again, and the timeline begins anew.
    pub repeat: Option<Nanos>,
}

impl Config {
    /// Every path of every moment, regimes included.
    pub fn paths(&self) -> impl Iterator<Item = &Arc<Path>> {
        self.settings().flat_map(|setting| setting.paths.iter().flatten().flatten()).flat_map(regimes_of)
    }

    /// What holds at first, and from each step of the timeline on.
    fn settings(&self) -> impl Iterator<Item = &Setting> {
        core::iter::once(&self.base).chain(self.timeline.iter().map(|step| &step.setting))
    }

    /// The longest that any path holds a packet before its rate queue.
    pub fn longest_hold(&self) -> Nanos {
        self.paths().map(|path| path.longest_hold()).max().unwrap_or(0)
    }

    /// What must be held of that which arrives at `port`, before the rates' queues: of each path the longest hold at its
    /// rate, twice where packets are duplicated. Each path counts by the longest hold and the highest rate that it ever has.
    pub fn held(&self, port: PortId) -> Held {
        let settings = || self.settings().map(|setting| &setting.paths[port.index()]);
        let flows = settings().map(Vec::len).max().unwrap_or(0);
        let mut held = Held::default();
        for flow in 0..flows {
            let mut one = Held::default();
            let (mut bits, mut packets, mut copies) = (0, 0, false);
            for path in settings().filter_map(|paths| paths.get(flow)?.as_ref()).flat_map(regimes_of) {
                one.longest = one.longest.max(path.longest_hold());
                copies |= path.duplicates();
                match path.rate.map(|rate| rate.limit) {
                    Some(Rate::Bits(rate)) => bits = bits.max(rate),
                    Some(Rate::Packets(rate)) => packets = packets.max(rate),
                    None => {}
                }
            }
            let at = |rate: u64, unit: u128| {
                let hold = u128::from(one.longest.unsigned_abs()) * if copies { 2 } else { 1 };
                u64::try_from(hold * u128::from(rate) / unit).unwrap_or(u64::MAX)
            };
            held.longest = held.longest.max(one.longest);
            held.octets = held.octets.saturating_add(at(bits, 8_000_000_000));
            held.packets = held.packets.saturating_add(at(packets, 1_000_000_000));
        }
        held
    }

    /// The octets that the rates' queues hold, of both ways together, at the time when they hold the most.
    pub fn queue_octets(&self) -> u64 {
        self.settings()
            .map(|setting| {
                let paths = setting.paths.iter().flatten().flatten();
                let queue = |path: &Arc<Path>| path.rate.map_or(0, |rate| rate.queue);
                romer_units::saturating_sum(
                    paths.map(|path| regimes_of(path).iter().map(queue).max().unwrap_or(0)),
                )
            })
            .max()
            .unwrap_or(0)
    }
}
