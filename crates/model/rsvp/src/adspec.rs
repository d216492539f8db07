//! Properties of a path, composed hop by hop: ADSPEC (RFC 2210 section 3.3, RFC 2215).

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use crate::bytes::put_u32;
use crate::fault::ParameterFault;
use crate::flowspec::{CONTROLLED_LOAD, GUARANTEED, QosService};
use crate::object::{class, put};
use crate::parameters::{GENERAL, Parameter, Service, put_message, put_parameter, put_service, services};

/// The parameter number of the number of hops that support integrated services.
const HOPS: u8 = 4;
/// The parameter number of the path's bandwidth.
const BANDWIDTH: u8 = 6;
/// The parameter number of the path's least latency.
const LATENCY: u8 = 8;
/// The parameter number of the path MTU.
const MTU: u8 = 10;
/// The general parameters that a path has, in order.
const GENERAL_PARAMETERS: [u8; 4] = [HOPS, BANDWIDTH, LATENCY, MTU];
/// The parameter numbers of guaranteed service: `C_tot`, `D_tot`, `C_sum`, `D_sum`.
const ERROR_TERMS: [u8; 4] = [133, 134, 135, 136];
/// The latency of a path that is not known.
const INDETERMINATE: u32 = u32::MAX;

/// What one hop adds to the properties of a path.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PathElement {
    /// Bandwidth of the link, in octets/s; at least 0.
    pub bandwidth: f32,
    /// Least latency, in microseconds, if known.
    pub latency: Option<u32>,
    /// MTU of the link, in octets of IP packet.
    pub mtu: u32,
    /// The rate-dependent error term C, in octets (RFC 2212).
    pub c: u32,
    /// The rate-independent error term D, in microseconds (RFC 2212).
    pub d: u32,
}

/// General parameters: those of the path, or those of one service that differ from them. Values are words; a bandwidth is the
/// bits of a number of at least 0.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct General {
    known: BTreeMap<u8, u32>,
    /// Parameters that are forwarded without reading them.
    unknown: BTreeMap<u8, Vec<u8>>,
}

impl General {
    fn insert(&mut self, Parameter { number, value }: Parameter<'_>) -> Result<(), ParameterFault> {
        let fault = ParameterFault::Parameter(number);
        if !GENERAL_PARAMETERS.contains(&number) {
            return match self.unknown.entry(number) {
                Entry::Vacant(place) => {
                    place.insert(value.to_vec());
                    Ok(())
                }
                Entry::Occupied(_) => Err(fault),
            };
        }
        let word = u32::from_be_bytes(value.try_into().map_err(|_| fault)?);
        let bandwidth = f32::from_bits(word);
        if number == BANDWIDTH && (bandwidth.is_nan() || bandwidth.is_sign_negative()) {
            return Err(ParameterFault::Bandwidth);
        }
        match self.known.insert(number, word) {
            None => Ok(()),
            Some(_) => Err(fault),
        }
    }
    fn get(&self, number: u8) -> Option<u32> {
        self.known.get(&number).copied()
    }
    /// RFC 2215 sections 3.2 to 3.5.
    fn compose(&mut self, element: &PathElement) {
        for (number, word) in &mut self.known {
            *word = match *number {
                HOPS => word.saturating_add(1),
                BANDWIDTH => f32::from_bits(*word).min(element.bandwidth.max(0.0)).to_bits(),
                LATENCY => word.saturating_add(element.latency.unwrap_or(INDETERMINATE)),
                _ => element.mtu.min(*word),
            };
        }
    }
    fn emit(&self, out: &mut Vec<u8>) {
        let mut values: BTreeMap<u8, Vec<u8>> = self.unknown.clone();
        values.extend(self.known.iter().map(|(number, word)| (*number, word.to_be_bytes().to_vec())));
        for (number, value) in values {
            put_parameter(out, number, |out| out.extend(value));
        }
    }
}

/// The error terms of guaranteed service (RFC 2212): C in octets, D in microseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ErrorTerms {
    /// `C_tot`: C from the sender to here.
    pub c_total: u32,
    /// `D_tot`: D from the sender to here.
    pub d_total: u32,
    /// `C_sum`: C since the last node that reshapes traffic.
    pub c_since_shaping: u32,
    /// `D_sum`: D since the last node that reshapes traffic.
    pub d_since_shaping: u32,
}

