//! Whether a packet is lost, duplicated, displaced or corrupted.

use crate::generator::Sequence;

/// How yes and no come about.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Decision {
    /// Never.
    #[default]
    Never,
    /// Each packet by itself.
    Bernoulli {
        /// Of yes.
        probability: f64,
    },
    /// Yes with the stated probability, and autocorrelation `correlation`^k at distance k, both exactly: the chain
    /// of two states with p(yes after no) = p (1 - c) and p(yes after yes) = p + c (1 - p). (netem blends uniform
    /// numbers instead and gets neither.)
    Correlated {
        /// Of yes.
        probability: f64,
        /// From -1 to 1; below 0 bounded besides by [`Decision::check`].
        correlation: f64,
    },
    /// Gilbert and Elliott: a good and a bad state, from good to bad with p, back with r; yes with the state's own
    /// probability. A packet is judged in the state that it finds, then the state changes. The first state is drawn
    /// from the stationary law. Ratio of yes: (r·good + p·bad)/(p + r).
    GilbertElliott {
        /// From good to bad.
        p: f64,
        /// From bad to good.
        r: f64,
        /// Probability in the good state.
        good: f64,
        /// Probability in the bad state.
        bad: f64,
    },
    /// Four states: 1 received in a gap, 2 received in a burst, 3 lost in a burst, 4 lost alone, from which 1 follows.
    /// Ratio of yes: π₁ (p13/p31 + p14), π₁ = 1/(1 + p14 + p13/p31 + p13 p32/(p31 p23)).
    FourState {
        /// 1 to 3.
        p13: f64,
        /// 3 to 1.
        p31: f64,
        /// 3 to 2.
        p32: f64,
        /// 2 to 3.
        p23: f64,
        /// 1 to 4.
        p14: f64,
    },
}

impl Decision {
    /// The share of yes in the long run.
    pub fn ratio(&self) -> f64 {
        match *self {
            Self::Never => 0.0,
            Self::Bernoulli { probability } | Self::Correlated { probability, .. } => probability,
            Self::GilbertElliott { p, r, good, bad } => {
                if p + r > 0.0 {
                    (r * good + p * bad) / (p + r)
                } else {
                    good
                }
            }
            Self::FourState { p13, p31, p14, .. } => {
                if p13 > 0.0 {
                    self.gap() * (p13 / p31 + p14)
                } else {
                    p14 / (1.0 + p14)
                }
            }
        }
    }

    /// π₁ of the four states.
    fn gap(&self) -> f64 {
        match *self {
            Self::FourState { p13, p31, p32, p23, p14 } if p13 > 0.0 => {
                let burst = if p32 > 0.0 { p13 * p32 / (p31 * p23) } else { 0.0 };
                1.0 / (1.0 + p14 + p13 / p31 + burst)
            }
            Self::FourState { p14, .. } => 1.0 / (1.0 + p14),
            _ => 1.0,
        }
    }

    /// Whether the numbers can be what they say.
    ///
    /// # Errors
    /// In words.
    pub fn check(&self) -> Result<(), String> {
        let probability = |name: &str, value: f64| {
            if (0.0..=1.0).contains(&value) {
                Ok(())
            } else {
                Err(format!("{name} is {value}; a probability is from 0 to 1"))
            }
        };
        match *self {
            Self::Never => Ok(()),
            Self::Bernoulli { probability: p } => probability("probability", p),
            Self::Correlated { probability: p, correlation } => {
                probability("probability", p)?;
                if !(-1.0..=1.0).contains(&correlation) {
                    return Err(format!("correlation is {correlation}; it is from -1 to 1"));
                }
                let least = if p > 0.0 && p < 1.0 { -(p / (1.0 - p)).min((1.0 - p) / p) } else { -1.0 };
                if correlation < least {
                    return Err(format!(
                        "correlation is {correlation}, and with probability {p} nothing below {least:.6} exists"
                    ));
                }
                Ok(())
            }
            Self::GilbertElliott { p, r, good, bad } => {
                for (name, value) in [("p", p), ("r", r), ("loss_good", good), ("loss_bad", bad)] {
                    probability(name, value)?;
                }
                Ok(())
            }
            Self::FourState { p13, p31, p32, p23, p14 } => {
                for (name, value) in [("p13", p13), ("p31", p31), ("p32", p32), ("p23", p23), ("p14", p14)] {
                    probability(name, value)?;
                }
                for (names, sum) in [("p13 and p14", p13 + p14), ("p31 and p32", p31 + p32)] {
                    if sum > 1.0 + 1e-12 {
                        return Err(format!("{names} sum to {sum}, which is more than 1"));
                    }
                }
                if p13 > 0.0 && p31 <= 0.0 {
                    return Err("p31 is 0: a burst once entered never ends".into());
                }
                if p32 > 0.0 && p23 <= 0.0 {
                    return Err("p23 is 0: what is received in a burst never ends".into());
                }
                Ok(())
            }
        }
    }

