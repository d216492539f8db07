//! How two clocks run against each other.

use romer_record::document::ClockState;

use crate::number::{NO_BREAK, count, grouped};

/// What is said of the clocks' rates, where they are known; else nothing. Each clock is named: the words stand behind others of either. Of a
/// file whose packets go one way they are a sender's and a receiver's.
pub(super) fn skew(clock: &ClockState, one_way_file: bool) -> String {
    let Some(skew) = clock.skew_ppm.filter(|_| clock.identifiable) else { return String::new() };
    if are_one(skew, clock.skew_interval_ppm) {
        return " The two clocks run at exactly the same rate.".into();
    }
    let by = clock.calibration_packets.map_or_else(String::new, |packets| {
        let first = if packets == 1 { "packet".to_owned() } else { format!("{} packets", count(packets)) };
        format!(" (fitted to the first {first} of a direction, sent for calibration)")
    });
    let [far, near] =
        if one_way_file { ["receiver's", "the sender's"] } else { ["responder's", "the initiator's"] };
    match clock.skew_interval_ppm {
        Some([low, high]) if low <= 0.0 && high >= 0.0 => format!(
            " The {far} clock runs {} than {near}{by}, not significant (95{NO_BREAK}% CI below \
             {}{NO_BREAK}ppm); this skew is removed from the delays.",
            likeliest(skew, (high - low) / 2.0),
            no_less(high.max(-low).max(FINEST_PPM))
        ),
        _ => format!(
            " The {far} clock runs {}{by}; this skew is removed from the delays.",
            pace(skew, clock.skew_interval_ppm, near)
        ),
    }
}

/// How a clock runs against the other: `slower than the initiator's by 17.004 ppm (95 % CI 17.001 to 17.006)`, with the digits that its interval
/// has.
pub(crate) fn pace(skew: f64, interval: Option<[f64; 2]>, other: &str) -> String {
    let Some([low, high]) = interval else {
        let way = if skew < 0.0 { "slower" } else { "faster" };
        return format!("{way} than {other} by {}{NO_BREAK}ppm", digits(skew.abs(), skew));
    };
    let half = (high - low) / 2.0;
    // Stamps that somebody made up exactly leave an interval of nothing: digits are those of the rate then, and no finer
    // than a thousandth.
    if are_one(skew, Some([low, high])) {
        return format!("at exactly the rate of {other}");
    }
    let half = if half < EXACT_PPM { skew.abs().max(0.05) } else { half };
    let show = |ppm: f64| digits(ppm, if half > 0.0 { half } else { skew });
    if low <= 0.0 && high >= 0.0 {
        return format!(
            "at the rate of {other} (difference below {}{NO_BREAK}ppm, 95{NO_BREAK}% CI)",
            no_less(high.max(-low).max(FINEST_PPM))
        );
    }
    let (way, [low, high]) = if skew < 0.0 { ("slower", [-high, -low]) } else { ("faster", [low, high]) };
    if high < FINEST_PPM {
        return format!("{way} than {other} by less than {FINEST_PPM}{NO_BREAK}ppm");
    }
    format!(
        "{way} than {other} by {}{NO_BREAK}ppm (95{NO_BREAK}% CI {} to {})",
        show(skew.abs()),
        show(low),
        show(high)
    )
}

/// The rate in the middle of an interval that holds none: `0.010 ppm slower`.
fn likeliest(skew: f64, half: f64) -> String {
    let way = if skew < 0.0 { "slower" } else { "faster" };
    if skew.abs() < FINEST_PPM {
        return format!("{way} by less than {FINEST_PPM}{NO_BREAK}ppm");
    }
    let fine = half.max(FINEST_PPM);
    let last = 0.1_f64.powi(i32::try_from(places(fine)).unwrap_or(1));
    if skew.abs() < last / 2.0 {
        return format!("{way} by less than {}{NO_BREAK}ppm", digits(last, fine));
    }
    format!("{way} by {}{NO_BREAK}ppm", digits(skew.abs(), fine))
}

/// Clocks that differ by less than this are one: a microsecond in three years.
const EXACT_PPM: f64 = 1e-8;

/// No clock keeps its rate so well that less than this could be told of it: a microsecond in a quarter of an hour.
const FINEST_PPM: f64 = 0.001;

/// Whether stamps that somebody made up say that two clocks are one.
fn are_one(skew: f64, interval: Option<[f64; 2]>) -> bool {
    interval.is_some_and(|[low, high]| high - low < 2.0 * EXACT_PPM) && skew.abs() < EXACT_PPM
}

