//! On what a benchmark ran, as its document has it.

use romer_host::host_info;
use romer_record::benchmark::Setup;

use crate::frames;
use crate::numbers::real;
use crate::options::BenchOptions;
use crate::testbed::TestBed;

/// The options and the host.
pub(crate) fn setup<B: TestBed>(options: &BenchOptions, bed: &B) -> Setup {
    let cases = options.cases.iter().map(|case| (case.name.clone(), case.command.clone()));
    Setup {
        tx: options.tx.to_string(),
        rx: options.rx.to_string(),
        source: options.source.to_string(),
        destination: options.destination.to_string(),
        next_hop: bed.next_hop().to_string(),
        line_rate_bps: real(options.line.bits()),
        streams: options.streams.iter().map(frames::stream_setup).collect(),
        trial_ns: options.procedure.length().as_nanos(),
        settle_ns: options.settle.as_nanos(),
        repeats: options.repeats,
        cases: cases.collect(),
        seed: options.seed.0,
        software: env!("CARGO_PKG_VERSION").into(),
        kernel: host_info::kernel_release().unwrap_or_default(),
        rate_layer: "l1".into(),
        probes: bed.probes(),
    }
}
