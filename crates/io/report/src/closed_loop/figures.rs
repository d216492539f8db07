//! What only a closed loop draws.

use romer_record::closed_loop::{LoopDirection, LoopLossPeriod};

use super::page::{INKS, NAMES};
use crate::figure::{Axis, Figure, Ink, Labels, Layer};
use crate::number::TimeScale;
use crate::table::MeasuredPath;

fn legend() -> Vec<(String, Ink)> {
    NAMES.into_iter().map(String::from).zip(INKS).collect()
}

#[expect(clippy::cast_precision_loss, reason = "a chart")]
const fn real(value: u64) -> f64 {
    value as f64
}

/// The autocorrelation of delay over the lag.
pub(super) fn autocorrelation(direction: &LoopDirection, way: MeasuredPath) -> Option<Figure> {
    let last = direction.autocorrelation.last().filter(|lag| lag.packets > 1)?;
    let unit = TimeScale::for_nanos(real(last.lag_ns.unsigned_abs()));
    let at = |lag_ns: i64| real(lag_ns.unsigned_abs()) / unit.nanos();
    let lags = || direction.autocorrelation.iter();
    let path = lags().filter_map(|lag| Some((at(lag.lag_ns), lag.path?))).collect();
    let emulation = lags().filter_map(|lag| Some((at(lag.lag_ns), lag.emulation?))).collect();
    let lines: [Vec<(f64, f64)>; 2] = [path, emulation];
    let lowest = lines.iter().flatten().map(|(_, y)| *y).fold(0.0, f64::min);
    Some(Figure {
        name: match way {
            MeasuredPath::Forward => "autocorrelation-forward",
            MeasuredPath::Reverse => "autocorrelation-reverse",
            MeasuredPath::RoundTrip => "autocorrelation-round-trip",
        },
        title: format!("Autocorrelation of delay, {}", way.name()),
        caption: "Correlation of delays this far apart. 0: they do not depend on each other.".into(),
        x: Axis {
            title: format!("lag, {}", unit.name(true)),
            from: 0.0,
            to: at(last.lag_ns),
            labels: Labels::Numbers,
        },
        y: Axis {
            title: "autocorrelation".into(),
            from: (lowest * 10.0).floor() / 10.0,
            to: 1.0,
            labels: Labels::Numbers,
        },
        layers: INKS.into_iter().zip(lines).map(|(ink, line)| Layer::Line(ink, line)).collect(),
        legend: legend(),
    })
}

/// How many loss periods there were, by their length.
pub(super) fn loss_periods(direction: &LoopDirection, way: MeasuredPath) -> Option<Figure> {
    let longest = direction.loss_periods.iter().map(|period| period.packets).max()?;
    let most = direction.loss_periods.iter().flat_map(|period| [period.path, period.emulation]).max()?;
    // Both bars of a length stand beside each other.
    let layers = INKS.into_iter().zip([-0.4, 0.0]).enumerate().map(|(run, (ink, left))| {
        let bar = |period: &LoopLossPeriod| {
            let at = real(period.packets) + left;
            ([at, at + 0.4, 0.0, real([period.path, period.emulation][run])], 1.0)
        };
        Layer::Bars(ink, direction.loss_periods.iter().map(bar).collect())
    });
    Some(Figure {
        name: match way {
            MeasuredPath::Forward => "loss-periods-forward",
            MeasuredPath::Reverse => "loss-periods-reverse",
            MeasuredPath::RoundTrip => "loss-periods-round-trip",
        },
        title: format!("Loss periods, {}", way.name()),
        caption: "Consecutive packets that were lost (RFC 3357).".into(),
        x: Axis {
            title: "length, packets".into(),
            from: 0.0,
            to: real(longest) + 1.0,
            labels: Labels::Numbers,
        },
        y: Axis {
            title: "loss periods".into(),
            from: 0.0,
            to: 1.08 * real(most.max(1)),
            labels: Labels::Numbers,
        },
        layers: layers.collect(),
        legend: legend(),
    })
}
