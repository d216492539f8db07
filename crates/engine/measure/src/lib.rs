//! Measuring: streams of probes side by side, kept in a run folder.
//!
//! One thread keeps the schedule of all streams, others read what comes back, and what happens is handed to the
//! packet log's own thread. The caller's thread looks on, tells the [`Observer`], and at the end brings the far
//! logs home, joins everything and writes the run.
//!
//! ```
//! use std::net::SocketAddr;
//! use std::sync::atomic::AtomicBool;
//!
//! use romer_endpoint::names::Target;
//! use romer_measure::{MeasureOptions, ProbeSize, StreamOptions, measure};
//! use romer_respond::{RespondOptions, Responder};
//! use romer_store::Location;
//! use romer_traffic::{Limit, Request, TrafficModel};
//! use romer_units::Duration;
//!
//! let here: SocketAddr = "127.0.0.1:0".parse()?;
//! let respond = RespondOptions { listen: vec![here], control: vec![here], ..RespondOptions::default() };
//! let responder = Responder::start(&respond)?;
//!
//! let target: Target = responder.control_addresses()[0].to_string().parse()?;
//! let interval = Some(Duration::from_millis(2));
//! let traffic = Request { interval, ..Request::new(TrafficModel::Periodic, Limit::Count(50)) };
//! let stream = StreamOptions { target, traffic, size: ProbeSize::Natural };
//! let path = std::env::temp_dir().join(format!("romer-measure-{}", std::process::id()));
//! let location = Location::Folder { path: path.clone(), force: false };
//! let options = MeasureOptions::new(vec![stream], "romer measure".into(), location);
//! let outcome = measure(&options, &AtomicBool::new(false), &mut ());
//! std::fs::remove_dir_all(&path)?;
//! let outcome = outcome?;
//! assert_eq!(outcome.streams[0].measurement.round_trip.packets.sent, Some(50));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod far;
mod in_packet;
mod initiator_host_monitor;
mod kernel_shaper;
mod live;
mod log_retrieval;
mod no_route;
mod observer;
mod one_way_so_far;
mod options;
mod pairing;
mod parallel;
mod plan;
mod prepared;
mod profile;
mod reaching;
mod receiving;
mod resumption;
mod route;
mod router_report;
mod sending;
mod session_setup;
mod stop_on_panic;
mod stream;
mod targets;
mod telemetry;
mod times;
mod traffic_control;
mod unanswered;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::sync_channel;
use std::time::{Duration as StdDuration, SystemTime};

use romer_endpoint::damage::DamageMonitor;
use romer_host::ending::{self, Stage};
use romer_host::socket::Waker;
use romer_host::{clock, host_info};
use romer_record::document::{Damage, Measurement, ProbeDirection};
use romer_record::manifest::{EarlyEnd, EntryKind, MANIFEST, Manifest, NotLogged, Status, Stream};
use romer_session::control::{FETCH, KEEP_ALIVE, Message};
use romer_store::{Finished, LogSender, LogThread, NewRun, StoreError, Watermark};
use romer_units::{Duration, Monotonic, Timestamp};

use far::ResponderReport;
use initiator_host_monitor::{InitiatorHostMonitor, is_same};
use live::Live;
pub use observer::Observer;
pub use options::{MeasureOptions, ProbeSize, StreamOptions, TTL, check_sizes};
pub use pairing::{Paired, pair};
use prepared::Prepared;
use romer_analyze::evaluate::{Evaluated, evaluate};
use romer_analyze::outcomes::RunOutcomes;
use romer_endpoint::EndpointError;
use romer_endpoint::host_events::reported_by_responder;
use romer_record::event::{EventDetail, EventKind, EventLocation, ProtocolFault};
use romer_record::note::{LogGap, Notice};
use romer_record::{RoundTrip, SOFTWARE, assemble_as};
use romer_report::event::protocol_fault;
use romer_report::warning::Text;
use sending::StreamSender;
use stop_on_panic::StopOnPanic;
use stream::Shared;
pub use targets::check;
use targets::{Dead, Targets};
pub use telemetry::Telemetry;
use times::{rfc3339_after, rfc3339_now};
pub use traffic_control::{Profile, ShaperChoice, TrafficControl};

