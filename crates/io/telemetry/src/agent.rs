//! The metrics of an agent: what its scheduled measurements come to.

use crate::registry::{Counter, Family, Registry, Spec};

/// What a run came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunOutcome {
    /// It was measured, and all its limits passed.
    Passed,
    /// A limit failed.
    LimitFailed,
    /// It was not measured, or not to all its targets.
    Failed,
}

impl RunOutcome {
    const ALL: [Self; 3] = [Self::Passed, Self::LimitFailed, Self::Failed];

    const fn name(self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::LimitFailed => "limit-failed",
            Self::Failed => "failed",
        }
    }
}

/// The metrics of an agent.
#[derive(Debug)]
pub struct AgentMetrics {
    runs: Family<Counter, 2>,
    missed: Family<Counter, 1>,
}

impl AgentMetrics {
    /// Adds them to `registry`.
    pub fn new(registry: &Registry) -> Self {
        Self {
            runs: registry.counter(Spec {
                name: "romer_agent_runs",
                help: "Runs that have ended.",
                labels: ["measurement", "outcome"],
            }),
            missed: registry.counter(Spec {
                name: "romer_agent_missed_starts",
                help: "Starts that passed during the previous run of the measurement.",
                labels: ["measurement"],
            }),
        }
    }

    /// Adds a measurement, so that its metrics are 0 before its first run.
    pub fn add_measurement(&self, name: &str) {
        for outcome in RunOutcome::ALL {
            self.runs.with([name, outcome.name()]);
        }
        self.missed.with([name]);
    }

    /// Counts a run of a measurement.
    pub fn add_run(&self, measurement: &str, outcome: RunOutcome) {
        self.runs.with([measurement, outcome.name()]).add(1);
    }

    /// Counts starts that a measurement missed.
    pub fn add_missed(&self, measurement: &str, starts: u64) {
        self.missed.with([measurement]).add(starts);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Format;

    /// Measurements have counters before their first run, and each outcome has its own.
    #[test]
    fn runs_are_counted_by_outcome() {
        let registry = Registry::new();
        let metrics = AgentMetrics::new(&registry);
        metrics.add_measurement("core");
        metrics.add_run("core", RunOutcome::LimitFailed);
        metrics.add_missed("core", 3);
        let text = String::from_utf8(registry.encode(Format::Text)).unwrap();
        for line in [
            "romer_agent_runs_total{measurement=\"core\",outcome=\"passed\"} 0",
            "romer_agent_runs_total{measurement=\"core\",outcome=\"limit-failed\"} 1",
            "romer_agent_runs_total{measurement=\"core\",outcome=\"failed\"} 0",
            "romer_agent_missed_starts_total{measurement=\"core\"} 3",
        ] {
            assert!(text.lines().any(|one| one == line), "{line}\n{text}");
        }
    }
}
