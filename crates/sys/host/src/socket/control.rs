//! Control messages (`cmsg(3)`) as bytes: a header of length (8), level (4) and type (4), then the data, each
//! message padded to eight octets.

use super::address::array;
use crate::phc::PhcTime;

/// Length of a control message's header.
const HEADER: usize = 16;
/// Room for the control messages of one datagram: stamps 64, packet information 40, hop limit 24, class 24, drops 24; an
/// error with its offender 64.
pub(crate) const CONTROL_LEN: usize = 256;

/// Control messages that are being written for a send.
pub(crate) struct ControlWriter {
    bytes: [u8; CONTROL_LEN],
    length: usize,
}

impl ControlWriter {
    /// No messages yet.
    pub(crate) const fn new() -> Self {
        Self { bytes: [0; CONTROL_LEN], length: 0 }
    }

    /// Adds a message. The callers here add at most four, of 20 octets at most, so that it always fits.
    pub(crate) fn push(&mut self, level: libc::c_int, kind: libc::c_int, data: &[u8]) {
        let whole = HEADER + data.len();
        let Some(space) = self.bytes.get_mut(self.length..self.length + whole.next_multiple_of(8)) else {
            debug_assert!(false, "control messages outgrew their room");
            return;
        };
        space[0..8].copy_from_slice(&whole.to_ne_bytes());
        space[8..12].copy_from_slice(&level.to_ne_bytes());
        space[12..16].copy_from_slice(&kind.to_ne_bytes());
        space[HEADER..whole].copy_from_slice(data);
        self.length += whole.next_multiple_of(8);
    }

    /// The messages as the kernel wants them.
    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.bytes[..self.length]
    }
}

/// One control message that the kernel handed over.
pub(crate) struct Control<'a> {
    pub(crate) level: libc::c_int,
    pub(crate) kind: libc::c_int,
    pub(crate) data: &'a [u8],
}

impl Control<'_> {
    /// The data as an integer, where it begins with one.
    pub(crate) fn integer(&self) -> Option<i32> {
        Some(i32::from_ne_bytes(array(self.data, 0)?))
    }

    /// The first of the three times of `SCM_TIMESTAMPING`, the software stamp, in nanoseconds; `None` where the
    /// kernel left it zero, which means that it took none.
    pub(crate) fn software_stamp(&self) -> Option<i64> {
        self.stamp(0)
    }

    /// The third of them, the network card's, as its own clock has it. (The second is of kernels of old.)
    pub(crate) fn card_stamp(&self) -> Option<PhcTime> {
        self.stamp(2).map(PhcTime::from_nanos)
    }

    fn stamp(&self, place: usize) -> Option<i64> {
        let seconds = i64::from_ne_bytes(array(self.data, 16 * place)?);
        let nanos = i64::from_ne_bytes(array(self.data, 16 * place + 8)?);
        (seconds != 0 || nanos != 0).then(|| crate::clock::nanos_of(seconds, nanos))
    }
}

/// The messages in `bytes`, up to the first that does not fit.
pub(crate) fn messages(mut bytes: &[u8]) -> impl Iterator<Item = Control<'_>> {
    core::iter::from_fn(move || {
        let whole = usize::from_ne_bytes(array(bytes, 0)?);
        let level = libc::c_int::from_ne_bytes(array(bytes, 8)?);
        let kind = libc::c_int::from_ne_bytes(array(bytes, 12)?);
        let data = bytes.get(HEADER..whole)?;
        bytes = bytes.get(whole.next_multiple_of(8)..).unwrap_or_default();
        Some(Control { level, kind, data })
    })
}

/// A message header over the given parts, which must outlive every call that it is given to.
pub(crate) fn message(name: &mut [u8], vector: Option<&mut libc::iovec>, control: &[u8]) -> libc::msghdr {
    // SAFETY: a msghdr is pointers and integers, for which zero is valid.
    let mut header: libc::msghdr = unsafe { std::mem::zeroed() };
    header.msg_name = name.as_mut_ptr().cast();
    header.msg_namelen = libc::socklen_t::try_from(name.len()).unwrap_or(0);
    if let Some(vector) = vector {
        header.msg_iov = vector;
        header.msg_iovlen = 1;
    }
    if !control.is_empty() {
        header.msg_control = control.as_ptr().cast_mut().cast();
        header.msg_controllen = control.len();
    }
    header
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn messages_read_back_as_written(
            list in proptest::collection::vec((any::<i32>(), any::<i32>(), proptest::collection::vec(any::<u8>(), 0..20)), 0..4)
        ) {
            let mut writer = ControlWriter::new();
            for (level, kind, data) in &list {
                writer.push(*level, *kind, data);
            }
            let read: Vec<_> =
                messages(writer.as_bytes()).map(|m| (m.level, m.kind, m.data.to_vec())).collect();
            prop_assert_eq!(read, list);
        }

        #[test]
        fn any_bytes_are_read_without_panic_and_without_end(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            prop_assert!(messages(&bytes).count() <= bytes.len() / HEADER);
        }
    }

    /// What Linux 6.1 handed over of an Intel 82576 (its driver, on an emulated card).
    fn captured(text: &str) -> Vec<u8> {
        let octet = |at: usize| u8::from_str_radix(&text[at..at + 2], 16).unwrap();
        (0..text.len()).step_by(2).map(octet).collect()
    }

    #[test]
    fn an_arrival_has_the_kernels_stamp_and_the_cards_in_one_message() {
        let both = "2839036b00000000da2f6204000000000000000000000000000000000000000028\
                    39036b00000000ebb1530400000000";
        let control = |data| Control { level: libc::SOL_SOCKET, kind: libc::SO_TIMESTAMPING_NEW, data };
        let bytes = captured(both);
        let (kernel, card) = (control(&bytes).software_stamp(), control(&bytes).card_stamp());
        assert_eq!(kernel, Some(1_795_373_352_073_543_642));
        assert_eq!(card, Some(PhcTime::from_nanos(1_795_373_352_072_593_899)));
        // The next packet was none that this card stamps.
        let bytes = captured(
            "2839036b000000000244d216000000000000000000000000000000000000000000000000000000000000000000000000",
        );
        assert!(control(&bytes).software_stamp().is_some());
        assert_eq!(control(&bytes).card_stamp(), None);
    }

    #[test]
    fn of_a_departure_either_stamp_comes_alone() {
        let control = |data| Control { level: libc::SOL_SOCKET, kind: libc::SO_TIMESTAMPING_NEW, data };
        let kernel = captured(
            "6332036b00000000f8992018000000000000000000000000000000000000000000000000000000000000000000000000",
        );
        assert_eq!(control(&kernel).software_stamp(), Some(1_795_371_619_404_789_752));
        assert_eq!(control(&kernel).card_stamp(), None);
        let card = captured(
            "00000000000000000000000000000000000000000000000000000000000000006332036b00000000e84b201800000000",
        );
        assert_eq!(control(&card).software_stamp(), None);
        assert_eq!(control(&card).card_stamp(), Some(PhcTime::from_nanos(1_795_371_619_404_769_768)));
    }

    #[test]
    fn an_untaken_stamp_is_none() {
        let zero = [0; 48];
        assert_eq!(Control { level: 0, kind: 0, data: &zero }.software_stamp(), None);
        assert_eq!(Control { level: 0, kind: 0, data: &zero[..12] }.software_stamp(), None);
    }
}
