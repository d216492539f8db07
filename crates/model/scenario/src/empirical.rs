//! Measured delays as a distribution: a length of time with its unit a line, or a first line that says the unit.

use std::sync::Arc;

use romer_impair::config::LONGEST_DELAY;
use romer_units::Duration;

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
        other => Err(format!(
            "has no unit in {other:?} (line {number}); write delay_ns, delay_us, delay_ms or delay_s"
        )),
    });
    let unit = unit.transpose()?.unwrap_or("");
    let mut values = Vec::new();
    for (number, line) in lines {
        let shown: String = line.chars().take(40).collect();
        let value = format!("{line}{unit}").parse::<Duration>();
        let value = value.map_err(|why| format!("has {shown:?} in line {number}: {why}"))?.as_nanos();
        if !(0..=LONGEST_DELAY).contains(&value) {
            return Err(format!("has {shown:?} in line {number}; a delay is from 0s to 1h"));
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
            ("delay\n3\n", "no unit in"),
            ("delay_ms\n-3\n", "from 0s"),
            ("delay_ms\nNaN\n", "line 2"),
            ("1ms\n1e300\n", "line 2"),
            ("delay_s\n4000\n", "1h"),
        ] {
            let error = read(text).unwrap_err();
            assert!(error.contains(words), "{text:?}: {error}");
        }
    }
}