/// Entries that the packet log's queue holds, at the least and at the most (46 MiB).
const LOG_QUEUE: [usize; 2] = [1 << 16, 1 << 19];
/// Entries that a probe makes as a rule: its departure, its stamp, and what the other end has of it.
const ENTRIES_OF_ONE: i64 = 3;
/// From the last preparation to the first probe.
const LEAD: Duration = Duration::from_millis(20);
/// How often the caller's thread looks on; where many packets come, more often.
const POLL_INTERVAL: Duration = Duration::from_millis(50);
const LOOK_OFTEN: Duration = Duration::from_millis(20);
/// The same of one that waits for a moment.
const SHORT_POLL_INTERVAL: Duration = Duration::from_millis(10);
/// A shorter time between two departures makes many packets.
const HIGH_RATE_INTERVAL: Duration = Duration::from_millis(5);

/// A finished measurement.
#[derive(Debug)]
pub struct MeasurementOutcome {
    /// The run's folder.
    pub folder: PathBuf,
    /// The streams with their documents.
    pub streams: Vec<Evaluated>,
    /// It was interrupted.
    pub partial: bool,
    /// Of a stream whose far end was out of reach before its end, so that only a part was measured.
    pub responder_lost: Option<Gone>,
    /// Why nothing was measured to some of several targets; each has its document all the same.
    pub unreachable: Vec<EndpointError>,
    /// Targets of which whoever is next on the way there never answered when asked for its hardware address, so that this host
    /// dropped all that was to go there.
    pub unanswering: Vec<String>,
    /// The run is not kept whole: the disk was full, or could not keep up. The documents are of all that was
    /// measured all the same.
    pub not_kept: Option<StoreError>,
}

/// A far end that was out of reach before the end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gone {
    /// The target.
    pub target: String,
    /// This host had no way to it any more: an interface was down, or an address or route was gone. Else the far end, or
    /// the path to it, went away.
    pub here: bool,
    /// What it did that it must not, so that its conversation was closed.
    pub fault: Option<ProtocolFault>,
    /// There was none from the start, so that nothing left.
    pub nothing_sent: bool,
    /// Why nothing left, by the run's event, if there is one.
    pub why: Option<String>,
}

impl core::fmt::Display for Gone {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let Self { target, here, fault, nothing_sent, why } = self;
        if *nothing_sent {
            let why =
                why.as_deref().unwrap_or("its interface was down, or it had no address or route for it");
            write!(
                f,
                "this host had no route to the responder ({target}): {why}, and sent nothing; fix that here and measure again"
            )
        } else if *here {
            write!(
                f,
                "this host lost its route to the responder ({target}): its interface was down, or its address or route \
                 was removed, see the events of the run; the results until then are saved, fix that here and measure again"
            )
        } else if let Some(fault) = fault.map(protocol_fault) {
            write!(
                f,
                "the responder broke the control protocol ({target}): {fault}; the results until then are saved; check which \
                 program answers there"
            )
        } else {
            write!(
                f,
                "the responder became unreachable ({target}): the control connection failed before the end; the results \
                 until then are saved; check whether `romer respond` still runs there"
            )
        }
    }
}

impl core::error::Error for Gone {}

impl MeasurementOutcome {
    /// The documents, one for each stream.
    pub fn measurements(&self) -> Vec<Measurement> {
        self.streams.iter().map(|stream| stream.measurement.clone()).collect()
    }
}

