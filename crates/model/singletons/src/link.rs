//! When an interface of a host was down, by its events.

use romer_record::event::{Event, EventKind, EventLocation};
use romer_units::Duration;

/// A change of a link is known within this time as a rule.
pub(crate) const HEARD_WITHIN_NS: i64 = 50_000_000;
/// Whoever has not looked at the interfaces of a host for so long stood still, and says how late it noticed what they did.
pub const UNWATCHED: Duration = Duration::from_millis(300);

/// When an interface was down, by its host's clock.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Down {
    /// From this moment on it may have been.
    pub(crate) from: i64,
    /// At this moment it was noticed.
    pub(crate) heard: i64,
    /// After this moment it was no more.
    pub(crate) until: i64,
}

/// When an interface of the host at `location` was down, by that host's clock. It was down before one heard of it, and is
/// until one hears that it is up.
pub(crate) fn downs(events: &[Event], location: EventLocation) -> Vec<Down> {
    let own = |event: &&Event| event.location == location;
    let down = |(place, down): (usize, &Event)| {
        let until = match down.until_ns {
            Some(until) => down.clock_ns.saturating_add(until.saturating_sub(down.at_ns)),
            // A responder does not tell again of what it told: another event says that the link is up.
            None => {
                let up = |event: &&Event| event.kind == EventKind::LinkUp && event.clock_ns >= down.clock_ns;
                let mut later = events.iter().skip(place).filter(own);
                later.find(up).map_or(i64::MAX, |up| up.clock_ns)
            }
        };
        let late = down.detection_latency_ns.unwrap_or(0);
        Down {
            from: down.clock_ns.saturating_sub(late).saturating_sub(HEARD_WITHIN_NS),
            heard: down.clock_ns,
            until,
        }
    };
    let all = events.iter().enumerate();
    all.filter(|(_, event)| own(event) && event.kind == EventKind::LinkDown).map(down).collect()
}

/// When an interface of the host at `location` was down for what its program sent. One that stood still sent nothing meanwhile: where
/// that is why it was noticed late, the interface was not down for any packet before.
pub(crate) fn left_by(events: &[Event], location: EventLocation) -> Vec<Down> {
    let stood_still = |down: &Down| down.heard.saturating_sub(down.from) > UNWATCHED.as_nanos();
    let downs = downs(events, location).into_iter();
    downs.map(|down| Down { from: if stood_still(&down) { down.heard } else { down.from }, ..down }).collect()
}
