//! The emulation that the server shows and steers: one bridge, its scenario and what it did.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::UNIX_EPOCH;

use axum::http::StatusCode;
use romer_emulate::Opened;
use romer_emulate::live::{
    Control, DataPlane, DirectionSnapshot, FeedOptions, LiveBridge, LiveError, LiveOptions, SampleFeed,
    Snapshot,
};
use romer_host::clock::rfc3339;
use romer_host::link::{Carried, Network};
use romer_impair::Cause;
use romer_port::{PortError, PortName};
use romer_record::document::Summary;
use romer_record::emulation::{EMULATED, Emulated, EmulatedCounts, Emulation as Document, PortDirection};
use romer_units::Duration;
use schemars::JsonSchema;
use serde::Serialize;

use crate::history::{Applied, History};
use crate::problem::Problem;
use crate::scenario::{self, ScenarioDocument, ScenarioForms, ScenarioRequest};
use crate::time;

/// Room is made for frames that are held so long, as a page may ask for more delay than there was at the start.
pub const LEAST_HOLD: Duration = Duration::from_millis(500);

/// The emulation of this server.
#[derive(Debug)]
pub struct Emulation {
    control: Control,
    /// Where it is the server's own.
    bridge: Mutex<Option<LiveBridge>>,
    own: Mutex<Own>,
    last: Mutex<Option<Snapshot>>,
    /// Where the ports' own counts are read; `None` where that is not possible.
    lines: Mutex<[Option<Network>; 2]>,
    /// How often the summaries were begun anew.
    resets: AtomicU64,
    /// The run that it is kept as, or why it is not.
    run: Mutex<Option<Result<String, String>>>,
}

/// Counters of an emulation at one time.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct EmulationSnapshot {
    /// The number of the setting that packets met.
    pub(crate) version: u64,
    /// How often the summaries had been begun anew.
    pub(crate) resets: u64,
    /// Each direction's counts since the start, with the means since the summaries were begun.
    pub(crate) counts: [EmulatedCounts; 2],
    /// How many delays each mean is of.
    pub(crate) delays: [u64; 2],
    /// Of how many packets the means of the rate's queue are.
    pub(crate) rated: [u64; 2],
}

#[derive(Debug)]
struct Own {
    files: BTreeMap<String, String>,
    history: History,
}

/// Current scenario; while impairments are off, the stored scenario.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub(crate) struct ActiveScenario {
    /// Number of the scenario, which is also its entity tag.
    pub(crate) version: u64,
    /// Whether impairments are off: packets pass unchanged, and the scenario is stored only.
    pub(crate) impairments_off: bool,
    /// Seed of the random decisions.
    pub(crate) seed: [u32; 6],
    #[serde(flatten)]
    pub(crate) shown: ScenarioForms,
}

/// Status of the emulation.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub(crate) struct EmulationStatus {
    /// Whether the emulation is running.
    pub(crate) running: bool,
    /// Whether impairments are off: packets pass unchanged, and the scenario is stored only.
    pub(crate) impairments_off: bool,
    /// Start time, RFC 3339.
    pub(crate) started: String,
    /// Port a, `[NETNS/]IFACE`.
    pub(crate) a: String,
    /// Port b, `[NETNS/]IFACE`.
    pub(crate) b: String,
    /// Packet I/O: `packet`, `xdp-native` or `xdp-generic`.
    pub(crate) data_plane: String,
    /// Capacity of the packet buffer, frames.
    pub(crate) buffer_frames: u32,
    /// Memory of the packet buffer, bytes.
    pub(crate) buffer_octets: u64,
    /// Number of the current scenario.
    pub(crate) version: u64,
    /// Name of the run in which the emulation is stored, once it has ended.
    pub(crate) run: Option<String>,
    /// Reason why the ended emulation is not stored.
    pub(crate) not_stored: Option<String>,
}

/// State of the emulation, each second: counters since the start, and means since the last reset.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub(crate) struct EmulationSample {
    /// Time, milliseconds since 1970-01-01 UTC.
    pub(crate) at_ms: u64,
    /// Number of the current scenario.
    pub(crate) version: u64,
    /// Packets that arrive at port a.
    pub(crate) a_to_b: TickDirection,
    /// Packets that arrive at port b.
    pub(crate) b_to_a: TickDirection,
}

