//! Of which machine a calibration is, and whether it is this one.

use std::fmt::Display;

use romer_host::host_info;
use romer_record::SOFTWARE;
use romer_record::calibration::{CalibrationRecord, Machine};
use romer_record::manifest::CalibrationUse;
use romer_record::warning::CalibrationUnused;

/// This machine.
pub fn this_machine() -> Machine {
    Machine {
        host: host_info::host_name().unwrap_or_default(),
        kernel: host_info::kernel_release().unwrap_or_default(),
        clock_source: host_info::clock_source().ok(),
        processors: u32::try_from(host_info::processors()).unwrap_or(u32::MAX),
    }
}

/// A calibration as a run on `machine` uses it: with its figures where it is of that machine and this romer, and else
/// with the reason why not.
pub fn choose(record: &CalibrationRecord, machine: &Machine, subtract: bool) -> CalibrationUse {
    let refused = difference(record, machine);
    CalibrationUse {
        measured: record.measured.clone(),
        stamp_errors: if refused.is_none() { record.stamp_errors.clone() } else { Vec::new() },
        subtract: subtract && refused.is_none(),
        refused,
    }
}

/// A calibration that could not be read, as a run has it that would have used it: the run says `why`.
pub fn unreadable(why: &impl Display) -> CalibrationUse {
    CalibrationUse {
        measured: String::new(),
        stamp_errors: Vec::new(),
        subtract: false,
        refused: Some(CalibrationUnused::Unreadable { error: why.to_string() }),
    }
}

fn difference(record: &CalibrationRecord, machine: &Machine) -> Option<CalibrationUnused> {
    let then = &record.machine;
    let differ = |then: &str, now: &str| (then != now).then(|| (then.to_owned(), now.to_owned()));
    let source = |machine: &Machine| machine.clock_source.clone().unwrap_or_default();
    if let Some((calibrated, current)) = differ(&then.host, &machine.host) {
        return Some(CalibrationUnused::OtherHost { calibrated, current });
    }
    if let Some((calibrated, current)) = differ(&then.kernel, &machine.kernel) {
        return Some(CalibrationUnused::OtherKernel { calibrated, current });
    }
    if let Some((calibrated, current)) = differ(&source(then), &source(machine)) {
        return Some(CalibrationUnused::OtherClockSource { calibrated, current });
    }
    if then.processors != machine.processors {
        let (calibrated, current) = (then.processors, machine.processors);
        return Some(CalibrationUnused::OtherProcessors { calibrated, current });
    }
    let version = differ(&record.software, SOFTWARE);
    version.map(|(calibrated, current)| CalibrationUnused::OtherVersion { calibrated, current })
}

#[cfg(test)]
mod tests {
    use romer_record::calibration::{AddedDelay, CALIBRATION, HostGaps, StampSourceError};
    use romer_units::TimestampPoint;

    use super::*;

    fn record() -> CalibrationRecord {
        let share =
            AddedDelay { baseline_ns: 300.0, median_ns: 350.0, uncertainty_ns: 900.0, max_ns: 5_000.0 };
        CalibrationRecord {
            schema: CALIBRATION.into(),
            software: SOFTWARE.into(),
            measured: "2026-11-22T00:00:00Z".into(),
            machine: this_machine(),
            rounds: 5,
            probes: 1_000,
            interval_ns: 2_000_000,
            packet_octets: 128,
            stamp_errors: vec![StampSourceError {
                stamp_source: TimestampPoint::Kernel,
                forward: share,
                reverse: share,
                round_trip: share,
            }],
            symmetry: Vec::new(),
            two_rates: Vec::new(),
            two_rates_missing: None,
            host_gaps: HostGaps::default(),
        }
    }

    #[test]
    fn a_calibration_of_this_machine_is_used() {
        let used = choose(&record(), &this_machine(), true);
        assert_eq!((used.refused, used.subtract, used.stamp_errors.len()), (None, true, 1));
    }

    #[test]
    fn one_of_another_host_kernel_clock_or_romer_is_not_and_it_is_said_why() {
        let mut others = vec![record(); 5];
        others[0].machine.host.push('x');
        others[1].machine.kernel.push('x');
        others[2].machine.clock_source = Some("another".into());
        others[3].machine.processors += 1;
        others[4].software.push('x');
        let expected: [fn(&CalibrationUnused) -> bool; 5] = [
            |why| matches!(why, CalibrationUnused::OtherHost { .. }),
            |why| matches!(why, CalibrationUnused::OtherKernel { .. }),
            |why| matches!(why, CalibrationUnused::OtherClockSource { .. }),
            |why| matches!(why, CalibrationUnused::OtherProcessors { .. }),
            |why| matches!(why, CalibrationUnused::OtherVersion { .. }),
        ];
        for (other, is_expected) in others.iter().zip(expected) {
            let used = choose(other, &this_machine(), true);
            assert!(used.stamp_errors.is_empty() && !used.subtract, "{used:?}");
            assert!(used.refused.as_ref().is_some_and(is_expected), "{used:?}");
        }
    }
}
