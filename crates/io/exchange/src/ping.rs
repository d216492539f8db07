//! What `ping` prints: a line for each reply, with its sequence number and its round trip.
//!
//! ```text
//! PING far.example (192.0.2.7) 56(84) bytes of data.
//! 64 bytes from 192.0.2.7: icmp_seq=1 ttl=56 time=11.6 ms
//! 64 bytes from 192.0.2.7: icmp_seq=3 ttl=56 time=11.9 ms
//!
//! --- far.example ping statistics ---
//! 3 packets transmitted, 2 received, 33.3333% packet loss, time 2003ms
//! ```
//!
//! The output of iputils (Linux) is read, and that of BusyBox, inetutils and BSD. A number without a reply is a lost packet; the first line
//! and the statistics show how many were sent before the first reply and after the last. `(DUP!)` is a copy. The sequence number has 16
//! bits and is continued beyond them.
//!
//! With `-D` each line begins with the time of the reply, and a departure is that time less the round trip. Otherwise departures are
//! multiples of the mean interval that the statistics give, or of one second.

use std::io::BufRead;

use romer_record::warning::{DepartureBasis, MeasurementWarning};

use crate::csv::{Fault, Row};
use crate::line;

/// The interval of `ping` without `-i`, nanoseconds.
const DEFAULT_INTERVAL_NS: i64 = 1_000_000_000;
/// The header of ICMP, which the size of a reply includes, octets.
const ICMP_HEADER: u32 = 8;
/// Values of a sequence number.
const NUMBERS: u64 = 1 << 16;
/// Packets that may be lost, always and for each reply: lost packets are rows, and a few lines must not make millions of them.
const LOST_ALWAYS: u64 = 1 << 16;
const LOST_PER_REPLY: u64 = 1_000;

/// What a file holds.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Recording {
    /// The packets by number, lost ones and copies included. Of the stamps there are t1 and t4, nanoseconds.
    pub rows: Vec<Row>,
    /// The destination; empty without the first line.
    pub remote: String,
    /// Mean time between departures, nanoseconds.
    pub interval_ns: i64,
    /// What a reader should know.
    pub notes: Vec<MeasurementWarning>,
}

/// Whether a line is one that `ping` prints at its beginning or for a packet, in any language.
pub(crate) fn is_line(line: &str) -> bool {
    let (_, body) = without_stamp(line);
    let is_packet = || body.contains("icmp_seq=") || body.contains(" bytes from ") || is_unanswered(body);
    is_head(body) || (number(body).is_some_and(|number| number.is_ok()) && is_packet())
}

/// Reads what `ping` printed. `admit` takes the number of packets, and may refuse them.
///
/// # Errors
/// [`Fault`]: a line of a packet that is not understood, two runs in one file, or no packet at all.
pub fn read(inner: impl BufRead, admit: impl FnOnce(u64) -> Result<(), String>) -> Result<Recording, Fault> {
    let mut log = Log::default();
    line::each(inner, "give the output of ping as it is", |octets, line, has_end| {
        let text = String::from_utf8_lossy(octets);
        match log.take(text.trim_end(), line) {
            // Whoever wrote it may have been interrupted.
            Err(_) if !has_end && !log.replies.is_empty() => {
                log.notes.push(MeasurementWarning::LastLineTruncated { line });
                Ok(())
            }
            outcome => outcome,
        }
    })?;
    log.finish(admit)
}

/// A reply.
#[derive(Clone, Copy, Debug)]
struct Reply {
    number: u64,
    octets: u32,
    round_trip_ns: i64,
    /// When it came, with `-D`.
    received_ns: Option<i64>,
    is_copy: bool,
    line: u64,
}

/// What the lines so far hold.
#[derive(Debug, Default)]
struct Log {
    remote: String,
    /// The line of the head, and the number of the first packet by it.
    head: Option<(u64, u64)>,
    /// Octets of payload by the head.
    payload: u32,
    replies: Vec<Reply>,
    /// The number in the last line that had one; the least and the greatest in any.
    last: Option<u64>,
    ends: Option<(u64, u64)>,
    statistics: Statistics,
    notes: Vec<MeasurementWarning>,
}

