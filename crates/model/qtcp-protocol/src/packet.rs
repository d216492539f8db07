//! The header of a test packet.
//!
//! | octets | field |
//! | --- | --- |
//! | 0 to 3 | `QTCP` |
//! | 4 | version, 1 |
//! | 5 | kind: 0 calibration, 1 measured, 2 termination |
//! | 6, 7 | zero |
//! | 8 to 15 | sequence number, from 0 over both phases; of a termination packet the number of packets before it |
//! | 16 to 23 | departure time stamp |
//! | 24 to 31 | arrival time stamp: zero, space for a stamping module of the receiving host |
//! | 32 to 39 | departure time stamp of the program |
//! | 40 to 47 | session |
//!
//! Numbers are big-endian. Time stamps are units of 100 ns since 1970-01-01 UTC, on the sender's clock.

/// Octets of the header. A payload has at least one more (Qtcp, option `-l`).
pub const HEADER_LEN: usize = 48;
/// What a header begins with.
const MAGIC: [u8; 4] = *b"QTCP";
/// The version of this layout.
const VERSION: u8 = 1;
/// The latest time stamp, units of 100 ns: in the year 2102, as of all times that come from another host. The evaluation of earlier
/// ones does not overflow.
const MAX_STAMP: i64 = ((1 << 62) - (3 << 57)) / 100;

/// What a packet is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PacketKind {
    /// The skew of the clocks is fitted to it.
    Calibration,
    /// It measures the path.
    Measured,
    /// It ends the test.
    Termination,
}

/// The fields of a header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet {
    /// What it is for.
    pub kind: PacketKind,
    /// Its number; of a termination packet, how many packets were sent before it.
    pub sequence: u64,
    /// Departure, units of 100 ns since 1970: the best time stamp that can be written into the packet.
    pub sent: i64,
    /// Departure by the program's own time stamp, in the same units.
    pub user: i64,
    /// The session, which the sender draws at random.
    pub session: u64,
}

impl Packet {
    /// Writes the header.
    pub fn write(&self, header: &mut [u8; HEADER_LEN]) {
        *header = [0; HEADER_LEN];
        header[0..4].copy_from_slice(&MAGIC);
        header[4] = VERSION;
        header[5] = match self.kind {
            PacketKind::Calibration => 0,
            PacketKind::Measured => 1,
            PacketKind::Termination => 2,
        };
        header[8..16].copy_from_slice(&self.sequence.to_be_bytes());
        header[16..24].copy_from_slice(&self.sent.to_be_bytes());
        header[32..40].copy_from_slice(&self.user.to_be_bytes());
        header[40..48].copy_from_slice(&self.session.to_be_bytes());
    }

    /// Reads the header at the beginning of `payload`; `None` if it is no test packet, or if a time stamp is
    /// before 1970 or after 2102.
    pub fn read(payload: &[u8]) -> Option<Self> {
        let header: &[u8; HEADER_LEN] = payload.first_chunk()?;
        if header[0..4] != MAGIC || header[4] != VERSION || header[6..8] != [0, 0] {
            return None;
        }
        let kind = match header[5] {
            0 => PacketKind::Calibration,
            1 => PacketKind::Measured,
            2 => PacketKind::Termination,
            _ => return None,
        };
        let stamp = |from: usize| {
            Some(i64::from_be_bytes(field(header, from)?)).filter(|stamp| (0..=MAX_STAMP).contains(stamp))
        };
        Some(Self {
            kind,
            sequence: u64::from_be_bytes(field(header, 8)?),
            sent: stamp(16)?,
            user: stamp(32)?,
            session: u64::from_be_bytes(field(header, 40)?),
        })
    }
}

/// The eight octets at `from`.
fn field(header: &[u8; HEADER_LEN], from: usize) -> Option<[u8; 8]> {
    header.get(from..)?.first_chunk().copied()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const PACKET: Packet = Packet {
        kind: PacketKind::Measured,
        sequence: 0x0102,
        sent: 0x0022_3344_5566_7788,
        user: 0x0002_0304_0506_0708,
        session: 0xfedc_ba98_7654_3210,
    };

    /// The octets are those of the documented layout.
    #[test]
    fn layout_is_as_documented() {
        let mut header = [0xff; HEADER_LEN];
        PACKET.write(&mut header);
        let expected: [u8; HEADER_LEN] = [
            b'Q', b'T', b'C', b'P', 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 1, 2, 0, 0x22, 0x33, 0x44, 0x55, 0x66,
            0x77, 0x88, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 3, 4, 5, 6, 7, 8, 0xfe, 0xdc, 0xba, 0x98, 0x76, 0x54,
            0x32, 0x10,
        ];
        assert_eq!(header, expected);
        assert_eq!(Packet::read(&header), Some(PACKET));
    }

    /// Another magic, version, kind or reserved octet, a short payload and a negative stamp are no packet.
    #[test]
    fn other_datagrams_are_refused() {
        let mut header = [0; HEADER_LEN];
        PACKET.write(&mut header);
        assert_eq!(Packet::read(&header[..HEADER_LEN - 1]), None);
        for (place, value) in
            [(0, b'q'), (4, 2), (5, 3), (6, 1), (7, 1), (16, 0x80), (17, 0x95), (32, 0x80), (33, 0x95)]
        {
            let mut wrong = header;
            wrong[place] = value;
            assert_eq!(Packet::read(&wrong), None, "octet {place}");
        }
    }

    proptest! {
        /// What is read from any octets is written back unchanged, but for the arrival time stamp.
        #[test]
        fn octets_round_trip(mut octets in prop::collection::vec(any::<u8>(), 0..80), ours in any::<bool>()) {
            if ours && octets.len() >= HEADER_LEN {
                octets[..8].copy_from_slice(&[b'Q', b'T', b'C', b'P', 1, 1, 0, 0]);
                octets[24..32].fill(0);
            }
            if let Some(packet) = Packet::read(&octets) {
                let mut written = [0; HEADER_LEN];
                packet.write(&mut written);
                octets[24..32].fill(0);
                prop_assert_eq!(&written[..], &octets[..HEADER_LEN]);
            }
        }
    }
}
