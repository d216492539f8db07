//! Which of the frames that come are test frames, and how their headers differ from those that they were sent with.

use std::net::Ipv4Addr;
use std::ops::RangeInclusive;

use romer_record::benchmark::{ChangedHeader, HeaderFrames};
use romer_wire::ip::protocol;
use romer_wire::test_frame::{Located, Mark, PLAIN, Signature, is_whole, locate};

use crate::frames::addresses;
use crate::options::{AddressRange, BenchOptions, Protocol};

/// What a frame is that came.
pub(crate) enum Recognised {
    /// A test frame, whose mark begins at this octet; where that is not behind headers as ours, they are not known.
    Test { mark: Mark, at: usize, headers: Option<Located> },
    /// A test frame with a damaged mark.
    Damaged,
    /// Any other frame.
    Other,
}

/// Reads a frame. One with the headers of a stream that is `sent`, and a mark that is not whole, is a test frame whose mark is damaged; a
/// whole mark of another signature is that of another trial.
pub(crate) fn recognise(signature: Signature, frame: &[u8], sent: &[SentHeaders]) -> Recognised {
    let located = locate(frame);
    let forwarded = located.and_then(|seen| frame.get(seen.mark..)).unwrap_or_default();
    if let Some(mark) = signature.read(forwarded) {
        return Recognised::Test { mark, at: located.map_or(0, |seen| seen.mark), headers: located };
    }
    match signature.find(frame) {
        Some((at, mark)) => Recognised::Test { mark, at, headers: None },
        None if signature.is_here(forwarded) => Recognised::Damaged,
        None if is_whole(forwarded) == Some(false)
            && located.is_some_and(|seen| sent.iter().any(|sent| sent.are_of(seen, frame))) =>
        {
            Recognised::Damaged
        }
        None => Recognised::Other,
    }
}

/// How often frames came with which other headers.
#[derive(Clone, Debug)]
pub(crate) struct OtherHeaders {
    counts: Vec<(ChangedHeader, u64)>,
    /// Frames with still others.
    more: u64,
}

impl Default for OtherHeaders {
    fn default() -> Self {
        Self { counts: Vec::with_capacity(Self::MAX_OTHER_HEADERS), more: 0 }
    }
}

impl OtherHeaders {
    /// As many are told apart; nothing is allocated for them while frames come.
    const MAX_OTHER_HEADERS: usize = 16;

    pub(crate) fn note(&mut self, header: ChangedHeader) {
        let is_full = self.counts.len() >= Self::MAX_OTHER_HEADERS;
        match self.counts.iter_mut().find(|(known, _)| *known == header) {
            Some((_, count)) => *count += 1,
            None if is_full => self.more += 1,
            None => self.counts.push((header, 1)),
        }
    }

    /// For the document: each with its frames, in order.
    pub(crate) fn frames(&self) -> Vec<HeaderFrames> {
        let mut all = self.counts.clone();
        if self.more > 0 {
            all.push((ChangedHeader::Others, self.more));
        }
        all.sort_unstable();
        all.into_iter().map(|(header, frames)| HeaderFrames { header, frames }).collect()
    }
}

/// The headers that the frames of a stream are sent with.
#[derive(Clone, Debug)]
pub(crate) struct SentHeaders {
    /// Source and destination.
    addresses: [AddressRange; 2],
    protocol: u8,
    /// Source and destination; of plain IP there are none.
    ports: [RangeInclusive<u16>; 2],
}

impl SentHeaders {
    /// Whether a frame has them.
    fn are_of(&self, seen: Located, frame: &[u8]) -> bool {
        let [from, to] = &self.addresses;
        let has_addresses = seen
            .addresses(frame)
            .is_some_and(|[source, destination]| from.contains(source) && to.contains(destination));
        let has_ports = seen
            .ports(frame)
            .is_none_or(|ports| self.ports.iter().zip(ports).all(|(range, port)| range.contains(&port)));
        seen.protocol == self.protocol && has_addresses && has_ports
    }
}

/// The headers that the frames of each stream are sent with.
pub(crate) fn sent_headers(options: &BenchOptions) -> Vec<SentHeaders> {
    let of = |stream| {
        let (source, destination) = addresses(options, stream);
        SentHeaders {
            addresses: [source, destination],
            protocol: match stream.protocol {
                Protocol::Udp => protocol::UDP,
                Protocol::Tcp => protocol::TCP,
                Protocol::Ip => PLAIN,
            },
            ports: [stream.source_ports.clone(), stream.destination_ports.clone()],
        }
    };
    options.streams.iter().map(of).collect()
}

/// Notes how the headers of a test frame differ from those that its stream is `sent` with. Whether length and markings can be compared.
pub(crate) fn compare(
    frame: &[u8],
    headers: Option<Located>,
    sent: Option<&SentHeaders>,
    others: &mut OtherHeaders,
) -> bool {
    let Some(located) = headers else {
        others.note(around(frame));
        return false;
    };
    let (Some([source, destination]), Some(sent)) = (located.addresses(frame), sent) else {
        return true;
    };
    let [from, to] = &sent.addresses;
    if !from.contains(source) {
        others.note(ChangedHeader::SourceAddress { address: source });
    }
    if !to.contains(destination) {
        others.note(ChangedHeader::DestinationAddress { address: destination });
    }
    if let Some([source, destination]) = located.ports(frame).filter(|_| located.protocol == sent.protocol) {
        if !sent.ports[0].contains(&source) {
            others.note(ChangedHeader::SourcePort { port: source });
        }
        if !sent.ports[1].contains(&destination) {
            others.note(ChangedHeader::DestinationPort { port: destination });
        }
    }
    source.is_ipv4() == from.first().is_ipv4()
}

