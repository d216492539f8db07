//! Special functions: the normal distribution and the incomplete gamma function, with their inverses.
//!
//! Everything is built on `libm`'s software functions, which give the same on every machine.

use core::f64::consts::{FRAC_1_SQRT_2, PI};

/// The share of the normal distribution below `x`.
pub(crate) fn normal_below(x: f64) -> f64 {
    0.5 * libm::erfc(-x * FRAC_1_SQRT_2)
}

fn polynomial(coefficients: &[f64], x: f64) -> f64 {
    coefficients.iter().rev().fold(0.0, |sum, c| sum * x + c)
}

/// The `p`-quantile of the normal distribution, by M. J. Wichura's AS 241 (1988), relative error 1e-16.
#[expect(clippy::excessive_precision, reason = "the constants as they were published")]
pub(crate) fn normal_quantile(p: f64) -> f64 {
    const A: [f64; 8] = [
        3.387_132_872_796_366_608,
        133.141_667_891_784_377_45,
        1_971.590_950_306_551_442_7,
        13_731.693_765_509_461_125,
        45_921.953_931_549_871_457,
        67_265.770_927_008_700_853,
        33_430.575_583_588_128_105,
        2_509.080_928_730_122_672_7,
    ];
    const B: [f64; 8] = [
        1.0,
        42.313_330_701_600_911_252,
        687.187_007_492_057_908_3,
        5_394.196_021_424_751_107_7,
        21_213.794_301_586_595_867,
        39_307.895_800_092_710_61,
        28_729.085_735_721_942_674,
        5_226.495_278_852_854_561,
    ];
    const C: [f64; 8] = [
        1.423_437_110_749_683_577_34,
        4.630_337_846_156_545_295_9,
        5.769_497_221_460_691_405_5,
        3.647_848_324_763_204_605_04,
        1.270_458_252_452_368_382_58,
        0.241_780_725_177_450_611_77,
        0.022_723_844_989_269_184_583_3,
        7.745_450_142_783_414_076_4e-4,
    ];
    const D: [f64; 8] = [
        1.0,
        2.053_191_626_637_758_821_87,
        1.676_384_830_183_803_849_4,
        0.689_767_334_985_100_004_55,
        0.148_103_976_427_480_074_59,
        0.015_198_666_563_616_457_196_6,
        5.475_938_084_995_344_946e-4,
        1.050_750_071_644_416_843_24e-9,
    ];
    const E: [f64; 8] = [
        6.657_904_643_501_103_777_2,
        5.463_784_911_164_114_369_9,
        1.784_826_539_917_291_335_8,
        0.296_560_571_828_504_891_23,
        0.026_532_189_526_576_123_093,
        0.001_242_660_947_388_078_438_6,
        2.711_555_568_743_487_578_15e-5,
        2.010_334_399_292_288_132_65e-7,
    ];
    const F: [f64; 8] = [
        1.0,
        0.599_832_206_555_887_937_69,
        0.136_929_880_922_735_805_31,
        0.014_875_361_290_850_614_852_5,
        7.868_691_311_456_132_591e-4,
        1.846_318_317_510_054_681_8e-5,
        1.421_511_758_316_445_888_7e-7,
        2.044_263_103_389_939_785_64e-15,
    ];
    let q = p - 0.5;
    if q.abs() <= 0.425 {
        let r = 0.180_625 - q * q;
        return q * polynomial(&A, r) / polynomial(&B, r);
    }
    let r = libm::sqrt(-libm::log(if q < 0.0 { p } else { 1.0 - p }));
    let magnitude = if r <= 5.0 {
        polynomial(&C, r - 1.6) / polynomial(&D, r - 1.6)
    } else {
        polynomial(&E, r - 5.0) / polynomial(&F, r - 5.0)
    };
    if q < 0.0 { -magnitude } else { magnitude }
}

