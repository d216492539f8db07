//! Whether the device is there: between trials, and in them.

use std::sync::atomic::Ordering;

use romer_host::clock::monotonic_now;
use romer_method::TrialRequest;
use romer_method::analysis::{LEAST_AWAY, STALLED, Silence};
use romer_record::benchmark::{
    BenchmarkEventKind, DeviceAbsence, InvalidTrial, LinkRecovery, PortCondition, StallEffect, TrialOutage,
};
use romer_units::Duration;

use super::running::{PROMPT, Running};
use super::sizes::ProbeOutcome;
use crate::cases;
use crate::error::BenchError;
use crate::frames::addresses;
use crate::options::{BenchOptions, StreamOptions};
use crate::testbed::TestBed;
use crate::trial::{MIN_OUTAGE, TrialRecord};

/// How often a frame that looks whether the device forwards is repeated, at the most.
const ROUND: Duration = Duration::from_millis(100);

/// Whether a device that forwarded nothing in this time was away.
fn is_away(silence: &Silence) -> bool {
    silence.length >= MIN_OUTAGE && silence.frames >= LEAST_AWAY
}

/// Whether the tester cannot have made this silence: without the longest time in which it sent nothing, and without all frames
/// that it may have dropped unread, it is an absence still. After a burst a device without fault carries again what it has room
/// for.
fn is_no_testers(silence: &Silence, unread: u64) -> bool {
    is_away(&Silence {
        length: silence.length - silence.still,
        frames: silence.frames.saturating_sub(unread),
        ..*silence
    })
}

/// Whether a device that gave nothing out in this time stood still, and not the tester: what gives out in bursts does so more often.
fn is_held(held: &Silence) -> bool {
    /// So long at the least.
    const HELD: Duration = Duration::from_millis(200);
    held.length - held.still >= HELD && held.frames >= LEAST_AWAY
}

/// For how long at the least a device did not answer, which came to do so after so many frames of so many streams: first one
/// was sent, then one of each stream again and again.
fn unanswered(sent: u64, streams: usize) -> Duration {
    let rounds = sent.saturating_sub(1) / (streams.max(1) as u64);
    // The first round may have been on its way still.
    (1..rounds).fold(Duration::ZERO, |sum, _| sum + ROUND)
}

/// Whether this silence at a trial's end is no manner of the device, which has been silent about as long within the trial.
fn is_its_own(tail: &Silence, within: Option<&Silence>) -> bool {
    within.is_none_or(|within| tail.length > within.length + within.length)
}

/// How often it is looked whether a port can carry frames again.
const LOOK_AT_PORTS: Duration = Duration::from_millis(100);

/// How the device stands before a trial.
pub(super) enum Standing {
    Forwards,
    /// It had stopped, and forwards again.
    IsBack,
    /// The benchmark ends here.
    Ends,
}

