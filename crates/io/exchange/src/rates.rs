//! Tables of the rate of a link by time.
//!
//! ```text
//! time_s,rate_bit_per_s
//! 0,12000000
//! 0.5,0
//! 2,8500000
//! ```
//!
//! A header line, then a line for each moment from which a rate holds. Times ascend, from any origin; the last rate holds as long as the
//! one before it. A rate of 0 is a link that carries nothing. The columns may stand in either order; [`TIMES`] and [`RATES`] have their
//! names.

use std::io::BufRead;

use crate::csv::Fault;
use crate::line;

/// Names of the column of times, and their unit in nanoseconds.
pub const TIMES: [(&str, f64); 2] = [("time_s", 1e9), ("time_ms", 1e6)];
/// Names of the column of rates, and their unit in bit/s.
pub const RATES: [(&str, f64); 3] =
    [("rate_bit_per_s", 1.0), ("rate_kbit_per_s", 1e3), ("rate_mbit_per_s", 1e6)];
/// The longest table, nanoseconds: a year.
const LONGEST_NS: i64 = 365 * 86_400_000_000_000;
/// The highest rate, bit/s.
const HIGHEST: f64 = 1e15;

/// A rate, and from when it holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RateStep {
    /// After the first step, nanoseconds.
    pub at_ns: i64,
    /// 0 where the link carries nothing.
    pub bit_per_s: u64,
}

/// What a file holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RateTable {
    /// At least two, ascending in time, the first at 0.
    pub steps: Vec<RateStep>,
    /// When the last rate ends, nanoseconds.
    pub duration_ns: i64,
}

/// The places of both columns, and their units.
#[derive(Clone, Copy, Debug)]
struct Columns {
    time: (usize, f64),
    rate: (usize, f64),
}

/// Whether a line is the header of such a table, or means to be.
pub(crate) fn is_header(line: &str) -> bool {
    let has = |names: &[(&str, f64)]| {
        names.iter().any(|(name, _)| line.split(',').any(|field| field.trim() == *name))
    };
    has(&TIMES) && (has(&RATES) || line.split(',').any(|field| field.trim().starts_with("rate")))
}

/// Reads a table.
///
/// # Errors
/// [`Fault`], with the line.
pub fn read(inner: impl BufRead) -> Result<RateTable, Fault> {
    let mut columns = None;
    // The first time, in nanoseconds from the origin of the table.
    let mut first = None;
    let mut steps: Vec<RateStep> = Vec::new();
    line::each(inner, "is it a table of rates?", |octets, _, _| {
        let text = std::str::from_utf8(octets)
            .map_err(|_| "the line is not UTF-8; save the file as text in UTF-8")?;
        let text = text.trim_start_matches('\u{feff}').trim();
        if text.is_empty() || text.starts_with('#') {
            return Ok(());
        }
        let Some(columns) = columns else {
            columns = Some(header(text)?);
            return Ok(());
        };
        let (time, bit_per_s) = row(text, columns)?;
        let since = time - *first.get_or_insert(time);
        if since > real(LONGEST_NS) {
            return Err("the time is more than 365 days after the first one; is its unit another?".into());
        }
        let at_ns = nanos(since);
        if steps.last().is_some_and(|last| at_ns <= last.at_ns) {
            return Err("the time is not after that of the line before; write ascending times".into());
        }
        steps.push(RateStep { at_ns, bit_per_s });
        Ok(())
    })?;
    let [.., before, last] = &steps[..] else {
        let why =
            "it has fewer than two rates, and how long a rate holds follows from the next one; add lines";
        return Err(Fault::Line { line: 1, why: why.into() });
    };
    let duration_ns = last.at_ns + (last.at_ns - before.at_ns);
    Ok(RateTable { steps, duration_ns })
}

