//! Both ports together.

use romer_units::random::Seed;

use crate::config::Config;
use crate::generator::Owner;
use crate::ledger::Ledger;
use crate::nanos::Nanos;
use crate::order::Correlation;
use crate::order_barrier::OPEN;
use crate::packet::{Cause, Outcome, Packet, PortId};
use crate::packet_store::NEVER;
use crate::pipeline::Pipeline;
use crate::timeline::Timeline;

/// How much may be held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Packets and copies that one path of one port holds at most; more are lost to the queue.
    pub held: usize,
    /// For how many room is made at the start, so that nothing is allocated later. Equal to `held` for live ports.
    pub reserved: usize,
}

impl Limits {
    /// For a live port: room for all at the start.
    pub const fn fixed(held: usize) -> Self {
        Self { held, reserved: held }
    }

    /// For virtual time, where memory may grow: bounded by what a machine can hold.
    pub const fn growing() -> Self {
        Self { held: 1 << 28, reserved: 1 << 10 }
    }
}

/// What a packet's arrival led to at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Admission {
    /// Which arrival of its port it was, from 0.
    pub ordinal: u64,
    /// When it counts as arrived: its stamp or, where something later is decided already, just after that. All
    /// decisions depend on this time, never on when the engine was called.
    pub arrival: Nanos,
    /// Why it is lost already: its slot is free, and nothing more is heard of it.
    pub lost: Option<Cause>,
    /// How many outcomes will be given for it: 0 where it is lost, else 1 and one for each copy.
    pub outcomes: u16,
}

/// The engine. Its caller has the clock: it says when packets arrive ([`Engine::admit`]) and asks what is due
/// ([`Engine::poll`]).
///
/// # Order of calls
/// Before a packet is admitted, what is due before its arrival is polled. Before the engine is polled, what arrived
/// until then is admitted; as far as the caller does not know that yet, it says so ([`Engine::set_received_until`]). An
/// arrival that comes to light later all the same counts from just after what has been decided
/// ([`Admission::arrival`]). So arrivals as they counted give the same fates and times again, whenever the engine is polled.
#[derive(Clone, Debug)]
pub struct Engine {
    seed: Seed,
    config: Config,
    limits: Limits,
    ports: [PortPaths; 2],
    /// Nothing is due before this.
    quiet_until: Nanos,
}

#[derive(Clone, Debug)]
struct PortPaths {
    paths: Vec<Option<Pipeline>>,
    /// How often packets were given other paths than those before them had.
    generation: u32,
    /// Whether pieces of an earlier generation may be behind the reorder stage.
    has_older: bool,
    ordinal: u64,
    last_arrival: Nanos,
    /// All that arrived up to then is admitted.
    received_until: Nanos,
    /// The last moment at which something was done on which the fate of an arrival before it could depend.
    settled: Nanos,
    ledger: Ledger,
}

impl PortPaths {
    /// When a packet with this stamp counts as arrived.
    fn arrival(&self, stamp: Nanos) -> Nanos {
        stamp.max(self.last_arrival).max(self.settled.saturating_add(1))
    }

    /// Whether what this path does next is to be done only when all that arrives until then is known.
    fn awaits(&self, path: &Pipeline) -> bool {
        path.next_at() > self.received_until && !path.only_leaves()
    }

    /// Packets may take other paths from now on than those before them did: what keeps its order leaves behind all of
    /// these.
    fn begin_generation(&mut self, now: Nanos) {
        self.generation = self.generation.saturating_add(1);
        for path in self.paths.iter_mut().flatten() {
            path.begin_generation(self.generation);
        }
        self.keep_order(now);
    }

    /// Tells each path which is the earliest generation that the others hold.
    fn keep_order(&mut self, now: Nanos) {
        let (mut first, mut second, mut of) = (OPEN, OPEN, 0);
        for (index, path) in self.paths.iter().enumerate() {
            let oldest = path.as_ref().map_or(OPEN, Pipeline::oldest_generation);
            if oldest < first {
                (first, second, of) = (oldest, first, index);
            } else {
                second = second.min(oldest);
            }
        }
        self.has_older = first < OPEN;
        for (index, path) in self.paths.iter_mut().enumerate() {
            if let Some(path) = path {
                path.keep_behind(if index == of { second } else { first }, now);
            }
        }
    }
}

