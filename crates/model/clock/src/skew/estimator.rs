//! One interface for all methods.

use romer_record::warning::{MeasurementWarning, SkewUnknown};
use romer_units::{Arrival, Departure, Direction, Timestamp};

use super::arithmetic::{REACH_NS, many, rounded};
use super::classic::{self, LeastSquares, NORMAL, Sloped};
use super::correction::{Correction, Leg};
use super::estimate::{ChangeKind, ClockChange, Estimate, Skew, coarse};
use super::hull::{Hull, Point};
use super::khlifi::Windows;
use super::method::Method;
use super::piecewise::Piecewise;
use super::resolution::Resolution;
use crate::clocks::across;

/// Packets, and nanoseconds from the first to the last, that would tell a slope and how sure it is in shorter windows.
const ENOUGH: (u64, i64) = (10, 1_000_000_000);

/// Estimates the difference of two clocks' rates from the packets that it is given.
#[derive(Clone, Debug)]
pub struct Estimator {
    method: Method,
    /// The sender's clock at the first packet.
    origin: Option<i64>,
    tracks: [Track; 2],
    piecewise: Option<Box<Piecewise>>,
}

/// One direction.
#[derive(Clone, Debug)]
struct Track {
    /// The raw delay of the first packet.
    base: Option<i64>,
    /// So many first packets alone tell the slope.
    calibration: Option<u64>,
    taken: u64,
    last: i64,
    store: Store,
    resolution: Resolution,
}

#[derive(Clone, Debug)]
enum Store {
    Nothing,
    Sums(LeastSquares),
    All(Vec<Point>),
    Hull { hull: Hull, nearest: Vec<Point>, every: u64 },
    Windows(Box<Windows>),
}

/// Packets of which the hull's density at the floor is computed.
const NEAREST: usize = 20_000;

impl Store {
    fn new(method: Method) -> Self {
        match method {
            Method::None | Method::Piecewise | Method::Best => Self::Nothing,
            Method::LeastSquares => Self::Sums(LeastSquares::default()),
            Method::LeastAbsolute | Method::LeastAbsoluteJumps => Self::All(Vec::new()),
            Method::Hull => Self::Hull { hull: Hull::default(), nearest: Vec::new(), every: 1 },
            Method::Khlifi { window, weight } => {
                Self::Windows(Box::new(Windows::new(window.as_nanos(), weight)))
            }
        }
    }

    fn push(&mut self, point: Point, number: u64) {
        match self {
            Self::Nothing => {}
            Self::Sums(sums) => sums.push(point.at as f64, point.delay as f64),
            Self::All(points) => points.push(point),
            Self::Hull { hull, nearest, every } => {
                hull.push(point);
                if number.is_multiple_of(*every) {
                    nearest.push(point);
                }
                if nearest.len() >= NEAREST {
                    // Every second one stays: a sample of all, of bounded size.
                    let mut keep = false;
                    nearest.retain(|_| {
                        keep = !keep;
                        keep
                    });
                    *every = every.saturating_mul(2);
                }
            }
            Self::Windows(windows) => windows.push(point),
        }
    }
}

impl Estimator {
    /// An estimator that has seen nothing yet. With `calibration` only the first so many packets of a direction that it
    /// is given tell the slope of the methods that [take](Method::takes_calibration) it; the others use all.
    pub fn new(method: Method, calibration: Option<u64>) -> Self {
        Self::of_each(method, [calibration; 2])
    }

    /// The same with so many calibration packets forward and in reverse.
    pub fn calibrated(method: Method, calibration: [u64; 2]) -> Self {
        Self::of_each(method, calibration.map(Some))
    }

    fn of_each(method: Method, calibration: [Option<u64>; 2]) -> Self {
        let tracks = calibration.map(|most| Track {
            base: None,
            calibration: most.filter(|_| method.takes_calibration()),
            taken: 0,
            last: 0,
            store: Store::new(method),
            resolution: Resolution::default(),
        });
        let piecewise = matches!(method, Method::Piecewise | Method::Best).then(Box::default);
        Self { method, origin: None, tracks, piecewise }
    }

    /// The method.
    pub fn method(&self) -> Method {
        self.method
    }

    /// Takes a packet in. Packets of a direction come best in order of time; the estimate is the same in any other
    /// order with every method but Khlifi's, and with calibration packets.
    pub fn push(&mut self, heading: Direction, departure: Timestamp<Departure>, arrival: Timestamp<Arrival>) {
        let here = match heading {
            Direction::Forward => departure.as_nanos(),
            Direction::Reverse => arrival.as_nanos(),
        };
        let Ok(raw) = i64::try_from(across(departure, arrival)) else { return };
        let at = here.checked_sub(*self.origin.get_or_insert(here));
        let track = &mut self.tracks[usize::from(heading == Direction::Reverse)];
        let delay = raw.checked_sub(*track.base.get_or_insert(raw));
        let near = |value: Option<i64>| value.filter(|value| value.abs() <= REACH_NS);
        let (Some(at), Some(delay)) = (near(at), near(delay)) else { return };
        track.last = track.last.max(at);
        track.resolution.push(departure.as_nanos(), arrival.as_nanos());
        // A clock jumps after its calibration, too.
        let jumps = self.method == Method::LeastAbsoluteJumps;
        if !jumps && track.calibration.is_some_and(|most| track.taken >= most) {
            return;
        }
        if let Some(piecewise) = &mut self.piecewise {
            piecewise.push(heading, Point { at, delay });
        }
        track.store.push(Point { at, delay }, track.taken);
        track.taken += 1;
    }

