//! The service that a receiver requests: FLOWSPEC (RFC 2210 section 3.2).

use core::fmt;

use crate::bytes::{Reader, put_f32, put_u32};
use crate::fault::{Fault, ParameterFault};
use crate::object::{class, put};
use crate::parameters::{Service, put_message, put_parameter, put_service, services};
use crate::tspec::{Tspec, is_token_bucket};

/// The service number of guaranteed service (RFC 2212).
pub(crate) const GUARANTEED: u8 = 2;
/// The service number of controlled load (RFC 2211).
pub(crate) const CONTROLLED_LOAD: u8 = 5;
/// The parameter number of an RSpec.
const RSPEC: u8 = 130;

/// A service of the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QosService {
    /// A bound of the delay, and no loss from full queues (RFC 2212).
    Guaranteed,
    /// As without load (RFC 2211).
    ControlledLoad,
}

impl fmt::Display for QosService {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Guaranteed => "guaranteed service",
            Self::ControlledLoad => "controlled load",
        })
    }
}

/// The reserved rate and the slack of guaranteed service.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Rspec {
    rate: f32,
    slack: u32,
}

/// A requested service.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Flowspec {
    tspec: Tspec,
    rspec: Option<Rspec>,
}

impl Flowspec {
    /// Controlled load for the traffic of `tspec`.
    pub const fn controlled_load(tspec: Tspec) -> Self {
        Self { tspec, rspec: None }
    }
    /// Guaranteed service for the traffic of `tspec` at `rate` octets/s, with a slack of `slack` microseconds.
    ///
    /// # Errors
    /// [`ParameterFault::ServiceRate`], if `rate` or the peak rate is below the token rate, or if `rate` is not finite.
    pub fn guaranteed(tspec: Tspec, rate: f32, slack: u32) -> Result<Self, ParameterFault> {
        if !rate.is_finite() || rate < tspec.rate() || tspec.peak() < tspec.rate() {
            return Err(ParameterFault::ServiceRate);
        }
        Ok(Self { tspec, rspec: Some(Rspec { rate, slack }) })
    }

    /// The service.
    pub const fn service(&self) -> QosService {
        if self.rspec.is_some() { QosService::Guaranteed } else { QosService::ControlledLoad }
    }
    /// The traffic.
    pub const fn tspec(&self) -> Tspec {
        self.tspec
    }
    /// The rate to reserve, in octets/s: R of guaranteed service, r of controlled load.
    pub const fn rate(&self) -> f32 {
        match self.rspec {
            Some(rspec) => rspec.rate,
            None => self.tspec.rate(),
        }
    }
    /// The slack of guaranteed service, in microseconds; 0 for controlled load.
    pub const fn slack(&self) -> u32 {
        match self.rspec {
            Some(rspec) => rspec.slack,
            None => 0,
        }
    }

    pub(crate) fn parse(body: &[u8]) -> Result<Self, Fault> {
        let read = services(body).map_err(Fault::Flowspec)?;
        match read[..] {
            [service @ Service { number: CONTROLLED_LOAD, .. }] => {
                Tspec::parse_only(&service).map(Self::controlled_load).map_err(Fault::Flowspec)
            }
            [service @ Service { number: GUARANTEED, .. }] => {
                Self::parse_guaranteed(&service).map_err(Fault::Flowspec)
            }
            [Service { number: CONTROLLED_LOAD | GUARANTEED, .. }, other, ..] => {
                Err(Fault::Flowspec(ParameterFault::Service(other.number)))
            }
            [Service { number, .. }, ..] => Err(Fault::Service(number)),
            [] => Err(Fault::Flowspec(ParameterFault::Length)),
        }
    }

    fn parse_guaranteed(service: &Service<'_>) -> Result<Self, ParameterFault> {
        let [bucket, rspec] = service.parameters()?[..] else {
            return Err(ParameterFault::Parameter(RSPEC));
        };
        if !is_token_bucket(bucket.number) {
            return Err(ParameterFault::Parameter(bucket.number));
        }
        let mut fields = Reader::new(rspec.value);
        let mut read = || {
            let (rate, slack) = (fields.f32()?, fields.u32()?);
            fields.end((rate, slack))
        };
        match (rspec.number, read()) {
            (RSPEC, Some((rate, slack))) => {
                Self::guaranteed(Tspec::parse_parameter(bucket.value)?, rate, slack)
            }
            (number, _) => Err(ParameterFault::Parameter(number)),
        }
    }

    pub(crate) fn emit(&self, out: &mut Vec<u8>) {
        let number = match self.service() {
            QosService::Guaranteed => GUARANTEED,
            QosService::ControlledLoad => CONTROLLED_LOAD,
        };
        put(out, class::FLOWSPEC, 2, |out| {
            put_message(out, |out| {
                put_service(out, number, false, |out| {
                    self.tspec.emit_parameter(out);
                    if let Some(Rspec { rate, slack }) = self.rspec {
                        put_parameter(out, RSPEC, |out| {
                            put_f32(out, rate);
                            put_u32(out, slack);
                        });
                    }
                });
            });
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 2212: R and p are at least r.
    #[test]
    fn guaranteed_rates_cover_the_token_rate() {
        let tspec = |peak| Tspec::new(1_000.0, 100.0, peak, 1, 100).unwrap();
        let fault = Err(ParameterFault::ServiceRate);
        assert!(Flowspec::guaranteed(tspec(1_000.0), 1_000.0, 0).is_ok());
        assert_eq!(Flowspec::guaranteed(tspec(f32::INFINITY), 999.9, 0), fault);
        assert_eq!(Flowspec::guaranteed(tspec(999.0), 1_000.0, 0), fault);
        assert_eq!(Flowspec::guaranteed(tspec(f32::INFINITY), f32::INFINITY, 0), fault);
        assert_eq!(Flowspec::guaranteed(tspec(f32::INFINITY), f32::NAN, 0), fault);
    }

    /// The rate to reserve is R where there is one.
    #[test]
    fn reserved_rates_follow_the_service() {
        let tspec = Tspec::new(1_000.0, 100.0, f32::INFINITY, 1, 100).unwrap();
        let guaranteed = Flowspec::guaranteed(tspec, 2_000.0, 5).unwrap();
        assert_eq!((guaranteed.rate().to_bits(), guaranteed.slack()), (2_000_f32.to_bits(), 5));
        let load = Flowspec::controlled_load(tspec);
        assert_eq!((load.rate().to_bits(), load.slack()), (1_000_f32.to_bits(), 0));
    }
}
