//! How the sequence numbers of a table are to be read.
//!
//! A counter of 16 or 32 bits begins again at 0 when it overflows: RTP counts packets in 16 bits, many programs in 32. Such numbers
//! are continued. A counter that advances by more than one with each packet is divided by its step. A number that comes again with
//! another departure is another packet: where no overflow explains it, the file holds two runs. So it does where all later packets
//! have lower numbers than all earlier ones.
//!
//! The numbers are read in the way in which fewest of them are shared by different packets and fewest are missing: as they are
//! written, continued in the order of the departures, or continued in the order of the lines. The work is that of sorting the lines.

use romer_record::warning::MeasurementWarning;

/// Counters that overflow: their widths in bits.
const WIDTHS: [u32; 2] = [16, 32];
/// From one line to the next numbers fall by no more than half the range of the narrowest counter, unless the order is wrong.
const FALL: u64 = 1 << (WIDTHS[0] - 1);
/// Numbers that show a step of their counter, at least. Of so many packets that arrived by chance, all would have even numbers with
/// a probability of 1 in 500.
const FEWEST_OF_STEP: u64 = 10;

/// What a line says of its packet's identity.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Identity {
    /// The number, as it is written.
    pub sequence: u64,
    /// The departure by the best stamp, and by the program's own.
    pub departures: [Option<i64>; 2],
}

impl Identity {
    fn departure(&self) -> Option<i64> {
        self.departures[0].or(self.departures[1])
    }

    /// Whether the departures show that these are two packets.
    fn differs(&self, other: &Self) -> bool {
        let pairs = self.departures.into_iter().zip(other.departures);
        let known = pairs.filter_map(|(one, other)| one.zip(other));
        known.take(1).any(|(one, other)| one != other)
    }
}

/// Numbers that are not taken as they are written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Renumbered {
    /// The number of each line's packet.
    pub numbers: Vec<u64>,
    /// The width of the counter that overflowed, bits.
    pub width: Option<u32>,
    /// By how much the counter advances with each packet, where that is more than one.
    pub step: Option<u64>,
}

impl Renumbered {
    /// The warning of it.
    pub const fn warning(&self) -> MeasurementWarning {
        MeasurementWarning::SequenceNumbersRenumbered { counter_bits: self.width, step: self.step }
    }
}

/// A packet of a second run. Lines are counted from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SecondRun {
    /// Its number, as it is written.
    pub sequence: u64,
    /// The first line that shows it.
    pub line: usize,
    /// A line of the first run that it contradicts.
    pub earlier: usize,
    /// Where the second run begins: the ascending numbers that `line` is among. `None` where the lines before and from there on are not two runs.
    pub begins: Option<usize>,
    /// What the two lines contradict each other in.
    pub sign: Sign,
}

/// What shows that lines are of two runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sign {
    /// Both have the same number, and different departures.
    Repeated,
    /// All packets from the line on left after those before it, and have lower numbers. `earlier` has the lowest of the first run.
    Lower,
}

/// Reads the numbers of `lines` lines; `at` gives what a line says. `None` where they are to be taken as they are written.
///
/// # Errors
/// [`SecondRun`] where two packets have one number, or the later ones the lower numbers, however the numbers are read.
pub fn renumber(lines: usize, at: impl Fn(usize) -> Identity) -> Result<Option<Renumbered>, SecondRun> {
    one_run(lines, &at).map_err(|second| {
        let begins = second.begins.filter(|begins| are_two_runs(*begins, lines, &at));
        SecondRun { begins, ..second }
    })
}

/// Whether the lines before one and those from it on are a run each. More than one number of the second is no higher than those of the first: one
/// that is may be mistyped.
fn are_two_runs(begins: usize, lines: usize, at: &impl Fn(usize) -> Identity) -> bool {
    let greatest = (0..begins).map(|line| at(line).sequence).max().unwrap_or(0);
    let is_lower = |line: usize| at(line).sequence <= greatest;
    begins > 0
        && begins + 1 < lines
        && is_lower(begins)
        && is_lower(begins + 1)
        && one_run(begins, at).is_ok()
        && one_run(lines - begins, &|line| at(begins + line)).is_ok()
}

