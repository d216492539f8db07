//! What the kernel leaves undone on a frame that it hands over, and says so beside it: checksums that a driver was
//! to finish, and a VLAN tag that was taken out.

use romer_wire::checksum::{Sum, udp_sent};
use romer_wire::ip::protocol;
use romer_wire::segmentation::{Joined, JoinedKind};
use romer_wire::transport::ChecksumField;

/// Octets of the kernel's `struct virtio_net_hdr`, which stands before a frame of a packet socket that asked for it.
pub(crate) const HEADER: usize = 10;
/// Octets of the two link-layer addresses, after which a tag stands.
const ADDRESSES: usize = 12;
/// Octets of a tag.
pub(crate) const TAG: usize = 4;
/// Where the checksum lies in a UDP header. In TCP it is elsewhere, so that this tells them apart.
const UDP_CHECKSUM: usize = 6;

/// Whether a frame is several packets in one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Joining {
    /// It is one.
    None,
    /// It is such packets, with so many octets of payload in each.
    Of(JoinedKind, u16),
    /// It is packets of a kind that nobody here takes apart.
    Other,
}

/// What the kernel says of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Unfinished {
    /// Whether it is several packets.
    pub(crate) joining: Joining,
    /// A checksum is to be computed: from here to the end of the frame, ...
    checksum_start: Option<usize>,
    /// ... and to be put so much further.
    checksum_offset: usize,
}

impl Unfinished {
    /// Reads the header before a frame.
    pub(crate) fn read(header: [u8; HEADER]) -> Self {
        const NEEDS_CHECKSUM: u8 = 1;
        /// Beside the kind: congestion was marked.
        const ECN: u8 = 0x80;
        let [flags, kind, _, _, s0, s1, c0, c1, o0, o1] = header;
        let size = u16::from_ne_bytes([s0, s1]);
        let joining = match kind & !ECN {
            0 => Joining::None,
            1 => Joining::Of(JoinedKind::TcpV4, size),
            4 => Joining::Of(JoinedKind::TcpV6, size),
            5 => Joining::Of(JoinedKind::Udp, size),
            _ => Joining::Other,
        };
        Self {
            joining,
            checksum_start: (flags & NEEDS_CHECKSUM != 0).then(|| usize::from(u16::from_ne_bytes([c0, c1]))),
            checksum_offset: usize::from(u16::from_ne_bytes([o0, o1])),
        }
    }

    /// The packets in a frame that is several; `None` where it is one, or cannot be taken apart.
    pub(crate) fn joined(self, frame: &[u8]) -> Option<Joined<'_>> {
        let Joining::Of(kind, size) = self.joining else { return None };
        // Where the checksum begins elsewhere, what was joined lies within another packet.
        Joined::parse(frame, kind, size)
            .filter(|joined| self.checksum_start.is_none_or(|start| start == joined.transport()))
    }

    /// Finishes the checksum of `frame`, if it is unfinished. The place of the checksum holds the sum of the
    /// pseudo-header, so that the sum over all gives it.
    pub(crate) fn finish(self, frame: &mut [u8]) {
        let Some(start) = self.checksum_start else { return };
        let Some(covered) = frame.get_mut(start..) else { return };
        let checksum = Sum::new().octets(covered).checksum();
        let checksum = if self.checksum_offset == UDP_CHECKSUM { udp_sent(checksum) } else { checksum };
        if let Some(place) = covered.get_mut(self.checksum_offset..self.checksum_offset + 2) {
            place.copy_from_slice(&checksum.to_be_bytes());
        }
    }
}

/// Finishes a checksum that a sender on this machine left to its driver, where nothing beside the frame says so: its
/// place holds the sum of the pseudo-header alone. A finished checksum has that value once in 65,536 frames, and is
/// told by being right; so that what is changed wrongly is one in as many of the frames that were damaged before.
pub(crate) fn finish_hidden(frame: &mut [u8]) {
    if let Some((place, checksum)) = hidden(frame)
        && let Some(field) = frame.get_mut(place..place + 2)
    {
        field.copy_from_slice(&checksum.to_be_bytes());
    }
}

/// Where a checksum is unfinished, and what it is to be.
fn hidden(octets: &[u8]) -> Option<(usize, u16)> {
    let field = ChecksumField::locate(octets)?;
    let may_be_left = matches!(field.protocol(), protocol::TCP | protocol::UDP);
    if !may_be_left || field.value() != field.unfinished() {
        return None;
    }
    let right = field.right();
    (field.value() != right).then_some((field.place(), right))
}

