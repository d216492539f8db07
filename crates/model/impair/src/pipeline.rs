//! The stages of one path of one port, in the order of Pham 2004's figure 3.1 (loss, duplication, reordering, delay),
//! then rate and queue.
//!
//! Loss is first because what is lost costs nothing further on. A copy is made before reordering and delay, and goes
//! through both. The rate is last: it is the bottleneck that the packets of all earlier chance share. Corruption is
//! drawn when a packet enters and done as it leaves: each copy for itself, because on a real path noise hits frames on
//! the wire and not in the duplicating switch; it changes no other decision, so its place matters only for what never
//! leaves, and that is not counted as corrupted.

use std::sync::Arc;

use crate::chain::Walk;
use crate::config::{Delay, Displacement, Duplicate, MOST_DISPLACED, Model, Order, Path, Reorder, Variable};
use crate::convert;
use crate::delay_process::ProcessState;
use crate::distribution::DelayDistribution;
use crate::generator::{Draws, Lane, Owner, Purpose, Sequence};
use crate::ledger::Ledger;
use crate::loss_model::{Decision, ModelState};
use crate::nanos::Nanos;
use crate::order::{Correlation, Exact};
use crate::order_barrier::OrderBarrier;
use crate::packet::{Cause, Corruption, Outcome, Packet};
use crate::packet_store::{InFlight, NEVER, ReorderBuffer, Slab, SlabKey, TimerHeap};
use crate::server::{Pace, QueueServer, ServedPacket};
use crate::special_functions::normal_below;
use crate::timeline::{Cursor, Timeline};
use crate::trace::{Fate, Trace};

/// A stage's decision and the chain that it may hang on.
#[derive(Clone, Debug)]
struct DecisionStage {
    memory: ModelState,
    walk: Walk,
    /// When a chain by time begins: with the path, or where the setting changed to its model.
    begins: Nanos,
    numbers: Sequence,
}

impl DecisionStage {
    fn new(owner: Owner, purpose: Purpose, begins: Nanos) -> Self {
        let numbers = Sequence::new(owner, purpose);
        Self { memory: ModelState::default(), walk: Walk::default(), begins, numbers }
    }

    /// Begins anew with another model, which holds from `at` on.
    fn forget(&mut self, at: Nanos) {
        self.memory = ModelState::default();
        self.walk = Walk::default();
        self.begins = at;
    }

    /// The parameters of a packet that reaches the stage, and the number of their state.
    fn select<'a, P>(&mut self, model: &'a Model<P>, now: Nanos) -> (&'a P, usize) {
        match model {
            Model::Plain(one) => (one, 0),
            Model::Markov { chain, states } => {
                let state = self.walk.state(chain, &mut self.numbers, now, self.begins);
                (&states[state.min(states.len() - 1)], state)
            }
        }
    }

    fn decide(&mut self, decision: &Decision, unit: f64) -> bool {
        self.memory.decide(decision, unit, &mut self.numbers)
    }
}

/// The delay stage's memory.
#[derive(Clone, Debug)]
struct Holding {
    exact: Exact,
    state: usize,
    /// Normal score of the last delay of a correlated law.
    score: Option<f64>,
    /// Of delays that are a process in time, for each state of the delay's chain; the process begins with the path.
    processes: Vec<ProcessState>,
    origin: Nanos,
    last_deadline: Nanos,
}

