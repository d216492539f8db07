//! What is to be tested.

use std::collections::BTreeMap;
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use romer_method::Frames;
use romer_method::campaign::Procedure;
use romer_method::policing::Profile;
use romer_method::schedule::Pace;
use romer_port::PortName;
use romer_record::warning::BenchmarkWarning;
use romer_units::random::Seed;
use romer_units::{Dscp, Duration, Ecn, FrameSize, LineRate};
use romer_wire::ethernet::{MacAddress, Tag};

pub use romer_record::benchmark::StreamProtocol as Protocol;

pub use crate::claims::{Anomaly, Claims, Field, MarkingClaim};

/// The procedure that tests the tester itself.
pub(crate) const SELF_TEST: &str = "self-test";

/// Addresses that follow one another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AddressRange {
    first: IpAddr,
    last: IpAddr,
}

impl AddressRange {
    /// From one to another of the same version of IP, both included: 65,536 at the most. `None` where that cannot be.
    pub fn new(first: IpAddr, last: IpAddr) -> Option<Self> {
        let width = match (first, last) {
            (IpAddr::V4(first), IpAddr::V4(last)) => u128::from(last.to_bits().checked_sub(first.to_bits())?),
            (IpAddr::V6(first), IpAddr::V6(last)) => last.to_bits().checked_sub(first.to_bits())?,
            _ => return None,
        };
        (width < 1 << 16).then_some(Self { first, last })
    }

    /// The first of them.
    pub const fn first(&self) -> IpAddr {
        self.first
    }

    /// How many there are.
    pub fn count(&self) -> u32 {
        let width = match (self.first, self.last) {
            (IpAddr::V4(first), IpAddr::V4(last)) => u128::from(last.to_bits() - first.to_bits()),
            (IpAddr::V6(first), IpAddr::V6(last)) => last.to_bits() - first.to_bits(),
            _ => 0,
        };
        u32::try_from(width).unwrap_or(0) + 1
    }

    /// The address of a frame, each the next one of the range.
    pub fn nth(&self, sequence: u32) -> IpAddr {
        let further = sequence % self.count();
        match self.first {
            IpAddr::V4(first) => IpAddr::V4(Ipv4Addr::from_bits(first.to_bits() + further)),
            IpAddr::V6(first) => IpAddr::V6(Ipv6Addr::from_bits(first.to_bits() + u128::from(further))),
        }
    }

    /// Whether this is one of them.
    pub fn contains(&self, address: IpAddr) -> bool {
        address.is_ipv4() == self.first.is_ipv4() && (self.first..=self.last).contains(&address)
    }
}

impl fmt::Display for AddressRange {
    /// `FIRST`, or `FIRST-LAST`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.first == self.last {
            return write!(f, "{}", self.first);
        }
        write!(f, "{}-{}", self.first, self.last)
    }
}

impl From<IpAddr> for AddressRange {
    fn from(one: IpAddr) -> Self {
        Self { first: one, last: one }
    }
}

/// A stream of test frames.
#[derive(Clone, Debug, PartialEq)]
pub struct StreamOptions {
    /// Its name.
    pub name: String,
    /// Its share of the load.
    pub share: f64,
    /// What is above IP.
    pub protocol: Protocol,
    /// Code point.
    pub dscp: Dscp,
    /// ECN bits.
    pub ecn: Ecn,
    /// VLAN tag.
    pub tag: Option<Tag>,
    /// Source addresses, each frame the next one of the range, where it is not that of all.
    pub source: Option<AddressRange>,
    /// Destination addresses, likewise.
    pub destination: Option<AddressRange>,
    /// Source ports, each frame the next one of the range.
    pub source_ports: std::ops::RangeInclusive<u16>,
    /// Destination ports, likewise.
    pub destination_ports: std::ops::RangeInclusive<u16>,
    /// Its frames, where they are not those of the trial.
    pub frames: Option<Frames>,
    /// How they follow one another.
    pub pace: Pace,
    /// Its weight among the classes of a scheduler.
    pub weight: f64,
    /// What a policer lets through of it, where it has a bucket of its own.
    pub profile: Option<Profile>,
    /// The device is to drop all of it.
    pub expect_drop: bool,
}

impl StreamOptions {
    /// Octets of its frames that are not of their IP packets: header, tag and check sequence.
    pub(crate) const fn around_packets(&self) -> u32 {
        if self.tag.is_some() { 22 } else { 18 }
    }
}

impl Default for StreamOptions {
    fn default() -> Self {
        Self {
            name: "0".into(),
            share: 1.0,
            protocol: Protocol::Udp,
            dscp: Dscp::DEFAULT,
            ecn: Ecn::of_tos(0),
            tag: None,
            source: None,
            destination: None,
            source_ports: 50_000..=50_000,
            // The port of RFC 2544's own test frames, discard, would have hosts answer; nobody listens here either.
            destination_ports: 50_001..=50_001,
            frames: None,
            pace: Pace::Constant,
            weight: 1.0,
            profile: None,
            expect_drop: false,
        }
    }
}

