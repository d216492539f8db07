//! The two ports, and a trial over them.

use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use romer_host::clock::{Realtime, monotonic_now, realtime_now};
use romer_host::host_info;
use romer_host::link::Network;
use romer_host::socket::wait_any;
use romer_method::analysis::{Figures, ReceivedFrame, STALLED, SentFrame, TrialTrace, figures};
use romer_method::attribution::Attribution;
use romer_method::campaign::Procedure;
use romer_method::schedule::FrameSchedule;
use romer_method::{Frames, TrialRequest};
use romer_port::{
    HostGuard, HostGuards, PortName, Stopped, TestReceiver, TestSender, TesterLink, query_link,
};
use romer_record::benchmark::{Gaps, InvalidTrial, PortRefusal, PortState, TesterStall, UncertainLoss};
use romer_units::Duration;
use romer_units::random::RandomStream;
use romer_wire::ethernet::MacAddress;
use romer_wire::neighbour::{Message, ask as question, read};
use romer_wire::test_frame::Signature;

use crate::error::BenchError;
use crate::frames::{Store, flow_numbers, flows, known, sizes_of};
use crate::numbers::real;
use crate::options::{AddressRange, BenchOptions};
use crate::policed::PolicedBuckets;
use crate::port_state::{PortFault, PortWatch};
use crate::punctuality::Punctuality;
use crate::receive::{Host, ReceiveLog, Receiving, receive};
use crate::recognise::sent_headers;
use crate::self_test::beside;
use crate::send::{SendLog, Sending, send};
use crate::testbed::{TestBed, TrialOptions};
use crate::tester_evidence::TesterEvidence;
use crate::trial::{FEW_AT_ONCE, MIN_OUTAGE, TrialRecord, share_of_limit};
use crate::{capture, next_hop};

mod learning_frames;

/// How long before the first frame of a trial its threads are begun.
const LEAD: Duration = Duration::from_millis(20);
/// How long an answer to a question for a link-layer address is waited for.
const ANSWER: Duration = Duration::from_secs(3);
/// How often a question, or a frame that looks whether the device forwards, is repeated.
const AGAIN: Duration = Duration::from_millis(100);
/// A trial of which more than this share was not sent tells nothing of the device at the load that was asked for.
const MOST_UNSENT: f64 = 0.005;
/// A tester that sends a smaller share of what is due, in the time in which it is not stalled, is too slow for it.
const KEEPS_UP: f64 = 0.9;
/// A burst without loss of which the device had to hold less than it should, by more than this share, tells nothing of what it
/// holds.
const BURST_SHORT: f64 = 0.01;
/// In a trial that is judged by more than its loss, the tester stands still for at most this share of it at a time, ...
const MOST_STILL: f64 = 0.1;
/// Stalls of the tester put it behind its schedule by this at the most in a trial that counts: a device that is silent for as long
/// was away.
const MOST_BEHIND: Duration = MIN_OUTAGE;
/// A device may hold what takes so many times as long to come out as it took to be sent: so much longer is waited for what still
/// comes.
const MOST_DRAINED: i64 = 4;
/// Frames still come where the last one came no longer ago.
const STILL_COMING: Duration = Duration::from_millis(100);
/// Octets with check sequence of the longest frame that an interface takes with the usual MTU of 1500, and a tag.
const LONGEST_USUAL: u32 = 1_522;
/// The clocks of stamps and of schedules may drift by so much against each other before one of them was set.
const CLOCK_SET: i64 = 50_000;

/// The two ports.
pub(crate) struct Tester {
    sender: TestSender,
    receiver: TestReceiver,
    host: Host,
    /// Whom frames go to, and whom they are from.
    macs: [MacAddress; 2],
    signatures: RandomStream,
    drawn: u64,
    probes: u64,
    mtu: u32,
    /// The indices of the ports' interfaces, which they keep whatever they are called.
    indices: [u32; 2],
    /// Whether somebody switches them off.
    watches: [PortWatch; 2],
    /// How long the frame was under way by which the device was last seen to forward.
    path: Duration,
    /// Which of a stream's sizes it forwarded then.
    turn: usize,
    // Dropped last: they put the interfaces back.
    _guards: HostGuards,
}