/// One path of one port.
#[derive(Clone, Debug)]
pub(crate) struct Pipeline {
    start: Nanos,
    timeline: Timeline,
    /// Where the first four stages are in the timeline, and where the fifth is.
    front: Cursor,
    back: Cursor,
    owner: Owner,
    draws: Draws,
    loss: DecisionStage,
    duplicate: DecisionStage,
    reorder: DecisionStage,
    delay: DecisionStage,
    corrupt: DecisionStage,
    holding: Holding,
    pieces: Slab,
    /// Copies on their way to the reorder stage.
    copies: TimerHeap<SlabKey>,
    displaced: ReorderBuffer,
    delayed: TimerHeap<SlabKey>,
    gate: OrderBarrier,
    server: QueueServer,
    correlation: Box<Correlation>,
    /// Packets of this path so far, for traces.
    packets: u64,
    capacity: usize,
    /// When something next happens of itself, and when that is so in the first four stages; kept by
    /// [`Pipeline::update_deadline`].
    next: Nanos,
    next_in_front: Nanos,
    /// When the setting changes next, for the first four stages and for the fifth, and when the fifth does something.
    front_step: Nanos,
    back_step: Nanos,
    /// Whether the fifth stage has one pace at all times.
    one_pace: bool,
    /// Whether each round of the timeline takes back what the fifth stage has begun to send.
    interrupts: bool,
    /// The progress of the fifth stage, and the first round that began with it.
    progress: (u64, i64),
    server_at: Nanos,
    /// Since when the recorded trace of the first four stages holds, and the pace of the fifth.
    trace_from: Nanos,
    pace_from: Nanos,
    /// What holds for the first four stages, unless it is in use or has changed: to share it anew for each packet costs
    /// more than to look it up.
    current: Option<Arc<Path>>,
}

/// What a packet's arrival made.
pub(crate) struct Entered {
    pub(crate) lost: Option<Cause>,
    pub(crate) copies: u8,
}

impl Pipeline {
    pub(crate) fn new(
        owner: Owner,
        timeline: Timeline,
        start: Nanos,
        capacity: usize,
        reserve: usize,
    ) -> Self {
        let mut pipeline = Self {
            start,
            front: timeline.first(),
            back: timeline.first(),
            one_pace: timeline.is_uniform(same_pace),
            interrupts: !timeline.is_uniform(carries_over),
            progress: (0, 0),
            timeline,
            draws: Draws::new(owner),
            loss: DecisionStage::new(owner, Purpose::LossChain, start),
            duplicate: DecisionStage::new(owner, Purpose::DuplicateChain, start),
            reorder: DecisionStage::new(owner, Purpose::ReorderChain, start),
            delay: DecisionStage::new(owner, Purpose::DelayChain, start),
            corrupt: DecisionStage::new(owner, Purpose::CorruptChain, start),
            holding: Holding {
                exact: Exact::new(Sequence::new(owner, Purpose::Order)),
                state: 0,
                score: None,
                processes: Vec::new(),
                origin: start,
                last_deadline: Nanos::MIN,
            },
            owner,
            pieces: Slab::with_capacity(reserve),
            copies: TimerHeap::with_capacity(reserve),
            displaced: ReorderBuffer::with_capacity(reserve),
            delayed: TimerHeap::with_capacity(reserve),
            gate: OrderBarrier::with_capacity(reserve),
            server: QueueServer::with_capacity(reserve),
            correlation: Box::default(),
            packets: 0,
            capacity,
            next: NEVER,
            next_in_front: NEVER,
            front_step: NEVER,
            back_step: NEVER,
            server_at: NEVER,
            trace_from: start,
            pace_from: start,
            current: None,
        };
        pipeline.make_processes();
        pipeline.update_step_deadline();
        pipeline
    }

    /// Makes room for the processes in time of each state of a chain of delays.
    fn make_processes(&mut self) {
        let states = |path: &Arc<Path>| {
            let is_process = |delay: &Delay| delay.variable.as_ref().is_some_and(|one| one.process.is_some());
            if path.delay.all().any(is_process) { path.delay.all().count() } else { 0 }
        };
        let states = self.timeline.paths().map(states).max().unwrap_or(0);
        let states = if states > 0 { states.max(self.timeline.most_regimes()) } else { 0 };
        let owner = self.owner;
        if self.holding.processes.len() < states {
            self.holding.processes.resize_with(states, || ProcessState::new(owner));
        }
    }