/// Counters and means of one direction.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub(crate) struct TickDirection {
    received: u64,
    transmitted: u64,
    queued: u64,
    duplicates_created: u64,
    lost: BTreeMap<String, u64>,
    corrupted: u64,
    /// Packets and duplicates displaced by the reordering stage.
    reordered: u64,
    /// Packets and duplicates that left after one that had arrived later, whatever the cause.
    overtaken: u64,
    /// Bytes of the frames that the port received, including FCS, from the interface counter.
    received_octets: Option<u64>,
    /// Bytes of the frames that the other port sent, including FCS, from the interface counter.
    transmitted_octets: Option<u64>,
    /// received + duplicates_created - transmitted - queued - lost: always 0.
    balance: i64,
    requested_delay_ns: TickSummary,
    /// Actual delay without the rate queue, nanoseconds.
    actual_delay_ns: TickSummary,
    /// Total delay from arrival to departure, including the rate queue, nanoseconds.
    total_delay_ns: TickSummary,
    delay_error_ns: TickSummary,
    queue_depth: TickSummary,
    /// Wait in the rate queue and transmission time, of transmitted packets with a rate limit, nanoseconds.
    rate_queue_ns: TickSummary,
    inter_arrival_ns: TickSummary,
    inter_departure_ns: TickSummary,
    link: String,
}

/// Summary of a sample.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub(crate) struct TickSummary {
    count: u64,
    mean: Option<f64>,
    pub(crate) median: Option<f64>,
    pub(crate) p99: Option<f64>,
    pub(crate) max: Option<f64>,
}

impl TickSummary {
    pub(crate) const fn count(&self) -> u64 {
        self.count
    }
}

