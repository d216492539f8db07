//! A responder tells in parts of what its host refuses for long, so that word of it comes while it lasts. In the end it is
//! one thing that happened.

use romer_record::event::{Event, EventKind, EventLocation};
use romer_units::Duration;

/// What goes on after so long without a refusal is another time, as it is at this end.
const OVER: Duration = Duration::from_millis(500);
/// What the count stands behind in the words of a far end.
const COUNTED: &str = " did not send ";

/// The `events`, which are in the order of their moments, with the parts of one thing joined.
pub(super) fn joined(events: Vec<Event>) -> Vec<Event> {
    let mut all: Vec<Event> = Vec::with_capacity(events.len());
    for event in events {
        // Whatever else happened meanwhile stands between two parts.
        let joined =
            all.iter_mut().rev().find(|one| is_alike(one, &event)).is_some_and(|one| join(one, &event));
        if !joined {
            all.push(event);
        }
    }
    all
}

fn is_alike(one: &Event, other: &Event) -> bool {
    let is_told_in_parts =
        |event: &Event| event.kind == EventKind::NotSent && event.side == EventLocation::Responder;
    is_told_in_parts(one) && is_told_in_parts(other) && one.mtu == other.mtu
}

/// Takes `next` into `one`, where it goes on with it: whether it does.
fn join(one: &mut Event, next: &Event) -> bool {
    let Some(until) = one.until_ns.filter(|until| next.at_ns.saturating_sub(*until) <= OVER.as_nanos())
    else {
        return false;
    };
    let (Some(first), Some(second)) = (Counted::of(&one.detail), Counted::of(&next.detail)) else {
        return false;
    };
    let Some(detail) = first.and(&second) else { return false };
    one.detail = detail;
    one.until_ns = Some(until.max(next.until_ns.unwrap_or(next.at_ns)));
    true
}

/// Words with a count of probes or replies in them.
struct Counted<'a> {
    before: &'a str,
    count: u64,
    /// What is counted, of one or of several.
    what: &'a str,
    after: &'a str,
}

impl<'a> Counted<'a> {
    fn of(words: &'a str) -> Option<Self> {
        let (before, rest) = words.split_once(COUNTED)?;
        let (count, rest) = rest.split_once(' ')?;
        let (what, after) = rest.split_once(':')?;
        Some(Self { before, count: count.parse().ok()?, what, after })
    }

    /// Both counts in one, where the words are the same but for these.
    fn and(&self, other: &Self) -> Option<String> {
        let several = match self.what {
            "reply" | "replies" => "replies",
            "probe" | "probes" => "probes",
            _ => return None,
        };
        let is_same = (self.before, self.after) == (other.before, other.after)
            && self.what.starts_with(&several[..4]) == other.what.starts_with(&several[..4]);
        let count = self.count.checked_add(other.count)?;
        is_same.then(|| format!("{}{COUNTED}{count} {several}:{}", self.before, self.after))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(detail: &str, at_ms: i64, until_ms: i64) -> Event {
        Event {
            until_ns: Some(until_ms * 1_000_000),
            detail: detail.into(),
            mtu: Some(1_000),
            ..Event::new(EventKind::NotSent, EventLocation::Responder, at_ms * 1_000_000, 1)
        }
    }

    #[test]
    fn what_a_far_end_tells_in_parts_is_one_thing_that_happened() {
        let words =
            |those: &str| format!("the responder's host did not send {those}: too long for the path to x");
        let other = Event { kind: EventKind::LinkDown, ..told("its link is down", 3_145, 3_147) };
        let parts = vec![
            told(&words("1 reply"), 2_431, 2_431),
            told(&words("71 replies"), 2_441, 3_141),
            other.clone(),
            told(&words("79 replies"), 3_151, 3_931),
        ];
        let whole = told(&words("151 replies"), 2_431, 3_931);
        assert_eq!(joined(parts), [whole.clone(), other]);
        // What is another thing, or was half a second later, is told by itself.
        for apart in [
            told(&words("5 replies"), 4_432, 4_440),
            told(&words("5 probes"), 3_941, 3_950),
            told("the responder's host did not send 5 replies: no route", 3_941, 3_950),
            Event { mtu: Some(900), ..told(&words("5 replies"), 3_941, 3_950) },
            Event { side: EventLocation::Sender, ..told(&words("5 replies"), 3_941, 3_950) },
        ] {
            let both = vec![whole.clone(), apart];
            assert_eq!(joined(both.clone()), both);
        }
    }
}