impl Tester {
    /// Opens both ports and finds the next hop.
    ///
    /// # Errors
    /// A port cannot be had, or nobody answers for the next hop.
    pub(crate) fn open(options: &BenchOptions) -> Result<Self, BenchError> {
        let failed = |port: &PortName| {
            let port = port.clone();
            move |source| BenchError::Port { port, source: Box::new(source) }
        };
        let (tx, rx) = (&options.tx, &options.rx);
        let [own, other] = linked([tx, rx])?;
        let take = |port: &PortName| HostGuard::take_over(port).map_err(failed(port));
        let guards = HostGuards::new([take(tx)?, take(rx)?]);
        let mut addresses: Vec<AddressRange> =
            options.streams.iter().filter_map(|stream| stream.destination).collect();
        addresses.push(options.destination.into());
        let host = Host {
            sender: TestSender::open(rx).map_err(failed(rx))?,
            mac: behind(MacAddress(other.mac.0)),
            addresses,
        };
        let mut tester = Self {
            sender: TestSender::open(tx).map_err(failed(tx))?,
            receiver: TestReceiver::open_for(rx, longest_of_all(options)).map_err(failed(rx))?,
            host,
            macs: [MacAddress([0; 6]), MacAddress(own.mac.0)],
            signatures: RandomStream::new(options.seed, [u32::from_be_bytes(*b"sign"), process_salt()]),
            drawn: 0,
            probes: 0,
            mtu: own.mtu.min(other.mtu),
            indices: [own.index, other.index],
            watches: [PortWatch::new(tx, own.index), PortWatch::new(rx, other.index)],
            path: Duration::ZERO,
            turn: 0,
            _guards: guards,
        };
        tester.macs[0] = match options.next_hop {
            Some(mac) => mac,
            None => tester.find_next_hop(options)?,
        };
        Ok(tester)
    }

    /// Who answered for the next hop, where that was neither of the tester's ports: then more than a link is between them.
    pub(crate) fn stranger(&self, options: &BenchOptions) -> Option<MacAddress> {
        let [answered, _] = self.macs;
        let own = [answered, behind(answered)].contains(&self.host.mac);
        (options.next_hop.is_none() && !own).then_some(answered)
    }

    /// Frames up to now that this host's kernel or network card dropped before the ring: in the cards of both ports; of
    /// virtual ones, in the queues that all virtual interfaces of the host share.
    fn overruns(&self, options: &BenchOptions) -> u64 {
        if options.virtual_line {
            return host_info::backlog_drops().unwrap_or(0);
        }
        let of = |port: &PortName| {
            let overruns =
                Network::open(port.namespace()).and_then(|network| network.overruns(port.interface()));
            overruns.unwrap_or_default()
        };
        of(&options.rx).received + of(&options.tx).sent
    }

    /// How often each port has lost its link since it was made; `None` where nobody counts that.
    fn link_losses(options: &BenchOptions) -> [Option<u32>; 2] {
        [&options.tx, &options.rx].map(|port| {
            Network::open(port.namespace()).and_then(|network| network.carrier_losses(port.interface())).ok()
        })
    }

    /// The port that was switched off since the last call.
    fn switched_off(&mut self, options: &BenchOptions) -> Option<PortName> {
        let off = self.watches.each_mut().map(PortWatch::was_off);
        let ports = [&options.tx, &options.rx].into_iter().zip(off);
        ports.filter(|(_, off)| *off).map(|(port, _)| port.clone()).next()
    }

    fn signature(&mut self) -> Signature {
        self.drawn += 1;
        let [low, ..] = self.signatures.block(self.drawn);
        Signature(low)
    }

