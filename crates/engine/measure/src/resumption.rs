//! Resumption of a session over a new control connection: the address of this host changed, or a NAT or firewall dropped the
//! connection.
//!
//! A connection is bound to the address that it was made from. When that is gone nobody says so: what is written waits
//! for ever. So the address is watched, and the far end is asked; another connection is made beside the old one, from
//! a thread of its own, and takes its place once the far end has agreed.

use std::net::IpAddr;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, TryRecvError, sync_channel};
use std::time::{Duration as StdDuration, Instant};

use romer_host::clock;
use romer_record::document::ProbeDirection;
use romer_session::association::Token;
use romer_session::control::{KEEP_ALIVE, SILENCE};
use romer_units::{Duration, Monotonic, Timestamp};
use romer_wire::stamp::Key;

use super::far::{Absent, Conversation};
use super::initiator_host_monitor::InitiatorHostMonitor;
use super::observer::Observer;
use super::prepared::{Prepared, REPETITION};

/// From one attempt that failed to the next.
pub(super) const AGAIN: StdDuration = StdDuration::from_millis(500);
/// A far end that has left three questions without an answer is perhaps not reached any more.
pub(super) const UNREACHABLE_TIMEOUT: Duration = Duration::from_nanos(3 * KEEP_ALIVE.as_nanos());
/// At the end of a run, how long a session that is being moved is waited for; and how long where this host has no way to
/// the far end.
pub(super) const LAST: StdDuration = StdDuration::from_secs(5);
const LAST_WITHOUT_WAY: StdDuration = StdDuration::from_secs(1);

/// What is being done so that a stream's session goes on.
#[derive(Debug, Default)]
pub(super) struct Resuming {
    /// This host's address towards the target when the conversation was made, once it is known.
    settled: Option<IpAddr>,
    trouble: Option<Trouble>,
    /// It was said that the far end cannot follow.
    said: bool,
    /// Since when this host has no way there.
    cut_off: Option<Instant>,
}

#[derive(Debug)]
struct Trouble {
    since: Instant,
    stage: Stage,
    next: Instant,
    /// This host's address of the connection before.
    before: Option<IpAddr>,
}

type Attempt = Result<(Conversation, Token), Absent>;

#[derive(Debug)]
enum Stage {
    /// Another connection is to be made.
    Alone,
    /// It is being made.
    Trying(Receiver<Attempt>),
    /// It is made, and the new address is being proved.
    Proving,
}

impl Resuming {
    /// Whether another connection is being made, so that what the old one still tells would be told twice.
    pub(super) const fn is_trying(&self) -> bool {
        matches!(self.trouble, Some(Trouble { stage: Stage::Trying(_), .. }))
    }

    /// For how long something has been amiss with the conversation.
    pub(super) fn since(&self) -> Option<StdDuration> {
        self.trouble.as_ref().map(|trouble| trouble.since.elapsed())
    }

    /// Whether the session is about to be at home under another address of this host.
    pub(super) fn has_moved(&self, conversation: &Conversation) -> bool {
        self.trouble.as_ref().is_some_and(|trouble| trouble.before != conversation.local())
    }
}

/// Sees to it that the session of stream `place` goes on. `proved` says that the far end has just confirmed an
/// association. Gives whether there is, or may be again, somebody at the far end.
pub(super) fn tend(
    stream: &mut Prepared,
    place: usize,
    proved: bool,
    key: Option<&Arc<Key>>,
    happenings: &mut InitiatorHostMonitor,
) -> bool {
    let Some(conversation) = &stream.conversation else { return false };
    let source = happenings.source(place);
    let settled = stream.resuming.settled.or(source);
    stream.resuming.settled = settled;
    let moved = source != settled;
    let silent = conversation.unanswered().is_some_and(|silent| silent > UNREACHABLE_TIMEOUT.to_std());
    let amiss = moved || silent || conversation.is_broken();
    let now = Instant::now();
    match &stream.resuming.trouble {
        None if amiss && conversation.way_on().is_none() => {
            if moved && source.is_some() && !std::mem::replace(&mut stream.resuming.said, true) {
                happenings.cannot_follow(place, &conversation.welcome.software);
            }
            return !conversation.is_broken();
        }
        None if amiss => {
            let unanswered = conversation.unanswered().filter(|_| silent).map(|silent| now - silent);
            let since = happenings.before_change(place).filter(|_| moved).or(unanswered).unwrap_or(now);
            let before = conversation.local();
            let trouble = Trouble { since, stage: Stage::Alone, next: now, before };
            stream.resuming.trouble = Some(trouble);
        }
        None => return true,
        Some(Trouble { stage: Stage::Alone, .. }) if !amiss => {
            // It has passed.
            stream.resuming.trouble = None;
            return true;
        }
        Some(_) => {}
    }
    step(stream, place, proved, key, happenings).is_some()
}

