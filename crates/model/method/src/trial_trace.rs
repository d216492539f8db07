//! What was seen of a trial: what left and what came.

use romer_units::{Duration, LineRate};

/// A frame that was given to the interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SentFrame {
    /// When it was due, nanoseconds after the trial's beginning.
    pub due: i64,
    /// When it was given, on the same scale.
    pub sent: i64,
    /// Octets with check sequence.
    pub octets: u32,
}

/// A test frame that came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReceivedFrame {
    /// When the kernel had it, nanoseconds after the trial's beginning.
    pub received: i64,
    /// When it was sent, by its own mark.
    pub sent: i64,
    /// Number in its stream.
    pub sequence: u32,
    /// Its stream.
    pub stream: u16,
    /// Octets with check sequence, without a VLAN tag.
    pub octets: u16,
    /// TOS or traffic class.
    pub tos: u8,
    /// What its VLAN tag says (priority, drop eligibility, VLAN: as on the wire), or [`UNTAGGED`].
    pub tag: u16,
    /// Its payload is as it was sent.
    pub intact: bool,
    /// Its headers are of the kind that it was sent with, so that length and markings can be compared.
    pub comparable: bool,
}

/// A frame without a VLAN tag. No tag has that: VLAN 4095 is reserved (IEEE 802.1Q table 9-2).
pub const UNTAGGED: u16 = u16::MAX;

/// What is known of a stream before the trial.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StreamInfo {
    /// Its name.
    pub name: String,
    /// TOS or traffic class that it is sent with.
    pub tos: u8,
    /// What its tag says, as [`ReceivedFrame::tag`], or [`UNTAGGED`].
    pub tag: u16,
    /// Octets of a frame around its payload: headers and check sequence.
    pub overhead: u32,
    /// The device is to drop all of it, so that what does not come is no loss.
    pub expect_drop: bool,
}

/// All that was seen of a trial.
#[derive(Clone, Debug, Default)]
pub struct TrialTrace {
    /// The streams.
    pub streams: Vec<StreamInfo>,
    /// What left, by stream, in order of sequence.
    pub left: Vec<Vec<SentFrame>>,
    /// Which flow (addresses and ports) of its stream each of these is of; empty for a stream that is one flow.
    pub flows: Vec<Vec<u64>>,
    /// Frames that were due, by stream.
    pub intended: Vec<u64>,
    /// Octets on the line and octets of payload of these.
    pub intended_octets: [u64; 2],
    /// What came, in order of arrival.
    pub came: Vec<ReceivedFrame>,
    /// How long was to be sent.
    pub length: Duration,
    /// Until when what came was taken in, from the beginning, at the least; `None` where that is not known.
    pub listened: Option<Duration>,
    /// The line.
    pub line: Option<LineRate>,
    /// The line, where frames take their time on it at both ends.
    pub real_line: Option<LineRate>,
    /// What is taken out of every latency: the tester's own part, where that is wanted.
    pub baseline: Duration,
    /// Frames of the trial that the tester dropped unread, at the least and at the most.
    pub unread: [u64; 2],
    /// Frames of the trial that came with their test data damaged, so that nobody knows which they are: those are lost as well.
    pub damaged: u64,
    /// In rates, only what came in the time of sending counts, though latencies may just vary: a scheduler is judged by them.
    pub in_time_only: bool,
}

/// When the first copy of each frame came, by stream and sequence; `None`: never.
pub(crate) type FirstArrivals = Vec<Vec<Option<i64>>>;