/// What `ping` counted.
#[derive(Clone, Copy, Debug, Default)]
struct Statistics {
    transmitted: Option<u64>,
    received: Option<u64>,
    /// From the first departure to the last.
    elapsed_ns: Option<i64>,
}

impl Statistics {
    fn from_line(line: &str) -> Option<Self> {
        let (transmitted, rest) = line.split_once(" packets transmitted")?;
        let transmitted = Some(transmitted.parse().ok()?);
        let received = rest.strip_prefix(", ").and_then(|rest| rest.split(' ').next()?.parse().ok());
        let elapsed = line.split_once(", time ").and_then(|(_, rest)| decimal(rest.strip_suffix("ms")?, MS));
        Some(Self { transmitted, received, elapsed_ns: elapsed })
    }

    fn interval_ns(self) -> Option<i64> {
        let gaps = i64::try_from(self.transmitted?.checked_sub(1)?).ok()?;
        self.elapsed_ns?.checked_div(gaps).filter(|interval| *interval > 0)
    }
}

const MS: i64 = 1_000_000;
const SECOND: i64 = 1_000_000_000;

impl Log {
    fn take(&mut self, line: &str, place: u64) -> Result<(), String> {
        let (received_ns, body) = without_stamp(line);
        if is_head(body) {
            return self.take_head(body, place);
        }
        if let Some(statistics) = Statistics::from_line(body) {
            self.statistics = statistics;
            return Ok(());
        }
        let Some(number) = number(body) else { return Ok(()) };
        let number = self.continued(number?);
        if !is_unanswered(body) {
            let reply = reply(body, number, received_ns, place)?;
            if self.replies.last().is_some_and(|last| last.received_ns.is_some() != received_ns.is_some()) {
                return Err(
                    "some replies have a time stamp and others have none; split the file there".into()
                );
            }
            self.replies.push(reply);
        }
        self.last = Some(number);
        let (least, most) = self.ends.unwrap_or((number, number));
        self.ends = Some((least.min(number), most.max(number)));
        Ok(())
    }

    fn take_head(&mut self, line: &str, place: u64) -> Result<(), String> {
        if self.head.is_some() || self.ends.is_some() {
            return Err(format!(
                "a second run begins here; split the file (head -n {}; for the second, tail -n +{place})",
                place - 1
            ));
        }
        // Only iputils begins with 1.
        let is_from_zero = line.starts_with("PING6(") || line.contains("): ");
        self.head = Some((place, u64::from(!is_from_zero)));
        self.payload = payload(line).unwrap_or(0);
        let remote = match line.split_once("--> ") {
            Some((_, remote)) => remote,
            None => line.trim_start_matches("PING ").split([' ', '(']).next().unwrap_or_default(),
        };
        self.remote = remote.trim_end_matches(':').to_owned();
        Ok(())
    }

    /// A sequence number, continued beyond its 16 bits: the nearest to the one before it.
    fn continued(&self, number: u64) -> u64 {
        let Some(last) = self.last else { return number };
        let same = last - last % NUMBERS + number;
        let others = [same.checked_sub(NUMBERS), Some(same), same.checked_add(NUMBERS)];
        others.into_iter().flatten().min_by_key(|one| one.abs_diff(last)).unwrap_or(same)
    }