    /// Another timeline from `now` on. What is held keeps its moment.
    pub(crate) fn retime(&mut self, mut timeline: Timeline, now: Nanos) {
        timeline.begin_before(now.saturating_sub(self.holding.origin));
        let [front, back] = [self.front, self.back].map(|cursor| Arc::clone(self.timeline.path(cursor)));
        self.one_pace = timeline.is_uniform(same_pace);
        self.interrupts = !timeline.is_uniform(carries_over);
        self.progress = (self.server.progress(), 0);
        self.timeline = timeline;
        self.make_processes();
        self.start = now;
        (self.front, self.back) = (self.timeline.first(), self.timeline.first());
        self.changed(&front, now);
        self.pace_changed(&back, now);
        self.update_step_deadline();
    }

    /// Packets may take other paths from now on than those before them did.
    pub(crate) fn begin_generation(&mut self, generation: u32) {
        self.gate.begin(generation, self.held() - self.copies.len() - self.displaced.len());
    }

    /// As [`OrderBarrier::oldest`].
    pub(crate) fn oldest_generation(&self) -> u32 {
        self.gate.oldest()
    }

    /// As [`OrderBarrier::behind`].
    pub(crate) fn keep_behind(&mut self, others: u32, now: Nanos) {
        self.gate.behind(others, now);
        self.update_deadline();
    }

    pub(crate) fn held(&self) -> usize {
        self.pieces.len()
    }

    pub(crate) fn correlation(&self) -> Option<&Correlation> {
        let paths = self.timeline.in_turn(self.front);
        let delays = || paths.iter().flat_map(|path| path.delay.all());
        let variables = || delays().filter_map(|delay| delay.variable.as_ref());
        let ordered = paths.iter().any(|path| path.order == Order::Exact);
        let alike = ordered || variables().any(Variable::is_correlated);
        let noted = variables().next().is_some() && (alike || self.correlation.has_infinite_variance());
        (noted && paths.iter().all(|path| path.trace.is_none())).then_some(&*self.correlation)
    }

    /// The first four stages for a packet that arrives; `ordinal` counts the port's.
    pub(crate) fn admit(&mut self, packet: &Packet, ordinal: u64, ledger: &mut Ledger) -> Entered {
        self.catch_up(packet.arrival, ledger);
        let path = self.current.take().unwrap_or_else(|| Arc::clone(self.timeline.path(self.front)));
        let entered = self.enqueue(&path, packet, ordinal, ledger);
        self.current = Some(path);
        self.update_deadline();
        entered
    }

    fn enqueue(&mut self, path: &Path, packet: &Packet, ordinal: u64, ledger: &mut Ledger) -> Entered {
        let now = packet.arrival;
        ledger.received += 1;
        ledger.network_octets += u64::from(packet.network_length);
        let fate = match path.trace.as_deref() {
            None | Some(Trace::Opportunities(_)) => None,
            Some(trace) => {
                let number = self.packets;
                self.packets += 1;
                Some(trace.fate(number, now.saturating_sub(self.trace_from)).unwrap_or(Fate::NOTHING))
            }
        };
        let lost = match fate {
            Some(fate) => fate.entry.lost.then_some(Cause::Trace),
            None => self.lost(&path.loss, ordinal, now).then_some(Cause::Model),
        };
        let lost = lost.or_else(|| (self.held() >= self.capacity).then_some(Cause::Queue));
        if let Some(cause) = lost {
            ledger.lose(cause);
            return Entered { lost: Some(cause), copies: 0 };
        }
        let piece = InFlight {
            slot: packet.slot,
            port: packet.port,
            ordinal,
            copy: 0,
            length: packet.length,
            network_length: packet.network_length,
            arrival: now,
            entered: now,
            requested: 0,
            released: now,
            time: now,
            rated: false,
            displacement: 0,
            corruption: None,
            lost: None,
        };
        let (wanted, later) = match fate {
            Some(fate) => (fate.entry.copies, 0),
            None => self.duplicate(&path.duplicate, ordinal, now),
        };
        let room = self.capacity - self.held() - 1;
        let copies = wanted.min(u8::try_from(room).unwrap_or(u8::MAX));
        ledger.duplicates_created += u64::from(wanted);
        ledger.lost[Cause::Queue.index()] += u64::from(wanted - copies);
        ledger.queued += u64::from(copies) + 1;
        let place = self.pieces.put(piece);
        self.reorder(path, place, now, fate, ledger);
        for copy in 1..=copies {
            let place = self.pieces.put(InFlight { copy, ..piece });
            if later > 0 {
                self.copies.push(now.saturating_add(later), place);
            } else {
                self.reorder(path, place, now, fate, ledger);
            }
        }
        Entered { lost: None, copies }
    }

