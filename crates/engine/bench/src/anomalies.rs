//! The soft spots of a sweep.

use romer_method::Frames;
use romer_method::anomalies::{CurvePoint, CurveShape, Scatter, Suspicion, holm, suspicions};
use romer_record::benchmark::Outlier;

use crate::document::{Quantity, resolution, values};
use crate::numbers::same;
use crate::options::BenchOptions;
use crate::trial::CaseTrial;

/// Of a benchmark of a sound device one in so many has a soft spot told by chance, whatever the number of its places.
const LEVEL: f64 = 0.01;
/// Of a latency or a jitter, what is no greater than this share of what was to be expected is not told.
const LEAST_OF_DELAYS: f64 = 0.05;
/// Of what is forwarded likewise: a rate is blurred by what is lost or late at the end of a trial, up to a hundredth of its frames.
const LEAST_OF_FORWARDED: f64 = 0.01;

/// A curve along which a soft spot is looked for: where its points lie, and along what.
struct Curve<'p> {
    places: Vec<&'p (Frames, f64)>,
    x: fn(&(Frames, f64)) -> f64,
    over_loads: bool,
}

/// The curves over the loads of each size, and over the sizes at each load.
fn curves<'p>(options: &BenchOptions, places: &'p [(Frames, f64)]) -> Vec<Curve<'p>> {
    let over_loads = options.frames.iter().map(|frames| Curve {
        places: places.iter().filter(|(other, _)| other == frames).collect(),
        x: |place| place.1 * 100.0,
        over_loads: true,
    });
    let mut loads: Vec<f64> = places.iter().map(|place| place.1).collect();
    loads.sort_by(f64::total_cmp);
    loads.dedup_by(|a, b| same(*a, *b));
    let over_sizes = loads.into_iter().map(|load| Curve {
        places: places.iter().filter(|(frames, at)| same(*at, load) && frames.size().is_some()).collect(),
        x: |place| place.0.size().map_or(0.0, |size| f64::from(size.octets())),
        over_loads: false,
    });
    over_loads.chain(over_sizes).collect()
}

/// A place that may be one.
struct Candidate<'p> {
    case: usize,
    place: &'p (Frames, f64),
    quantity: &'static str,
    found: Suspicion,
}

/// Where a quantity is worse than along the loads, or along the sizes, it should be. The probability allows for all places,
/// quantities and cases of the benchmark.
pub(crate) fn outliers(
    options: &BenchOptions,
    kept: &[CaseTrial],
    places: &[(Frames, f64)],
    quantities: impl Iterator<Item = Quantity>,
) -> Vec<Outlier> {
    let curves = curves(options, places);
    let mut candidates: Vec<Candidate<'_>> = Vec::new();
    for (quantity, of) in quantities {
        for case in 0..options.cases.len() {
            let point = |place: &(Frames, f64), x: f64| {
                let values = values(kept, case, place, options.repeats, of);
                let resolution = resolution(options, &place.0, Some(place.1 * 100.0), quantity);
                CurvePoint { x, values: values.into_iter().flatten().collect(), resolution }
            };
            let of = |wanted: &dyn Fn(&(Frames, f64)) -> bool| {
                let some: Vec<CurvePoint> =
                    places.iter().filter(|place| wanted(place)).map(|place| point(place, place.1)).collect();
                Scatter::of_points(&some)
            };
            let Some(all) = of(&|_| true) else { continue };
            let spread = |(frames, load): &(Frames, f64)| {
                all.or_greater(of(&|place| place.0 == *frames)).or_greater(of(&|place| same(place.1, *load)))
            };
            for Curve { places: along, x, over_loads } in &curves {
                let kind = match (quantity.starts_with("forwarded"), over_loads) {
                    (true, true) => CurveShape::CarriedOverLoads,
                    (true, false) => CurveShape::CarriedOverSizes,
                    (false, _) => CurveShape::Delay,
                };
                // What the device is to drop is not offered to be forwarded.
                let x = |place: &(Frames, f64)| {
                    if kind == CurveShape::CarriedOverLoads {
                        return options.to_carry(&place.0, place.1).load * 100.0;
                    }
                    x(place)
                };
                let points: Vec<CurvePoint> = along.iter().map(|place| point(place, x(place))).collect();
                let spreads: Vec<Scatter> = along.iter().map(|place| spread(place)).collect();
                let found = suspicions(&points, kind, &spreads).into_iter();
                candidates.extend(found.map(|found| Candidate {
                    case,
                    place: along[found.place],
                    quantity,
                    found,
                }));
            }
        }
    }
    let chances: Vec<f64> = candidates.iter().map(|one| one.found.probability).collect();
    let mut spots: Vec<Outlier> = Vec::new();
    for (one, probability) in candidates.iter().zip(holm(&chances)) {
        let Suspicion { found, expected, .. } = one.found;
        let least = if one.quantity.starts_with("forwarded") { LEAST_OF_FORWARDED } else { LEAST_OF_DELAYS };
        // Whole frames make a load up to one frame less than it was asked for.
        let whole = resolution(options, &one.place.0, Some(one.place.1 * 100.0), one.quantity);
        if probability < LEVEL && (found - expected).abs() > least * expected.abs() + whole {
            push_spot(&mut spots, spot(options, one, probability));
        }
    }
    spots
}

/// Adds a soft spot, or keeps the more probable of two that are one.
fn push_spot(spots: &mut Vec<Outlier>, spot: Outlier) {
    let is_it = |other: &&mut Outlier| {
        let at = |spot: &Outlier| spot.load_percent.unwrap_or(0.0);
        (&other.case, other.frame_size, &other.quantity) == (&spot.case, spot.frame_size, &spot.quantity)
            && same(at(other), at(&spot))
    };
    match spots.iter_mut().find(is_it) {
        Some(other) if other.probability <= spot.probability => {}
        Some(other) => *other = spot,
        None => spots.push(spot),
    }
}

fn spot(options: &BenchOptions, one: &Candidate<'_>, probability: f64) -> Outlier {
    let Candidate { case, place: (frames, load), quantity, found: Suspicion { found, expected, .. } } = one;
    let case = options.cases.get(*case).map_or("", |case| case.name.as_str());
    let size = frames.size().map(romer_units::FrameSize::octets);
    let load = options.nominal(frames, *load).load * 100.0;
    Outlier {
        case: case.into(),
        frame_size: size,
        load_percent: Some(load),
        quantity: (*quantity).into(),
        measured: *found,
        expected: *expected,
        probability,
    }
}
