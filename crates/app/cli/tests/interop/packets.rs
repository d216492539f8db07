//! The packet log in the programs that its users have: DuckDB, pandas, polars and pyarrow.

use std::path::Path;
use std::process::Command;

use romer_record::document::ProbeDirection;
use romer_units::Timestamp;
use serde_json::{Value, json};

use crate::common::lab::{FAR, Lab};
use crate::common::process;
use crate::common::{at, repository};

/// Each library reads, by its defaults, the times to the nanosecond, directions and fates as text, and delays as whole numbers, though
/// the columns have nulls. The metadata describes every column.
#[test]
fn libraries_read_exact_values() {
    let made = process::run(Command::new(repository().join("scripts/venv")).arg("data"));
    assert_eq!(made.code, Some(0), "scripts/venv data: {made:?}");
    let lab = Lab::path();
    let _responder = lab.respond(&[]);
    let run = lab.measure(&["--direction", "both", "--count", "20", "--interval", "5ms", FAR]);
    let rows = romer_store::Run::open(&run.folder()).unwrap().rows().unwrap().streams.remove(&0).unwrap();
    let departures: Vec<Option<i64>> =
        rows.iter().map(|row| row.t1.kernel.map(Timestamp::as_nanos)).collect();
    let directions: Vec<&str> = rows
        .iter()
        .map(|row| if row.way == ProbeDirection::Forward { "forward" } else { "reverse" })
        .collect();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/interop/packets.py");
    let mut command = Command::new(repository().join(".tools/venv-data/bin/python"));
    command.arg("-B").arg(script).arg(run.folder().join("packets.parquet"));
    let read = process::run(&mut command).with_code(0).stdout;
    let read: Vec<Value> = read.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let expected = [
        ("pandas", "datetime64[ns, UTC]"),
        ("duckdb", "TIMESTAMPTZ_NS"),
        ("polars", "Datetime(time_unit='ns', time_zone='UTC')"),
        ("pyarrow", "timestamp[ns, tz=UTC]"),
    ];
    assert_eq!(read.len(), expected.len());
    for (read, (library, types)) in read.iter().zip(expected) {
        assert_eq!((at(read, "/library"), at(read, "/types")), (&json!(library), &json!(types)));
        assert_eq!(at(read, "/t1_kernel_ns"), &json!(departures), "{library}");
        assert_eq!(at(read, "/direction"), &json!(directions), "{library}");
        let fates = at(read, "/fate").as_array().unwrap();
        let delays = at(read, "/delay_ns").as_array().unwrap();
        assert_eq!((fates.len(), delays.len()), (rows.len(), rows.len()), "{library}");
        for (fate, delay) in fates.iter().zip(delays) {
            assert!(fate != "arrived" || delay.as_i64().is_some_and(|delay| delay > 0), "{library}: {delay}");
        }
    }
    // No library rounds what another reads whole.
    assert!(read.iter().all(|one| at(one, "/delay_ns") == at(&read[0], "/delay_ns")));
}