    fn lost(&mut self, model: &Model<Decision>, ordinal: u64, now: Nanos) -> bool {
        let (decision, _) = self.loss.select(model, now);
        let decides = !matches!(decision, Decision::Never);
        decides && self.loss.decide(decision, self.draws.unit(Lane::Loss, ordinal, 0))
    }

    fn duplicate(&mut self, model: &Model<Duplicate>, ordinal: u64, now: Nanos) -> (u8, Nanos) {
        let (copy, _) = self.duplicate.select(model, now);
        let decides = !matches!(copy.decision, Decision::Never);
        let yes =
            decides && self.duplicate.decide(&copy.decision, self.draws.unit(Lane::Duplicate, ordinal, 0));
        (u8::from(yes), copy.delay)
    }

    /// The reorder stage.
    fn reorder(
        &mut self,
        path: &Path,
        place: SlabKey,
        now: Nanos,
        fate: Option<Fate<'_>>,
        ledger: &mut Ledger,
    ) {
        let InFlight { ordinal, copy, .. } = *self.pieces.at(place);
        let corruption = self.corruption(path, ordinal, copy);
        let (displacement, longest) = match fate {
            Some(fate) => (fate.entry.displacement, None),
            None => self.displacement(&path.reorder, ordinal, copy, now),
        };
        let piece = self.pieces.at_mut(place);
        piece.corruption = corruption;
        // A traced packet knows its delay from the beginning.
        piece.requested = fate.map_or(0, |fate| fate.delay_of(copy));
        piece.displacement = displacement;
        if displacement > 0 {
            ledger.displaced += 1;
            let longest = longest.unwrap_or(path.flush);
            self.displaced.hold(place, displacement, now.saturating_add(longest));
            return;
        }
        self.delay(path, place, now, ledger);
        if self.displaced.len() > 0 {
            self.displaced.pass();
            self.release_displaced(path, now, ledger);
        }
    }

    /// Lets all displaced packets go on for which enough later ones have left.
    fn release_displaced(&mut self, path: &Path, now: Nanos, ledger: &mut Ledger) {
        while let Some((place, passed)) = self.displaced.release() {
            ledger.reordered += u64::from(passed);
            self.delay(path, place, now, ledger);
        }
    }

    /// How many packets are to go past this one, 0 for none; and for how long it waits, if that is drawn.
    fn displacement(
        &mut self,
        model: &Model<Reorder>,
        ordinal: u64,
        copy: u8,
        now: Nanos,
    ) -> (u32, Option<Nanos>) {
        let (reorder, _) = self.reorder.select(model, now);
        if matches!(reorder.decision, Decision::Never) {
            return (0, None);
        }
        let unit = self.draws.unit(Lane::Reorder, ordinal, copy);
        if !self.reorder.decide(&reorder.decision, unit) {
            return (0, None);
        }
        match reorder.displacement {
            Displacement::Uniform { low, high } => {
                let word = self.draws.word(Lane::Displacement, ordinal, copy);
                let packets = convert::below(word, high.saturating_sub(low).saturating_add(1));
                (low.saturating_add(packets), None)
            }
            Displacement::Normal { mean, stddev } => {
                let distance =
                    convert::nanos(mean + stddev * self.draws.normal(Lane::Displacement, ordinal, copy));
                (u32::try_from(distance.max(0)).unwrap_or(MOST_DISPLACED).min(MOST_DISPLACED), None)
            }
            Displacement::Time { low, high } => {
                let share = self.draws.unit(Lane::Displacement, ordinal, copy);
                (u32::MAX, Some(low + convert::nanos(share * convert::real(high.saturating_sub(low)))))
            }
        }
    }

