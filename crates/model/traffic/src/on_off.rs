//! Sources that fall silent: talk-spurts, and on/off in general.
//!
//! The packets are those of a codec, or of an interval, whose clock never stops; a [`Gate`] lets through the ones
//! that fall into talk and holds back the others, as voice activity detection does. So offsets stay multiples of
//! the interval, and the mean time between packets is exactly the interval divided by the share of talk. A run
//! begins as if the source had run for ever: in talk as often as it talks, with what is left of that phase. So is that
//! mean from the first packet on, and many streams do not all talk at their starts. Where all lengths are constant it
//! begins with talk, as bursts that are asked for by their lengths do. Lengths are independent of one another, and drawn
//! from (seed, number of the cycle).

use core::fmt;

use romer_units::Duration;
use romer_units::random::{RandomStream, Seed};

use crate::draw;

/// The shortest mean of a phase: with shorter ones, the cycles between two packets would be beyond counting.
const MIN_MEAN_PHASE: Duration = Duration::from_millis(1);
/// The longest mean length of talk or silence: weighted sums of several stay far within 64 bits.
const MAX_MEAN_PHASE: Duration = Duration::from_secs(86_400);
/// Most phases of a mixture.
const MOST_PHASES: usize = 8;

/// One branch of a mixture of exponential distributions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Phase {
    /// Its weight in thousandths.
    weight: u32,
    mean: Duration,
}

/// How long talk, or silence, lasts.
///
/// Written `1.2s` (exponential with that mean), `=1.2s` (always so long), or as a hyperexponential mixture
/// `0.789*636ms+0.211*2.38s` (weights with at most three decimals that sum to 1, each with its mean).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DurationLaw(DurationKind);

#[derive(Clone, Debug, PartialEq, Eq)]
enum DurationKind {
    Constant(Duration),
    Mixture(Vec<Phase>),
}

impl DurationLaw {
    /// Exponential with mean `mean`.
    fn exponential(mean: Duration) -> Self {
        Self(DurationKind::Mixture(vec![Phase { weight: 1_000, mean }]))
    }

    /// Two exponential branches, each of weight (in thousandths) and mean.
    fn mixture(branches: [(u32, Duration); 2]) -> Self {
        Self(DurationKind::Mixture(branches.map(|(weight, mean)| Phase { weight, mean }).to_vec()))
    }

    /// The mean length, to the nearest nanosecond below.
    pub fn mean(&self) -> Duration {
        match &self.0 {
            DurationKind::Constant(length) => *length,
            DurationKind::Mixture(phases) => {
                let weighted = |phase: &Phase| i128::from(phase.weight) * i128::from(phase.mean.as_nanos());
                let sum: i128 = phases.iter().map(weighted).sum();
                Duration::from_nanos(i64::try_from(sum / 1_000).unwrap_or(i64::MAX))
            }
        }
    }

    /// The standard deviation of the lengths in nanoseconds.
    #[expect(clippy::cast_precision_loss, reason = "a deviation is wanted to a few digits")]
    pub(crate) fn deviation(&self) -> f64 {
        match &self.0 {
            DurationKind::Constant(_) => 0.0,
            DurationKind::Mixture(phases) => {
                let square =
                    |phase: &Phase| f64::from(phase.weight) / 500.0 * (phase.mean.as_nanos() as f64).powi(2);
                let squares: f64 = phases.iter().map(square).sum();
                libm::sqrt((squares - (self.mean().as_nanos() as f64).powi(2)).max(0.0))
            }
        }
    }

    /// Whether lengths differ.
    pub const fn is_random(&self) -> bool {
        matches!(self.0, DurationKind::Mixture(_))
    }

    /// The length of number `cycle`.
    fn draw(&self, streams: &Streams, cycle: u64) -> Duration {
        match &self.0 {
            DurationKind::Constant(length) => *length,
            DurationKind::Mixture(phases) => {
                let mut place = draw::integer(&streams.branch, cycle, 0, 999);
                let mut chosen = Duration::ZERO;
                for phase in phases {
                    chosen = phase.mean;
                    if place < u64::from(phase.weight) {
                        break;
                    }
                    place -= u64::from(phase.weight);
                }
                draw::exponential(&streams.length, cycle, chosen)
            }
        }
    }

