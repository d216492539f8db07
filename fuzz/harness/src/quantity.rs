//! Quantities as users write them.

use core::fmt::{Debug, Display};
use core::str::FromStr;

use romer_units::random;
use romer_units::{Dscp, Duration, QuantityError, Rate, Size};

use crate::Seed;

/// The longest message. What was written is cut at 64 characters, and shown at most twice; each may take ten
/// when it is shown as its number.
const LONGEST_MESSAGE: usize = 2 * 64 * 10 + 256;

pub(crate) fn run(octets: &[u8]) {
    let Ok(text) = core::str::from_utf8(octets) else { return };
    read::<Duration>(text);
    read::<Rate>(text);
    read::<Size>(text);
    read::<Dscp>(text);
    read::<random::Seed>(text);
}

/// What is read prints as something that reads the same; what is refused is refused in one short line.
fn read<T: FromStr<Err = QuantityError> + Display + Debug + PartialEq>(text: &str) {
    match text.parse::<T>() {
        Ok(value) => {
            let printed = value.to_string();
            assert_eq!(printed.parse::<T>().as_ref(), Ok(&value), "{text:?} printed as {printed:?}");
        }
        Err(error) => {
            let message = error.to_string();
            assert!(!message.chars().any(char::is_control), "control characters in {message:?}");
            assert!(message.len() <= LONGEST_MESSAGE, "{} octets: {message}", message.len());
        }
    }
}

pub(crate) fn seeds() -> Vec<Seed> {
    [
        ("duration_ms", "45ms"),
        ("duration_parts", "1m30s"),
        ("duration_fraction", "2.5s"),
        ("duration_negative", "-3us"),
        ("duration_micro_sign", "22.5µs"),
        ("duration_too_fine", "0.5ns"),
        ("duration_longest", "9223372036854775807ns"),
        ("duration_one_too_long", "9223372036854775808ns"),
        ("duration_spaced", "1 h 2 min 3 s"),
        ("duration_exponent", "1e400s"),
        ("rate_bits", "100Mbit"),
        ("rate_octets", "12.5MBps"),
        ("rate_packets", "148809pps"),
        ("rate_zero", "0bit"),
        ("rate_largest", "18446744073709551615bit"),
        ("rate_ambiguous", "10MB"),
        ("size_octets", "1500B"),
        ("size_binary", "64KiB"),
        ("size_too_large", "99999999999999999999GB"),
        ("dscp_name", "AF41"),
        ("dscp_number", "46"),
        ("dscp_tos", "184"),
        (
            "dscp_leading_zeros",
            concat!("0000000000000000000000000000000000000000000000000000000000000000", "99"),
        ),
        ("seed", "1,2,3,4,5,4294967295"),
        ("seed_short", "1,2,3"),
        ("bare_number", "10"),
        ("not_a_number", "NaN"),
        ("control_characters", "1\u{1b}[31m\u{0}s\n"),
        ("empty", ""),
        ("two_points", "1..2s"),
    ]
    .map(|(name, text)| Seed::new(name, text))
    .into()
}
