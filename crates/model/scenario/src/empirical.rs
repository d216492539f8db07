//! Measured delays as a distribution: a length of time with its unit a line, or a first line that says the unit.
//!
//! A line that is wrong is told by its number and by what is wanted there, never by what stands there: whoever wrote the
//! scenario may have named a file that the reader of the message must not see.

use std::sync::Arc;

use romer_impair::config::LONGEST_DELAY;
use romer_units::{Duration, QuantityError};

/// Reads the values and puts them in order of size.
pub(crate) fn read(text: &str) -> Result<Arc<[f64]>, String> {
    let mut lines = (1..)
        .zip(text.trim_start_matches('\u{feff}').lines())
        .map(|(number, line): (usize, _)| (number, line.trim()))
        .filter(|(_, line)| !line.is_empty() && !line.starts_with('#'))
        .peekable();
    let unit = lines.next_if(|(_, line)| line.starts_with("delay")).map(|(number, line)| match line {
        "delay_ns" => Ok("ns"),
        "delay_us" => Ok("us"),
        "delay_ms" => Ok("ms"),
        "delay_s" => Ok("s"),
        _ => Err(format!(
            "has no unit in line {number}, which begins with delay; write delay_ns, delay_us, delay_ms or delay_s"
        )),
    });
    let unit = unit.transpose()?.unwrap_or("");
    let mut values = Vec::new();
    for (number, line) in lines {
        let value = format!("{line}{unit}").parse::<Duration>();
        let value = value.map_err(|why| wrong(number, &why))?.as_nanos();
        if !(0..=LONGEST_DELAY).contains(&value) {
            return Err(format!("has a delay in line {number} that is not from 0s to 1h; correct it"));
        }
        #[expect(clippy::cast_precision_loss, reason = "an hour in nanoseconds is below 2^53")]
        values.push(value as f64);
    }
    if values.is_empty() {
        return Err("has no values; write a delay a line".into());
    }
    if values.len() == 1 {
        values.push(values[0]);
    }
    values.sort_by(f64::total_cmp);
    Ok(values.into())
}

/// What is wrong with a line.
fn wrong(number: usize, why: &QuantityError) -> String {
    let why = match why {
        QuantityError::UnitMissing { .. } => "a number that has no unit",
        QuantityError::UnitUnknown { .. } => "a number with a unit that is none of time",
        QuantityError::TooFine { .. } => "a delay that is finer than a nanosecond",
        QuantityError::OutOfRange { .. } => "a delay that is out of range",
        QuantityError::Empty { .. } | QuantityError::NotANumber { .. } => "no delay",
    };
    format!(
        "has {why} in line {number}; write one a line, such as 2.5ms, or delay_us alone on the first line and then numbers"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_read_with_a_unit_of_their_own_or_of_the_header() {
        assert_eq!(*read("3ms\n1ms\n# two\n2.5ms\n").unwrap(), [1e6, 2.5e6, 3e6]);
        assert_eq!(*read("delay_us\n3\n1.5\n").unwrap(), [1_500.0, 3_000.0]);
        for (text, words) in [
            ("", "no values"),
            ("3\n", "no unit"),
            ("delay\n3\n", "no unit in line 1"),
            ("delay_ms\n-3\n", "from 0s"),
            ("delay_ms\nNaN\n", "line 2"),
            ("1ms\n1e300\n", "line 2"),
            ("delay_s\n4000\n", "1h"),
        ] {
            let error = read(text).unwrap_err();
            assert!(error.contains(words), "{text:?}: {error}");
        }
    }

    #[test]
    fn what_stands_in_a_file_is_not_told() {
        for text in [
            "sesame:x:0\n",
            "7sesame\n",
            "7 sesame 8\n",
            "delay_sesame\n",
            "delay_us\nsesame\n",
            "1ms\n-2sesame\n",
        ] {
            let error = read(text).unwrap_err();
            assert!(error.contains("line ") && !error.contains("sesame"), "{error}");
        }
    }
}