    /// This decision with its numbers a `share` of the way towards those of another of its kind.
    pub(crate) fn between(&self, other: &Self, share: f64) -> Option<Self> {
        let mix = |a: f64, b: f64| a + (b - a) * share;
        Some(match (*self, *other) {
            (Self::Bernoulli { probability: a }, Self::Bernoulli { probability: b }) => {
                Self::Bernoulli { probability: mix(a, b) }
            }
            (Self::Never, Self::Bernoulli { probability }) => {
                Self::Bernoulli { probability: mix(0.0, probability) }
            }
            (Self::Bernoulli { probability }, Self::Never) => {
                Self::Bernoulli { probability: mix(probability, 0.0) }
            }
            (
                Self::Correlated { probability: a, correlation: b },
                Self::Correlated { probability: c, correlation: d },
            ) => Self::Correlated { probability: mix(a, c), correlation: mix(b, d) },
            (
                Self::GilbertElliott { p: a, r: b, good: c, bad: d },
                Self::GilbertElliott { p: e, r: f, good: g, bad: h },
            ) => Self::GilbertElliott { p: mix(a, e), r: mix(b, f), good: mix(c, g), bad: mix(d, h) },
            _ => return None,
        })
    }
}

/// The state of a decision that has one.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ModelState {
    started: bool,
    state: u8,
}

impl ModelState {
    /// Decides for one packet: `unit` is its own number, `numbers` what the chain draws besides.
    pub(crate) fn decide(&mut self, model: &Decision, unit: f64, numbers: &mut Sequence) -> bool {
        match *model {
            Decision::Never => false,
            Decision::Bernoulli { probability } => unit < probability,
            Decision::Correlated { probability, correlation } => {
                let threshold = match (self.started, self.state) {
                    (false, _) => probability,
                    (true, 0) => probability * (1.0 - correlation),
                    (true, _) => probability + correlation * (1.0 - probability),
                };
                let yes = unit < threshold;
                *self = Self { started: true, state: u8::from(yes) };
                yes
            }
            Decision::GilbertElliott { p, r, good, bad } => {
                if !self.started {
                    let stationary = if p + r > 0.0 { p / (p + r) } else { 0.0 };
                    *self = Self { started: true, state: u8::from(numbers.unit() < stationary) };
                }
                let is_bad = self.state == 1;
                let change = numbers.unit() < if is_bad { r } else { p };
                self.state = u8::from(is_bad != change);
                unit < if is_bad { bad } else { good }
            }
            Decision::FourState { p13, p31, p32, p23, p14 } => {
                if !self.started {
                    *self = Self { started: true, state: first_of_four(model, numbers.unit()) };
                }
                let yes = matches!(self.state, 3 | 4);
                let unit = numbers.unit();
                self.state = match self.state {
                    1 if unit < p13 => 3,
                    1 if unit < p13 + p14 => 4,
                    2 if unit < p23 => 3,
                    3 if unit < p31 => 1,
                    3 if unit < p31 + p32 => 2,
                    4 => 1,
                    same => same,
                };
                yes
            }
        }
    }
}

/// A state of the four by its stationary share.
fn first_of_four(model: &Decision, unit: f64) -> u8 {
    let Decision::FourState { p13, p31, p32, p23, p14 } = *model else { return 1 };
    let gap = model.gap();
    let burst = if p13 > 0.0 { gap * p13 / p31 } else { 0.0 };
    let received = if p32 > 0.0 { burst * p32 / p23 } else { 0.0 };
    if unit < gap {
        1
    } else if unit < gap * (1.0 + p14) {
        4
    } else if unit < gap * (1.0 + p14) + burst {
        3
    } else if unit < gap * (1.0 + p14) + burst + received {
        2
    } else {
        1
    }
}