    /// Asks for the next hop, and answers meanwhile: with a bridge between the ports it is we who are asked.
    fn find_next_hop(&mut self, options: &BenchOptions) -> Result<MacAddress, BenchError> {
        let asked = next_hop::whom_to_ask(&options.tx, options.destination)?;
        let silent = || BenchError::NextHop { asked, port: options.tx.clone() };
        let frame = question(asked, options.source, self.macs[1]).ok_or_else(|| {
            BenchError::Usage(
                "the addresses do not match (--source, --destination): one is IPv4 and one IPv6; give \
                 two of one version"
                    .into(),
            )
        })?;
        let failed = |source| BenchError::Port { port: options.tx.clone(), source: Box::new(source) };
        let mut ear = TestReceiver::open(&options.tx).map_err(failed)?;
        let end = monotonic_now() + ANSWER;
        let mut next = monotonic_now();
        let mut found = None;
        while found.is_none() && monotonic_now() < end {
            if monotonic_now() >= next {
                next = next + AGAIN;
                let _ = self.sender.send(&[&frame]);
            }
            ear.receive(|frame| {
                if let Some(Message::Tells { address, mac }) = read(frame.octets)
                    && address == asked
                {
                    found = Some(mac);
                }
            });
            let host = &mut self.host;
            self.receiver.receive(|frame| host.answer(frame.octets));
            wait_any(&[ear.as_fd(), self.receiver.as_fd()], None, Some(Duration::from_millis(10)))?;
        }
        found.ok_or_else(silent)
    }
}

impl TestBed for Tester {
    fn probe(
        &mut self,
        options: &BenchOptions,
        patience: Duration,
        stop: &AtomicBool,
    ) -> Result<Result<u64, Vec<u64>>, BenchError> {
        self.look_for_the_way(options, patience, stop)
    }

    /// Runs a trial, and waits for what is still under way at its end.
    fn trial(
        &mut self,
        options: &BenchOptions,
        ask: &TrialRequest,
        manner: TrialOptions,
        stop: &AtomicBool,
    ) -> Result<TrialRecord, BenchError> {
        let signature = self.signature();
        let mut store = Store::new(options, self.macs, &ask.frames, signature)?;
        let flows = flows(options);
        let most = FrameSchedule::most(&flows, &ask.frames, options.line, &ask.phases);
        let longest = self.longest(options, &ask.frames)?;
        let room: Vec<usize> = flows
            .iter()
            .map(|flow| {
                let one =
                    FrameSchedule::most(std::slice::from_ref(flow), &ask.frames, options.line, &ask.phases);
                usize::try_from(one).unwrap_or(0)
            })
            .collect();
        let interval = options.nominal(&ask.frames, ask.load()).pps.max(1.0);
        let begin = monotonic_now() + LEAD;
        let before = clocks_apart();
        let epoch = Realtime::from_nanos(begin.as_nanos() + before);
        let (done, count) = (AtomicBool::new(false), AtomicU64::new(0));
        let overruns = self.overruns(options);
        let losses = Self::link_losses(options);
        self.switched_off(options);
        let sending = Sending {
            arrangement: FrameSchedule::new(
                &flows,
                &ask.frames,
                options.line,
                &ask.phases,
                options.seed_of(ask.repeat),
            ),
            store: &mut store,
            begin,
            length: ask.length(),
            interval: Duration::from_nanos(nanos(1e9 / interval)),
            overheads: flows.iter().map(|flow| flow.overhead).collect(),
            room,
            longest,
            without_link: ask.purpose == TrialRequest::RESET,
        };
        let receiving = Receiving {
            signature,
            headers: sent_headers(options),
            epoch,
            // Copies take room as well.
            room: usize::try_from(most + most / 4).unwrap_or(0),
            capture: if manner.capture { capture::MAX_STORED_FRAMES } else { 0 },
            stop: &done,
            count: &count,
        };
        let Self { sender, receiver, host, path, .. } = self;
        // What leaves last comes so much later.
        let drained = options.settle + *path;
        let (sent, mut received, last) = std::thread::scope(|scope| {
            let taking = std::thread::Builder::new()
                .name("bench-receive".into())
                .spawn_scoped(scope, || receive(receiver, host, &receiving));
            let taking = taking.map_err(|_| BenchError::Thread("bench-receive"))?;
            let sent = send(sender, sending, stop);
            let last = monotonic_now();
            let still_arriving =
                drain(&sent, &count, [drained, longest_drained(options, ask.length())], stop);
            done.store(true, Ordering::Release);
            let listened = monotonic_now() - begin;
            let received = taking.join().map_err(|_| BenchError::Thread("bench-receive"))??;
            Ok::<_, BenchError>((
                sent,
                ReceiveLog { listened: Some(listened), still_arriving, ..received },
                last,
            ))
        })?;
        let clock_set = (clocks_apart() - before).abs() > CLOCK_SET;
        received.elsewhere = self.overruns(options).saturating_sub(overruns);
        let capture =
            manner.capture.then(|| capture::pcapng(options, epoch, signature, &mut store, &sent, &received));
        let ports = [&options.tx, &options.rx].into_iter().zip(losses).zip(Self::link_losses(options));
        // A port that has gone altogether has lost its link as well.
        let mut lost = ports.filter(|((_, before), after)| before.is_some() && after != before);
        let link_lost = lost.next().map(|((port, _), _)| port.clone());
        let switched_off = self.switched_off(options);
        let record = record(options, ask, manner.baseline, clock_set, sent, received);
        Ok(TrialRecord { capture, link_lost, switched_off, unseen: monotonic_now() - last, ..record })
    }