/// Measures. `interrupted` ends it early: no more probes are sent, those on their way are waited for, and what was
/// measured is kept as a partial run.
///
/// # Errors
/// [`EndpointError`] of the kind that stands in the way; once probes have been sent, only [`EndpointError::Store`]
/// where not even the log can be read back.
pub fn measure(
    options: &MeasureOptions,
    interrupted: &AtomicBool,
    observer: &mut dyn Observer,
) -> Result<MeasurementOutcome, EndpointError> {
    let prepared = options.threads.prepare()?;
    let set_down = |target: &str| {
        if let Some(telemetry) = &options.telemetry {
            telemetry.metrics.target(target).set_up(false);
        }
    };
    let targets = targets::prepare(options, observer).inspect_err(|_| {
        options.streams.iter().for_each(|stream| set_down(&stream.target.text));
    });
    let Targets { mut streams, dead, cards: _cards, stamper: _stamper } = targets?;
    dead.iter().for_each(|one| set_down(&one.manifest.target));
    let shaper = kernel_shaper::install(options, &mut streams)?;
    let remarker = profile::install(options, &streams)?;
    let manifest = Manifest {
        schema: MANIFEST.into(),
        name: String::new(),
        created: rfc3339_now(),
        status: Status::Running,
        software: SOFTWARE.into(),
        streams: manifests(&streams, &dead),
    };
    let mut run = NewRun::create(&options.location, manifest)?;
    let log = run.start_log(log_queue(&streams))?;
    observer.on_start(run.folder(), streams.len());
    if let Some(note) = prepared.shortcoming() {
        observer.on_note(0, &note.into());
    }
    if let Some(at) = options.at {
        wait_for(at, interrupted, observer);
    }
    // At the time that was asked for, where that is still to come.
    let left = options.at.and_then(|at| at.duration_since(SystemTime::now()).ok()).map(Duration::from_std);
    let start = clock::monotonic_now() + left.unwrap_or(LEAD).max(LEAD);
    let partial = exchange(options, &mut streams, &log, start, interrupted, observer)?;
    drop(remarker);
    if let Some(shaper) = shaper {
        shaper.end(observer);
    }
    let evaluating = Stage::begin(ending::EVALUATION);
    route::look_again(&mut streams, start, observer);
    let folder = run.folder().to_path_buf();
    let kept = Arc::clone(log.kept());
    let (rows, not_kept) = close_log(log, &folder, options.direction)?;
    let outcome = conclude(run, &streams, dead, &rows, partial, options.report, (not_kept, &kept));
    if let (Some(telemetry), Ok(outcome)) = (&options.telemetry, &outcome) {
        telemetry::conclude(telemetry, &outcome.streams);
    }
    drop(evaluating);
    outcome
}

/// Waits until shortly before the first probes are to leave. That they leave later, because it took so long to make all ready, is
/// said.
fn wait_for(at: SystemTime, interrupted: &AtomicBool, observer: &mut dyn Observer) {
    const POLL_INTERVAL: StdDuration = StdDuration::from_millis(50);
    // A busy machine may wake this thread late.
    let lead = 5 * LEAD.to_std();
    if let Ok(late) = (SystemTime::now() + LEAD.to_std()).duration_since(at) {
        let late = Duration::from_std(late);
        observer.on_note(0, &Notice::StartsLate { late_ns: late.as_nanos() }.into());
    }
    while let Ok(left) = at.duration_since(SystemTime::now() + lead)
        && !left.is_zero()
        && !interrupted.load(Ordering::Acquire)
    {
        std::thread::sleep(left.min(POLL_INTERVAL));
    }
}

