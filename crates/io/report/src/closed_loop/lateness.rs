//! How late the emulators of a loop were, and which differences that may cause.

use romer_record::closed_loop::{ClosedLoop, LoopFigure, LoopResult};
use romer_record::document::{DelayKind, ProbeDirection, Summary};
use romer_record::emulation::Emulation;
use romer_record::warning::{Compared, ComparisonWarning};

use crate::table::MeasuredPath;

/// How late an emulator sent the packets of the forward and of the reverse direction, nanoseconds: the time at which a packet left minus the
/// time at which it was due. `None` where it is unknown, or where there was no emulator.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct EmulatorLateness(pub [Option<Summary>; 2]);

impl EmulatorLateness {
    /// That of an emulator whose port a received the forward packets.
    pub fn from_emulation(emulation: &Emulation) -> Self {
        Self([&emulation.a_to_b, &emulation.b_to_a].map(|direction| Some(direction.delay_error_ns.clone())))
    }

    /// How much later `figure` may be in direction `way`, nanoseconds. A round trip is late in both directions, as far as these are
    /// known. `None` for figures other than delays.
    fn of_figure(&self, way: MeasuredPath, figure: &str) -> Option<f64> {
        let [forward, reverse] =
            self.0.each_ref().map(|one| one.as_ref().and_then(|one| by_figure(one, figure)));
        match way {
            MeasuredPath::Forward => forward,
            MeasuredPath::Reverse => reverse,
            MeasuredPath::RoundTrip => forward.into_iter().chain(reverse).reduce(|there, back| there + back),
        }
    }
}

/// How much packets that are late by `error` change `figure`. A few very late packets can move any quantile of spread delays, as a rule by
/// no more than the mean.
fn by_figure(error: &Summary, figure: &str) -> Option<f64> {
    let mean = error.mean?;
    let quantile = |value: Option<f64>| Some(value.map_or(mean, |value| value.max(mean)));
    match figure {
        "delay_ns.mean" | "wasserstein_ns" => Some(mean),
        "delay_ns.median" => quantile(error.median),
        "delay_ns.p95" => quantile(error.p95),
        "delay_ns.p99" => quantile(error.p99),
        // Either of two consecutive packets may be late.
        "jitter_ns.delay_difference.mean" => Some(2.0 * mean),
        _ => None,
    }
}

/// How late the emulators of both runs were, for one figure.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Late {
    /// Of the path, where that is an emulation too; nanoseconds.
    pub(super) path: Option<f64>,
    /// Of the emulation, nanoseconds.
    pub(super) emulation: Option<f64>,
    /// Whether a late packet can make the figure less as well.
    pub(super) is_either_sign: bool,
}

impl Late {
    /// Of `figure` in direction `way`, of the path and of the emulation.
    pub(super) fn new(
        emulators: &[EmulatorLateness; 2],
        way: MeasuredPath,
        kind: Option<DelayKind>,
        figure: &str,
    ) -> Self {
        let [path, emulation] = emulators.each_ref().map(|one| one.of_figure(way, figure));
        // Of delays above the minimum, a late minimum makes all others less.
        let is_either_sign = kind == Some(DelayKind::Variable)
            || matches!(figure, "jitter_ns.delay_difference.mean" | "wasserstein_ns");
        Self { path, emulation, is_either_sign }
    }

    /// Whether a difference (emulation minus path) that is beyond `limit` may be within it without late packets: the emulation is longer by
    /// no more than its emulator was late, or shorter by no more than that of the path was.
    pub(super) fn explains(&self, difference: f64, limit: f64) -> bool {
        let [path, emulation] = [self.path, self.emulation].map(|late| late.unwrap_or(0.0));
        let [below, above] = if self.is_either_sign { [path + emulation; 2] } else { [path, emulation] };
        (-limit - below..=limit + above).contains(&difference)
    }
}

/// Whether a figure is undecided because an emulator was late: its interval excludes 0.
pub(super) fn is_late(figure: &LoopFigure) -> bool {
    figure.result == Some(LoopResult::Undecided)
        && figure.interval.is_some_and(|[low, high]| low > 0.0 || high < 0.0)
}

/// Whether a figure of the loop is undecided because an emulator was late.
pub fn is_open_by_lateness(closed_loop: &ClosedLoop) -> bool {
    closed_loop.directions.iter().flat_map(|direction| &direction.figures).any(is_late)
}

