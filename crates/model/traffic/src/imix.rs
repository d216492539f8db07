//! Mixtures of frame sizes (Internet mix).
//!
//! Sizes are those of Ethernet frames with header and frame check sequence, as the sources give them; a frame below
//! 64 octets is padded to that on the wire. [`udp_payload`] says what UDP carries in such a frame.

use core::fmt;
use core::ops::RangeInclusive;
use core::str::FromStr;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;

use romer_units::Size;
use romer_units::random::{RandomStream, Seed};

use crate::draw;
use crate::parse_error::ParseError;

/// Octets of Ethernet header and frame check sequence, without VLAN tag.
const ETHERNET: u32 = 18;

/// The version of IP, which decides how many octets its header takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum IpVersion {
    /// 20 octets.
    #[default]
    V4,
    /// 40 octets.
    V6,
}

impl IpVersion {
    /// That of packets to `address`.
    pub const fn from_address(address: SocketAddr) -> Self {
        match address {
            SocketAddr::V4(_) => Self::V4,
            SocketAddr::V6(_) => Self::V6,
        }
    }

    /// Octets of the headers of IP, without options or extensions, and of UDP.
    pub const fn headers(self) -> u32 {
        match self {
            Self::V4 => 28,
            Self::V6 => 48,
        }
    }
}

/// Octets that UDP carries in a frame of `frame` octets, which count header and frame check sequence and no VLAN
/// tag: 12 of IPv4 for a frame of 58, which is then padded to 64 on the wire; 0 where the headers alone are larger.
pub const fn udp_payload(frame: u32, version: IpVersion) -> u32 {
    frame.saturating_sub(ETHERNET + version.headers())
}

/// A mixture of frame sizes: one of those with a name, or a genome of RFC 6985.
///
/// - `simple`: 64, 594 and 1518 octets as 7 : 4 : 1, the mixture that testers call simple IMIX (IP packets of 40,
///   576 and 1500 octets), as the repeating sequence of twelve that spreads the sizes most evenly.
/// - `chadda2004`: table 2.2 of Chadda 2004: 55 % of 58 octets, 2 % of 62, 20 % of 594, 12 % of 1518 and 11 % of random
///   size, here evenly distributed from 64 to 1518, or as said: `chadda2004,random=128B-512B`. Each frame is drawn
///   by itself from the seed (RFC 6985 section 6.5).
/// - a genome: the letters `a` to `j` are 64, 128, 256, 512, 1024, 1280, 1518, 2112, 9000 and 16000 octets (section
///   4), capital letters are custom sizes (section 5) and `z` is the frame of the MTU, whose sizes follow:
///   `aaafg`, `AAAGG,A=64B,G=1020B`, `aaz,z=1518B`. `20(abcd)5(ggga)` is run-length encoding (section 6.1). The
///   sequence repeats.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Imix {
    text: Arc<str>,
    kind: ImixKind,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum ImixKind {
    Sequence(Arc<Sequence>),
    Seed003 { random: RangeInclusive<u32> },
}

/// A repeating sequence of frame sizes, stored as the genome writes it: it takes memory and time in proportion to the
/// text, whatever its run lengths.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Sequence {
    sizes: Vec<u32>,
    runs: Vec<SizeRun>,
    /// Frames of one pass through the sequence.
    length: u64,
}

/// Sizes of a [`Sequence`] that are repeated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct SizeRun {
    /// Frames before this run.
    begin: u64,
    /// Place of its first size in the sequence's sizes, and the number of its sizes, at least 1.
    first: usize,
    sizes: usize,
    repeats: u64,
}

impl Sequence {
    /// Appends `sizes`, repeated.
    ///
    /// # Errors
    /// There are no sizes, no repeats, or too many frames.
    fn push(&mut self, sizes: impl IntoIterator<Item = u32>, repeats: u64) -> Result<(), String> {
        let first = self.sizes.len();
        self.sizes.extend(sizes);
        let count = self.sizes.len() - first;
        let frames = u64::try_from(count).unwrap_or(u64::MAX).saturating_mul(repeats);
        if frames == 0 {
            return Err("a run has a count above 0 and letters; write 20(abcd)".into());
        }
        let length = self.length.saturating_add(frames);
        if length > MAX_SEQUENCE_FRAMES {
            return Err(format!(
                "a sequence of {length} frames is too long; use at most {MAX_SEQUENCE_FRAMES}, by smaller counts or fewer letters"
            ));
        }
        self.runs.push(SizeRun { begin: self.length, first, sizes: count, repeats });
        self.length = length;
        Ok(())
    }

