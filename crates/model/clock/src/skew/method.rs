//! The methods' names.

use core::fmt;
use core::str::FromStr;

use romer_record::manifest::SkewRequest;
use romer_units::Duration;
use thiserror::Error;

/// Khlifi's window where none is stated.
const WINDOW: Duration = Duration::from_secs(20);
/// Khlifi's weight where none is stated.
const WEIGHT: f64 = 0.875;

/// A way to estimate the difference of two clocks' rates. The text form is what `--skew` takes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Method {
    /// No correction (Qtcp, `-k0`).
    None,
    /// Least squares (Qtcp, `-k1`).
    LeastSquares,
    /// Least absolute deviation (Qtcp, `-k2`).
    LeastAbsolute,
    /// Least absolute deviation with jumps of the clock compensated (Qtcp, `-k3`).
    LeastAbsoluteJumps,
    /// The lower convex hull, which solves the linear program of Moon, Skelly and Towsley.
    Hull,
    /// Khlifi's combined algorithm.
    Khlifi {
        /// Length of a window; more than 0.
        window: Duration,
        /// Weight of the estimate so far (Chen et al. 2013, equation (1)); between 0 and 1, neither included.
        weight: f64,
    },
    /// Ours: floors between steps, slews and path changes, each direction fitted by itself.
    Piecewise,
    /// The best that romer has: [`Method::Piecewise`].
    #[default]
    Best,
}

/// What is wrong with the name of a method. The text says what to do.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{why}")]
pub struct MethodError {
    why: String,
}

/// All names, as an error lists them.
const NAMES: &str = "none, least-squares, least-absolute, least-absolute-jumps, hull, khlifi[:WINDOW,WEIGHT], piecewise, best";

impl Method {
    /// Khlifi's combined algorithm with a window of 20 s and a weight of 0.875.
    pub const KHLIFI: Self = Self::Khlifi { window: WINDOW, weight: WEIGHT };

    /// The name without parameters.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::None => "none",
            Self::LeastSquares => "least-squares",
            Self::LeastAbsolute => "least-absolute",
            Self::LeastAbsoluteJumps => "least-absolute-jumps",
            Self::Hull => "hull",
            Self::Khlifi { .. } => "khlifi",
            Self::Piecewise => "piecewise",
            Self::Best => "best",
        }
    }

    /// Whether what it keeps of a run is bounded, however long that is, and so what an estimate takes: such a method can
    /// be asked again and again while a run goes on.
    pub const fn is_bounded(&self) -> bool {
        !matches!(self, Self::LeastAbsolute | Self::LeastAbsoluteJumps)
    }

    /// Whether the method can be told to fit only a run's first packets, sent for that purpose over a quiet path
    /// (Qtcp, `-c`). The others follow a clock through the whole run.
    pub const fn takes_calibration(&self) -> bool {
        matches!(self, Self::LeastSquares | Self::LeastAbsolute | Self::LeastAbsoluteJumps | Self::Hull)
    }
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Khlifi { window, weight } => write!(f, "khlifi:{window},{weight}"),
            other => f.write_str(other.name()),
        }
    }
}

impl FromStr for Method {
    type Err = MethodError;

    fn from_str(text: &str) -> Result<Self, MethodError> {
        let plain = [
            Self::None,
            Self::LeastSquares,
            Self::LeastAbsolute,
            Self::LeastAbsoluteJumps,
            Self::Hull,
            Self::Piecewise,
            Self::Best,
        ];
        if let Some(method) = plain.into_iter().find(|method| method.name() == text) {
            return Ok(method);
        }
        match text.strip_prefix("khlifi") {
            Some("") => Ok(Self::KHLIFI),
            Some(rest) if rest.starts_with(':') => khlifi(&rest[1..]),
            _ => Err(MethodError { why: format!("there is no method of that name; write one of {NAMES}") }),
        }
    }
}

fn khlifi(parameters: &str) -> Result<Method, MethodError> {
    let wrong = |why: &str| MethodError { why: format!("{why}; write for instance khlifi:20s,0.875") };
    let (window, weight) = parameters
        .split_once(',')
        .ok_or_else(|| wrong("khlifi has two parameters, a window and a weight with a comma between them"))?;
    let window: Duration =
        window.parse().map_err(|_| wrong("khlifi's window is a length of time with its unit"))?;
    if window <= Duration::ZERO {
        return Err(wrong("khlifi's window is longer than 0"));
    }
    let weight: f64 = weight.parse().map_err(|_| wrong("khlifi's weight is a number"))?;
    if !(weight > 0.0 && weight < 1.0) {
        return Err(wrong("khlifi's weight lies between 0 and 1"));
    }
    Ok(Method::Khlifi { window, weight })
}

/// What was asked for; the default for what a later romer may have written.
pub fn method_of(request: &SkewRequest) -> Method {
    request.method.parse().unwrap_or_default()
}
