//! The lines of the control connection: ASCII text, one message a line, ended by LF.
//!
//! The sender writes `TEST`, `CALIBRATED`, `MEASURING`, `STAMPS` and `DONE`; the receiver writes `READY`, `BUSY` and `ENDED`. A
//! program that is to start after the calibration writes `AWAIT`, and the receiver `CALIBRATED`.
//! Unknown keys of `TEST` are ignored, so that a later version can add some. Any other line ends the connection.

use core::fmt;
use core::str::FromStr;

use romer_rsvp::{ErrorCode, ErrorSpec, QosService};
use romer_units::Duration;
use thiserror::Error;

use crate::limits::{MAX_PACKETS, Quota};

/// The longest line, octets.
pub const MAX_LINE: usize = 2_048;
/// Offsets of one `STAMPS` line.
pub const STAMPS_PER_LINE: usize = 128;

/// A line that is no message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum MessageError {
    /// It is longer than [`MAX_LINE`], or no text.
    #[error("a line of the control connection is no text of at most {MAX_LINE} bytes")]
    NotText,
    /// It is text, and no message.
    #[error("a line of the control connection is no message of Qtcp")]
    Unknown,
}

/// What a sender is going to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TestOffer {
    /// The session of its packets.
    pub session: u64,
    /// Octets of a payload.
    pub size: u32,
    /// Calibration packets.
    pub calibration: u64,
    /// End of the measured phase.
    pub quota: Quota,
    /// Token rate, octets of payload per second.
    pub rate: u64,
    /// Token bucket depth, octets of payload.
    pub depth: u64,
    /// The service that the receiver is to reserve; `None` without a reservation.
    pub service: Option<QosService>,
}

/// A message of the sender.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SenderMessage {
    /// `TEST session=HEX size=N calibration=N packets=N rate=N depth=N`; with a time, `nanoseconds=N` in place of `packets=N`; with
    /// a reservation, `service=GR` or `service=CL` behind it.
    Test(TestOffer),
    /// `CALIBRATED`: all calibration packets were sent.
    Calibrated,
    /// `MEASURING`: the measured phase begins.
    Measuring,
    /// `STAMPS FIRST OFFSET...`: how much later than the program's own time stamp the kernel took its time stamp, in units of 100 ns,
    /// for consecutive packets from number FIRST; `-` if unknown.
    Stamps {
        /// The number of the first packet.
        first: u64,
        /// The offsets.
        offsets: Vec<Option<u32>>,
    },
    /// `DONE packets=N`, or `DONE`: the test is over.
    Done {
        /// How many packets were sent, without termination packets.
        packets: Option<u64>,
    },
    /// `AWAIT`, as the only message of a connection: this program sends no test, and waits for the calibration of the receiver's.
    Await,
}

/// A message of the receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReceiverMessage {
    /// `READY stamps=kernel` or `READY stamps=user`: the test can begin.
    Ready {
        /// Whether the sender is to send `STAMPS` before `DONE`.
        kernel_stamps: bool,
    },
    /// `BUSY`: another sender has the receiver.
    Busy,
    /// `REFUSED node=ADDR code=N value=N`: a node has refused the reservation. The receiver continues to request it.
    Refused(ErrorSpec),
    /// `CANNOT-RESERVE`: the receiver cannot make reservations.
    CannotReserve,
    /// `ENDED received=N`: the receiver has ended the test.
    Ended {
        /// Packets that it received.
        received: u64,
    },
    /// `CALIBRATED`, after `AWAIT`: the calibration of the test is complete.
    Calibrated,
}

impl fmt::Display for SenderMessage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Test(offer) => {
                let TestOffer { session, size, calibration, quota, rate, depth, service } = offer;
                let quota = match quota {
                    Quota::Packets(packets) => format!("packets={packets}"),
                    Quota::Time(time) => format!("nanoseconds={}", time.as_nanos()),
                };
                write!(
                    f,
                    "TEST session={session:016x} size={size} calibration={calibration} {quota} rate={rate} depth={depth}"
                )?;
                service.map_or(Ok(()), |service| write!(f, " {SERVICE}={}", service_name(service)))
            }
            Self::Calibrated => f.write_str("CALIBRATED"),
            Self::Measuring => f.write_str("MEASURING"),
            Self::Stamps { first, offsets } => {
                write!(f, "STAMPS {first}")?;
                offsets.iter().try_for_each(|offset| match offset {
                    Some(offset) => write!(f, " {offset}"),
                    None => f.write_str(" -"),
                })
            }
            Self::Done { packets: Some(packets) } => write!(f, "DONE packets={packets}"),
            Self::Done { packets: None } => f.write_str("DONE"),
            Self::Await => f.write_str("AWAIT"),
        }
    }
}

