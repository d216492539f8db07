//! Whether the device is there: between trials, and in them.

use std::sync::atomic::Ordering;

use romer_host::clock::monotonic_now;
use romer_method::TrialRequest;
use romer_method::analysis::{LEAST_AWAY, STALLED, Silence};
use romer_record::benchmark::InvalidCause;
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
                    self.is_back("device-back", before, " at most")?;
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
        let link = self.link_fault();
        self.event("device-silent", format!("the device stopped forwarding{link}; waiting for it"))?;
        if self.probe_sizes(options.patience)?.is_err() {
            if !stopped() {
                let waited = options.patience;
                let link = self.link_fault();
                self.event(
                    "device-gone",
                    format!("the device did not forward again within {}{link}", waited.readable()),
                )?;
            }
            return Ok(Standing::Ends);
        }
        if link.is_empty() {
            self.is_back("device-back", before, "")?;
        } else {
            let and_so = ", and its link had been down: it rebooted, or the link was disconnected";
            self.is_back("device-rebooted", before, and_so)?;
        }
        Ok(Standing::IsBack)
    }

    /// The port that carries no frames, to follow a statement; empty where there is none.
    fn link_fault(&self) -> String {
        self.bed.port_fault(self.options).map_or_else(String::new, |fault| format!(", and {fault}"))
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
            self.event("port-down", format!("{fault}; waiting for it"))?;
        }
        let end = monotonic_now() + self.options.patience;
        while fault.state.may_pass() && monotonic_now() < end {
            if !cases::wait(LOOK_AT_PORTS, self.stop) {
                return Ok(Some(Standing::Ends));
            }
            match of_host(self) {
                Some(now) => fault = now,
                None => {
                    self.event("port-up", format!("the tester's port {} is up again", fault.port))?;
                    return Ok(Some(Standing::IsBack));
                }
            }
        }
        self.event("port-gone", format!("{fault}; {}", fault.remedy()))?;
        Ok(Some(Standing::Ends))
    }

    /// Tells that a device forwards again which did not from this moment on.
    fn is_back(&mut self, kind: &str, since: i64, and_so: &str) -> Result<(), BenchError> {
        let away = Duration::from_nanos(self.now() - since).as_secs_f64();
        self.event(kind, format!("the device forwards again after {away:.1} s{and_so}"))
    }

    /// For how long nothing came of a trial in which a link was lost, or that the link is down still, in words; and whether the
    /// device forwarded again within it.
    fn link_words(&self, ask: &TrialRequest, record: &TrialRecord) -> (String, bool) {
        if self.bed.port_fault(self.options).is_some() {
            return ("the link was still down at the end of the trial".into(), false);
        }
        let unlinked = record.figures.outcome.unlinked;
        let near_the_end = ask.length() - STALLED;
        let to_the_end = unlinked.between.is_some_and(|[_, last]| last >= near_the_end);
        if to_the_end || record.unsent > unlinked.frames {
            return ("the link came up only at the end of the trial".into(), false);
        }
        let [tail, between] = [record.figures.tail, record.figures.standstill]
            .map(|silence| silence.map_or(Duration::ZERO, |silence| silence.length));
        if tail > between {
            let nothing = tail.as_secs_f64();
            let words = format!(
                "the link was up at the end of the trial, and nothing arrived in its last {nothing:.2} s"
            );
            return (words, false);
        }
        let nothing = between.as_secs_f64();
        (format!("the link came up within the trial, and nothing arrived for {nothing:.2} s"), true)
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
        and_then: &str,
    ) -> Result<(), BenchError> {
        let [from, length] =
            [silence.from, silence.length].map(|time| format!("{:.1} s", time.as_secs_f64()));
        let frames = silence.frames;
        self.event(
            "device-away",
            format!(
                "{from} into a trial, the device stopped forwarding for {length} ({frames} frames){and_then}"
            ),
        )?;
        record.away(format!("the device forwarded nothing for {length} of the trial"));
        self.case = None;
        Ok(())
    }

    /// The device stood still for less time than makes an absence.
    fn stalled(&mut self, silence: &Silence, and_then: &str) -> Result<(), BenchError> {
        let [from, length, away] = [silence.from, silence.length, MIN_OUTAGE].map(Duration::as_secs_f64);
        let frames = silence.frames;
        self.event(
            "device-stalled",
            format!(
                "{from:.1} s into a trial, the device stopped forwarding for {length:.2} s ({frames} frames){and_then}; they count as \
                 its loss, because the time is shorter than {away:.1} s"
            ),
        )
    }

    /// The device gave nothing out for a time, and then what it had held, or some of it.
    fn held(&mut self, held: &Silence, record: &TrialRecord) -> Result<(), BenchError> {
        let [from, length, away] = [held.from, held.length, MIN_OUTAGE].map(Duration::as_secs_f64);
        let frames = held.frames;
        // For less than makes an absence, the host of a virtual device may have stood still.
        let who = if length < away { "the device or its host" } else { "the device" };
        let again = match record.figures.standstills.count {
            0 | 1 => String::new(),
            count => format!(" (it stalled {count} times)"),
        };
        self.event(
            "device-stalled",
            format!(
                "{from:.1} s into a trial, {who} transmitted nothing for {length:.2} s ({frames} frames were sent to it){again}; the \
                 latency of those forwarded later includes this time"
            ),
        )
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
            record.invalidate(InvalidCause::PortDown, fault.to_string());
            return Ok(());
        }
        if let Some(port) = &record.switched_off {
            let why = format!("the tester's port {port} was switched off on this host during the trial");
            // That the trial is repeated is told by its cause alone.
            self.event("port-down", why.clone())?;
            record.invalidate(InvalidCause::PortDown, why);
            self.case = None;
            return Ok(());
        }
        if ask.purpose == TrialRequest::RESET {
            if let Some(port) = &record.link_lost {
                let and_so = match record.figures.outcome.unlinked.frames {
                    0 => String::new(),
                    frames => {
                        format!("; {frames} frames could not be sent, and count as absence of the device")
                    }
                };
                let (back, _) = self.link_words(ask, record);
                self.event("link-lost", format!("the reset took the link from {port}: {back}{and_so}"))?;
            }
            return Ok(());
        }
        let tail = record.figures.tail.filter(is_away);
        if let Some(port) = record.link_lost.clone() {
            // What the tester could not send meanwhile, and then sent at once, is not its own fault.
            let refused = record.refused_at;
            let from =
                refused.map_or_else(String::new, |at| format!(", {:.1} s after its start", at.as_secs_f64()));
            let (back, is_back) = self.link_words(ask, record);
            self.event(
                "device-away",
                format!(
                    "the link of {port} was lost in a trial{from}: the device rebooted, or the link or port was switched off; {back}"
                ),
            )?;
            record.away(format!("the link of {port} was lost during the trial"));
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
            return self.was_away(record, silence, "");
        }
        let stalled = |silence: &Silence| silence.length >= STALLED && silence.frames >= LEAST_AWAY;
        let within = record.figures.silence.filter(|silence| !invalid && stalled(silence));
        if let Some(silence) = within {
            self.stalled(&silence, "")?;
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
            if gone(&whole) {
                return self.was_away(record, whole, ", until after the end of the trial");
            }
            // It may have been silent for some time more, in which nobody looked.
            let unseen = record.unseen;
            let longest = Silence { length: whole.length + unseen, ..whole };
            if !invalid && is_away(&longest) && is_its_own(&whole, record.figures.silence.as_ref()) {
                let and_then = format!(
                    ", until the end of the trial; it forwarded again at most {:.1} s later, so the outage may have exceeded 0.5 s",
                    unseen.as_secs_f64()
                );
                return self.was_away(record, whole, &and_then);
            }
            if !invalid {
                self.stalled(&whole, ", until the end of the trial")?;
            }
        }
        if probed.is_err() && !self.stop.load(Ordering::Acquire) {
            self.event(
                "device-away",
                format!(
                    "{:.1} s into a trial, the device stopped forwarding until after the end of the trial",
                    from.as_secs_f64()
                ),
            )?;
            record.away("the device stopped forwarding during the trial".into());
            self.gone_since = Some(at + from.as_nanos());
            self.case = None;
            return Ok(());
        }
        self.look_at_streams(ask, record, at)
    }
}
