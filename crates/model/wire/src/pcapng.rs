//! Captures as other programs read them: the blocks of pcapng (IETF draft-ietf-opsawg-pcapng) that romer writes.
//!
//! Little-endian; times in nanoseconds. A capture is [`section`], an [`interface`] each, then [`packet`]s; [`began`]
//! may stand behind the interfaces.

/// Ethernet, as `LINKTYPE` numbers it.
pub const ETHERNET: u16 = 1;

const SECTION: u32 = 0x0a0d_0d0a;
const INTERFACE: u32 = 1;
const STATISTICS: u32 = 5;
const PACKET: u32 = 6;
/// Options: the end, a comment, an interface's name, the resolution of its times, the program that wrote it, and when a
/// capture began.
const END: u16 = 0;
const COMMENT: u16 = 1;
const IF_NAME: u16 = 2;
const IF_TSRESOL: u16 = 9;
const USER_APPLICATION: u16 = 4;
const ISB_STARTTIME: u16 = 2;
/// Octets of a comment at most.
const LONGEST_COMMENT: usize = 4_096;

/// The block that begins a capture; `program` wrote it.
pub fn section(out: &mut Vec<u8>, program: &str) {
    block(out, SECTION, |out| {
        out.extend(0x1a2b_3c4d_u32.to_le_bytes());
        // Version 1.0, of unknown length.
        out.extend([1, 0, 0, 0]);
        out.extend([0xff; 8]);
        option(out, USER_APPLICATION, program.as_bytes());
        option(out, END, &[]);
    });
}

/// An interface of a kind ([`ETHERNET`]); they are numbered from 0 in their order.
pub fn interface(out: &mut Vec<u8>, kind: u16, name: &str) {
    block(out, INTERFACE, |out| {
        out.extend(kind.to_le_bytes());
        // Reserved; whole packets.
        out.extend([0; 2]);
        out.extend(0_u32.to_le_bytes());
        option(out, IF_NAME, name.as_bytes());
        option(out, IF_TSRESOL, &[9]);
        option(out, END, &[]);
    });
}

/// That an interface's capture began at `nanos` since 1970 (an interface's statistics with nothing but `isb_starttime`).
pub fn began(out: &mut Vec<u8>, interface: u32, nanos: u64) {
    block(out, STATISTICS, |out| {
        let time = time(nanos);
        out.extend(interface.to_le_bytes());
        out.extend(time);
        option(out, ISB_STARTTIME, &time);
        option(out, END, &[]);
    });
}

/// A packet that an interface had at `nanos` since 1970, of which `octets` are kept, with comments.
pub fn packet(out: &mut Vec<u8>, interface: u32, nanos: u64, octets: &[u8], comments: &[&str]) {
    let length = u32::try_from(octets.len()).unwrap_or(u32::MAX);
    cut_packet(out, interface, nanos, octets, length, comments);
}

/// The same of a packet of `length` octets, of which the first, `octets`, are kept.
pub fn cut_packet(
    out: &mut Vec<u8>,
    interface: u32,
    nanos: u64,
    octets: &[u8],
    length: u32,
    comments: &[&str],
) {
    block(out, PACKET, |out| {
        out.extend(interface.to_le_bytes());
        out.extend(time(nanos));
        out.extend(u32::try_from(octets.len()).unwrap_or(u32::MAX).to_le_bytes());
        out.extend(length.to_le_bytes());
        out.extend(octets);
        pad(out, octets.len());
        for comment in comments {
            let end =
                (0..=comment.len().min(LONGEST_COMMENT)).rev().find(|end| comment.is_char_boundary(*end));
            option(out, COMMENT, comment.get(..end.unwrap_or(0)).unwrap_or_default().as_bytes());
        }
        if !comments.is_empty() {
            option(out, END, &[]);
        }
    });
}

