//! Combined multiple recursive generators of P. L'Ecuyer, as `generator = "mrg"` and `"mrg32k3a"` use them.
//!
//! `mrg` is the one of Pham 2004's reference 22 (Combined Multiple Recursive Random Number Generators, Operations
//! Research 44(5), 1996): two recurrences of order three modulo 2147483647 and 2145483479, period 2^185.
//! `mrg32k3a` is the longer one of 1999 (Operations Research 47(1)), period 2^191. Both are written here from their
//! recurrences. Streams that must not meet start 2^100 steps apart.

use romer_units::random::Seed;

type Matrix = [[u64; 3]; 3];

/// The constants of one generator: x = (a1·x₋₁ + a2·x₋₂ + a3·x₋₃) mod m for both parts, output (x - y) mod m1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Constants {
    modulus: [u64; 2],
    /// Factors of the last value, of the one before, of the one before that; negative ones reduced.
    factors: [[u64; 3]; 2],
}

const CMRG: Constants = Constants {
    modulus: [2_147_483_647, 2_145_483_479],
    factors: [[0, 63_308, 2_147_483_647 - 183_326], [86_098, 0, 2_145_483_479 - 539_608]],
};

const MRG32K3A: Constants = Constants {
    modulus: [4_294_967_087, 4_294_944_443],
    factors: [[0, 1_403_580, 4_294_967_087 - 810_728], [527_612, 0, 4_294_944_443 - 1_370_589]],
};

/// Which of the two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// L'Ecuyer 1996, 31 bits: Pham 2004's.
    Cmrg,
    /// MRG32k3a, 32 bits.
    Mrg32k3a,
}

/// A generator in some state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mrg {
    constants: Constants,
    /// The last three values of both parts, the newest first.
    state: [[u64; 3]; 2],
}

impl Mrg {
    /// The generator whose first three values of either part are those of the seed, the oldest first (six numbers:
    /// x₁ x₂ x₃ y₁ y₂ y₃), each reduced by its modulus. `None` where all three of a part are then 0, from which it
    /// would never come away.
    pub fn new(family: Family, seed: Seed) -> Option<Self> {
        let constants = match family {
            Family::Cmrg => CMRG,
            Family::Mrg32k3a => MRG32K3A,
        };
        let [x, y] = constants.modulus;
        let [a, b, c, d, e, f] = seed.0.map(u64::from);
        let state = [[c % x, b % x, a % x], [f % y, e % y, d % y]];
        (state[0] != [0; 3] && state[1] != [0; 3]).then_some(Self { constants, state })
    }

    /// The same generator, `number` times 2^100 steps on.
    #[must_use]
    pub fn stream(&self, number: u64) -> Self {
        let mut jumped = self.clone();
        for part in 0..2 {
            let modulus = self.constants.modulus[part];
            let [a, b, c] = self.constants.factors[part];
            let mut far = [[a, b, c], [1, 0, 0], [0, 1, 0]];
            for _ in 0..100 {
                far = product(&far, &far, modulus);
            }
            let jump = power(far, number, modulus);
            jumped.state[part] = jump.map(|row| dot(row, self.state[part], modulus));
        }
        jumped
    }

    /// The next number, from 0 to one less than [`Mrg::modulus`].
    pub fn step(&mut self) -> u64 {
        for part in 0..2 {
            let modulus = self.constants.modulus[part];
            let state = &mut self.state[part];
            let next = dot(self.constants.factors[part], *state, modulus);
            *state = [next, state[0], state[1]];
        }
        let modulus = self.constants.modulus[0];
        (self.state[0][0] + modulus - self.state[1][0] % modulus) % modulus
    }

    /// The modulus of the output.
    pub const fn modulus(&self) -> u64 {
        self.constants.modulus[0]
    }

    /// 64 bits from two steps, the first the more significant.
    pub fn word(&mut self) -> u64 {
        let modulus = u128::from(self.modulus());
        let pair = u128::from(self.step()) * modulus + u128::from(self.step());
        let scale = modulus * modulus;
        // pair / scale in [0, 1), to 64 binary digits; the scale has at most 64 bits, so two steps of 32.
        let high = (pair << 32) / scale;
        let rest = (pair << 32) % scale;
        let low = (rest << 32) / scale;
        u64::try_from((high << 32) | low).unwrap_or(u64::MAX)
    }
}