/// Reads the numbers of lines that are of one run.
fn one_run(lines: usize, at: &impl Fn(usize) -> Identity) -> Result<Option<Renumbered>, SecondRun> {
    let written = (0..lines).map(|line| at(line).sequence);
    let most = written.clone().max().unwrap_or(0);
    let width = WIDTHS.into_iter().find(|width| most >> width == 0);
    if is_plain(lines, at, width) {
        return Ok(divided(written.collect(), None));
    }
    let mut best = NumberReading::new(written.collect(), None, at);
    if let Some(width) = width {
        for numbers in [by_departure(lines, at, width), Some(by_line(lines, at, width))].into_iter().flatten()
        {
            let reading = NumberReading::new(numbers, Some(width), at);
            if reading.cost() < best.cost() {
                best = reading;
            }
        }
    }
    match best.shared.or_else(|| lower_run(&best.numbers, at)) {
        Some(second) => Err(second),
        None => Ok(divided(best.numbers, best.width)),
    }
}

/// Whether the numbers need no closer look: they ascend line by line, a number that is repeated is of a copy, and no gap is so wide
/// that the numbers behind it may be those before an overflow.
fn is_plain(lines: usize, at: &impl Fn(usize) -> Identity, width: Option<u32>) -> bool {
    let widest = width.map_or(u64::MAX, |width| 1 << (width - 1));
    let mut before: Option<Identity> = None;
    (0..lines).map(at).all(|line| {
        let plain = before.is_none_or(|before| match line.sequence.checked_sub(before.sequence) {
            Some(0) => !line.differs(&before),
            Some(gap) => gap < widest,
            None => false,
        });
        before = Some(line);
        plain
    })
}

/// The first line from which on all packets left later than those before it, and have lower numbers. A clock that was set back does
/// not look so: lines in the order of the numbers have none lower, and lines in the order of arrival have earlier departures.
fn lower_run(numbers: &[u64], at: &impl Fn(usize) -> Identity) -> Option<SecondRun> {
    /// The greatest number and the earliest departure of the lines from one on.
    type After = (u64, i64);
    let departures: Vec<Option<i64>> = (0..numbers.len()).map(|line| at(line).departure()).collect();
    let mut after: Vec<After> = Vec::with_capacity(numbers.len());
    let (mut greatest, mut earliest) = (0, i64::MAX);
    for (number, departure) in numbers.iter().zip(&departures).rev() {
        greatest = greatest.max(*number);
        earliest = departure.map_or(earliest, |departure| earliest.min(departure));
        after.push((greatest, earliest));
    }
    after.reverse();
    let (mut lowest, mut latest) = (0, i64::MIN);
    (1..numbers.len()).find_map(|line| {
        lowest = if numbers[line - 1] < numbers[lowest] { line - 1 } else { lowest };
        latest = departures[line - 1].map_or(latest, |departure| latest.max(departure));
        let (greatest, earliest) = after[line];
        let is_known = latest > i64::MIN && earliest < i64::MAX;
        (is_known && latest < earliest && greatest < numbers[lowest]).then(|| SecondRun {
            sequence: at(line).sequence,
            line,
            earlier: lowest,
            begins: Some(line),
            sign: Sign::Lower,
        })
    })
}

/// One way to read the numbers.
struct NumberReading {
    numbers: Vec<u64>,
    width: Option<u32>,
    /// How many lines have a number of another packet, and the first of them.
    conflicts: usize,
    shared: Option<SecondRun>,
    /// Numbers of the counter between the least and the greatest that no line has.
    missing: u64,
    /// Lines whose number is lower than that of the line before by more than [`FALL`].
    falls: usize,
}

impl NumberReading {
    fn new(numbers: Vec<u64>, width: Option<u32>, at: &impl Fn(usize) -> Identity) -> Self {
        let mut order: Vec<usize> = (0..numbers.len()).collect();
        order.sort_by_key(|line| (numbers[*line], *line));
        let (mut conflicts, mut distinct) = (0, 0_u64);
        let mut first: Option<(usize, usize)> = None;
        for packet in order.chunk_by(|a, b| numbers[*a] == numbers[*b]) {
            distinct += 1;
            // All copies are compared with the first line that tells the departure.
            let told = packet.iter().find(|line| at(**line).departure().is_some()).unwrap_or(&packet[0]);
            let earlier = at(*told);
            for line in packet.iter().filter(|line| at(**line).differs(&earlier)) {
                conflicts += 1;
                if first.is_none_or(|(known, _)| *line < known) {
                    first = Some((*line, *told));
                }
            }
        }
        let span = order.first().zip(order.last()).map_or(0, |(low, high)| numbers[*high] - numbers[*low]);
        let falls = numbers.windows(2).filter(|pair| pair[0].saturating_sub(pair[1]) > FALL).count();
        let shared = first.map(|(line, earlier)| SecondRun {
            sequence: at(line).sequence,
            line,
            earlier,
            begins: (1..=line).rev().find(|line| numbers[line - 1] >= numbers[*line]),
            sign: Sign::Repeated,
        });
        // Of a counter that advances by more than one, numbers between two steps are not missing.
        let missing =
            (span / step(&numbers, distinct).unwrap_or(1)).saturating_add(1).saturating_sub(distinct);
        Self { numbers, width, conflicts, shared, missing, falls }
    }

