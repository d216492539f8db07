//! The emulation that the server shows and steers: one bridge, its scenario and what it did.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use axum::http::StatusCode;
use romer_emulate::live::{Direction, LiveBridge, LiveError, LiveOptions, Snapshot};
use romer_impair::{Cause, Config, Generator};
use romer_port::PortName;
use romer_record::document::Summary;
use romer_record::emulation::{EMULATION, EmulatedDirection, EmulatedPort, Emulation as Document};
use schemars::JsonSchema;
use serde::Serialize;

use crate::problem::Problem;
use crate::scenario::{self, Given, Read, Shown};
use crate::time;

/// Scenarios that are remembered.
const REMEMBERED: usize = 50;

/// A bridge under the server's hand.
#[derive(Debug)]
pub struct Emulation {
    bridge: Mutex<Option<LiveBridge>>,
    current: Mutex<Current>,
    last: Mutex<Option<Snapshot>>,
    ports: [PortName; 2],
    taken: BTreeMap<String, EmulatedPort>,
    data_plane: String,
    started: SystemTime,
    seed: [u32; 6],
    generator: Generator,
    slots: u32,
    octets: u64,
}

#[derive(Debug)]
struct Current {
    version: u64,
    read: Read,
    history: VecDeque<Applied>,
}

/// A scenario that was in force.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub(crate) struct Applied {
    /// Its number; the first is 1.
    version: u64,
    /// When it took effect, RFC 3339.
    at: String,
    /// As a file.
    toml: String,
}

/// The scenario in force.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub(crate) struct InForce {
    /// Its number, which is also the entity tag.
    pub(crate) version: u64,
    /// The seed by which chance goes.
    pub(crate) seed: [u32; 6],
    /// The generator: `counter`, `mrg` or `mrg32k3a`.
    pub(crate) generator: String,
    #[serde(flatten)]
    pub(crate) shown: Shown,
}

/// How the emulation stands.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub(crate) struct Standing {
    /// Whether packets pass through it now.
    pub(crate) running: bool,
    /// When it began, RFC 3339.
    pub(crate) started: String,
    /// Interfaces, by port.
    pub(crate) ports: BTreeMap<String, EmulatedPort>,
    /// How packets come in and go out.
    pub(crate) data_plane: String,
    /// Frames that there is room for.
    pub(crate) room_frames: u32,
    /// Octets of memory for them.
    pub(crate) room_octets: u64,
    /// The scenario's number.
    pub(crate) version: u64,
}

/// What has happened, each second: counts since the start, and means since the last reset.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub(crate) struct Tick {
    /// UTC, in milliseconds since 1970.
    pub(crate) at_ms: u64,
    /// The number of the scenario in force.
    pub(crate) version: u64,
    /// Of what arrives at a.
    pub(crate) a_to_b: TickDirection,
    /// Of what arrives at b.
    pub(crate) b_to_a: TickDirection,
}

/// One direction of a tick.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub(crate) struct TickDirection {
    received: u64,
    transmitted: u64,
    queued: u64,
    duplicates_created: u64,
    lost: BTreeMap<String, u64>,
    corrupted: u64,
    reordered: u64,
    /// received + duplicates_created - transmitted - queued - lost: always 0.
    balance: i64,
    requested_delay_ns: TickSummary,
    actual_delay_ns: TickSummary,
    delay_error_ns: TickSummary,
    queue_depth: TickSummary,
    inter_arrival_ns: TickSummary,
    inter_departure_ns: TickSummary,
    link: String,
}

/// Part of a summary.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub(crate) struct TickSummary {
    count: u64,
    mean: Option<f64>,
    median: Option<f64>,
    p99: Option<f64>,
    max: Option<f64>,
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

/// How a generator is called in files.
pub(crate) const fn generator_name(generator: Generator) -> &'static str {
    match generator {
        Generator::Counter => "counter",
        Generator::Mrg => "mrg",
        Generator::Mrg32k3a => "mrg32k3a",
    }
}

