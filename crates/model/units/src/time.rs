//! Times, lengths of time, and stamps.

use core::cmp::Ordering;
use core::fmt;
use core::hash::{Hash, Hasher};
use core::marker::PhantomData;
use core::num::NonZeroU64;
use core::ops::{Add, AddAssign, Neg, Sub, SubAssign};
use core::str::FromStr;
use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::quantity::{self, QuantityError, Unit};

/// A signed length of time in whole nanoseconds; about 292 years either way. One that may be missing takes no more room: singletons are
/// made of them.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Duration(Turned);

/// Nanoseconds with their sign turned round, which keeps their order; the least of all is never there.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Turned(NonZeroU64);

/// The bit of the sign.
const SIGN: u64 = 1 << 63;

impl Turned {
    const fn from_nanos(nanos: i64) -> Self {
        match NonZeroU64::new(nanos.cast_unsigned() ^ SIGN) {
            Some(turned) => Self(turned),
            None => Self(NonZeroU64::MIN),
        }
    }
    const fn as_nanos(self) -> i64 {
        (self.0.get() ^ SIGN).cast_signed()
    }
}

impl Default for Duration {
    fn default() -> Self {
        Self::ZERO
    }
}

impl fmt::Debug for Duration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Duration").field(&self.as_nanos()).finish()
    }
}

impl Serialize for Duration {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.as_nanos().serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Duration {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        i64::deserialize(deserializer).map(Self::from_nanos)
    }
}

impl JsonSchema for Duration {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        i64::schema_name()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        i64::json_schema(generator)
    }
}

impl Duration {
    /// No time at all.
    pub const ZERO: Self = Self::from_nanos(0);
    /// The longest length of time.
    pub const MAX: Self = Self::from_nanos(i64::MAX);

    /// `nanos` nanoseconds; of `i64::MIN` one more.
    pub const fn from_nanos(nanos: i64) -> Self {
        Self(Turned::from_nanos(nanos))
    }
    /// The nearest length to `nanos` nanoseconds, saturating at the ends of the range.
    #[expect(clippy::cast_possible_truncation, reason = "the value is rounded, and the cast saturates")]
    pub fn from_nanos_f64(nanos: f64) -> Self {
        Self::from_nanos(nanos.round() as i64)
    }
    /// `micros` microseconds, saturating at the ends of the range.
    pub const fn from_micros(micros: i64) -> Self {
        Self::from_nanos(micros.saturating_mul(1_000))
    }
    /// `millis` milliseconds, saturating at the ends of the range.
    pub const fn from_millis(millis: i64) -> Self {
        Self::from_nanos(millis.saturating_mul(1_000_000))
    }
    /// `seconds` seconds, saturating at the ends of the range.
    pub const fn from_secs(seconds: i64) -> Self {
        Self::from_nanos(seconds.saturating_mul(1_000_000_000))
    }
    /// This length in nanoseconds.
    pub const fn as_nanos(self) -> i64 {
        self.0.as_nanos()
    }
    /// This length in seconds, rounded to the nearest `f64`.
    #[expect(clippy::cast_precision_loss, reason = "the caller asked for the rounded value")]
    pub const fn as_secs_f64(self) -> f64 {
        self.as_nanos() as f64 / 1e9
    }
    /// As the standard library's unsigned duration; negative lengths give zero.
    pub const fn to_std(self) -> core::time::Duration {
        core::time::Duration::from_nanos(if self.as_nanos() < 0 { 0 } else { self.as_nanos().unsigned_abs() })
    }
    /// From the standard library's unsigned duration, saturating at [`Duration::MAX`].
    pub fn from_std(duration: core::time::Duration) -> Self {
        Self::from_nanos(i64::try_from(duration.as_nanos()).unwrap_or(i64::MAX))
    }
    /// The length without its sign.
    pub const fn abs(self) -> Self {
        Self::from_nanos(self.as_nanos().saturating_abs())
    }
    /// The sum, or `None` where it leaves the range.
    pub const fn checked_add(self, other: Self) -> Option<Self> {
        match self.as_nanos().checked_add(other.as_nanos()) {
            Some(nanos) => Some(Self::from_nanos(nanos)),
            None => None,
        }
    }
    /// The shortest exact form with one unit up to the day, as texts have it: `45 ms`, `1.5 µs`, `90 s`, `1 h`.
    pub fn readable(self) -> String {
        let fits = |unit: &&Unit| {
            self.as_nanos() > 0 && u128::from(self.as_nanos().unsigned_abs()) % unit.nanos_or_one == 0
        };
        let mut longer = TIME_UNITS.iter().rev().take_while(|unit| unit.nanos_or_one >= 60_000_000_000);
        longer.find(fits).map_or_else(
            || {
                let plain = self.to_string();
                let (number, unit) = plain.split_at(plain.find(char::is_alphabetic).unwrap_or(plain.len()));
                format!("{number} {}", unit.replace("us", "µs"))
            },
            |unit| {
                format!("{} {}", u128::from(self.as_nanos().unsigned_abs()) / unit.nanos_or_one, unit.name)
            },
        )
    }
    /// About three significant digits of it, as texts have measured times: `21.4 µs`.
    pub fn rounded(self) -> String {
        #[expect(clippy::cast_precision_loss, reason = "three digits are shown")]
        let nanos = self.as_nanos() as f64;
        let (unit, name) = match nanos.abs() {
            below if below < 999.5 => return format!("{nanos} ns"),
            below if below < 999.5e3 => (1e3, "µs"),
            below if below < 999.5e6 => (1e6, "ms"),
            _ => (1e9, "s"),
        };
        let value = nanos / unit;
        let decimals = match value.abs() {
            large if large >= 99.95 => 0,
            tens if tens >= 9.995 => 1,
            _ => 2,
        };
        format!("{value:.decimals$} {name}")
    }
    /// `factor` times this length, or `None` where it leaves the range.
    pub const fn checked_mul(self, factor: i64) -> Option<Self> {
        match self.as_nanos().checked_mul(factor) {
            Some(nanos) => Some(Self::from_nanos(nanos)),
            None => None,
        }
    }
}