    /// The size of frame number `ordinal`.
    fn size(&self, ordinal: u64) -> u32 {
        let Some(place) = ordinal.checked_rem(self.length) else { return 0 };
        let run = self.runs.partition_point(|run| run.begin <= place).checked_sub(1);
        let size = run.and_then(|run| self.runs.get(run)).and_then(|run| {
            let within = usize::try_from(place - run.begin).ok()?.checked_rem(run.sizes)?;
            self.sizes.get(run.first + within)
        });
        size.copied().unwrap_or_default()
    }

    /// The part of all frames that each size has, smallest first.
    #[expect(clippy::cast_precision_loss, reason = "at most 65,536")]
    fn shares(&self) -> Vec<Share> {
        let mut frames = BTreeMap::<u32, u64>::new();
        for run in &self.runs {
            for size in self.sizes.iter().skip(run.first).take(run.sizes) {
                *frames.entry(*size).or_default() += run.repeats;
            }
        }
        let share = |(size, count)| Share { ratio: count as f64 / self.length as f64, frame: size..=size };
        frames.into_iter().map(share).collect()
    }
}

/// One row of a mixture.
#[derive(Clone, Debug, PartialEq)]
pub struct Share {
    /// Part of all frames, from 0 to 1.
    pub ratio: f64,
    /// Octets of the frame; where they are a range, all of it is equally likely.
    pub frame: RangeInclusive<u32>,
}

/// The fixed rows of table 2.2 of Chadda 2004, in hundredths; the other 11 are random.
const SEED_003: [(u32, u32); 4] = [(55, 58), (2, 62), (20, 594), (12, 1_518)];
/// What "random" means where nothing is said.
const RANDOM: RangeInclusive<u32> = 64..=1_518;
/// 7 : 4 : 1, spread.
const SIMPLE: [u32; 12] = [64, 594, 64, 64, 594, 64, 1_518, 64, 594, 64, 594, 64];
/// The sizes of the letters from `a` (RFC 6985 section 4).
const LETTERS: [u32; 10] = [64, 128, 256, 512, 1_024, 1_280, 1_518, 2_112, 9_000, 16_000];
/// The smallest frame that carries UDP over IPv4, and the largest.
const FRAMES: RangeInclusive<u64> = 46..=65_553;
/// Longest sequence, frames after the run lengths.
const MAX_SEQUENCE_FRAMES: u64 = 65_536;

impl Imix {
    /// The frame sizes, of which random ones follow from `seed`.
    pub fn frames(&self, seed: Seed) -> Frames {
        Frames {
            kind: self.kind.clone(),
            row: draw::stream(seed, b"imix"),
            size: draw::stream(seed, b"isiz"),
        }
    }

    /// Whether the sizes depend on the seed.
    pub const fn is_random(&self) -> bool {
        matches!(self.kind, ImixKind::Seed003 { .. })
    }

    /// How often each size comes, smallest first.
    pub fn shares(&self) -> Vec<Share> {
        match &self.kind {
            ImixKind::Sequence(sequence) => sequence.shares(),
            ImixKind::Seed003 { random } => SEED_003
                .into_iter()
                .map(|(hundredths, size)| (hundredths, size..=size))
                .chain([(11, random.clone())])
                .map(|(hundredths, frame)| Share { ratio: f64::from(hundredths) / 100.0, frame })
                .collect(),
        }
    }
}

/// The frame sizes of a mixture, one after the other.
#[derive(Clone, Debug)]
pub struct Frames {
    kind: ImixKind,
    row: RandomStream,
    size: RandomStream,
}

impl Frames {
    /// Octets of frame number `ordinal`, with header and frame check sequence, before padding.
    pub fn size(&self, ordinal: u64) -> u32 {
        match &self.kind {
            ImixKind::Sequence(sequence) => sequence.size(ordinal),
            ImixKind::Seed003 { random } => {
                let mut row = draw::integer(&self.row, ordinal, 0, 99);
                for (hundredths, size) in SEED_003 {
                    if row < u64::from(hundredths) {
                        return size;
                    }
                    row -= u64::from(hundredths);
                }
                let drawn =
                    draw::integer(&self.size, ordinal, u64::from(*random.start()), u64::from(*random.end()));
                u32::try_from(drawn).unwrap_or(u32::MAX)
            }
        }
    }
}

impl FromStr for Imix {
    type Err = ParseError;

    /// Reads `simple`, `chadda2004`, `chadda2004,random=LOW-HIGH` or a genome.
    fn from_str(text: &str) -> Result<Self, ParseError> {
        read(text).map_err(|why| ParseError::Imix { text: romer_units::excerpt(text, 64), why })
    }
}

