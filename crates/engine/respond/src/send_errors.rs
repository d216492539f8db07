//! Send errors of a session, summarised: one event for each reason, with the times of the first and the last error.

use romer_host::HostError;
use romer_units::{Duration, Monotonic, Timestamp};

/// The error number of what is not answered because more came from its address than one may send, and of a probe that is not
/// sent because its network would be sent more packets than it may (`EDQUOT`); no send call of datagrams gives it.
pub(super) const OVER_THE_RATE: i32 = 122;
/// The error number of a probe that is not sent because its network, or all together, would be sent more bits than they may
/// (`EUSERS`); no send call of datagrams gives it.
pub(super) const OVER_THE_BITS: i32 = 87;
/// It is over when things are sent again and nothing was refused for so long: a host that refuses every now and then is told
/// of in one go.
const OVER: Duration = Duration::from_millis(500);
/// An error that lasts longer, while other packets leave, is reported in parts.
const MAX_EVENT_LENGTH: Duration = Duration::from_secs(2);
/// What is too long is told in parts though nothing leaves, for word of it may: each part is twice as long as the one before,
/// from `OVER` on, so often.
const DOUBLED: u32 = 7;

/// Probes or replies that this host has refused to send for one reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Refused {
    pub(super) count: u64,
    /// The system's error number.
    pub(super) errno: i32,
    /// When the first of them was to leave.
    pub(super) since: Timestamp<Monotonic>,
    /// When the last was.
    pub(super) until: Timestamp<Monotonic>,
}

/// The errors of one session that are not reported yet.
#[derive(Debug, Default)]
pub(super) struct SendErrors {
    present: Option<RefusedSends>,
    /// Something has left since.
    goes_on: bool,
    /// Parts told of what is too long since something left.
    parts: u32,
}

/// With when the first and the last of them were refused: whoever is behind refuses them long after they were due.
#[derive(Clone, Copy, Debug)]
struct RefusedSends {
    all: Refused,
    first: Timestamp<Monotonic>,
    last: Timestamp<Monotonic>,
}

impl SendErrors {
    /// One more, which was due at `at`, is refused; it is `now`. Gives those before it that it does not belong to.
    pub(super) fn refuse(
        &mut self,
        errno: i32,
        at: Timestamp<Monotonic>,
        now: Timestamp<Monotonic>,
    ) -> Option<Refused> {
        let is_other = |one: &RefusedSends| one.all.errno != errno || (self.goes_on && now - one.last > OVER);
        let told = self.present.take_if(|one| is_other(one));
        self.goes_on = false;
        let all = Refused { count: 0, errno, since: at, until: at };
        let one = self.present.get_or_insert(RefusedSends { all, first: now, last: now });
        one.all.count += 1;
        one.all.until = one.all.until.max(at);
        one.last = now;
        told.map(|one| one.all)
    }

    /// Something has left.
    pub(super) const fn sent(&mut self) {
        self.goes_on = true;
        self.parts = 0;
    }

    /// Those that are over at `now`, or go on for so long that a part is told.
    pub(super) fn over(&mut self, now: Timestamp<Monotonic>) -> Option<Refused> {
        if self.goes_on {
            let told =
                self.present.take_if(|one| now - one.last > OVER || now - one.first > MAX_EVENT_LENGTH);
            return told.map(|one| one.all);
        }
        let part = Duration::from_nanos(OVER.as_nanos() << self.parts.min(DOUBLED));
        let told = self.present.take_if(|one| one.all.errno == HostError::TOO_LONG && now - one.first > part);
        self.parts += u32::from(told.is_some());
        told.map(|one| one.all)
    }

    /// All that are not told.
    pub(super) fn take(&mut self) -> Option<Refused> {
        self.present.take().map(|one| one.all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn at(ms: i64) -> Timestamp<Monotonic> {
        Timestamp::from_nanos(ms * 1_000_000)
    }

    /// Intermittent send errors are one event, reported at the end with its times.
    #[test]
    fn intermittent_errors_are_one_event() {
        let mut refusals = SendErrors::default();
        for ms in [2_000, 2_050, 2_300] {
            assert_eq!(refusals.refuse(1, at(ms), at(ms)), None);
            refusals.sent();
            assert_eq!(refusals.over(at(ms + 10)), None);
        }
        let all = Refused { count: 3, errno: 1, since: at(2_000), until: at(2_300) };
        assert_eq!(refusals.over(at(2_801)), Some(all));
        assert_eq!((refusals.over(at(9_000)), refusals.take()), (None, None), "it is told once");
        for ms in (0..4_200).step_by(100) {
            assert_eq!(refusals.refuse(1, at(ms), at(ms)), None);
            refusals.sent();
            let told = refusals.over(at(ms + 50)).map(|one| (one.since, one.until));
            let parts = [(2_000, 0), (4_100, 2_100)];
            let part = parts.into_iter().find(|(until, _)| *until == ms);
            assert_eq!(told, part.map(|(until, since)| (at(since), at(until))), "it goes on");
        }
    }

    /// Errors of a sender that is one second late and drops every other packet are reported in parts.
    #[test]
    fn late_senders_report_in_parts() {
        let mut refusals = SendErrors::default();
        let mut told = Vec::new();
        for ms in 0..6_400 {
            assert_eq!(refusals.refuse(125, at(ms - 1_000), at(ms)), None);
            refusals.sent();
            told.extend(refusals.over(at(ms)));
        }
        let parts: Vec<u64> = told.iter().map(|one| one.count).collect();
        assert_eq!(parts, [2_002, 2_002, 2_002]);
        assert_eq!((told[1].since, told[1].until), (at(1_002), at(3_003)), "as they were due");
    }

    /// A long error without successful sends is reported in parts of growing length.
    #[test]
    fn long_errors_report_in_growing_parts() {
        let mut refusals = SendErrors::default();
        let mut told = Vec::new();
        for ms in (0..200_000).step_by(100) {
            assert_eq!(refusals.refuse(HostError::TOO_LONG, at(ms), at(ms)), None);
            told.extend(refusals.over(at(ms)).map(|one| (one.until - one.since).as_nanos() / 1_000_000_000));
        }
        // The last is as long as the one before.
        assert_eq!(told, [0, 1, 2, 4, 8, 16, 32, 64, 64]);
        refusals.sent();
        assert!(refusals.over(at(300_000)).is_some());
        assert_eq!(refusals.refuse(HostError::TOO_LONG, at(300_000), at(300_000)), None);
        assert!(refusals.over(at(300_600)).is_some(), "they begin anew");
    }

    /// An error continues until a packet is sent; another reason is another event.
    #[test]
    fn reasons_are_separate_events() {
        let mut refusals = SendErrors::default();
        refusals.sent();
        assert_eq!(refusals.refuse(101, at(0), at(0)), None);
        // One a second, and none of them leaves.
        assert_eq!((refusals.refuse(101, at(1_000), at(1_000)), refusals.over(at(1_900))), (None, None));
        let no_route = Refused { count: 2, errno: 101, since: at(0), until: at(1_000) };
        assert_eq!(refusals.refuse(1, at(2_000), at(2_000)), Some(no_route));
        refusals.sent();
        let forbidden = Refused { count: 1, errno: 1, since: at(2_000), until: at(2_000) };
        assert_eq!(refusals.refuse(1, at(3_000), at(3_000)), Some(forbidden), "things had left for a second");
        assert_eq!(refusals.take().map(|one| one.since), Some(at(3_000)));
    }
}
