//! The token bucket that describes a flow's traffic: `TOKEN_BUCKET_TSPEC` (RFC 2215 section 3.6), and the SENDER_TSPEC
//! (RFC 2210 section 3.1).

use crate::bytes::{Reader, put_f32, put_u32};
use crate::fault::ParameterFault;
use crate::object::{class, put};
use crate::parameters::{GENERAL, Service, put_message, put_parameter, put_service, services};

/// The parameter number of a token bucket.
const TOKEN_BUCKET: u8 = 127;
/// Octets of IPv4 and UDP headers, which the rates of a TSpec include.
pub const HEADERS: u32 = 28;
/// The largest rate, in octets/s (40 terabytes per second).
const MOST_RATE: f32 = 40e12;
/// The largest bucket, in octets (250 gigabytes).
const MOST_BUCKET: f32 = 250e9;

/// Traffic that keeps within a token bucket. Sizes are those of IP packets.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tspec {
    rate: f32,
    bucket: f32,
    peak: f32,
    policed_unit: u32,
    packet_size: u32,
}

/// What an application sends, in octets of UDP payload.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PayloadTraffic {
    /// Size of a payload, in octets.
    pub payload: u32,
    /// Rate, in octets/s.
    pub rate: f64,
    /// Bucket, in octets.
    pub bucket: f64,
    /// Minimum policed size, in octets.
    pub policed_unit: u32,
    /// Largest datagram, in octets.
    pub packet_size: u32,
}

impl Tspec {
    /// Traffic of `rate` octets/s with bursts of `bucket` octets, at most at `peak` octets/s (infinity if not known). Packets
    /// of less than `policed_unit` octets count as that many; none has more than `packet_size` octets.
    ///
    /// # Errors
    /// [`ParameterFault`], where a value is out of its range.
    pub fn new(
        rate: f32,
        bucket: f32,
        peak: f32,
        policed_unit: u32,
        packet_size: u32,
    ) -> Result<Self, ParameterFault> {
        if !(1.0..=MOST_RATE).contains(&rate) {
            return Err(ParameterFault::Rate);
        }
        if !(1.0..=MOST_BUCKET).contains(&bucket) {
            return Err(ParameterFault::Bucket);
        }
        if peak.is_nan() || peak < 1.0 {
            return Err(ParameterFault::Peak);
        }
        if policed_unit == 0 || policed_unit > packet_size {
            return Err(ParameterFault::Unit);
        }
        Ok(Self { rate, bucket, peak, policed_unit, packet_size })
    }

    /// The TSpec of UDP over IPv4 traffic, with the share of its headers: rates and the bucket grow by `(payload + 28) /
    /// payload`, sizes by 28 octets. The peak rate is not known. The bucket holds at least one packet.
    ///
    /// # Errors
    /// [`ParameterFault`], where a value is out of its range.
    pub fn prorated(traffic: &PayloadTraffic) -> Result<Self, ParameterFault> {
        let payload = f64::from(traffic.payload);
        let grown = |value: f64| single(value * (payload + f64::from(HEADERS)) / payload);
        let size = |payload: u32| payload.checked_add(HEADERS).ok_or(ParameterFault::Unit);
        Self::new(
            grown(traffic.rate),
            grown(traffic.bucket.max(payload)),
            f32::INFINITY,
            size(traffic.policed_unit)?,
            size(traffic.packet_size)?,
        )
    }

    /// The token rate r, in octets/s.
    pub const fn rate(&self) -> f32 {
        self.rate
    }
    /// The bucket b, in octets.
    pub const fn bucket(&self) -> f32 {
        self.bucket
    }
    /// The peak rate p, in octets/s; infinity if not known.
    pub const fn peak(&self) -> f32 {
        self.peak
    }
    /// The minimum policed unit m, in octets.
    pub const fn policed_unit(&self) -> u32 {
        self.policed_unit
    }
    /// The maximum packet size M, in octets.
    pub const fn packet_size(&self) -> u32 {
        self.packet_size
    }
    /// The same traffic with packets of at most `size` octets, at least 1.
    #[must_use]
    pub fn with_packet_size_limit(self, size: u32) -> Self {
        let packet_size = self.packet_size.min(size.max(1));
        Self { packet_size, policed_unit: self.policed_unit.min(packet_size), ..self }
    }

    /// Reads the parameter from `fields`.
    pub(crate) fn parse_parameter(value: &[u8]) -> Result<Self, ParameterFault> {
        let mut fields = Reader::new(value);
        let mut read = || {
            let (rate, bucket, peak) = (fields.f32()?, fields.f32()?, fields.f32()?);
            let (policed_unit, packet_size) = (fields.u32()?, fields.u32()?);
            fields.end(Self::new(rate, bucket, peak, policed_unit, packet_size))
        };
        read().ok_or(ParameterFault::Parameter(TOKEN_BUCKET))?
    }
    pub(crate) fn emit_parameter(&self, out: &mut Vec<u8>) {
        put_parameter(out, TOKEN_BUCKET, |out| {
            put_f32(out, self.rate);
            put_f32(out, self.bucket);
            put_f32(out, self.peak);
            put_u32(out, self.policed_unit);
            put_u32(out, self.packet_size);
        });
    }

