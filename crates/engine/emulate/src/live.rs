//! The live bridge: two ports, both directions, one thread.
//!
//! [`LiveBridge::start`] takes both interfaces over, opens the ports and starts the thread, which owns the engine and
//! all frames. Others speak to it by a bounded channel: [`LiveBridge::snapshot`], [`LiveBridge::apply`],
//! [`LiveBridge::reset`]. [`LiveBridge::stop`] ends it; what it still held then is counted as lost to the shutdown.
//!
//! | module | what |
//! | --- | --- |
//! | `bridge` | the thread: receive, decide, wait, send |
//! | `admission` | how many frames there is room for |
//! | `frames` | headers and bits of single frames |
//! | `routes` | whether the host hangs on an interface |
//! | `statistics` | what is counted and summarised |

mod admission;
mod bridge;
mod frames;
mod routes;
mod statistics;

use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread::JoinHandle;
use std::time::Duration;

use romer_host::HostError;
use romer_host::clock::monotonic_now;
use romer_host::socket::Waker;
use romer_impair::{Config, Engine, Limits};
use romer_port::{Arena, HostGuard, PacketPort, Port, PortError, PortName, TakenOver};

pub use admission::{MOST_OCTETS, Room};
use bridge::{Bridge, Command};
pub use statistics::{Direction, Snapshot};

/// Commands that may wait for the bridge.
const WAITING: usize = 16;
/// How long an answer of the bridge may take; it looks at its commands many times a second.
const PATIENCE: Duration = Duration::from_secs(30);

/// Why a bridge cannot be, or has ended.
#[derive(Debug, thiserror::Error)]
pub enum LiveError {
    /// A port cannot be opened or used.
    #[error("port {name}: {source}")]
    Port {
        /// The port.
        name: PortName,
        /// Why.
        source: Box<PortError>,
    },
    /// Both ports are the same.
    #[error("both ports are {0}")]
    SamePort(PortName),
    /// The host reaches the world by this interface.
    #[error("port {0} carries the default route of its host")]
    DefaultRoute(PortName),
    /// What the scenario holds does not fit.
    #[error("the scenario holds {needed} octets of frames at its rates, and there is room for {limit}")]
    Buffer {
        /// Octets that are needed.
        needed: u64,
        /// Octets that there may be.
        limit: u64,
    },
    /// The system refused.
    #[error(transparent)]
    Host(#[from] HostError),
    /// The bridge's thread has ended.
    #[error("the bridge has ended")]
    Ended,
}

/// What a bridge is to be.
#[derive(Clone, Debug)]
pub struct LiveOptions {
    /// Port a and port b.
    pub ports: [PortName; 2],
    /// What is to be done to packets. A seed that it lacks is the caller's to draw and to tell.
    pub config: Config,
    /// Whether an interface may be taken that carries its host's default route.
    pub may_cut_off: bool,
}

/// A bridge at work. Dropping it ends it.
#[derive(Debug)]
pub struct LiveBridge {
    commands: SyncSender<Command>,
    waker: Arc<Waker>,
    thread: Option<JoinHandle<Result<Snapshot, LiveError>>>,
    /// Dropped after the thread has ended, and then both interfaces are as they were.
    guards: [HostGuard; 2],
    room: Room,
    data_plane: &'static str,
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
        let mtu = longest_packet(&options.ports)?;
        let room = Room::for_scenario(&options.config, mtu)?;
        if !options.may_cut_off
            && let Some(name) = routes::default_route_among(&options.ports)?
        {
            return Err(LiveError::DefaultRoute(name.clone()));
        }
        let take = |name: &PortName| HostGuard::take_over(name).map_err(|source| failed(name, source));
        // The guards come first: they are copies of this process, which is small now.
        let guards = [take(a)?, take(b)?];
        let mut arena = Arena::new(room.slots, room.frame_octets).map_err(|source| failed(a, source))?;
        let mut open =
            |name: &PortName| PacketPort::open(name, &mut arena).map_err(|source| failed(name, source));
        let ports: [Box<dyn Port>; 2] = [Box::new(open(a)?), Box::new(open(b)?)];
        let data_plane = ports[0].data_plane();
        let held = usize::try_from(room.slots).unwrap_or(usize::MAX);
        let engine = Engine::new(options.config.clone(), Limits::fixed(held), monotonic_now().as_nanos());
        let (commands, inbox) = sync_channel(WAITING);
        let waker = Arc::new(Waker::new()?);
        let bridge = Bridge::new(engine, arena, ports, options.ports.clone());
        let thread_waker = Arc::clone(&waker);
        let thread = std::thread::Builder::new()
            .name("bridge".into())
            .spawn(move || bridge.run(&inbox, &thread_waker))
            .map_err(|source| HostError::System {
                operation: "start a thread",
                subject: "for the bridge".into(),
                source,
            })?;
        Ok(Self { commands, waker, thread: Some(thread), guards, room, data_plane })
    }

