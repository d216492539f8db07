//! What a host's own queue dropped of the probes that it had taken.

use romer_record::event::{Event, EventDetail};
use romer_singletons::dropped::{Dropped, is_of_queue};

/// Says in `events` how many probes each queue dropped after it had taken them, and leaves out those that explain nothing: they may
/// have dropped the packets of others, or refused what is told as refused.
pub(super) fn push_event(events: &mut Vec<Event>, dropped: &[Dropped]) {
    let places = 0_usize..;
    let mut all = Vec::with_capacity(events.len());
    for (place, mut event) in places.zip(events.drain(..)) {
        if is_of_queue(&event) {
            let Some(own) = dropped.iter().find(|one| one.event == place) else { continue };
            if let Some(EventDetail::QueueDrops { of_stream, .. }) = &mut event.detail {
                *of_stream = true;
            }
            event.datagrams = Some(own.packets);
        }
        all.push(event);
    }
    *events = all;
}

#[cfg(test)]
mod tests {
    use romer_record::event::{EventKind, EventLocation};

    use super::*;

    #[test]
    fn a_queue_is_told_with_what_it_dropped_of_the_stream_and_not_if_that_is_nothing() {
        let drops = |queue: &str, of_stream| EventDetail::QueueDrops {
            interface: "b0".into(),
            queue: queue.into(),
            of_stream,
        };
        let event = |detail, datagrams| Event {
            until_ns: Some(5),
            detail,
            datagrams,
            ..Event::new(EventKind::NotSent, EventLocation::Responder, 0, 0)
        };
        let refused = event(None, None);
        let mut events = vec![
            event(Some(drops("tbf", false)), Some(9)),
            refused.clone(),
            event(Some(drops("codel", false)), Some(300)),
        ];
        push_event(&mut events, &[Dropped { event: 2, packets: 218 }]);
        assert_eq!(events[0], refused);
        assert_eq!(events[1].detail, Some(drops("codel", true)));
        assert_eq!((events.len(), events[1].datagrams), (2, Some(218)));
    }
}