/// A note for each emulator that was late by more than the tolerance of a figure, or whose lateness leaves a figure undecided: of the figure
/// that it affects the most.
pub(super) fn notes(direction: ProbeDirection, figures: &[LoopFigure]) -> Vec<ComparisonWarning> {
    let note = |measurement: Compared| {
        let late = |figure: &LoopFigure| match measurement {
            Compared::A => figure.path_late_ns,
            Compared::B => figure.emulator_late_ns,
        };
        let affected = figures.iter().filter_map(|figure| {
            let tolerance_ns = figure.tolerance.filter(|tolerance| *tolerance > 0.0)?;
            let late_ns = late(figure).filter(|late| *late > 0.0)?;
            (late_ns > tolerance_ns || is_late(figure)).then_some((&figure.figure, late_ns, tolerance_ns))
        });
        let most = affected.max_by(|(_, late, tolerance), (_, other, of_other)| {
            (late / tolerance).total_cmp(&(other / of_other))
        });
        most.map(|(metric, late_ns, tolerance_ns)| ComparisonWarning::EmulatorLate {
            direction,
            measurement,
            metric: metric.clone(),
            late_ns,
            tolerance_ns,
        })
    };
    [Compared::A, Compared::B].into_iter().filter_map(note).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn late_by(mean: f64, p99: f64) -> EmulatorLateness {
        let error = Summary {
            count: 100,
            mean: Some(mean),
            median: Some(mean / 2.0),
            p95: Some(p99 / 2.0),
            p99: Some(p99),
            ..Summary::default()
        };
        EmulatorLateness([Some(error), None])
    }

    /// Each figure has the lateness of its own statistic, a quantile at least that of the mean; losses and unknown emulators have none.
    #[test]
    fn each_figure_has_its_own_lateness() {
        let late = late_by(4e6, 20e6);
        let of = |figure: &str| late.of_figure(MeasuredPath::Forward, figure);
        assert_eq!(of("delay_ns.mean"), Some(4e6));
        assert_eq!(
            of("delay_ns.median"),
            Some(4e6),
            "most packets are in time, but the median of spread delays moves"
        );
        assert_eq!(of("delay_ns.p95"), Some(10e6));
        assert_eq!(of("delay_ns.p99"), Some(20e6));
        assert_eq!(of("jitter_ns.delay_difference.mean"), Some(8e6));
        assert_eq!(of("loss.ratio"), None);
        assert_eq!(late.of_figure(MeasuredPath::Reverse, "delay_ns.mean"), None, "it is unknown");
        assert_eq!(late.of_figure(MeasuredPath::RoundTrip, "delay_ns.mean"), Some(4e6));
        let [error, _] = late.0;
        let both = EmulatorLateness([error.clone(), error]);
        assert_eq!(both.of_figure(MeasuredPath::RoundTrip, "delay_ns.mean"), Some(8e6));
    }

    /// A late emulator explains longer delays of the emulation, that of the path shorter ones, and neither explains more than it was late.
    #[test]
    fn lateness_has_a_sign_and_a_size() {
        let kind = Some(DelayKind::Absolute);
        let of = |emulators: [EmulatorLateness; 2], kind| {
            Late::new(&emulators, MeasuredPath::Forward, kind, "delay_ns.mean")
        };
        let emulation = of([EmulatorLateness::default(), late_by(4e6, 20e6)], kind);
        for (difference, expected) in [(4.9e6, true), (5.1e6, false), (-1.1e6, false), (-4e6, false)] {
            assert_eq!(emulation.explains(difference, 1e6), expected, "{difference}");
        }
        let path = of([late_by(4e6, 20e6), EmulatorLateness::default()], kind);
        for (difference, expected) in [(-4.9e6, true), (-5.1e6, false), (1.1e6, false)] {
            assert_eq!(path.explains(difference, 1e6), expected, "{difference}");
        }
        let relative = of([EmulatorLateness::default(), late_by(4e6, 20e6)], Some(DelayKind::Variable));
        assert!(relative.explains(-4.9e6, 1e6) && !relative.explains(-5.1e6, 1e6));
        assert!(!Late::default().explains(1.000_001e6, 1e6), "an unknown lateness explains nothing");
    }
}
