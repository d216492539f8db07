//! Which warnings and events are of the test setup alone: of the hosts, the programs and their time stamps, and not of the path.
//! Who reads the figures of a path needs them rarely.

use romer_record::document::Measurement;
use romer_record::event::EventKind;
use romer_record::manifest::EarlyEnd;
use romer_record::warning::MeasurementWarning;

use crate::sentence::Text;

/// Whether a warning is of the test setup.
const fn is_warning_of_setup(warning: &MeasurementWarning) -> bool {
    matches!(
        warning,
        MeasurementWarning::ResponderSlow { .. }
            | MeasurementWarning::DepartureHeldByHost { .. }
            | MeasurementWarning::DepartureLate { .. }
            | MeasurementWarning::NicTimeStampsMissing(_)
            | MeasurementWarning::TimeStampsMissing(_)
            | MeasurementWarning::NicTimeStampsUnavailable { .. }
            | MeasurementWarning::InterruptCoalescing { .. }
            | MeasurementWarning::ClockOffsetUnknown
            | MeasurementWarning::NoResponderLog { .. }
            | MeasurementWarning::CalibrationSourceMissing { subtract: false }
    )
}

/// Whether the heading or an event of `m` states the fact of this warning, or that nothing answered makes it false.
fn is_stated_elsewhere(warning: &MeasurementWarning, m: &Measurement) -> bool {
    let kind = match warning {
        MeasurementWarning::RunCutShort { cause: EarlyEnd::Interrupted | EarlyEnd::Killed } => {
            return m.partial;
        }
        MeasurementWarning::StampReflectorOnly { .. } => return m.round_trip.packets.received == Some(0),
        MeasurementWarning::PortUnreachable { .. } | MeasurementWarning::IcmpErrors { .. } => {
            EventKind::PathError
        }
        MeasurementWarning::NextHopUnresolved { .. } => EventKind::NotSent,
        _ => return false,
    };
    m.events.iter().any(|event| event.kind == kind)
}

/// The texts of the warnings of `m` that bear on the figures, and of those of the test setup, without those that are stated elsewhere.
pub(crate) fn warnings(m: &Measurement) -> (Vec<String>, Vec<String>) {
    let stated_once = m.warnings.iter().filter(|one| !is_stated_elsewhere(one, m));
    let (setup, bearing): (Vec<_>, Vec<_>) = stated_once.partition(|one| is_warning_of_setup(one));
    let texts = |all: Vec<&MeasurementWarning>| all.into_iter().map(Text::text).collect();
    (texts(bearing), texts(setup))
}

/// Whether events of this kind are of the test setup.
pub(crate) const fn is_of_setup(kind: EventKind) -> bool {
    matches!(kind, EventKind::Pause | EventKind::Missed)
}