    const fn cost(&self) -> (usize, u64, usize) {
        (self.conflicts, self.missing, self.falls)
    }
}

/// Continues a counter: each number is taken as near to the one before as it can be (RFC 1982).
struct Counter {
    width: u32,
    last: Option<u64>,
}

impl Counter {
    const fn new(width: u32) -> Self {
        Self { width, last: None }
    }

    fn continued(&mut self, sequence: u64) -> u64 {
        let range = 1_u64 << self.width;
        let number = match self.last {
            // A turn ahead, so that a late packet from before the first has a number too.
            None => sequence + range,
            Some(last) => {
                let ahead = sequence.wrapping_sub(last) & (range - 1);
                if ahead <= range / 2 { last + ahead } else { last.saturating_sub(range - ahead) }
            }
        };
        self.last = Some(number);
        number
    }
}

/// Takes away the turn that all numbers are ahead.
fn settled(mut numbers: Vec<u64>, width: u32) -> Vec<u64> {
    let least = numbers.iter().copied().min().unwrap_or(0);
    let ahead = least >> width << width;
    numbers.iter_mut().for_each(|number| *number -= ahead);
    numbers
}

fn by_line(lines: usize, at: &impl Fn(usize) -> Identity, width: u32) -> Vec<u64> {
    let mut counter = Counter::new(width);
    settled((0..lines).map(|line| counter.continued(at(line).sequence)).collect(), width)
}

/// The numbers continued in the order of departures; `None` where most lines have none. A packet without a departure has the first
/// number among those of the others that none of them has, or else that of its line's place.
fn by_departure(lines: usize, at: &impl Fn(usize) -> Identity, width: u32) -> Option<Vec<u64>> {
    let mut order: Vec<(i64, usize)> =
        (0..lines).filter_map(|line| Some((at(line).departure()?, line))).collect();
    if 2 * order.len() < lines {
        return None;
    }
    order.sort_unstable();
    let mut numbers = vec![None; lines];
    let mut counter = Counter::new(width);
    for (_, line) in order {
        numbers[line] = Some(counter.continued(at(line).sequence));
    }
    let mut taken: Vec<u64> = numbers.iter().copied().flatten().collect();
    taken.sort_unstable();
    let (low, high) = (*taken.first()?, *taken.last()?);
    let mut turn = low >> width;
    let mut all = Vec::with_capacity(lines);
    for (line, number) in numbers.into_iter().enumerate() {
        let number = number.unwrap_or_else(|| {
            let sequence = at(line).sequence;
            let turns = (low >> width)..=(high >> width);
            let mut free = turns.map(|turn| sequence + (turn << width));
            let free =
                free.find(|number| (low..=high).contains(number) && taken.binary_search(number).is_err());
            free.unwrap_or(sequence + (turn << width))
        });
        turn = number >> width;
        all.push(number);
    }
    Some(settled(all, width))
}

/// Divides the numbers by the step of their counter, where they have one.
fn divided(mut numbers: Vec<u64>, width: Option<u32>) -> Option<Renumbered> {
    let mut distinct = numbers.clone();
    distinct.sort_unstable();
    distinct.dedup();
    let step = step(&numbers, distinct.len() as u64);
    if let Some(step) = step {
        numbers.iter_mut().for_each(|number| *number /= step);
    }
    (width.is_some() || step.is_some()).then_some(Renumbered { numbers, width, step })
}

/// The step of the counter of numbers, so many of them different, where it is more than one.
fn step(numbers: &[u64], distinct: u64) -> Option<u64> {
    let first = numbers.first().copied().unwrap_or(0);
    let step = numbers.iter().fold(0, |step, number| greatest_divisor(step, number.abs_diff(first)));
    Some(step).filter(|step| *step > 1 && distinct >= FEWEST_OF_STEP)
}