/// Sends from `start` on, and receives, until everything is back and the far logs are here; times of events are told from then on as
/// well. Gives whether it was interrupted.
fn exchange(
    options: &MeasureOptions,
    streams: &mut [Prepared],
    log: &LogThread,
    start: Timestamp<Monotonic>,
    interrupted: &AtomicBool,
    observer: &mut dyn Observer,
) -> Result<bool, EndpointError> {
    let checksum_errors_before = host_info::udp_checksum_errors().ok();
    let stop_sending = waker()?;
    let stop_receiving = AtomicBool::new(false);
    let panicked = AtomicBool::new(false);
    let on_panic = StopOnPanic { sending: &stop_sending, receiving: &stop_receiving, panicked: &panicked };
    let (live_sender, live_receiver) = sync_channel(1 << 16);
    let readers = wakers(streams.len().div_ceil(receiving::STREAMS_OF_ONE))?;
    let legs = legs(streams, &readers, start);
    let shared: Vec<_> = streams.iter().map(|stream| Arc::clone(&stream.shared)).collect();
    let interval = pace(streams);
    let look = if interval < HIGH_RATE_INTERVAL { LOOK_OFTEN } else { POLL_INTERVAL };
    let mut happenings = InitiatorHostMonitor::begin(&shared, start);
    let mut live = Live::new(options, streams, live_receiver, log);
    let threads = options.threads;
    let (partial, late) = std::thread::scope(|scope| {
        let _on_panic = on_panic.clone();
        for (group, reader) in shared.chunks(receiving::STREAMS_OF_ONE).zip(&readers) {
            let (sender, live_sender, stop) = (log.sender(), live_sender.clone(), &stop_receiving);
            let (waiting, on_panic) = (options.waiting_time, on_panic.clone());
            scope.spawn(move || {
                let _on_panic = on_panic;
                receiving::receive_all(group, reader, (&sender, &live_sender), stop, threads, waiting);
            });
        }
        let (sender, stop) = (log.sender(), &stop_sending);
        let on_sender_panic = on_panic.clone();
        scope.spawn(move || {
            let _on_panic = on_sender_panic;
            sending::send_all(legs, interval, &sender, stop, threads)
        });
        // Until when a far end is waited for that was told to send no more, once this run was interrupted.
        let (mut no_longer, mut waiting) = (None, None);
        let mut keep_alive = clock::monotonic_now();
        // It begins as long after the order as this host does after now.
        if streams.iter().any(|stream| stream.shared.way == ProbeDirection::Reverse)
            && wait_until(start - LEAD, interrupted)
        {
            begin_reverse(streams);
        }
        loop {
            happenings.wait(live.pause(look));
            if panicked.load(Ordering::Acquire) {
                // The panic continues in this thread once the others have ended.
                return (true, Vec::new());
            }
            if interrupted.load(Ordering::Acquire) && no_longer.is_none() {
                stop_sending.wake();
                halt_reverse(streams);
                let longest = options.waiting_time + STOP_TIMEOUT;
                no_longer = Some(clock::monotonic_now() + longest);
                waiting = Some(Stage::begin(longest.to_std()));
            }
            let now = clock::monotonic_now();
            if no_longer.is_some_and(|deadline| now >= deadline) {
                // A far end that does not say when its last probe left is not waited for.
                let theirs = shared.iter().filter(|stream| stream.way == ProbeDirection::Reverse);
                theirs.filter(|stream| !stream.has_departed_all()).for_each(|stream| stream.halt());
            }
            if now >= keep_alive {
                keep_alive = now + KEEP_ALIVE;
                keep_open(streams);
            }
            let since_start = clock::monotonic_now() - start;
            streams.iter_mut().for_each(|stream| stream.expire(since_start, options.waiting_time));
            take_news(streams, options, &log.sender(), start, &mut happenings, observer);
            resumption::leave_vain(streams, start, &happenings, observer);
            if live.look(observer) && options.live_delays {
                fetch(streams);
            }
            happenings.look(observer);
            if shared.iter().all(|stream| stream.is_done(clock::monotonic_now(), options.waiting_time)) {
                break;
            }
        }
        drop(waiting.take());
        let last_try = Stage::begin(resumption::LAST);
        resumption::settle(streams, options.key.as_ref(), &mut happenings, observer);
        drop(last_try);
        live.last(observer);
        happenings.look(observer);
        for (number, stream) in streams.iter_mut().enumerate() {
            stream.has_way = happenings.has_way(number);
            if !stream.has_way && stream.conversation.is_none() && stream.shared.lacks_some() {
                stream.manifest.early_end.get_or_insert(stream.gone());
            }
            stream.manifest.events = happenings.events_of(number);
        }
        // Nothing is deaf meanwhile: a far end that stood still answers when it goes on.
        let (sender, key) = (log.sender(), options.key.as_ref());
        let asked = clock::monotonic_now();
        let late = log_retrieval::bring_home(streams, &sender, start, key, &mut happenings, observer);
        if clock::monotonic_now() - asked > PROMPT {
            await_last(&shared, options.waiting_time);
        }
        stop_receiving.store(true, Ordering::Release);
        (no_longer.is_some(), late)
    });
    happenings.look_last(observer);
    let checksum_errors = checksum_errors_before
        .zip(host_info::udp_checksum_errors().ok())
        .map(|(before, now)| now.saturating_sub(before));
    for ((number, stream), late) in streams.iter_mut().enumerate().zip(late) {
        stream.manifest.replies = stream.shared.replies();
        stream.manifest.checksum_errors.sender = checksum_errors;
        let [forward, reverse] =
            [stream.far_damage.take(), stream.damage.take().and_then(DamageMonitor::finish)];
        stream.manifest.damage = stream.shared.pattern.map(|_| Box::new(Damage { forward, reverse }));
        stream.manifest.events = happenings.events_of(number);
        stream.manifest.events.extend(late);
        stream.manifest.metadata.clock_sync_end = Some(happenings.clock_sync());
        stream.manifest.renew_synchronisation();
    }
    Ok(partial)
}

