//! The E-model with all parameters at their defaults but delay, codec and loss, echo being cancelled: ITU-T G.107
//! (narrowband), G.107.1 (wideband) and G.107.2 (fullband).
//!
//! R = Ro - Is - Id - Ie,eff + A. At the defaults Ro - Is is 93.2, 129 or 148 ([`best`]), and A is 0. Of Id only the
//! absolute delay's part is left: [`delay_impairment`]. The codec and the loss give [`effective_impairment`]. On the
//! wider scales R and the impairment by delay are stretched by one factor, `stretch`, by which MOS is found again.

use romer_record::voice::{Codec, DelayAndLoss, Rating, Scale};

/// R without any impairment but those that the defaults have: G.107 clause 7.7, G.107.1 clause 7.2, G.107.2 clause 7.2.
pub const fn best(scale: Scale) -> f64 {
    match scale {
        Scale::Narrowband => 93.2,
        Scale::Wideband => 129.0,
        Scale::Fullband => 148.0,
    }
}

/// By how much the scale is longer than that of G.107: G.107.1 annex A, G.107.2 annex A.
const fn stretch(scale: Scale) -> f64 {
    match scale {
        Scale::Narrowband => 1.0,
        Scale::Wideband => 1.29,
        Scale::Fullband => 1.48,
    }
}

/// What Ie,eff goes to as the loss grows: G.107 equation 7-29, G.107.1 clause 7.5 (which keeps the narrowband number),
/// G.107.2 clause 7.5.
const fn worst_impairment(scale: Scale) -> f64 {
    match scale {
        Scale::Narrowband | Scale::Wideband => 95.0,
        Scale::Fullband => 132.0,
    }
}

/// Ie,eff (G.107 equation 7-29) at a loss of `loss_ratio` whose runs are `burst_ratio` times as long as independent ones.
/// `None` where Ie is not known, or there are losses and Bpl is not.
pub fn effective_impairment(codec: &Codec, loss_ratio: f64, burst_ratio: f64) -> Option<f64> {
    let (ie, percent) = (codec.ie?, 100.0 * loss_ratio);
    if percent <= 0.0 {
        return Some(ie);
    }
    Some(ie + (worst_impairment(codec.scale) - ie) * percent / (percent / burst_ratio + codec.bpl?))
}

/// Idd: what a delay from mouth to ear of `nanos` takes. Nothing up to 100 ms (G.107 equations 7-27 and 7-28, G.107.1
/// equation 7-13, G.107.2 clause 7.4).
pub fn delay_impairment(scale: Scale, nanos: f64) -> f64 {
    if nanos <= 100e6 {
        return 0.0;
    }
    let x = (nanos / 100e6).log2();
    let root = |base: f64| (1.0 + base.powi(6)).powf(1.0 / 6.0);
    stretch(scale) * 25.0 * (root(x) - 3.0 * root(x / 3.0) + 2.0)
}

/// The mean opinion score of conversational quality that goes with R (G.107 annex B, G.107.1 and G.107.2 annex A). The
/// polynomial dips below 1 for R under 6.5, where no opinion is: that is 1, too.
pub fn mos(scale: Scale, r: f64) -> f64 {
    match r / stretch(scale) {
        none if none <= 0.0 => 1.0,
        all if all >= 100.0 => 4.5,
        r => (1.0 + 0.035 * r + r * (r - 60.0) * (100.0 - r) * 7e-6).max(1.0),
    }
}

/// What users think at R (G.107 table B.1; G.109). `None` on scales of which no such table is published.
pub fn rating(scale: Scale, r: f64) -> Option<Rating> {
    if scale != Scale::Narrowband {
        return None;
    }
    // To the digit that is printed.
    let r = (10.0 * r).round() / 10.0;
    Some(match r {
        r if r >= 90.0 => Rating::VerySatisfied,
        r if r >= 80.0 => Rating::Satisfied,
        r if r >= 70.0 => Rating::SomeDissatisfied,
        r if r >= 60.0 => Rating::ManyDissatisfied,
        r if r >= 50.0 => Rating::NearlyAllDissatisfied,
        _ => Rating::NotRecommended,
    })
}

/// Delay from mouth to ear up to which conversational voice is as good as it gets, and up to which it is bearable,
/// nanoseconds; and the loss from which it is not (G.1010 table I.1).
const TARGETS: (f64, f64, f64) = (150e6, 400e6, 0.03);

