//! The reason why a trial is invalid as text.

use romer_record::benchmark::{
    DeviceAbsence, DeviceOutages, InvalidCause, InvalidTrial, PortCondition, PortRefusal, TesterStall,
    UncertainLoss,
};
use romer_units::Duration;

use crate::sentence::{Text, length};

impl Text for InvalidTrial {
    fn text(&self) -> String {
        match self {
            Self::TesterStalled { effect } => stalled(effect),
            Self::TesterDropped { loss } => uncertain(loss),
            Self::TesterSlow { sent_frames, due_frames, sent_pps } => {
                format!("tester too slow: {}, at {sent_pps:.0} frames/s", sent([*sent_frames, *due_frames]))
            }
            Self::NotProven {
                lost_frames,
                intended_pps,
                proven_pps,
                self_test_loss_ratio,
                lost_by_device: [least, most],
            } => {
                let so = self_test_loss_ratio.map_or_else(
                    || "the tester may have lost them".into(),
                    |ratio| {
                        format!(
                            "in the self-test at such rates up to {:.3} % were lost without being counted; device loss {least} to {most}",
                            ratio * 100.0
                        )
                    },
                );
                format!(
                    "{lost_frames} frames missing at {intended_pps:.0} frames/s, above the {proven_pps:.0} frames/s of the self-test: {so}"
                )
            }
            Self::PortRefused { port, refusal, long_frames } => refused(port, *refusal, *long_frames),
            Self::PortDown { port, after: None } => switched_off(port),
            Self::PortDown { port, after: Some(state) } => {
                PortCondition { port: port.clone(), state: state.clone(), command: None }.text()
            }
            Self::ClockSet => "the host's clock was set during the trial".into(),
            Self::DeviceUnreachable { absence } => absent(absence),
            Self::DeviceStalled { outages, trial_ns, claims } => {
                let claims = if *claims == 1 { "a claim is".into() } else { format!("{claims} claims are") };
                format!("{}, which may be why {claims} not met", outages_words(outages, *trial_ns))
            }
        }
    }
}

/// The cause of an invalid trial in a few words, for lists.
pub(super) const fn invalid_cause(cause: InvalidCause) -> &'static str {
    match cause {
        InvalidCause::TesterStalled => "tester stalled",
        InvalidCause::TesterDropped => "tester dropped frames",
        InvalidCause::TesterSlow => "tester too slow",
        InvalidCause::NotProven => "rate above the self-test",
        InvalidCause::PortRefused => "port refused frames",
        InvalidCause::PortDown => "port down",
        InvalidCause::ClockSet => "clock set",
        InvalidCause::DeviceUnreachable => "device stopped forwarding",
        InvalidCause::DeviceStalled => "device stalled",
    }
}

/// The pauses of a device in a trial of this length, nanoseconds.
pub(super) fn outages_words(outages: &DeviceOutages, trial_ns: i64) -> String {
    let seconds = |nanos: i64| Duration::from_nanos(nanos).as_secs_f64();
    let [sum, longest] = [outages.sum_ns, outages.longest_ns].map(seconds);
    let times = match outages.count {
        1 => "once".into(),
        count => format!("{count} times, longest {longest:.2} s"),
    };
    format!(
        "the device or its host stalled for {sum:.2} s of {} ({times})",
        Duration::from_nanos(trial_ns).readable()
    )
}

/// A port was disabled within a trial.
pub(super) fn switched_off(port: &str) -> String {
    format!("the tester's port {port} was switched off on this host during the trial")
}

fn sent([frames, due]: [u64; 2]) -> String {
    format!("it sent {frames} of {due} frames")
}

fn stalled(effect: &TesterStall) -> String {
    match effect {
        TesterStall::Burst { stalled_ns, trial_ns, burst_frames } => format!(
            "tester stalled {} in a trial of {}, and then sent a burst of up to {burst_frames} frames: the load differs from the \
             intended one",
            length(*stalled_ns),
            Duration::from_nanos(*trial_ns).readable()
        ),
        TesterStall::Unsent { stalled_ns, sent_frames, due_frames } => {
            format!("tester stalled for {}: {}", length(*stalled_ns), sent([*sent_frames, *due_frames]))
        }
        TesterStall::Loss { loss } => uncertain(loss),
        TesterStall::ShortBurst { unbuffered_frames, burst_frames } => format!(
            "the end of the burst was sent late: the device had to buffer up to {unbuffered_frames:.0} of its {burst_frames} frames \
             less"
        ),
    }
}

/// Why a loss may be the tester's own.
fn uncertain(loss: &UncertainLoss) -> String {
    let mut parts = Vec::new();
    if loss.dropped_frames > 0 {
        parts.push(format!("the tester dropped up to {} itself", loss.dropped_frames));
    }
    let stalled = length(loss.stalled_ns);
    if loss.stall_affected_lost > 0 {
        parts.push(format!(
            "{} were among the {} sent in or after bursts caused by stalls of up to {stalled}",
            loss.stall_affected_lost, loss.stall_affected
        ));
    }
    if parts.is_empty() {
        parts.push(format!(
            "none was sent in a burst, but stalls of up to {stalled} put {} of {} frames in or after bursts: too few others \
             remain to measure the loss of the device",
            loss.stall_affected, loss.sent_frames
        ));
    }
    let [least, most] = loss.lost_by_device;
    format!(
        "tester stalled or dropped frames: of {} missing frames, {}; device loss {least} to {most}",
        loss.lost_frames,
        parts.join(", and ")
    )
}

fn refused(port: &str, refusal: PortRefusal, long_frames: bool) -> String {
    let why = match refusal {
        PortRefusal::Busy => "it was busy",
        PortRefusal::Oversize => "they are longer than it takes",
        PortRefusal::Down => "it was down",
    };
    let mtu = if refusal == PortRefusal::Busy && long_frames {
        " (a virtual link refuses what is longer than its other end's MTU: look at the device's)"
    } else {
        ""
    };
    format!("the sending port {port} refused frames: {why}{mtu}")
}

fn absent(absence: &DeviceAbsence) -> String {
    match absence {
        DeviceAbsence::Silence { length_ns } => format!(
            "the device forwarded nothing for {:.1} s of the trial",
            Duration::from_nanos(*length_ns).as_secs_f64()
        ),
        DeviceAbsence::LinkLost { port } => format!("the link of {port} was lost during the trial"),
        DeviceAbsence::NotEnded => "the device stopped forwarding during the trial".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A link that refuses long frames has the MTU of its other end named.
    #[test]
    fn refusals_name_the_mtu() {
        let words = |refusal, long_frames| {
            InvalidTrial::PortRefused { port: "A/t0".into(), refusal, long_frames }.text()
        };
        assert_eq!(words(PortRefusal::Busy, false), "the sending port A/t0 refused frames: it was busy");
        assert!(words(PortRefusal::Busy, true).ends_with("its other end's MTU: look at the device's)"));
        assert_eq!(words(PortRefusal::Down, true), "the sending port A/t0 refused frames: it was down");
    }
}
