//! The live bridge: two ports, both directions, one thread.
//!
//! [`LiveBridge::start`] takes both interfaces over, opens the ports and starts the thread, which owns the engine and
//! all frames. Others speak to it by [`Control`], a handle that can be cloned and sent anywhere: it changes the
//! scenario, takes snapshots, gives samples ([`SampleFeed`]) and stops. Between them are channels of fixed size, and
//! the thread never waits for any of them. [`LiveBridge::stop`] ends it; what it still held then is counted as lost to
//! the shutdown.
//!
//! | module | what |
//! | --- | --- |
//! | `bridge` | the thread: receive, decide, wait, send |
//! | `alertness` | whether it sleeps between two packets |
//! | `control` | what others may ask of it |
//! | `feed` | samples |
//! | `recorder` | samples into files |
//! | `document` | `romer/emulation/1` |
//! | `admission` | how many frames there is room for |
//! | `frames` | bits of single frames |
//! | `planes` | how frames come in and go out |
//! | `routes` | whether the host hangs on an interface |
//! | `statistics` | what is counted and summarised |
//! | `telemetry` | the ledger as metrics |

mod admission;
mod bridge;
mod busy_poll;
mod control;
mod data_plane;
mod document;
mod error;
mod frames;
mod preflight;
mod recorder;
mod routes;
mod statistics;
mod subscription;
mod telemetry;

use std::sync::Arc;
use std::sync::mpsc::sync_channel;
use std::thread::JoinHandle;
use std::time::SystemTime;

use romer_host::HostError;
use romer_host::clock;
use romer_host::socket::Waker;
use romer_impair::{Engine, Limits};
use romer_port::{Arena, HostGuard, HostGuards, PacketPort, PortName, TakenOver};
use romer_record::emulation::EmulatedPort;
use romer_units::Duration;
use romer_units::random::Seed;

use crate::scenario::Opened;
pub use admission::{BufferDemand, MOST_OCTETS};
use bridge::Bridge;
use control::Facts;
pub use control::{Applied, Control};
pub use data_plane::DataPlane;
pub use error::LiveError;
use error::failed;
pub(crate) use recorder::RECORDED_BY;
pub use recorder::{Recorded, Recorder, Sink};
pub use statistics::{DirectionSnapshot, Snapshot};
pub use subscription::{FeedOptions, MOST_FEEDS, PacketFate, SampleFeed, Sampled};
pub use telemetry::{publish, publish_snapshot};

/// Commands that may wait for the bridge.
const COMMAND_QUEUE_LENGTH: usize = 16;

/// What a bridge is to be.
#[derive(Clone, Debug)]
pub struct LiveOptions {
    /// Port a and port b.
    pub ports: [PortName; 2],
    /// What is to be done to packets. A seed that it lacks is the caller's to draw and to tell.
    pub scenario: Opened,
    /// Room is made for frames that are held as long as this, if the scenario itself does not ask for more: for
    /// changes to come.
    pub least_hold: Duration,
    /// Samples from the first packet on, given by [`LiveBridge::take_samples`].
    pub samples: Option<FeedOptions>,
    /// Whether an interface may be taken that carries its host's default route.
    pub allow_default_route: bool,
    /// How frames come in and go out.
    pub data_plane: DataPlane,
}

/// A bridge at work. Dropping it ends it.
#[derive(Debug)]
pub struct LiveBridge {
    control: Control,
    samples: Option<SampleFeed>,
    thread: Option<JoinHandle<Result<Snapshot, LiveError>>>,
    ports: [PortName; 2],
    /// Dropped after the thread has ended, and then both interfaces are as they were.
    guards: HostGuards,
}