/// Both regularised incomplete gamma functions of `a` > 0 at `x` ≥ 0: the shares of the gamma distribution of shape
/// `a` below and above `x`. By series below a + 1, by Lentz's continued fraction above.
pub(crate) fn gamma_shares(a: f64, x: f64) -> (f64, f64) {
    if x <= 0.0 {
        return (0.0, 1.0);
    }
    let factor = libm::exp(a * libm::log(x) - x - libm::lgamma(a));
    if x < a + 1.0 {
        let (mut term, mut sum) = (1.0 / a, 1.0 / a);
        for n in 1..2_000 {
            term *= x / (a + f64::from(n));
            sum += term;
            if term < sum * 1e-17 {
                break;
            }
        }
        let below = (sum * factor).min(1.0);
        return (below, 1.0 - below);
    }
    const TINY: f64 = 1e-300;
    let mut b = x + 1.0 - a;
    let mut c = 1.0 / TINY;
    let mut d = 1.0 / b;
    let mut h = d;
    for n in 1..2_000 {
        let n = f64::from(n);
        let an = -n * (n - a);
        b += 2.0;
        d = 1.0 / guarded(an * d + b, TINY);
        c = guarded(b + an / c, TINY);
        let step = d * c;
        h *= step;
        if (step - 1.0).abs() < 1e-16 {
            break;
        }
    }
    let above = (h * factor).clamp(0.0, 1.0);
    (1.0 - above, above)
}

fn guarded(value: f64, tiny: f64) -> f64 {
    if value.abs() < tiny { tiny } else { value }
}

/// Where the gamma distribution of shape `a` has the share `below` under it and `above` over it (the smaller of the
/// two is the exact one), by Newton's steps in the logarithm from Wilson and Hilferty's guess, held in a bracket.
pub(crate) fn gamma_quantile(a: f64, below: f64, above: f64) -> f64 {
    let lower = below <= above;
    let z = if lower { normal_quantile(below) } else { -normal_quantile(above) };
    let cube = 1.0 - 1.0 / (9.0 * a) + z / (3.0 * libm::sqrt(a));
    // Near 0 the share is x^a / (a Γ(a)).
    let small = libm::exp((libm::log(below) + libm::log(a) + libm::lgamma(a)) / a);
    let mut x = if cube > 0.1 && a > 0.5 { a * cube * cube * cube } else { small.max(1e-300) };
    let (mut low, mut high) = (0.0_f64, f64::INFINITY);
    for _ in 0..200 {
        let (under, over) = gamma_shares(a, x);
        let error = if lower { under - below } else { above - over };
        if error > 0.0 {
            high = high.min(x);
        } else {
            low = low.max(x);
        }
        let density = libm::exp((a - 1.0) * libm::log(x) - x - libm::lgamma(a));
        let mut next = x - error / density;
        if !next.is_finite() || next <= low || next >= high {
            next = if high.is_finite() { 0.5 * (low + high) } else { x * 2.0 };
        }
        if (next - x).abs() <= 1e-14 * x {
            return next;
        }
        x = next;
    }
    x
}

/// Spearman's correlation of two normal numbers whose correlation is `rho`.
pub fn spearman_of_normal(rho: f64) -> f64 {
    6.0 / PI * libm::asin(rho / 2.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_normal_quantile_undoes_the_distribution() {
        for p in [1e-300, 1e-20, 1e-9, 0.01, 0.07, 0.075, 0.3, 0.5, 0.7, 0.93, 0.99, 0.999_999] {
            let back = normal_below(normal_quantile(p));
            assert!((back / p - 1.0).abs() < 1e-12, "{p} came back as {back}");
        }
        assert!((normal_quantile(0.975) - 1.959_963_984_540_054).abs() < 1e-14);
    }

    #[test]
    fn the_gamma_quantile_undoes_the_distribution() {
        for a in [0.1, 0.5, 0.9, 1.0, 2.5, 30.0, 1_000.0] {
            for p in [1e-9, 1e-3, 0.1, 0.5, 0.9, 0.999, 1.0 - 1e-9] {
                let x = gamma_quantile(a, p, 1.0 - p);
                let (below, above) = gamma_shares(a, x);
                let error = if p < 0.5 { below / p - 1.0 } else { above / (1.0 - p) - 1.0 };
                assert!(error.abs() < 1e-8, "shape {a}, share {p}: {x} has {below}");
            }
        }
        // Shape 1 is the exponential distribution, shape 1/2 the square of a normal number, halved.
        assert!((gamma_shares(1.0, 2.0).1 - libm::exp(-2.0)).abs() < 1e-15);
        assert!((gamma_shares(0.5, 2.0).0 - (1.0 - 2.0 * normal_below(-2.0))).abs() < 1e-14);
    }
}
