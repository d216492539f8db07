//! The events of a benchmark as text.

use romer_record::benchmark::{
    BenchmarkEvent, BenchmarkEventKind, InvalidTrials, LinkRecovery, PortCondition, ResumedFrom, SilentSize,
    SilentStream, StallEffect, TrialOutage,
};
use romer_units::Duration;

use super::invalid::{invalid_cause, switched_off};
use crate::sentence::Text;

impl Text for BenchmarkEvent {
    fn text(&self) -> String {
        self.kind.text()
    }
}

impl Text for BenchmarkEventKind {
    fn text(&self) -> String {
        match self {
            Self::DeviceSilent { port } => {
                format!("the device stopped forwarding{}; waiting for it", and_port(port.as_ref()))
            }
            Self::DeviceBack { away_ns, at_most } => {
                let at_most = if *at_most { " at most" } else { "" };
                format!("the device forwards again after {:.1} s{at_most}", seconds(*away_ns))
            }
            Self::DeviceRebooted { away_ns } => format!(
                "the device forwards again after {:.1} s, and its link had been down: it rebooted, or the link was disconnected",
                seconds(*away_ns)
            ),
            Self::DeviceGone { waited_ns, port } => format!(
                "the device did not forward again within {}{}",
                Duration::from_nanos(*waited_ns).readable(),
                and_port(port.as_ref())
            ),
            Self::DeviceAway { from_ns, outage } => away(*from_ns, outage),
            Self::DeviceStalled { from_ns, length_ns, frames, effect } => {
                stalled([*from_ns, *length_ns], *frames, effect)
            }
            Self::DeviceUnsteady { invalid } => {
                format!("trial discarded (inconclusive): {}", invalid.text())
            }
            Self::TesterOverloaded { invalid } => {
                format!("trial discarded because of the tester (inconclusive): {}", invalid.text())
            }
            Self::LinkLost { port, link, unsent_frames } => {
                let and_so = match unsent_frames {
                    0 => String::new(),
                    frames => {
                        format!("; {frames} frames could not be sent, and count as absence of the device")
                    }
                };
                format!("the reset took the link from {port}: {}{and_so}", recovery(*link))
            }
            Self::StreamSilent(silent) => stream_silent(silent),
            Self::StreamBack { stream } => format!("stream {stream}: its frames arrive again"),
            Self::SizeSilent(silent) => size_silent(silent),
            Self::PortDown { port } => format!("{}; waiting for it", port.text()),
            Self::PortDownInTrial { port } => format!("a trial is invalid: {}", switched_off(port)),
            Self::PortUp { port } => format!("the tester's port {port} is up again"),
            Self::PortGone { port } => port.to_string(),
            Self::TrialRepeated { invalid } => format!("trial repeated (inconclusive): {}", invalid.text()),
            Self::TesterLimit { invalid, trials, causes, max_valid_pps } => {
                tester_limit([*invalid, *trials], causes, *max_valid_pps)
            }
            Self::ClockSet => "the host's clock was set during a trial".into(),
            Self::CommandEnded { case } => {
                let command = case.as_ref().map_or_else(
                    || "the command that resets the device (--reset)".to_owned(),
                    |case| format!("the command of case {case}"),
                );
                format!(
                    "{command} was running when the benchmark was interrupted, and was ended with all its child processes: it is \
                     unknown in which state it left the device"
                )
            }
            Self::Resumed { away_ns, since } => {
                let since = match since {
                    ResumedFrom::Trial => "its last stored trial",
                    ResumedFrom::SelfTest => "its start, with the self-test",
                    ResumedFrom::Start => "its start, without any stored result",
                };
                format!("the benchmark continued {:.0} s after {since}", seconds(*away_ns))
            }
        }
    }
}

impl Text for PortCondition {
    fn text(&self) -> String {
        format!("the tester's port {} {}", self.port, self.state)
    }
}

fn seconds(nanos: i64) -> f64 {
    Duration::from_nanos(nanos).as_secs_f64()
}

/// The port that carries no frames, to follow a statement; empty if there is none.
fn and_port(port: Option<&PortCondition>) -> String {
    port.map_or_else(String::new, |port| format!(", and {}", port.text()))
}

/// When a lost link was available again.
fn recovery(link: LinkRecovery) -> String {
    match link {
        LinkRecovery::AfterTrial => "the link was still down at the end of the trial".into(),
        LinkRecovery::AtEnd => "the link came up only at the end of the trial".into(),
        LinkRecovery::SilentEnd { silence_ns } => format!(
            "the link was up at the end of the trial, and nothing arrived in its last {:.2} s",
            seconds(silence_ns)
        ),
        LinkRecovery::InTrial { silence_ns } => {
            format!("the link came up within the trial, and nothing arrived for {:.2} s", seconds(silence_ns))
        }
    }
}