    /// What is left of a length at a moment that does not depend on it. Of a mixture it is of a branch as often as that has the time,
    /// and as long as all of a length of that branch, which remembers nothing.
    fn draw_rest(&self, streams: &Streams, place: u64) -> Duration {
        match &self.0 {
            DurationKind::Constant(length) => {
                let nanos = length.as_nanos().unsigned_abs();
                let rest = draw::integer(&streams.length, place, 1, nanos.max(1));
                Duration::from_nanos(i64::try_from(rest).unwrap_or(i64::MAX))
            }
            DurationKind::Mixture(phases) => {
                let time = |phase: &Phase| u64::from(phase.weight) * phase.mean.as_nanos().unsigned_abs();
                let all: u64 = phases.iter().map(time).sum();
                let mut place_in_time = draw::integer(&streams.branch, place, 0, all.saturating_sub(1));
                let mut chosen = Duration::ZERO;
                for phase in phases {
                    chosen = phase.mean;
                    if place_in_time < time(phase) {
                        break;
                    }
                    place_in_time -= time(phase);
                }
                draw::exponential(&streams.length, place, chosen)
            }
        }
    }

    pub(crate) fn read(text: &str) -> Result<Self, String> {
        if let Some(length) = text.strip_prefix('=') {
            return Ok(Self(DurationKind::Constant(length_of(length)?)));
        }
        if !text.contains('*') {
            return Ok(Self::exponential(length_of(text)?));
        }
        let phases = text.split('+').map(phase_of).collect::<Result<Vec<_>, _>>()?;
        if phases.len() > MOST_PHASES {
            return Err(format!("a mixture has at most {MOST_PHASES} branches; leave some out"));
        }
        let sum: u32 = phases.iter().map(|phase| phase.weight).sum();
        if sum != 1_000 {
            let sum = f64::from(sum) / 1_000.0;
            return Err(format!("the weights sum to {sum} and not to 1; write them as in 0.7*400ms+0.3*2s"));
        }
        Ok(Self(DurationKind::Mixture(phases)))
    }
}

fn length_of(text: &str) -> Result<Duration, String> {
    let length: Duration = text.parse().map_err(|error: romer_units::QuantityError| error.to_string())?;
    if length < MIN_MEAN_PHASE {
        return Err(format!("a length of {length} is too short; use at least {MIN_MEAN_PHASE}"));
    }
    if length > MAX_MEAN_PHASE {
        return Err(format!("a length of {length} is too long; use at most {MAX_MEAN_PHASE}"));
    }
    Ok(length)
}

/// Reads `0.7*400ms`.
fn phase_of(text: &str) -> Result<Phase, String> {
    let wrong = || {
        let shown = romer_units::excerpt(text, 40);
        format!(
            "{shown:?} is not a weight and a mean; write a branch as in 0.7*400ms, at most three decimals"
        )
    };
    let (weight, mean) = text.split_once('*').ok_or_else(wrong)?;
    let weight = thousandths(weight).ok_or_else(wrong)?;
    Ok(Phase { weight, mean: length_of(mean)? })
}

/// `0.7` as 700; from 0.001 to 1.
fn thousandths(text: &str) -> Option<u32> {
    let (whole, part) = text.split_once('.').unwrap_or((text, ""));
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if !digits(whole)
        || !digits(part)
        || part.len() > 3
        || whole.len() > 1
        || text.len() < 2 && whole.is_empty()
    {
        return None;
    }
    let whole: u32 = if whole.is_empty() { 0 } else { whole.parse().ok()? };
    let part: u32 = format!("{part:0<3}").parse().ok()?;
    let weight = whole * 1_000 + part;
    (1..=1_000).contains(&weight).then_some(weight)
}