    /// Reads a SENDER_TSPEC: one service with one parameter.
    pub(crate) fn parse(body: &[u8]) -> Result<Self, ParameterFault> {
        match services(body)?[..] {
            [service @ Service { number: GENERAL, .. }] => Self::parse_only(&service),
            [Service { number, .. }, ..] => Err(ParameterFault::Service(number)),
            [] => Err(ParameterFault::Length),
        }
    }
    /// The token bucket that is the only parameter of `service`.
    pub(crate) fn parse_only(service: &Service<'_>) -> Result<Self, ParameterFault> {
        match service.parameters()?[..] {
            [parameter] if parameter.number == TOKEN_BUCKET => Self::parse_parameter(parameter.value),
            [parameter, other] if parameter.number == TOKEN_BUCKET => {
                Err(ParameterFault::Parameter(other.number))
            }
            _ => Err(ParameterFault::Parameter(TOKEN_BUCKET)),
        }
    }
    pub(crate) fn emit(&self, out: &mut Vec<u8>) {
        put(out, class::SENDER_TSPEC, 2, |out| {
            put_message(out, |out| put_service(out, GENERAL, false, |out| self.emit_parameter(out)));
        });
    }
}

/// The nearest single-precision number. Beyond its range it is infinite, which no TSpec accepts.
#[expect(clippy::cast_possible_truncation, reason = "the format has single precision")]
const fn single(value: f64) -> f32 {
    value as f32
}

/// Whether `number` is that of the token bucket.
pub(crate) const fn is_token_bucket(number: u8) -> bool {
    number == TOKEN_BUCKET
}

#[cfg(test)]
mod tests {
    use super::*;

    fn traffic(payload: u32, rate: f64, bucket: f64) -> PayloadTraffic {
        PayloadTraffic { payload, rate, bucket, policed_unit: payload, packet_size: payload }
    }

    /// Headers of 28 octets count: 64 octets at 3 kB/s need 4312.5 octets/s.
    #[test]
    fn headers_are_prorated() {
        let tspec = Tspec::prorated(&traffic(64, 3_000.0, 64.0)).unwrap();
        assert_eq!(tspec, Tspec::new(4_312.5, 92.0, f32::INFINITY, 92, 92).unwrap());
        // A bucket below one payload holds one payload.
        assert_eq!(Tspec::prorated(&traffic(64, 3_000.0, 1.0)), Ok(tspec));
        let large = Tspec::prorated(&traffic(1_472, 100_000.0, 1_472.0)).unwrap();
        assert_eq!((large.packet_size(), large.bucket()), (1_500, 1_500.0));
        assert_eq!(Tspec::prorated(&traffic(0, 3_000.0, 64.0)), Err(ParameterFault::Rate));
        assert_eq!(Tspec::prorated(&traffic(u32::MAX, 3_000.0, 64.0)), Err(ParameterFault::Unit));
    }

    /// RFC 2215 section 3.6: ranges, and no negative numbers, infinities (but of p) or NaN.
    #[test]
    fn illegal_values_are_refused() {
        let nan = f32::NAN;
        for (rate, fault) in [(0.9, true), (1.0, false), (4e13, false), (4.1e13, true), (nan, true)] {
            assert_eq!(Tspec::new(rate, 92.0, f32::INFINITY, 1, 1).is_err(), fault, "{rate}");
        }
        for bucket in [-0.0, -1.0, 0.0, nan, f32::INFINITY, 2.6e11] {
            assert_eq!(Tspec::new(1.0, bucket, 1.0, 1, 1), Err(ParameterFault::Bucket));
        }
        for peak in [-0.0, 0.0, -1.0, nan, f32::NEG_INFINITY] {
            assert_eq!(Tspec::new(1.0, 1.0, peak, 1, 1), Err(ParameterFault::Peak));
        }
        assert_eq!(Tspec::new(1.0, 1.0, 1.0, 0, 1), Err(ParameterFault::Unit));
        assert_eq!(Tspec::new(1.0, 1.0, 1.0, 2, 1), Err(ParameterFault::Unit));
    }

    /// The path MTU limits both sizes.
    #[test]
    fn packet_sizes_are_limited() {
        let tspec = Tspec::new(1.0, 1.0, 1.0, 900, 1_500).unwrap();
        let limited = tspec.with_packet_size_limit(576);
        assert_eq!((limited.policed_unit(), limited.packet_size()), (576, 576));
        assert_eq!(tspec.with_packet_size_limit(9_000), tspec);
        assert_eq!(tspec.with_packet_size_limit(0).packet_size(), 1);
    }
}
