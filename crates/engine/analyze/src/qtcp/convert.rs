//! A `.raw` of any length made a `.log`, in several passes over the file and in bounded memory.

use std::io::{self, BufRead, Write};

use romer_clock::skew::{Estimate, Estimator, Method, sharpen};
use romer_exchange::csv::Fault;
use romer_exchange::qtcp::{
    Entry, Lines, Options, Record, Records, Selection, Spread, UNIT_NS, Validation, examine,
};
use romer_record::warning::QtcpNote;
use romer_units::{Arrival, Departure, Direction, Timestamp};
use thiserror::Error;

use super::receiver::{StepBack, StepsBack};
use super::sender::{Falls, Shifts};
use super::thinned::Thinned;
use super::{IMPLAUSIBLE_PPM, SkewOutcome, SkewRefusal, compensations, in_units, sent_back};

/// Of so many packets all are kept in memory, for the methods that go over them again and again; of more, half as many.
pub const KEPT: usize = 1 << 20;

/// How a file is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReadOptions {
    /// How strictly.
    pub options: Options,
    /// The unit of its stamps, nanoseconds.
    pub unit_ns: i64,
    /// [`KEPT`], or fewer; at least 2.
    pub kept: usize,
}

impl Default for ReadOptions {
    fn default() -> Self {
        Self { options: Options::default(), unit_ns: UNIT_NS, kept: KEPT }
    }
}