    fn run_self_test(
        &mut self,
        options: &BenchOptions,
        length: Duration,
        stop: &AtomicBool,
    ) -> Result<Option<TesterEvidence>, BenchError> {
        beside(options, length, stop)
    }

    fn longest(&self, options: &BenchOptions, frames: &Frames) -> Result<usize, BenchError> {
        let mut longest = 0;
        for (stream, flow) in options.streams.iter().zip(flows(options)) {
            let sizes = sizes_of(stream.frames.as_ref().unwrap_or(frames), flow.least);
            let size = sizes.last().copied().unwrap_or(0);
            let packet = size.saturating_sub(stream.around_packets());
            if packet > self.mtu {
                return Err(BenchError::Usage(format!(
                    "frames are too large ({size} bytes): the ports take IP packets of at most {} bytes; use \
                     smaller frames, or raise the MTU of both ports",
                    self.mtu
                )));
            }
            longest = longest.max(size);
        }
        Ok(usize::try_from(longest).unwrap_or(0))
    }

    fn port_fault(&self, options: &BenchOptions) -> Option<PortFault> {
        let ports = [&options.tx, &options.rx].into_iter().zip(self.indices);
        let mut faults: Vec<PortFault> =
            ports.filter_map(|(port, index)| PortFault::find(port, index)).collect();
        // What happened on this host explains what the other port lacks.
        faults.sort_by_key(|fault| !fault.state.is_of_host());
        faults.into_iter().next()
    }

    fn path(&self) -> Duration {
        self.path
    }

    fn next_hop(&self) -> MacAddress {
        self.macs[0]
    }

    fn probes(&self) -> u64 {
        self.probes
    }
}

/// What is known of the ports once both have a link: an interface that was just switched on is given some time.
fn linked(ports: [&PortName; 2]) -> Result<[TesterLink; 2], BenchError> {
    let failed = |port: &PortName| {
        let port = port.clone();
        move |source| BenchError::Port { port, source: Box::new(source) }
    };
    let end = monotonic_now() + ANSWER;
    loop {
        let mut links = Vec::new();
        for port in ports {
            links.push((port, query_link(port).map_err(failed(port))?));
        }
        let state = |link: &TesterLink| if link.up { PortState::NoCarrier } else { PortState::Down };
        let without = links.iter().find(|(_, link)| !link.running);
        match (without, &links[..]) {
            (None, [(_, own), (_, other)]) => return Ok([*own, *other]),
            (Some((port, link)), _) if !link.up || monotonic_now() >= end => {
                return Err(BenchError::PortState(PortFault { port: (*port).clone(), state: state(link) }));
            }
            _ => std::thread::sleep(Duration::from_millis(10).to_std()),
        }
    }
}

/// Octets of the longest frame of any trial.
fn longest_of_all(options: &BenchOptions) -> usize {
    let own = options.streams.iter().filter_map(|stream| stream.frames.as_ref());
    let all = own.chain(&options.frames).flat_map(|frames| sizes_of(frames, 0));
    all.max().and_then(|octets| usize::try_from(octets).ok()).unwrap_or(0)
}

/// For how much longer than usual is waited for what still comes of a trial of this length. Procedures of RFC 2544 wait for a stated
/// time: what comes later, because it stood in a queue, is no throughput.
const fn longest_drained(options: &BenchOptions, length: Duration) -> Duration {
    match options.procedure {
        Procedure::Sweep { .. } => Duration::from_nanos(length.as_nanos().saturating_mul(MOST_DRAINED)),
        _ => Duration::ZERO,
    }
}