    /// Another one for packets of the same stream, which this one takes in later ([`absorb`](Self::absorb)): two can take
    /// packets at once. `None` where the method wants them one after the other. Each direction must have had its first
    /// packet, or never have any.
    pub fn fork(&self) -> Option<Self> {
        let mut other = Self::of_each(self.method, self.tracks.each_ref().map(|track| track.calibration));
        other.origin = self.origin;
        for (track, own) in other.tracks.iter_mut().zip(&self.tracks) {
            track.base = own.base;
        }
        self.piecewise.is_some().then_some(other)
    }

    /// Takes in what one that was [forked](Self::fork) from it has been given.
    pub fn absorb(&mut self, other: Self) {
        for (track, theirs) in self.tracks.iter_mut().zip(other.tracks) {
            track.last = track.last.max(theirs.last);
            track.taken += theirs.taken;
            track.resolution.absorb(&theirs.resolution);
        }
        if let (Some(own), Some(theirs)) = (&mut self.piecewise, other.piecewise) {
            own.absorb(*theirs);
        }
    }

    /// What can be said now.
    pub fn estimate(&self) -> Estimate {
        let [there, back] = self.tracks.each_ref().map(|track| &track.resolution);
        let told = [there.told(Some(back)), back.told(Some(there))];
        let mut estimate = self.by_method(told.map(|told| told.off as f64));
        // What each end's stamps do not tell is in every delay, whatever is taken out of it.
        let most = told.map(|told| coarse(told.most as f64));
        for (correction, most) in estimate.corrections.iter_mut().zip(most) {
            correction.floor_error_ns += most;
        }
        estimate.coarse_ns = most.into_iter().fold(0.0, f64::max);
        estimate
    }

    /// What the method says of delays that may be off by `grains`, forward and in reverse.
    fn by_method(&self, grains: [f64; 2]) -> Estimate {
        if self.method == Method::None {
            return Estimate::default();
        }
        if let Some(piecewise) = &self.piecewise {
            // Delays are counted from the first of each direction.
            let bases = self.tracks.iter().filter_map(|track| track.base).map(|base| base as f64).sum();
            return piecewise.estimate(self.origin.unwrap_or(0), grains, bases);
        }
        let mut estimate = match self.method {
            Method::Khlifi { window, .. }
                if self.tracks.iter().any(|track| track.taken >= ENOUGH.0 && track.last >= ENOUGH.1) =>
            {
                Estimate::refused(SkewUnknown::FewPerWindow { window_ns: window.as_nanos() })
            }
            _ => Estimate::refused(SkewUnknown::FewOrClose),
        };
        let fits = self.tracks.each_ref().map(|track| self.fit(track));
        let signs = Direction::BOTH.map(Direction::sign);
        // One figure for both: the forward direction's, as its method has it; else the other's.
        for (fit, sign) in fits.iter().zip(signs) {
            if let (Some(fit), None) = (fit, estimate.skew) {
                estimate.skew = Some(skew(fit.slope, sign));
                estimate.why_not = None;
            }
        }
        let (mut seen, mut left_open) = ([Vec::new(), Vec::new()], 0.0);
        for (index, fit) in fits.into_iter().enumerate() {
            let Some(fit) = fit else { continue };
            let [slope, low, high] = fit.slope;
            // Of each jump delays after it have what its size is off by.
            let of_jumps = fit.jumps.iter().fold(0.0_f64, |sum, (_, _, error)| sum.hypot(*error));
            let correction = Correction {
                origin_ns: self.origin.unwrap_or(0),
                legs: fit.legs,
                rate_error: (high - slope).max(slope - low),
                floor_error_ns: of_jumps,
                anchor_ns: fit.anchor_ns,
            };
            if of_jumps > 0.0 {
                let last = correction.origin_ns.saturating_add(self.tracks[index].last);
                left_open = f64::max(left_open, correction.error_at(last));
            }
            estimate.corrections[index] = correction;
            seen[index].extend(fit.jumps.iter().map(|(at, size, error)| ClockChange {
                at_ns: self.origin.unwrap_or(0).saturating_add(*at),
                until_ns: None,
                kind: ChangeKind::ClockStep,
                heading: None,
                size_ns: rounded(size * signs[index]),
                error_ns: *error,
                dated_by: None,
                may_be: None,
            }));
        }
        estimate.remarks = Vec::from_iter((left_open > 0.0).then(|| after_jumps(left_open)));
        // One clock's jump is seen in both directions.
        let between = self.tracks[0].last.max(self.tracks[1].last) / 100;
        let [there, back] = seen;
        let same = |a: &ClockChange, b: &ClockChange| {
            a.at_ns.saturating_sub(b.at_ns).abs() <= between && (a.size_ns > 0) == (b.size_ns > 0)
        };
        let mut unmatched = there.clone();
        estimate.events = there;
        estimate.events.extend(back.into_iter().filter(|event| {
            let nearest = unmatched
                .iter()
                .enumerate()
                .filter(|(_, other)| same(other, event))
                .min_by_key(|(_, other)| other.at_ns.abs_diff(event.at_ns));
            let nearest = nearest.map(|(place, _)| place);
            nearest.map(|place| unmatched.remove(place)).is_none()
        }));
        estimate.events.sort_by_key(|event| event.at_ns);
        estimate
    }

