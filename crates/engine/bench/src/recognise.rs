//! Which of the frames that come are test frames, and how their headers differ from those that they were sent with.

use std::collections::BTreeMap;
use std::fmt;
use std::net::IpAddr;

use romer_wire::test_frame::{Located, Mark, Signature, locate};

use crate::frames::addresses;
use crate::options::{AddressRange, BenchOptions};

/// What a frame is that came.
pub(crate) enum Recognised {
    /// A test frame, whose mark begins at this octet; where that is not behind headers as ours, they are not known.
    Test { mark: Mark, at: usize, headers: Option<Located> },
    /// A test frame with a damaged mark.
    Damaged,
    /// Any other frame.
    Other,
}

/// Reads a frame.
pub(crate) fn recognise(signature: Signature, frame: &[u8]) -> Recognised {
    let located = locate(frame);
    let carried = located.and_then(|seen| frame.get(seen.mark..)).unwrap_or_default();
    if let Some(mark) = signature.read(carried) {
        return Recognised::Test { mark, at: located.map_or(0, |seen| seen.mark), headers: located };
    }
    match signature.find(frame) {
        Some((at, mark)) => Recognised::Test { mark, at, headers: None },
        None if signature.is_here(carried) => Recognised::Damaged,
        None => Recognised::Other,
    }
}

/// A header that a frame was not sent with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum OtherHeader {
    /// What follows the Ethernet header, and any tags, is of this type.
    EtherType(u16),
    /// The packet in the frame is one of this protocol, around the test frame's own.
    Protocol(u8),
    Source(IpAddr),
    Destination(IpAddr),
}

impl fmt::Display for OtherHeader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::EtherType(number) => {
                let name = match number {
                    0x8847 | 0x8848 => " (MPLS)",
                    0x8863 | 0x8864 => " (PPPoE)",
                    0x88e7 => " (802.1ah)",
                    0x88e5 => " (MACsec)",
                    _ => "",
                };
                write!(f, "ethertype 0x{number:04x}{name}")
            }
            Self::Protocol(number) => {
                let name = match number {
                    4 => " (IPv4 in IP)",
                    41 => " (IPv6 in IP)",
                    17 => " (UDP)",
                    47 => " (GRE)",
                    50 => " (ESP)",
                    51 => " (AH)",
                    _ => "",
                };
                write!(f, "IP protocol {number}{name}")
            }
            Self::Source(address) => write!(f, "source address {address}"),
            Self::Destination(address) => write!(f, "destination address {address}"),
        }
    }
}

/// How often frames came with which other headers.
#[derive(Clone, Debug)]
pub(crate) struct OtherHeaders {
    counts: Vec<(OtherHeader, u64)>,
    /// Frames with still others.
    more: u64,
}

impl Default for OtherHeaders {
    fn default() -> Self {
        Self { counts: Vec::with_capacity(Self::MOST), more: 0 }
    }
}

impl OtherHeaders {
    /// As many are told apart; nothing is allocated for them while frames come.
    const MOST: usize = 16;

    pub(crate) fn note(&mut self, header: OtherHeader) {
        let is_full = self.counts.len() >= Self::MOST;
        match self.counts.iter_mut().find(|(known, _)| *known == header) {
            Some((_, count)) => *count += 1,
            None if is_full => self.more += 1,
            None => self.counts.push((header, 1)),
        }
    }

    /// For the document: each in words, with its frames.
    pub(crate) fn words(&self) -> BTreeMap<String, u64> {
        let mut words: BTreeMap<String, u64> =
            self.counts.iter().map(|(header, count)| (header.to_string(), *count)).collect();
        if self.more > 0 {
            words.insert("others".into(), self.more);
        }
        words
    }
}

/// The addresses that the frames of each stream are sent with.
pub(crate) fn sent_addresses(options: &BenchOptions) -> Vec<[AddressRange; 2]> {
    let of = |stream| {
        let (source, destination) = addresses(options, stream);
        [source, destination]
    };
    options.streams.iter().map(of).collect()
}

/// Notes how the headers of a test frame differ from those that its stream is `sent` with. Whether length and markings can be compared.
pub(crate) fn compare(
    frame: &[u8],
    headers: Option<Located>,
    sent: Option<&[AddressRange; 2]>,
    others: &mut OtherHeaders,
) -> bool {
    let Some(located) = headers else {
        others.note(around(frame));
        return false;
    };
    let (Some([source, destination]), Some([from, to])) = (located.addresses(frame), sent) else {
        return true;
    };
    if !from.contains(source) {
        others.note(OtherHeader::Source(source));
    }
    if !to.contains(destination) {
        others.note(OtherHeader::Destination(destination));
    }
    source.is_ipv4() == from.first().is_ipv4()
}