/// An outage within a trial.
fn away(from_ns: Option<i64>, outage: &TrialOutage) -> String {
    let from = from_ns.map_or_else(String::new, |from| format!("{:.1} s into a trial, ", seconds(from)));
    let stopped = |length: i64, frames: u64, until: &str| {
        let length = seconds(length);
        format!("{from}the device stopped forwarding for {length:.1} s ({frames} frames){until}")
    };
    match outage {
        TrialOutage::Ended { length_ns, frames } => stopped(*length_ns, *frames, ""),
        TrialOutage::BeyondEnd { length_ns, frames } => {
            stopped(*length_ns, *frames, ", until after the end of the trial")
        }
        TrialOutage::UntilEnd { length_ns, frames, unseen_ns } => {
            let until = format!(
                ", until the end of the trial; it forwarded again at most {:.1} s later, so the outage may have exceeded 0.5 s",
                seconds(*unseen_ns)
            );
            stopped(*length_ns, *frames, &until)
        }
        TrialOutage::NotEnded => {
            format!("{from}the device stopped forwarding until after the end of the trial")
        }
        TrialOutage::LinkLost { port, link } => {
            let from =
                from_ns.map_or_else(String::new, |from| format!(", {:.1} s after its start", seconds(from)));
            format!(
                "the link of {port} was lost in a trial{from}: the device rebooted, or the link or port was switched off; {}",
                recovery(*link)
            )
        }
    }
}

/// A pause of the device, from a time and for a time.
fn stalled(times_ns: [i64; 2], frames: u64, effect: &StallEffect) -> String {
    let [from, length] = times_ns.map(seconds);
    match effect {
        StallEffect::Loss { until_end, limit_ns } => {
            let until = if *until_end { ", until the end of the trial" } else { "" };
            format!(
                "{from:.1} s into a trial, the device stopped forwarding for {length:.2} s ({frames} frames){until}; they count as \
                 its loss, because the time is shorter than {:.1} s",
                seconds(*limit_ns)
            )
        }
        StallEffect::Latency { pauses, may_be_host } => {
            let who = if *may_be_host { "the device or its host" } else { "the device" };
            let again = match pauses {
                0 | 1 => String::new(),
                pauses => format!(" (it stalled {pauses} times)"),
            };
            format!(
                "{from:.1} s into a trial, {who} transmitted nothing for {length:.2} s ({frames} frames were sent to it){again}; the \
                 latency of those forwarded later includes this time"
            )
        }
    }
}

/// A stream of which nothing arrived, while others did.
fn stream_silent(silent: &SilentStream) -> String {
    let frames = silent
        .frame_size
        .map_or_else(|| silent.mixture.clone().unwrap_or_default(), |size| format!("{size} B"));
    let to = if silent.to_end { " to its end" } else { "" };
    let and_so = if silent.is_loss {
        "they count as loss of the device"
    } else {
        "the trial is inconclusive for another reason"
    };
    let remedy = if silent.from_start && silent.to_end {
        "; if the device is to drop this stream, declare it: --stream expect=drop (in a plan: expect = \"drop\")"
    } else {
        ""
    };
    format!(
        "stream {}: none of {} frames arrived for {:.1} s, from {:.1} s into a trial (case {}, {frames}, {:.1} % intended load; \
         {:.1} s after the start){to}, while {:.1} % of the frames of other streams arrived; {and_so}{remedy}",
        silent.stream,
        silent.frames,
        seconds(silent.length_ns),
        seconds(silent.from_ns),
        silent.case,
        silent.load_percent,
        seconds(silent.since_ns),
        silent.others_ratio * 100.0
    )
}

/// A size of which nothing arrived, while others did.
fn size_silent(silent: &SilentSize) -> String {
    let SilentSize { case, min_load_percent: least, max_load_percent: most, trials, .. } = silent;
    let frames = silent.frame_size.map_or_else(
        || format!("frames {}", silent.mixture.as_deref().unwrap_or_default()),
        |size| format!("frames of {size} B"),
    );
    if *trials == 1 {
        let from = seconds(silent.from_ns);
        return format!(
            "{frames}: none arrived from {from:.1} s into a trial (case {case}, {least:.1} % intended load), nor after its end, while \
             frames of other sizes did then: the device is there and drops them; they count as its loss"
        );
    }
    format!(
        "{frames}: none arrived until the end of {trials} trials or afterwards (case {case}, {least:.1} % to {most:.1} % intended load), \
         while frames of other sizes did: the device is up and drops them; they count as its loss"
    )
}

/// The limit of the tester, with the numbers of invalid and of all trials.
fn tester_limit(numbers: [u64; 2], causes: &[InvalidTrials], max_valid_pps: Option<f64>) -> String {
    let [invalid, trials] = numbers;
    let causes: Vec<String> =
        causes.iter().map(|one| format!("{} {}", invalid_cause(one.cause), one.trials)).collect();
    let told = max_valid_pps.map_or_else(
        || "no trial was conclusive".to_owned(),
        |pps| format!("trials of up to {pps:.0} frames/s were conclusive"),
    );
    format!(
        "limited by the tester: {invalid} of {trials} trials were inconclusive after all repetitions ({}), and {told}; the rest \
         is skipped",
        causes.join(", ")
    )
}

#[cfg(test)]
mod tests {
    use romer_record::benchmark::{InvalidCause, PortState};