impl fmt::Display for ReceiverMessage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ready { kernel_stamps: true } => f.write_str("READY stamps=kernel"),
            Self::Ready { kernel_stamps: false } => f.write_str("READY stamps=user"),
            Self::Busy => f.write_str("BUSY"),
            Self::Refused(ErrorSpec { node, code, .. }) => {
                write!(f, "REFUSED node={node} code={} value={}", code.code(), code.value())
            }
            Self::CannotReserve => f.write_str("CANNOT-RESERVE"),
            Self::Ended { received } => write!(f, "ENDED received={received}"),
            Self::Calibrated => f.write_str("CALIBRATED"),
        }
    }
}

impl FromStr for SenderMessage {
    type Err = MessageError;

    fn from_str(line: &str) -> Result<Self, MessageError> {
        let mut words = line.split_ascii_whitespace();
        let message = match words.next() {
            Some("TEST") => offer(&words.collect::<Vec<_>>()).map(Self::Test),
            Some("CALIBRATED") => only(words, Self::Calibrated),
            Some("MEASURING") => only(words, Self::Measuring),
            Some("AWAIT") => only(words, Self::Await),
            Some("STAMPS") => stamps(words),
            Some("DONE") => match (words.next(), words.next()) {
                (None, _) => Some(Self::Done { packets: None }),
                (Some(word), None) => {
                    value(word, "packets").map(|packets| Self::Done { packets: Some(packets) })
                }
                (Some(_), Some(_)) => None,
            },
            _ => None,
        };
        message.ok_or(MessageError::Unknown)
    }
}

impl FromStr for ReceiverMessage {
    type Err = MessageError;

    fn from_str(line: &str) -> Result<Self, MessageError> {
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        match words[..] {
            ["READY"] | ["READY", "stamps=user"] => Ok(Self::Ready { kernel_stamps: false }),
            ["READY", "stamps=kernel"] => Ok(Self::Ready { kernel_stamps: true }),
            ["BUSY"] => Ok(Self::Busy),
            ["CALIBRATED"] => Ok(Self::Calibrated),
            ["CANNOT-RESERVE"] => Ok(Self::CannotReserve),
            ["REFUSED", node, code, text] => {
                refusal(node, code, text).map(Self::Refused).ok_or(MessageError::Unknown)
            }
            ["ENDED", word] => {
                value(word, "received").map(|received| Self::Ended { received }).ok_or(MessageError::Unknown)
            }
            _ => Err(MessageError::Unknown),
        }
    }
}

/// The key of the service.
const SERVICE: &str = "service";

/// The name of a service (Qtcp, option `-S`).
const fn service_name(service: QosService) -> &'static str {
    match service {
        QosService::Guaranteed => "GR",
        QosService::ControlledLoad => "CL",
    }
}

/// The service of `service=NAME`, of which there is at most one.
fn service(words: &[&str]) -> Option<Option<QosService>> {
    let mut names = words.iter().filter_map(|word| word.strip_prefix(SERVICE)?.strip_prefix('='));
    let services = [QosService::Guaranteed, QosService::ControlledLoad];
    match (names.next(), names.next()) {
        (None, _) => Some(None),
        (Some(name), None) => services.into_iter().find(|service| service_name(*service) == name).map(Some),
        (Some(_), Some(_)) => None,
    }
}

/// The error of `node=ADDR code=N value=N`.
fn refusal(node: &str, code: &str, text: &str) -> Option<ErrorSpec> {
    let node = node.strip_prefix("node=")?.parse().ok()?;
    let code = u8::try_from(value(code, "code")?).ok()?;
    let number = u16::try_from(value(text, "value")?).ok()?;
    Some(ErrorSpec::new(node, ErrorCode::new(code, number)))
}

/// The message, if no word is left.
fn only<'a>(mut words: impl Iterator<Item = &'a str>, message: SenderMessage) -> Option<SenderMessage> {
    words.next().is_none().then_some(message)
}

