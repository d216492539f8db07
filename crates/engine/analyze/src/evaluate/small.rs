//! Steps of the delay that are smaller than what the stamps of a run may be off by.

use romer_passages::Selection;
use romer_record::document::{LocationError, Way};
use romer_record::finding::{Finding, Pattern};
use romer_units::Place;

/// Leaves out steps that are smaller than what lies between this host's or the far one's programs and their kernels as a rule: what
/// moves a kernel's stamps by so little is the host's own scheduling, its caches, and the speed of its processor, and not the
/// path. Network cards stamp without any of it.
pub(super) fn leave_out(findings: &mut Vec<Finding>, errors: &LocationError, selection: &Selection) {
    let median = |place: Option<Place>, errors: &romer_record::document::Summary| {
        errors.median.filter(|_| place == Some(Place::Kernel)).unwrap_or(0.0)
    };
    let there =
        median(selection.t1, &errors.sender.departure).max(median(selection.t2, &errors.responder.arrival));
    let back =
        median(selection.t3, &errors.responder.departure).max(median(selection.t4, &errors.sender.arrival));
    findings.retain(|finding| {
        let least = match finding.direction {
            Way::Forward => there,
            Way::Reverse => back,
            Way::RoundTrip | Way::Both => there.max(back),
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

    fn step(direction: Way, size_ns: f64) -> Finding {
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
            (Way::Forward, 18e3),
            (Way::Forward, -22e3),
            (Way::Reverse, 22e3),
            (Way::Reverse, -41e3),
            (Way::RoundTrip, 39e3),
        ];
        let left = |place| {
            let selection = Selection { t1: place, t2: place, t3: place, t4: place };
            let mut all = sizes.map(|(way, size)| step(way, size)).to_vec();
            leave_out(&mut all, &errors, &selection);
            all.into_iter()
                .map(|one| match one.pattern {
                    Pattern::DelayStep { size_ns, .. } => size_ns,
                    _ => 0.0,
                })
                .collect::<Vec<f64>>()
        };
        assert_eq!(left(Some(Place::Kernel)), [-22e3, -41e3]);
        assert_eq!(left(Some(Place::Nic)).len(), sizes.len());
        assert_eq!(left(None).len(), sizes.len());
    }
}