    use super::*;

    fn condition(state: PortState, command: Option<&str>) -> PortCondition {
        PortCondition { port: "A/t0".into(), state, command: command.map(str::to_owned) }
    }

    /// An event of a port names the port, its state and a remedy.
    #[test]
    fn port_events() {
        let down = condition(PortState::Down, Some("ip -n A link set t0 up"));
        let text = |kind: BenchmarkEventKind| kind.text();
        assert_eq!(
            text(BenchmarkEventKind::PortDown { port: down.clone() }),
            "the tester's port A/t0 is down on this host; waiting for it"
        );
        assert_eq!(
            text(BenchmarkEventKind::PortGone { port: down }),
            "the tester's port A/t0 is down on this host; switch it on with `ip -n A link set t0 up`"
        );
        let port = Some(condition(PortState::NoCarrier, None));
        assert_eq!(
            text(BenchmarkEventKind::DeviceGone { waited_ns: 60_000_000_000, port }),
            "the device did not forward again within 1 min, and the tester's port A/t0 has no carrier"
        );
    }

    /// An outage is described with its start, its duration and what is known of its end.
    #[test]
    fn outages() {
        let away = |from_ns, outage| BenchmarkEventKind::DeviceAway { from_ns, outage }.text();
        assert_eq!(
            away(Some(300_000_000), TrialOutage::Ended { length_ns: 600_000_000, frames: 41 }),
            "0.3 s into a trial, the device stopped forwarding for 0.6 s (41 frames)"
        );
        let link = LinkRecovery::InTrial { silence_ns: 600_000_000 };
        assert_eq!(
            away(Some(100_000_000), TrialOutage::LinkLost { port: "a".into(), link }),
            "the link of a was lost in a trial, 0.1 s after its start: the device rebooted, or the link or port was switched off; the \
             link came up within the trial, and nothing arrived for 0.60 s"
        );
        let held = |length_ns, may_be_host| {
            let effect = StallEffect::Latency { pauses: 1, may_be_host };
            BenchmarkEventKind::DeviceStalled { from_ns: 200_000_000, length_ns, frames: 9, effect }.text()
        };
        assert!(
            held(400_000_000, true)
                .starts_with("0.2 s into a trial, the device or its host transmitted nothing for 0.40 s")
        );
        assert!(
            held(700_000_000, false)
                .starts_with("0.2 s into a trial, the device transmitted nothing for 0.70 s")
        );
    }

    /// What a silent stream or size costs is stated, and how a stream that is to be dropped is declared.
    #[test]
    fn silent_streams_and_sizes() {
        let stream = SilentStream {
            stream: "voice".into(),
            case: "baseline".into(),
            frame_size: Some(128),
            mixture: None,
            load_percent: 20.0,
            from_ns: 0,
            since_ns: 4_000_000_000,
            length_ns: 1_000_000_000,
            frames: 85,
            others_ratio: 1.0,
            from_start: true,
            to_end: true,
            is_loss: true,
        };
        assert_eq!(
            BenchmarkEventKind::StreamSilent(stream.clone()).text(),
            "stream voice: none of 85 frames arrived for 1.0 s, from 0.0 s into a trial (case baseline, 128 B, 20.0 % intended load; \
             4.0 s after the start) to its end, while 100.0 % of the frames of other streams arrived; they count as loss of the \
             device; if the device is to drop this stream, declare it: --stream expect=drop (in a plan: expect = \"drop\")"
        );
        let partly = SilentStream { from_start: false, is_loss: false, ..stream };
        assert!(
            BenchmarkEventKind::StreamSilent(partly)
                .text()
                .ends_with("; the trial is inconclusive for another reason")
        );
        let size = |trials| {
            let silent = SilentSize {
                frame_size: Some(64),
                mixture: None,
                case: "baseline".into(),
                from_ns: 300_000_000,
                trials,
                min_load_percent: 1.0,
                max_load_percent: 100.0,
            };
            BenchmarkEventKind::SizeSilent(silent).text()
        };
        assert!(size(1).starts_with(
            "frames of 64 B: none arrived from 0.3 s into a trial (case baseline, 1.0 % intended load), nor after its end"
        ));
        assert!(size(4).starts_with(
            "frames of 64 B: none arrived until the end of 4 trials or afterwards (case baseline, 1.0 % to 100.0 % intended load)"
        ));
    }

    /// The limit of the tester is stated with the causes and the highest rate of a valid trial.
    #[test]
    fn tester_limits() {
        let causes = vec![InvalidTrials { cause: InvalidCause::TesterStalled, trials: 51 }];
        let limit = |max_valid_pps| {
            let causes = causes.clone();
            BenchmarkEventKind::TesterLimit { invalid: 51, trials: 52, causes, max_valid_pps }.text()
        };
        assert_eq!(
            limit(Some(8_000.0)),
            "limited by the tester: 51 of 52 trials were inconclusive after all repetitions (tester stalled 51), and trials of up to \
             8000 frames/s were conclusive; the rest is skipped"
        );
        assert!(limit(None).contains(", and no trial was conclusive;"));
    }
}