    fn fit(&self, track: &Track) -> Option<Fit> {
        match &track.store {
            Store::Nothing => None,
            Store::Sums(sums) => {
                let (slope, error) = sums.slope()?;
                Some(Fit::line([slope, slope - NORMAL * error, slope + NORMAL * error], sums.mean_x()))
            }
            Store::All(points) => self.absolute(points, track.calibration),
            Store::Hull { hull, nearest, .. } => of_hull(hull, nearest),
            Store::Windows(windows) => {
                let (slope, legs) = windows.result()?;
                Some(Fit { slope, legs, anchor_ns: track.last, jumps: Vec::new() })
            }
        }
    }

    fn absolute(&self, points: &[Point], calibration: Option<u64>) -> Option<Fit> {
        let in_order = |points: &[Point]| {
            let mut points = points.to_vec();
            points.sort_unstable();
            classic::floats(&points)
        };
        let first = calibration.map(|most| usize::try_from(most).unwrap_or(usize::MAX));
        let calibration = first.and_then(|first| points.get(..first)).map(in_order);
        let points = in_order(points);
        let fitted = calibration.as_ref().unwrap_or(&points);
        let middle = LeastSquares::new(fitted).mean_x();
        if self.method == Method::LeastAbsolute {
            return Some(Fit::line(classic::least_absolute(&points)?, middle));
        }
        let (slope, jumps) = classic::least_absolute_jumps(&points, calibration.as_deref())?;
        let mut fit = Fit::line(slope, middle);
        let mut sum = 0.0;
        for jump in jumps {
            sum += jump.size;
            let from_ns = rounded(jump.at);
            fit.legs.push(Leg { from_ns, value_ns: sum + slope[0] * jump.at, slope: slope[0] });
            fit.jumps.push((from_ns, jump.size, jump.error));
        }
        Some(fit)
    }
}

/// How far delays may be off, nanoseconds, that are freed of a calibration's slope and of jumps after it.
fn after_jumps(left_open: f64) -> MeasurementWarning {
    let nanos = rounded(left_open.ceil()).max(1);
    // Two digits, and no less than it is.
    let digit = 10_i64.pow(nanos.ilog10().saturating_sub(1));
    MeasurementWarning::StepCompensationUncertain {
        delay_error_ns: nanos.saturating_add(digit - 1) / digit * digit,
    }
}

/// What a method finds in one direction.
struct Fit {
    slope: Sloped,
    legs: Vec<Leg>,
    anchor_ns: i64,
    /// When, how much, and half the width of the interval of that.
    jumps: Vec<(i64, f64, f64)>,
}

impl Fit {
    fn line(slope: Sloped, anchor: f64) -> Self {
        let leg = Leg { from_ns: 0, value_ns: 0.0, slope: slope[0] };
        Self { slope, legs: vec![leg], anchor_ns: rounded(anchor), jumps: Vec::new() }
    }
}

/// The published slope, and the interval that an exponential floor gives: as many packets a nanosecond as there are
/// among the nearest, as many of them as the root of all.
fn of_hull(hull: &Hull, sample: &[Point]) -> Option<Fit> {
    let (corner, _) = hull.best_edge()?;
    let slope = hull.slope()?;
    let above = |point: &Point| {
        point.delay as f64 - corner.delay as f64 - slope * point.at.saturating_sub(corner.at) as f64
    };
    let mut excess: Vec<f64> = sample.iter().map(above).collect();
    let near = sample.len().isqrt();
    if near < 3 {
        return None;
    }
    let (_, reach, _) = excess.select_nth_unstable_by(near, f64::total_cmp);
    let share = many(near) / many(sample.len());
    let density = share * (hull.count() as f64) / reach.max(0.5);
    let [_, low, high] = hull.posterior(density)?;
    Some(Fit::line([slope, low.min(slope), high.max(slope)], hull.mean_at()))
}

/// Slope of the raw delays, as parts in a million of the responder's clock.
fn skew([slope, low, high]: Sloped, sign: f64) -> Skew {
    let ends = [sign * low * 1e6, sign * high * 1e6];
    let interval_ppm = [ends[0].min(ends[1]), ends[0].max(ends[1])];
    Skew { ppm: sign * slope * 1e6, interval_ppm }
}