impl ErrorTerms {
    const fn words(&self) -> [u32; 4] {
        [self.c_total, self.d_total, self.c_since_shaping, self.d_since_shaping]
    }
    fn compose(&mut self, element: &PathElement) {
        self.c_total = self.c_total.saturating_add(element.c);
        self.d_total = self.d_total.saturating_add(element.d);
        self.c_since_shaping = self.c_since_shaping.saturating_add(element.c);
        self.d_since_shaping = self.d_since_shaping.saturating_add(element.d);
    }
}

/// What the path says of one service.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Content {
    /// Guaranteed service. Without error terms no node has supported it yet.
    Guaranteed(Option<ErrorTerms>, General),
    ControlledLoad(General),
    /// Another service, which this crate does not support.
    Unknown(Vec<u8>),
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Fragment {
    break_bit: bool,
    content: Content,
}

/// Properties of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Adspec {
    break_bit: bool,
    general: General,
    /// By service number.
    services: BTreeMap<u8, Fragment>,
}

impl Adspec {
    /// What a sender announces whose interface has this MTU: no hops yet, no limit of the bandwidth, a latency that is not
    /// known, and the services that receivers may request.
    pub fn announce(mtu: u32, offered: &[QosService]) -> Self {
        let words = [0, f32::INFINITY.to_bits(), INDETERMINATE, mtu];
        let fragment = |service: &QosService| {
            let (number, content) = match service {
                QosService::Guaranteed => {
                    (GUARANTEED, Content::Guaranteed(Some(ErrorTerms::default()), General::default()))
                }
                QosService::ControlledLoad => (CONTROLLED_LOAD, Content::ControlledLoad(General::default())),
            };
            (number, Fragment { break_bit: false, content })
        };
        let known = GENERAL_PARAMETERS.into_iter().zip(words).collect();
        Self {
            break_bit: false,
            general: General { known, unknown: BTreeMap::new() },
            services: offered.iter().map(fragment).collect(),
        }
    }

    fn fragment(&self, service: QosService) -> Option<&Fragment> {
        self.services.get(match service {
            QosService::Guaranteed => &GUARANTEED,
            QosService::ControlledLoad => &CONTROLLED_LOAD,
        })
    }
    /// The service's own value of a general parameter, or that of the path.
    fn value(&self, service: QosService, number: u8) -> u32 {
        let own = self.fragment(service).and_then(|fragment| match &fragment.content {
            Content::Guaranteed(_, general) | Content::ControlledLoad(general) => general.get(number),
            Content::Unknown(_) => None,
        });
        own.or_else(|| self.general.get(number)).unwrap_or_default()
    }

    /// Whether a receiver may request the service.
    pub fn offers(&self, service: QosService) -> bool {
        self.fragment(service).is_some()
    }
    /// Whether some hop does not support integrated services, so that all values may be wrong.
    pub const fn is_broken(&self) -> bool {
        self.break_bit
    }
    /// Whether some hop does not support the service.
    pub fn is_service_broken(&self, service: QosService) -> bool {
        self.fragment(service).is_some_and(|fragment| fragment.break_bit)
    }
    /// Number of hops that support integrated services.
    pub fn hops(&self, service: QosService) -> u32 {
        self.value(service, HOPS)
    }
    /// Bandwidth of the path, in octets/s; `None` if not known.
    pub fn bandwidth(&self, service: QosService) -> Option<f32> {
        let bandwidth = f32::from_bits(self.value(service, BANDWIDTH));
        (bandwidth.is_finite() && bandwidth > 0.0).then_some(bandwidth)
    }
    /// Least latency of the path, in microseconds; `None` if not known.
    pub fn latency(&self, service: QosService) -> Option<u32> {
        Some(self.value(service, LATENCY)).filter(|latency| *latency != INDETERMINATE)
    }
    /// Path MTU, in octets of IP packet.
    pub fn mtu(&self, service: QosService) -> u32 {
        self.value(service, MTU)
    }
    /// The error terms of guaranteed service, if some node has stated them.
    pub fn error_terms(&self) -> Option<ErrorTerms> {
        match self.fragment(QosService::Guaranteed)?.content {
            Content::Guaranteed(terms, _) => terms,
            _ => None,
        }
    }

    /// Records a hop that does not support integrated services.
    pub const fn mark_broken(&mut self) {
        self.break_bit = true;
    }