impl Emulation {
    /// Starts a bridge between two ports that does what the scenario says.
    pub(crate) fn start(ports: [PortName; 2], read: Read, may_cut_off: bool) -> Result<Self, Problem> {
        let mut config = read.scenario.config.clone();
        config.seed = Some(match config.seed {
            Some(seed) => seed,
            None => romer_emulate::random_seed()
                .map_err(|error| Problem::unavailable("seed", error.to_string()))?,
        });
        let options = LiveOptions { ports, config, may_cut_off };
        let bridge = LiveBridge::start(&options).map_err(|error| refused(&error))?;
        Ok(Self::of(bridge, &options, read))
    }

    /// A bridge that was started by somebody else, with the text of its scenario and the files that it names.
    ///
    /// # Errors
    /// In words, where the text is not that of a scenario.
    pub fn attach(
        bridge: LiveBridge,
        options: &LiveOptions,
        toml: String,
        files: BTreeMap<String, String>,
    ) -> Result<Self, String> {
        let given = Given { toml: Some(toml), scenario: None, files };
        let read = scenario::read(given, &BTreeMap::new()).map_err(|problem| {
            serde_json::to_value(&problem).map_or_else(|_| String::new(), |value| value["detail"].to_string())
        })?;
        Ok(Self::of(bridge, options, read))
    }

    fn of(bridge: LiveBridge, options: &LiveOptions, read: Read) -> Self {
        let taken = ["a", "b"].into_iter().zip(&options.ports).zip(bridge.taken());
        let taken = taken.map(|((letter, name), taken)| {
            let port = EmulatedPort {
                interface: name.to_string(),
                taken_from_bridge: taken.bridge.clone(),
                offloads_switched_off: taken.offloads,
            };
            (letter.to_owned(), port)
        });
        let room = bridge.room();
        let first = Applied { version: 1, at: time::rfc3339(SystemTime::now()), toml: read.toml.clone() };
        Self {
            ports: options.ports.clone(),
            taken: taken.collect(),
            data_plane: bridge.data_plane().into(),
            started: SystemTime::now(),
            seed: options.config.seed.map_or([1; 6], |seed| seed.0),
            generator: options.config.generator,
            slots: room.slots,
            octets: room.octets,
            bridge: Mutex::new(Some(bridge)),
            current: Mutex::new(Current { version: 1, read, history: VecDeque::from([first]) }),
            last: Mutex::new(None),
        }
    }

    /// Whether packets pass through it now.
    pub fn is_running(&self) -> bool {
        locked(&self.bridge).as_ref().is_some_and(|bridge| !bridge.has_ended())
    }

    /// Both ports.
    pub fn ports(&self) -> &[PortName; 2] {
        &self.ports
    }

    /// What has happened so far, or until the end.
    ///
    /// # Errors
    /// [`LiveError::Ended`] where the bridge has ended without anybody having asked.
    pub fn snapshot(&self) -> Result<Snapshot, LiveError> {
        if let Some(bridge) = locked(&self.bridge).as_ref() {
            return bridge.snapshot().map(|snapshot| *snapshot);
        }
        locked(&self.last).clone().ok_or(LiveError::Ended)
    }

    /// Ends it, once, and gives what has happened.
    ///
    /// # Errors
    /// Why the bridge had ended before.
    pub fn stop(&self) -> Result<Snapshot, LiveError> {
        let bridge = locked(&self.bridge).take();
        match bridge {
            Some(bridge) => {
                let snapshot = bridge.stop()?;
                *locked(&self.last) = Some(snapshot.clone());
                Ok(snapshot)
            }
            None => self.snapshot(),
        }
    }

    /// Begins the summaries anew.
    pub(crate) fn reset(&self) -> Result<(), Problem> {
        match locked(&self.bridge).as_ref() {
            Some(bridge) => bridge.reset().map_err(|error| refused(&error)),
            None => Err(ended()),
        }
    }

