//! The receiving thread: every test frame of the trial, with the kernel's stamp.

use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use romer_host::HostError;
use romer_host::clock::Realtime;
use romer_host::socket::wait_any;
use romer_method::analysis::{ReceivedFrame, UNTAGGED};
use romer_port::{SNAP, TestReceiver, TestSender};
use romer_units::Duration;
use romer_wire::ethernet::MacAddress;
use romer_wire::neighbour::{Message, read, reply};
use romer_wire::test_frame::{Signature, is_intact};

use crate::options::AddressRange;
use crate::recognise::{OtherHeaders, Recognised, SentHeaders, compare, recognise};

/// How long a wait for frames lasts before the end is looked for.
const POLL_INTERVAL: Duration = Duration::from_millis(2);

/// Who answers the device's questions for the addresses behind a port.
pub(crate) struct Host {
    pub(crate) sender: TestSender,
    pub(crate) mac: MacAddress,
    pub(crate) addresses: Vec<AddressRange>,
}

impl Host {
    /// Answers the frame, if it is a question for one of our addresses.
    pub(crate) fn answer(&mut self, frame: &[u8]) {
        if let Some(Message::Asks { target, asker, asker_mac }) = read(frame)
            && self.addresses.iter().any(|range| range.contains(target))
            && asker != target
            && let Some(answer) = reply(target, self.mac, asker, asker_mac)
        {
            // What does not leave is asked for again.
            let _ = self.sender.send(&[&answer]);
        }
    }
}

/// What is to be taken in.
pub(crate) struct Receiving<'a> {
    pub(crate) signature: Signature,
    /// The headers that the frames of each stream are sent with.
    pub(crate) headers: Vec<SentHeaders>,
    /// The trial's beginning on the clock of stamps.
    pub(crate) epoch: Realtime,
    /// Capacity in frames.
    pub(crate) room: usize,
    /// Frames whose octets are kept.
    pub(crate) capture: usize,
    /// Set when nothing more is waited for.
    pub(crate) stop: &'a AtomicBool,
    /// Frames that came up to now, for those who wait.
    pub(crate) count: &'a AtomicU64,
}

/// A frame as it came, of which the beginning is kept.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CapturedFrame {
    /// Nanoseconds after the trial's beginning.
    pub(crate) at: i64,
    /// Octets without check sequence.
    pub(crate) length: u32,
    pub(crate) octets: [u8; SNAP],
    pub(crate) kept: usize,
}

/// What came.
#[derive(Default)]
pub(crate) struct ReceiveLog {
    pub(crate) came: Vec<ReceivedFrame>,
    pub(crate) caught: Vec<CapturedFrame>,
    /// Until when frames were taken in, from the trial's beginning; `None` where that is not known.
    pub(crate) listened: Option<Duration>,
    /// Frames still came when the wait for them ended.
    pub(crate) still_arriving: bool,
    /// Test frames that found no room.
    pub(crate) without_room: u64,
    /// Frames that the kernel dropped because nobody took them.
    pub(crate) drops: u64,
    /// Frames that this host dropped before, be they the trial's or others.
    pub(crate) elsewhere: u64,
    /// Frames that came and were none of the trial's, or cannot be told for such.
    pub(crate) others: u64,
    /// Of these, frames of the trial whose mark was damaged, so that nobody knows which they were.
    pub(crate) damaged: u64,
    /// With which other headers than they were sent with frames of the trial came.
    pub(crate) headers: OtherHeaders,
}

impl ReceiveLog {
    /// Frames of the trial that the tester dropped unread, at the least and at the most.
    pub(crate) const fn unread(&self) -> [u64; 2] {
        let certain = self.without_room + if self.others == 0 { self.drops } else { 0 };
        [certain, self.without_room + self.drops + self.elsewhere]
    }
}

/// A frame as it was on the line: with the tag that the interface took out.
fn caught(at: i64, frame: &[u8], length: usize, tag: Option<u16>) -> CapturedFrame {
    /// Where a tag stands: behind both addresses.
    const TAG: usize = 12;
    let (addresses, rest) = frame.split_at(frame.len().min(TAG));
    let tag = tag.map(|tag| {
        let [high, low] = tag.to_be_bytes();
        [0x81, 0x00, high, low]
    });
    let tag = tag.as_ref().map_or(&[][..], |tag| &tag[..]);
    let mut octets = [0; SNAP];
    let mut kept = 0;
    // Of longer ones, as much as there is room for.
    for (place, octet) in octets.iter_mut().zip(addresses.iter().chain(tag).chain(rest)) {
        *place = *octet;
        kept += 1;
    }
    CapturedFrame { at, length: u32::try_from(length + tag.len()).unwrap_or(u32::MAX), octets, kept }
}

/// Takes in until it is told to stop.
pub(crate) fn receive(
    receiver: &mut TestReceiver,
    host: &mut Host,
    receiving: &Receiving<'_>,
) -> Result<ReceiveLog, HostError> {
    let mut received = ReceiveLog {
        came: Vec::with_capacity(receiving.room),
        caught: Vec::with_capacity(receiving.capture),
        ..ReceiveLog::default()
    };
    // What was dropped before is not this trial's.
    let _ = receiver.kernel_drops();
    loop {
        let came = receiver.receive(|frame| {
            let (mark, begins, headers) =
                match recognise(receiving.signature, frame.octets, &receiving.headers) {
                    Recognised::Test { mark, at, headers } => (mark, at, headers),
                    Recognised::Damaged => {
                        received.damaged += 1;
                        received.others += 1;
                        return;
                    }
                    Recognised::Other => {
                        received.others += 1;
                        host.answer(frame.octets);
                        return;
                    }
                };
            if received.came.len() == received.came.capacity() {
                received.without_room += 1;
                return;
            }
            let at = frame.stamp.since(receiving.epoch).as_nanos();
            if received.caught.len() < receiving.capture {
                received.caught.push(caught(at, frame.octets, frame.length, frame.tag));
            }
            let sent = receiving.headers.get(usize::from(mark.stream));
            let comparable = compare(frame.octets, headers, sent, &mut received.headers);
            let inner_tag = headers.and_then(|seen| seen.tag);
            let tag = frame.tag.or(inner_tag);
            // A tag that is still in the frame is not part of what is compared.
            let inside = if inner_tag.is_some() { 4 } else { 0 };
            received.came.push(ReceivedFrame {
                received: at,
                sent: i64::try_from(mark.sent).unwrap_or(i64::MAX),
                sequence: mark.sequence,
                stream: mark.stream,
                octets: u16::try_from(frame.length + 4 - inside).unwrap_or(u16::MAX),
                tos: headers.map_or(0, |seen| seen.tos),
                tag: tag.unwrap_or(UNTAGGED),
                intact: is_intact(frame.octets, begins),
                comparable,
            });
        });
        if came > 0 {
            receiving.count.store(received.came.len() as u64, Ordering::Relaxed);
            continue;
        }
        if receiving.stop.load(Ordering::Acquire) {
            break;
        }
        wait_any(&[receiver.as_fd()], None, Some(POLL_INTERVAL))?;
    }
    received.drops = receiver.kernel_drops().unwrap_or(0);
    Ok(received)
}
