//! Every case of the jitter vectors: Chadda 2004's table 2.1, worked through by hand, and the RFCs' variants beside.

use crate::common::arrived;
use romer_metrics::{delays, in_order_of_arrival, ipdv, jitter, pdv, reordering, stddev_population, summary};
use romer_record::OneWaySingleton;
use serde_json::Value;

const MS: f64 = 1e6;

fn vectors() -> Value {
    serde_json::from_str(include_str!("../vectors/jitter.json")).expect("JSON")
}

/// A number of milliseconds, in nanoseconds.
#[track_caller]
fn ms(value: &Value) -> f64 {
    value.as_f64().expect("a number") * MS
}

/// A list of whole milliseconds, in nanoseconds.
fn whole(value: &Value) -> Vec<i64> {
    let entries = value.as_array().expect("a list");
    entries.iter().filter_map(Value::as_i64).map(|ms| ms * 1_000_000).collect()
}

/// A list of milliseconds without its undefined entries, in nanoseconds.
fn list(value: &Value) -> Vec<f64> {
    let entries = value.as_array().expect("a list");
    entries.iter().filter_map(Value::as_f64).map(|ms| ms * MS).collect()
}

fn floats(values: &[i64]) -> Vec<f64> {
    values.iter().map(|value| *value as f64).collect()
}

fn near(found: f64, expected: f64) -> bool {
    (found - expected).abs() <= 1e-9 * expected.abs().max(1.0)
}

#[track_caller]
fn same(case: &str, what: &str, found: &[f64], expected: &[f64]) {
    assert_eq!(found.len(), expected.len(), "{case}: {what}: {found:?} {expected:?}");
    assert!(found.iter().zip(expected).all(|(f, e)| near(*f, *e)), "{case}: {what}: {found:?} {expected:?}");
}

#[track_caller]
fn same_summary(case: &str, what: &str, found: &[f64], expected: &Value) {
    let found = summary(found);
    for (name, value) in [("mean", found.mean), ("max", found.max), ("min", found.min)] {
        let expected = ms(&expected[name]);
        assert!(
            value.is_some_and(|value| near(value, expected)),
            "{case}: {what}.{name}: {value:?} {expected}"
        );
    }
}

fn each_case(check: impl Fn(&str, &Value, &[OneWaySingleton])) {
    let vectors = vectors();
    let departures = whole(&vectors["departure"]);
    let cases = vectors["cases"].as_object().expect("cases");
    assert_eq!(cases.len(), 5);
    for (name, case) in cases {
        let arrivals = whole(&case["arrival"]);
        let singletons: Vec<OneWaySingleton> = (0..)
            .zip(departures.iter().zip(&arrivals))
            .map(|(sequence, (departure, arrival))| arrived(sequence, *departure, *arrival))
            .collect();
        check(name, case, &singletons);
    }
}

#[test]
fn delays_and_the_order_of_arrival_are_those_of_the_vectors() {
    each_case(|name, case, singletons| {
        same(name, "latency", &floats(&delays(singletons)), &list(&case["latency"]));
        let order: Vec<u64> = in_order_of_arrival(singletons).iter().map(|p| p.sequence).collect();
        let expected: Vec<u64> =
            case["arrival_order"].as_array().unwrap().iter().filter_map(Value::as_u64).collect();
        assert_eq!(order, expected, "{name}");
    });
}