/// A far end whose log takes longer than this may have answered but just now.
const PROMPT: Duration = Duration::from_millis(500);
/// How long what it answered then may take to come.
const LAST_ANSWERS: Duration = Duration::from_secs(1);

/// Waits until all is back that may be on its way yet, now that the far ends have told everything.
fn await_last(streams: &[Arc<Shared>], waiting_time: Duration) {
    let until = clock::monotonic_now() + waiting_time.min(LAST_ANSWERS);
    let lacks = |stream: &Arc<Shared>| stream.way != ProbeDirection::Forward && stream.lacks_some();
    while clock::monotonic_now() < until && streams.iter().any(lacks) {
        std::thread::sleep(SHORT_POLL_INTERVAL.to_std());
    }
}

/// Waits until `at`. Gives whether it came to that: not where this is interrupted.
fn wait_until(at: Timestamp<Monotonic>, interrupted: &AtomicBool) -> bool {
    while !interrupted.load(Ordering::Acquire) {
        let left = at - clock::monotonic_now();
        if left <= Duration::ZERO {
            return true;
        }
        std::thread::sleep(left.min(SHORT_POLL_INTERVAL).to_std());
    }
    false
}

/// Has the far ends begin that are to send.
fn begin_reverse(streams: &mut [Prepared]) {
    for stream in streams.iter_mut().filter(|stream| stream.shared.way == ProbeDirection::Reverse) {
        if let Some(conversation) = &mut stream.conversation {
            conversation.order(Message::Start);
        }
    }
}

/// Has them end.
fn halt_reverse(streams: &mut [Prepared]) {
    for stream in streams.iter_mut().filter(|stream| stream.shared.way == ProbeDirection::Reverse) {
        if let Some(conversation) = &mut stream.conversation {
            conversation.order(Message::Halt);
        }
    }
}

/// Keeps the mappings of a NAT, and tells the far end a new one, so that it knows whose the probes are that come from
/// there. The conversation speaks first: a NAT that has forgotten it would answer the far end's next word with a reset.
/// A refusal of this host shows in what does not come any more.
fn keep_open(streams: &mut [Prepared]) {
    for stream in streams {
        if let Some(conversation) = &mut stream.conversation {
            conversation.ask(StdDuration::ZERO);
            let _ = stream.shared.associate();
        }
    }
}

/// Has the far ends tell what they know by now of one-way probes: just after an interval was told, so that it is here for
/// the next.
fn fetch(streams: &mut [Prepared]) {
    let one_way = streams.iter_mut().filter(|stream| stream.shared.way.is_one_way());
    for stream in one_way.filter(|stream| !stream.resuming.is_trying()) {
        if let Some(conversation) = &mut stream.conversation
            && conversation.welcome.has(FETCH)
        {
            conversation.send(&Message::Fetch);
        }
    }
}

/// Room for the entries of a second and a half: so long may the disk, or a busy machine, keep the log's thread waiting.
fn log_queue(streams: &[Prepared]) -> usize {
    let reverse = streams.iter().filter(|stream| stream.shared.way == ProbeDirection::Reverse);
    let shortest = reverse.map(|stream| stream.interval).chain([pace(streams)]).min();
    let interval = shortest.map_or(1, |interval| interval.as_nanos().max(1));
    let entries = ENTRIES_OF_ONE.saturating_mul(1_500_000_000) / interval;
    usize::try_from(entries).unwrap_or(usize::MAX).clamp(LOG_QUEUE[0], LOG_QUEUE[1])
}

/// The time between two departures, of whichever stream.
fn pace(streams: &[Prepared]) -> Duration {
    let ours = streams.iter().filter(|stream| stream.shared.way != ProbeDirection::Reverse);
    let least = ours.clone().map(|stream| stream.interval).min().unwrap_or(Duration::from_secs(1));
    let count = i64::try_from(ours.count()).unwrap_or(i64::MAX).max(1);
    Duration::from_nanos(least.as_nanos() / count)
}

