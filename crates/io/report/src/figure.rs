//! What the charts show, before they are drawn.
//!
//! A chart of a long run is thinned so that the page stays small: the points are put into buckets, and of each
//! bucket those stay that are spread evenly by rank, so that a picture is as dense as that of all would be, and the least and
//! the greatest where they stand apart, so that no outlier disappears. At most 8,000 are drawn of a series, 4,000 on paper
//! and in files, and 1,500 where the chart is narrow; of those of which a page has many, 1,470 where there are more than 2,000. What stands apart is sought in
//! some 500 stretches of either, which are about as many as can be told apart. The caption says how many are drawn, and of
//! how many.

mod clocks;
mod damage;
mod distributions;
mod drawing;
pub(crate) mod emulated;
mod found;
mod histograms;
mod laid;
mod over_time;
mod ranks;
mod several;
mod shapes;
mod stretches;
mod strips;
mod thin;
mod times;

use crate::input::Stream;
use crate::table::MeasuredPath;
use distributions::{Changes, Sorted};
pub(crate) use drawing::{Axis, Column, Figure, Ink, Labels, Layer, Shape};
pub(crate) use laid::OverlaidRun;
use over_time::Spaced;
pub(crate) use ranks::at as quantile;
pub(crate) use several::overlaid;
pub(crate) use stretches::{Mark, Stretch};
pub(crate) use strips::{decade_label, decades};
pub(crate) use thin::{MOST_POINTS, Outlier, peaks};
pub(crate) use times::Times;

/// All figures that the data allow.
pub(crate) fn figures(stream: &Stream<'_>) -> Vec<Figure> {
    let m = stream.measurement;
    let Some(singletons) = &stream.singletons else {
        return distributions::of_document(m).into_iter().collect();
    };
    let many = singletons.forward.len().max(singletons.reverse.len()) >= MIN_ROWS_FOR_THREAD;
    let (sorted, (times, spaced)) = both(
        many,
        || Sorted::new(singletons),
        || {
            let times = Times::from_singletons(singletons);
            let spaced = Spaced::from_singletons(singletons, &times);
            (times, spaced)
        },
    );
    let over_time = || {
        let mut figures = Vec::new();
        figures.extend(over_time::delays(m, singletons, &sorted, &times, &[MeasuredPath::RoundTrip]));
        figures.extend(over_time::delays(
            m,
            singletons,
            &sorted,
            &times,
            &[MeasuredPath::Forward, MeasuredPath::Reverse],
        ));
        figures.extend(over_time::by_number(m, singletons, &sorted));
        figures.extend(histograms::over_time(m, singletons, &times));
        figures.extend(strips::losses(singletons, &times));
        figures.extend(strips::order(singletons, &times));
        figures.extend(clocks::corrections(m, singletons, &times));
        figures
    };
    let shapes = || {
        let mut figures = Vec::new();
        figures.extend(distributions::histogram(m, &sorted));
        figures.extend(histograms::variation(m, singletons));
        figures.extend(histograms::intervals(&spaced));
        figures.extend(distributions::distribution(m, &sorted));
        figures.extend(shapes::tail(m, &sorted));
        // Of a long run what is not wanted any more is given back before the next is made.
        let between = shapes::between(&spaced);
        let spacings = over_time::between(spaced, &times);
        let changes = Changes::new(singletons);
        figures.extend(distributions::spacing(singletons, &changes));
        figures.extend(shapes::jitters(m, singletons, &sorted, &changes));
        figures.extend(between);
        figures.extend(clocks::location(singletons));
        figures.extend(clocks::location_shape(singletons));
        figures.extend(damage::positions(m));
        (spacings, figures)
    };
    let (mut figures, (spacings, shapes)) = both(many, over_time, shapes);
    figures.extend(spacings);
    figures.extend(shapes);
    figures
}

/// From so many singletons on a second thread is worth its making.
const MIN_ROWS_FOR_THREAD: usize = 100_000;

/// Does two things, of long runs at once.
fn both<A: Send, B: Send>(many: bool, a: impl FnOnce() -> A + Send, b: impl FnOnce() -> B) -> (A, B) {
    if !many {
        return (a(), b());
    }
    std::thread::scope(|scope| {
        let one = scope.spawn(a);
        let other = b();
        match one.join() {
            Ok(one) => (one, other),
            Err(panic) => std::panic::resume_unwind(panic),
        }
    })
}