    /// The delay stage.
    fn delay(&mut self, path: &Path, place: SlabKey, now: Nanos, ledger: &mut Ledger) {
        let InFlight { ordinal, copy, requested, .. } = *self.pieces.at(place);
        let traced = matches!(path.trace.as_deref(), Some(Trace::ByPacket(_) | Trace::ByTime { .. }));
        let requested = if traced { requested } else { self.requested(path, ordinal, copy, now) };
        let due = now.saturating_add(requested);
        let order = path.order;
        let deadline = if order == Order::Independent { due } else { due.max(self.holding.last_deadline) };
        self.holding.last_deadline = self.holding.last_deadline.max(deadline);
        ledger.delayed += 1;
        ledger.waited += u64::from(deadline > due);
        let piece = self.pieces.at_mut(place);
        (piece.entered, piece.requested, piece.released) = (now, requested, deadline);
        self.gate.enter(place, order != Order::Independent);
        self.delayed.push(deadline, place);
    }

    fn requested(&mut self, path: &Path, ordinal: u64, copy: u8, now: Nanos) -> Nanos {
        let (delay, state) = self.delay.select(&path.delay, now);
        let Delay { fixed, variable } = delay;
        let Some(variable) = variable else { return *fixed };
        if state != self.holding.state {
            self.holding.state = state;
            self.holding.exact.restart();
        }
        let drawn = if let Some(process) = &variable.process {
            let since_start = now.saturating_sub(self.holding.origin);
            match self.holding.processes.get_mut(state.max(self.front.regime())) {
                Some(place) => place.at(process, since_start),
                None => 0.0,
            }
        } else if path.order == Order::Exact {
            self.holding.exact.next(&variable.law, variable.width, variable.correlation, now)
        } else if let Some(correlation) = variable.correlation {
            let fresh = self.draws.normal(Lane::Delay, ordinal, copy);
            let score = match self.holding.score {
                None => fresh,
                Some(last) => correlation * last + libm::sqrt(1.0 - correlation * correlation) * fresh,
            };
            self.holding.score = Some(score);
            variable.law.quantile(
                normal_below(score).max(f64::MIN_POSITIVE),
                normal_below(-score).max(f64::MIN_POSITIVE),
            )
        } else {
            self.independent(&variable.law, ordinal, copy)
        };
        let drawn = convert::nanos(drawn).clamp(0, crate::config::LONGEST_DELAY);
        if path.order == Order::Exact || variable.is_correlated() {
            self.correlation.add(now, drawn);
        }
        if path.order == Order::Exact && !variable.is_correlated() {
            self.correlation.is_in_order(variable.width);
        }
        self.correlation.is_skewed(variable.skewness);
        if !variable.law.has_variance() {
            self.correlation.has_no_variance();
        }
        fixed.saturating_add(drawn)
    }

    fn independent(&mut self, law: &DelayDistribution, ordinal: u64, copy: u8) -> f64 {
        match law {
            DelayDistribution::Normal { mean, stddev } if self.draws.sequential() => loop {
                let drawn = mean + stddev * self.draws.normal(Lane::Delay, ordinal, copy);
                if drawn >= 0.0 {
                    return drawn;
                }
            },
            law => law.draw(self.draws.unit(Lane::Delay, ordinal, copy)),
        }
    }