fn waker() -> Result<Waker, EndpointError> {
    Waker::new().map_err(|error| {
        EndpointError::host("make an event descriptor", "sender", "raise the limit of open files", error)
    })
}

fn wakers(count: usize) -> Result<Vec<Arc<Waker>>, EndpointError> {
    (0..count).map(|_| waker().map(Arc::new)).collect()
}

/// The schedules, each beginning a little after the one before it, so that streams of one interval do not meet.
fn legs(streams: &mut [Prepared], readers: &[Arc<Waker>], start: Timestamp<Monotonic>) -> Vec<StreamSender> {
    let count = i64::try_from(streams.len()).unwrap_or(1).max(1);
    let error = romer_endpoint::circumstances::clock_error();
    let started = rfc3339_after(start - clock::monotonic_now());
    let mut legs = Vec::with_capacity(streams.len());
    let readers = readers.iter().flat_map(|reader| std::iter::repeat_n(reader, receiving::STREAMS_OF_ONE));
    for ((stream, reader), place) in streams.iter_mut().zip(readers).zip(0i64..) {
        stream.manifest.started.clone_from(&started);
        if stream.shared.way == ProbeDirection::Reverse {
            continue;
        }
        let shift = Duration::from_nanos(stream.interval.as_nanos().saturating_mul(place) / count);
        let floor = stream.floor;
        let departures =
            stream.schedule.clone().map(move |departure| (departure.offset, departure.size.max(floor)));
        let probes = sending::Probes::new(Box::new(departures), start + shift, stream.shared.form(error))
            .with_key(stream.shared.key.clone())
            .with_in_packet_stamps(stream.shared.in_packet_stamps)
            .with_pattern(stream.shared.pattern);
        let (shared, reader) = (Arc::clone(&stream.shared), Arc::clone(reader));
        legs.push(StreamSender { shared, reader, probes, lead: stream.lead });
    }
    legs
}

/// How long a far end that was told to send no more has to say that it does not.
const STOP_TIMEOUT: Duration = Duration::from_secs(5);
/// Between two questions to a far end of what has arrived there, so that whoever looks on sees it.
const QUESTIONS: StdDuration = StdDuration::from_secs(1);
/// The same where it is to tell whether everything has arrived.
const LAST_QUESTIONS: StdDuration = StdDuration::from_millis(100);
/// Between two associations at the end of a stream of which something is missing.
const LAST_ASSOCIATIONS: Duration = Duration::from_millis(500);

/// Takes what the far ends tell during the run, and sees to it that they are still there.
fn take_news(
    streams: &mut [Prepared],
    options: &MeasureOptions,
    log: &LogSender,
    start: Timestamp<Monotonic>,
    happenings: &mut InitiatorHostMonitor,
    observer: &mut dyn Observer,
) {
    for (place, stream) in streams.iter_mut().enumerate() {
        let shared = &stream.shared;
        let Some(conversation) = &mut stream.conversation else { continue };
        if shared.way.is_one_way() {
            let hurried = shared.way == ProbeDirection::Forward && shared.has_departed_all();
            conversation.ask(if hurried { LAST_QUESTIONS } else { QUESTIONS });
        } else if shared.has_departed_all() {
            conversation.ask(LAST_QUESTIONS);
        }
        // What is missing may have met a mapping that a NAT has forgotten: then the far end learns the new one.
        if shared.has_departed_all() && !shared.is_whole() && shared.since_associated() >= LAST_ASSOCIATIONS {
            let _ = shared.associate();
        }
        let told = if stream.resuming.is_trying() { ResponderReport::default() } else { conversation.news() };
        let proved = !told.places.is_empty();
        for ([before, now], ages) in conversation.moves(told.places) {
            if !stream.resuming.has_moved(conversation) {
                happenings.moved(place, &before, &now, ages.map(|ages| shared.since_association(ages)));
            }
        }
        for entry in told.entries.iter().filter(|entry| shared.may_be_of_probe(entry)) {
            log.append(shared.number, entry);
        }
        let relation = stream.manifest.clock_relation;
        for event in told.events.iter().filter_map(|event| reported_by_responder(event, relation, start)) {
            happenings.told(place, event);
        }
        match (told.progress, shared.way) {
            (Some(progress), ProbeDirection::Forward) => shared.arrived(progress.received, progress.highest),
            (Some(progress), ProbeDirection::RoundTrip) => shared.answered(progress.received),
            _ => {}
        }
        if let Some(objection) = &told.objection
            && shared.way == ProbeDirection::Reverse
            && shared.returned.load(Ordering::Acquire) == 0
            && !shared.has_departed_all()
        {
            let notice = Notice::ResponderObjects { error: objection.clone() };
            observer.on_note(shared.number, &notice.into());
            shared.halt();
        }
        if let Some(count) = told.departed {
            shared.far_departed(count);
        }
        let fault = conversation.fault();
        if !resumption::tend(stream, place, proved, options.key.as_ref(), happenings) {
            if let Some(fault) = fault {
                stream.fault = Some(fault);
                stream.manifest.responder_log_gaps.push(LogGap::ProtocolFault { fault });
            }
            stream.has_way = happenings.has_way(place);
            if stream.has_way {
                let since = stream.resuming.since().map_or(Duration::ZERO, Duration::from_std);
                let ends = stream.shared.way.is_one_way();
                let detail = fault
                    .map_or(EventDetail::Unreachable { ends }, |fault| EventDetail::ProtocolFault { fault });
                happenings.gone(place, detail, since);
                stream.leave();
            } else {
                stream.give_up(observer);
            }
        }
    }
}

