//! Departures of a token bucket.

use romer_traffic::TokenBucket;
use romer_units::{Duration, Monotonic, Timestamp};

/// When packets of one size leave through a token bucket that is full at the start.
///
/// Departures are multiples from the start, so that small delays of the sender do not lower the rate. A departure that is later than an
/// interval moves the start: what was late does not leave in a burst.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    bucket: TokenBucket,
    size: u32,
    start: Timestamp<Monotonic>,
    ordinal: u64,
    /// The latest departure.
    last: Option<Timestamp<Monotonic>>,
}

impl Pace {
    /// Packets of `size` octets from `start` on.
    pub const fn new(bucket: TokenBucket, size: u32, start: Timestamp<Monotonic>) -> Self {
        Self { bucket, size, start, ordinal: 0, last: None }
    }

    /// The time between two packets at the token rate.
    pub fn interval(&self) -> Duration {
        self.bucket.interval(self.size)
    }

    /// When the next packet leaves. It is not before the start, and never decreases.
    pub fn due(&self) -> Timestamp<Monotonic> {
        let offset = self.bucket.offset(self.ordinal, self.size).unwrap_or(Duration::MAX);
        self.start + offset
    }

    /// The packet that was due left at `at`.
    pub fn sent(&mut self, at: Timestamp<Monotonic>) {
        let late = at - self.due();
        if late > self.interval() {
            self.start = self.start + late;
        }
        self.ordinal += 1;
        self.last = Some(at);
    }

    /// Continues after a pause that ends at `at`, with a full bucket: not before the bucket is full again.
    pub fn resume(&mut self, at: Timestamp<Monotonic>) {
        let full = self.last.map_or(at, |last| last + self.bucket.fill_time());
        self.start = if full > at { full } else { at };
        self.ordinal = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: i64) -> Timestamp<Monotonic> {
        Timestamp::from_nanos(millis * 1_000_000)
    }

    fn pace(depth: u64) -> Pace {
        // 1,000 octets per second: a packet of 100 octets each 100 ms.
        Pace::new(TokenBucket::new(1_000, depth).unwrap(), 100, at(0))
    }

    /// A sender that is a little late each time keeps the rate.
    #[test]
    fn small_delays_keep_the_rate() {
        let mut pace = pace(100);
        for n in 0..50 {
            assert_eq!(pace.due(), at(100 * n));
            pace.sent(pace.due() + Duration::from_millis(20));
        }
    }

    /// A pause of the host moves all later departures, and makes no burst.
    #[test]
    fn late_departures_make_no_burst() {
        let mut pace = pace(100);
        pace.sent(at(0));
        pace.sent(at(1_000));
        assert_eq!(pace.due(), at(1_100));
        pace.sent(at(1_100));
        assert_eq!(pace.due(), at(1_200));
    }

    /// A deep bucket begins with a burst, and again after a pause in which it has become full.
    #[test]
    fn pauses_fill_the_bucket() {
        let mut pace = pace(300);
        let mut dues = Vec::new();
        for _ in 0..5 {
            dues.push(pace.due());
            pace.sent(pace.due());
        }
        assert_eq!(dues, [at(0), at(0), at(0), at(100), at(200)]);
        pace.resume(at(250));
        assert_eq!(pace.due(), at(500), "it is full again 300 ms after the last packet");
        pace.resume(at(2_000));
        assert_eq!(pace.due(), at(2_000));
    }
}
