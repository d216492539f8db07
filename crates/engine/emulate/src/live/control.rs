//! The handle by which others speak to a bridge at work.

use std::collections::VecDeque;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use romer_host::socket::Waker;
use romer_impair::{Config, Generator, Nanos};
use romer_port::PortName;
use romer_record::emulation::{EmulatedPort, Emulation};
use romer_record::warning::{EmulationWarning, RefitEvent};
use romer_scenario::About;
use romer_units::random::Seed;

use super::admission::BufferDemand;
use super::bridge::Command;
use super::document;
use super::error::LiveError;
use super::statistics::{Raw, Snapshot};
use super::subscription::{self, FeedOptions, MOST_FEEDS, SampleFeed};
use crate::scenario::Opened;

/// How long an answer of the bridge may take; it looks at its commands many times a second.
const REPLY_TIMEOUT: Duration = Duration::from_secs(30);
/// Scenarios that are remembered.
const HISTORY: usize = 256;

/// A scenario as it holds on a bridge.
#[derive(Clone, Debug, PartialEq)]
pub struct Applied {
    /// 1 for that of the start, one more with each change.
    pub revision: u64,
    /// As it was written.
    pub text: String,
    /// What its `[about]` table says.
    pub about: About,
    /// What a reader of the results should know, in words.
    pub notes: Vec<EmulationWarning>,
    /// Since when it holds; where it is only kept, since when everything passes through.
    pub since: SystemTime,
    /// The same after the beginning of the bridge, as its samples count, by the clock of arrivals: a timeline with this step
    /// repeats the run.
    pub after: Nanos,
    /// Everything passes through untouched, and the scenario is only kept.
    pub impairments_off: bool,
}

/// A bridge at work, to be watched and changed; clones speak to the same bridge, from any thread.
///
/// No method waits longer than the bridge needs to look up from its packets, some milliseconds as a rule; call them
/// from where blocking is allowed. When the bridge has ended they give [`LiveError::Ended`], and
/// [`super::LiveBridge::stop`] says why.
#[derive(Clone, Debug)]
pub struct Control(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    commands: SyncSender<Command>,
    waker: Arc<Waker>,
    facts: Facts,
    /// The scenarios that held, the last of which does; the newest [`HISTORY`] of them.
    history: Mutex<VecDeque<Arc<Applied>>>,
    /// When the summaries were begun anew last.
    anew: Mutex<Option<SystemTime>>,
    /// What became of the periods of a followed path.
    refits: Mutex<Vec<RefitEvent>>,
}

/// What does not change while a bridge works.
#[derive(Clone, Debug)]
pub(super) struct Facts {
    pub(super) started: SystemTime,
    pub(super) seed: Seed,
    pub(super) generator: Generator,
    pub(super) data_plane: &'static str,
    pub(super) ports: [(PortName, EmulatedPort); 2],
    pub(super) room: BufferDemand,
    /// What was found at the start that a reader of the results should know.
    pub(super) notes: Vec<EmulationWarning>,
    /// Nanoseconds since 1970 that samples count from.
    pub(super) started_realtime: i64,
}

impl Control {
    pub(super) fn new(
        commands: SyncSender<Command>,
        waker: Arc<Waker>,
        facts: Facts,
        opened: &Opened,
    ) -> Self {
        let first = Arc::new(applied(1, opened, facts.started, facts.room));
        Self(Arc::new(Shared {
            commands,
            waker,
            facts,
            history: Mutex::new([first].into()),
            anew: Mutex::default(),
            refits: Mutex::default(),
        }))
    }