impl LiveBridge {
    /// Takes both ports and begins.
    ///
    /// # Errors
    /// A port cannot be had, both are one, or the frames that the scenario holds do not fit. Nothing is changed then.
    pub fn start(options: &LiveOptions) -> Result<Self, LiveError> {
        let [a, b] = &options.ports;
        if a == b {
            return Err(LiveError::SamePort(a.clone()));
        }
        let config = &options.scenario.scenario.config;
        let mtu = longest_packet(&options.ports)?;
        let room = BufferDemand::for_scenario(config, mtu, options.least_hold)?;
        if !options.allow_default_route
            && let Some(name) = routes::default_route_among(&options.ports)?
        {
            return Err(LiveError::DefaultRoute(name.clone()));
        }
        if preflight::is_loop(&options.ports)? {
            return Err(LiveError::Loop(a.clone(), b.clone()));
        }
        let take = |name: &PortName| HostGuard::take_over(name).map_err(|source| failed(name, source));
        // The guards come first: they are copies of this process, which is small now.
        let guards = HostGuards::new([take(a)?, take(b)?]);
        let taken = guards.taken();
        let mut arena = Arena::new(room.slots, room.frame_octets).map_err(|source| failed(a, source))?;
        let ports = data_plane::open(options.data_plane, &options.ports, &mut arena)?;
        let data_plane = ports[0].data_plane();
        let notes = preflight::notes(&options.ports, data_plane == "packet")?;
        let held = usize::try_from(room.slots).unwrap_or(usize::MAX);
        let start = clock::now();
        let engine = Engine::new(config.clone(), Limits::fixed(held), start.monotonic.as_nanos());
        let (commands, inbox) = sync_channel(COMMAND_QUEUE_LENGTH);
        let waker = Arc::new(Waker::new()?);
        let names = options.ports.clone();
        let facts = Facts {
            started: SystemTime::now(),
            seed: config.seed.unwrap_or(Seed([1; 6])),
            generator: config.generator,
            data_plane,
            ports: [described(a, taken[0]), described(b, taken[1])],
            notes,
            room,
            started_realtime: start.realtime.as_nanos(),
        };
        let (tap, samples) = options
            .samples
            .map(|options| subscription::feed(options, room.frame_octets, facts.started_realtime))
            .unzip();
        let bridge = Bridge::new(engine, start.monotonic, arena, ports, names, tap);
        let control = Control::new(commands, Arc::clone(&waker), facts, &options.scenario);
        let thread = std::thread::Builder::new()
            .name("bridge".into())
            .spawn(move || bridge.run(&inbox, &waker))
            .map_err(|source| HostError::System {
                operation: "start a thread",
                subject: "for the bridge".into(),
                source,
            })?;
        Ok(Self { control, samples, thread: Some(thread), ports: options.ports.clone(), guards })
    }

    /// A handle by which others watch and change it.
    pub fn control(&self) -> Control {
        self.control.clone()
    }

    /// What was changed on the interfaces for the time of the run.
    pub fn taken(&self) -> [&TakenOver; 2] {
        self.guards.taken()
    }

    /// The samples that the options asked for; once.
    pub const fn take_samples(&mut self) -> Option<SampleFeed> {
        self.samples.take()
    }

    /// Whether the bridge has ended of itself, which it does when a port is gone.
    pub fn has_ended(&self) -> bool {
        self.thread.as_ref().is_none_or(JoinHandle::is_finished)
    }

    /// Ends the bridge, puts the interfaces back, and gives what has happened and what could not be put back.
    ///
    /// # Errors
    /// Why the bridge had ended before.
    pub fn stop(mut self) -> Result<Snapshot, LiveError> {
        let mut snapshot = self.end().unwrap_or(Err(LiveError::Ended))?;
        let taken = self.guards.taken().map(TakenOver::clone);
        let left = self.guards.restore();
        if let Some(gone) = &mut snapshot.gone {
            gone.may_be_moved =
                self.ports.iter().zip(&left).any(|(port, left)| *port == gone.port && left.namespace);
        }
        let ports = self.ports.iter().zip(taken).zip(left);
        snapshot.not_restored =
            ports.flat_map(|((port, taken), left)| preflight::not_restored(port, taken, left)).collect();
        Ok(snapshot)
    }

    fn end(&mut self) -> Option<Result<Snapshot, LiveError>> {
        self.control.stop();
        self.thread.take()?.join().ok()
    }
}

impl Drop for LiveBridge {
    fn drop(&mut self) {
        let _ = self.end();
    }
}

/// A port and what was changed on it, as documents say it.
fn described(name: &PortName, taken: &TakenOver) -> (PortName, EmulatedPort) {
    let TakenOver { bridge, offloads } = taken;
    let port = EmulatedPort {
        interface: name.to_string(),
        removed_from_bridge: bridge.clone(),
        offloads_switched_off: !offloads.is_empty(),
    };
    (name.clone(), port)
}

/// The larger MTU of both ports, which are looked at before anything is changed.
fn longest_packet(ports: &[PortName; 2]) -> Result<u32, LiveError> {
    let mtu = |name: &PortName| PacketPort::mtu_of(name).map_err(|source| failed(name, source));
    Ok(mtu(&ports[0])?.max(mtu(&ports[1])?))
}