const fn greatest_divisor(mut a: u64, mut b: u64) -> u64 {
    while b > 0 {
        (a, b) = (b, a % b);
    }
    a
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: i64 = 1_000_000;

    fn line(sequence: u64, departure: i64) -> Identity {
        Identity { sequence, departures: [Some(departure), None] }
    }

    /// Packets 20 ms apart by a counter of so many bits, from a first number on.
    fn counted(first: u64, count: u64, width: u32) -> Vec<Identity> {
        let range = 1 << width;
        (0..count).map(|n| line((first + n) % range, n.cast_signed() * 20 * MS)).collect()
    }

    fn read(lines: &[Identity]) -> Result<Option<Renumbered>, SecondRun> {
        renumber(lines.len(), |line| lines[line])
    }

    fn continued(lines: &[Identity]) -> Vec<u64> {
        read(lines).unwrap().expect("the numbers are continued").numbers
    }

    /// The numbers follow one another, whatever the first is and however often they wrap.
    #[test]
    fn wraps_are_continued() {
        for (width, first, count) in [
            (16, 65_500, 100),
            (32, (1 << 32) - 36, 100),
            (16, 30_000, 70_000),
            (16, 0, 70_000),
            (16, 7, 200_000),
        ] {
            let lines = counted(first, count, width);
            let found = read(&lines).unwrap().unwrap();
            assert_eq!((found.width, found.step), (Some(width), None));
            let expected: Vec<u64> = (first..first + count).collect();
            assert!(found.numbers == expected, "{width} {first} {count}");
        }
    }

    /// A whole turn has each number once: the order of lines tells where it begins.
    #[test]
    fn whole_turn_is_continued() {
        let lines = counted(30_000, 1 << 16, 16);
        assert_eq!(continued(&lines), (30_000..30_000 + (1 << 16)).collect::<Vec<u64>>());
    }

    /// Numbers that stay below a wrap are left alone, also where the sender's clock was set back.
    #[test]
    fn plain_numbers_stay() {
        let mut lines = counted(0, 65_536, 16);
        assert_eq!(read(&lines), Ok(None));
        lines[60_000..]
            .iter_mut()
            .for_each(|one| one.departures[0] = one.departures[0].map(|at| at - 3_600_000 * MS));
        assert_eq!(read(&lines), Ok(None));
        lines.swap(30, 31);
        assert_eq!(read(&lines), Ok(None));
    }

    /// The order of the lines does not matter where the departures are known.
    #[test]
    fn shuffled_lines_are_continued() {
        let lines = counted(65_000, 3_000, 16);
        let mut order: Vec<usize> = (0..lines.len()).collect();
        order.sort_by_key(|n| n * 7_919 % 3_001);
        let shuffled: Vec<Identity> = order.iter().map(|n| lines[*n]).collect();
        let numbers = continued(&shuffled);
        assert!(order.iter().zip(numbers).all(|(n, number)| number == 65_000 + *n as u64));
        let mut sorted = lines;
        sorted.sort_by_key(|one| one.sequence);
        let numbers = continued(&sorted);
        assert!(
            sorted
                .iter()
                .zip(numbers)
                .all(|(one, number)| number & 0xffff == one.sequence && number >= 65_000)
        );
    }

    /// A lost packet without any stamp takes the number that is free, wherever its line stands.
    #[test]
    fn packets_without_departure_fill_gaps() {
        let mut lines = counted(65_000, 3_000, 16);
        let lost: Vec<Identity> = [100, 900, 2_000].map(|n| lines[n]).to_vec();
        lines.retain(|one| !lost.contains(one));
        lines.extend(lost.iter().map(|one| Identity { departures: [None; 2], ..*one }));
        let mut numbers = continued(&lines);
        numbers.sort_unstable();
        assert_eq!(numbers, (65_000..68_000).collect::<Vec<u64>>());
    }

    /// Copies have the departure of their packet, or none.
    #[test]
    fn copies_share_a_number() {
        let mut lines = counted(0, 20, 16);
        lines.push(lines[3]);
        lines.push(Identity { departures: [None; 2], ..lines[4] });
        assert_eq!(read(&lines), Ok(None));
    }

    #[test]
    fn second_run_is_refused() {
        let mut lines = counted(0, 50, 16);
        lines.extend(
            counted(0, 50, 16)
                .iter()
                .map(|one| line(one.sequence, one.departures[0].unwrap() + 3_600_000 * MS)),
        );
        let second = |sequence, begins| SecondRun {
            sequence,
            line: 50,
            earlier: 0,
            begins: Some(begins),
            sign: Sign::Repeated,
        };
        assert_eq!(read(&lines), Err(second(0, 50)));
        // The first packets of the first run are not there: the second begins before the first shared number.
        lines.drain(..10);
        assert_eq!(read(&lines), Err(second(10, 40)));
    }

    /// A second run is refused also where its numbers are lower than those of the first, and none is repeated.
    #[test]
    fn lower_second_run_is_refused() {
        let run = |first: u64, count: u64, start: i64| {
            counted(first, count, 32).into_iter().map(move |one| Identity {
                departures: one.departures.map(|at| at.map(|at| at + start * MS)),
                ..one
            })
        };
        let second =
            SecondRun { sequence: 0, line: 1_000, earlier: 0, begins: Some(1_000), sign: Sign::Lower };
        let mut lines: Vec<Identity> = run(1_000, 1_000, 0).chain(run(0, 1_000, 60_000)).collect();
        assert_eq!(read(&lines), Err(second));
        // Packets of both that were lost without a stamp, and some that came out of order, do not hide it.
        lines[700].departures = [None; 2];
        lines[1_001].departures = [None; 2];
        lines.swap(30, 31);
        assert_eq!(read(&lines), Err(second));
        // In the order of the numbers it may be a clock that was set back.
        lines.sort_by_key(|one| one.sequence);
        assert_eq!(read(&lines), Ok(None));
        // A clock that was set back, and a file in the order of arrival.
        let mut lines: Vec<Identity> = run(0, 500, 3_600_000).chain(run(500, 500, 0)).collect();
        (10..990).step_by(7).for_each(|line| lines.swap(line, line + 1));
        assert_eq!(read(&lines), Ok(None));
    }

    /// A mistyped number, a counter of another width and one that counts down are no second run.
    #[test]
    fn other_contradictions_are_no_second_run() {
        let begins = |lines: &[Identity]| read(lines).unwrap_err().begins;
        let mut mistyped = counted(0, 100, 16);
        mistyped[50].sequence = 5;
        assert_eq!(begins(&mistyped), None);
        assert_eq!(begins(&counted(4_000, 9_000, 12)), None);
        let mut falling = counted(0, 100, 16);
        falling.iter_mut().for_each(|one| one.sequence = 99 - one.sequence);
        assert_eq!(begins(&falling), None);
    }

    /// A counter that advances in steps wraps to numbers that are no multiples of the step.
    #[test]
    fn steps_wrap() {
        for (step, width, first, count) in
            [(10, 16, 40, 7_000_u64), (3, 16, 60_000, 5_000), (7, 32, (1 << 32) - 350, 100)]
        {
            let numbers = (0..count).map(|n| (first + n * step) % (1 << width));
            let lines: Vec<Identity> =
                numbers.zip(0..).map(|(sequence, n)| line(sequence, n * 20 * MS)).collect();
            let found = read(&lines).unwrap().unwrap();
            assert_eq!((found.step, found.width), (Some(step), Some(width)), "{step}");
            assert!(found.numbers.windows(2).all(|pair| pair[1] == pair[0] + 1), "{step}");
        }
    }

    #[test]
    fn steps_are_divided_out() {
        let by = |step: u64, count: u64| -> Vec<Identity> {
            (0..count).map(|n| line(40 + n * step, n.cast_signed() * 20 * MS)).collect()
        };
        let found = read(&by(10, 100)).unwrap().unwrap();
        assert_eq!((found.step, found.width), (Some(10), None));
        assert_eq!(found.numbers, (4..104).collect::<Vec<u64>>());
        assert_eq!(read(&by(10, 9)), Ok(None), "too few to tell");
        let mut some_lost = by(1, 100);
        some_lost.retain(|one| one.sequence % 7 > 0);
        assert_eq!(read(&some_lost), Ok(None));
    }

    /// Twice the lines are looked at no more than a little more than twice as often, whatever the numbers are.
    #[test]
    fn work_grows_with_lines() {
        let work = |count: u64, sequence: fn(u64) -> u64| {
            let looked = std::cell::Cell::new(0_u64);
            let lines = usize::try_from(count).unwrap();
            let _ = renumber(lines, |place| {
                looked.set(looked.get() + 1);
                line(sequence(place as u64), place as i64)
            });
            looked.get()
        };
        for sequence in [|_| 7, |n| n % 16, |n| 65_535 - n % 65_536, |n| n * 7_919 % 65_536] {
            let [one, two] = [4_000, 8_000].map(|count| work(count, sequence));
            assert!(two <= 2 * one + one / 4, "{one} {two}");
        }
    }
}