    fn corruption(&mut self, path: &Path, ordinal: u64, copy: u8) -> Option<Corruption> {
        let corrupt = &path.corrupt;
        if matches!(corrupt.decision, Decision::Never) || corrupt.bits == 0 {
            return None;
        }
        let unit = self.draws.unit(Lane::Corrupt, ordinal, copy);
        let word = self.draws.word(Lane::Position, ordinal, copy);
        let yes = self.corrupt.decide(&corrupt.decision, unit);
        yes.then(|| Corruption::new(word, corrupt.bits, corrupt.repair_checksum))
    }

    /// Everything that the first four stages have to do by themselves up to `now`, in the order of time, and the steps
    /// of the timeline up to then.
    pub(crate) fn catch_up(&mut self, now: Nanos, ledger: &mut Ledger) {
        self.run_due(now, ledger);
        self.step_front(now);
    }

    /// What waits in the first four stages and is due up to `now`. The timeline goes no further than to the last of that.
    fn run_due(&mut self, now: Nanos, ledger: &mut Ledger) {
        while self.next_in_front <= now && self.next_in_front < NEVER {
            let at = self.next_in_front;
            self.step_front(at);
            let path = Arc::clone(self.timeline.path(self.front));
            if self.displaced.flush_at() == at {
                if let Some((due, place, passed)) = self.displaced.flush(at) {
                    ledger.flushed += u64::from(self.pieces.at(place).displacement < u32::MAX);
                    ledger.reordered += u64::from(passed);
                    self.delay(&path, place, due, ledger);
                    self.release_displaced(&path, due, ledger);
                }
            } else if let Some((due, place)) = self.copies.pop() {
                self.reorder(&path, place, due, None, ledger);
            }
            self.update_deadline();
        }
    }

    /// Takes the first four stages to the setting of `now`, if that is later than theirs.
    fn step_front(&mut self, now: Nanos) {
        if self.front_step > now {
            return;
        }
        let since_start = now.saturating_sub(self.start);
        let before = Arc::clone(self.timeline.path(self.front));
        self.timeline.skip(&mut self.front, since_start);
        if !Arc::ptr_eq(&before, self.timeline.path(self.front)) {
            self.changed(&before, now);
        }
        loop {
            self.front_step = self.step_at(self.front);
            if self.front_step > now || self.front_step == NEVER {
                return;
            }
            // One moment after the other, however many there were while nothing came.
            let before = Arc::clone(self.timeline.path(self.front));
            let at = self.front_step;
            self.timeline.advance(&mut self.front, at.saturating_sub(self.start));
            self.changed(&before, at);
        }
    }

    /// When the setting changes next after that of `cursor`.
    fn step_at(&self, cursor: Cursor) -> Nanos {
        self.timeline.next_at(cursor).map_or(NEVER, |at| at.saturating_add(self.start))
    }

    /// When the pace of the fifth stage may change next.
    fn back_step_at(&self) -> Nanos {
        if self.one_pace { NEVER } else { self.step_at(self.back) }
    }

    /// Whether nothing leaves the fifth stage until something comes: in two rounds of the timeline nothing did, and each
    /// is as the one before, because what is begun in it is taken back.
    fn is_stalled(&self) -> bool {
        let (progress, round) = self.progress;
        self.interrupts && progress == self.server.progress() && self.back.round >= round.saturating_add(2)
    }

    /// Stages whose model is another one begin anew; the others go on, with other numbers where these are others.
    fn changed(&mut self, before: &Arc<Path>, at: Nanos) {
        self.current = None;
        let now = self.timeline.path(self.front);
        if Arc::ptr_eq(before, now) {
            return;
        }
        if !same_kind(&before.loss, &now.loss, |decision| decision) {
            self.loss.forget(at);
        }
        if !same_kind(&before.duplicate, &now.duplicate, |duplicate| &duplicate.decision) {
            self.duplicate.forget(at);
        }
        if !same_kind(&before.reorder, &now.reorder, |reorder| &reorder.decision) {
            self.reorder.forget(at);
        }
        if !of_one_kind(&before.corrupt.decision, &now.corrupt.decision) {
            self.corrupt.forget(at);
        }
        if before.trace != now.trace {
            self.packets = 0;
            self.trace_from = at;
        }
        if before.delay == now.delay && before.order == now.order {
            return;
        }
        match (&before.delay, &now.delay) {
            (
                Model::Plain(Delay { variable: Some(a), .. }),
                Model::Plain(Delay { variable: Some(b), .. }),
            ) if before.order == now.order => {
                if a.law != b.law {
                    self.holding.exact.change(&a.law, &b.law);
                }
            }
            _ => {
                self.delay.forget(at);
                self.holding.exact.restart();
                self.holding.score = None;
            }
        }
    }

