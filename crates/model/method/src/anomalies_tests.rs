use super::*;
use romer_units::random::{RandomStream, Seed};

const LEVEL: f64 = 0.01;
const LOADS: [f64; 5] = [10.0, 30.0, 50.0, 70.0, 90.0];
const SIZES: [f64; 7] = [64.0, 128.0, 256.0, 512.0, 1_024.0, 1_280.0, 1_518.0];

/// Normal numbers of a fixed seed, by Box and Muller.
fn normal(name: u32) -> impl Iterator<Item = f64> {
    let stream = RandomStream::new(Seed([3; 6]), [u32::from_be_bytes(*b"soft"), name]);
    (0_u64..).map(move |n| {
        let radius = libm::sqrt(-2.0 * libm::log(1.0 - stream.unit(2 * n)));
        radius * libm::cos(core::f64::consts::TAU * stream.unit(2 * n + 1))
    })
}

/// What a device shows in all places of a sweep, by size and load: its truth, with repeats that scatter by a share of it.
fn sweep(
    truth: impl Fn(f64, f64) -> f64,
    scatter: impl Fn(f64, f64) -> f64,
    repeats: usize,
    name: u32,
) -> Vec<Vec<CurvePoint>> {
    let mut noise = normal(name);
    let mut point = |size, load| {
        let values =
            noise.by_ref().take(repeats).map(|noise| truth(size, load) * (1.0 + scatter(size, load) * noise));
        CurvePoint { x: load, values: values.collect(), resolution: 0.0 }
    };
    SIZES.iter().map(|size| LOADS.iter().map(|load| point(*size, *load)).collect()).collect()
}

/// What each place is held against.
fn spreads(places: &[Vec<CurvePoint>]) -> Vec<Vec<Scatter>> {
    let all = Scatter::of_points(places.iter().flatten()).unwrap();
    let of_load = |load: usize| Scatter::of_points(places.iter().map(|row| &row[load]));
    let row = |row: &Vec<CurvePoint>| {
        (0..row.len()).map(|load| all.or_greater(Scatter::of_points(row)).or_greater(of_load(load))).collect()
    };
    places.iter().map(row).collect()
}

/// The places, by size and load, that are found worse with the level, all tests together; along which curves of forwarded load.
fn forwarded(places: &[Vec<CurvePoint>]) -> Vec<(usize, usize)> {
    let spreads = spreads(places);
    let mut all: Vec<((usize, usize), f64)> = Vec::new();
    for (size, curve) in places.iter().enumerate() {
        let found = suspicions(curve, CurveShape::CarriedOverLoads, &spreads[size]);
        all.extend(found.iter().map(|one| ((size, one.place), one.probability)));
    }
    for load in 0..LOADS.len() {
        let rows = SIZES.iter().zip(places);
        let curve: Vec<CurvePoint> = rows
            .map(|(size, row)| CurvePoint { x: *size, values: row[load].values.clone(), resolution: 0.0 })
            .collect();
        let own: Vec<Scatter> = spreads.iter().map(|row| row[load]).collect();
        let found = suspicions(&curve, CurveShape::CarriedOverSizes, &own);
        all.extend(found.iter().map(|one| ((one.place, load), one.probability)));
    }
    significant(&all)
}

fn delays(places: &[Vec<CurvePoint>]) -> Vec<(usize, usize)> {
    let spreads = spreads(places);
    let curves = places.iter().zip(&spreads).enumerate();
    let all = curves.flat_map(|(size, (curve, own))| {
        let found = suspicions(curve, CurveShape::Delay, own);
        found.into_iter().map(move |one| ((size, one.place), one.probability))
    });
    significant(&all.collect::<Vec<_>>())
}

fn significant(all: &[((usize, usize), f64)]) -> Vec<(usize, usize)> {
    let corrected = holm(&all.iter().map(|(_, probability)| *probability).collect::<Vec<_>>());
    let mut found: Vec<_> = all
        .iter()
        .zip(corrected)
        .filter(|(_, probability)| *probability < LEVEL)
        .map(|((place, _), _)| *place)
        .collect();
    found.sort_unstable();
    found.dedup();
    found
}

fn near(a: f64, b: f64) -> bool {
    (a - b).abs() < 1e-9
}

/// A sound device that carries 60 % of the line, and of frames of 64 octets 40 %.
fn sound(size: f64, load: f64) -> f64 {
    load.min(if size < 100.0 { 40.0 } else { 60.0 })
}

#[test]
fn a_tenth_less_at_one_size_is_found_at_every_load_that_tells() {
    // Three repeats that scatter by 2 %: a tenth is eight deviations of the test's error, of which some four are asked for. Of
    // 200 sweeps two may have a false alarm besides; 13 with a probability of 1e-6.
    for (soft, name) in [(2, 0), (0, 10_000), (6, 20_000)] {
        let (mut found, mut wrong) = (0, 0);
        for number in 0..200 {
            let whole = |size| if near(size, SIZES[soft]) { 0.9 } else { 1.0 };
            let places = sweep(|size, load| whole(size) * sound(size, load), |_, _| 0.02, 3, name + number);
            let spots = forwarded(&places);
            wrong += usize::from(spots.iter().any(|(size, _)| *size != soft));
            // By the loads, where more is forwarded of more; at the ends of the sizes there is no other way.
            found += spots.iter().filter(|(size, load)| *size == soft && *load < 2).count();
        }
        assert!(found >= 398 && wrong <= 12, "{soft}: {found} {wrong}");
    }
}

