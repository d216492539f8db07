//! Arrivals from a capture, pcap or pcapng, whose first interface is port a and whose second is port b.
//!
//! On a host whose offloads join packets (GRO, TSO) a capture has frames that no wire would carry, and an emulator that
//! sent them on as they are would impair some fifty packets at once. They are told by the MTU, and [`TooLong`] says what
//! becomes of them.

use std::borrow::Cow;
use std::collections::HashMap;
use std::io::Read;
use std::path::Path;

use romer_exchange::capture::{self, CaptureFault, Record};
use romer_impair::{Headers, PortId};
use romer_record::warning::EmulationWarning;
use romer_units::counted;
use romer_wire::ethernet::{self, Frame};
use romer_wire::segmentation::Joined;

use crate::arrivals::{Arrival, Arrivals, SIZES};
use crate::error::EmulateError;
use crate::headers::{headers, network_length};
use crate::live::RECORDED_BY;

/// Octets of the check sequence, which captures do not have, and of the shortest frame with it.
const CHECK_SEQUENCE: u32 = 4;
const MIN_FRAME_OCTETS: u32 = 64;
/// Octets of the longest frame that offloads join, its packet's length still in its header.
const LONGEST_JOINED: u32 = 65_535 + 22;

/// What becomes of frames that are longer than the output takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooLong {
    /// The largest IP packet of the output, octets: what is behind a frame's Ethernet header and tags.
    pub mtu: u32,
    /// They are taken apart, as what a sender's offloads joined is before a live bridge sees it: parts with headers of their
    /// own, all of the frame's time. A capture does not say how long the parts were, so they are as long as the MTU lets
    /// them be.
    pub segment: bool,
    /// Those that are not taken apart are left out.
    pub skip: bool,
}

impl TooLong {
    /// The MTU of Ethernet.
    pub const MTU: u32 = 1_500;
}

impl Default for TooLong {
    /// A capture with such frames is refused.
    fn default() -> Self {
        Self { mtu: Self::MTU, segment: false, skip: false }
    }
}

/// What is being read.
struct CaptureReader {
    too_long: TooLong,
    packets: Vec<Arrival>,
    known: HashMap<Headers, usize>,
    headers: Vec<Headers>,
    /// Frames that were too long, octets of the largest, those that were taken apart and into how many, and those that could
    /// not be.
    exceeding: u64,
    largest: u32,
    apart: u64,
    parts: u64,
    whole: u64,
}

/// Reads the arrivals of a capture: of each packet the time, the length that it had, and the headers by which flows are told
/// apart. One that an emulator of ours wrote says when the network began.
///
/// # Errors
/// The first packet that is none, is no Ethernet frame, or came by a third interface; frames that are longer than the output
/// takes, with how many there are, unless `too_long` says what becomes of them.
pub fn read_capture(
    path: &Path,
    reader: impl Read + Send,
    too_long: TooLong,
) -> Result<Arrivals, EmulateError> {
    let content = |why: String| EmulateError::Content { what: "the arrivals", path: path.into(), why };
    let mut reading = CaptureReader {
        too_long,
        packets: Vec::new(),
        known: HashMap::new(),
        headers: Vec::new(),
        exceeding: 0,
        largest: 0,
        apart: 0,
        parts: 0,
        whole: 0,
    };
    let walked = capture::walk(reader, |record| reading.take(record))
        .map_err(|CaptureFault::Record { record, why }| content(format!("packet {record}: {why}")))?;
    let mut notes = reading.notes().map_err(content)?;
    let left_out = walked.timeless + u64::from(walked.truncated);
    if left_out > 0 {
        notes.push(EmulationWarning::CapturePacketsIgnored { packets: left_out });
    }
    let mut arrivals = Arrivals::new(reading.packets, reading.headers);
    arrivals.notes = notes;
    let is_own = walked.program.as_deref() == Some(RECORDED_BY);
    arrivals.began = walked.began_ns.filter(|began| is_own && *began >= 0);
    Ok(arrivals)
}

