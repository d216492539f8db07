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
    is_shaped: bool,
}

impl Pace {
    /// Packets of `size` octets from `start` on.
    pub const fn new(bucket: TokenBucket, size: u32, start: Timestamp<Monotonic>) -> Self {
        Self { bucket, size, start, ordinal: 0, last: None, is_shaped: true }
    }

    /// The same without shaping: each packet follows the one before at once.
    pub const fn unshaped(bucket: TokenBucket, size: u32, start: Timestamp<Monotonic>) -> Self {
        Self { is_shaped: false, ..Self::new(bucket, size, start) }
    }

    /// The time between two packets at the token rate.
    pub fn interval(&self) -> Duration {
        self.bucket.interval(self.size)
    }

    /// When the next packet leaves. It is not before the start, and never decreases.
    pub fn due(&self) -> Timestamp<Monotonic> {
        if !self.is_shaped {
            return self.last.unwrap_or(self.start);
        }
        let offset = self.bucket.offset(self.ordinal, self.size).unwrap_or(Duration::MAX);
        self.start + offset
    }

    /// The packet that was due left at `at`.
    pub fn sent(&mut self, at: Timestamp<Monotonic>) {
        let late = at - self.due();
        if self.is_shaped && late > self.interval() {
            self.start = self.start + late;
        }
        self.ordinal += 1;
        self.last = Some(at);
    }

    /// Continues after a pause that ends at `at`, with a full bucket: not before the bucket is full again.
    pub fn resume(&mut self, at: Timestamp<Monotonic>) {
        if !self.is_shaped {
            (self.start, self.last) = (at, None);
            return;
        }
        let full = self.last.map_or(at, |last| last + self.bucket.fill_time());
        self.start = if full > at { full } else { at };
        self.ordinal = 0;
    }
}

/// Decides which packets of one size conform to a token bucket that is full at the start (the virtual scheduling of I.371, which
/// equals it). Packets that do not conform take no tokens.
#[derive(Clone, Copy, Debug)]
pub struct Meter {
    interval: Duration,
    /// How much earlier than the token rate allows a packet may leave.
    tolerance: Duration,
    /// When the next packet leaves at the token rate.
    next: Option<Timestamp<Monotonic>>,
}

impl Meter {
    /// For packets of `size` octets.
    pub fn new(bucket: TokenBucket, size: u32) -> Self {
        let interval = bucket.interval(size);
        let tolerance = (bucket.fill_time() - interval).max(Duration::ZERO);
        Self { interval, tolerance, next: None }
    }

    /// Whether a packet that leaves at `at` conforms.
    pub fn conforms(&self, at: Timestamp<Monotonic>) -> bool {
        self.next.is_none_or(|next| at >= next - self.tolerance)
    }

    /// A packet left at `at`. Times must not decrease.
    pub fn sent(&mut self, at: Timestamp<Monotonic>) {
        if self.conforms(at) {
            self.next = Some(self.next.map_or(at, |next| next.max(at)) + self.interval);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A burst as deep as the bucket conforms, then one packet an interval; others take no tokens.
    #[test]
    fn meters_admit_the_bucket() {
        let mut meter = Meter::new(TokenBucket::new(1_000, 300).unwrap(), 100);
        let mut conforming = Vec::new();
        for millis in (0..500).step_by(10) {
            if meter.conforms(at(millis)) {
                conforming.push(millis);
            }
            meter.sent(at(millis));
        }
        assert_eq!(conforming, [0, 10, 20, 100, 200, 300, 400]);
        assert!(meter.conforms(at(500)));
    }

    /// Without shaping a packet is due as soon as the last one has left, also after a pause.
    #[test]
    fn unshaped_packets_follow_at_once() {
        let mut pace = Pace::unshaped(TokenBucket::new(1_000, 100).unwrap(), 100, at(5));
        assert_eq!(pace.due(), at(5));
        pace.sent(at(6));
        assert_eq!(pace.due(), at(6));
        pace.sent(at(900));
        assert_eq!(pace.due(), at(900));
        pace.resume(at(1_000));
        assert_eq!(pace.due(), at(1_000));
    }

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