impl fmt::Display for DurationLaw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            DurationKind::Constant(length) => write!(f, "={length}"),
            DurationKind::Mixture(phases) => match phases.as_slice() {
                [only] => write!(f, "{}", only.mean),
                phases => {
                    for (phase, place) in phases.iter().zip(0..) {
                        let plus = if place == 0 { "" } else { "+" };
                        let (whole, part) = (phase.weight / 1_000, phase.weight % 1_000);
                        write!(f, "{plus}{whole}.{part:03}*{}", phase.mean)?;
                    }
                    Ok(())
                }
            },
        }
    }
}

/// Talk-spurt models that have a name.
///
/// Measured conversations reject the exponential distribution for pauses (Brady says so of his own; Menth,
/// Binzenhöfer and Mühleck, University of Würzburg report 426, and Biernacki, "VoIP Source Model based on the
/// Hyperexponential Distribution", of packet voice), and their means differ between detectors of voice by an order
/// of magnitude. So every model here can also be written out as `onoff:ON,OFF` with values of one's own, and a
/// recorded call replayed as a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Talkspurt {
    /// Talk of 1.004 s and pauses of 1.587 s in the mean, both exponential: 38.7 % of the time is talk. The means
    /// are those of ITU-T Recommendation P.59 (1993) for speech detected with a hangover of 200 ms, as the
    /// literature quotes them. Its four-state model of both talkers together is reduced to the one who sends.
    P59,
    /// Talk of 1.2 s and pauses of 1.8 s in the mean, both exponential: 40 % of the time is talk. The reduction to
    /// two states under which the model of P. T. Brady, "A Model for Generating On-Off Speech Patterns in Two-Way
    /// Conversation", Bell System Technical Journal 48 (1969), is commonly used; his own has three states of talk
    /// and three of silence.
    Brady,
    /// The means of P.59 with heavier tails: hyperexponential distributions of two branches with balanced means
    /// (each branch has half of the time), of squared coefficient of variation 2 for talk and 4 for pauses. The
    /// form is that which Biernacki fitted to G.711 with voice activity detection (both indices of dispersion above
    /// one, pauses more than talk); the coefficients are a choice of this program and not his parameters.
    Hyper,
}

impl Talkspurt {
    const ALL: [Self; 3] = [Self::P59, Self::Brady, Self::Hyper];

    /// The name, as it is read.
    pub const fn name(self) -> &'static str {
        match self {
            Self::P59 => "p59",
            Self::Brady => "brady",
            Self::Hyper => "hyper",
        }
    }

    pub(crate) fn read(text: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|one| one.name().eq_ignore_ascii_case(text));
        found.ok_or_else(|| {
            "no talk-spurt model has that name; use p59, brady or hyper, or onoff:ON,OFF".into()
        })
    }

    /// How long talk lasts, and how long silence.
    pub fn laws(self) -> (DurationLaw, DurationLaw) {
        match self {
            Self::P59 => (
                DurationLaw::exponential(Duration::from_millis(1_004)),
                DurationLaw::exponential(Duration::from_millis(1_587)),
            ),
            Self::Brady => (
                DurationLaw::exponential(Duration::from_millis(1_200)),
                DurationLaw::exponential(Duration::from_millis(1_800)),
            ),
            // Balanced means: the weights are (1 +- sqrt((c - 1) / (c + 1))) / 2 for a squared coefficient of
            // variation c, and a branch of weight w has the mean m / 2w.
            Self::Hyper => (
                DurationLaw::mixture([
                    (789, Duration::from_micros(636_248)),
                    (211, Duration::from_micros(2_379_147)),
                ]),
                DurationLaw::mixture([
                    (887, Duration::from_micros(894_589)),
                    (113, Duration::from_micros(7_022_124)),
                ]),
            ),
        }
    }
}

/// The streams that one law draws from.
#[derive(Clone, Copy, Debug)]
struct Streams {
    length: RandomStream,
    branch: RandomStream,
}

/// Talk and silence in turn.
#[derive(Clone, Debug)]
pub(crate) struct Gate {
    talk: (DurationLaw, Streams),
    silence: (DurationLaw, Streams),
    /// The cycle whose talk is from `begin` to `end`.
    cycle: u64,
    begin: Duration,
    end: Duration,
}