/// A time as blocks have it: the upper half first.
const fn time(nanos: u64) -> [u8; 8] {
    let [l0, l1, l2, l3, h0, h1, h2, h3] = nanos.to_le_bytes();
    [h0, h1, h2, h3, l0, l1, l2, l3]
}

fn block(out: &mut Vec<u8>, kind: u32, body: impl FnOnce(&mut Vec<u8>)) {
    let begin = out.len();
    out.extend(kind.to_le_bytes());
    out.extend([0; 4]);
    body(out);
    let length = u32::try_from(out.len() - begin + 4).unwrap_or(u32::MAX).to_le_bytes();
    out.extend(length);
    if let Some(place) = out.get_mut(begin + 4..begin + 8) {
        place.copy_from_slice(&length);
    }
}

fn option(out: &mut Vec<u8>, code: u16, value: &[u8]) {
    let value = value.get(..value.len().min(usize::from(u16::MAX))).unwrap_or_default();
    out.extend(code.to_le_bytes());
    out.extend(u16::try_from(value.len()).unwrap_or(u16::MAX).to_le_bytes());
    out.extend(value);
    pad(out, value.len());
}

/// To a multiple of four.
fn pad(out: &mut Vec<u8>, length: usize) {
    out.resize(out.len() + length.wrapping_neg() % 4, 0);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Kind and body of each block.
    fn blocks(mut octets: &[u8]) -> Vec<(u32, Vec<u8>)> {
        let word = |octets: &[u8], at: usize| u32::from_le_bytes(octets[at..at + 4].try_into().unwrap());
        let mut blocks = Vec::new();
        while !octets.is_empty() {
            let length = word(octets, 4) as usize;
            assert!(length.is_multiple_of(4) && length == word(octets, length - 4) as usize);
            blocks.push((word(octets, 0), octets[8..length - 4].to_vec()));
            octets = &octets[length..];
        }
        blocks
    }

    #[test]
    fn blocks_have_their_lengths_on_either_side_and_fields_where_readers_look_for_them() {
        let mut out = Vec::new();
        section(&mut out, "romer");
        interface(&mut out, ETHERNET, "a");
        packet(&mut out, 0, 0x0102_0304_0506_0708, b"12345", &["sent", "höhe"]);
        packet(&mut out, 0, 1, b"", &[]);
        began(&mut out, 1, 0x0102_0304_0506_0708);
        let blocks = blocks(&out);
        assert_eq!(blocks.iter().map(|block| block.0).collect::<Vec<_>>(), [SECTION, 1, 6, 6, 5]);
        assert_eq!(blocks[0].1[..4], [0x4d, 0x3c, 0x2b, 0x1a]);
        let packet = &blocks[2].1;
        assert_eq!(packet[4..12], [4, 3, 2, 1, 8, 7, 6, 5], "the upper half of the time first");
        assert_eq!(packet[12..28], *b"\x05\0\0\0\x05\0\0\x0012345\0\0\0");
        assert_eq!(packet[28..36], *b"\x01\0\x04\0sent");
        assert_eq!(packet[36..48], *b"\x01\0\x05\0h\xc3\xb6he\0\0\0");
        assert_eq!(packet[48..], [0; 4]);
        assert_eq!(blocks[3].1.len(), 20);
        let told = *b"\x01\0\0\0\x04\x03\x02\x01\x08\x07\x06\x05";
        assert_eq!(blocks[4].1[..12], told);
        assert_eq!(blocks[4].1[12..], *b"\x02\0\x08\0\x04\x03\x02\x01\x08\x07\x06\x05\0\0\0\0");
    }

    #[test]
    fn a_comment_that_is_too_long_is_cut_between_letters() {
        let mut out = Vec::new();
        packet(&mut out, 0, 0, b"", &[&"ö".repeat(3_000)]);
        let length = u16::from_le_bytes(out[30..32].try_into().unwrap());
        assert_eq!(length, 4_096);
        assert!(std::str::from_utf8(&out[32..32 + usize::from(length)]).is_ok());
    }
}