/// A state of the device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Case {
    /// Its name.
    pub name: String,
    /// What brings the device there, for a shell; `None`: it is as it is.
    pub command: Option<String>,
}

/// All of a benchmark.
#[derive(Clone, Debug)]
pub struct BenchOptions {
    /// Its name, for the document.
    pub name: &'static str,
    /// Where frames are sent.
    pub tx: PortName,
    /// Where they are taken in.
    pub rx: PortName,
    /// Source address of frames.
    pub source: IpAddr,
    /// Their destination.
    pub destination: IpAddr,
    /// Where frames go on the first link; `None`: it is asked for.
    pub next_hop: Option<MacAddress>,
    /// What loads are shares of.
    pub line: LineRate,
    /// The interfaces are of software (veth), so that frames take no time on the line.
    pub virtual_line: bool,
    /// The streams, at least one.
    pub streams: Vec<StreamOptions>,
    /// What the frames are, each in turn.
    pub frames: Vec<Frames>,
    /// Sizes that were asked for and that [`BenchOptions::fit_sizes`] made larger.
    pub too_small: Vec<FrameSize>,
    /// The question to answer.
    pub procedure: Procedure,
    /// By which criterion, in words.
    pub criterion: String,
    /// How often.
    pub repeats: u32,
    /// How long is waited before a trial, and after it for frames that are still under way.
    pub settle: Duration,
    /// How long a device that has stopped answering is waited for.
    pub patience: Duration,
    /// How long the command of a case, or the one that resets the device, may take.
    pub case_time: Duration,
    /// The cases, at least one.
    pub cases: Vec<Case>,
    /// What resets the device, for a shell, where that is what is to be found out.
    pub reset: Option<String>,
    /// What the device is held to.
    pub claims: Claims,
    /// What is known of the device.
    pub labels: BTreeMap<String, String>,
    /// How long each test of the tester itself sends before the benchmark; `None`: there is none.
    pub self_test: Option<Duration>,
    /// The tester's own part, as its test has found it, is taken out of every latency.
    pub subtract_baseline: bool,
    /// The number of a trial, from 1, whose frames are kept as a capture.
    pub capture: Option<u64>,
    /// Seed of the order, of sizes and gaps.
    pub seed: Seed,
    /// What is to be known of what was asked for before any trial is made, in words.
    pub notes: Vec<BenchmarkWarning>,
}

impl BenchOptions {
    /// The seed of a trial's sizes and gaps: of each repeat its own, and the same in all cases, which are compared.
    pub const fn seed_of(&self, repeat: u32) -> Seed {
        let [a, b, c, d, e, f] = self.seed.0;
        Seed([a, b, c, d, e.wrapping_add(repeat), f])
    }

    /// Streams that send evenly, where there are several of them and the device is held to a way of serving them: who of them
    /// finds a full queue is then decided by the phases between them rather than by the device.
    fn in_step(&self) -> Vec<&str> {
        let even = self.streams.iter().filter(|stream| stream.pace == Pace::Constant);
        let even: Vec<&str> = even.map(|stream| stream.name.as_str()).collect();
        if self.claims.scheduler.is_some() && even.len() > 1 { even } else { Vec::new() }
    }

    /// The warning of those, where there are any.
    pub fn in_step_warning(&self) -> Option<BenchmarkWarning> {
        let streams: Vec<String> = self.in_step().into_iter().map(Into::into).collect();
        (!streams.is_empty()).then_some(BenchmarkWarning::StreamsInStep { streams })
    }

    /// The line, where frames really take their time on it; `None` for interfaces of software.
    pub const fn real_line(&self) -> Option<LineRate> {
        if self.virtual_line { None } else { Some(self.line) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_of_addresses_is_gone_through_again_and_again() {
        let range =
            |first: &str, last: &str| AddressRange::new(first.parse().unwrap(), last.parse().unwrap());
        let four = range("198.19.0.254", "198.19.1.1").unwrap();
        let all: Vec<String> = (0..5).map(|frame| four.nth(frame).to_string()).collect();
        assert_eq!(all, ["198.19.0.254", "198.19.0.255", "198.19.1.0", "198.19.1.1", "198.19.0.254"]);
        assert!(
            four.contains("198.19.1.0".parse().unwrap()) && !four.contains("198.19.1.2".parse().unwrap())
        );
        assert!(!four.contains("2001:2::1".parse().unwrap()));
        assert_eq!(range("2001:2::ffff", "2001:2::1:1").unwrap().nth(2).to_string(), "2001:2::1:1");
        for (first, last) in
            [("198.19.0.2", "198.19.0.1"), ("198.0.0.0", "198.2.0.0"), ("198.19.0.1", "2001:2::1")]
        {
            assert_eq!(range(first, last), None);
        }
    }
}
