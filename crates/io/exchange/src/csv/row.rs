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