    /// Adds a hop that supports both services. Services that this crate does not know get their break bit.
    pub fn compose(&mut self, element: &PathElement) {
        self.general.compose(element);
        for Fragment { break_bit, content } in self.services.values_mut() {
            match content {
                Content::Guaranteed(terms, general) => {
                    // An empty fragment is expanded first; its break bit stays (RFC 2210 section 3.3.3).
                    terms.get_or_insert_default().compose(element);
                    general.compose(element);
                }
                Content::ControlledLoad(general) => general.compose(element),
                Content::Unknown(_) => *break_bit = true,
            }
        }
    }

    pub(crate) fn parse(body: &[u8]) -> Result<Self, ParameterFault> {
        let read = services(body)?;
        let Some((first @ Service { number: GENERAL, .. }, others)) = read.split_first() else {
            return Err(ParameterFault::Service(read.first().map_or(0, |service| service.number)));
        };
        let general = parse_general(first.parameters()?)?;
        if let Some(missing) = GENERAL_PARAMETERS.into_iter().find(|number| general.get(*number).is_none()) {
            return Err(ParameterFault::Parameter(missing));
        }
        let mut fragments = BTreeMap::new();
        let mut last = GENERAL;
        for service in others {
            if service.number <= last {
                return Err(ParameterFault::Service(service.number));
            }
            last = service.number;
            let content = parse_content(service)?;
            fragments.insert(service.number, Fragment { break_bit: service.break_bit, content });
        }
        Ok(Self { break_bit: first.break_bit, general, services: fragments })
    }

    pub(crate) fn emit(&self, out: &mut Vec<u8>) {
        put(out, class::ADSPEC, 2, |out| {
            put_message(out, |out| {
                put_service(out, GENERAL, self.break_bit, |out| self.general.emit(out));
                for (number, Fragment { break_bit, content }) in &self.services {
                    put_service(out, *number, *break_bit, |out| content.emit(out));
                }
            });
        });
    }
}

impl Content {
    fn emit(&self, out: &mut Vec<u8>) {
        match self {
            Self::Guaranteed(terms, general) => {
                let terms = terms.iter().flat_map(|terms| ERROR_TERMS.into_iter().zip(terms.words()));
                terms.for_each(|(number, word)| put_parameter(out, number, |out| put_u32(out, word)));
                general.emit(out);
            }
            Self::ControlledLoad(general) => general.emit(out),
            Self::Unknown(octets) => out.extend(octets),
        }
    }
}

fn parse_general<'a>(parameters: impl IntoIterator<Item = Parameter<'a>>) -> Result<General, ParameterFault> {
    let mut general = General::default();
    parameters.into_iter().try_for_each(|parameter| general.insert(parameter))?;
    Ok(general)
}