    fn finish(mut self, admit: impl FnOnce(u64) -> Result<(), String>) -> Result<Recording, Fault> {
        let fault = |why: String| Fault::Line { line: 1, why };
        let (first, last) = self.numbers().ok_or_else(|| {
            fault("it has no line of a packet, so that there is nothing to analyse; ping without -q".into())
        })?;
        let count = last.saturating_sub(first).saturating_add(1);
        let replies = self.replies.len() as u64;
        if count > replies.saturating_mul(LOST_PER_REPLY).saturating_add(LOST_ALWAYS) {
            return Err(fault(format!(
                "{replies} replies to {count} packets are in it, which is no measurement; cut the file where the numbers jump"
            )));
        }
        admit(count.saturating_add(replies)).map_err(fault)?;
        self.replies.sort_by_key(|reply| reply.number);
        let firsts = firsts(&self.replies)?;
        let listed = firsts.len() as u64;
        if let Some(received) = self.statistics.received.filter(|received| *received != listed) {
            return Err(fault(format!(
                "its statistics count {received} received packets, and {listed} are listed; use the whole output of ping without -q and -f"
            )));
        }
        let departures = Departures::new(first, &firsts, self.statistics);
        let size = self.replies.first().map_or(self.payload, |reply| reply.octets);
        let mut rows = Vec::new();
        let mut ahead = self.replies.as_slice();
        for number in first..=last {
            let copies = ahead.iter().take_while(|reply| reply.number == number).count();
            let (of_it, others) = ahead.split_at(copies);
            ahead = others;
            let departure = departures.at(number);
            let mut row = Row { sequence: number, size, ..Row::default() };
            row.stamps[0] = Some(departure);
            if of_it.is_empty() {
                rows.push(row);
            }
            for reply in of_it {
                row.size = reply.octets;
                row.stamps[3] = Some(departure.saturating_add(reply.round_trip_ns));
                rows.push(row);
            }
        }
        let Departures { basis, interval_ns, .. } = departures;
        self.notes.push(MeasurementWarning::DeparturesComputed { basis, interval_ns });
        Ok(Recording { rows, remote: self.remote, interval_ns, notes: self.notes })
    }

    /// The first and the last number that was sent.
    fn numbers(&self) -> Option<(u64, u64)> {
        let Some((_, first)) = self.head else { return self.ends };
        let counted = self.statistics.transmitted.and_then(|count| first.checked_add(count.checked_sub(1)?));
        let (least, most) = self.ends.or_else(|| Some((first, counted?)))?;
        Some((first.min(least), counted.map_or(most, |counted| counted.max(most))))
    }
}

/// The first reply of each number, in order of number.
fn firsts(replies: &[Reply]) -> Result<Vec<Reply>, Fault> {
    let mut firsts = Vec::new();
    for copies in replies.chunk_by(|a, b| a.number == b.number) {
        let mut originals = copies.iter().filter(|reply| !reply.is_copy);
        let original = originals.next();
        if let Some(second) = originals.next() {
            let why = "the sequence number is there twice, and not as a duplicate (DUP!); if two runs are in one file, split it";
            return Err(Fault::Line { line: second.line, why: why.into() });
        }
        firsts.extend(original.or(copies.first()));
    }
    Ok(firsts)
}

/// When packets left.
struct Departures {
    basis: DepartureBasis,
    interval_ns: i64,
    /// Numbers with their departures, in order of number. Without time stamps there is one, from which the others follow.
    known: Vec<(u64, i64)>,
}

impl Departures {
    /// Of the packets from the number `first` on, by the first replies to them.
    fn new(first: u64, firsts: &[Reply], statistics: Statistics) -> Self {
        let stamped =
            |reply: &Reply| Some((reply.number, reply.received_ns?.saturating_sub(reply.round_trip_ns)));
        let known: Vec<(u64, i64)> = firsts.iter().filter_map(stamped).collect();
        let by_statistics = statistics.interval_ns();
        let (basis, by_replies) = match (known.first(), known.last()) {
            (Some(oldest), Some(newest)) => (DepartureBasis::Replies, mean(*oldest, *newest)),
            _ if by_statistics.is_some() => (DepartureBasis::Statistics, None),
            _ => (DepartureBasis::Default, None),
        };
        let interval_ns = by_replies.or(by_statistics).unwrap_or(DEFAULT_INTERVAL_NS);
        Self { basis, interval_ns, known: if known.is_empty() { vec![(first, 0)] } else { known } }
    }