    /// The scenario in force.
    pub(crate) fn in_force(&self) -> InForce {
        let current = locked(&self.current);
        self.shown(&current)
    }

    fn shown(&self, current: &Current) -> InForce {
        InForce {
            version: current.version,
            seed: self.seed,
            generator: generator_name(self.generator).into(),
            shown: current.read.shown(),
        }
    }

    /// The entity tag of a version: another emulation's is never the same.
    pub(crate) fn tag(&self, version: u64) -> String {
        format!("{}-{version}", self.started.duration_since(UNIX_EPOCH).unwrap_or_default().as_micros())
    }

    /// The version that an entity tag names; 0, which none has, for a foreign one.
    pub(crate) fn version_of(&self, tag: &str) -> u64 {
        let bare = tag.trim().trim_start_matches("W/").trim_matches('"');
        let version = bare.rsplit_once('-').and_then(|(_, version)| version.parse().ok()).unwrap_or(0);
        if self.tag(version) == bare { version } else { 0 }
    }

    /// Files that the scenario in force names.
    pub(crate) fn files(&self) -> BTreeMap<String, String> {
        locked(&self.current).read.files.clone()
    }

    /// Those that were, newest first.
    pub(crate) fn history(&self) -> Vec<Applied> {
        locked(&self.current).history.iter().rev().cloned().collect()
    }

    /// Puts another scenario in force, where the one in force has the version that the caller knows.
    pub(crate) fn apply(&self, given: Given, expected: Option<u64>) -> Result<InForce, Problem> {
        let bridge = locked(&self.bridge);
        let bridge = bridge.as_ref().filter(|bridge| !bridge.has_ended()).ok_or_else(ended)?;
        let mut current = locked(&self.current);
        if expected.is_some_and(|expected| expected != current.version) {
            let detail = "somebody else has changed the scenario meanwhile; look at what it is now";
            let now = serde_json::to_value(self.shown(&current)).unwrap_or_default();
            let problem = Problem::new(StatusCode::PRECONDITION_FAILED, "changed", detail);
            return Err(problem.with_current(now));
        }
        let read = scenario::read(given, &current.read.files)?;
        let config = self.with_chance(&read)?;
        bridge.apply(config).map_err(|error| refused(&error))?;
        current.version += 1;
        let applied = Applied {
            version: current.version,
            at: time::rfc3339(SystemTime::now()),
            toml: read.toml.clone(),
        };
        current.history.push_back(applied);
        if current.history.len() > REMEMBERED {
            current.history.pop_front();
        }
        current.read = read;
        Ok(self.shown(&current))
    }

    /// Chance goes on as it began: its seed and its generator belong to a run.
    fn with_chance(&self, read: &Read) -> Result<Config, Problem> {
        let mut config = read.scenario.config.clone();
        if config.generator != self.generator {
            let detail = format!(
                "generator is {}, and this run goes by {}, which cannot change while packets pass; stop it and start \
                 another",
                generator_name(config.generator),
                generator_name(self.generator)
            );
            return Err(Problem::unprocessable("scenario", detail));
        }
        let seed = romer_units::random::Seed(self.seed);
        if config.seed.is_some_and(|given| given != seed) {
            let detail = "seed is another than that of this run, which cannot change while packets pass; leave it out, \
                          or stop the run and start another";
            return Err(Problem::unprocessable("scenario", detail));
        }
        config.seed = Some(seed);
        Ok(config)
    }

    /// How it stands.
    pub(crate) fn standing(&self) -> Standing {
        Standing {
            running: self.is_running(),
            started: time::rfc3339(self.started),
            ports: self.taken.clone(),
            data_plane: self.data_plane.clone(),
            room_frames: self.slots,
            room_octets: self.octets,
            version: locked(&self.current).version,
        }
    }