#[test]
fn a_tenth_less_at_one_load_and_a_tenth_more_delay_are_found() {
    let (mut found, mut wrong) = ([0; 2], 0);
    for number in 0..200 {
        let dip = |load| if near(load, 30.0) { 0.9 } else { 1.0 };
        let spots =
            forwarded(&sweep(|size, load| sound(size, load) * dip(load), |_, _| 0.01, 3, 30_000 + number));
        found[0] += spots.iter().filter(|(_, load)| *load == 1).count();
        wrong += usize::from(spots.iter().any(|(_, load)| *load != 1));
        // Ten times the latency at the greatest load, and a tenth more at one place.
        let slow = |size: f64, load: f64| {
            let more = if near(size, 512.0) && near(load, 50.0) { 1.1 } else { 1.0 };
            (100.0 + size / 10.0) * more * if load > 80.0 { 10.0 } else { 1.0 }
        };
        let spots = delays(&sweep(slow, |_, _| 0.01, 3, 40_000 + number));
        found[1] += spots.iter().filter(|place| **place == (3, 2)).count();
        wrong += usize::from(spots.iter().any(|place| *place != (3, 2)));
    }
    assert!(found[0] >= 1_398 && found[1] >= 199 && wrong <= 16, "{found:?} {wrong}");
}

#[test]
fn a_sound_device_is_called_soft_no_more_often_than_the_level_says() {
    // 2,000 sweeps, of which one in a hundred at the most may have a false alarm: 20; 46 or more with a probability of 1e-6.
    // So it is too where repeats scatter thrice as far at one load as at the others.
    for (name, uneven) in [(100_000, 1.0), (200_000, 3.0)] {
        let scatter = |_: f64, load: f64| if load > 80.0 { 0.02 * uneven } else { 0.02 };
        let mut alarms = [0; 2];
        for number in 0..2_000 {
            alarms[0] += usize::from(!forwarded(&sweep(sound, scatter, 3, name + number)).is_empty());
            let delay = |size: f64, _: f64| 100.0 + size;
            alarms[1] += usize::from(!delays(&sweep(delay, scatter, 3, 2 * name + number)).is_empty());
        }
        assert!(alarms.iter().all(|alarms| *alarms <= 45), "{uneven}: {alarms:?}");
    }
}

#[test]
fn one_wild_repeat_is_no_soft_spot() {
    // Its own repeats scatter so far that nothing follows, however alike those of all other places are.
    let mut places = sweep(sound, |_, _| 0.001, 3, 7);
    places[3][1].values[0] *= 0.3;
    assert_eq!(forwarded(&places), []);
    let mut slow = sweep(|_, _| 100.0, |_, _| 0.001, 3, 8);
    slow[3][1].values[0] *= 20.0;
    assert_eq!(delays(&slow), []);
}

#[test]
fn equal_repeats_leave_nothing_to_chance_and_single_ones_say_nothing() {
    let flat = |values: [f64; 3]| -> Vec<CurvePoint> {
        (0..3_u8)
            .zip(values)
            .map(|(n, value)| CurvePoint { x: f64::from(n), values: vec![value; 4], resolution: 0.0 })
            .collect()
    };
    let found = |values| {
        let points = flat(values);
        let spreads = [Scatter::of_points(&points).unwrap(); 3];
        suspicions(&points, CurveShape::CarriedOverSizes, &spreads)
            .iter()
            .map(|one| one.probability)
            .collect::<Vec<_>>()
    };
    assert_eq!(found([1.0, 1.0, 1.0]), [1.0]);
    assert_eq!(found([1.0, 0.5, 1.0]), [0.0]);
    assert_eq!(found([1.0, 1.5, 1.0]), [1.0]);
    let single = [CurvePoint { x: 0.0, values: vec![1.0], resolution: 0.0 }];
    assert_eq!(Scatter::of_points(&single), None);
    assert_eq!(suspicions(&[], CurveShape::Delay, &[]), []);
}

#[test]
fn holms_correction_is_that_of_his_paper() {
    // By hand: 0.01 x 4, 0.02 x 3, then 0.03 x 2 and 0.05, no less than the one before.
    let corrected = holm(&[0.03, 0.01, 0.05, 0.02]);
    for (found, expected) in corrected.iter().zip([0.06, 0.04, 0.06, 0.06]) {
        assert!((found - expected).abs() < 1e-12, "{corrected:?}");
    }
    assert_eq!(holm(&[0.9, 0.8]), [1.0, 1.0]);
    assert_eq!(holm(&[]), Vec::<f64>::new());
}

#[test]
fn the_chance_of_a_mean_is_students() {
    // 1, 2, 3 has mean 2, error 0.577, t = 3.464; of two degrees both sides beyond it have 7.4 %.
    assert!((chance_of_mean(&[1.0, 2.0, 3.0], 0.0).unwrap() - 0.074_180).abs() < 1e-5);
    assert_eq!(chance_of_mean(&[1.0], 0.0), None);
    assert_eq!((chance_of_mean(&[2.0; 3], 0.0), chance_of_mean(&[0.0; 3], 0.0)), (Some(0.0), Some(1.0)));
}

/// Two equal differences are no certainty, and what is of the size of the resolution is nothing.
#[test]
fn equal_differences_have_a_probability() {
    let chance = |difference: f64, count| chance_of_mean(&vec![difference; count], 1.0).unwrap();
    // Student's with one degree of freedom: 2 / (pi t) of a large t, here 5,000 by the root of 1/24.
    let expected = 2.0 / core::f64::consts::PI / (5_000.0 * 24.0_f64.sqrt());
    assert!((chance(5_000.0, 2) / expected - 1.0).abs() < 1e-3, "{}", chance(5_000.0, 2));
    assert!(chance(1.0, 2) > 0.1 && chance(0.2, 5) > 0.1);
    assert!(chance(5_000.0, 3) < chance(5_000.0, 2));
}