impl From<&Summary> for TickSummary {
    fn from(summary: &Summary) -> Self {
        Self {
            count: summary.count,
            mean: summary.mean,
            median: summary.median,
            p99: summary.p99,
            max: summary.max,
        }
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Emulation {
    /// Starts a bridge between two ports that does what the scenario says.
    pub(crate) fn start(
        ports: [PortName; 2],
        read: ScenarioDocument,
        allow_default_route: bool,
    ) -> Result<Self, Problem> {
        let mut opened = Opened { scenario: read.scenario, text: read.toml };
        if opened.scenario.config.seed.is_none() {
            let seed = romer_emulate::random_seed();
            opened.scenario.config.seed =
                Some(seed.map_err(|error| Problem::unavailable("seed", error.to_string()))?);
        }
        let options = LiveOptions {
            ports,
            scenario: opened,
            least_hold: LEAST_HOLD,
            allow_default_route,
            data_plane: DataPlane::default(),
            samples: None,
        };
        let bridge = LiveBridge::start(&options).map_err(|error| refused(&error))?;
        Ok(Self::new(bridge.control(), Some(bridge), read.files))
    }

    /// A bridge that belongs to somebody else, who also ends it. Files that its scenario names lie in `folder`.
    pub fn attach(control: Control, folder: Option<&Path>) -> Self {
        let mut files = BTreeMap::new();
        let mut load = |name: &str| {
            let path = folder.unwrap_or(Path::new("")).join(name);
            let text = std::fs::read_to_string(path).map_err(|error| error.to_string())?;
            files.insert(name.to_owned(), text.clone());
            romer_scenario::named_file(text.as_bytes())
        };
        // It was read before, or the bridge would not be; what is wanted are its files.
        let _ = romer_scenario::parse(&control.scenario().text, "scenario", &mut load);
        Self::new(control, None, files)
    }

    fn new(control: Control, bridge: Option<LiveBridge>, files: BTreeMap<String, String>) -> Self {
        let mut history = History::default();
        history.push(applied(&control), &files);
        let lines = control.ports().map(|port| Network::open(port.namespace()).ok());
        Self {
            lines: Mutex::new(lines),
            resets: AtomicU64::new(0),
            run: Mutex::new(None),
            control,
            bridge: Mutex::new(bridge),
            own: Mutex::new(Own { files, history }),
            last: Mutex::new(None),
        }
    }

    /// Whether packets pass through it now.
    pub(crate) fn is_running(&self) -> bool {
        let bridge = locked(&self.bridge);
        match bridge.as_ref() {
            Some(bridge) => !bridge.has_ended(),
            None => locked(&self.last).is_none() && self.control.snapshot().is_ok(),
        }
    }

    /// Whether it is the server's own, and has ended without being told to.
    pub(crate) fn has_ended_by_itself(&self) -> bool {
        locked(&self.bridge).as_ref().is_some_and(LiveBridge::has_ended)
    }

    /// Notes what `keep` makes of it: the run that it is kept as, or why it is not. Once.
    pub(crate) fn keep(&self, keep: impl FnOnce() -> Result<String, String>) {
        let mut run = locked(&self.run);
        if run.is_none() {
            *run = Some(keep());
        }
    }

    /// Both ports.
    pub(crate) fn ports(&self) -> [&PortName; 2] {
        self.control.ports()
    }

    /// What has happened so far, or until the end.
    pub(crate) fn snapshot(&self) -> Result<Snapshot, Problem> {
        if let Some(snapshot) = locked(&self.last).clone() {
            return Ok(snapshot);
        }
        self.control.snapshot().map(|snapshot| *snapshot).map_err(|error| refused(&error))
    }

    /// Ends it, once, and gives what has happened.
    pub(crate) fn stop(&self) -> Result<Snapshot, Problem> {
        let bridge = locked(&self.bridge).take();
        let snapshot = match bridge {
            Some(bridge) => bridge.stop().map_err(|error| refused(&error))?,
            None => {
                // Its owner gives the last figures; these are those of a moment before.
                let snapshot = self.snapshot()?;
                self.control.stop();
                snapshot
            }
        };
        *locked(&self.last) = Some(snapshot.clone());
        Ok(snapshot)
    }

    /// Begins the summaries anew.
    pub(crate) fn reset(&self) -> Result<(), Problem> {
        self.control.reset().map_err(|error| refused(&error))?;
        self.resets.fetch_add(1, Ordering::AcqRel);
        Ok(())
    }

    /// Samples from now on.
    pub(crate) fn samples(&self, options: FeedOptions) -> Result<SampleFeed, Problem> {
        self.control.samples(options).map_err(|error| refused(&error))
    }

    /// The scenario in force.
    pub(crate) fn in_force(&self) -> ActiveScenario {
        let own = locked(&self.own);
        self.shown(&own)
    }

    fn shown(&self, own: &Own) -> ActiveScenario {
        let current = self.control.scenario();
        let seed = self.control.seed().0;
        let shown = ScenarioForms::read(&current.text, &own.files, &current.notes).of_run(seed);
        ActiveScenario { version: current.revision, impairments_off: current.impairments_off, seed, shown }
    }

    /// Lets everything pass through untouched, and keeps the scenario.
    pub(crate) fn pass(&self) -> Result<EmulationStatus, Problem> {
        // One change at a time, as what is shown is of both.
        let own = locked(&self.own);
        self.control.pass().map_err(|error| refused(&error))?;
        drop(own);
        Ok(self.standing())
    }

    /// Puts the scenario that is kept in force again.
    pub(crate) fn impair(&self) -> Result<EmulationStatus, Problem> {
        let own = locked(&self.own);
        let current = self.control.scenario();
        if current.impairments_off {
            let given = ScenarioRequest { toml: Some(current.text.clone()), ..ScenarioRequest::default() };
            let read = scenario::read(given, &own.files)?;
            let opened = Opened { scenario: read.scenario, text: read.toml };
            self.control.apply(opened, None).map_err(|error| refused(&error))?;
        }
        drop(own);
        Ok(self.standing())
    }

    /// The entity tag of a version: another emulation's is never the same.
    pub(crate) fn tag(&self, version: u64) -> String {
        let started = self.control.started().duration_since(UNIX_EPOCH).unwrap_or_default();
        format!("{}-{version}", started.as_micros())
    }

    /// The version that an entity tag names; 0, which none has, for a foreign one.
    pub(crate) fn version_of(&self, tag: &str) -> u64 {
        let bare = tag.trim().trim_start_matches("W/").trim_matches('"');
        let version = bare.rsplit_once('-').and_then(|(_, version)| version.parse().ok()).unwrap_or(0);
        if self.tag(version) == bare { version } else { 0 }
    }

    /// Files that the scenario in force names.
    pub(crate) fn files(&self) -> BTreeMap<String, String> {
        locked(&self.own).files.clone()
    }

    /// Those that were, newest first.
    pub(crate) fn history(&self) -> Vec<Applied> {
        locked(&self.own).history.list()
    }

    /// The files that one of those named.
    pub(crate) fn files_of(&self, version: u64) -> Option<BTreeMap<String, String>> {
        locked(&self.own).history.files(version)
    }

    /// Puts another scenario in force, where the one in force has the version that the caller knows.
    pub(crate) fn apply(
        &self,
        given: ScenarioRequest,
        expected: Option<u64>,
    ) -> Result<ActiveScenario, Problem> {
        let mut own = locked(&self.own);
        let read = scenario::read(given, &own.files)?;
        let opened = Opened { scenario: read.scenario, text: read.toml };
        match self.control.apply(opened, expected) {
            Ok(_) => {}
            Err(LiveError::Stale { .. }) => {
                let detail = "another client changed the scenario; read it again before you change it";
                let now = serde_json::to_value(self.shown(&own)).unwrap_or_default();
                let problem = Problem::new(StatusCode::PRECONDITION_FAILED, "changed", detail);
                return Err(problem.with_current(now));
            }
            Err(error) => return Err(refused(&error)),
        }
        own.files = read.files;
        let Own { files, history, .. } = &mut *own;
        history.push(applied(&self.control), files);
        Ok(self.shown(&own))
    }

    /// How it stands.
    pub(crate) fn standing(&self) -> EmulationStatus {
        let [a, b] = self.ports().map(ToString::to_string);
        let (room, scenario) = (self.control.room(), self.control.scenario());
        let (run, not_stored) = match locked(&self.run).clone() {
            Some(Ok(run)) => (Some(run), None),
            Some(Err(why)) => (None, Some(why)),
            None => (None, None),
        };
        EmulationStatus {
            run,
            not_stored,
            running: self.is_running(),
            started: rfc3339(self.control.started()),
            a,
            b,
            data_plane: self.control.data_plane().into(),
            buffer_frames: room.slots,
            buffer_octets: room.octets,
            impairments_off: scenario.impairments_off,
            version: scenario.revision,
        }
    }

    /// The document of what has happened.
    pub(crate) fn document(&self, snapshot: &Snapshot) -> Document {
        self.control.document_of(snapshot)
    }

    /// What the ports have carried by their own counts.
    fn carried(&self) -> [Option<Carried>; 2] {
        let lines = locked(&self.lines);
        let [a, b] = self.ports();
        [(&lines[0], a), (&lines[1], b)]
            .map(|(line, port)| line.as_ref().and_then(|line| line.carried(port.interface()).ok()))
    }

    /// What a measurement that begins now passes through.
    pub(crate) fn emulated(&self, forward_direction: PortDirection) -> Emulated {
        let now = self.in_force();
        let [a, b] = self.ports().map(ToString::to_string);
        Emulated {
            schema: EMULATED.into(),
            forward_direction,
            a,
            b,
            seed: now.seed,
            scenario: now.shown.toml,
            impairments_off: now.impairments_off,
            changed: None,
            in_force_ns: Some([self.in_force_ns(); 2]),
            a_to_b: None,
            b_to_a: None,
        }
    }

    /// Since when the scenario has been in force, nanoseconds.
    pub(crate) fn in_force_ns(&self) -> u64 {
        let since = self.control.scenario().since.elapsed().unwrap_or_default();
        u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
    }

    /// How it stands now.
    pub(crate) fn stood(&self) -> Option<EmulationSnapshot> {
        let resets = self.resets.load(Ordering::Acquire);
        let snapshot = self.snapshot().ok()?;
        let mut counts = snapshot.directions.each_ref().map(counted);
        let [a, b] = self.carried();
        for (way, [from, to]) in counts.iter_mut().zip([[a, b], [b, a]]) {
            way.received_octets = from.map(|port| port.received_octets);
            way.transmitted_octets = to.map(|port| port.sent_octets);
        }
        Some(EmulationSnapshot {
            version: self.control.scenario().revision,
            resets,
            counts,
            delays: snapshot.directions.each_ref().map(|direction| direction.actual_delay.count),
            rated: snapshot.directions.each_ref().map(|direction| direction.rate_queue.count),
        })
    }

    /// The counts of this second.
    pub(crate) fn tick(&self) -> Option<EmulationSample> {
        if locked(&self.last).is_some() {
            return None;
        }
        let snapshot = self.control.snapshot().ok()?;
        let [mut a_to_b, mut b_to_a] = snapshot.directions.each_ref().map(tick_direction);
        let [a, b] = self.carried();
        a_to_b.received_octets = a.map(|port| port.received_octets);
        a_to_b.transmitted_octets = b.map(|port| port.sent_octets);
        b_to_a.received_octets = b.map(|port| port.received_octets);
        b_to_a.transmitted_octets = a.map(|port| port.sent_octets);
        Some(EmulationSample {
            at_ms: time::unix_ms(),
            version: self.control.scenario().revision,
            a_to_b,
            b_to_a,
        })
    }
}

fn applied(control: &Control) -> Applied {
    let current = control.scenario();
    Applied { version: current.revision, at: rfc3339(current.since), toml: current.text.clone() }
}

fn ended() -> Problem {
    Problem::conflict("no-emulation", "no packets pass through an emulator now; start an emulation")
}

/// A refusal of the bridge: of the scenario, or of the machine.
pub(crate) fn refused(error: &LiveError) -> Problem {
    match error {
        LiveError::Buffer { .. } => Problem::unprocessable(
            "buffer",
            format!("{error}; ask for less delay, a lower rate or a shorter queue"),
        ),
        LiveError::SamePort(_) => Problem::unprocessable("ports", format!("{error}; give two interfaces")),
        LiveError::Loop(..) => Problem::unprocessable(
            "ports",
            format!("{error}; give the ends of two pairs, each facing another host"),
        ),
        LiveError::DefaultRoute(_) => Problem::conflict(
            "default-route",
            format!("{error}, and would be cut off; choose another, or allow that with allow_default_route"),
        ),
        LiveError::Ended => ended(),
        LiveError::Feeds { .. } => {
            Problem::conflict("feeds", format!("{error}; try again when one of them has ended"))
        }
        LiveError::Port { source, .. } if source.is_permission() => Problem::new(
            StatusCode::FORBIDDEN,
            "rights",
            format!(
                "{error}; start romer as root, with the capabilities cap_net_raw and cap_net_admin, or in a laboratory"
            ),
        ),
        LiveError::Port { source, .. } if matches!(**source, PortError::InUse(_)) => {
            Problem::conflict("ports", format!("{error}; stop that one first, or choose another interface"))
        }
        _ => Problem::unprocessable(
            "ports",
            format!("{error}; the doctor's page says what this machine can do"),
        ),
    }
}

fn lost(direction: &DirectionSnapshot) -> BTreeMap<String, u64> {
    Cause::ALL.iter().map(|cause| (cause.name().to_owned(), direction.ledger.lost_for(*cause))).collect()
}

fn counted(direction: &DirectionSnapshot) -> EmulatedCounts {
    let ledger = &direction.ledger;
    EmulatedCounts {
        received: ledger.received,
        transmitted: ledger.transmitted,
        duplicates_created: ledger.duplicates_created,
        lost: lost(direction),
        corrupted: ledger.corrupted,
        reordered: ledger.reordered,
        received_octets: None,
        transmitted_octets: None,
        requested_delay_mean_ns: direction.requested_delay.mean,
        actual_delay_mean_ns: direction.actual_delay.mean,
        total_delay_mean_ns: direction.total_delay.mean,
        rate_queue_mean_ns: direction.rate_queue.mean,
    }
}

fn tick_direction(direction: &DirectionSnapshot) -> TickDirection {
    let ledger = &direction.ledger;
    let lost = lost(direction);
    let sum: u64 = lost.values().sum();
    let signed = |count: u64| i64::try_from(count).unwrap_or(i64::MAX);
    TickDirection {
        received: ledger.received,
        transmitted: ledger.transmitted,
        queued: ledger.queued,
        duplicates_created: ledger.duplicates_created,
        balance: signed(ledger.received) + signed(ledger.duplicates_created)
            - signed(ledger.transmitted)
            - signed(ledger.queued)
            - signed(sum),
        lost,
        corrupted: ledger.corrupted,
        reordered: ledger.reordered,
        overtaken: direction.overtaken,
        received_octets: None,
        transmitted_octets: None,
        requested_delay_ns: (&direction.requested_delay).into(),
        actual_delay_ns: (&direction.actual_delay).into(),
        total_delay_ns: (&direction.total_delay).into(),
        delay_error_ns: (&direction.delay_error).into(),
        queue_depth: (&direction.queue_depth).into(),
        rate_queue_ns: (&direction.rate_queue).into(),
        inter_arrival_ns: (&direction.inter_arrival).into(),
        inter_departure_ns: (&direction.inter_departure).into(),
        link: format!("{:?}", direction.link.state).to_lowercase(),
    }
}