/// The number of `KEY=NUMBER`.
fn value(word: &str, key: &str) -> Option<u64> {
    number(word.strip_prefix(key)?.strip_prefix('=')?)
}

/// A decimal number without a sign.
fn number(digits: &str) -> Option<u64> {
    digits.bytes().all(|octet| octet.is_ascii_digit()).then(|| digits.parse().ok())?
}

fn offer(words: &[&str]) -> Option<TestOffer> {
    let find = |key: &str| words.iter().find_map(|word| value(word, key));
    let session = words.iter().find_map(|word| word.strip_prefix("session="))?;
    let is_hex = session.len() == 16 && session.bytes().all(|octet| octet.is_ascii_hexdigit());
    let quota = match (find("packets"), find("nanoseconds")) {
        (Some(packets), None) => Quota::Packets(packets),
        (None, Some(nanos)) => Quota::Time(Duration::from_nanos(i64::try_from(nanos).ok()?)),
        _ => return None,
    };
    Some(TestOffer {
        session: u64::from_str_radix(session, 16).ok().filter(|_| is_hex)?,
        size: u32::try_from(find("size")?).ok()?,
        calibration: find("calibration")?,
        quota,
        rate: find("rate")?,
        depth: find("depth")?,
        service: service(words)?,
    })
}

fn stamps<'a>(mut words: impl Iterator<Item = &'a str>) -> Option<SenderMessage> {
    let first = number(words.next()?).filter(|first| *first < MAX_PACKETS)?;
    let offset = |word: &str| match word {
        "-" => Some(None),
        digits => u32::try_from(number(digits)?).ok().map(Some),
    };
    let offsets: Vec<Option<u32>> = words.map(offset).collect::<Option<_>>()?;
    (offsets.len() <= STAMPS_PER_LINE).then_some(SenderMessage::Stamps { first, offsets })
}

/// Cuts octets into lines.
#[derive(Debug, Default)]
pub struct LineBuffer {
    octets: Vec<u8>,
}

impl LineBuffer {
    /// Adds octets as they came.
    pub fn push(&mut self, octets: &[u8]) {
        self.octets.extend_from_slice(octets);
    }