impl Gate {
    pub(crate) fn new((talk, silence): (DurationLaw, DurationLaw), seed: Seed) -> Self {
        let streams = |length, branch| Streams {
            length: draw::stream(seed, length),
            branch: draw::stream(seed, branch),
        };
        let [talk, silence] = [(talk, streams(b"talk", b"tbra")), (silence, streams(b"sile", b"sbra"))];
        let start = Self { cycle: 0, begin: Duration::ZERO, end: talk.0.draw(&talk.1, 0), talk, silence };
        if start.talk.0.is_random() || start.silence.0.is_random() { start.amid(seed) } else { start }
    }

    /// The same, met at a moment of no meaning to it.
    fn amid(mut self, seed: Seed) -> Self {
        let rest = Streams { length: draw::stream(seed, b"rest"), branch: draw::stream(seed, b"rbra") };
        let [talk, silence] = [&self.talk.0, &self.silence.0].map(|law| law.mean().as_nanos().unsigned_abs());
        if draw::integer(&rest.length, 0, 1, talk.saturating_add(silence)) <= talk {
            self.end = self.talk.0.draw_rest(&rest, 1);
        } else {
            let length = self.end - self.begin;
            self.begin = self.silence.0.draw_rest(&rest, 1);
            self.end = self.begin + length;
        }
        self
    }

    /// Goes on to the next talk; `None` where it leaves the range of time.
    fn advance(&mut self) -> Option<()> {
        self.begin = self.end.checked_add(self.silence.0.draw(&self.silence.1, self.cycle))?;
        self.cycle = self.cycle.checked_add(1)?;
        self.end = self.begin.checked_add(self.talk.0.draw(&self.talk.1, self.cycle))?;
        Some(())
    }