    /// The scenario that holds.
    pub fn scenario(&self) -> Arc<Applied> {
        newest(&self.0.history.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// From now on another scenario, its timeline beginning now. What is held leaves when it would have left, stages
    /// whose model stays go on with it, and no packet is lost or reordered that the new scenario would not lose or
    /// reorder. Seed and generator stay those of the start, so that a run has one seed.
    ///
    /// With `expected`, only if that is the revision that holds: who changes what somebody else has changed meanwhile
    /// is told.
    ///
    /// # Errors
    /// [`LiveError::Stale`]; [`LiveError::Buffer`] where what it holds at its rates does not fit into the room of the
    /// start; [`LiveError::Ended`].
    pub fn apply(&self, opened: Opened, expected: Option<u64>) -> Result<Arc<Applied>, LiveError> {
        // Whoever else would change waits here, never the bridge.
        let mut history = self.0.history.lock().unwrap_or_else(PoisonError::into_inner);
        let current = newest(&history);
        if expected.is_some_and(|revision| revision != current.revision) {
            return Err(LiveError::Stale { revision: current.revision });
        }
        self.room().check(&opened.scenario.config)?;
        let mut next = applied(current.revision + 1, &opened, SystemTime::now(), self.room());
        let config = opened.scenario.config;
        if config.seed.is_some_and(|seed| seed != self.seed()) || config.generator != self.0.facts.generator {
            next.notes.push(EmulationWarning::SeedKept {
                seed: self.seed().to_string(),
                generator: self.0.facts.generator.name().into(),
            });
        }
        self.put(config, next, &mut history)
    }

    /// From now on everything passes through untouched, and the scenario that holds is only kept: it stays what was asked
    /// for. Where that is so already, nothing changes.
    ///
    /// # Errors
    /// [`LiveError::Ended`].
    pub fn pass(&self) -> Result<Arc<Applied>, LiveError> {
        let mut history = self.0.history.lock().unwrap_or_else(PoisonError::into_inner);
        let current = newest(&history);
        if current.impairments_off {
            return Ok(current);
        }
        let (revision, since) = (current.revision + 1, SystemTime::now());
        let next = Applied { revision, since, impairments_off: true, ..current.as_ref().clone() };
        self.put(Config::default(), next, &mut history)
    }

    fn put(
        &self,
        config: Config,
        next: Applied,
        history: &mut VecDeque<Arc<Applied>>,
    ) -> Result<Arc<Applied>, LiveError> {
        let config = Config { generator: self.0.facts.generator, ..config };
        let (answer, answers) = sync_channel(1);
        self.send_command(Command::Apply(Box::new(config), answer))?;
        let next = Arc::new(Applied { after: receive(&answers)?.as_nanos(), ..next });
        if history.len() == HISTORY {
            history.pop_front();
        }
        history.push_back(Arc::clone(&next));
        Ok(next)
    }

    /// What has happened so far, exact at one instant.
    ///
    /// # Errors
    /// [`LiveError::Ended`].
    pub fn snapshot(&self) -> Result<Box<Snapshot>, LiveError> {
        let (answer, answers) = sync_channel(1);
        // The bridge only copies; what costs time is done here.
        self.send_command(Command::Snapshot(Box::new(Raw::new()), answer))?;
        Ok(Box::new(receive(&answers)?.snapshot()))
    }

    /// The document `romer/emulation/1` of what has happened so far; its end is the moment of the snapshot.
    ///
    /// # Errors
    /// [`LiveError::Ended`].
    pub fn document(&self) -> Result<Emulation, LiveError> {
        Ok(self.document_of(&*self.snapshot()?))
    }

    /// The document of a snapshot of this bridge, also when the bridge has ended.
    pub fn document_of(&self, snapshot: &Snapshot) -> Emulation {
        let history: Vec<Arc<Applied>> =
            self.0.history.lock().unwrap_or_else(PoisonError::into_inner).iter().cloned().collect();
        let anew = *self.0.anew.lock().unwrap_or_else(PoisonError::into_inner);
        Emulation {
            refits: self.refits_after(0),
            ..document::emulation(&self.0.facts, &history, anew, snapshot)
        }
    }

    /// Begins the summaries anew. The counts of the ledger go on, so that they always balance.
    ///
    /// # Errors
    /// [`LiveError::Ended`].
    pub fn reset(&self) -> Result<(), LiveError> {
        self.send_command(Command::Reset)?;
        *self.0.anew.lock().unwrap_or_else(PoisonError::into_inner) = Some(SystemTime::now());
        Ok(())
    }

    /// Notes what became of a period of a followed path, for the document.
    pub fn note_refit(&self, event: RefitEvent) {
        self.0.refits.lock().unwrap_or_else(PoisonError::into_inner).push(event);
    }

    /// What became of the periods of a followed path after the first `known` of them.
    pub fn refits_after(&self, known: usize) -> Vec<RefitEvent> {
        let refits = self.0.refits.lock().unwrap_or_else(PoisonError::into_inner);
        refits.get(known..).unwrap_or_default().to_vec()
    }

    /// Samples from now on, of packets that arrive from now on.
    ///
    /// # Errors
    /// [`LiveError::Feeds`] where [`MOST_FEEDS`] are listening; [`LiveError::Ended`].
    pub fn samples(&self, options: FeedOptions) -> Result<SampleFeed, LiveError> {
        let Facts { room, started_realtime, .. } = &self.0.facts;
        let (tap, feed) = subscription::feed(options, room.frame_octets, *started_realtime);
        let (answer, answers) = sync_channel(1);
        self.send_command(Command::Feed(Box::new(tap), answer))?;
        if receive(&answers)? { Ok(feed) } else { Err(LiveError::Feeds { most: MOST_FEEDS }) }
    }

    /// Tells the bridge to end; its owner's [`super::LiveBridge::stop`] gives what has happened.
    pub fn stop(&self) {
        // One that has ended takes no command, and needs none.
        let _ = self.send_command(Command::Stop);
    }

    /// What was found of the ports at the start that a reader of the results should know, in words.
    pub fn warnings(&self) -> &[EmulationWarning] {
        &self.0.facts.notes
    }

    /// Six numbers that replay every decision of chance.
    pub fn seed(&self) -> Seed {
        self.0.facts.seed
    }

    /// How much is held at most.
    pub fn room(&self) -> BufferDemand {
        self.0.facts.room
    }

    /// How packets come in and go out: `packet`.
    pub fn data_plane(&self) -> &'static str {
        self.0.facts.data_plane
    }

    /// Port a and port b.
    pub fn ports(&self) -> [&PortName; 2] {
        self.0.facts.ports.each_ref().map(|(name, _)| name)
    }

    /// When the bridge began.
    pub fn started(&self) -> SystemTime {
        self.0.facts.started
    }

    fn send_command(&self, command: Command) -> Result<(), LiveError> {
        self.0.waker.wake();
        self.0.commands.send(command).map_err(|_| LiveError::Ended)?;
        self.0.waker.wake();
        Ok(())
    }
}

fn applied(revision: u64, opened: &Opened, since: SystemTime, room: BufferDemand) -> Applied {
    let mut notes = opened.scenario.notes.clone();
    notes.extend(room.notes(&opened.scenario.config));
    let about = opened.scenario.about.clone();
    Applied { revision, text: opened.text.clone(), about, notes, since, after: 0, impairments_off: false }
}

/// There always is one: the first is put there when the control is made, and none but an older one goes.
fn newest(history: &VecDeque<Arc<Applied>>) -> Arc<Applied> {
    Arc::clone(&history[history.len() - 1])
}

fn receive<T>(answers: &Receiver<T>) -> Result<T, LiveError> {
    answers.recv_timeout(REPLY_TIMEOUT).map_err(|_| LiveError::Ended)
}