    /// The document of what has happened.
    pub fn document(&self, snapshot: &Snapshot) -> Document {
        let [a_to_b, b_to_a] = snapshot.directions.each_ref().map(direction);
        Document {
            schema: EMULATION.into(),
            started: time::rfc3339(self.started),
            ended: time::rfc3339(SystemTime::now()),
            ended_by: snapshot.gone.as_ref().map(|port| format!("port {port} is gone")),
            seed: self.seed,
            generator: generator_name(self.generator).into(),
            data_plane: self.data_plane.clone(),
            scenario: locked(&self.current).read.toml.clone(),
            ports: self.taken.clone(),
            a_to_b,
            b_to_a,
            warnings: Vec::new(),
        }
    }

    /// The counts of this second.
    pub(crate) fn tick(&self) -> Option<Tick> {
        let snapshot = self.snapshot().ok()?;
        let [a_to_b, b_to_a] = snapshot.directions.each_ref().map(tick_direction);
        Some(Tick { at_ms: time::unix_ms(), version: locked(&self.current).version, a_to_b, b_to_a })
    }
}

fn ended() -> Problem {
    Problem::conflict("no-emulation", "no packets pass through an emulator now; start an emulation")
}

/// A refusal of the bridge: of the scenario, or of the machine.
pub(crate) fn refused(error: &LiveError) -> Problem {
    match error {
        LiveError::Buffer { .. } => {
            Problem::unprocessable("buffer", format!("{error}; ask for less delay or a lower rate"))
        }
        LiveError::SamePort(_) => Problem::unprocessable("ports", format!("{error}; give two interfaces")),
        LiveError::DefaultRoute(_) => Problem::conflict(
            "default-route",
            format!("{error}, and would be cut off; choose another, or allow that with may_cut_off"),
        ),
        LiveError::Ended => ended(),
        LiveError::Port { source, .. } if source.is_permission() => Problem::new(
            StatusCode::FORBIDDEN,
            "rights",
            format!(
                "{error}; start romer with the right to use packet sockets (as root, or in a laboratory)"
            ),
        ),
        _ => Problem::unprocessable(
            "ports",
            format!("{error}; the doctor's page says what this machine can do"),
        ),
    }
}

fn direction(direction: &Direction) -> EmulatedDirection {
    let ledger = &direction.ledger;
    EmulatedDirection {
        received: ledger.received,
        transmitted: ledger.transmitted,
        queued: ledger.queued,
        duplicates_created: ledger.duplicates_created,
        lost: lost(direction),
        corrupted: ledger.corrupted,
        reordered: ledger.reordered,
        waited_ratio: (ledger.delayed > 0).then(|| real(ledger.waited) / real(ledger.delayed)),
        requested_delay_ns: direction.requested_delay.clone(),
        actual_delay_ns: direction.actual_delay.clone(),
        delay_error_ns: direction.delay_error.clone(),
        inter_arrival_ns: direction.inter_arrival.clone(),
        inter_departure_ns: direction.inter_departure.clone(),
        queue_depth: direction.queue_depth.clone(),
        correlation_time_ns: None,
        effective_values: None,
    }
}

fn lost(direction: &Direction) -> BTreeMap<String, u64> {
    Cause::ALL.iter().map(|cause| (cause.name().to_owned(), direction.ledger.lost_for(*cause))).collect()
}

fn tick_direction(direction: &Direction) -> TickDirection {
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
        requested_delay_ns: (&direction.requested_delay).into(),
        actual_delay_ns: (&direction.actual_delay).into(),
        delay_error_ns: (&direction.delay_error).into(),
        queue_depth: (&direction.queue_depth).into(),
        inter_arrival_ns: (&direction.inter_arrival).into(),
        inter_departure_ns: (&direction.inter_departure).into(),
        link: format!("{:?}", direction.link).to_lowercase(),
    }
}

#[expect(clippy::cast_precision_loss, reason = "counts stay below 2^53")]
const fn real(count: u64) -> f64 {
    count as f64
}