    /// What was changed on the interfaces for the time of the run.
    pub fn taken(&self) -> [&TakenOver; 2] {
        self.guards.each_ref().map(HostGuard::taken)
    }

    /// How much is held at most.
    pub const fn room(&self) -> Room {
        self.room
    }

    /// How packets come in and go out: `packet`.
    pub const fn data_plane(&self) -> &'static str {
        self.data_plane
    }

    /// Whether the bridge has ended of itself, which it does when a port is gone.
    pub fn has_ended(&self) -> bool {
        self.thread.as_ref().is_none_or(JoinHandle::is_finished)
    }

    /// What has happened so far, exact at one instant.
    ///
    /// # Errors
    /// [`LiveError::Ended`]; [`LiveBridge::stop`] then says why.
    pub fn snapshot(&self) -> Result<Box<Snapshot>, LiveError> {
        let (answer, answers) = sync_channel(1);
        self.tell(Command::Snapshot(answer))?;
        receive(&answers)
    }

    /// From now on another scenario. What is held leaves when it would have left.
    ///
    /// # Errors
    /// It does not fit into the room that was made at the start, or [`LiveError::Ended`].
    pub fn apply(&self, config: Config) -> Result<(), LiveError> {
        self.room.check(&config)?;
        let (answer, answers) = sync_channel(1);
        self.tell(Command::Apply(Box::new(config), answer))?;
        receive(&answers)
    }

    /// Begins the summaries anew. The counts go on, so that they always balance.
    ///
    /// # Errors
    /// [`LiveError::Ended`].
    pub fn reset(&self) -> Result<(), LiveError> {
        self.tell(Command::Reset)
    }

    /// Ends the bridge, puts the interfaces back, and gives what has happened.
    ///
    /// # Errors
    /// Why the bridge had ended before.
    pub fn stop(mut self) -> Result<Snapshot, LiveError> {
        self.end().unwrap_or(Err(LiveError::Ended))
    }

    fn end(&mut self) -> Option<Result<Snapshot, LiveError>> {
        // One that has ended takes no command, and needs none.
        let _ = self.tell(Command::Stop);
        self.thread.take()?.join().ok()
    }

    fn tell(&self, command: Command) -> Result<(), LiveError> {
        self.waker.wake();
        self.commands.send(command).map_err(|_| LiveError::Ended)?;
        self.waker.wake();
        Ok(())
    }
}

impl Drop for LiveBridge {
    fn drop(&mut self) {
        let _ = self.end();
    }
}

fn receive<T>(answers: &Receiver<T>) -> Result<T, LiveError> {
    answers.recv_timeout(PATIENCE).map_err(|error| match error {
        RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected => LiveError::Ended,
    })
}

fn failed(name: &PortName, source: PortError) -> LiveError {
    LiveError::Port { name: name.clone(), source: Box::new(source) }
}

/// The larger MTU of both ports, which are looked at before anything is changed.
fn longest_packet(ports: &[PortName; 2]) -> Result<u32, LiveError> {
    let mtu = |name: &PortName| PacketPort::mtu_of(name).map_err(|source| failed(name, source));
    Ok(mtu(&ports[0])?.max(mtu(&ports[1])?))
}