impl Add for Duration {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self::from_nanos(self.as_nanos().saturating_add(other.as_nanos()))
    }
}
impl AddAssign for Duration {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}
impl Sub for Duration {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        Self::from_nanos(self.as_nanos().saturating_sub(other.as_nanos()))
    }
}
impl SubAssign for Duration {
    fn sub_assign(&mut self, other: Self) {
        *self = *self - other;
    }
}
impl Neg for Duration {
    type Output = Self;
    fn neg(self) -> Self {
        Self::from_nanos(self.as_nanos().saturating_neg())
    }
}

const TIME_UNITS: &[Unit] = &[
    Unit { name: "ns", nanos_or_one: 1 },
    Unit { name: "us", nanos_or_one: 1_000 },
    Unit { name: "µs", nanos_or_one: 1_000 },
    Unit { name: "ms", nanos_or_one: 1_000_000 },
    Unit { name: "s", nanos_or_one: 1_000_000_000 },
    Unit { name: "m", nanos_or_one: 60_000_000_000 },
    Unit { name: "min", nanos_or_one: 60_000_000_000 },
    Unit { name: "h", nanos_or_one: 3_600_000_000_000 },
    Unit { name: "d", nanos_or_one: 86_400_000_000_000 },
];

impl FromStr for Duration {
    type Err = QuantityError;

    /// Reads `45ms`, `2.5s`, `1m30s`, `-3us`. A bare number is refused, because its unit is not obvious.
    fn from_str(text: &str) -> Result<Self, QuantityError> {
        let (negative, body) = match text.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        // A number alone is shown with the units that it may have.
        let is_number =
            !body.is_empty() && body.len() <= 12 && body.bytes().all(|byte| byte.is_ascii_digit());
        let example = if is_number {
            format!("{text}us, {text}ms or {text}s")
        } else {
            "10us, 10ms, 10s or 1m30s".to_owned()
        };
        let nanos = quantity::sum_of_parts(body, text, TIME_UNITS, "a length of time", &example)?;
        let nanos = i64::try_from(nanos).map_err(|_| QuantityError::OutOfRange {
            text: text.into(),
            allowed: "write at most 292 years".into(),
        })?;
        Ok(Self::from_nanos(if negative { -nanos } else { nanos }))
    }
}