impl CaptureReader {
    fn take(&mut self, record: &Record<'_>) -> Result<(), String> {
        if !record.is_ethernet {
            return Err("it is no Ethernet frame; capture on an interface, not on \"any\"".into());
        }
        let port = match record.interface {
            0 => PortId::A,
            1 => PortId::B,
            number => {
                return Err(format!(
                    "it arrived by interface {number}, but there are two ports; use a capture of interfaces 0 and 1"
                ));
            }
        };
        let time = record.at_ns;
        if time < 0 {
            return Err("its time is before 1970; is the file damaged?".into());
        }
        let before = Frame::parse(record.octets)
            .map_or(ethernet::HEADER, |frame| record.octets.len() - frame.payload().len());
        let longest = u64::from(self.too_long.mtu) + before as u64;
        let is_short = u64::from(record.whole) <= longest;
        if is_short && !SIZES.contains(&sized(record.whole)) {
            let most = SIZES.end() - CHECK_SEQUENCE;
            return Err(format!("it has {} bytes; a frame has up to {most}", record.whole));
        }
        let headers = self.number_of(headers(record.octets));
        let mut arrive = |octets, network_length| {
            self.packets.push(Arrival { time, port, size: sized(octets), network_length, headers });
        };
        if is_short {
            arrive(record.whole, network_length(record.octets, sized(record.whole)));
            return Ok(());
        }
        self.exceeding += 1;
        self.largest = self.largest.max(record.whole);
        match self.too_long.segment.then(|| parts(record, self.too_long.mtu)).flatten() {
            Some(lengths) => {
                self.apart += 1;
                self.parts += lengths.len() as u64;
                // Each part has the headers of the whole, and no padding.
                let before = u32::try_from(before).unwrap_or(u32::MAX);
                lengths.into_iter().for_each(|octets| arrive(octets, octets.saturating_sub(before)));
            }
            None => self.whole += 1,
        }
        Ok(())
    }

    fn number_of(&mut self, headers: Headers) -> usize {
        *self.known.entry(headers).or_insert_with(|| {
            self.headers.push(headers);
            self.headers.len() - 1
        })
    }

    /// What became of the frames that were too long; an error where nothing was to become of them.
    fn notes(&self) -> Result<Vec<EmulationWarning>, String> {
        let Self {
            exceeding, largest, apart, parts, whole, too_long: TooLong { mtu, segment, skip }, ..
        } = *self;
        if whole > 0 && !skip {
            let exceed = if exceeding == 1 { "exceeds" } else { "exceed" };
            let frames = format!("{} {exceed}", counted(exceeding, "frame"));
            return Err(match segment {
                false => format!(
                    "{frames} MTU {mtu} (largest {largest} bytes): captured with GRO, where packets are joined, or on a \
                     network of larger ones; --segment takes joined ones apart, --skip leaves them out, and --mtu says what \
                     the output takes"
                ),
                true => format!(
                    "{frames} MTU {mtu} (largest {largest} bytes), and {whole} of them cannot be taken apart, because only \
                     whole packets of TCP and UDP are joined; leave those out by --skip, too, or say by --mtu what the \
                     output takes"
                ),
            });
        }
        let mut notes = Vec::new();
        if apart > 0 {
            notes.push(EmulationWarning::FramesSegmented {
                frames: apart,
                segments: parts,
                mtu_bytes: mtu,
                largest_bytes: largest,
            });
        }
        if whole > 0 {
            notes.push(EmulationWarning::FramesAboveMtu {
                frames: whole,
                mtu_bytes: mtu,
                largest_bytes: largest,
            });
        }
        Ok(notes)
    }
}

/// The size of a frame of so many octets, with its check sequence.
const fn sized(octets: u32) -> u32 {
    let size = octets.saturating_add(CHECK_SEQUENCE);
    if size < MIN_FRAME_OCTETS { MIN_FRAME_OCTETS } else { size }
}