/// One step further. `None` where there is nobody.
fn step(
    stream: &mut Prepared,
    place: usize,
    proved: bool,
    key: Option<&Arc<Key>>,
    happenings: &mut InitiatorHostMonitor,
) -> Option<()> {
    let conversation = stream.conversation.as_mut()?;
    let source = happenings.source(place);
    let trouble = stream.resuming.trouble.as_mut()?;
    let now = Instant::now();
    if now - trouble.since > SILENCE.to_std() {
        return None;
    }
    match &trouble.stage {
        // Without a way there, there is nothing to try.
        Stage::Alone if now >= trouble.next && stream.resuming.settled.is_some() == source.is_some() => {
            let silent = now - trouble.since;
            let (way_on, key) = (conversation.way_on()?, key.cloned());
            let (answer, attempt) = sync_channel(1);
            let work = move || {
                // Nobody listens any more where the run has ended meanwhile.
                let _ = answer.send(Conversation::resume(&way_on, key.as_deref(), silent));
            };
            std::thread::Builder::new().name("romer-resume".into()).spawn(work).ok()?;
            trouble.stage = Stage::Trying(attempt);
        }
        Stage::Alone => {}
        Stage::Trying(attempt) => match attempt.try_recv() {
            Ok(Ok((mut next, token))) => {
                next.succeed(conversation);
                *conversation = next;
                stream.resuming.settled = source.or(stream.resuming.settled);
                stream.shared.move_to(token);
                trouble.stage = Stage::Proving;
                trouble.next = now;
            }
            Ok(Err(absent)) if !absent.may_pass() => return None,
            Ok(Err(_)) | Err(TryRecvError::Disconnected) => {
                trouble.stage = Stage::Alone;
                trouble.next = now + AGAIN;
            }
            Err(TryRecvError::Empty) => {}
        },
        Stage::Proving if proved => {
            let length = Duration::from_std(now - trouble.since);
            happenings.resumed(place, trouble.before, conversation.local(), length);
            stream.resuming.trouble = None;
            return Some(());
        }
        // It broke off before the address was proved.
        Stage::Proving if conversation.is_broken() => {
            trouble.stage = Stage::Alone;
            trouble.next = now + AGAIN;
        }
        Stage::Proving => {}
    }
    if matches!(trouble.stage, Stage::Proving) && now >= trouble.next {
        trouble.next = now + REPETITION;
        // A refusal of this host shows in that nothing is confirmed.
        let _ = stream.shared.associate();
    }
    Some(())
}

/// Gives up one-way streams whose time is over, where this host has had no way to the far end for a while: that it has sent
/// the last, or that it has it, is not heard any more.
pub(super) fn leave_vain(
    streams: &mut [Prepared],
    began: Timestamp<Monotonic>,
    happenings: &InitiatorHostMonitor,
    observer: &mut dyn Observer,
) {
    let elapsed = clock::monotonic_now() - began;
    for (place, stream) in streams.iter_mut().enumerate() {
        if !stream.shared.way.is_one_way() || stream.conversation.is_none() {
            continue;
        }
        stream.has_way = happenings.has_way(place);
        if stream.has_way {
            stream.resuming.cut_off = None;
            continue;
        }
        let since = *stream.resuming.cut_off.get_or_insert_with(Instant::now);
        let patience = Duration::from_std(LAST_WITHOUT_WAY);
        let is_over = match stream.shared.way {
            ProbeDirection::Reverse => elapsed >= stream.longest + patience,
            _ => stream.shared.has_departed_all(),
        };
        if is_over && since.elapsed() >= LAST_WITHOUT_WAY {
            stream.give_up(observer);
        }
    }
}

/// At the end of a run: waits for sessions that are just being moved, so that their far ends' logs come home. What happens
/// meanwhile is seen and told.
pub(super) fn settle(
    streams: &mut [Prepared],
    key: Option<&Arc<Key>>,
    happenings: &mut InitiatorHostMonitor,
    observer: &mut dyn Observer,
) {
    let began = Instant::now();
    for (place, stream) in streams.iter_mut().enumerate() {
        let moving = |stream: &Prepared| {
            let trouble = stream.resuming.trouble.as_ref();
            trouble.is_some_and(|trouble| !matches!(trouble.stage, Stage::Proving))
        };
        while moving(stream) {
            let longest = if happenings.has_way(place) { LAST } else { LAST_WITHOUT_WAY };
            if began.elapsed() >= longest || step(stream, place, false, key, happenings).is_none() {
                break;
            }
            happenings.wait(Duration::from_millis(20));
            happenings.look(observer);
        }
        if let Some(Trouble { stage: Stage::Proving, since, before, .. }) = &stream.resuming.trouble
            && let Some(conversation) = stream.conversation.as_ref().filter(|one| !one.is_broken())
        {
            let length = Duration::from_std(since.elapsed());
            happenings.resumed(place, *before, conversation.local(), length);
        }
        // What is asked of a far end that this host has no way to is answered by nobody.
        if moving(stream)
            && !happenings.has_way(place)
            && let Some(conversation) = &mut stream.conversation
        {
            conversation.give_up();
        }
    }
}
