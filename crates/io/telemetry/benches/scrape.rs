//! How long a scrape of many targets takes, and how large it is: `cargo bench -p romer-telemetry`.
#![expect(clippy::print_stdout, reason = "the table is the result")]

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::time::{Duration, Instant};

use romer_telemetry::{Format, MetricsServer, ProbeMetrics, Reference, Registry, Way};

/// Targets of the registry.
const TARGETS: u32 = 200;
/// Values in each histogram.
const VALUES: u32 = 10_000;
/// Scrapes of each format, of which the median is stated.
const SCRAPES: usize = 21;

fn main() -> io::Result<()> {
    let registry = Registry::new();
    fill(&registry);
    let server = MetricsServer::start((Ipv4Addr::LOCALHOST, 0).into(), &registry)?;
    println!("# Scrapes of {TARGETS} targets\n");
    println!(
        "Six histograms a target, each of {VALUES} values over three decades. Median of {SCRAPES} scrapes over loopback.\n"
    );
    println!("| format | time, ms | size, kB |\n| --- | ---: | ---: |");
    for (name, format) in [
        ("Prometheus text", Format::Text),
        ("OpenMetrics text", Format::OpenMetrics),
        ("protobuf, native histograms", Format::Protobuf),
    ] {
        let scrapes: io::Result<Vec<_>> = (0..SCRAPES).map(|_| scrape(&server, format)).collect();
        let mut scrapes = scrapes?;
        scrapes.sort_unstable();
        let (time, octets) = scrapes[SCRAPES / 2];
        println!("| {name} | {:.1} | {} |", time.as_secs_f64() * 1e3, octets / 1_000);
    }
    Ok(())
}

/// Histograms that are as wide as those of busy paths.
fn fill(registry: &Registry) {
    let metrics = ProbeMetrics::new(registry);
    for number in 0..TARGETS {
        let target = metrics.target(&format!("host-{number}.example.net"));
        target.add_sent(u64::from(VALUES) + 10);
        target.add_received(VALUES.into());
        target.add_lost(Way::RoundTrip, 10);
        let one_way = [Way::Forward, Way::Reverse].map(|way| target.one_way(way, Reference::Minimum));
        for value in 0..VALUES {
            #[expect(clippy::cast_possible_truncation, reason = "below an hour")]
            let nanos = 10_f64.powf(5.0 + 3.0 * f64::from(value) / f64::from(VALUES)).round() as i64;
            target.observe_round_trip(nanos);
            one_way.iter().for_each(|histogram| histogram.observe(nanos / 2));
            for way in [Way::RoundTrip, Way::Forward, Way::Reverse] {
                target.observe_variation(way, nanos / 10);
            }
        }
    }
}

fn scrape(server: &MetricsServer, format: Format) -> io::Result<(Duration, usize)> {
    let begin = Instant::now();
    let mut connection = TcpStream::connect(server.address())?;
    write!(connection, "GET /metrics HTTP/1.1\r\nAccept: {}\r\n\r\n", format.content_type())?;
    let mut reply = Vec::new();
    connection.read_to_end(&mut reply)?;
    Ok((begin.elapsed(), reply.len()))
}