/// Octets of the frames that were joined to this one; `None` where it is none that offloads join.
fn parts(record: &Record<'_>, mtu: u32) -> Option<Vec<u32>> {
    if record.whole > LONGEST_JOINED {
        return None;
    }
    let (whole, mtu) = (usize::try_from(record.whole).ok()?, usize::try_from(mtu).ok()?);
    // What was not kept of it are the octets that matter least: headers come first.
    let octets = match record.octets.get(..whole) {
        Some(octets) => Cow::Borrowed(octets),
        None => {
            let mut octets = record.octets.to_vec();
            octets.resize(whole, 0);
            Cow::Owned(octets)
        }
    };
    let joined = Joined::fitting(&octets, mtu)?;
    (0..joined.parts()).map(|part| u32::try_from(joined.octets_of(part)?).ok()).collect()
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use romer_wire::pcapng;

    use super::*;

    #[test]
    fn a_capture_gives_times_lengths_ports_and_headers() {
        let mut file = Vec::new();
        pcapng::section(&mut file, "test");
        for name in ["a", "b", "c"] {
            pcapng::interface(&mut file, pcapng::ETHERNET, name);
        }
        let mut tagged = vec![2; 12];
        tagged.extend([0x81, 0, 0, 9, 0x88, 0xb5]);
        tagged.resize(100, 0);
        pcapng::packet(&mut file, 1, 2_000, &tagged, &[]);
        pcapng::packet(&mut file, 0, 1_000, &[2; 40], &[]);
        pcapng::packet(&mut file, 1, 3_000, &tagged, &[]);
        let whole = file.len();
        let read = |octets: &[u8]| {
            let octets = octets.to_vec();
            read_capture(Path::new("c.pcapng"), Cursor::new(octets), TooLong::default())
                .map_err(|error| error.to_string())
        };
        let arrivals = read(&file).unwrap();
        let found: Vec<_> = arrivals.packets.iter().map(|one| (one.time, one.port, one.size)).collect();
        assert_eq!(found, [(1_000, PortId::A, 64), (2_000, PortId::B, 104), (3_000, PortId::B, 104)]);
        assert_eq!((arrivals.out_of_order, arrivals.headers.len()), (1, 2));
        let vlans: Vec<_> = arrivals.packets.iter().map(|one| arrivals.headers_of(one).vlan).collect();
        assert_eq!(vlans, [None, Some(9), Some(9)]);
        let cut = read(&file[..whole - 3]).unwrap();
        assert_eq!(cut.packets.len(), 2);
        assert!(cut.notes == [EmulationWarning::CapturePacketsIgnored { packets: 1 }], "{:?}", cut.notes);
        pcapng::packet(&mut file, 2, 4_000, &tagged, &[]);
        let error = read(&file).unwrap_err();
        assert!(
            error.contains("c.pcapng") && error.contains("packet 4") && error.contains("interface 2"),
            "{error}"
        );
        assert!(read(b"time_ns,port,size\n").unwrap_err().contains("neither pcap nor pcapng"));
    }

    /// A frame of TCP over IPv4, with so many octets behind its headers (54 without tags).
    fn tcp(payload: u16, tagged: bool) -> Vec<u8> {
        let mut frame = vec![2; 12];
        if tagged {
            frame.extend([0x81, 0, 0, 9]);
        }
        let [high, low] = (40 + payload).to_be_bytes();
        frame.extend([8, 0, 0x45, 0, high, low, 0, 1, 0x40, 0, 64, 6, 0, 0, 198, 18, 0, 2, 198, 18, 0, 3]);
        frame.extend([0x1b, 0x58, 0x13, 0x89, 0, 0, 0, 1, 0, 0, 0, 1, 0x50, 0x10, 1, 0, 0, 0, 0, 0]);
        frame.resize(frame.len() + usize::from(payload), 7);
        frame
    }

    fn capture(frames: &[(u32, Vec<u8>, u32)]) -> Vec<u8> {
        let mut file = Vec::new();
        pcapng::section(&mut file, "test");
        for name in ["a", "b"] {
            pcapng::interface(&mut file, pcapng::ETHERNET, name);
        }
        for (at, (interface, octets, whole)) in (1_000_u64..).zip(frames) {
            pcapng::cut_packet(&mut file, *interface, at, octets, *whole, &[]);
        }
        file
    }

    fn read(file: &[u8], too_long: TooLong) -> Result<Arrivals, String> {
        let cursor = Cursor::new(file.to_vec());
        read_capture(Path::new("c.pcapng"), cursor, too_long).map_err(|error| error.to_string())
    }

    #[test]
    fn what_a_wire_would_not_carry_is_refused_with_count_and_largest_unless_it_is_said_what_becomes_of_it() {
        let long = tcp(4_000, false);
        let mut other = long.clone();
        other[23] = 47;
        let file = capture(&[
            (0, tcp(1_460, false), 1_514),
            (1, tcp(1_460, true), 1_518),
            (0, long.clone(), 4_054),
            // Of which a tool kept the headers only.
            (1, tcp(4_000, true)[..96].to_vec(), 4_058),
            (0, other, 4_054),
        ]);
        let plain = TooLong::default();
        let error = read(&file, plain).unwrap_err();
        for words in
            ["c.pcapng", "3 frames exceed MTU 1500 (largest 4058 bytes)", "GRO", "--segment", "--skip"]
        {
            assert!(error.contains(words), "{error}");
        }
        let error = read(&file, TooLong { segment: true, ..plain }).unwrap_err();
        assert!(
            error.contains("3 frames exceed") && error.contains("1 of them cannot be taken apart"),
            "{error}"
        );
        let seen = |arrivals: &Arrivals| -> Vec<_> {
            arrivals.packets.iter().map(|one| (one.time, one.port, one.size)).collect()
        };
        let skipped = read(&file, TooLong { skip: true, ..plain }).unwrap();
        assert_eq!(seen(&skipped), [(1_000, PortId::A, 1_518), (1_001, PortId::B, 1_522)]);
        assert_eq!(skipped.notes.len(), 1);
        assert!(
            matches!(skipped.notes[0], EmulationWarning::FramesAboveMtu { frames: 3, mtu_bytes: 1_500, .. }),
            "{:?}",
            skipped.notes
        );
        let both = read(&file, TooLong { segment: true, skip: true, ..plain }).unwrap();
        let of = |time, port, tag: u32| [1_518, 1_518, 1_138].map(|size| (time, port, size + tag));
        let apart: Vec<_> = [of(1_002, PortId::A, 0), of(1_003, PortId::B, 4)].concat();
        assert_eq!(seen(&both)[2..], apart);
        let vlans: Vec<_> = both.packets[2..].iter().map(|one| both.headers_of(one).vlan).collect();
        assert_eq!(vlans, [None, None, None, Some(9), Some(9), Some(9)]);
        assert!(
            matches!(both.notes[0], EmulationWarning::FramesSegmented { segments: 6, .. }),
            "{:?}",
            both.notes
        );
        assert!(
            matches!(both.notes[1], EmulationWarning::FramesAboveMtu { frames: 1, .. }),
            "{:?}",
            both.notes
        );
        let wide = read(&file, TooLong { mtu: 4_040, ..plain }).unwrap();
        assert_eq!((wide.packets.len(), wide.notes.len()), (5, 0));
        let error = read(&file, TooLong { mtu: 4_039, ..plain }).unwrap_err();
        assert!(error.contains("3 frames exceed MTU 4039"), "{error}");
    }

    #[test]
    fn a_length_that_no_frame_has_is_too_long_and_takes_no_memory() {
        let file = capture(&[(0, tcp(100, false), u32::MAX)]);
        let any = TooLong { mtu: 65_535, segment: true, skip: false };
        assert!(
            read(&file, any).unwrap_err().contains("1 frame exceeds MTU 65535 (largest 4294967295 bytes)")
        );
        assert_eq!(read(&file, TooLong { skip: true, ..any }).unwrap().packets, []);
    }
}