    /// The next whole line, without its end (LF, or CR and LF); `None` if there is none yet.
    ///
    /// # Errors
    /// [`MessageError::NotText`].
    pub fn next_line(&mut self) -> Result<Option<String>, MessageError> {
        let Some(end) = self.octets.iter().take(MAX_LINE + 1).position(|octet| *octet == b'\n') else {
            return if self.octets.len() > MAX_LINE { Err(MessageError::NotText) } else { Ok(None) };
        };
        let mut line: Vec<u8> = self.octets.drain(..=end).collect();
        line.truncate(end);
        if line.last() == Some(&b'\r') {
            line.pop();
        }
        String::from_utf8(line).map(Some).map_err(|_| MessageError::NotText)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const OFFER: TestOffer = TestOffer {
        session: 0x0123_4567_89ab_cdef,
        size: 64,
        calibration: 1_000,
        quota: Quota::Packets(2_048),
        rate: 3_000,
        depth: 64,
        service: None,
    };

    /// Each message is the documented line, and is read from it.
    #[test]
    fn messages_are_the_documented_lines() {
        let timed = TestOffer { quota: Quota::Time(Duration::from_secs(30)), ..OFFER };
        let reserved = TestOffer { service: Some(QosService::ControlledLoad), ..OFFER };
        let refused = ErrorSpec::new([198, 18, 0, 1].into(), ErrorCode::BANDWIDTH);
        for (message, line) in [
            (
                SenderMessage::Test(OFFER),
                "TEST session=0123456789abcdef size=64 calibration=1000 packets=2048 rate=3000 depth=64",
            ),
            (
                SenderMessage::Test(timed),
                "TEST session=0123456789abcdef size=64 calibration=1000 nanoseconds=30000000000 rate=3000 depth=64",
            ),
            (
                SenderMessage::Test(reserved),
                "TEST session=0123456789abcdef size=64 calibration=1000 packets=2048 rate=3000 depth=64 service=CL",
            ),
            (SenderMessage::Calibrated, "CALIBRATED"),
            (SenderMessage::Measuring, "MEASURING"),
            (SenderMessage::Stamps { first: 7, offsets: vec![Some(12), None, Some(0)] }, "STAMPS 7 12 - 0"),
            (SenderMessage::Done { packets: None }, "DONE"),
            (SenderMessage::Done { packets: Some(3) }, "DONE packets=3"),
            (SenderMessage::Await, "AWAIT"),
        ] {
            assert_eq!(message.to_string(), line);
            assert_eq!(line.parse(), Ok(message));
        }
        for (message, line) in [
            (ReceiverMessage::Ready { kernel_stamps: true }, "READY stamps=kernel"),
            (ReceiverMessage::Ready { kernel_stamps: false }, "READY stamps=user"),
            (ReceiverMessage::Busy, "BUSY"),
            (ReceiverMessage::Refused(refused), "REFUSED node=198.18.0.1 code=1 value=2"),
            (ReceiverMessage::CannotReserve, "CANNOT-RESERVE"),
            (ReceiverMessage::Ended { received: 9 }, "ENDED received=9"),
            (ReceiverMessage::Calibrated, "CALIBRATED"),
        ] {
            assert_eq!(message.to_string(), line);
            assert_eq!(line.parse(), Ok(message));
        }
        assert_eq!("READY".parse(), Ok(ReceiverMessage::Ready { kernel_stamps: false }));
    }

    /// Lines that are nearly a message are refused.
    #[test]
    fn other_lines_are_refused() {
        for line in [
            "",
            "done",
            "DONE packets=",
            "DONE packets=+3",
            "DONE packets=3 4",
            "CALIBRATED now",
            "TEST",
            "TEST session=1 size=64 calibration=0 packets=1 rate=1 depth=64",
            "TEST session=0123456789abcdef size=64 calibration=0 packets=1 nanoseconds=1 rate=1 depth=64",
            "TEST session=0123456789abcdef size=64 calibration=0 packets=1 rate=1 depth=64 service=BE",
            "TEST session=0123456789abcdef size=64 calibration=0 packets=1 rate=1 depth=64 service=CL service=CL",
            "STAMPS",
            "STAMPS 67108864 1",
            "STAMPS 1 x",
            "STAMPS 1 4294967296",
        ] {
            assert_eq!(line.parse::<SenderMessage>(), Err(MessageError::Unknown), "{line:?}");
        }
        for line in
            ["READY stamps=nic", "ENDED", "ENDED received=-1", "BUSY 1", "REFUSED node=a code=1 value=2"]
        {
            assert_eq!(line.parse::<ReceiverMessage>(), Err(MessageError::Unknown), "{line:?}");
        }
    }

    /// Lines are found wherever the stream is cut, and an endless one is refused.
    #[test]
    fn lines_are_cut_from_the_stream() {
        let mut buffer = LineBuffer::default();
        let mut lines = Vec::new();
        for octet in b"DONE\r\nENDED received=1\nrest" {
            buffer.push(&[*octet]);
            lines.extend(buffer.next_line().unwrap());
        }
        assert_eq!(lines, ["DONE", "ENDED received=1"]);
        let mut endless = LineBuffer::default();
        endless.push(&[b'x'; MAX_LINE]);
        assert_eq!(endless.next_line(), Ok(None));
        endless.push(b"x");
        assert_eq!(endless.next_line(), Err(MessageError::NotText));
        let mut binary = LineBuffer::default();
        binary.push(b"\xff\n");
        assert_eq!(binary.next_line(), Err(MessageError::NotText));
    }

    /// The longest line of time stamps fits a line.
    #[test]
    fn longest_stamps_fit() {
        let offsets = vec![Some(u32::MAX); STAMPS_PER_LINE];
        let line = SenderMessage::Stamps { first: MAX_PACKETS - 1, offsets }.to_string();
        assert!(line.len() < MAX_LINE, "{}", line.len());
        assert!(line.parse::<SenderMessage>().is_ok());
    }

    proptest! {
        /// No line causes a panic, and what is read is written back and read the same.
        #[test]
        fn any_line_is_read(line in "(TEST|STAMPS|DONE|READY|ENDED)?[ a-z0-9=-]{0,80}") {
            if let Ok(message) = line.parse::<SenderMessage>() {
                prop_assert_eq!(message.to_string().parse(), Ok(message));
            }
            if let Ok(message) = line.parse::<ReceiverMessage>() {
                prop_assert_eq!(message.to_string().parse(), Ok(message));
            }
        }
    }
}