    /// The fifth stage goes by another pace from `at` on, unless it is the same.
    fn pace_changed(&mut self, before: &Path, at: Nanos) {
        let now = self.timeline.path(self.back);
        if same_pace(before, now) {
            return;
        }
        let old = Self::pace(before, self.pace_from);
        self.pace_from = at;
        self.server.change(at, old, Self::pace(now, at));
    }

    fn pace<'a>(path: &'a Path, start: Nanos) -> Pace<'a> {
        match (path.trace.as_deref(), path.rate.as_ref()) {
            (Some(Trace::Opportunities(trace)), _) => Pace::Opportunities { trace, start },
            (_, Some(limit)) => Pace::Limit(limit),
            (_, None) => Pace::Free,
        }
    }

    /// When something next happens of itself; [`NEVER`] where nothing does.
    pub(crate) const fn next_at(&self) -> Nanos {
        self.next
    }

    /// Whether what happens next is that a packet leaves, without a rate, and no fate depends on whether it has left.
    pub(crate) fn only_leaves(&self) -> bool {
        self.next < self.next_in_front
            && self.next < self.back_step
            && self.server.is_empty()
            && self.gate.is_idle()
            && matches!(Self::pace(self.timeline.path(self.back), self.pace_from), Pace::Free)
    }

    /// Takes note of when something next happens: to be done after whatever changes it, because it is asked for far
    /// more often.
    fn update_deadline(&mut self) {
        let waiting = self.copies.next_at().min(self.displaced.flush_at());
        // A step of the timeline matters only to what is there.
        self.next = waiting.min(self.delayed.next_at()).min(self.gate.next_at()).min(self.server_at);
        self.next_in_front = waiting;
    }

    /// The same after the fifth stage has changed.
    fn update_server_deadline(&mut self) {
        let path = self.timeline.path(self.back);
        let at = due(&self.server, Self::pace(path, self.pace_from), self.back_step);
        self.server_at = if self.is_stalled() { NEVER } else { at };
        self.update_deadline();
    }

    /// The same after the timeline has.
    fn update_step_deadline(&mut self) {
        self.front_step = self.step_at(self.front);
        self.back_step = self.back_step_at();
        self.update_server_deadline();
    }

    /// The next that comes out up to `now`. A piece is out, and settled in the ledger, when it is given.
    pub(crate) fn poll(&mut self, now: Nanos, ledger: &mut Ledger) -> Option<Outcome> {
        loop {
            let at = self.next;
            if at > now || at == NEVER {
                return None;
            }
            self.run_due(at, ledger);
            if self.back_step <= at {
                let before = Arc::clone(self.timeline.path(self.back));
                if self.server.is_empty() || self.is_stalled() {
                    self.timeline.skip(&mut self.back, at.saturating_sub(self.start));
                    self.back_step = self.back_step_at();
                }
                // At the moment of the step: what was to be next may be sooner, or later, from then on.
                let moment = self.back_step.min(at);
                if self.back_step <= at {
                    self.timeline.advance(&mut self.back, moment.saturating_sub(self.start));
                    self.back_step = self.back_step_at();
                }
                self.pace_changed(&before, moment);
                if self.server.progress() != self.progress.0 {
                    self.progress = (self.server.progress(), self.back.round + 1);
                }
                self.update_server_deadline();
                continue;
            }
            let going_on = self.pass_barrier(at, ledger);
            let path = self.timeline.path(self.back);
            let pace = Self::pace(path, self.pace_from);
            let out = if let Some((time, place)) = going_on {
                self.server.offer(place, self.pieces.at(place), time, pace, &mut self.draws)
            } else if self.server.next_at(pace) <= at {
                self.server.step(pace)
            } else {
                None
            };
            self.server_at = if self.is_stalled() { NEVER } else { due(&self.server, pace, self.back_step) };
            self.update_deadline();
            if let Some(gone) = out {
                let ServedPacket { place, time, lost, rated } = gone;
                self.gate.leave(place);
                let outcome = Outcome { time, lost, rated, ..self.pieces.take(place) };
                ledger.settle(&outcome);
                return Some(outcome);
            }
        }
    }

    /// What comes to the fifth stage by `at`, and when: one that waited for other paths, or one that the delay stage lets
    /// go and that need not.
    fn pass_barrier(&mut self, at: Nanos, ledger: &mut Ledger) -> Option<(Nanos, SlabKey)> {
        if self.gate.next_at() <= at {
            let place = self.gate.pop()?;
            let piece = self.pieces.at_mut(place);
            if piece.released == piece.entered.saturating_add(piece.requested) && at > piece.released {
                ledger.waited += 1;
            }
            piece.released = piece.released.max(at);
            self.holding.last_deadline = self.holding.last_deadline.max(piece.released);
            return Some((piece.released, place));
        }
        while self.delayed.next_at() <= at {
            let (due, place) = self.delayed.pop()?;
            if !self.gate.stops(place) {
                return Some((due, place));
            }
        }
        None
    }

    /// Takes everything out.
    pub(crate) fn drain(&mut self, now: Nanos, ledger: &mut Ledger) -> Option<Outcome> {
        let place = self.server.drain_one().or_else(|| self.gate.pop());
        let place = place.or_else(|| self.delayed.pop().map(|(_, place)| place));
        if let Some(place) = place {
            self.gate.leave(place);
        }
        let place =
            place.or_else(|| self.displaced.take()).or_else(|| self.copies.pop().map(|(_, place)| place))?;
        self.update_server_deadline();
        let outcome = Outcome { lost: Some(Cause::Shutdown), time: now, ..self.pieces.take(place) };
        ledger.settle(&outcome);
        Some(outcome)
    }
}