/// The class of a delay and a loss (G.1010 table I.1). `is_whole` says that the delay is the whole of it; of a part the
/// class is known only where nothing can make it better.
pub fn delay_and_loss(nanos: f64, is_whole: bool, loss_ratio: f64) -> Option<DelayAndLoss> {
    let (preferred, limit, loss) = TARGETS;
    match nanos {
        nanos if nanos > limit || loss_ratio >= loss => Some(DelayAndLoss::BeyondLimits),
        _ if !is_whole => None,
        nanos if nanos > preferred => Some(DelayAndLoss::WithinLimits),
        _ => Some(DelayAndLoss::Preferred),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// MOS and categories are those of G.107 table B.1, and 4.41 at the default R of 93.2.
    #[test]
    fn scores_are_published_ones() {
        let scale = Scale::Narrowband;
        for (r, score, category) in [
            (93.2, 4.41, Rating::VerySatisfied),
            (90.0, 4.34, Rating::VerySatisfied),
            (80.0, 4.03, Rating::Satisfied),
            (70.0, 3.60, Rating::SomeDissatisfied),
            (60.0, 3.10, Rating::ManyDissatisfied),
            (50.0, 2.58, Rating::NearlyAllDissatisfied),
        ] {
            // The table has 4.03 where its formula gives 4.024.
            assert!((mos(scale, r) - score).abs() < 0.007, "{r}: {}", mos(scale, r));
            assert_eq!(rating(scale, r), Some(category));
        }
        assert_eq!((mos(scale, -3.0), mos(scale, 100.0)), (1.0, 4.5));
        assert_eq!(rating(scale, 49.9), Some(Rating::NotRecommended));
        assert!((0..=70).all(|tenths| mos(scale, f64::from(tenths) / 10.0) >= 1.0), "the scale begins at 1");
    }

    /// On each scale an unimpaired call has its best R; MOS is read at R over 1.29 or 1.48 (annex A of G.107.1, G.107.2).
    #[test]
    fn wider_scales_are_stretched() {
        for (scale, top) in [(Scale::Wideband, 129.0), (Scale::Fullband, 148.0)] {
            assert!((best(scale) - top).abs() < 1e-9 && (mos(scale, top) - 4.5).abs() < 1e-9);
            assert_eq!(rating(scale, top), None);
        }
        // AMR-WB at 12.65 kbit/s: R 109, which is 84.50 of 100. EVS at 24.4 kbit/s: R 140.8, which is 95.14.
        assert!((mos(Scale::Wideband, 109.0) - mos(Scale::Narrowband, 84.496)).abs() < 1e-4);
        assert!((mos(Scale::Fullband, 140.8) - mos(Scale::Narrowband, 95.135)).abs() < 1e-4);
    }

    /// Ie,eff by hand: G.729 at 2 % is 11 + 84 * 2 / 21 = 19 exactly; AMR-WB goes to 95, EVS to 132.
    #[test]
    fn impairment_follows_formula() {
        let of = |name: &str, loss, burst| effective_impairment(&name.parse().unwrap(), loss, burst).unwrap();
        assert!((of("g729", 0.0, 1.0) - 11.0).abs() < 1e-12);
        assert!((of("g729", 0.02, 1.0) - 19.0).abs() < 1e-9);
        // Runs twice as long: 11 + 84 * 2 / (1 + 19).
        assert!((of("g729", 0.02, 2.0) - 19.4).abs() < 1e-9);
        assert!((of("g711", 0.05, 1.0) - 475.0 / 30.1).abs() < 1e-9);
        assert!((of("amr-wb", 0.02, 1.0) - (20.0 + 75.0 * 2.0 / 6.3)).abs() < 1e-9);
        assert!((of("evs", 0.02, 1.0) - (7.2 + 124.8 * 2.0 / 13.4)).abs() < 1e-9);
        let amr = "amr-wb:8.85kbit".parse().unwrap();
        assert_eq!(effective_impairment(&amr, 0.0, 1.0), Some(41.0));
        assert_eq!(effective_impairment(&amr, 0.01, 1.0), None, "no Bpl is published");
        assert_eq!(effective_impairment(&"melp".parse().unwrap(), 0.0, 1.0), None);
    }

    /// Delay takes nothing up to 100 ms, 3.044 at 200 ms, and on the wider scales in proportion to these.
    #[test]
    fn delay_counts_above_100_ms() {
        let nb = |nanos| delay_impairment(Scale::Narrowband, nanos);
        assert!(nb(100e6).abs() < 1e-12);
        let costs: Vec<f64> = [150e6, 200e6, 250e6, 400e6].into_iter().map(nb).collect();
        assert!(costs.is_sorted(), "{costs:?}");
        for (cost, expected) in costs.iter().zip([0.163_531, 3.044_414, 8.916_710]) {
            assert!((cost - expected).abs() < 1e-5, "{costs:?}");
        }
        assert!((delay_impairment(Scale::Wideband, 200e6) - 1.29 * 3.044_414).abs() < 1e-5);
        assert!((delay_impairment(Scale::Fullband, 200e6) - 1.48 * 3.044_414).abs() < 1e-5);
    }

    /// The targets of G.1010: 150 and 400 ms, 3 %; of a part of the delay only the worst class is certain.
    #[test]
    fn delay_and_loss_has_three_classes() {
        use DelayAndLoss::{BeyondLimits, Preferred, WithinLimits};
        for (ms, loss, whole, class) in [
            (150.0, 0.0299, true, Some(Preferred)),
            (151.0, 0.0, true, Some(WithinLimits)),
            (400.0, 0.0, true, Some(WithinLimits)),
            (401.0, 0.0, true, Some(BeyondLimits)),
            (50.0, 0.03, true, Some(BeyondLimits)),
            (50.0, 0.0, false, None),
            (50.0, 0.03, false, Some(BeyondLimits)),
        ] {
            assert_eq!(delay_and_loss(ms * 1e6, whole, loss), class, "{ms} ms, {loss}");
        }
    }
}