impl fmt::Display for Duration {
    /// The shortest exact form with one unit: `45ms`, `1.5us`, `90s`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let magnitude = self.as_nanos().unsigned_abs();
        let (unit, name) = match magnitude {
            0..1_000 => (1, "ns"),
            1_000..1_000_000 => (1_000, "us"),
            1_000_000..1_000_000_000 => (1_000_000, "ms"),
            _ => (1_000_000_000, "s"),
        };
        let sign = if self.as_nanos() < 0 { "-" } else { "" };
        let (whole, part) = (magnitude / unit, magnitude % unit);
        if part == 0 {
            return f.pad(&format!("{sign}{whole}{name}"));
        }
        let width = unit.ilog10() as usize;
        let digits = format!("{part:0width$}");
        f.pad(&format!("{sign}{whole}.{}{name}", digits.trim_end_matches('0')))
    }
}

/// A clock that times are read from. The type is the clock's name; it has no values.
pub trait Clock: 'static + Copy + Eq + Send + Sync + fmt::Debug {
    /// How this clock is named to people.
    const NAME: &'static str;
}

macro_rules! clocks {
    ($($(#[$doc:meta])* $name:ident => $text:literal),+ $(,)?) => { $(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $name {}
        impl Clock for $name { const NAME: &'static str = $text; }
    )+ };
}

clocks! {
    /// The real-time clock of the host that sends the probes and receives their reflections.
    Sender => "sender's clock",
    /// The real-time clock of the host that reflects or receives the probes.
    Responder => "responder's clock",
    /// The clock on which a direction's packets depart, whichever host that is.
    Departure => "departing host's clock",
    /// The clock on which a direction's packets arrive, whichever host that is.
    Arrival => "arriving host's clock",
    /// The host's monotonic clock, on which schedules run; its origin means nothing.
    Monotonic => "monotonic clock",
}

/// A moment on clock `C`: integer nanoseconds from that clock's origin (1970-01-01 UTC for real-time clocks), 292 years to
/// either side. One that may be missing takes no more room: a packet log is made of them.
pub struct Timestamp<C: Clock> {
    turned: Turned,
    clock: PhantomData<C>,
}

impl<C: Clock> Timestamp<C> {
    /// The moment `nanos` nanoseconds after the clock's origin; of `i64::MIN` the one after it.
    pub const fn from_nanos(nanos: i64) -> Self {
        Self { turned: Turned::from_nanos(nanos), clock: PhantomData }
    }
    /// Nanoseconds since the clock's origin.
    pub const fn as_nanos(self) -> i64 {
        self.turned.as_nanos()
    }
    /// The same reading, said to be of clock `D`. For the one who knows that both names mean one clock
    /// (a direction's departures are the sender's clock, say); never a way to relate two clocks.
    pub const fn renamed<D: Clock>(self) -> Timestamp<D> {
        Timestamp { turned: self.turned, clock: PhantomData }
    }
}

impl<C: Clock> Clone for Timestamp<C> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<C: Clock> Copy for Timestamp<C> {}
impl<C: Clock> PartialEq for Timestamp<C> {
    fn eq(&self, other: &Self) -> bool {
        self.turned == other.turned
    }
}
impl<C: Clock> Eq for Timestamp<C> {}
impl<C: Clock> PartialOrd for Timestamp<C> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl<C: Clock> Ord for Timestamp<C> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.turned.cmp(&other.turned)
    }
}
impl<C: Clock> Hash for Timestamp<C> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.turned.hash(state);
    }
}
impl<C: Clock> fmt::Debug for Timestamp<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ns on {}", self.as_nanos(), C::NAME)
    }
}
impl<C: Clock> Sub for Timestamp<C> {
    type Output = Duration;
    fn sub(self, earlier: Self) -> Duration {
        Duration::from_nanos(self.as_nanos().saturating_sub(earlier.as_nanos()))
    }
}
impl<C: Clock> Add<Duration> for Timestamp<C> {
    type Output = Self;
    fn add(self, later: Duration) -> Self {
        Self::from_nanos(self.as_nanos().saturating_add(later.as_nanos()))
    }
}
impl<C: Clock> Sub<Duration> for Timestamp<C> {
    type Output = Self;
    fn sub(self, earlier: Duration) -> Self {
        Self::from_nanos(self.as_nanos().saturating_sub(earlier.as_nanos()))
    }
}