impl fmt::Display for Imix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.text)
    }
}

fn read(text: &str) -> Result<Imix, String> {
    let (name, settings) = match text.split_once(',') {
        Some((name, settings)) => (name, settings.split(',').collect()),
        None => (text, Vec::new()),
    };
    let kind = if name.eq_ignore_ascii_case("simple") {
        if !settings.is_empty() {
            return Err("simple has no settings; write simple alone".into());
        }
        let mut sequence = Sequence::default();
        sequence.push(SIMPLE, 1)?;
        ImixKind::Sequence(sequence.into())
    } else if name.eq_ignore_ascii_case("chadda2004") {
        ImixKind::Seed003 { random: random_of(&settings)? }
    } else {
        ImixKind::Sequence(sequence(name, &settings)?.into())
    };
    Ok(Imix { text: text.into(), kind })
}

fn random_of(settings: &[&str]) -> Result<RangeInclusive<u32>, String> {
    let form = "its only setting is the range of random sizes; write chadda2004,random=64B-1518B";
    match settings {
        [] => Ok(RANDOM),
        [setting] => {
            let range =
                setting.strip_prefix("random=").and_then(|range| range.split_once('-')).ok_or(form)?;
            let (low, high) = (frame_of(range.0)?, frame_of(range.1)?);
            if low > high {
                return Err(format!("the range of random sizes is empty, {low}B to {high}B; exchange them"));
            }
            Ok(low..=high)
        }
        _ => Err(form.into()),
    }
}

fn frame_of(text: &str) -> Result<u32, String> {
    let octets = text.parse::<Size>().map_err(|error| error.to_string())?.octets();
    if !FRAMES.contains(&octets) {
        return Err(format!(
            "a frame of {octets} bytes is out of range; use {}B to {}B",
            FRAMES.start(),
            FRAMES.end()
        ));
    }
    u32::try_from(octets).map_err(|error| error.to_string())
}

/// Sizes of the letters `A` to `Z` and `z`, as the user gave them.
type Custom = [Option<u32>; 27];

/// The place of a letter that the user defines.
fn place_of(letter: u8) -> Option<usize> {
    match letter {
        b'A'..=b'Z' => Some(usize::from(letter - b'A')),
        b'z' => Some(26),
        _ => None,
    }
}

/// The sequence that a genome and its custom sizes stand for.
fn sequence(genome: &str, settings: &[&str]) -> Result<Sequence, String> {
    let mut custom: Custom = [None; 27];
    for setting in settings {
        let wrong = || {
            let shown = romer_units::excerpt(setting, 40);
            format!(
                "{shown:?} is not the size of a letter: only capitals, and z for the MTU's frame, have sizes of your own; write \
                 A=64B for A to Z, or z=1518B"
            )
        };
        let (letter, size) = setting.split_once('=').ok_or_else(wrong)?;
        let &[letter] = letter.as_bytes() else { return Err(wrong()) };
        let place = place_of(letter).ok_or_else(wrong)?;
        if custom[place].replace(frame_of(size)?).is_some() {
            return Err(format!("the size of {} is given twice; give it once", char::from(letter)));
        }
        if !genome.as_bytes().contains(&letter) {
            return Err(format!(
                "{} has a size and does not come in the genome; leave it out",
                char::from(letter)
            ));
        }
    }
    runs(genome, &custom)
}

/// Reads `20(abcd)5(ggga)aa`.
fn runs(genome: &str, custom: &Custom) -> Result<Sequence, String> {
    let mut sequence = Sequence::default();
    let mut rest = genome;
    while let Some(first) = rest.chars().next() {
        let (count, letters) = if first.is_ascii_digit() {
            let form = || "a run is a count and its letters in brackets; write 20(abcd)".to_string();
            let (count, tail) = rest.split_once('(').ok_or_else(form)?;
            let (letters, tail) = tail.split_once(')').ok_or_else(form)?;
            rest = tail;
            (count.parse::<u64>().ok().filter(|_| !letters.is_empty()).ok_or_else(form)?, letters)
        } else {
            let end = rest.find(|c: char| c.is_ascii_digit()).unwrap_or(rest.len());
            let (letters, tail) = rest.split_at(end);
            rest = tail;
            (1, letters)
        };
        let sizes = letters.chars().map(|letter| size_of(letter, custom)).collect::<Result<Vec<_>, _>>()?;
        sequence.push(sizes, count)?;
    }
    if sequence.length == 0 {
        return Err("a mixture has no frames; use simple, chadda2004 or a genome such as aaafg".into());
    }
    Ok(sequence)
}