/// Why a file cannot be converted.
#[derive(Debug, Error)]
pub enum Unconverted {
    /// It cannot be read, or is no `.raw`.
    #[error(transparent)]
    Fault(#[from] Fault),
    /// It cannot be freed of skew.
    #[error(transparent)]
    Refused(#[from] SkewRefusal),
    /// It was written to in the meantime.
    #[error("it was changed while it was read; convert it when it is whole")]
    Changed,
    /// The `.log` cannot be written.
    #[error("{0}")]
    Write(io::Error),
}

/// What is taken out of the packets, and what is left.
#[derive(Debug, Default)]
struct Plan {
    shifts: Shifts,
    estimate: Option<Estimate>,
    /// Of the packets without the shifts and the correction.
    left: Spread,
}

/// A conversion of a file that `open` opens at its beginning, once for each pass.
pub struct Conversion<F> {
    open: F,
    reading: ReadOptions,
    examined: Validation,
    spread: Spread,
    /// Some of the packets or all, with their places in the file.
    kept: Thinned<Entry>,
    falls: Option<Shifts>,
    /// What tells whether a pass read the same as the first.
    sum: u64,
    plan: Plan,
    /// The numbers of those that were lost, ascending, where something else than the file tells.
    lost: Option<Vec<u64>>,
}

impl<R: BufRead, F: FnMut() -> io::Result<R>> Conversion<F> {
    /// Reads the file once; for [`Method::LeastAbsoluteJumps`] it also looks for steps of the sender's clock.
    ///
    /// # Errors
    /// [`Fault`] where it is no `.raw`.
    pub fn read(mut open: F, reading: ReadOptions, method: Method) -> Result<Self, Fault> {
        let (mut spread, mut kept, mut sum) = (Spread::default(), Thinned::new(reading.kept), 0);
        let mut falls = (method == Method::LeastAbsoluteJumps).then(|| Falls::new(reading.kept));
        let examined = examine(open()?, reading.options, |raw| {
            let entry = raw.from_units(reading.unit_ns);
            if let Some(falls) = &mut falls {
                falls.push((entry.sequence, spread.count), entry.sent);
            }
            kept.push(spread.count, entry);
            spread.take(&entry);
            sum = summed(sum, &raw);
            Ok(())
        })?;
        let falls = falls.map(Falls::finish);
        Ok(Self { open, reading, examined, spread, kept, falls, sum, plan: Plan::default(), lost: None })
    }

    /// What the file shows.
    pub fn examined(&self) -> &Validation {
        &self.examined
    }

    /// Takes it that `lost` (ascending) are the packets that were lost, and no others of those that are missing.
    pub fn know_lost(&mut self, lost: Vec<u64>) {
        self.lost = Some(lost);
    }

    /// How many packets were lost.
    pub fn lost_count(&self) -> u64 {
        self.lost.as_ref().map_or_else(|| self.examined.lost_count(), |lost| lost.len() as u64)
    }

    /// Between what its stamps lie.
    pub fn spread(&self) -> &Spread {
        &self.spread
    }

    /// Makes ready to write what [`to_log`](super::to_log) makes of the packets in memory: the skew is fitted by `method` to
    /// the first `calibration` packets that were sent (0: to all), and the steps of the clocks are found. With
    /// least absolute deviation, of more packets than are kept only a part is used for that, drawn evenly, which is said.
    ///
    /// # Errors
    /// [`Unconverted`].
    pub fn plan(
        &mut self,
        method: Method,
        calibration: u64,
        any_skew: bool,
    ) -> Result<SkewOutcome, Unconverted> {
        let there = self.examined.packets;
        let sent = self.examined.span().map_or(0, |[first, last]| (last - first).saturating_add(1));
        let sent = sent.max(there);
        if calibration > sent {
            return Err(SkewRefusal::Calibration { stated: calibration, there: sent }.into());
        }
        let mut outcome = SkewOutcome::default();
        self.plan = Plan::default();
        if method == Method::LeastAbsoluteJumps {
            self.plan.shifts = self.falls.clone().unwrap_or_default();
            if self.plan.shifts.are_too_many() {
                return Err(SkewRefusal::NoFit(
                    "the send times go back more often than a clock is set".into(),
                )
                .into());
            }
            outcome.notes.extend(sent_back(self.plan.shifts.count()));
        }
        if method == Method::None {
            outcome.notes.extend(super::unheeded(calibration));
        } else if there < 2 {
            outcome.notes.push(QtcpNote::OnePacket);
        } else {
            if calibration == 0 {
                outcome.notes.push(QtcpNote::NoCalibration);
            }
            let until = self.until(calibration);
            outcome.notes.extend(super::counted_from_zero(calibration, self.first(), until));
            self.fit(method, calibration, any_skew, &mut outcome)?;
        }
        let mut left = Spread::default();
        let sought = self.examined.notes.received_back.filter(|_| method == Method::LeastAbsoluteJumps);
        let mut back = sought.map(|(_, units)| {
            StepsBack::from_units(units.saturating_mul(self.reading.unit_ns).div_euclid(UNIT_NS))
        });
        self.pass(|this, place, entry| {
            let without = this.taken_out(place, entry);
            left.take(&without);
            if let Some(back) = &mut back {
                back.push(place, entry, without);
            }
            Ok(())
        })?;
        self.plan.left = left;
        if let Some((back, step)) = back.and_then(|back| back.first().map(|step| (back, step))) {
            let since = self.since(step)?;
            outcome.notes.push(back.note(step, since));
        }
        Ok(outcome)
    }

    /// The number of the first packet before a step that is left in, from which on latencies are as high as right before it.
    fn since(&mut self, step: StepBack) -> Result<u64, Unconverted> {
        let mut since = None;
        self.pass(|this, place, entry| {
            if place >= step.place {
                return Ok(());
            }
            if this.taken_out(place, entry).latency() <= step.above {
                since = None;
            } else if since.is_none() {
                since = Some(entry.sequence);
            }
            Ok(())
        })?;
        Ok(since.unwrap_or(0))
    }

    /// Writes the `.log`, as it was [planned](Self::plan), and gives the number of its lines.
    ///
    /// # Errors
    /// [`Unconverted::Write`], and others where the file is not what it was.
    pub fn write<W: Write + ?Sized>(
        &mut self,
        out: &mut W,
        selection: Selection,
    ) -> Result<u64, Unconverted> {
        let examined = std::mem::take(&mut self.examined);
        let Spread { sent, latency, .. } = self.plan.left;
        let spread = Spread { latency: [0, latency[1] - latency[0]], ..self.plan.left };
        let known = self.lost.take();
        let lost: Box<dyn Iterator<Item = u64> + '_> = match &known {
            Some(lost) => Box::new(lost.iter().copied()),
            None => Box::new(examined.lost()),
        };
        let mut lines = Lines::new(out, &spread, lost, selection);
        let written = self.pass(|this, place, entry| {
            let mut entry = this.taken_out(place, entry);
            entry.received = entry.latency() - latency[0];
            entry.sent -= sent[0];
            entry.received += entry.sent;
            lines.write(&entry).map_err(Unconverted::Write)
        });
        let written = written.and_then(|()| lines.finish().map_err(Unconverted::Write));
        (self.examined, self.lost) = (examined, known);
        written
    }

    /// Gives each packet once more, with its place in the file.
    fn pass(
        &mut self,
        mut each: impl FnMut(&Self, u64, Entry) -> Result<(), Unconverted>,
    ) -> Result<(), Unconverted> {
        let changed = |fault| match fault {
            Fault::Io(_) => Unconverted::Fault(fault),
            Fault::Line { .. } => Unconverted::Changed,
        };
        let mut records = Records::new((self.open)().map_err(Fault::from)?, self.reading.options);
        let (mut sum, mut place) = (0, 0);
        // What a file has grown by since is not looked at.
        while place < self.spread.count
            && let Some(record) = records.next_record().map_err(changed)?
        {
            if let Record::Arrived(entry) = record {
                sum = summed(sum, &entry);
                each(self, place, entry.from_units(self.reading.unit_ns))?;
                place += 1;
            }
        }
        if (sum, place) == (self.sum, self.spread.count) { Ok(()) } else { Err(Unconverted::Changed) }
    }

    /// The stamps of a packet as the estimators have them: counted from the first, the sender's steps undone.
    fn stamps(&self, place: u64, entry: &Entry) -> (Timestamp<Departure>, Timestamp<Arrival>) {
        let shift = self.plan.shifts.at((entry.sequence, place));
        let sent = (entry.sent - self.spread.sent[0]).saturating_add(shift);
        let received = entry.received - self.spread.sent[0] - self.spread.latency[0];
        (Timestamp::from_nanos(nanos(sent)), Timestamp::from_nanos(nanos(received)))
    }

    /// A packet without what is planned to be taken out of it.
    fn taken_out(&self, place: u64, entry: Entry) -> Entry {
        let sent = entry.sent.saturating_add(self.plan.shifts.at((entry.sequence, place)));
        let correction = self.plan.estimate.as_ref().map(|estimate| estimate.correction(Direction::Forward));
        let since = nanos(sent.saturating_sub(self.spread.sent[0]));
        let error = correction.map_or(0, |correction| in_units(correction.at(since)));
        Entry { sent, received: entry.received.saturating_sub(error), ..entry }
    }

    fn fit(
        &mut self,
        method: Method,
        calibration: u64,
        any_skew: bool,
        outcome: &mut SkewOutcome,
    ) -> Result<(), Unconverted> {
        let estimate = if self.kept.is_whole() {
            self.estimate_of(&self.kept, method, self.until(calibration))
        } else {
            self.estimate_of_many(method, calibration, outcome)?
        };
        let Some(skew) = estimate.skew else {
            return Err(super::no_fit(estimate.why_not.as_ref()).into());
        };
        if skew.ppm.abs() > IMPLAUSIBLE_PPM && !any_skew {
            return Err(SkewRefusal::Implausible(skew.ppm, self.examined.packets).into());
        }
        outcome.skew_ppm = Some(skew.ppm);
        outcome.notes.extend(super::few(self.examined.packets, calibration));
        if !estimate.events.is_empty() {
            outcome.notes.extend(compensations(&estimate));
        }
        self.plan.estimate = Some(self.sharpened(estimate)?);
        Ok(())
    }

    /// The least number that came.
    fn first(&self) -> u64 {
        self.examined.span().map_or(0, |[first, _]| first)
    }

    /// The number after that of the last calibration packet. Where packets are missing, they count from 0, for the first may be
    /// among them.
    fn until(&self, calibration: u64) -> u64 {
        let first = self.first();
        match calibration {
            0 => u64::MAX,
            stated if first < stated && self.examined.has_gaps() => stated,
            stated => first.saturating_add(stated),
        }
    }

    /// What a method says of those of the `calibrating` packets whose number is below `until`; of jumps, all that are kept tell.
    fn estimate_of(&self, calibrating: &Thinned<Entry>, method: Method, until: u64) -> Estimate {
        let below = calibrating.values().iter().filter(|(_, one)| one.sequence < until);
        let mut order: Vec<&(u64, Entry)> = below.collect();
        let mut estimator = Estimator::new(method, None);
        if method == Method::LeastAbsoluteJumps && until < u64::MAX {
            estimator = Estimator::calibrated(method, [order.len() as u64, 0]);
            order.extend(self.kept.values().iter().filter(|(_, one)| one.sequence >= until));
        }
        order.sort_by_key(|(_, entry)| entry.sequence);
        for (place, entry) in order {
            let (departure, arrival) = self.stamps(*place, entry);
            estimator.push(Direction::Forward, departure, arrival);
        }
        estimator.estimate()
    }

    /// The same of more packets than are kept: of all with the methods that need not keep them.
    fn estimate_of_many(
        &mut self,
        method: Method,
        calibration: u64,
        outcome: &mut SkewOutcome,
    ) -> Result<Estimate, Unconverted> {
        let until = self.until(calibration);
        if method.is_bounded() {
            let mut estimator = Estimator::new(method, None);
            self.pass(|this, place, entry| {
                if entry.sequence < until {
                    let (departure, arrival) = this.stamps(place, &entry);
                    estimator.push(Direction::Forward, departure, arrival);
                }
                Ok(())
            })?;
            return Ok(estimator.estimate());
        }
        if calibration == 0 {
            outcome.notes.extend(part(&self.kept));
            return Ok(self.estimate_of(&self.kept, method, until));
        }
        let mut calibrating = Thinned::new(self.reading.kept);
        self.pass(|_, place, entry| {
            if entry.sequence < until {
                calibrating.push(place, entry);
            }
            Ok(())
        })?;
        outcome.notes.extend(part(&calibrating));
        Ok(self.estimate_of(&calibrating, method, until))
    }

    /// The estimate with its jumps between the two packets where they belong.
    fn sharpened(&mut self, mut estimate: Estimate) -> Result<Estimate, Unconverted> {
        let correction = estimate.correction_mut(Direction::Forward);
        if correction.legs.len() < 2 {
            return Ok(estimate);
        }
        let kept = |this: &Self| -> Vec<_> {
            this.kept.values().iter().map(|(place, entry)| this.stamps(*place, entry)).collect()
        };
        sharpen(correction, Direction::Forward, kept(self).into_iter());
        if self.kept.is_whole() {
            return Ok(estimate);
        }
        // Each lies between two of those that are kept, and those between them say where.
        let mut moments: Vec<i64> = kept(self).iter().map(|(departure, _)| departure.as_nanos()).collect();
        moments.sort_unstable();
        let around = |at: i64| {
            let place = moments.partition_point(|moment| *moment < at);
            moments[place.saturating_sub(2)]..=moments[(place + 1).min(moments.len() - 1)]
        };
        let jumps = correction.legs[1..].iter().map(|leg| correction.origin_ns.saturating_add(leg.from_ns));
        let windows: Vec<_> = jumps.map(around).collect();
        drop(moments);
        let (mut near, most) = (Vec::new(), self.reading.kept);
        self.pass(|this, place, entry| {
            let stamps = this.stamps(place, &entry);
            let moment = stamps.0.as_nanos();
            if near.len() < most && windows.iter().any(|window| window.contains(&moment)) {
                near.push(stamps);
            }
            Ok(())
        })?;
        near.extend(kept(self));
        sharpen(estimate.correction_mut(Direction::Forward), Direction::Forward, near.into_iter());
        Ok(estimate)
    }
}

/// That only some packets say what the skew is, where that is so.
fn part(kept: &Thinned<Entry>) -> Option<QtcpNote> {
    (!kept.is_whole()).then(|| QtcpNote::PacketsSampled {
        used: kept.values().len() as u64,
        packets: kept.seen(),
        limit: kept.whole() as u64,
    })
}

fn nanos(units: i64) -> i64 {
    units.saturating_mul(UNIT_NS)
}

/// A sum that tells one order of packets from another.
fn summed(sum: u64, entry: &Entry) -> u64 {
    let stamps = entry.sent.cast_unsigned() ^ entry.received.cast_unsigned().rotate_left(24);
    let rest = entry.sequence ^ u64::from(entry.size).rotate_left(48);
    (sum.rotate_left(5) ^ stamps ^ rest.rotate_left(12)).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}