/// Waits for frames that are still under way: the whole time, because copies may come when all frames are there, and where some are
/// missing, until none has come for so long, and for so much longer at the most. Whether frames that are missing still came then.
fn drain(sent: &SendLog, count: &AtomicU64, [time, more]: [Duration; 2], stop: &AtomicBool) -> bool {
    let offered: usize = sent.left.iter().map(Vec::len).sum();
    let (mut before, mut end) = (count.load(Ordering::Relaxed), monotonic_now() + time);
    let last = end + more;
    let mut latest = None;
    loop {
        // What came until now is looked at once more when the wait is over.
        let now = monotonic_now();
        let came = count.load(Ordering::Relaxed);
        let missing = (offered as u64).saturating_sub(came);
        if came > before && missing > 0 {
            end = last.min(now + time);
            latest = Some(now);
        }
        before = came;
        if now >= end || stop.load(Ordering::Relaxed) {
            return missing > 0 && latest.is_some_and(|latest| now - latest < STILL_COMING.min(time));
        }
        let step = if missing > 0 { Duration::from_millis(5) } else { time };
        std::thread::sleep(step.min(end - now).to_std());
    }
}

/// That a port would not send any more.
fn refusal(port: &PortName, stopped: Stopped, frames: &Frames) -> InvalidTrial {
    let refusal = match stopped {
        Stopped::Busy => PortRefusal::Busy,
        Stopped::Oversize => PortRefusal::Oversize,
        Stopped::Down => PortRefusal::Down,
    };
    let long_frames = frames.size().is_some_and(|size| size.octets() > LONGEST_USUAL);
    InvalidTrial::PortRefused { port: port.to_string(), refusal, long_frames }
}

/// What a trial comes to.
pub(crate) fn record(
    options: &BenchOptions,
    ask: &TrialRequest,
    baseline: Duration,
    clock_set: bool,
    sent: SendLog,
    received: ReceiveLog,
) -> TrialRecord {
    let (unread, damaged) = (received.unread(), received.damaged);
    let still_arriving = received.still_arriving;
    let headers = received.headers.frames();
    let short = if ask.purpose == TrialRequest::BURST { short_of(&sent, ask.length()) } else { 0.0 };
    let late = too_late(options, ask, &sent);
    let took = sent.ended.max(ask.length());
    let lengths = (0_u16..).zip(&sent.left).map(|(stream, left)| (stream, left.len()));
    let flight = TrialTrace {
        listened: received.listened,
        streams: known(options),
        flows: lengths.map(|(stream, count)| flow_numbers(options, stream, count)).collect(),
        left: sent.left,
        intended: sent.intended,
        intended_octets: sent.intended_octets,
        came: received.came,
        length: ask.length(),
        line: Some(options.line),
        real_line: options.real_line(),
        baseline,
        unread,
        damaged,
        in_time_only: options.claims.scheduler.is_some(),
    };
    let mut figures = figures(&flight);
    let limit_pps = unstalled_pps(&figures, [took, sent.punctuality.away]);
    let attribution = figures.attribution;
    let is_of_the_reset = is_of_the_reset(ask, &figures);
    let outcome = &mut figures.outcome;
    let (intended, offered) = (figures.intended.frames, figures.offered.frames);
    let unsent = intended - offered;
    outcome.unlinked = sent.unlinked;
    let missed = unsent - sent.unlinked.frames.min(unsent);
    let share = |part: u64, of: u64| if of == 0 { 0.0 } else { real(part) / real(of) };
    let falls_short = share(missed, intended) > MOST_UNSENT;
    let stalled = |effect| Some(InvalidTrial::TesterStalled { effect });
    let invalid = if let Some(stopped) = sent.stopped {
        Some(refusal(&options.tx, stopped, &ask.frames))
    } else if falls_short && limit_pps < figures.intended.pps * KEEPS_UP {
        Some(InvalidTrial::TesterSlow { sent_frames: offered, due_frames: intended, sent_pps: limit_pps })
    } else if let Some(late) = late {
        stalled(late)
    } else if falls_short {
        let stalled_ns = sent.punctuality.away.as_nanos();
        stalled(TesterStall::Unsent { stalled_ns, sent_frames: offered, due_frames: intended })
    } else if !attribution.tells(&options.procedure.criteria()) && !is_of_the_reset {
        let loss = uncertain(&attribution, sent.punctuality.longest_away);
        if attribution.unread > attribution.stall_affected_lost {
            Some(InvalidTrial::TesterDropped { loss })
        } else {
            stalled(TesterStall::Loss { loss })
        }
    } else if short > BURST_SHORT * real(outcome.offered) && outcome.lost == 0 {
        stalled(TesterStall::ShortBurst {
            unbuffered_frames: short.min(real(outcome.offered)),
            burst_frames: outcome.offered,
        })
    } else if clock_set {
        Some(InvalidTrial::ClockSet)
    } else {
        None
    };
    outcome.tester_failed = invalid.is_some();
    let is_slow = matches!(invalid, Some(InvalidTrial::TesterSlow { .. }));
    let limit_pps = is_slow.then_some(limit_pps);
    outcome.tester_share = share_of_limit(limit_pps, figures.intended.pps);
    TrialRecord {
        unseen: Duration::ZERO,
        capture: None,
        unsent,
        invalid,
        limit_pps,
        longest_catch_up: sent.punctuality.longest_catch_up,
        gaps: Gaps {
            share: Some(sent.punctuality.away.as_secs_f64() / took.as_secs_f64().max(1e-9)),
            longest_ns: Some(sent.punctuality.longest_away.as_nanos()),
        },
        clock_set,
        link_lost: None,
        switched_off: None,
        refused_at: sent.refused_at,
        size_lost: false,
        still_arriving,
        headers,
        gaps_between: flight.left.first().map(|left| gaps_between(left)).unwrap_or_default(),
        gaps_come: gaps_come(&flight.came),
        policed: PolicedBuckets::measure(options, ask, &flight),
        figures,
    }
}