/// Whether the decisions of a stage can go on with other numbers.
fn same_kind<P: PartialEq>(a: &Model<P>, b: &Model<P>, decision: impl Fn(&P) -> &Decision) -> bool {
    match (a, b) {
        (Model::Plain(a), Model::Plain(b)) => of_one_kind(decision(a), decision(b)),
        _ => a == b,
    }
}

fn of_one_kind(a: &Decision, b: &Decision) -> bool {
    core::mem::discriminant(a) == core::mem::discriminant(b)
}

/// Whether a frame that is being sent goes on when one setting follows the other.
fn carries_over(a: &Path, b: &Path) -> bool {
    let limit = |path: &Path| matches!(Pipeline::pace(path, 0), Pace::Limit(_));
    same_pace(a, b) || limit(a) && limit(b)
}

/// Whether the fifth stage works alike by both.
fn same_pace(a: &Path, b: &Path) -> bool {
    let opportunities = |path: &Path| matches!(path.trace.as_deref(), Some(Trace::Opportunities(_)));
    match [opportunities(a), opportunities(b)] {
        [true, true] => a.trace == b.trace,
        [false, false] => a.rate == b.rate,
        _ => false,
    }
}

/// When the fifth stage does something next: by itself, or because its pace changes while something is there.
fn due(server: &QueueServer, pace: Pace<'_>, step: Nanos) -> Nanos {
    match server.next_at(pace) {
        NEVER => NEVER,
        at => at.min(step),
    }
}