/// The parts of each stream that is measured.
fn parts(streams: &[Prepared]) -> impl Iterator<Item = &[Prepared]> {
    streams.chunk_by(|a, b| a.shared.number == b.shared.number)
}

/// The streams of a run by their number, of whose parts those of one number are one.
fn manifests(streams: &[Prepared], dead: &[Dead]) -> Vec<Stream> {
    let measured = parts(streams).map(|parts| {
        let mut manifest = parts[0].manifest.clone();
        manifest.responder_log_complete = parts.iter().all(|part| part.manifest.responder_log_complete);
        manifest.responder_log_gaps =
            parts.iter().flat_map(|part| part.manifest.responder_log_gaps.iter().cloned()).collect();
        manifest.early_end = parts.iter().find_map(|part| part.manifest.early_end);
        manifest.ended = parts.iter().filter_map(|part| part.manifest.ended.clone()).max();
        for other in parts.iter().skip(1).map(|part| &part.manifest) {
            manifest.replies += &other.replies;
            if let (Some(damage), Some(other)) = (&mut manifest.damage, other.damage.clone()) {
                **damage = std::mem::take(&mut **damage).or(*other);
            }
            // Both directions are between the same hosts.
            let errors = &mut manifest.checksum_errors;
            errors.responder = errors.responder.max(other.checksum_errors.responder);
        }
        for event in parts.iter().skip(1).flat_map(|part| &part.manifest.events) {
            if !manifest.events.iter().any(|own| is_same(own, event)) {
                manifest.events.push(event.clone());
            }
        }
        manifest.events.sort_by_key(|event| event.at_ns);
        (parts[0].shared.number, manifest)
    });
    let dead = dead.iter().map(|one| (one.number, one.manifest.clone()));
    measured.chain(dead).collect::<BTreeMap<_, _>>().into_values().collect()
}

type RowsByStream = BTreeMap<u16, Vec<RoundTrip>>;

/// Ends the log and reads it back, so that what is reported is what is kept; what could not be kept is taken from
/// memory.
fn close_log(
    log: LogThread,
    folder: &Path,
    way: ProbeDirection,
) -> Result<(RowsByStream, Option<StoreError>), EndpointError> {
    let outcome = log.finish();
    let mut entries = romer_store::recover(&folder.join("packets.log"))?.streams;
    for (stream, entry) in outcome.not_kept {
        entries.entry(stream).or_default().push(entry);
    }
    // The entries of one stream are given back before those of the next are joined.
    let rows = entries.into_iter().map(|(stream, entries)| (stream, assemble_as(way, &entries))).collect();
    Ok((rows, outcome.error))
}