/// Frames a second that were offered in a trial of which the sender took so long, in the time in which it was not stalled.
fn unstalled_pps(figures: &Figures, [took, stalled]: [Duration; 2]) -> f64 {
    real(figures.offered.frames) / (took - stalled).as_secs_f64().max(1e-9)
}

/// Whether nearly all that was lost was so at one time, in a trial in which the device is reset: then it is for that, and for no burst
/// of the tester.
fn is_of_the_reset(ask: &TrialRequest, figures: &Figures) -> bool {
    /// The rest, of so many.
    const OTHERS: u64 = 100;
    let (lost, silences) = (figures.outcome.lost, [figures.silence, figures.tail]);
    let within = silences.into_iter().flatten().map(|silence| silence.frames).max().unwrap_or(0);
    let longest = silences.into_iter().flatten().map(|silence| silence.length).max().unwrap_or_default();
    ask.purpose == TrialRequest::RESET && longest >= STALLED && lost.saturating_sub(within) <= lost / OTHERS
}

/// That stalls of the tester put it so far behind its schedule that its load was not the one that was asked for: in any trial by more
/// than [`MOST_BEHIND`]; in one that is judged by more than its loss, which is shared out, by a tenth of it and many frames at once.
/// The device that is reset may take the link away.
fn too_late(options: &BenchOptions, ask: &TrialRequest, sent: &SendLog) -> Option<TesterStall> {
    let Punctuality { longest_away: behind, longest_catch_up: at_once, .. } = sent.punctuality;
    let by_loss = !options.procedure.criteria().is_empty() || ask.purpose == TrialRequest::BURST;
    let share = behind.as_secs_f64() / ask.length().as_secs_f64().max(1e-9);
    let relative = !by_loss && share > MOST_STILL && at_once > FEW_AT_ONCE;
    (ask.purpose != TrialRequest::RESET && (relative || behind > MOST_BEHIND)).then(|| TesterStall::Burst {
        stalled_ns: behind.as_nanos(),
        trial_ns: ask.length().as_nanos(),
        burst_frames: at_once,
    })
}

/// How many frames of a burst the device had to hold less than the schedule has it, at the most, because the last of them left
/// late. What was late before, and was made up for, does not matter: a device that had emptied itself meanwhile has to hold more
/// afterwards.
fn short_of(sent: &SendLog, length: Duration) -> f64 {
    let mut all: Vec<SentFrame> = sent.left.iter().flatten().copied().collect();
    all.sort_unstable_by_key(|left| left.due);
    let rate = real(all.len() as u64) / length.as_secs_f64().max(1e-9);
    let late = |left: &SentFrame| Duration::from_nanos((left.sent - left.due).max(0)).as_secs_f64() * rate;
    // Whatever frame is taken for the last one of the burst: those after it are not held either.
    let short = (0_u64..).zip(all.iter().rev()).map(|(after, left)| real(after) + late(left));
    short.fold(f64::INFINITY, f64::min)
}

