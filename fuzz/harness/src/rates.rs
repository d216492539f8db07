//! Tables of the rate of a link.

use romer_exchange::rates::read;

use crate::{Seed, assert_message};

/// The longest message.
const LONGEST_MESSAGE: usize = 1_000;

pub(crate) fn run(octets: &[u8]) {
    match read(octets) {
        Ok(table) => {
            assert!(table.steps.len() >= 2 && table.steps[0].at_ns == 0);
            assert!(table.steps.is_sorted_by(|a, b| a.at_ns < b.at_ns), "{table:?}");
            assert!(table.steps.iter().all(|step| step.at_ns < table.duration_ns), "{table:?}");
        }
        Err(fault) => assert_message(&fault, LONGEST_MESSAGE),
    }
}

pub(crate) fn seeds() -> Vec<Seed> {
    [
        ("empty", ""),
        ("seconds", "time_s,rate_bit_per_s\n0,12000000\n0.5,0\n2,8500000\n"),
        ("milliseconds", "rate_mbit_per_s,time_ms\r\n12,7000\r\n0,7500\r\n8.5,9000"),
        ("comment", "# a link\ntime_s,rate_kbit_per_s\n-1,1.2e4\n\n1,8500\n"),
        ("one_row", "time_s,rate_bit_per_s\n0,1\n"),
        ("unknown_unit", "time_s,rate_gbit_per_s\n0,1\n"),
        ("three_columns", "time_s,rate_bit_per_s,cell\n0,1,2\n"),
        ("backwards", "time_s,rate_bit_per_s\n1,1\n0,1\n"),
        ("infinite", "time_s,rate_bit_per_s\n0,inf\n1,1\n"),
        ("far", "time_s,rate_bit_per_s\n-1e300,1\n1e300,1\n"),
        ("small", "time_s,rate_bit_per_s\n0,1e-9\n1e-9,0\n"),
        ("negative", "time_s,rate_bit_per_s\n0,1\n1,-1\n"),
    ]
    .map(|(name, text)| Seed::new(name, text))
    .into()
}