    /// The departure of a packet: known, between those of its neighbours, or as many intervals from the nearest.
    fn at(&self, number: u64) -> i64 {
        let after = self.known.partition_point(|(known, _)| *known < number);
        let next = self.known.get(after).copied();
        let before = after.checked_sub(1).and_then(|before| self.known.get(before)).copied();
        match (before, next) {
            (_, Some((known, departure))) if known == number => departure,
            (Some(before), Some(next)) => {
                let step = mean(before, next).unwrap_or(0);
                before.1.saturating_add(step.saturating_mul(gaps(before.0, number)))
            }
            (Some((known, departure)), None) => {
                departure.saturating_add(self.interval_ns.saturating_mul(gaps(known, number)))
            }
            (None, Some((known, departure))) => {
                departure.saturating_sub(self.interval_ns.saturating_mul(gaps(number, known)))
            }
            (None, None) => 0,
        }
    }
}

fn gaps(from: u64, to: u64) -> i64 {
    i64::try_from(to.saturating_sub(from)).unwrap_or(i64::MAX)
}

/// The mean time between departures, from one packet to another.
fn mean(first: (u64, i64), last: (u64, i64)) -> Option<i64> {
    let mean = last.1.checked_sub(first.1)?.checked_div(gaps(first.0, last.0))?;
    (mean > 0).then_some(mean)
}

/// The time stamp of `-D` in nanoseconds, if there is one, and what follows it.
fn without_stamp(line: &str) -> (Option<i64>, &str) {
    let split = line.strip_prefix('[').and_then(|rest| rest.split_once("] "));
    match split.map(|(stamp, body)| (decimal(stamp, SECOND), body)) {
        Some((Some(stamp), body)) => (Some(stamp), body),
        _ => (None, line),
    }
}

fn is_head(body: &str) -> bool {
    body.starts_with("PING6(") || (body.starts_with("PING ") && body.contains("bytes"))
}

/// Octets of payload by the first line: `56(84) bytes of data.`, `56 data bytes`, `56 data bytes, id 0x4d2 = 1234`.
fn payload(head: &str) -> Option<u32> {
    let words = head.split(", id ").next()?.split_whitespace();
    words.rev().find_map(|word| word.split('(').next()?.parse().ok())
}

/// Whether a line is of a packet without a reply: a router reported an error, or none arrived in time.
fn is_unanswered(body: &str) -> bool {
    const BEGIN: [&str; 3] = ["From ", "no answer yet for ", "Request timeout for "];
    BEGIN.iter().any(|begin| body.starts_with(begin)) && number(body).is_some()
}

/// The sequence number in a line, if it has one.
fn number(body: &str) -> Option<Result<u64, String>> {
    const NAMES: [&str; 4] = ["icmp_seq=", "icmp_seq ", "icmp_req=", " seq="];
    let rest = NAMES.iter().find_map(|name| Some(body.split_once(name)?.1))?;
    let digits = rest.find(|c: char| !c.is_ascii_digit()).map_or(rest, |end| &rest[..end]);
    let number = digits.parse().ok().filter(|number| *number < NUMBERS);
    Some(number.ok_or_else(|| {
        "the sequence number is no whole number from 0 to 65535; give the output of ping as it is".into()
    }))
}

/// The line of a reply.
fn reply(body: &str, number: u64, received_ns: Option<i64>, line: u64) -> Result<Reply, String> {
    const OTHER: &str = "the line is none that ping prints in English; give the output of LC_ALL=C ping as it is, or with the \
                         time stamps of ping -D";
    let (octets, rest) = body.split_once(" bytes from ").ok_or(OTHER)?;
    let octets: u32 = octets.parse().map_err(|_| OTHER)?;
    let (_, time) = rest.split_once("time=").ok_or(
        "the reply has no time=; ping measures round trips with 16 bytes of payload or more (ping -s 16)",
    )?;
    let value = time.find(|c: char| !c.is_ascii_digit() && c != '.').map_or(time, |end| &time[..end]);
    let unit = time[value.len()..].trim_start();
    let round_trip_ns = decimal(value, MS).filter(|_| unit.starts_with("ms"));
    let round_trip_ns =
        round_trip_ns.ok_or("the time of the reply is no number of milliseconds, such as time=11.6 ms")?;
    let octets = octets.saturating_sub(ICMP_HEADER);
    Ok(Reply { number, octets, round_trip_ns, received_ns, is_copy: unit.contains("DUP!"), line })
}

