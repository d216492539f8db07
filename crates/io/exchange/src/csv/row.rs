//! The two kinds of tables, and a line of either.

/// Which table it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// A packet goes one way: two stamps.
    OneWay,
    /// It is reflected: four.
    FourStamps,
}

impl Shape {
    /// The names of its stamps, in order.
    pub const fn stamps(self) -> &'static [&'static str] {
        match self {
            Self::OneWay => &["sent_ns", "received_ns"],
            Self::FourStamps => &["t1_ns", "t2_ns", "t3_ns", "t4_ns"],
        }
    }

    /// The header line without the program's own stamps.
    pub fn header(self) -> String {
        format!("sequence,size,{}", self.stamps().join(","))
    }

    /// The header line with the program's own stamps.
    pub fn whole_header(self) -> String {
        let user: Vec<String> = self.stamps().iter().map(|name| format!("user_{name}")).collect();
        format!("{},{}", self.header(), user.join(","))
    }
}

/// A line of the table. Of a one-way table only the first two stamps are used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Row {
    /// Number of the packet.
    pub sequence: u64,
    /// Payload of UDP, octets.
    pub size: u32,
    /// The best stamps.
    pub stamps: [Option<i64>; 4],
    /// The program's own.
    pub user: [Option<i64>; 4],
}

impl Row {
    /// Whether the packet came back, as the fourth stamp shows.
    pub fn came_back(&self) -> bool {
        self.stamps[3].is_some() || self.user[3].is_some()
    }

    /// Whether there is a stamp of the responder.
    pub fn has_responder_stamp(&self) -> bool {
        self.responder_stamps().next().is_some()
    }

    /// The stamps of the responder.
    pub fn responder_stamps(&self) -> impl Iterator<Item = i64> {
        [self.stamps[1], self.stamps[2], self.user[1], self.user[2]].into_iter().flatten()
    }
}