impl<B: TestBed> Running<'_, B> {
    /// Waits until the device forwards. One that has never done so is an error, one that has stopped an event.
    pub(super) fn forwards(&mut self) -> Result<Standing, BenchError> {
        let options = self.options;
        if let Some(ends) = self.wait_for_ports()? {
            return Ok(ends);
        }
        let prompt = if self.begun { PROMPT } else { options.patience };
        let gone_since = self.gone_since.take();
        let before = gone_since.unwrap_or_else(|| self.now());
        let stopped = || self.stop.load(Ordering::Acquire);
        let sent = match self.probe_sizes(prompt)? {
            Ok(_) if stopped() => return Ok(Standing::Ends),
            Ok(_) => {
                if gone_since.is_some() {
                    let away_ns = self.now() - before;
                    self.event(BenchmarkEventKind::DeviceBack { away_ns, at_most: true })?;
                }
                return Ok(Standing::Forwards);
            }
            Err(sent) => sent,
        };
        if stopped() {
            return Ok(Standing::Ends);
        }
        // A port of the tester explains that nothing came.
        if let Some(ends) = self.wait_for_ports()? {
            return Ok(ends);
        }
        if !self.begun && self.kept.is_empty() {
            return Err(self.silent(&sent, prompt));
        }
        let port = self.faulty_port();
        let is_linked = port.is_none();
        self.event(BenchmarkEventKind::DeviceSilent { port })?;
        if self.probe_sizes(options.patience)?.is_err() {
            if !stopped() {
                let (waited_ns, port) = (options.patience.as_nanos(), self.faulty_port());
                self.event(BenchmarkEventKind::DeviceGone { waited_ns, port })?;
            }
            return Ok(Standing::Ends);
        }
        let away_ns = self.now() - before;
        self.event(if is_linked {
            BenchmarkEventKind::DeviceBack { away_ns, at_most: false }
        } else {
            BenchmarkEventKind::DeviceRebooted { away_ns }
        })?;
        Ok(Standing::IsBack)
    }

    /// The port that carries no frames, if there is one.
    fn faulty_port(&self) -> Option<PortCondition> {
        self.bed.port_fault(self.options).map(|fault| fault.condition())
    }

    /// Waits for a port that was switched off on this host: that says nothing of the device. How the benchmark goes on, where it does
    /// not go on as usual: a port that does not come back ends it, and one that was removed or renamed does so at once.
    fn wait_for_ports(&mut self) -> Result<Option<Standing>, BenchError> {
        let of_host =
            |this: &Self| this.bed.port_fault(this.options).filter(|fault| fault.state.is_of_host());
        let Some(mut fault) = of_host(self) else { return Ok(None) };
        if !self.begun && self.kept.is_empty() {
            return Err(BenchError::PortState(fault));
        }
        if fault.state.may_pass() {
            self.event(BenchmarkEventKind::PortDown { port: fault.condition() })?;
        }
        let end = monotonic_now() + self.options.patience;
        while fault.state.may_pass() && monotonic_now() < end {
            if !cases::wait(LOOK_AT_PORTS, self.stop) {
                return Ok(Some(Standing::Ends));
            }
            match of_host(self) {
                Some(now) => fault = now,
                None => {
                    self.event(BenchmarkEventKind::PortUp { port: fault.port.to_string() })?;
                    return Ok(Some(Standing::IsBack));
                }
            }
        }
        self.event(BenchmarkEventKind::PortGone { port: fault.condition() })?;
        Ok(Some(Standing::Ends))
    }

    /// When a link that was lost in a trial was available again, and for how long nothing came.
    fn recovery(&self, ask: &TrialRequest, record: &TrialRecord) -> LinkRecovery {
        if self.bed.port_fault(self.options).is_some() {
            return LinkRecovery::AfterTrial;
        }
        let unlinked = record.figures.outcome.unlinked;
        let near_the_end = ask.length() - STALLED;
        let to_the_end = unlinked.between.is_some_and(|[_, last]| last >= near_the_end);
        if to_the_end || record.unsent > unlinked.frames {
            return LinkRecovery::AtEnd;
        }
        let [tail, between] = [record.figures.tail, record.figures.standstill]
            .map(|silence| silence.map_or(Duration::ZERO, |silence| silence.length));
        if tail > between {
            return LinkRecovery::SilentEnd { silence_ns: tail.as_nanos() };
        }
        LinkRecovery::InTrial { silence_ns: between.as_nanos() }
    }

    /// That of so many frames of each stream none came.
    fn silent(&self, sent: &[u64], waited: Duration) -> BenchError {
        /// So many streams are named.
        const NAMED: usize = 6;
        let options = self.options;
        let BenchOptions { tx, rx, .. } = options;
        let streams = || options.streams.iter().zip(sent).filter(|(_, sent)| **sent > 0);
        let alone = options.streams.len() == 1;
        let one = |(stream, sent): (&StreamOptions, &u64)| {
            let (source, destination) = addresses(options, stream);
            let of = if alone { String::new() } else { format!(" of stream {}", stream.name) };
            format!("{sent} frames{of} from {source} to {destination}")
        };
        let mut named: Vec<String> = streams().take(NAMED).map(one).collect();
        let more = streams().count().saturating_sub(NAMED);
        if more > 0 {
            named.push(format!("those of {more} more streams"));
        }
        // Of others some came: the device forwards, and drops these.
        let dropped = if streams().count() < options.streams.len() {
            "; for a stream that the device is to drop, add expect=drop to its --stream"
        } else {
            ""
        };
        let none = named.join(", nor of ");
        BenchError::Silent(format!("{tx} to {rx}): within {waited} none came of {none}{dropped}"))
    }

    /// The device was away in a trial, which therefore tells nothing; it may have forgotten its case meanwhile.
    fn was_away(
        &mut self,
        record: &mut TrialRecord,
        silence: Silence,
        outage: TrialOutage,
    ) -> Result<(), BenchError> {
        self.event(BenchmarkEventKind::DeviceAway { from_ns: Some(silence.from.as_nanos()), outage })?;
        record.away(DeviceAbsence::Silence { length_ns: silence.length.as_nanos() });
        self.case = None;
        Ok(())
    }

    /// The device stood still for less time than makes an absence.
    fn stalled(&mut self, silence: &Silence, until_end: bool) -> Result<(), BenchError> {
        self.event(BenchmarkEventKind::DeviceStalled {
            from_ns: silence.from.as_nanos(),
            length_ns: silence.length.as_nanos(),
            frames: silence.frames,
            effect: StallEffect::Loss { until_end, limit_ns: MIN_OUTAGE.as_nanos() },
        })
    }

    /// The device gave nothing out for a time, and then what it had held, or some of it.
    fn held(&mut self, held: &Silence, record: &TrialRecord) -> Result<(), BenchError> {
        self.event(BenchmarkEventKind::DeviceStalled {
            from_ns: held.from.as_nanos(),
            length_ns: held.length.as_nanos(),
            frames: held.frames,
            effect: StallEffect::Latency {
                pauses: record.figures.standstills.count,
                // For less than makes an absence, the host of a virtual device may have stood still.
                may_be_host: held.length < MIN_OUTAGE,
            },
        })
    }

    /// A trial is looked at, which began at `at`: did the device carry too little, or had it gone? Of a device that is reset
    /// nothing else is expected.
    pub(super) fn check_device(
        &mut self,
        ask: &TrialRequest,
        record: &mut TrialRecord,
        at: i64,
    ) -> Result<(), BenchError> {
        // What happens to the tester's ports on this host says nothing of the device.
        if let Some(fault) = self.bed.port_fault(self.options).filter(|fault| fault.state.is_of_host()) {
            let (port, after) = (fault.port.to_string(), Some(fault.state));
            record.invalidate(InvalidTrial::PortDown { port, after });
            return Ok(());
        }
        if let Some(port) = &record.switched_off {
            let port = port.to_string();
            // That the trial is repeated is told by its cause alone.
            self.event(BenchmarkEventKind::PortDownInTrial { port: port.clone() })?;
            record.invalidate(InvalidTrial::PortDown { port, after: None });
            self.case = None;
            return Ok(());
        }
        if ask.purpose == TrialRequest::RESET {
            if let Some(port) = &record.link_lost {
                self.event(BenchmarkEventKind::LinkLost {
                    port: port.to_string(),
                    link: self.recovery(ask, record),
                    unsent_frames: record.figures.outcome.unlinked.frames,
                })?;
            }
            return Ok(());
        }
        let tail = record.figures.tail.filter(is_away);
        if let Some(port) = record.link_lost.clone() {
            // What the tester could not send meanwhile, and then sent at once, is not its own fault.
            let refused = record.refused_at;
            let link = self.recovery(ask, record);
            let is_back = matches!(link, LinkRecovery::InTrial { .. });
            self.event(BenchmarkEventKind::DeviceAway {
                from_ns: refused.map(Duration::as_nanos),
                outage: TrialOutage::LinkLost { port: port.to_string(), link },
            })?;
            record.away(DeviceAbsence::LinkLost { port: port.to_string() });
            // Of one that forwarded again within the trial, it is told for how long it did not.
            let gone = tail.map(|tail| tail.from).or(refused).filter(|_| !is_back);
            self.gone_since = gone.map(|from| at + from.as_nanos());
            self.case = None;
            return Ok(());
        }
        // That the tester stood still in the trial makes no silence that is longer than it did.
        let (invalid, unread) = (record.invalid.is_some(), record.figures.attribution.unread);
        let gone =
            |silence: &Silence| if invalid { is_no_testers(silence, unread) } else { is_away(silence) };
        if let Some(silence) = record.figures.silence.filter(gone) {
            let outage = TrialOutage::Ended { length_ns: silence.length.as_nanos(), frames: silence.frames };
            return self.was_away(record, silence, outage);
        }
        let stalled = |silence: &Silence| silence.length >= STALLED && silence.frames >= LEAST_AWAY;
        let within = record.figures.silence.filter(|silence| !invalid && stalled(silence));
        if let Some(silence) = within {
            self.stalled(&silence, false)?;
        }
        // What it held comes at once then, or is lost one by one.
        let held = record.figures.standstill.filter(|held| !invalid && within.is_none() && is_held(held));
        if let Some(held) = held {
            self.held(&held, record)?;
        }
        let outcome = &record.figures.outcome;
        let tail = record.figures.tail.filter(stalled);
        let suspicious =
            outcome.lost > 0 && (outcome.forwarded == 0 || record.figures.quiet_end || tail.is_some());
        if !suspicious {
            return self.look_at_streams(ask, record, at);
        }
        let from = tail.map(|tail| tail.from).or(outcome.first_loss_at).unwrap_or(Duration::ZERO);
        let probed = match self.look_by(&ask.frames)? {
            ProbeOutcome::Own(sent) => Ok(sent),
            ProbeOutcome::Nothing(sent) => Err(sent),
            ProbeOutcome::Others => {
                if !invalid {
                    self.size_lost(ask, record, from)?;
                }
                return self.look_at_streams(ask, record, at);
            }
        };
        if let (Some(silence), Ok(sent)) = (tail, &probed) {
            // It went on when the trial was over.
            let more = unanswered(*sent, self.options.streams.len());
            let whole = Silence { length: silence.length + more, ..silence };
            let (length_ns, frames) = (whole.length.as_nanos(), whole.frames);
            if gone(&whole) {
                return self.was_away(record, whole, TrialOutage::BeyondEnd { length_ns, frames });
            }
            // It may have been silent for some time more, in which nobody looked.
            let unseen = record.unseen;
            let longest = Silence { length: whole.length + unseen, ..whole };
            if !invalid && is_away(&longest) && is_its_own(&whole, record.figures.silence.as_ref()) {
                let unseen_ns = unseen.as_nanos();
                return self.was_away(record, whole, TrialOutage::UntilEnd { length_ns, frames, unseen_ns });
            }
            if !invalid {
                self.stalled(&whole, true)?;
            }
        }
        if probed.is_err() && !self.stop.load(Ordering::Acquire) {
            let from_ns = Some(from.as_nanos());
            self.event(BenchmarkEventKind::DeviceAway { from_ns, outage: TrialOutage::NotEnded })?;
            record.away(DeviceAbsence::NotEnded);
            self.gone_since = Some(at + from.as_nanos());
            self.case = None;
            return Ok(());
        }
        self.look_at_streams(ask, record, at)
    }
}
