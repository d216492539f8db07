//! What an interface has done between two tidings of how it is: the kernel gathers changes of carriers and tells of several
//! with one message, but counts each.

use romer_record::event::{EventDetail, EventKind};

/// State of an interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkState {
    /// It is on and has a carrier.
    pub up: bool,
    /// Its index, by which it is told from another of its name; 0 where that is not known.
    pub index: u32,
    /// How often its carrier has come or gone, from 2^32 on from 0 again; `None` where that is not known.
    pub changes: Option<u32>,
}

/// A change of the state of an interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkTransition {
    /// [`EventKind::LinkDown`] or [`EventKind::LinkUp`].
    pub kind: EventKind,
    /// How often it has done so, where several times are told of as one.
    pub times: u32,
    /// It is one of several that were told of together: nothing but the last tidings before says when it was.
    pub is_gathered: bool,
}

impl LinkState {
    /// What is known of an interface before anything was told of it.
    pub const fn unknown(up: bool) -> Self {
        Self { up, index: 0, changes: None }
    }

    /// How often the carrier changed since `before`; `None` where these tidings are the older ones, which were told later than
    /// an answer to a question.
    fn changes_since(self, before: Self) -> Option<u32> {
        match (before.changes, self.changes) {
            (Some(was), Some(is)) if before.index == self.index => {
                let changes = is.wrapping_sub(was);
                (changes <= u32::MAX / 2).then_some(changes)
            }
            _ => Some(0),
        }
    }

    /// What it has done since `before`, in order; `None` where these tidings are older than that.
    pub fn deeds_since(self, before: Self) -> Option<Vec<LinkTransition>> {
        let changes = self.changes_since(before)?;
        let has_turned = before.up != self.up;
        // There and back. Of an interface that is switched on or off, too, a change may be left over.
        let hidden = changes.saturating_sub(u32::from(has_turned)) / 2;
        let deed = |up: bool, times| {
            let kind = if up { EventKind::LinkUp } else { EventKind::LinkDown };
            LinkTransition { kind, times, is_gathered: hidden > 0 }
        };
        let mut deeds = Vec::new();
        if hidden > 0 {
            deeds.extend([deed(!before.up, hidden), deed(before.up, hidden)]);
        }
        if has_turned {
            deeds.push(deed(self.up, 1));
        }
        Some(deeds)
    }
}

impl LinkTransition {
    /// The same as the detail of an event of interface `name`.
    pub fn detail(self, name: &str) -> EventDetail {
        let interface = name.to_owned();
        if self.kind == EventKind::LinkDown {
            EventDetail::InterfaceDown { interface, times: self.times }
        } else {
            EventDetail::InterfaceUp { interface }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn state(up: bool, changes: u32) -> LinkState {
        LinkState { up, index: 7, changes: Some(changes) }
    }

    /// What was done, and whether it was told of together.
    fn done(before: LinkState, now: LinkState) -> Option<(Vec<EventDetail>, bool)> {
        let deeds = now.deeds_since(before)?;
        let is_gathered = deeds.iter().any(|deed| deed.is_gathered);
        Some((deeds.into_iter().map(|deed| deed.detail("t0")).collect(), is_gathered))
    }

    fn down(times: u32) -> EventDetail {
        EventDetail::InterfaceDown { interface: "t0".into(), times }
    }

    fn up() -> EventDetail {
        EventDetail::InterfaceUp { interface: "t0".into() }
    }

    fn expected<const N: usize>(
        details: [EventDetail; N],
        is_gathered: bool,
    ) -> Option<(Vec<EventDetail>, bool)> {
        Some((details.into(), is_gathered))
    }

    /// Separate messages are separate transitions.
    #[test]
    fn separate_messages_are_separate_transitions() {
        assert_eq!(done(state(true, 2), state(true, 2)), expected([], false));
        assert_eq!(done(state(true, 2), state(false, 3)), expected([down(1)], false));
        assert_eq!(done(state(false, 3), state(true, 4)), expected([up()], false));
        // Switched off without a change of its carrier, which is lost and back meanwhile.
        assert_eq!(done(state(true, 2), state(false, 2)), expected([down(1)], false));
        assert_eq!(done(state(false, 2), state(false, 3)), expected([], false));
        assert_eq!(done(state(false, 3), state(true, 4)), expected([up()], false));
    }

    /// An interruption in one kernel message is one interruption.
    #[test]
    fn merged_message_is_one_interruption() {
        assert_eq!(done(state(true, 2), state(true, 4)), expected([down(1), up()], true));
        assert_eq!(done(state(true, 2), state(true, 8)), expected([down(3), up()], true));
        assert_eq!(done(state(true, 2), state(false, 5)), expected([down(1), up(), down(1)], true));
        assert_eq!(done(state(false, 3), state(true, 6)), expected([up(), down(1), up()], true));
        assert_eq!(done(state(false, 3), state(false, 5)), expected([up(), down(1)], true));
        assert_eq!(done(state(true, u32::MAX - 1), state(true, 0)), expected([down(1), up()], true));
    }

    /// Messages older than an answer are ignored; each interface has its own counts.
    #[test]
    fn older_messages_are_ignored() {
        assert_eq!(done(state(true, 4), state(false, 3)), None);
        let another = LinkState { index: 8, ..state(true, 9) };
        assert_eq!(done(state(true, 4), another), expected([], false));
        assert_eq!(done(LinkState::unknown(true), state(true, 9)), expected([], false));
        let gone = LinkState { changes: None, ..state(false, 0) };
        assert_eq!(done(state(true, 4), gone), expected([down(1)], false));
    }
}
