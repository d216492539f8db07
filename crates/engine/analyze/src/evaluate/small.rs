//! Steps of the delay that are smaller than what the delays of a run may be off by.

use romer_clock::skew::Correction;
use romer_record::document::{LocationError, ProbeDirection};
use romer_record::finding::{Finding, Pattern};
use romer_singletons::Selection;
use romer_units::TimestampPoint;

/// Leaves out steps that are smaller than what lies between this host's or the far one's programs and their kernels as a rule: what
/// moves a kernel's stamps by so little is the host's own scheduling, its caches, and the speed of its processor, and not the
/// path. Network cards stamp without any of it. And those of one way that are smaller than what its delays may be off by at that moment after
/// the clocks' error was taken out: what was left of a clock's slew at its ends is not the path.
pub(super) fn leave_out(
    findings: &mut Vec<Finding>,
    errors: &LocationError,
    selection: &Selection,
    corrections: &[Correction; 2],
) {
    let median = |place: Option<TimestampPoint>, errors: &romer_record::document::Summary| {
        errors.median.filter(|_| place == Some(TimestampPoint::Kernel)).unwrap_or(0.0)
    };
    let there =
        median(selection.t1, &errors.sender.departure).max(median(selection.t2, &errors.responder.arrival));
    let back =
        median(selection.t3, &errors.responder.departure).max(median(selection.t4, &errors.sender.arrival));
    findings.retain(|finding| {
        let uncorrected = |correction: &Correction| {
            let at = correction.origin_ns.saturating_add(finding.at_ns.unwrap_or(0));
            if correction.is_empty() { 0.0 } else { correction.error_at(at) }
        };
        let least = match finding.direction {
            ProbeDirection::Forward => there.max(uncorrected(&corrections[0])),
            ProbeDirection::Reverse => back.max(uncorrected(&corrections[1])),
            ProbeDirection::RoundTrip | ProbeDirection::Both => there.max(back),
        };
        match finding.pattern {
            Pattern::DelayStep { size_ns, .. } => size_ns.abs() >= least,
            _ => true,
        }
    });
}

#[cfg(test)]
mod tests {
    use romer_record::document::{LocationErrors, Summary};

    use super::*;

    fn step(direction: ProbeDirection, size_ns: f64) -> Finding {
        Finding {
            direction,
            at_ns: Some(1),
            until_ns: None,
            false_alarm_probability: Some(1e-12),
            pattern: Pattern::DelayStep {
                at_interval_ns: None,
                size_ns,
                size_interval_ns: None,
                strength_ratio: 9.0,
            },
        }
    }

    #[test]
    fn a_step_below_what_stamps_are_off_by_is_none_unless_cards_stamp() {
        let of = |median| Summary { median: Some(median), ..Summary::default() };
        let errors = LocationError {
            sender: LocationErrors { departure: of(14e3), arrival: of(40e3) },
            responder: LocationErrors { departure: of(9e3), arrival: of(21e3) },
        };
        let sizes = [
            (ProbeDirection::Forward, 18e3),
            (ProbeDirection::Forward, -22e3),
            (ProbeDirection::Reverse, 22e3),
            (ProbeDirection::Reverse, -41e3),
            (ProbeDirection::RoundTrip, 39e3),
        ];
        let left = |place| {
            let selection = Selection { t1: place, t2: place, t3: place, t4: place };
            let mut all = sizes.map(|(way, size)| step(way, size)).to_vec();
            leave_out(&mut all, &errors, &selection, &Default::default());
            all.into_iter()
                .map(|one| match one.pattern {
                    Pattern::DelayStep { size_ns, .. } => size_ns,
                    _ => 0.0,
                })
                .collect::<Vec<f64>>()
        };
        assert_eq!(left(Some(TimestampPoint::Kernel)), [-22e3, -41e3]);
        assert_eq!(left(Some(TimestampPoint::Nic)).len(), sizes.len());
        assert_eq!(left(None).len(), sizes.len());
    }

    #[test]
    fn a_step_below_what_clocks_leave_open_is_none() {
        let leg = romer_clock::skew::Leg { from_ns: 0, value_ns: 0.0, slope: 1e-5 };
        let correction = Correction {
            legs: vec![leg],
            floor_error_ns: 20e3,
            rate_error: 1e-6,
            anchor_ns: 1_000_000_001,
            ..Correction::default()
        };
        let mut all = vec![
            step(ProbeDirection::Forward, 20.9e3),
            step(ProbeDirection::Forward, -21.1e3),
            step(ProbeDirection::Reverse, 1e3),
            step(ProbeDirection::RoundTrip, 1e3),
        ];
        let corrections = [correction, Correction::default()];
        leave_out(&mut all, &LocationError::default(), &Selection::default(), &corrections);
        let left = [
            step(ProbeDirection::Forward, -21.1e3),
            step(ProbeDirection::Reverse, 1e3),
            step(ProbeDirection::RoundTrip, 1e3),
        ];
        assert_eq!(all, left);
    }
}