/// Whether nothing at all left this host though something was to, and why, if an event says so.
fn nothing_sent(measurement: &Measurement) -> (bool, Option<String>) {
    let way = match measurement.traffic.direction {
        ProbeDirection::RoundTrip => &measurement.round_trip.packets,
        ProbeDirection::Reverse => return (false, None),
        ProbeDirection::Forward | ProbeDirection::Both => &measurement.forward.packets,
    };
    if way.sent != Some(0) || way.not_sent.is_none_or(|packets| packets == 0) {
        return (false, None);
    }
    let event = |kind| {
        measurement.events.iter().rfind(|event| event.kind == kind && event.location == EventLocation::Sender)
    };
    let cause = [EventKind::LinkDown, EventKind::NotSent].into_iter().find_map(event);
    (true, cause.map(Text::text))
}

fn conclude(
    mut run: NewRun,
    streams: &[Prepared],
    dead: Vec<Dead>,
    rows: &RowsByStream,
    partial: bool,
    with_report: bool,
    (not_kept, kept): (Option<StoreError>, &Watermark),
) -> Result<MeasurementOutcome, EndpointError> {
    let folder = run.folder().to_path_buf();
    let nothing = Vec::new();
    let mut manifests = manifests(streams, &dead);
    for (manifest, number) in manifests.iter_mut().zip(0..) {
        take_note(manifest, kept.given_up(number));
        if partial {
            // That the far end went away bears on the figures.
            manifest.early_end.get_or_insert(EarlyEnd::Interrupted);
        }
    }
    let parts: BTreeMap<u16, &[Prepared]> =
        parts(streams).map(|parts| (parts[0].shared.number, parts)).collect();
    let evaluated: Vec<Evaluated> = manifests
        .iter()
        .zip(0..)
        .map(|(manifest, number)| {
            let mut one = evaluate(manifest, rows.get(&number).unwrap_or(&nothing), false);
            let parts = parts.get(&number).copied().unwrap_or_default();
            one.measurement.warnings.extend(parts.iter().flat_map(Prepared::warnings));
            one
        })
        .collect();
    let measurements: Vec<Measurement> = evaluated.iter().map(|one| one.measurement.clone()).collect();
    let html = with_report.then(|| romer_analyze::page(&evaluated));
    let responder_lost =
        manifests.iter().zip(&measurements).zip(0..).find_map(|((manifest, measurement), number)| {
            let here = match manifest.early_end? {
                EarlyEnd::Interrupted | EarlyEnd::Killed => return None,
                EarlyEnd::ResponderLost | EarlyEnd::ResponderFault => false,
                EarlyEnd::NoRoute => true,
            };
            let parts = parts.get(&number).copied().unwrap_or_default();
            let fault = parts.iter().find_map(|part| part.fault);
            let (nothing_sent, why) = if here { nothing_sent(measurement) } else { (false, None) };
            Some(Gone { target: manifest.target.clone(), here, fault, nothing_sent, why })
        });
    let whole = !measurements.iter().any(|one| one.partial);
    let unanswering = streams.iter().filter(|stream| stream.shared.was_never_answered());
    let unanswering = unanswering.map(|stream| stream.manifest.target.clone()).collect();
    let unreachable = dead.into_iter().map(|one| one.error).collect();
    let status = if whole { Status::Complete } else { Status::Partial };
    let outcomes = RunOutcomes { streams: &manifests, evaluated: &evaluated };
    let end =
        Finished { status, rows, measurements: &measurements, outcomes: &outcomes, html: html.as_deref() };
    let written = run
        .update_manifest(|manifest| manifest.streams.clone_from(&manifests))
        .and_then(|()| run.finish(&end).map(|_| ()));
    let not_kept = not_kept.or(written.err());
    Ok(MeasurementOutcome {
        folder,
        streams: evaluated,
        partial,
        responder_lost,
        unreachable,
        unanswering,
        not_kept,
    })
}

/// Notes in the manifest what this host's packet log did not keep of its stream. Of what the far end's log told, that is as
/// much as had it not come back.
fn take_note(manifest: &mut Stream, not_logged: Vec<NotLogged>) {
    if let Some(records) = not_logged.iter().find(|one| one.kind == EntryKind::ResponderRecord) {
        manifest.responder_log_complete = false;
        manifest.responder_log_gaps.push(LogGap::NotStored { records: records.entries });
    }
    manifest.not_logged = not_logged;
}