impl Engine {
    /// An engine whose time begins at `start`. A seed that the configuration lacks is six ones: who wants chance draws
    /// a seed and says it.
    pub fn new(config: Config, limits: Limits, start: Nanos) -> Self {
        let seed = config.seed.unwrap_or(Seed([1; 6]));
        let ports = PortId::BOTH.map(|_| PortPaths {
            paths: Vec::new(),
            generation: 0,
            has_older: false,
            ordinal: 0,
            last_arrival: Nanos::MIN,
            received_until: NEVER,
            settled: Nanos::MIN,
            ledger: Ledger::default(),
        });
        let mut engine = Self { seed, config: Config::default(), limits, ports, quiet_until: NEVER };
        engine.configure(config, start);
        engine
    }

    /// Another configuration, its timeline beginning with it, from `now` on or, where packets of later arrivals have been
    /// admitted or something later is decided, from just after these; since when is returned
    /// ([`Engine::moment_from`]). What is due before that is to be polled first. What is held leaves when it would have
    /// left; stages whose model did not change go on with it. The seed and the generator stay those of the start.
    pub fn apply(&mut self, config: Config, now: Nanos) -> Nanos {
        let moment = self.moment_from(now);
        self.configure(config, moment);
        for side in &mut self.ports {
            side.settled = side.settled.max(moment.saturating_sub(1));
        }
        moment
    }

    /// The first moment from `now` on that is after all admitted arrivals and all that is decided.
    pub fn moment_from(&self, now: Nanos) -> Nanos {
        self.ports
            .iter()
            .fold(now, |moment, side| side.arrival(moment).max(side.last_arrival.saturating_add(1)))
    }

    /// All packets that arrived at `port` up to `time` are admitted. Until this is said for the first time, the engine takes
    /// it that there are no others. Later decisions wait, and departures on which no decision depends do not.
    pub const fn set_received_until(&mut self, port: PortId, time: Nanos) {
        self.ports[port.index()].received_until = time;
    }

    /// Whether something of `port` that is due by `now` waits until it is known what has arrived up to then.
    pub fn awaits_arrivals(&self, port: PortId, now: Nanos) -> bool {
        let side = &self.ports[port.index()];
        side.paths.iter().flatten().any(|path| path.next_at() <= now && side.awaits(path))
    }

    fn configure(&mut self, config: Config, now: Nanos) {
        for port in PortId::BOTH {
            let index = port.index();
            let flows = config.base.paths[index].len().max(self.ports[index].paths.len());
            for flow in 0..flows {
                let path =
                    |setting: &crate::config::Setting| setting.paths[index].get(flow).cloned().flatten();
                let Some(base) = path(&config.base) else { continue };
                let steps = config.timeline.iter().filter_map(|step| Some((step.at, path(&step.setting)?)));
                let owner = Owner {
                    seed: self.seed,
                    generator: config.generator,
                    port: if port == PortId::A { 0 } else { 1 },
                    flow: u16::try_from(flow).unwrap_or(u16::MAX),
                };
                let timeline = Timeline::new(owner, base, steps, config.repeat);
                let side = &mut self.ports[index];
                if side.paths.len() <= flow {
                    side.paths.resize_with(flow + 1, || None);
                }
                match &mut side.paths[flow] {
                    Some(pipeline) => {
                        pipeline.catch_up(now.saturating_sub(1), &mut side.ledger);
                        pipeline.retime(timeline, now);
                    }
                    none => {
                        let Limits { held, reserved } = self.limits;
                        *none = Some(Pipeline::new(owner, timeline, now, held, reserved));
                    }
                }
            }
        }
        for (index, side) in self.ports.iter_mut().enumerate() {
            let own = |config: &Config, flow| config.base.paths[index].get(flow).is_some_and(Option::is_some);
            let other_paths =
                || (0..side.paths.len()).any(|flow| own(&self.config, flow) != own(&config, flow));
            if self.config.flows != config.flows || other_paths() {
                side.begin_generation(now);
            }
        }
        self.config = config;
        self.quiet_until = Nanos::MIN;
    }

    /// A packet has arrived: decides its fate and lets it in.
    pub fn admit(&mut self, packet: &Packet) -> Admission {
        let index = packet.port.index();
        let flow = self.flow(packet);
        let side = &mut self.ports[index];
        let packet = Packet { arrival: side.arrival(packet.arrival), ..*packet };
        let arrival = packet.arrival;
        side.last_arrival = arrival;
        let ordinal = side.ordinal;
        side.ordinal += 1;
        let Some(pipeline) = side.paths.get_mut(flow).and_then(Option::as_mut) else {
            side.ledger.received += 1;
            side.ledger.lose(Cause::Undeliverable);
            return Admission { ordinal, arrival, lost: Some(Cause::Undeliverable), outcomes: 0 };
        };
        let entered = pipeline.admit(&packet, ordinal, &mut side.ledger);
        self.quiet_until = self.quiet_until.min(pipeline.next_at());
        let outcomes = if entered.lost.is_some() { 0 } else { u16::from(entered.copies) + 1 };
        Admission { ordinal, arrival, lost: entered.lost, outcomes }
    }