/// Three products below 2^64 each, reduced.
fn dot(row: [u64; 3], column: [u64; 3], modulus: u64) -> u64 {
    row.iter().zip(column).fold(0, |sum, (a, b)| (sum + a * b % modulus) % modulus)
}

fn product(a: &Matrix, b: &Matrix, modulus: u64) -> Matrix {
    let column = |j: usize| [b[0][j], b[1][j], b[2][j]];
    a.map(|row| [0, 1, 2].map(|j| dot(row, column(j), modulus)))
}

fn power(base: Matrix, mut exponent: u64, modulus: u64) -> Matrix {
    let (mut result, mut square) = ([[1, 0, 0], [0, 1, 0], [0, 0, 1]], base);
    while exponent > 0 {
        if exponent & 1 == 1 {
            result = product(&result, &square, modulus);
        }
        square = product(&square, &square, modulus);
        exponent >>= 1;
    }
    result
}

/// A normally distributed number with mean 0 and deviation 1 by J. L. Leva's ratio of uniforms (A Fast Normal Random
/// Number Generator, ACM TOMS 18(4), 1992), from numbers in (0, 1) that `uniform` gives; 2.74 on average.
pub fn leva(mut uniform: impl FnMut() -> f64) -> f64 {
    loop {
        let u = uniform();
        let v = 1.7156 * (uniform() - 0.5);
        let x = u - 0.449_871;
        let y = v.abs() + 0.386_595;
        let q = x * x + y * (0.196 * y - 0.254_72 * x);
        if q < 0.275_97 || (q <= 0.278_46 && v * v <= -4.0 * u * u * libm::log(u)) {
            return v / u;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_generator_of_1996_gives_its_published_ten_thousandth_number() {
        // The seeding by s = 69069 s mod 2^32 from 1, in the order x1 x2 x3 y1 y2 y3, and seven steps to warm up,
        // belong to the published vector and not to the generator.
        let mut s: u32 = 1;
        let mut seed = [0; 6];
        for word in &mut seed {
            s = s.wrapping_mul(69_069);
            *word = s;
        }
        let [x1, x2, x3, y1, y2, y3] = seed;
        let mut generator = Mrg::new(Family::Cmrg, Seed([x3, x2, x1, y3, y2, y1])).unwrap();
        for _ in 0..7 {
            generator.step();
        }
        let last = (0..10_000).map(|_| generator.step()).last();
        assert_eq!(last, Some(719_452_880));
    }

    #[test]
    fn mrg32k3a_gives_the_numbers_published_for_seeds_of_12345() {
        let mut generator = Mrg::new(Family::Mrg32k3a, Seed([12_345; 6])).unwrap();
        for expected in
            [0.127_011_122_046_577, 0.318_527_565_396_795, 0.309_186_015_583_270, 0.825_846_862_927_114]
        {
            let given = generator.step() as f64 / (generator.modulus() + 1) as f64;
            assert!((given - expected).abs() < 1e-14, "{given} for {expected}");
        }
    }

    #[test]
    fn jumps_agree_with_each_other_and_streams_differ() {
        let start = Mrg::new(Family::Cmrg, Seed([1, 2, 3, 4, 5, 6])).unwrap();
        assert_eq!(start.stream(0), start);
        assert_eq!(start.stream(2).stream(3), start.stream(5));
        assert_ne!(start.stream(1), start.stream(2));
        // One step by the matrix is one step of the recurrence.
        let mut stepped = start.clone();
        stepped.step();
        let [a, b, c] = CMRG.factors[0];
        let once = [[a, b, c], [1, 0, 0], [0, 1, 0]].map(|row| dot(row, start.state[0], CMRG.modulus[0]));
        assert_eq!(once, stepped.state[0]);
    }

    #[test]
    fn a_seed_from_which_a_part_never_comes_away_is_refused() {
        assert_eq!(Mrg::new(Family::Cmrg, Seed([0, 0, 0, 1, 2, 3])), None);
        assert_eq!(Mrg::new(Family::Cmrg, Seed([1, 2, 3, 2_145_483_479, 0, 0])), None);
    }

    #[test]
    fn levas_numbers_are_normal() {
        let mut generator = Mrg::new(Family::Cmrg, Seed([1, 2, 3, 4, 5, 6])).unwrap();
        let sample = (0..200_000).map(|_| leva(|| crate::convert::open_unit(generator.word()))).collect();
        crate::claims::kolmogorov(sample, crate::special_functions::normal_below);
    }
}