/// A number with two significant digits of `fine`, and one after the point at the least.
fn digits(value: f64, fine: f64) -> String {
    grouped(value, places(fine))
}

/// The same of `ppm` itself, rounded up: what is less than that is less than what is shown.
fn no_less(ppm: f64) -> String {
    let places = places(ppm);
    let scale = 10f64.powi(i32::try_from(places).unwrap_or(1));
    // What is a round number but for the last bit stays that.
    grouped((ppm * scale - 1e-6).ceil() / scale, places)
}

/// Places after the point with which `ppm` has two significant digits; four at the most, for no clock has more.
fn places(ppm: f64) -> usize {
    (1..4)
        .find(|places| ppm.abs() * 10f64.powi(*places) >= 9.5)
        .map_or(4, |places| usize::try_from(places).unwrap_or(4))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_taken_out_is_said_where_it_cannot_be_told_from_nothing() {
        let of_file = |one_way_file| {
            let (skew_ppm, skew_interval_ppm) = (Some(17.0), Some([16.2, 17.8]));
            let clock =
                ClockState { identifiable: true, skew_ppm, skew_interval_ppm, ..ClockState::default() };
            skew(&clock, one_way_file).replace(NO_BREAK, " ")
        };
        assert!(
            of_file(true).starts_with(" The receiver's clock runs faster than the sender's by 17.00 ppm")
        );
        assert!(
            of_file(false)
                .starts_with(" The responder's clock runs faster than the initiator's by 17.00 ppm")
        );
        let said = |ppm: f64, interval| {
            let clock = ClockState {
                identifiable: true,
                skew_ppm: Some(ppm),
                skew_interval_ppm: Some(interval),
                ..ClockState::default()
            };
            skew(&clock, false).replace(NO_BREAK, " ")
        };
        assert_eq!(
            said(-0.01, [-0.141, 0.12]),
            " The responder's clock runs slower by 0.01 ppm than the initiator's, not significant (95 % CI below 0.15 ppm); this \
             skew is removed from the delays."
        );
        assert!(said(1e-8, [-7.2e-7, 7e-7]).starts_with(
            " The responder's clock runs faster by less than 0.001 ppm than the initiator's, not"
        ));
        // What would read as zero is shown by its last digit.
        assert!(said(-0.04, [-12.1, 12.0]).starts_with(
            " The responder's clock runs slower by less than 0.1 ppm than the initiator's, not"
        ),);
        assert!(
            said(0.06, [-12.1, 12.0])
                .starts_with(" The responder's clock runs faster by 0.1 ppm than the initiator's, not")
        );
        assert!(said(17.0, [16.2, 17.8]).ends_with("17.80); this skew is removed from the delays."));
    }

    #[test]
    fn a_pace_has_the_digits_of_its_interval_and_says_which_clock_is_slower() {
        let say = |skew, interval| pace(skew, interval, "this one").replace(NO_BREAK, " ");
        assert_eq!(
            say(-17.0038, Some([-17.0061, -17.0015])),
            "slower than this one by 17.0038 ppm (95 % CI 17.0015 to 17.0061)"
        );
        assert_eq!(
            say(17.0, Some([16.2, 17.8])),
            "faster than this one by 17.00 ppm (95 % CI 16.20 to 17.80)"
        );
        assert_eq!(
            say(-0.000_04, Some([-0.000_11, 0.000_03])),
            "at the rate of this one (difference below 0.0010 ppm, 95 % CI)"
        );
        assert_eq!(
            say(-1e-8, Some([-7.2e-7, 7e-7])),
            "at the rate of this one (difference below 0.0010 ppm, 95 % CI)"
        );
        assert_eq!(
            say(-0.01, Some([-0.141, 0.12])),
            "at the rate of this one (difference below 0.15 ppm, 95 % CI)"
        );
        assert_eq!(
            say(1.8e-7, Some([1.6e-7, 2.0e-7])),
            "faster than this one by less than 0.001 ppm",
            "no digits that no clock has"
        );
        assert_eq!(say(2e-11, Some([1e-11, 3e-11])), "at exactly the rate of this one");
        assert_eq!(
            say(17.0, Some([17.0 - 1e-10, 17.0 + 1e-10])),
            "faster than this one by 17.0 ppm (95 % CI 17.0 to 17.0)"
        );
        assert_eq!(say(-17.0, None), "slower than this one by 17.0 ppm");
    }
}
