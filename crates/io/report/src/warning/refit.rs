//! The refits of an emulation as text.

use romer_record::warning::RefitEvent;
use romer_units::counted;

use crate::sentence::{Text, heading, length, list};

impl Text for RefitEvent {
    fn text(&self) -> String {
        match self {
            Self::Refitted { period, at_ns, scenario, packets, misfits, warnings, .. } => {
                let file = scenario.as_ref().map_or_else(String::new, |file| format!(" ({file})"));
                let mut text = format!(
                    "period {period}: scenario of {}{file} applied at {}",
                    counted(*packets, "packet"),
                    length(*at_ns)
                );
                if !misfits.is_empty() {
                    let ways: Vec<&str> = misfits.iter().copied().map(heading).collect();
                    text.push_str(&format!("; it does not reproduce the measurement ({})", list(&ways)));
                }
                for warning in warnings {
                    text.push_str(&format!("; {}", warning.text()));
                }
                text
            }
            Self::Unanswered { period, error, .. } => {
                let why = error.as_ref().map_or_else(String::new, |error| format!(" ({error})"));
                format!("period {period}: no probe was answered{why}; the previous scenario applies")
            }
            Self::RefitFailed { period, error, .. } => {
                format!("period {period}: the refit failed: {error}")
            }
            Self::PeriodSkipped { period, .. } => format!(
                "period {period}: not fitted, because a later period was measured before its turn; a longer period gives more time"
            ),
            Self::Superseded { period, revision, .. } => format!(
                "period {period}: another scenario was applied during the run (revision {revision}); it remains, and refits end"
            ),
            Self::TimelineFull { period, .. } => format!(
                "period {period}: the recorded timeline has the largest size of a scenario; this refit and later ones apply, and are not \
                 recorded"
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use romer_record::document::ProbeDirection;

    use romer_record::warning::ModelWarning;

    use super::*;

    #[test]
    fn a_refit_says_what_limits_it() {
        let event = RefitEvent::Refitted {
            period: 3,
            at_ns: 90_500_000_000,
            revision: 4,
            scenario: Some("scenario-003.toml".into()),
            packets: 1_500,
            misfits: vec![ProbeDirection::Forward],
            warnings: vec![ModelWarning::DelaysRelative],
        };
        let text = event.text();
        assert!(
            text.starts_with("period 3: scenario of 1500 packets (scenario-003.toml) applied at 90.5 s; "),
            "{text}"
        );
        assert!(text.contains("does not reproduce the measurement (forward); "), "{text}");
        assert!(text.ends_with(&ModelWarning::DelaysRelative.text()), "{text}");
    }
}
