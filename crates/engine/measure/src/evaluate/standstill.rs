//! A far end that stood still: probes lay there long before they were answered.

use romer_record::RoundTrip;
use romer_units::{Duration, Responder, Timestamp};

/// What lies at a responder for so long was not answered by a program that ran: a busy machine takes less.
const LONG: Duration = Duration::from_millis(250);

/// Looks at how long probes lay at the responder.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Standstill {
    probes: u64,
    longest: Duration,
}

impl Standstill {
    /// The next rows.
    pub(super) fn take(&mut self, rows: &[RoundTrip]) {
        for row in rows {
            let [came, left]: [Option<Timestamp<Responder>>; 2] =
                [row.t2, row.t3].map(|stamps| stamps.kernel.or(stamps.user));
            if let (Some(came), Some(left)) = (came, left)
                && left - came >= LONG
            {
                self.probes += 1;
                self.longest = self.longest.max(left - came);
            }
        }
    }

    /// What is to be said of it.
    pub(super) fn words(self) -> Option<String> {
        (self.probes > 0).then(|| {
            let (lay, them) = if self.probes == 1 { ("probe", "it") } else { ("probes", "them") };
            format!(
                "{} {lay} waited at the far end for up to {} ms before it answered {them}: the program there stood still \
                 (stopped, or its host had no processor for it); that time is in no delay",
                self.probes,
                self.longest.as_nanos() / 1_000_000
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use romer_record::Stamps;

    use super::*;

    fn row(came: i64, left: Option<i64>) -> RoundTrip {
        let at = |nanos| Stamps { kernel: Some(Timestamp::from_nanos(nanos)), ..Stamps::default() };
        RoundTrip { t2: at(came), t3: left.map_or_else(Stamps::default, at), ..RoundTrip::default() }
    }

    #[test]
    fn only_what_lies_there_long_is_told() {
        let mut looked = Standstill::default();
        looked.take(&[row(0, Some(249_999_999)), row(5, None)]);
        assert_eq!(looked.words(), None);
        looked.take(&[row(10, Some(1_011_000_010)), row(500_000_000, Some(1_011_000_020))]);
        let words = looked.words().unwrap();
        assert!(words.starts_with("2 probes waited at the far end for up to 1011 ms"), "{words}");
    }
}