/// A number without sign, in a unit of `unit_ns` nanoseconds, as nanoseconds.
fn decimal(text: &str, unit_ns: i64) -> Option<i64> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let is_number = |text: &str| text.bytes().all(|octet| octet.is_ascii_digit());
    if whole.is_empty() || whole.len() > 12 || !is_number(whole) || !is_number(fraction) {
        return None;
    }
    let mut nanos = whole.parse::<i64>().ok()?.checked_mul(unit_ns)?;
    let mut unit = unit_ns;
    for digit in fraction.bytes() {
        unit /= 10;
        nanos = nanos.checked_add(i64::from(digit - b'0') * unit)?;
    }
    Some(nanos)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(text: &str) -> Vec<(u64, Option<i64>, Option<i64>)> {
        let found = read(text.as_bytes(), |_| Ok(())).unwrap();
        found.rows.iter().map(|row| (row.sequence, row.stamps[0], row.stamps[3])).collect()
    }

    fn refusal(text: &str) -> (u64, String) {
        match read(text.as_bytes(), |_| Ok(())).unwrap_err() {
            Fault::Line { line, why } => (line, why),
            Fault::Io(error) => panic!("{error}"),
        }
    }

    const IPUTILS: &str = "PING far.example (192.0.2.7) 56(84) bytes of data.\n\
        64 bytes from 192.0.2.7: icmp_seq=2 ttl=56 time=11.6 ms\n\
        64 bytes from 192.0.2.7: icmp_seq=3 ttl=56 time=0.045 ms\n\
        64 bytes from 192.0.2.7: icmp_seq=3 ttl=56 time=13.2 ms (DUP!)\n\
        From 198.51.100.1 icmp_seq=4 Destination Host Unreachable\n\
        64 bytes from far.example (192.0.2.7): icmp_seq=5 ttl=56 time=123 ms\n\n\
        --- far.example ping statistics ---\n\
        6 packets transmitted, 3 received, +1 duplicates, +1 errors, 50% packet loss, time 1000ms\n\
        rtt min/avg/max/mdev = 0.045/44.881/123.000/55.450 ms\n";

    /// Packets before the first reply, between replies and after the last are lost; the statistics give the interval.
    #[test]
    fn missing_numbers_are_lost() {
        let found = read(IPUTILS.as_bytes(), |_| Ok(())).unwrap();
        assert_eq!((found.remote.as_str(), found.interval_ns), ("far.example", 200 * MS));
        assert!(found.rows.iter().all(|row| row.size == 56 && row.stamps[1..3] == [None, None]));
        let note = MeasurementWarning::DeparturesComputed {
            basis: DepartureBasis::Statistics,
            interval_ns: 200 * MS,
        };
        assert_eq!(found.notes, [note]);
        assert_eq!(
            rows(IPUTILS),
            [
                (1, Some(0), None),
                (2, Some(200 * MS), Some(211_600_000)),
                (3, Some(400 * MS), Some(400_045_000)),
                (3, Some(400 * MS), Some(413_200_000)),
                (4, Some(600 * MS), None),
                (5, Some(800 * MS), Some(923 * MS)),
                (6, Some(1_000 * MS), None),
            ]
        );
    }

    /// With `-D` a departure is the time of the reply less the round trip; those of lost packets lie between their neighbours.
    #[test]
    fn stamps_give_departures() {
        let text = "PING 192.0.2.7 (192.0.2.7) 56(84) bytes of data.\n\
            [1795964420.000500] 64 bytes from 192.0.2.7: icmp_seq=1 ttl=56 time=0.500 ms\n\
            [1795964420.900000] no answer yet for icmp_seq=2\n\
            [1795964422.010000] 64 bytes from 192.0.2.7: icmp_seq=3 ttl=56 time=10.0 ms\n\
            [1795964423.000000] no answer yet for icmp_seq=4\n";
        let start = 1_795_964_420 * SECOND;
        assert_eq!(
            rows(text),
            [
                (1, Some(start), Some(start + 500_000)),
                (2, Some(start + SECOND), None),
                (3, Some(start + 2 * SECOND), Some(start + 2 * SECOND + 10 * MS)),
                (4, Some(start + 3 * SECOND), None),
            ]
        );
        let found = read(text.as_bytes(), |_| Ok(())).unwrap();
        assert!(matches!(
            found.notes[..],
            [MeasurementWarning::DeparturesComputed { basis: DepartureBasis::Replies, .. }]
        ));
    }

    /// BusyBox, inetutils and BSD count from 0. Without an interval it is one second.
    #[test]
    fn other_programs_count_from_zero() {
        let busybox = "PING 192.0.2.7 (192.0.2.7): 56 data bytes\n\
            64 bytes from 192.0.2.7: seq=1 ttl=57 time=11.123 ms\n\
            64 bytes from 192.0.2.7: seq=1 ttl=57 time=12.125 ms (DUP!)\n\n\
            --- 192.0.2.7 ping statistics ---\n\
            3 packets transmitted, 1 packets received, 1 duplicates, 66% packet loss\n\
            round-trip min/avg/max = 11.123/11.624/12.125 ms\n";
        assert_eq!(
            rows(busybox),
            [
                (0, Some(0), None),
                (1, Some(SECOND), Some(1_011_123_000)),
                (1, Some(SECOND), Some(1_012_125_000)),
                (2, Some(2 * SECOND), None),
            ]
        );
        let bsd = "PING far.example (192.0.2.7): 56 data bytes\nRequest timeout for icmp_seq 0\n\
            64 bytes from 192.0.2.7: icmp_seq=1 ttl=57 time=5.5 ms\n";
        assert_eq!(rows(bsd), [(0, Some(0), None), (1, Some(SECOND), Some(1_005_500_000))]);
        let inetutils = "PING far.example (192.0.2.7): 48 data bytes, id 0x04d2 = 1234\n\
            --- far.example ping statistics ---\n2 packets transmitted, 0 packets received, 100% packet loss\n";
        let found = read(inetutils.as_bytes(), |_| Ok(())).unwrap();
        assert_eq!(
            found.rows.iter().map(|row| (row.sequence, row.size)).collect::<Vec<_>>(),
            [(0, 48), (1, 48)]
        );
        let version_6 = "PING6(56=40+8+8 bytes) 2001:db8::1 --> 2001:db8::7\n\
            16 bytes from 2001:db8::7, icmp_seq=0 hlim=64 time=0.117 ms\n";
        let found = read(version_6.as_bytes(), |_| Ok(())).unwrap();
        assert_eq!((found.remote.as_str(), found.rows[0].size), ("2001:db8::7", 8));
    }

    /// Numbers continue beyond 16 bits, also if the packet at the step is lost or replies are out of order.
    #[test]
    fn numbers_continue_beyond_16_bits() {
        let line = |number: u64| format!("64 bytes from 192.0.2.7: icmp_seq={number} ttl=56 time=1.00 ms\n");
        let text: String = [65_534, 65_533, 1, 65_535, 2].map(line).concat();
        let found: Vec<(u64, bool)> =
            rows(&text).iter().map(|(number, _, came)| (*number, came.is_some())).collect();
        assert_eq!(
            found,
            [(65_533, true), (65_534, true), (65_535, true), (65_536, false), (65_537, true), (65_538, true)]
        );
    }

    /// A last line that was cut is not used.
    #[test]
    fn cut_lines_are_left_out() {
        let text = "PING 192.0.2.7 (192.0.2.7) 56(84) bytes of data.\n\
            64 bytes from 192.0.2.7: icmp_seq=1 ttl=56 time=1.00 ms\n\
            64 bytes from 192.0.2.7: icmp_seq=2 ttl=56 time=1.0";
        let found = read(text.as_bytes(), |_| Ok(())).unwrap();
        assert_eq!(found.rows.len(), 1);
        assert!(
            found.notes.contains(&MeasurementWarning::LastLineTruncated { line: 3 }),
            "{:?}",
            found.notes
        );
    }

    #[test]
    fn other_text_is_refused() {
        let good = "64 bytes from 192.0.2.7: icmp_seq=1 ttl=56 time=1.00 ms\n";
        for (text, line, part) in [
            (String::new(), 1, "no line of a packet"),
            ("PING 192.0.2.7 (192.0.2.7) 56(84) bytes of data.\n".into(), 1, "no line of a packet"),
            (format!("{good}64 octets de 192.0.2.7 : icmp_seq=2 ttl=56 temps=1.00 ms\n"), 2, "LC_ALL=C"),
            (
                format!("{good}Nov 30 64 bytes from 192.0.2.7: icmp_seq=2 ttl=56 time=1.00 ms\n"),
                2,
                "LC_ALL=C",
            ),
            (format!("{good}12 bytes from 192.0.2.7: icmp_seq=2 ttl=56\n"), 2, "ping -s 16"),
            (format!("{good}64 bytes from 192.0.2.7: icmp_seq=2 ttl=56 time=1.00 s\n"), 2, "milliseconds"),
            (format!("{good}64 bytes from 192.0.2.7: icmp_seq=65536 ttl=56 time=1.00 ms\n"), 2, "65535"),
            (format!("{good}{good}"), 2, "there twice"),
            (
                format!("{good}2 packets transmitted, 2 received, 0% packet loss\n"),
                1,
                "2 received packets, and 1 are listed",
            ),
            (format!("{good}PING 192.0.2.7 (192.0.2.7) 56(84) bytes of data.\n"), 2, "head -n 1"),
            (format!("{good}[1795964420.000500] {}", good.replace("=1 ", "=2 ")), 2, "time stamp"),
        ] {
            let (found, why) = refusal(&text);
            assert!(found == line && why.contains(part), "{text}: {found}: {why}");
        }
    }

    /// Lost packets are rows: a few lines must not make millions of them.
    #[test]
    fn lost_packets_are_bounded() {
        let with = |count: u64| {
            format!("PING a (192.0.2.7) 56(84) bytes of data.\n{count} packets transmitted, 0 received\n")
        };
        assert_eq!(rows(&with(LOST_ALWAYS)).len() as u64, LOST_ALWAYS);
        assert!(refusal(&with(LOST_ALWAYS + 1)).1.contains("cut the file"));
        assert!(refusal(&with(u64::MAX)).1.contains("cut the file"));
        let refused = read(with(7).as_bytes(), |packets| Err(format!("no {packets}")));
        assert!(matches!(refused, Err(Fault::Line { why, .. }) if why == "no 7"));
    }

    /// Lines are recognised as those of ping by themselves, with or without time stamps.
    #[test]
    fn lines_are_recognised() {
        for line in IPUTILS.lines().take(6) {
            assert!(is_line(line) && is_line(&format!("[1795964420.000500] {line}")), "{line}");
        }
        assert!(is_line("64 octets de 192.0.2.7 : icmp_seq=2 ttl=56 temps=1.00 ms"));
        for line in ["", "1000:1030:30:64:0", "sequence,size,sent_ns,received_ns", "64", "{\"a\": 1}"] {
            assert!(!is_line(line), "{line}");
        }
    }
}