/// Puts a tag back that was taken out of the frame of `length` octets that begins at `start` of `slot`; where the
/// frame begins then. Four octets before it must be free.
pub(crate) fn put_tag_back(slot: &mut [u8], start: usize, protocol: u16, control: u16) -> usize {
    let begin = start - TAG;
    slot.copy_within(start..start + ADDRESSES, begin);
    let tag = begin + ADDRESSES;
    slot[tag..tag + 2].copy_from_slice(&protocol.to_be_bytes());
    slot[tag + 2..tag + 4].copy_from_slice(&control.to_be_bytes());
    begin
}

#[cfg(test)]
mod tests {
    use romer_wire::checksum::checksum;

    use super::*;

    fn header(flags: u8, segmentation: u8, start: u16, offset: u16) -> [u8; HEADER] {
        let mut header = [0; HEADER];
        header[..2].copy_from_slice(&[flags, segmentation]);
        header[6..8].copy_from_slice(&start.to_ne_bytes());
        header[8..].copy_from_slice(&offset.to_ne_bytes());
        header
    }

    #[test]
    fn an_unfinished_checksum_is_that_over_the_whole_with_the_pseudo_header() {
        let pseudo = [0xc6, 0x12, 0, 2, 0xc6, 0x12, 0, 3, 0, 6, 0, 24];
        let mut segment: Vec<u8> = (0..24).collect();
        segment[16..18].fill(0);
        let whole = checksum(&[pseudo.as_slice(), &segment].concat());
        segment[16..18].copy_from_slice(&Sum::new().octets(&pseudo).folded().to_be_bytes());
        let mut frame = [vec![0xaa; 34], segment].concat();
        Unfinished::read(header(1, 0, 34, 16)).finish(&mut frame);
        assert_eq!(frame[50..52], whole.to_be_bytes());
    }

    #[test]
    fn a_udp_checksum_of_zero_is_sent_as_all_ones() {
        let mut frame = [vec![0; 34], vec![0xff, 0xff, 0, 0, 0, 0, 0, 0]].concat();
        Unfinished::read(header(1, 0, 34, 6)).finish(&mut frame);
        assert_eq!(frame[40..42], [0xff, 0xff]);
    }

    #[test]
    fn finished_frames_are_left_alone_and_places_beyond_the_end_too() {
        let before: Vec<u8> = (0..60).collect();
        for header in
            [header(0, 0, 34, 6), header(1, 0, 60, 6), header(1, 0, u16::MAX, 6), header(2, 0, 1, 1)]
        {
            let mut frame = before.clone();
            Unfinished::read(header).finish(&mut frame);
            assert_eq!(frame, before, "{header:?}");
        }
        assert_eq!(Unfinished::read(header(0, 0, 34, 6)).joining, Joining::None);
    }

    #[test]
    fn joined_packets_are_told_by_their_kind_and_by_where_they_lie() {
        let said = |kind, start| {
            let mut header = header(1, kind, start, 16);
            header[4..6].copy_from_slice(&100_u16.to_ne_bytes());
            Unfinished::read(header)
        };
        assert_eq!(said(0x81, 34).joining, Joining::Of(JoinedKind::TcpV4, 100), "with congestion marked");
        assert_eq!(said(4, 34).joining, Joining::Of(JoinedKind::TcpV6, 100));
        assert_eq!(said(5, 34).joining, Joining::Of(JoinedKind::Udp, 100));
        assert_eq!(said(3, 34).joining, Joining::Other);
        let mut frame = [vec![2; 12], vec![8, 0, 0x45, 0, 1, 4, 0, 0, 0x40, 0, 64, 6, 0, 0]].concat();
        frame.resize(14 + 260, 0x50);
        assert_eq!(said(1, 34).joined(&frame).map(|joined| joined.parts()), Some(3));
        assert!(said(1, 84).joined(&frame).is_none(), "it lies within another packet");
        assert!(said(4, 34).joined(&frame).is_none() && said(0, 34).joined(&frame).is_none());
    }

    #[test]
    fn a_tag_stands_after_the_addresses() {
        let mut slot = [vec![0; 4], (0..60).collect::<Vec<u8>>()].concat();
        assert_eq!(put_tag_back(&mut slot, 4, 0x8100, 0x2005), 0);
        assert_eq!(slot[..12], (0..12).collect::<Vec<u8>>());
        assert_eq!(slot[12..16], [0x81, 0, 0x20, 5]);
        assert_eq!(slot[16..], (12..60).collect::<Vec<u8>>());
    }
}