fn header(line: &str) -> Result<Columns, String> {
    let names: Vec<&str> = line.split(',').map(str::trim).collect();
    let column = |known: &[(&str, f64)], what: &str| {
        let find =
            |(place, field): (usize, &&str)| Some((place, known.iter().find(|(name, _)| name == field)?.1));
        let mut found = names.iter().enumerate().filter_map(find);
        match (found.next(), found.next()) {
            (Some(one), None) => Ok(one),
            (Some(_), Some(_)) => Err(format!("it has two columns of {what}; remove one")),
            (None, _) => {
                let known: Vec<&str> = known.iter().map(|(name, _)| *name).collect();
                Err(format!("it has no column of {what}; name it {}", known.join(", ")))
            }
        }
    };
    let columns = Columns { time: column(&TIMES, "times")?, rate: column(&RATES, "rates")? };
    if names.len() != 2 {
        return Err(format!("it has {} columns; keep one of times and one of rates", names.len()));
    }
    Ok(columns)
}

/// A time in nanoseconds, and a rate in bit/s.
fn row(line: &str, columns: Columns) -> Result<(f64, u64), String> {
    let fields: Vec<&str> = line.split(',').map(str::trim).collect();
    let [_, _] = fields[..] else {
        return Err(format!(
            "the line has {} fields and the header 2; the decimal sign is a point",
            fields.len()
        ));
    };
    let number = |(place, unit): (usize, f64)| {
        let value: f64 = fields.get(place)?.parse().ok()?;
        Some(value * unit).filter(|value| value.is_finite())
    };
    let time = number(columns.time).ok_or("the time is no number; write it in the unit of the header")?;
    let rate = number(columns.rate).filter(|rate| (0.0..=HIGHEST).contains(rate));
    let rate =
        rate.ok_or("the rate is no number from 0 to 1e15 bit/s; write it in the unit of the header")?;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "from 0 to 1e15")]
    let rate = rate.round() as u64;
    Ok((time, rate))
}

#[expect(clippy::cast_precision_loss, reason = "a bound")]
const fn real(nanos: i64) -> f64 {
    nanos as f64
}

#[expect(clippy::cast_possible_truncation, reason = "at most a year, and limited below")]
fn nanos(nanos: f64) -> i64 {
    nanos.round() as i64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(text: &str) -> (u64, String) {
        match read(text.as_bytes()).unwrap_err() {
            Fault::Line { line, why } => (line, why),
            Fault::Io(error) => panic!("{error}"),
        }
    }

    #[test]
    fn rates_are_read() {
        let steps = |text: &str| {
            let table = read(text.as_bytes()).unwrap();
            let steps: Vec<_> = table.steps.iter().map(|step| (step.at_ns, step.bit_per_s)).collect();
            (steps, table.duration_ns)
        };
        let expected = (vec![(0, 12_000_000), (500_000_000, 0), (2_000_000_000, 8_500_000)], 3_500_000_000);
        assert_eq!(steps("time_s,rate_bit_per_s\n0,12000000\n0.5,0\n2,8500000\n"), expected);
        assert_eq!(steps("# a link\r\nrate_mbit_per_s, time_ms\r\n12,7000\r\n0,7500\r\n8.5,9000"), expected);
        assert_eq!(steps("time_s,rate_kbit_per_s\n-1,1.2e4\n-0.5,0\n\n1,8500\n"), expected);
    }

    #[test]
    fn other_tables_are_refused() {
        for (text, line, part) in [
            ("", 1, "fewer than two rates"),
            ("time_s,rate_bit_per_s\n0,1\n", 1, "fewer than two rates"),
            ("time_s,rate_gbit_per_s\n0,1\n", 1, "name it rate_bit_per_s, rate_kbit_per_s, rate_mbit_per_s"),
            ("time_s,rate_bit_per_s,rate_kbit_per_s\n", 1, "two columns of rates"),
            ("time_s,rate_bit_per_s,cell\n", 1, "3 columns"),
            ("time_s,rate_bit_per_s\n0,1\n1,2,3\n", 3, "3 fields"),
            ("time_s,rate_bit_per_s\n0,1\n0,2\n", 3, "ascending"),
            ("time_s,rate_bit_per_s\n0,1\n1,-2\n", 3, "from 0 to 1e15"),
            ("time_s,rate_bit_per_s\n0,1\n1,NaN\n", 3, "from 0 to 1e15"),
            ("time_s,rate_bit_per_s\nnow,1\n", 2, "the time is no number"),
            ("time_s,rate_bit_per_s\n0,1\n1e9,1\n", 3, "365 days"),
        ] {
            let (found, why) = refusal(text);
            assert!(found == line && why.contains(part), "{text}: {found}: {why}");
        }
    }
}