/// Source of a time stamp, from the wire inwards.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TimestampPoint {
    /// Network card, with its own clock.
    Nic,
    /// Kernel, at the driver.
    Kernel,
    /// eBPF program in the kernel.
    Program,
    /// User space, before the send call or after the receive call.
    User,
}

impl fmt::Display for TimestampPoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Nic => "nic",
            Self::Kernel => "kernel",
            Self::Program => "program",
            Self::User => "user",
        })
    }
}

/// A time, where it was taken, and (in the type) on which clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp<C: Clock> {
    /// The moment.
    pub time: Timestamp<C>,
    /// Where it was taken.
    pub place: TimestampPoint,
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The largest unit of which the length is a whole number, and the usual form below a minute.
    #[test]
    fn largest_unit_is_exact() {
        for text in ["0 ns", "45 ms", "1.5 µs", "1.5 s", "90 s", "1 min", "90 min", "2 h", "1 d", "25 h"] {
            assert_eq!(text.parse::<Duration>().unwrap().readable(), text);
        }
        assert_eq!(Duration::from_secs(-3_600).readable(), "-3600 s");
        assert_eq!("3600s".parse::<Duration>().unwrap().readable(), "1 h");
    }

    #[test]
    fn measured_times_have_three_digits() {
        for (nanos, text) in [
            (0, "0 ns"),
            (999, "999 ns"),
            (1_500, "1.50 µs"),
            (21_437, "21.4 µs"),
            (-130_400, "-130 µs"),
            (17_705_453, "17.7 ms"),
            (16_000_000_000, "16.0 s"),
        ] {
            assert_eq!(Duration::from_nanos(nanos).rounded(), text);
        }
    }

    #[test]
    fn lengths_of_time_are_read_as_people_write_them() {
        for (text, nanos) in [
            ("45ms", 45_000_000),
            ("10us", 10_000),
            ("2.5s", 2_500_000_000),
            ("1m30s", 90_000_000_000),
            ("22.5ms", 22_500_000),
            ("-3us", -3_000),
            ("0s", 0),
            ("1h", 3_600_000_000_000),
            ("0.5ns", 0),
        ] {
            let read = text.parse::<Duration>();
            if text == "0.5ns" {
                assert!(read.is_err(), "half a nanosecond has no integer value");
            } else {
                assert_eq!(read.unwrap().as_nanos(), nanos, "{text}");
            }
        }
    }

    #[test]
    fn a_bare_number_is_refused_and_the_message_names_units() {
        let error = "10".parse::<Duration>().unwrap_err().to_string();
        assert!(error.contains("unit") && error.contains("10ms"), "{error}");
    }

    #[test]
    fn nonsense_is_refused() {
        for text in
            ["", "-", "ms", "1x", "1e400s", "NaN", "inf", "1..2s", "1ms2", "99999999999d", "1 ms x", "µ"]
        {
            assert!(text.parse::<Duration>().is_err(), "{text:?} was accepted");
        }
    }

    #[test]
    fn a_moment_that_may_be_missing_takes_no_more_room() {
        assert_eq!(size_of::<Option<Timestamp<Sender>>>(), 8);
        let ends = [i64::MIN + 1, -1, 0, 1, i64::MAX];
        assert_eq!(ends.map(|nanos| Timestamp::<Sender>::from_nanos(nanos).as_nanos()), ends);
        assert!(ends.map(Timestamp::<Sender>::from_nanos).is_sorted(), "their order is that of the numbers");
        assert_eq!(Timestamp::<Sender>::from_nanos(i64::MIN).as_nanos(), i64::MIN + 1);
        assert_eq!(size_of::<Option<Duration>>(), 8);
        assert_eq!(ends.map(|nanos| Duration::from_nanos(nanos).as_nanos()), ends);
        assert!(ends.map(Duration::from_nanos).is_sorted());
    }

    proptest! {
        #[test]
        fn what_is_printed_reads_back_the_same(nanos in -i64::MAX..i64::MAX) {
            let printed = Duration::from_nanos(nanos).to_string();
            prop_assert_eq!(printed.parse::<Duration>().unwrap().as_nanos(), nanos);
        }

        #[test]
        fn reading_never_panics(text in "\\PC{0,40}") {
            let _ = text.parse::<Duration>();
        }
    }
}