fn size_of(letter: char, custom: &Custom) -> Result<u32, String> {
    let standard =
        |byte: u8| byte.checked_sub(b'a').and_then(|place| LETTERS.get(usize::from(place))).copied();
    let byte = u8::try_from(letter).unwrap_or(0);
    match (standard(byte), place_of(byte)) {
        (Some(size), _) => Ok(size),
        (None, Some(place)) => custom[place].ok_or_else(|| {
            format!("the size of {letter} is not given; say it after the genome, as in {letter}{letter}a,{letter}=1518B")
        }),
        (None, None) => Err(format!("{letter:?} is not a letter of a genome; use a to j, z, A to Z, simple or chadda2004")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SEED: Seed = Seed([3, 0, 0, 0, 0, 3]);

    fn first(text: &str, count: u64) -> Vec<u32> {
        let frames = text.parse::<Imix>().unwrap().frames(SEED);
        (0..count).map(|ordinal| frames.size(ordinal)).collect()
    }

    #[test]
    fn a_genome_repeats_in_the_order_of_its_letters() {
        assert_eq!(first("aaafg", 7), [64, 64, 64, 1280, 1518, 64, 64]);
        assert_eq!(first("abcdefghij", 10), LETTERS);
        assert_eq!(first("AAAGG,A=64B,G=1020B", 6), [64, 64, 64, 1020, 1020, 64]);
        assert_eq!(first("az,z=1522B", 3), [64, 1522, 64]);
    }

    #[test]
    fn run_lengths_stand_for_their_letters() {
        // RFC 6985 section 6.1.
        let runs = first("20(abcd)5(ggga)10(dcba)", 141);
        let (abcd, ggga, dcba) = ([64, 128, 256, 512], [1518, 1518, 1518, 64], [512, 256, 128, 64]);
        let expected: Vec<u32> =
            [abcd.repeat(20), ggga.repeat(5), dcba.repeat(10), vec![64]].into_iter().flatten().collect();
        assert_eq!(runs, expected);
        assert_eq!(first("a2(bc)d", 7), [64, 128, 256, 128, 256, 512, 64]);
    }

    /// A run takes the memory of its letters, whatever its count.
    #[test]
    fn runs_are_not_expanded() {
        let imix: Imix = "30000(ab)5000(c)".parse().unwrap();
        let ImixKind::Sequence(sequence) = &imix.kind else { panic!("{imix:?}") };
        assert_eq!((sequence.sizes.as_slice(), sequence.runs.len()), (&[64, 128, 256][..], 2));
        let frames = imix.frames(SEED);
        assert_eq!([0, 59_999, 60_000, 64_999, 65_000].map(|n| frames.size(n)), [64, 128, 256, 256, 64]);
        let counts: Vec<f64> = imix.shares().iter().map(|share| share.ratio * 65_000.0).collect();
        for (count, expected) in counts.into_iter().zip([30_000.0, 30_000.0, 5_000.0]) {
            assert!((count - expected).abs() < 1e-6, "{count}");
        }
    }

    #[test]
    fn the_simple_mixture_is_seven_to_four_to_one() {
        let shares = "simple".parse::<Imix>().unwrap().shares();
        let rows: Vec<(u32, f64)> =
            shares.iter().map(|share| (*share.frame.start(), share.ratio * 12.0)).collect();
        for ((frame, twelfths), expected) in rows.into_iter().zip([(64, 7.0), (594, 4.0), (1518, 1.0)]) {
            assert!(frame == expected.0 && (twelfths - expected.1).abs() < 1e-9);
        }
    }

    #[test]
    fn the_mixture_of_seed_003_has_the_shares_of_its_table() {
        // 200,000 frames; the fixed sizes and the rest are 5 cells: chi-squared with 4 degrees of freedom, error
        // probability 1e-6 at 33.4. A random frame falls on 594 or 1518 once in 1,455 times.
        let count = 200_000;
        let frames = first("chadda2004", count);
        let seen = |size: u32| frames.iter().filter(|frame| **frame == size).count() as f64;
        let (total, stray) = (count as f64, 0.11 / 1_455.0);
        let fixed = [(58, 0.55), (62, 0.02), (594, 0.20 + stray), (1_518, 0.12 + stray)];
        let rest = total - fixed.iter().map(|(size, _)| seen(*size)).sum::<f64>();
        let chi: f64 = fixed
            .iter()
            .map(|(size, ratio)| (seen(*size), *ratio))
            .chain([(rest, 0.11 - 2.0 * stray)])
            .map(|(seen, ratio)| (seen - ratio * total).powi(2) / (ratio * total))
            .sum();
        assert!(chi < 33.4, "{chi}");
        assert!(frames.iter().all(|size| [58, 62].contains(size) || RANDOM.contains(size)));
    }

    #[test]
    fn the_random_share_of_seed_003_is_even_over_its_range() {
        // 15 sizes that no fixed row has, 22,000 frames: chi-squared with 14 degrees of freedom, 1e-6 at 56.5.
        let frames = first("chadda2004,random=100B-114B", 200_000);
        let cells: Vec<f64> =
            (100..=114).map(|size| frames.iter().filter(|frame| **frame == size).count() as f64).collect();
        let expected = cells.iter().sum::<f64>() / 15.0;
        let chi: f64 = cells.iter().map(|seen| (seen - expected).powi(2) / expected).sum();
        assert!(chi < 56.5 && expected > 1_400.0, "{chi}");
    }

    #[test]
    fn udp_carries_what_the_headers_leave() {
        assert_eq!(udp_payload(58, IpVersion::V4), 12);
        assert_eq!(udp_payload(64, IpVersion::V4), 18);
        assert_eq!(udp_payload(1_518, IpVersion::V4), 1_472);
        assert_eq!(udp_payload(1_518, IpVersion::V6), 1_452);
        assert_eq!(udp_payload(58, IpVersion::V6), 0);
    }

    #[test]
    fn what_is_wrong_with_a_mixture_is_said() {
        for (wrong, part) in [
            ("", "no frames"),
            ("()", "not a letter"),
            ("k", "not a letter"),
            ("é", "not a letter"),
            ("az", "the size of z is not given"),
            ("AAG,A=64B", "the size of G is not given"),
            ("a,A=64B", "does not come"),
            ("A,A=64B,A=65B", "twice"),
            ("A,A=64", "unit"),
            ("A,A=45B", "46B to 65553B"),
            ("A,AB=64B", "not the size of a letter"),
            ("20(ab", "20(abcd)"),
            ("20ab", "20(abcd)"),
            ("0(ab)", "20(abcd)"),
            ("99999999999999999999(a)", "20(abcd)"),
            ("18446744073709551615()a", "20(abcd)"),
            ("18446744073709551615(a)", "at most 65536"),
            ("a18446744073709551615(ab)", "at most 65536"),
            ("9999999(aaaaaaaaaa)", "at most 65536"),
            ("simple,a=64B", "no settings"),
            ("chadda2004,random=64B", "random=64B-1518B"),
            ("chadda2004,random=99B-64B", "exchange"),
        ] {
            let error = wrong.parse::<Imix>().unwrap_err().to_string();
            assert!(error.contains(part) && error.contains("; ") && error.len() < 250, "{wrong}: {error}");
        }
    }

    proptest! {
        /// The sizes are those of the sequence that the runs stand for.
        #[test]
        fn sizes_equal_expansion(runs in prop::collection::vec((1usize..40, "[a-j]{1,6}"), 1..8)) {
            let genome: String = runs.iter().map(|(count, letters)| format!("{count}({letters})")).collect();
            let expanded: String = runs.iter().map(|(count, letters)| letters.repeat(*count)).collect();
            let count = u64::try_from(2 * expanded.len()).unwrap();
            prop_assert_eq!(first(&genome, count), first(&expanded, count));
            prop_assert_eq!(genome.parse::<Imix>().unwrap().shares(), expanded.parse::<Imix>().unwrap().shares());
        }

        #[test]
        fn no_text_panics_and_what_is_read_is_printed_back(text in "[a-jzA-C0-9(),=B-]{0,40}") {
            if let Ok(imix) = text.parse::<Imix>() {
                prop_assert_eq!(imix.to_string(), text);
                let sum: f64 = imix.shares().iter().map(|share| share.ratio).sum();
                prop_assert!((sum - 1.0).abs() < 1e-9);
            }
        }

        #[test]
        fn no_foreign_text_panics(text in "\\PC{0,40}") {
            let _ = text.parse::<Imix>();
        }

        #[test]
        fn a_frame_depends_on_seed_and_ordinal_only(seed: [u32; 6], ordinal: u64) {
            let frames = "chadda2004".parse::<Imix>().unwrap().frames(Seed(seed));
            let alone = frames.size(ordinal);
            for other in 0..8 {
                frames.size(other);
            }
            prop_assert_eq!(frames.size(ordinal), alone);
        }
    }
}