    /// Which path a packet takes.
    fn flow(&self, packet: &Packet) -> usize {
        if self.config.flows.is_empty() {
            return 0;
        }
        let port = packet.port.index();
        let matched = self.config.flows.iter().position(|flow| flow.covers(&packet.headers));
        let flow = matched.map_or(0, |flow| flow + 1);
        let has_its_own = self.config.base.paths[port].get(flow).is_some_and(Option::is_some);
        if has_its_own { flow } else { 0 }
    }

    /// When something is next due of itself; `None`: nothing is held.
    pub fn next_at(&self) -> Option<Nanos> {
        self.paths().map(|(_, pipeline)| pipeline.next_at()).min().filter(|at| *at < NEVER)
    }

    /// What leaves or is dropped up to `now`, one at a time, for each port by time; `None`: nothing more is due, or what
    /// is waits for arrivals ([`Engine::set_received_until`]).
    pub fn poll(&mut self, now: Nanos) -> Option<Outcome> {
        while self.quiet_until <= now {
            let (mut at, mut port, mut flow) = (NEVER, 0, 0);
            let mut next = NEVER;
            for (this_port, side) in self.ports.iter().enumerate() {
                for (this_flow, pipeline) in side.paths.iter().enumerate() {
                    let Some(pipeline) = pipeline else { continue };
                    let due = pipeline.next_at();
                    next = next.min(due);
                    if due < at && !side.awaits(pipeline) {
                        (at, port, flow) = (due, this_port, this_flow);
                    }
                }
            }
            self.quiet_until = next;
            if at > now || at == NEVER {
                return None;
            }
            let side = &mut self.ports[port];
            let pipeline = side.paths[flow].as_mut()?;
            if !pipeline.only_leaves() {
                side.settled = side.settled.max(at);
            }
            if let Some(outcome) = pipeline.poll(at, &mut side.ledger) {
                if side.has_older {
                    side.keep_order(outcome.time);
                }
                return Some(outcome);
            }
        }
        None
    }

    /// The emulator ends: what is held comes out as lost.
    pub fn shut_down(&mut self, now: Nanos) -> Option<Outcome> {
        for side in &mut self.ports {
            for pipeline in side.paths.iter_mut().flatten() {
                if let Some(outcome) = pipeline.drain(now, &mut side.ledger) {
                    return Some(outcome);
                }
            }
        }
        None
    }

    /// What was given out as leaving did not leave after all.
    pub const fn undelivered(&mut self, outcome: &Outcome, cause: Cause) {
        self.ports[outcome.port.index()].ledger.revoke(outcome, cause);
    }

    /// The kernel dropped so many packets of a port before they came here: received, and lost.
    pub const fn dropped_before(&mut self, port: PortId, number: u64) {
        let ledger = &mut self.ports[port.index()].ledger;
        ledger.received += number;
        ledger.lost[Cause::Kernel.index()] += number;
    }

    /// The counts of what arrived at `port`, exact at this instant.
    pub const fn ledger(&self, port: PortId) -> &Ledger {
        &self.ports[port.index()].ledger
    }

    /// How alike successive delays are, of the path that belongs to no flow, in the exact order or by a correlation asked for;
    /// `None` where neither is, and the law has a variance.
    pub fn correlation(&self, port: PortId) -> Option<&Correlation> {
        self.ports[port.index()].paths.first()?.as_ref()?.correlation()
    }

    /// The seed that replays this run.
    pub const fn seed(&self) -> Seed {
        self.seed
    }

    /// What holds now.
    pub const fn config(&self) -> &Config {
        &self.config
    }

    /// Packets and copies held for both ports.
    pub fn held(&self) -> usize {
        self.paths().map(|(_, pipeline)| pipeline.held()).sum()
    }

    /// Packets and copies held for one port.
    pub fn held_for(&self, port: PortId) -> usize {
        self.paths().filter(|(at, _)| *at == port).map(|(_, pipeline)| pipeline.held()).sum()
    }

    fn paths(&self) -> impl Iterator<Item = (PortId, &Pipeline)> {
        PortId::BOTH.into_iter().flat_map(|port| {
            self.ports[port.index()].paths.iter().flatten().map(move |pipeline| (port, pipeline))
        })
    }
}
