//! How many frames a trial may have: every one of them is kept until the trial's figures are found.

use romer_method::campaign::{Campaign, Procedure};
use romer_method::schedule::nominal;
use romer_method::{Frames, Phase, TrialOutcome, TrialRequest};
use romer_record::warning::BenchmarkWarning;
use romer_units::Duration;

use crate::error::BenchError;
use crate::frames::flows;
use crate::options::BenchOptions;
use crate::trial::MOST_FRAMES;

/// Frames of a trial with these loads, in the mean.
pub(crate) fn frames(options: &BenchOptions, frames: &Frames, phases: &[Phase]) -> f64 {
    let flows = flows(options);
    let of = |phase: &Phase| nominal(&flows, frames, options.line, *phase).pps * phase.length.as_secs_f64();
    phases.iter().map(of).sum()
}

fn is_too_large(options: &BenchOptions, of: &Frames, phases: &[Phase]) -> bool {
    frames(options, of, phases) > crate::numbers::real(MOST_FRAMES)
}

/// The next trial that can be made. To a search, one of too many frames is one that the tester cannot offer.
pub(crate) fn next_trial(options: &BenchOptions, campaign: &mut Campaign) -> Option<TrialRequest> {
    loop {
        let ask = campaign.next_trial()?;
        if !is_too_large(options, &ask.frames, &ask.phases) {
            return Some(ask);
        }
        campaign.record_outcome(&TrialOutcome { tester_failed: true, ..TrialOutcome::default() });
    }
}

/// The greatest load that trials surely have, and for how long; `None` of procedures that search for it.
fn greatest(procedure: &Procedure) -> Option<Phase> {
    let phase = |load, length| Some(Phase { load, length });
    match procedure {
        Procedure::Sweep { loads, length } => phase(loads.iter().copied().fold(0.0, f64::max), *length),
        Procedure::FrameLoss { most, length, .. } => phase(*most, *length),
        Procedure::Reset { load, length } => phase(*load, *length),
        Procedure::Throughput(_)
        | Procedure::Mlr(_)
        | Procedure::BackToBack { .. }
        | Procedure::Recovery { .. } => None,
    }
}

/// Refuses stated loads at which a trial would have more frames than are kept.
pub(crate) fn check(options: &BenchOptions) -> Result<(), BenchError> {
    let Some(phase) = greatest(&options.procedure) else { return Ok(()) };
    let Some(worst) = options.frames.iter().find(|of| is_too_large(options, of, &[phase])) else {
        return Ok(());
    };
    let pps = frames(options, worst, &[phase]) / phase.length.as_secs_f64().max(1e-9);
    Err(BenchError::Usage(format!(
        "a trial has too many frames (--trial {}): frames {worst} at {} % of the line are {:.0} frames/s, and the maximum is {} \
         million frames; use {} or shorter, lower --loads or a lower --line-rate",
        phase.length.readable(),
        percent(options.nominal(worst, phase.load).load),
        pps,
        MOST_FRAMES / 1_000_000,
        longest(pps)
    )))
}

/// A share in percent with one decimal, and with two significant digits below 1 %.
fn percent(share: f64) -> String {
    let percent = share * 100.0;
    let decimals = (1..9).find(|decimals| percent * 10_f64.powi(*decimals) >= 9.5).unwrap_or(1);
    let decimals = usize::try_from(decimals).unwrap_or(1);
    format!("{percent:.decimals$}")
}

/// How long a trial at this rate may be: whole seconds, where it may be as long.
fn longest(pps: f64) -> Duration {
    let seconds = crate::numbers::real(MOST_FRAMES) / pps.max(1e-9);
    let (unit, count) = if seconds >= 1.0 {
        (Duration::from_secs(1), seconds)
    } else {
        (Duration::from_millis(1), seconds * 1e3)
    };
    #[expect(clippy::cast_possible_truncation, reason = "rounded down")]
    unit.checked_mul(count as i64).unwrap_or(Duration::MAX)
}

/// That a search leaves out full trials at loads at which they would have more frames than are kept.
pub fn note(options: &BenchOptions) -> Option<BenchmarkWarning> {
    if greatest(&options.procedure).is_some() {
        return None;
    }
    let full = Phase { load: 1.0, length: options.procedure.length() };
    let worst = options.frames.iter().map(|of| frames(options, of, &[full])).fold(0.0, f64::max);
    let share = crate::numbers::real(MOST_FRAMES) / worst.max(1.0);
    (share < 1.0).then(|| BenchmarkWarning::TrialFramesLimited {
        max_frames: MOST_FRAMES,
        load_ratio: share,
        trial_ns: full.length.as_nanos(),
    })
}

#[cfg(test)]
mod tests {
    use romer_method::search::Goal;
    use romer_units::{FrameSize, LineRate};

    use super::*;
    use crate::design::design;
    use crate::simulated::sweep;

    fn fast(procedure: Procedure) -> BenchOptions {
        let frames = vec![Frames::Size(FrameSize::new(64).unwrap())];
        BenchOptions { line: LineRate::new(10_000_000_000).unwrap(), frames, procedure, ..sweep(&[0.5]) }
    }

    /// 14,880,952 frames a second: two seconds are kept, three are not, and the remedy is one that works.
    #[test]
    fn stated_loads_have_kept_frames() {
        let swept =
            |seconds| fast(Procedure::Sweep { loads: vec![0.1, 1.0], length: Duration::from_secs(seconds) });
        assert!(check(&swept(2)).is_ok());
        let told = check(&swept(3)).unwrap_err().to_string();
        assert!(
            told.contains("(--trial 3 s): frames 64 B at 100.0 % of the line are 14880952 frames/s"),
            "{told}"
        );
        assert!(told.contains("use 2s or shorter"), "{told}");
        assert!(check(&swept(86_400)).is_err(), "a day");
        assert_eq!(note(&swept(2)), None);
    }

    /// A search never asks for a trial of more frames than are kept, and ends.
    #[test]
    fn search_leaves_out_large_trials() {
        let [short, full] = [1, 60].map(Duration::from_secs);
        let goal = Goal { loss_ratio: 0.0, least: 0.01, most: 1.0, resolution: 0.005, short, full };
        let options = fast(Procedure::Throughput(goal));
        assert!(check(&options).is_ok());
        let limit = |options: &BenchOptions| match note(options) {
            Some(BenchmarkWarning::TrialFramesLimited { load_ratio, trial_ns, .. }) => {
                (percent(load_ratio), Duration::from_nanos(trial_ns))
            }
            other => panic!("{other:?}"),
        };
        assert_eq!(limit(&options), ("4.5".into(), full));
        let day = Goal { full: Duration::from_secs(86_400), ..goal };
        assert_eq!(limit(&fast(Procedure::Throughput(day))), ("0.0031".into(), day.full));
        let mut campaign = Campaign::new(&design(&options));
        let mut made = 0;
        while let Some(ask) = next_trial(&options, &mut campaign) {
            made += 1;
            assert!(frames(&options, &ask.frames, &ask.phases) <= 4e7, "{ask:?}");
            campaign.record_outcome(&TrialOutcome {
                intended: 1,
                offered: 1,
                forwarded: 1,
                ..TrialOutcome::default()
            });
        }
        assert!((2..40).contains(&made), "{made}");
        let found = campaign.findings().first().unwrap();
        assert!(
            found.value.unwrap() < 0.045
                && found.bounded_by == Some(romer_record::benchmark::ResultBound::Tester),
            "{found:?}"
        );
    }
}
