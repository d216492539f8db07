//! A stream that is ready to begin, and what it has of its far end.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration as StdDuration;

use romer_endpoint::damage::DamageMonitor;
use romer_record::document::DamagedProbes;
use romer_record::event::{Event, EventKind, EventLocation, ProtocolFault};
use romer_record::manifest::{EarlyEnd, Stream};
use romer_record::note::Notice;
use romer_record::warning::MeasurementWarning;
use romer_traffic::Schedule;
use romer_units::{Duration, saturating_sum};

use super::far::Conversation;
use super::observer::Observer;
use super::resumption::Resuming;
use super::route::RouteDiscovery;
use super::stream::Shared;

/// Time between two repetitions of an association.
pub(super) const REPETITION: StdDuration = StdDuration::from_millis(150);

/// A stream that is ready to begin.
pub(super) struct Prepared {
    pub(super) shared: Arc<Shared>,
    /// Where the target was asked: of its control channel, or its reflector.
    pub(super) address: SocketAddr,
    pub(super) schedule: Schedule,
    /// The schedule takes no longer than this.
    pub(super) longest: Duration,
    pub(super) interval: Duration,
    /// How long before its time the kernel is given a probe, where that keeps the schedule.
    pub(super) lead: Duration,
    /// Smaller payloads of the schedule are raised to this.
    pub(super) floor: u32,
    pub(super) manifest: Stream,
    pub(super) conversation: Option<Conversation>,
    /// What was noticed before the first probe.
    pub(super) at_start: Vec<MeasurementWarning>,
    /// Datagrams that the far end's kernel dropped because its program was too slow.
    pub(super) far_drops: u64,
    /// Counts the damaged probes that come to this host.
    pub(super) damage: Option<DamageMonitor>,
    /// The damaged probes that came to the far end, as it told.
    pub(super) far_damage: Option<DamagedProbes>,
    /// Datagrams that came there, named this stream and were none of its probes.
    pub(super) bad_tag: u64,
    /// What the far end did that it must not, so that its conversation was closed.
    pub(super) fault: Option<ProtocolFault>,
    /// Looks for the way to the target, where that is asked for; of two directions, the first has it.
    pub(super) pathfinder: Option<RouteDiscovery>,
    /// What is being done so that the session outlives its connection.
    pub(super) resuming: Resuming,
    /// Whether this host had a way to the target at the last look.
    pub(super) has_way: bool,
}

impl Prepared {
    /// Why the far end is out of reach.
    pub(super) const fn gone(&self) -> EarlyEnd {
        match (self.fault, self.has_way) {
            (Some(_), _) => EarlyEnd::ResponderFault,
            (None, true) => EarlyEnd::ResponderLost,
            (None, false) => EarlyEnd::NoRoute,
        }
    }

    /// What was seen that the rows do not tell.
    pub(super) fn warnings(&self) -> Vec<MeasurementWarning> {
        let shared = &self.shared;
        let events = &self.manifest.events;
        let mut warnings = self.at_start.clone();
        let count = |count: &AtomicU64| count.load(Ordering::Acquire);
        let altered = count(&shared.altered);
        if altered > 0 {
            warnings.push(MeasurementWarning::SequenceNumbersAltered { datagrams: altered });
        }
        if self.bad_tag > 0 {
            warnings.push(MeasurementWarning::SessionTagsWrong { datagrams: self.bad_tag });
        }
        warnings.extend(dropped(EventLocation::Responder, self.far_drops, events));
        warnings.extend(dropped(EventLocation::Sender, count(&shared.unread), events));
        let unanswered = count(&shared.unanswered);
        if unanswered > 0 {
            warnings.push(MeasurementWarning::NextHopUnresolved { probes: unanswered });
        }
        let nobody = count(&shared.nobody);
        if nobody > 0 {
            warnings.push(MeasurementWarning::PortUnreachable { probes: nobody });
        }
        let errors = count(&shared.path_errors);
        if errors > 0 {
            warnings.push(MeasurementWarning::IcmpErrors { errors, report: shared.router_report() });
        }
        warnings
    }

    /// A far end that has not told of its last probe long after the end of the schedule is accused of it.
    pub(super) fn expire(&mut self, since_start: Duration, waiting_time: Duration) {
        if self.shared.is_overdue(since_start, self.longest, waiting_time)
            && let Some(conversation) = &mut self.conversation
        {
            conversation.accuse(ProtocolFault::Overdue);
        }
    }

    /// The far end is out of reach for good, which is said.
    pub(super) fn give_up(&mut self, observer: &mut dyn Observer) {
        self.leave();
        let ends = self.shared.way.is_one_way();
        let notice = Notice::ResponderUnreachable { ends, has_route: self.has_way };
        observer.on_note(self.shared.number, &notice.into());
    }

    /// The far end is out of reach for good.
    pub(super) fn leave(&mut self) {
        let shared = &self.shared;
        self.conversation = None;
        shared.leave_alone();
        self.manifest.early_end = Some(self.gone());
        if shared.way.is_one_way() {
            shared.halt();
        }
    }
}

/// What is to be said of `drops` datagrams that the kernel at `location` dropped unread: by the `events` there, those that it
/// dropped while its program stood still, and those for which that was too slow.
fn dropped(location: EventLocation, drops: u64, events: &[Event]) -> Option<MeasurementWarning> {
    let while_stopped = while_standing(location, events).min(drops);
    let while_running = drops - while_stopped;
    (drops > 0).then_some(MeasurementWarning::ReceiveBufferOverflow {
        location,
        while_stopped,
        while_running,
    })
}

/// What a program has not read by so long after it stood still came while it did.
const CATCHING_UP_NS: i64 = 1_000_000_000;

/// How many datagrams found a full socket at `location` while the program there stood still, by its clock, or caught up after it.
fn while_standing(location: EventLocation, events: &[Event]) -> u64 {
    let of =
        |kind: EventKind| events.iter().filter(move |event| (event.kind, event.location) == (kind, location));
    let span = |event: &Event| {
        let length = event.until_ns.map_or(0, |until| until.saturating_sub(event.at_ns));
        (event.clock_ns, event.clock_ns.saturating_add(length))
    };
    let pauses: Vec<(i64, i64)> = of(EventKind::Pause).map(span).collect();
    let overflows = of(EventKind::ReceiveOverflow).filter(|overflow| {
        let (from, until) = span(overflow);
        pauses.iter().any(|(began, ended)| from <= ended.saturating_add(CATCHING_UP_NS) && until >= *began)
    });
    saturating_sum(overflows.filter_map(|overflow| overflow.datagrams))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Events of a far end whose numbers of datagrams exceed 64 bits together give the largest count.
    #[test]
    fn datagrams_of_events_saturate() {
        let event = |kind, datagrams| Event { datagrams, ..Event::new(kind, EventLocation::Responder, 0, 0) };
        let overflow = event(EventKind::ReceiveOverflow, Some(u64::MAX));
        let events = [event(EventKind::Pause, None), overflow.clone(), overflow];
        assert_eq!(while_standing(EventLocation::Responder, &events), u64::MAX);
    }
}