fn parse_content(service: &Service<'_>) -> Result<Content, ParameterFault> {
    Ok(match service.number {
        GUARANTEED if service.body.is_empty() => Content::Guaranteed(None, General::default()),
        GUARANTEED => {
            let parameters = service.parameters()?;
            let mut words = [0; 4];
            for (index, (word, number)) in words.iter_mut().zip(ERROR_TERMS).enumerate() {
                let fault = ParameterFault::Parameter(number);
                let parameter = parameters.get(index).filter(|parameter| parameter.number == number);
                let value = parameter.ok_or(fault)?.value;
                *word = u32::from_be_bytes(value.try_into().map_err(|_| fault)?);
            }
            let [c_total, d_total, c_since_shaping, d_since_shaping] = words;
            let terms = ErrorTerms { c_total, d_total, c_since_shaping, d_since_shaping };
            let rest = parameters.into_iter().skip(ERROR_TERMS.len());
            let general = parse_general(rest)?;
            if let Some(repeated) = ERROR_TERMS.iter().find(|number| general.unknown.contains_key(number)) {
                return Err(ParameterFault::Parameter(*repeated));
            }
            Content::Guaranteed(Some(terms), general)
        }
        CONTROLLED_LOAD => Content::ControlledLoad(parse_general(service.parameters()?)?),
        _ => Content::Unknown(service.body.to_vec()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOTH: [QosService; 2] = [QosService::Guaranteed, QosService::ControlledLoad];
    const ELEMENT: PathElement =
        PathElement { bandwidth: 16_000.0, latency: Some(50), mtu: 1_400, c: 92, d: 93_750 };

    /// The body of the ADSPEC as octets.
    fn body(adspec: &Adspec) -> Vec<u8> {
        let mut out = Vec::new();
        adspec.emit(&mut out);
        out.split_off(4)
    }

    /// The rules of RFC 2215 section 3 and RFC 2212: sums, minima and a count.
    #[test]
    fn hops_compose() {
        let mut adspec = Adspec::announce(1_500, &BOTH);
        assert_eq!((adspec.bandwidth(BOTH[0]), adspec.hops(BOTH[0])), (None, 0));
        adspec.compose(&ELEMENT);
        adspec.compose(&PathElement { bandwidth: 1e9, mtu: 9_000, ..ELEMENT });
        for service in BOTH {
            assert_eq!((adspec.hops(service), adspec.mtu(service)), (2, 1_400));
            assert_eq!(adspec.bandwidth(service), Some(16_000.0));
            assert_eq!(adspec.latency(service), None, "it was not known at the sender");
            assert!(!adspec.is_service_broken(service));
        }
        let terms = adspec.error_terms().unwrap();
        assert_eq!(terms.words(), [184, 187_500, 184, 187_500]);
        adspec.compose(&PathElement { c: u32::MAX, ..ELEMENT });
        assert_eq!(adspec.error_terms().unwrap().c_total, u32::MAX, "sums are limited");
        assert_eq!(Adspec::parse(&body(&adspec)), Ok(adspec));
    }

    /// An empty fragment of guaranteed service is expanded, and its break bit stays.
    #[test]
    fn empty_fragments_are_expanded() {
        let mut adspec = Adspec::announce(1_500, &[QosService::Guaranteed]);
        let empty = Fragment { break_bit: true, content: Content::Guaranteed(None, General::default()) };
        adspec.services.insert(GUARANTEED, empty);
        let mut read = Adspec::parse(&body(&adspec)).unwrap();
        assert_eq!((read.error_terms(), read.offers(QosService::ControlledLoad)), (None, false));
        read.compose(&ELEMENT);
        assert_eq!(read.error_terms().unwrap().d_total, 93_750);
        assert!(read.is_service_broken(QosService::Guaranteed) && !read.is_broken());
    }

    /// A service's own value replaces the general one and is composed by itself; unknown parameters and services are
    /// forwarded, the latter with their break bit.
    #[test]
    fn overrides_and_unknown_services_are_forwarded() {
        let mut adspec = Adspec::announce(1_500, &BOTH);
        let own = General { known: [(MTU, 576)].into(), unknown: [(99, vec![1, 2, 3, 4])].into() };
        let content = Content::ControlledLoad(own);
        adspec.services.insert(CONTROLLED_LOAD, Fragment { break_bit: false, content });
        let content = Content::Unknown(vec![0xab; 8]);
        adspec.services.insert(77, Fragment { break_bit: false, content });
        let mut read = Adspec::parse(&body(&adspec)).unwrap();
        assert_eq!(read, adspec);
        read.compose(&ELEMENT);
        assert_eq!((read.mtu(BOTH[0]), read.mtu(BOTH[1])), (1_400, 576));
        assert!(read.services[&77].break_bit, "the hop does not support it");
        assert_eq!(Adspec::parse(&body(&read)), Ok(read));
    }

    /// Illegal order, missing parameters and impossible bandwidths are refused.
    #[test]
    fn illegal_adspecs_are_refused() {
        let good = body(&Adspec::announce(1_500, &BOTH));
        let changed = |place: usize, octets: &[u8]| {
            let mut bad = good.clone();
            bad[place..place + octets.len()].copy_from_slice(octets);
            Adspec::parse(&bad)
        };
        assert!(Adspec::parse(&good).is_ok());
        assert_eq!(changed(4, &[3]), Err(ParameterFault::Service(3)), "the general service is the first one");
        assert_eq!(changed(8, &[11]), Err(ParameterFault::Parameter(HOPS)), "it has no number of hops");
        assert_eq!(changed(20, &f32::NAN.to_be_bytes()), Err(ParameterFault::Bandwidth));
        assert_eq!(changed(20, &(-1_f32).to_be_bytes()), Err(ParameterFault::Bandwidth));
        assert_eq!(changed(40, &[1]), Err(ParameterFault::Service(1)), "services are in order");
        assert_eq!(changed(44, &[134]), Err(ParameterFault::Parameter(133)), "error terms are in order");
        assert_eq!(changed(0, &[0x10]), Err(ParameterFault::Version(1)));
        assert_eq!(changed(3, &[0xff]), Err(ParameterFault::Length));
    }
}