/// What is around a test frame whose headers are not known.
fn around(frame: &[u8]) -> ChangedHeader {
    const TAGS: [u16; 2] = [0x8100, 0x88a8];
    let word =
        |at: usize| frame.get(at..).and_then(<[u8]>::first_chunk).map_or(0, |word| u16::from_be_bytes(*word));
    let mut at = 12;
    while TAGS.contains(&word(at)) {
        at += 4;
    }
    let ip = at + 2;
    let octet = |place: usize| frame.get(ip + place).copied().unwrap_or(0);
    let number = match word(at) {
        0x0800 => octet(9),
        0x86dd => octet(6),
        other => return ChangedHeader::EtherType { ether_type: other },
    };
    let outer = Located { ip, mark: 0, tos: 0, tag: None, protocol: number, ttl: 0 };
    let [source, destination] = outer.addresses(frame).unwrap_or([Ipv4Addr::UNSPECIFIED.into(); 2]);
    ChangedHeader::Tunnel {
        protocol: number,
        port: outer.ports(frame).map(|[_, port]| port),
        source,
        destination,
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
    fn told(options: &BenchOptions, frame: &[u8]) -> (Vec<ChangedHeader>, bool) {
        let Recognised::Test { mark, headers, .. } = recognise(SIGNATURE, frame, &[]) else {
            panic!("it is a test frame")
        };
        assert_eq!(mark, MARK);
        let mut others = OtherHeaders::default();
        let known = compare(frame, headers, sent_headers(options).first(), &mut others);
        (others.frames().into_iter().map(|one| one.header).collect(), known)
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
        assert_eq!(told(&options, &label), (vec![ChangedHeader::EtherType { ether_type: 0x8847 }], false));
        let tagged = with([0x81, 0x00], &[0, 10, 0x88, 0x47, 0, 0x3e, 0x8b, 0x40], 14);
        assert_eq!(told(&options, &tagged), (vec![ChangedHeader::EtherType { ether_type: 0x8847 }], false));
        // Three labels for many receivers.
        let stack = with(
            [0x88, 0x48],
            &[[0, 0x3e, 0x80, 0x40], [0, 0x3e, 0x90, 0x40], [0, 0x3e, 0xa1, 0x40]].concat(),
            14,
        );
        assert_eq!(told(&options, &stack), (vec![ChangedHeader::EtherType { ether_type: 0x8848 }], false));
        let tunnel = |protocol, port, ends: [&str; 2]| {
            let [source, destination] = ends.map(|end| end.parse().unwrap());
            ChangedHeader::Tunnel { protocol, port, source, destination }
        };
        let mut outer = plain[14..34].to_vec();
        outer[9] = 4;
        assert_eq!(
            told(&options, &with([8, 0], &outer, 14)),
            (vec![tunnel(4, None, ["198.18.0.2", "198.19.0.2"])], false)
        );
        // UDP to the port of VXLAN, its header of 8 octets, and the frame itself.
        outer[9] = 17;
        outer[12..20].copy_from_slice(&[192, 0, 2, 1, 192, 0, 2, 2]);
        let vxlan = [&outer[..], &[0xc0, 0, 0x12, 0xb5, 0, 0, 0, 0], &[8, 0, 0, 0, 0, 0, 42, 0]].concat();
        assert_eq!(
            told(&options, &with([8, 0], &vxlan, 0)),
            (vec![tunnel(17, Some(4_789), ["192.0.2.1", "192.0.2.2"])], false)
        );
        let translated_to = ChangedHeader::SourceAddress { address: "203.0.113.1".parse().unwrap() };
        let mut translated = plain.clone();
        translated[26..30].copy_from_slice(&[203, 0, 113, 1]);
        assert_eq!(told(&options, &translated), (vec![translated_to], true));
        translated[34..36].copy_from_slice(&40_000_u16.to_be_bytes());
        assert_eq!(
            told(&options, &translated),
            (vec![translated_to, ChangedHeader::SourcePort { port: 40_000 }], true)
        );
        assert!(matches!(recognise(Signature(8), &plain, &sent_headers(&options)), Recognised::Other));
    }

    /// A frame with the headers of a stream is a test frame, whatever octet of its mark is damaged; with other headers it is none.
    #[test]
    fn damage_of_mark_is_seen_in_any_octet() {
        let options = sweep(&[0.5]);
        let headers = sent_headers(&options);
        let plain = sent(&options);
        for octet in 42..60 {
            let mut damaged = plain.clone();
            damaged[octet] ^= 0x10;
            assert!(matches!(recognise(SIGNATURE, &damaged, &headers), Recognised::Damaged), "{octet}");
            damaged[36..38].copy_from_slice(&53_u16.to_be_bytes());
            let is_ours = octet >= 46;
            let found = recognise(SIGNATURE, &damaged, &headers);
            assert_eq!(matches!(found, Recognised::Damaged), is_ours, "{octet}: to another port");
        }
    }

    /// More headers than are told apart are counted together.
    #[test]
    fn many_headers_are_bounded() {
        let mut others = OtherHeaders::default();
        (0..20).for_each(|ether_type| others.note(ChangedHeader::EtherType { ether_type }));
        let all = others.frames();
        let more = HeaderFrames { header: ChangedHeader::Others, frames: 4 };
        assert_eq!((all.len(), all.last()), (17, Some(&more)));
    }
}
