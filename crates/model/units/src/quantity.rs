//! How quantities are read: digits, a fraction, a unit; exact, in integers.

use thiserror::Error;

/// Why a quantity could not be read. The text of the error says what to write instead.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum QuantityError {
    /// Nothing was written.
    #[error("missing value ({what}); write {example}")]
    Empty {
        /// What was wanted.
        what: String,
        /// Accepted forms.
        example: String,
    },
    /// A number without its unit.
    #[error("{text:?} has no unit; write {example}")]
    UnitMissing {
        /// What was written.
        text: String,
        /// Accepted forms.
        example: String,
    },
    /// A unit that this quantity does not have.
    #[error("unknown unit {unit:?} in {text:?}; write {example}")]
    UnitUnknown {
        /// What was written.
        text: String,
        /// The unit that was not understood.
        unit: String,
        /// What was wanted.
        what: String,
        /// Accepted forms.
        example: String,
    },
    /// Not a number at all.
    #[error("{text:?} is not {what}; write {example}")]
    NotANumber {
        /// What was written.
        text: String,
        /// What was wanted.
        what: String,
        /// Accepted forms.
        example: String,
    },
    /// More digits after the point than the smallest step has.
    #[error("{text:?} is finer than {step}; round it")]
    TooFine {
        /// What was written.
        text: String,
        /// The smallest step.
        step: String,
    },
    /// Outside the range.
    #[error("{text:?} is out of range; {allowed}")]
    OutOfRange {
        /// What was written.
        text: String,
        /// The range.
        allowed: String,
    },
}

/// A unit and how many of the smallest step it holds.
#[derive(Clone, Copy)]
pub(crate) struct Unit {
    pub(crate) name: &'static str,
    pub(crate) nanos_or_one: u128,
}

/// Longest text that is looked at; longer ones are cut in the message.
const MAX_QUOTED_CHARS: usize = 64;

fn shown(text: &str) -> String {
    crate::words::excerpt(text, MAX_QUOTED_CHARS)
}

/// Reads one or more `NUMBER UNIT` pairs (`1m30s`) and gives their sum in the smallest step. Every pair needs
/// its unit. `whole` is the text as the user wrote it, for the message.
pub(crate) fn sum_of_parts(
    body: &str,
    whole: &str,
    units: &[Unit],
    what: &str,
    example: &str,
) -> Result<u128, QuantityError> {
    if body.trim().is_empty() {
        return Err(QuantityError::Empty { what: what.into(), example: example.into() });
    }
    let not_a_number =
        || QuantityError::NotANumber { text: shown(whole), what: what.into(), example: example.into() };
    if body.len() > MAX_QUOTED_CHARS {
        return Err(not_a_number());
    }
    let mut rest = body;
    let mut sum: u128 = 0;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(rest.len());
        let (number, tail) = rest.split_at(digits);
        let tail = tail.trim_start_matches(' ');
        let letters = tail.find(|c: char| c.is_ascii_digit() || c == '.').unwrap_or(tail.len());
        let (name, after) = tail.split_at(letters);
        if number.is_empty() {
            return Err(not_a_number());
        }
        if name.is_empty() {
            return Err(QuantityError::UnitMissing { text: shown(whole), example: example.into() });
        }
        let unit = units.iter().find(|unit| unit.name == name.trim_end()).ok_or_else(|| {
            QuantityError::UnitUnknown {
                text: shown(whole),
                unit: shown(name),
                what: what.into(),
                example: example.into(),
            }
        })?;
        let part = scaled(number, unit.nanos_or_one).map_err(|why| match why {
            Unscaled::NotANumber => not_a_number(),
            Unscaled::TooFine => {
                QuantityError::TooFine { text: shown(whole), step: "the smallest step".into() }
            }
            Unscaled::TooLarge => {
                QuantityError::OutOfRange { text: shown(whole), allowed: "write a smaller number".into() }
            }
        })?;
        sum = sum.checked_add(part).ok_or_else(|| QuantityError::OutOfRange {
            text: shown(whole),
            allowed: "write a smaller number".into(),
        })?;
        rest = after.trim_start_matches(' ');
    }
    Ok(sum)
}

/// Why `scaled` gives nothing.
pub(crate) enum Unscaled {
    NotANumber,
    TooFine,
    TooLarge,
}

/// `number` (digits with at most one point) times `scale`, exactly.
pub(crate) fn scaled(number: &str, scale: u128) -> Result<u128, Unscaled> {
    let (whole, part) = number.split_once('.').unwrap_or((number, ""));
    if (whole.is_empty() && part.is_empty()) || !part.bytes().all(|b| b.is_ascii_digit()) {
        return Err(Unscaled::NotANumber);
    }
    if !whole.bytes().all(|b| b.is_ascii_digit()) {
        return Err(Unscaled::NotANumber);
    }
    let part = part.trim_end_matches('0');
    let whole: u128 = if whole.is_empty() { 0 } else { whole.parse().map_err(|_| Unscaled::TooLarge)? };
    let whole = whole.checked_mul(scale).ok_or(Unscaled::TooLarge)?;
    if part.is_empty() {
        return Ok(whole);
    }
    let places = u32::try_from(part.len()).map_err(|_| Unscaled::TooFine)?;
    let divisor = 10u128.checked_pow(places).ok_or(Unscaled::TooFine)?;
    let digits: u128 = part.parse().map_err(|_| Unscaled::TooFine)?;
    let product = digits.checked_mul(scale).ok_or(Unscaled::TooLarge)?;
    if product % divisor != 0 {
        return Err(Unscaled::TooFine);
    }
    whole.checked_add(product / divisor).ok_or(Unscaled::TooLarge)
}
