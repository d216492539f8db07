//! Qtcp's files: `.raw` and `.log`, and the `.sta` beside them.

use romer_exchange::qtcp::{Options, examine, read, sta};

use crate::{Seed, assert_message};

/// The longest message: what was written is cut before it is shown.
const LONGEST_MESSAGE: usize = 1_000;
/// Octets of the shortest record: five fields, four colons, a line end.
const SHORTEST_RECORD: usize = 10;

pub(crate) fn run(octets: &[u8]) {
    for (any_size, trust_latency) in [(false, false), (true, true)] {
        let options = Options { any_size, trust_latency };
        let mut entries = 0;
        let examined = examine(octets, options, |_| {
            entries += 1;
            Ok(())
        });
        match examined {
            Ok(examined) => {
                assert!(
                    entries <= octets.len() / SHORTEST_RECORD + 1,
                    "{entries} of {} octets",
                    octets.len()
                );
                // However many are missing, they are counted without going through them.
                let lost = examined.lost_count();
                assert!(lost > 1_000_000 || examined.lost().count() as u64 == lost);
            }
            Err(fault) => assert_message(&fault, LONGEST_MESSAGE),
        }
        match read(octets, options, |_| Ok(())) {
            Ok(found) => assert_eq!(found.entries.len(), entries),
            Err(fault) => assert_message(&fault, LONGEST_MESSAGE),
        }
    }
    let Ok(text) = core::str::from_utf8(octets) else { return };
    match sta::File::read("run.sta", text) {
        Ok(file) => {
            for message in sta::VariableTable::from_files(&[file]).map(|table| table.csv()).into_iter() {
                assert!(message.len() <= 4 * octets.len() + 4_096, "{} octets", message.len());
            }
        }
        Err((line, why)) => {
            assert!(line > 0);
            assert_message(&why, LONGEST_MESSAGE);
        }
    }
}

pub(crate) fn seeds() -> Vec<Seed> {
    [
        ("empty", ""),
        ("raw", "1000:1030:30:64:0\n1100:1190:90:64:1\n1200:1260:60:64:2\n"),
        ("raw_with_a_gap", "1000:1030:30:64:0\n1200:1260:60:64:2000\n"),
        ("raw_with_a_huge_gap", "1000:1030:30:64:0\n1200:1260:60:64:4000000000\n"),
        ("raw_that_wraps", "1000:1030:30:64:4294967295\n1200:1260:60:64:0\n"),
        ("raw_with_a_dummy", "1000:1030:30:64:0\n0:0:30:64:1\n1200:1260:60:64:2\n"),
        ("raw_too_small", "1000:1030:30:12:0\n"),
        ("raw_mismatch", "1000:1030:31:64:0\n"),
        ("raw_zeros", "1000:1030:30:64:0\n\0\0\0\0\0\0\0\0"),
        ("raw_cut", "1000:1030:30:64:0\n1200:1260:6"),
        ("raw_far", "9223372036854775807:0:-9223372036854775807:64:0\n"),
        ("raw_returns", "1000:1030:30:64:0\r\n1100:1190:90:64:1\r\n"),
        ("two_runs", "1000:1030:30:64:0\n1100:1190:90:64:1\n1200:1260:60:64:0\n1300:1360:60:64:1\n"),
        ("sta", "Packets sent: 1000\nPackets received: 990\nPackets lost: 10\nLost packet: 7\n"),
        ("sta_key_twice", "Duration: 1\nDuration: 2\n"),
        ("sta_control_characters", "\u{1b}[31m: \u{7}\n"),
        ("sta_key_of_digits", "12: 13\n"),
    ]
    .map(|(name, text)| Seed::new(name, text))
    .into()
}