/// What is around a test frame whose headers are not known.
fn around(frame: &[u8]) -> OtherHeader {
    const TAGS: [u16; 2] = [0x8100, 0x88a8];
    let word =
        |at: usize| frame.get(at..).and_then(<[u8]>::first_chunk).map_or(0, |word| u16::from_be_bytes(*word));
    let mut at = 12;
    while TAGS.contains(&word(at)) {
        at += 4;
    }
    let octet = |place: usize| frame.get(at + 2 + place).copied().unwrap_or(0);
    match word(at) {
        0x0800 => OtherHeader::Protocol(octet(9)),
        0x86dd => OtherHeader::Protocol(octet(6)),
        other => OtherHeader::EtherType(other),
    }
}

#[cfg(test)]
mod tests {
    use romer_wire::ethernet::MacAddress;

    use super::*;
    use crate::frames::form;
    use crate::simulated::sweep;

    const SIGNATURE: Signature = Signature(7);
    const MARK: Mark = Mark { stream: 0, sequence: 3, sent: 4 };

    /// A frame as the tester sends it.
    fn sent(options: &BenchOptions) -> Vec<u8> {
        let form = form(options, &options.streams[0], [MacAddress([2; 6]); 2]);
        let mut frame = form.template(128).unwrap();
        assert!(SIGNATURE.emit(MARK, &mut frame.octets[frame.mark..]));
        frame.octets
    }

    /// What is said of a frame that comes so, and whether its length and markings count.
    fn told(options: &BenchOptions, frame: &[u8]) -> (Vec<String>, bool) {
        let Recognised::Test { mark, headers, .. } = recognise(SIGNATURE, frame) else {
            panic!("it is a test frame")
        };
        assert_eq!(mark, MARK);
        let mut others = OtherHeaders::default();
        let known = compare(frame, headers, sent_addresses(options).first(), &mut others);
        (others.words().into_keys().collect(), known)
    }

    /// Labels, tunnels and translated addresses are named, and hide no test frame.
    #[test]
    fn changed_headers_are_named() {
        let options = sweep(&[0.5]);
        let plain = sent(&options);
        assert_eq!(told(&options, &plain), (vec![], true));
        let with = |ether_type: [u8; 2], around: &[u8], from: usize| {
            [&plain[..12], &ether_type[..], around, &plain[from..]].concat()
        };
        let label = with([0x88, 0x47], &[0, 0x3e, 0x8b, 0x40], 14);
        assert_eq!(told(&options, &label), (vec!["ethertype 0x8847 (MPLS)".into()], false));
        let tagged = with([0x81, 0x00], &[0, 10, 0x88, 0x47, 0, 0x3e, 0x8b, 0x40], 14);
        assert_eq!(told(&options, &tagged), (vec!["ethertype 0x8847 (MPLS)".into()], false));
        // Three labels for many receivers.
        let stack = with(
            [0x88, 0x48],
            &[[0, 0x3e, 0x80, 0x40], [0, 0x3e, 0x90, 0x40], [0, 0x3e, 0xa1, 0x40]].concat(),
            14,
        );
        assert_eq!(told(&options, &stack), (vec!["ethertype 0x8848 (MPLS)".into()], false));
        let mut outer = plain[14..34].to_vec();
        outer[9] = 4;
        assert_eq!(
            told(&options, &with([8, 0], &outer, 14)),
            (vec!["IP protocol 4 (IPv4 in IP)".into()], false)
        );
        let mut translated = plain.clone();
        translated[26..30].copy_from_slice(&[203, 0, 113, 1]);
        assert_eq!(told(&options, &translated), (vec!["source address 203.0.113.1".into()], true));
        assert!(matches!(recognise(Signature(8), &plain), Recognised::Other));
    }

    /// More headers than are told apart are counted together.
    #[test]
    fn many_headers_are_bounded() {
        let mut others = OtherHeaders::default();
        (0..20).for_each(|number| others.note(OtherHeader::EtherType(number)));
        let words = others.words();
        assert_eq!((words.len(), words["others"]), (17, 4));
    }
}
