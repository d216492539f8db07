//! Tables of packets (CSV), as any program may write them.

use romer_exchange::csv::Reader;

use crate::{Seed, assert_message};

/// The longest message: what was written is cut before it is shown.
const LONGEST_MESSAGE: usize = 1_000;
/// Octets of the shortest row: two fields, a comma, a line end.
const SHORTEST_ROW: usize = 4;

pub(crate) fn run(octets: &[u8]) {
    let reader = match Reader::new(octets) {
        Ok(reader) => reader,
        Err(fault) => return assert_message(&fault, LONGEST_MESSAGE),
    };
    let mut rows = 0;
    for row in reader {
        match row {
            Ok(_) => rows += 1,
            Err(fault) => return assert_message(&fault, LONGEST_MESSAGE),
        }
    }
    assert!(rows <= octets.len() / SHORTEST_ROW, "{rows} rows of {} octets", octets.len());
}

pub(crate) fn seeds() -> Vec<Seed> {
    let round_trips = "sequence,size,t1_ns,t2_ns,t3_ns,t4_ns\n";
    let one_way = "sequence,size,sent_ns,received_ns\n";
    let table = |header: &str, rows: &str| format!("{header}{rows}");
    [
        ("empty", String::new()),
        ("header_alone", round_trips.into()),
        ("round_trips", table(round_trips, "0,44,1000,2000,2100,3000\n1,44,2000,,,\n")),
        ("one_way", table(one_way, "0,160,1000,21000\n1,160,2000,\n")),
        ("repeated_numbers", table(one_way, &"7,160,1000,21000\n".repeat(50))),
        ("wrap_at_16_bits", table(one_way, "65535,160,1000,21000\n0,160,2000,22000\n")),
        ("wrap_at_32_bits", table(one_way, "4294967295,160,1000,21000\n0,160,2000,22000\n")),
        ("numbers_of_64_bits", table(one_way, "18446744073709551615,160,1000,21000\n0,160,2000,22000\n")),
        ("stamps_of_zero", table(round_trips, "0,44,1000,0,0,3000\n1,44,2000,-1,-1,4000\n")),
        ("stamps_at_the_edge", table(one_way, "0,160,4611686018427387903,-4611686018427387903\n")),
        ("stamps_beyond", table(one_way, "0,160,9223372036854775807,-9223372036854775808\n")),
        (
            "fates",
            table("sequence,size,sent_ns,received_ns,fate\n", "0,160,1000,,in-flight\n1,160,1000,,unread\n"),
        ),
        ("quoted", table(one_way, "\"0\",\"160\",\"1000\",\"21000\"\n")),
        ("semicolons", "sequence;size;sent_ns;received_ns\n0;160;1000;21000\n".into()),
        ("returns", table(one_way, "0,160,1000,21000\r1,160,1000,21000\r\n")),
        ("byte_order_mark", table("\u{feff}sequence,size,sent_ns,received_ns\n", "0,160,1000,21000")),
        ("without_line_end", table(one_way, "0,160,1000,21000\n1,160,2000,2")),
        ("column_of_escapes", "sequence,size,sent_ns,received_ns,\u{1b}[31m\n0,1,2,3,4\n".into()),
        ("many_columns", format!("{}\n{}\n", "a,".repeat(300), "1,".repeat(300))),
        (
            "user_stamps",
            "sequence,size,sent_ns,received_ns,user_sent_ns,user_received_ns\n0,1,2,3,4,5\n".into(),
        ),
    ]
    .map(|(name, text)| Seed::new(name, text))
    .into()
}
