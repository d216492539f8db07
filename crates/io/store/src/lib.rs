//! Runs on disk.
//!
//! A run is a folder. While it is being measured it holds `manifest.json` and `packets.log`, an append-only file
//! of framed entries ([`LogWriter`], [`LogThread`]) from which everything acknowledged can be read after the
//! program was killed ([`recover`]). When it ends, `packets.parquet` is made of it under another name and renamed,
//! `measurement.json.gz` is put beside it, and `report.html` if it is requested. Only when all that is safe on the disk is
//! the log removed ([`NewRun::finish`]).
//!
//! [`Retention`] decides which runs expire. [`Run::remove`] and [`Runs::remove_expired`] remove only what romer has written.
//!
//! A benchmark's folder ([`BenchmarkRun`]) holds its plan and a log of its trials, each kept as it ends, and at the end
//! its document and page.
//!
//! Two promises are kept apart. An entry is *acknowledged* when the kernel has taken it with `write(2)`: from then
//! on it survives the death of this program, however sudden, because the page cache is the kernel's. It survives
//! the loss of power when it has been *synchronised* (`fdatasync(2)`), which happens once a second on a thread of
//! its own, never where packets are handled.
#![forbid(unsafe_code)]

mod benchmark;
mod calibration;
mod checksum;
pub mod decoding;
mod durable;
mod error;
mod frame;
mod log_thread;
pub mod memory;
mod parquet_rows;
mod reader;
mod removal;
mod run;
mod runs;
pub mod untrusted;
mod writer;

pub use benchmark::{BENCHMARK_FILE, BenchmarkRun};
pub use calibration::CalibrationFile;
pub use durable::put_bytes;
pub use error::StoreError;
pub use log_thread::{LogOutcome, LogSender, LogThread, Watermark};
pub use parquet_rows::{
    ColumnValues, Outcome, Outcomes, PACKETS_SCHEMA, PacketColumn, RowsFile, packet_columns, read_rows,
    write_rows,
};
pub use reader::{LogFrame, LogReader, Recovered, recover};
pub use removal::{Candidate, Retention, remove_files};
pub use run::{
    EMULATED_FILE, Finished, Location, MANIFEST_FILE, MEASUREMENT_FILE, NewRun, Rows, RowsSource, Run, State,
    document_of, measurement_text,
};
pub use runs::{Listed, Runs};
pub use writer::{Acknowledged, LogEnd, LogFile, LogWriter, Sink};