    /// The first multiple of `interval` that falls into talk, from number `tick` on: its number and its time.
    /// `None` where it leaves the range of time.
    pub(crate) fn next(&mut self, mut tick: u64, interval: Duration) -> Option<(u64, Duration)> {
        loop {
            let time = interval.checked_mul(i64::try_from(tick).ok()?)?;
            if time >= self.end {
                self.advance()?;
            } else if time >= self.begin {
                return Some((tick, time));
            } else {
                let begin = self.begin.as_nanos().unsigned_abs();
                tick = begin.div_ceil(interval.as_nanos().unsigned_abs());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::draw::tests::{KOLMOGOROV, kolmogorov};
    use proptest::prelude::*;

    const SEED: Seed = Seed([11, 12, 13, 14, 15, 16]);
    /// Enough cycles for a mean to half a per cent.
    const CYCLES: u64 = 100_000;

    /// Talk and silence in seconds.
    fn lengths(laws: (DurationLaw, DurationLaw)) -> (Vec<f64>, Vec<f64>) {
        let mut gate = Gate::new(laws, SEED);
        let (mut talk, mut silence) = (Vec::new(), Vec::new());
        for _ in 0..CYCLES {
            talk.push((gate.end - gate.begin).as_secs_f64());
            let end = gate.end;
            gate.advance().unwrap();
            silence.push((gate.begin - end).as_secs_f64());
        }
        (talk, silence)
    }

    fn moments(sample: &[f64]) -> (f64, f64) {
        let n = sample.len() as f64;
        let mean = sample.iter().sum::<f64>() / n;
        (mean, sample.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (n - 1.0))
    }

    /// The mean of n lengths is normal with variance c m^2 / n: 4.9 deviations are 1e-6.
    fn assert_mean(sample: &[f64], mean: f64, squared_variation: f64) {
        let deviation = mean * (squared_variation / sample.len() as f64).sqrt();
        let seen = moments(sample).0;
        assert!((seen - mean).abs() < 4.9 * deviation, "{seen} instead of {mean}");
    }

    /// A length beyond a day is refused, in a mixture too; a peer's request may not overflow what is computed from it.
    #[test]
    fn long_lengths_are_refused() {
        for text in ["86401s", "=9000000000s", "0.5*1s+0.5*9000000000s"] {
            let refusal = DurationLaw::read(text).unwrap_err();
            assert!(refusal.contains("too long"), "{refusal}");
        }
        assert!(DurationLaw::read("86400s").is_ok());
    }

    #[test]
    fn exponential_models_have_the_lengths_of_their_sources() {
        for (model, talk_mean, silence_mean) in [(Talkspurt::P59, 1.004, 1.587), (Talkspurt::Brady, 1.2, 1.8)]
        {
            let (talk, silence) = lengths(model.laws());
            for (sample, mean) in [(talk, talk_mean), (silence, silence_mean)] {
                assert_mean(&sample, mean, 1.0);
                let distance = kolmogorov(sample, |x| 1.0 - (-x / mean).exp());
                assert!(distance < KOLMOGOROV, "{} {mean}: {distance}", model.name());
            }
        }
    }

    #[test]
    fn the_hyperexponential_model_has_the_means_of_p59_and_heavier_tails() {
        let (talk, silence) = lengths(Talkspurt::Hyper.laws());
        assert_mean(&talk, 1.004, 2.0);
        assert_mean(&silence, 1.587, 4.0);
        let mixture = |x: f64, weight: f64, mean: f64| {
            let branch = |weight: f64| weight * (1.0 - (-x * 2.0 * weight / mean).exp());
            branch(weight) + branch(1.0 - weight)
        };
        // The branches that the rounded weights stand for.
        assert!(kolmogorov(talk, |x| mixture(x, 0.789, 1.004)) < KOLMOGOROV);
        assert!(kolmogorov(silence, |x| mixture(x, 0.887, 1.587)) < KOLMOGOROV);
        // From the weights themselves: c = 2 sum of w (m / 2w)^2 / m^2 - 1.
        let variation = |weight: f64| 0.5 * (1.0 / weight + 1.0 / (1.0 - weight)) - 1.0;
        assert!((variation(0.789) - 2.0).abs() < 0.01 && (variation(0.887) - 4.0).abs() < 0.02);
        let (talk, silence) = Talkspurt::Hyper.laws();
        // What is told of a law is what it is.
        assert!((talk.deviation() - 1.004e9 * 2.0f64.sqrt()).abs() < 0.01e9);
        assert!((silence.deviation() - 1.587e9 * 2.0).abs() < 0.01e9);
        let near = |law: &DurationLaw, mean: i64| (law.mean().as_nanos() - mean).abs() < 1_000;
        assert!(near(&talk, 1_004_000_000) && near(&silence, 1_587_000_000));
    }

    #[test]
    fn talk_and_silence_do_not_depend_on_their_neighbours() {
        // The correlation of n independent pairs is normal with variance 1/n: 4.9 deviations are 1e-6.
        let (talk, silence) = lengths(Talkspurt::P59.laws());
        let correlation = |one: &[f64], other: &[f64]| {
            let ((a, va), (b, vb)) = (moments(one), moments(other));
            let products: f64 = one.iter().zip(other).map(|(x, y)| (x - a) * (y - b)).sum();
            products / (va * vb).sqrt() / one.len() as f64
        };
        let root = (CYCLES as f64).sqrt();
        assert!(correlation(&talk, &silence).abs() * root < 4.9);
        assert!(correlation(&talk[1..], &silence[..silence.len() - 1]).abs() * root < 4.9);
        assert!(correlation(&talk[1..], &talk[..talk.len() - 1]).abs() * root < 4.9);
    }

    #[test]
    fn a_run_begins_as_if_the_source_had_run_for_ever() {
        const RUNS: u32 = 20_000;
        let law = |text: &str| DurationLaw::read(text).unwrap();
        for laws in [Talkspurt::P59.laws(), Talkspurt::Hyper.laws(), (law("=1s"), law("1.5s"))] {
            let [talk, silence] = [&laws.0, &laws.1].map(|law| law.mean().as_secs_f64());
            let (share, mut talks) = (talk / (talk + silence), 0_u32);
            // How much of the first second is talk.
            let mut spoken = Vec::new();
            for run in 0..RUNS {
                let mut gate = Gate::new(laws.clone(), Seed([run, 2, 3, 4, 5, 6]));
                talks += u32::from(gate.begin == Duration::ZERO);
                let mut sum = 0.0;
                while gate.begin.as_secs_f64() < 1.0 {
                    sum += gate.end.as_secs_f64().min(1.0) - gate.begin.as_secs_f64();
                    gate.advance().unwrap();
                }
                spoken.push(sum);
            }
            // 4.9 deviations are 1e-6.
            let n = f64::from(RUNS);
            let error = (share * (1.0 - share) / n).sqrt();
            assert!((f64::from(talks) / n - share).abs() < 4.9 * error, "{talks} of {RUNS} begin in talk");
            let (mean, variance) = moments(&spoken);
            assert!(
                (mean - share).abs() < 4.9 * (variance / n).sqrt(),
                "{mean} of the first second, {share} of all"
            );
        }
    }

    #[test]
    fn constant_lengths_give_bursts_of_equal_length() {
        let laws = (DurationLaw::read("=100ms").unwrap(), DurationLaw::read("=50ms").unwrap());
        let mut gate = Gate::new(laws, SEED);
        let interval = Duration::from_millis(20);
        let mut tick = 0;
        let mut times = Vec::new();
        for _ in 0..12 {
            let (found, time) = gate.next(tick, interval).unwrap();
            tick = found + 1;
            times.push(time.as_nanos() / 1_000_000);
        }
        // Talk from 0 to 100, from 150 to 250, from 300 to 400.
        assert_eq!(times, [0, 20, 40, 60, 80, 160, 180, 200, 220, 240, 300, 320]);
    }

    #[test]
    fn a_law_is_read_and_printed_back() {
        for text in
            ["1.2s", "=400ms", "0.789*636.248ms+0.211*2.379147s", "1*1s", ".5*1s+.5*2s", "0.999*1ms+.001*1h"]
        {
            let law = DurationLaw::read(text).unwrap();
            assert_eq!(DurationLaw::read(&law.to_string()), Ok(law), "{text}");
        }
        assert_eq!(DurationLaw::read("0.25*1s+0.75*3s").unwrap().mean(), Duration::from_millis(2_500));
        let ten = ["0.1*1s"; 10].join("+");
        for wrong in [
            "",
            "1",
            "0s",
            "-1s",
            "=0s",
            "999us",
            "0.5*1s",
            "0.5*1s+0.6*1s",
            "0.0001*1s+0.9999*1s",
            "*1s",
            ".*1s",
            &ten,
        ] {
            assert!(DurationLaw::read(wrong).is_err(), "{wrong}");
        }
    }

    proptest! {
        #[test]
        fn every_tick_that_passes_lies_in_talk_and_none_of_talk_is_missed(
            seed: [u32; 6], talk in 1i64..100, silence in 1i64..100, interval in 1i64..100_000,
        ) {
            let law = |ms| DurationLaw::exponential(Duration::from_millis(ms));
            let interval = Duration::from_micros(interval);
            let mut gate = Gate::new((law(talk), law(silence)), Seed(seed));
            let mut spurts = gate.clone();
            let mut expected = Vec::new();
            let mut tick = 0u64;
            while expected.len() < 100 {
                let time = Duration::from_nanos(interval.as_nanos() * i64::try_from(tick).unwrap());
                while time >= spurts.end {
                    spurts.advance().unwrap();
                }
                if time >= spurts.begin {
                    expected.push(time);
                }
                tick += 1;
            }
            let mut tick = 0;
            for time in expected {
                let (found, passed) = gate.next(tick, interval).unwrap();
                prop_assert_eq!(passed, time);
                tick = found + 1;
            }
        }

        #[test]
        fn no_text_of_a_law_panics(text in "\\PC{0,40}") {
            let _ = DurationLaw::read(&text);
        }

        #[test]
        fn no_near_text_of_a_law_panics(text in "[=0-9.*+msun]{0,30}") {
            if let Ok(law) = DurationLaw::read(&text) {
                prop_assert_eq!(DurationLaw::read(&law.to_string()), Ok(law));
            }
        }
    }
}