#[test]
fn the_four_methods_of_seed_003_are_its_table() {
    each_case(|name, case, singletons| {
        let value = jitter::peak_to_peak(singletons).unwrap();
        assert!(near(value as f64, ms(&case["method1"]["value"])), "{name}");
        for (method, found) in [
            ("method2", floats(&jitter::inter_arrival_difference(singletons))),
            (
                "method2_in_arrival_order",
                floats(&jitter::inter_arrival_difference_in_order_of_arrival(singletons)),
            ),
            ("method3", floats(&jitter::delay_difference(singletons))),
            ("method3_in_arrival_order", floats(&jitter::delay_difference_in_order_of_arrival(singletons))),
            ("method4", jitter::deviation_from_mean(singletons)),
        ] {
            same(name, method, &found, &list(&case[method]["per_packet"]));
            same_summary(name, method, &found, &case[method]["summary"]);
        }
        // The cells as the seed prints them (six digits), not as the vectors compute them.
        let cells = &case["seed_cells"];
        same(name, "printed m2", &floats(&jitter::inter_arrival_difference(singletons)), &list(&cells["m2"]));
        same(name, "printed m3", &floats(&jitter::delay_difference(singletons)), &list(&cells["m3"]));
        same(name, "printed m4", &jitter::deviation_from_mean(singletons), &list(&cells["m4"]));
        let deviation = summary(&delays(singletons)).stddev.unwrap();
        assert!((deviation - ms(&cells["sd"])).abs() < 1.0, "{name}: {deviation}");
    });
}

/// The jitter of RFC 3550 over transit times in this order.
fn rfc3550_of(transits: &[i64]) -> Option<f64> {
    let mut estimator = jitter::InterarrivalJitter::default();
    transits.iter().for_each(|transit| estimator.take(*transit));
    estimator.value()
}

#[test]
fn the_jitter_of_rfc_3550_is_that_of_the_vectors_in_either_order() {
    each_case(|name, case, singletons| {
        let expected = &case["rfc3550"];
        let value = jitter::rfc3550(singletons).unwrap();
        assert!(near(value, ms(&expected["final"])), "{name}: {value}");
        let by_sequence = rfc3550_of(&delays(singletons)).unwrap();
        assert!(near(by_sequence, ms(&expected["final_if_send_order"])), "{name}");
        let arrivals: Vec<OneWaySingleton> = in_order_of_arrival(singletons).into_iter().copied().collect();
        for (count, value) in (1..).zip(list(&expected["history"])) {
            let so_far = rfc3550_of(&delays(&arrivals[..count])).unwrap_or(0.0);
            assert!(near(so_far, value), "{name} after {count}: {so_far} {value}");
        }
    });
}

#[test]
fn ipdv_pdv_and_reordering_are_those_of_the_vectors() {
    each_case(|name, case, singletons| {
        let found = floats(&ipdv(singletons));
        same(name, "ipdv", &found, &list(&case["rfc3393_ipdv"]["signed"]));
        same_summary(name, "ipdv", &found, &case["rfc3393_ipdv"]["summary"]);
        let found = floats(&pdv(singletons));
        same(name, "pdv", &found, &list(&case["rfc5481_pdv"]["per_packet"]));
        for (statistic, value) in [("mean", summary(&found).mean), ("max", summary(&found).max)] {
            assert!(near(value.unwrap(), ms(&case["rfc5481_pdv"][statistic])), "{name}");
        }
        let found: Vec<u64> = reordering(singletons).iter().map(|packet| packet.sequence).collect();
        let expected = &case["reordered_send_indices_rfc4737"];
        let expected: Vec<u64> = expected.as_array().unwrap().iter().filter_map(Value::as_u64).collect();
        assert_eq!(found, expected, "{name}");
    });
}

#[test]
fn both_standard_deviations_are_those_of_the_vectors() {
    each_case(|name, case, singletons| {
        let delays = delays(singletons);
        let expected = &case["stdev_latency"];
        let sample = summary(&delays).stddev.unwrap();
        assert!(near(sample, ms(&expected["sample_n_minus_1"])), "{name}: {sample}");
        let population = stddev_population(&delays).unwrap();
        assert!(near(population, ms(&expected["population_n"])), "{name}: {population}");
        let interval = summary(&delays).mean_interval.unwrap();
        let half = (interval[1] - interval[0]) / 2.0;
        let expected = ms(&expected["ci95_t_halfwidth"]);
        assert!((half - expected).abs() <= 1e-6 * expected, "{name}: {half} {expected}");
    });
}
