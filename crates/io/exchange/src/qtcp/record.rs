//! A line of `.raw` and `.log`.

use romer_units::counted;

use super::entry::{Entry, TOO_SMALL};
use super::read::Options;

/// The largest stamp: times of two files must be subtracted from each other.
const LARGEST: i64 = i64::MAX / 4;
/// The largest packet.
const LARGEST_SIZE: u32 = 65_535;
/// Characters of a field that a message shows.
const SHOWN: usize = 40;
/// Digits of a number that is below every limit but that of a size.
const SAFE_DIGITS: usize = 18;

/// Whether a line could be the beginning of a record.
pub(super) fn beginning(text: &[u8]) -> bool {
    text.iter().all(|octet| octet.is_ascii_digit() || matches!(octet, b':' | b'-'))
}

fn shown(text: &str) -> String {
    format!("{:?}", text.chars().take(SHOWN).collect::<String>())
}

/// The same of a line of which nothing is odd, as nearly all are: much sooner.
fn parse_common(line: &[u8], options: Options) -> Option<(Entry, i64)> {
    let mut rest = line;
    let [sent, received, latency, size] = [
        next_number(&mut rest, false)?,
        next_number(&mut rest, false)?,
        next_number(&mut rest, true)?,
        next_number(&mut rest, false)?,
    ];
    let (sequence, after) = whole_number(rest)?;
    let size = u32::try_from(size).ok().filter(|size| (1..=LARGEST_SIZE).contains(size))?;
    let taken = after.is_empty() && (size > TOO_SMALL || options.any_size);
    taken.then_some((Entry { sent, received, size, sequence: sequence.unsigned_abs() }, latency))
}

/// The number at the beginning, and the colon behind it, are taken off.
fn next_number(rest: &mut &[u8], below_zero: bool) -> Option<i64> {
    let unsigned = rest.strip_prefix(b"-").filter(|_| below_zero);
    let (number, after) = whole_number(unsigned.unwrap_or(rest))?;
    *rest = after.strip_prefix(b":")?;
    Some(if unsigned.is_some() { -number } else { number })
}

/// The whole number at the beginning, and what follows.
fn whole_number(text: &[u8]) -> Option<(i64, &[u8])> {
    let digits = text.iter().position(|octet| !octet.is_ascii_digit()).unwrap_or(text.len());
    let (number, after) = text.split_at(digits);
    let value = |number: &[u8]| number.iter().fold(0, |value, octet| value * 10 + i64::from(octet - b'0'));
    (1..=SAFE_DIGITS).contains(&digits).then(|| (value(number), after))
}

/// A line as an entry and the latency that it states.
pub(super) fn entry(line: &[u8], options: Options) -> Result<(Entry, i64), String> {
    const WANTED: &str = "five numbers sent:received:latency:size:sequence, times in 100 ns";
    let binary = || format!("it is not text, but {WANTED} are wanted; name a .raw file");
    if let Some(plain) = parse_common(line, options) {
        return Ok(plain);
    }
    if line.iter().any(|octet| *octet < b' ' && *octet != b'\t') {
        return Err(binary());
    }
    let text = std::str::from_utf8(line).map_err(|_| binary())?;
    let fields: Vec<&str> = text.split(':').map(str::trim).collect();
    let &[sent, received, latency, size, sequence] = &fields[..] else {
        if fields.len() == 1 && text.contains([',', ';', '\t', ' ']) {
            return Err(format!("the fields are not separated by colons: {WANTED}; put colons between them"));
        }
        if fields.len() == 2 && fields[0].contains(|c: char| c.is_ascii_alphabetic()) {
            return Err("it is a .sta file (key: value); name the .raw file in the same folder".into());
        }
        return Err(format!(
            "it has {}, not {WANTED}; see who wrote it",
            counted(fields.len() as u64, "field")
        ));
    };
    let entry = Entry {
        sent: time(sent, "send stamp", 0)?,
        received: time(received, "receive stamp", 0)?,
        size: parse_integer(size, "size")?,
        sequence: number(sequence)?,
    };
    let latency = time(latency, "latency", -LARGEST)?;
    match entry.size {
        0 => Err("a packet of size 0 cannot be; see who wrote it".into()),
        small if small <= TOO_SMALL && !options.any_size => Err(format!(
            "a packet of {small} bytes has no space for Qtcp's header ({TOO_SMALL} bytes); --any-size accepts it"
        )),
        large if large > LARGEST_SIZE => {
            Err(format!("a packet has {large} bytes; write at most {LARGEST_SIZE}"))
        }
        _ => Ok((entry, latency)),
    }
}

fn digits(field: &str) -> Option<&str> {
    (!field.is_empty() && field.bytes().all(|octet| octet.is_ascii_digit())).then_some(field)
}

fn time(field: &str, what: &str, least: i64) -> Result<i64, String> {
    if digits(field.strip_prefix('-').unwrap_or(field)).is_none() {
        return Err(format!("{} is not a {what}; write a whole number of 100 ns", shown(field)));
    }
    let time = field.parse().ok().filter(|time: &i64| *time <= LARGEST);
    match time {
        Some(time) if time >= least => Ok(time),
        Some(_) => {
            Err(format!("{} is a {what} below zero; write units of 100 ns since some origin", shown(field)))
        }
        None => Err(format!("{} is out of range for a {what}; it is at most {LARGEST}", shown(field))),
    }
}

fn parse_integer(field: &str, what: &str) -> Result<u32, String> {
    let digits =
        digits(field).ok_or_else(|| format!("{} is not a {what}; write a whole number", shown(field)))?;
    digits
        .parse()
        .map_err(|_| format!("{} is out of range for a {what}; it is at most {LARGEST_SIZE}", shown(field)))
}

fn number(field: &str) -> Result<u64, String> {
    let digits = digits(field)
        .ok_or_else(|| format!("{} is not a sequence number; write a whole number", shown(field)))?;
    let number = digits.parse().ok().filter(|number: &u64| *number < 1 << 62);
    number.ok_or_else(|| format!("{} is out of range for a sequence number", shown(field)))
}