/// A loss that may be the tester's own.
fn uncertain(loss: &Attribution, longest_away: Duration) -> UncertainLoss {
    UncertainLoss {
        sent_frames: loss.offered,
        lost_frames: loss.lost,
        dropped_frames: loss.unread,
        stall_affected: loss.stall_affected,
        stall_affected_lost: loss.stall_affected_lost,
        stalled_ns: longest_away.as_nanos(),
        lost_by_device: loss.device,
    }
}

fn gaps_between(left: &[SentFrame]) -> Vec<i64> {
    left.windows(2).map(|pair| pair[1].sent - pair[0].sent).collect()
}

fn gaps_come(came: &[ReceivedFrame]) -> Vec<i64> {
    let mut first: Vec<(u32, i64)> =
        came.iter().filter(|came| came.stream == 0).map(|came| (came.sequence, came.received)).collect();
    first.sort_unstable();
    let next = first.windows(2).filter(|pair| pair[0].0.checked_add(1) == Some(pair[1].0));
    next.map(|pair| pair[1].1 - pair[0].1).collect()
}

/// How much later the clock of stamps is than that of schedules, from the least interrupted of several readings.
fn clocks_apart() -> i64 {
    let one = |_| {
        let before = monotonic_now();
        let realtime = realtime_now();
        let taken = (monotonic_now() - before).as_nanos();
        (taken, realtime.as_nanos() - before.as_nanos() - taken / 2)
    };
    (0..32).map(one).min_by_key(|(taken, _)| *taken).map_or(0, |(_, apart)| apart)
}

/// The link-layer address of the host that the tester plays behind a port: not the port's own, so that this host's own
/// stack leaves the test frames alone.
const fn behind(port: MacAddress) -> MacAddress {
    let [a, b, c, d, e, f] = port.0;
    MacAddress([(a | 2) ^ 4, b, c, d, e, f])
}

/// Two runs with one seed do not take each other's frames for their own.
fn process_salt() -> u32 {
    std::process::id()
}

#[expect(clippy::cast_possible_truncation, reason = "saturates")]
const fn nanos(value: f64) -> i64 {
    value as i64
}

#[cfg(test)]
mod tests {
    use romer_record::benchmark::InvalidCause;

    use super::*;

    /// A tester that sent a tenth of the frames was too slow, unless it was stalled for nine tenths of the time.
    #[test]
    fn slow_and_stalled_testers_are_told_apart() {
        let options = crate::simulated::sweep(&[0.5]);
        let frames = options.frames[0].clone();
        let (load, length) = (0.5, Duration::from_secs(1));
        let phases = vec![romer_method::Phase { load, length }];
        let ask = TrialRequest { case: 0, frames, phases, repeat: 0, purpose: "measure" };
        let of = |away: i64| {
            // 4,223 frames of 128 octets are due.
            let left = (0..422).map(|number| SentFrame { due: number, sent: number, octets: 128 }).collect();
            let away = Duration::from_millis(away);
            let mut punctuality = Punctuality::default();
            punctuality.away = away;
            punctuality.longest_away = away;
            let sent = SendLog {
                left: vec![left],
                intended: vec![4_223],
                punctuality,
                ended: Duration::from_millis(1_250),
                ..SendLog::default()
            };
            let record = record(&options, &ask, Duration::ZERO, false, sent, ReceiveLog::default());
            let cause = record.invalid.as_ref().map(InvalidTrial::cause).unwrap();
            (cause, record.limit_pps.map(f64::round), record.figures.outcome.tester_share)
        };
        let (cause, limit, share) = of(0);
        assert_eq!((cause, limit), (InvalidCause::TesterSlow, Some(338.0)));
        assert!((share.unwrap() - 0.08).abs() < 1e-3, "{share:?}");
        // It can send 1,688 frames a second.
        assert_eq!(of(1_000).1, Some(1_688.0));
        assert_eq!(of(1_160), (InvalidCause::TesterStalled, None, None));
    }
}
