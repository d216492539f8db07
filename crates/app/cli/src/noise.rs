//! `romer noise`: cross traffic of a stated rate, and its sink.

use std::path::Path;
use std::time::SystemTime;

use romer_endpoint::noise::{self, NoiseOptions, NoiseReceived, NoiseSent, PORT};
use romer_host::clock::rfc3339;
use romer_record::noise::{NOISE_SINK, NOISE_SOURCE, NoiseSink, NoiseSource};
use romer_record::{Exit, SOFTWARE};
use romer_report::count;
use romer_traffic::{IpVersion, Noise, NoiseError, NoiseRequest};
use romer_units::{Duration, Layer, Rate, counted};

use crate::args::{NoiseArgs, NoiseCommand, SinkArgs, SourceArgs};
use crate::failure::Failure;
use crate::measure::{family, random_seed};
use crate::{after, confinement, output, signals, traffic};

/// Sends or receives, and gives the exit code.
pub(crate) fn run(arguments: &NoiseArgs) -> Result<Exit, Failure> {
    match &arguments.command {
        NoiseCommand::Sink(arguments) => sink(arguments),
        NoiseCommand::Source(arguments) => source(arguments),
    }
}

fn sink(arguments: &SinkArgs) -> Result<Exit, Failure> {
    arguments.output.check()?;
    let ending = signals::ending()?;
    let sink = noise::NoiseSink::bind(arguments.port, arguments.layer)?;
    confinement::start(&confinement::of_end([arguments.output.json.as_deref().map(Path::new)]));
    if !arguments.output.is_silent() {
        output::print(&format!("receiving: UDP port {}\n", sink.port()));
    }
    let started = rfc3339(SystemTime::now());
    let received = sink.count(arguments.duration, &|| ending.has_come())?;
    let document = received_document(&received, sink.port(), started, arguments.layer);
    arguments.output.write(&received_text(&document), &document)?;
    Ok(ending.exit())
}

fn source(arguments: &SourceArgs) -> Result<Exit, Failure> {
    arguments.output.check()?;
    let trace = arguments.mix.trace_file().map(traffic::read).transpose()?;
    let family = family(arguments.ipv4, arguments.ipv6);
    let port = arguments.target.port.unwrap_or(PORT);
    let addresses = arguments.target.addresses(family, port)?;
    let target = *addresses.first().ok_or_else(|| Failure::own("a name has no address (noise)"))?;
    let seed = arguments.seed.unwrap_or_else(random_seed);
    let request = NoiseRequest {
        mix: arguments.mix.clone(),
        trace,
        rate: arguments.rate,
        layer: arguments.layer,
        version: IpVersion::from_address(target),
        seed,
    };
    let packets = Noise::new(&request).map_err(|error| invalid(&error))?;
    let options = NoiseOptions {
        target,
        dscp: arguments.dscp,
        layer: arguments.layer,
        duration: arguments.duration,
        seed,
    };
    let ending = signals::ending()?;
    if let Some(test) = &arguments.after
        && !after::wait(test, family, arguments.output.is_silent(), &|| ending.has_come())?
    {
        return Ok(ending.exit());
    }
    if !arguments.output.is_silent() {
        output::print(&format!("sending: {} to {target}\n", rate_text(arguments.rate)));
    }
    confinement::start(&confinement::of_end([arguments.output.json.as_deref().map(Path::new)]));
    let started = rfc3339(SystemTime::now());
    let departures = packets.map(|departure| (departure.offset, departure.size));
    let sent = noise::send(&options, departures, &|| ending.has_come())?;
    let document = NoiseSource {
        target: arguments.target.text.clone(),
        mix: arguments.mix.to_string(),
        rate: arguments.rate.to_string(),
        started,
        ..sent_document(&options, &sent)
    };
    arguments.output.write(&sent_text(&document), &document)?;
    if sent.packets == 0 && sent.refused > 0 {
        return Err(Failure::environment(format!(
            "no packet was sent ({target}): this host refused all {}; check its route to the target (ip route get) and its packet \
             filter",
            sent.refused
        )));
    }
    Ok(ending.exit())
}

/// A mix that cannot be is a fault of the option, or of the file that it names.
fn invalid(error: &NoiseError) -> Failure {
    let text = format!("invalid cross traffic (--mix): {error}");
    match error {
        NoiseError::NoSizes => Failure::with_exit(Exit::BadData, text),
        NoiseError::NoMix { .. } | NoiseError::NoOctets { .. } => Failure::usage(text),
    }
}

/// A mean over a time; `None` where there was none.
#[expect(clippy::cast_precision_loss, reason = "a rate for people, of counts far below 2^53")]
fn per_second(count: u64, time: Duration) -> Option<f64> {
    (time > Duration::ZERO).then(|| count as f64 / time.as_secs_f64())
}

fn sent_document(options: &NoiseOptions, sent: &NoiseSent) -> NoiseSource {
    NoiseSource {
        schema: NOISE_SOURCE.into(),
        software: SOFTWARE.into(),
        target: String::new(),
        address: options.target.to_string(),
        started: String::new(),
        mix: String::new(),
        rate: String::new(),
        layer: options.layer.to_string(),
        dscp: options.dscp.value(),
        seed: options.seed.0,
        duration_ns: sent.duration.as_nanos(),
        packets: sent.packets,
        octets: sent.octets,
        payload_octets: sent.payload_octets,
        refused: sent.refused,
        skipped: sent.skipped,
        bits_per_second: per_second(sent.octets.saturating_mul(8), sent.duration),
        packets_per_second: per_second(sent.packets, sent.duration),
        partial: sent.partial,
    }
}

fn received_document(received: &NoiseReceived, port: u16, started: String, layer: Layer) -> NoiseSink {
    let after_first = received.octets.saturating_sub(received.first_octets);
    let rate = received.duration.and_then(|time| per_second(after_first.saturating_mul(8), time));
    NoiseSink {
        schema: NOISE_SINK.into(),
        software: SOFTWARE.into(),
        port,
        started,
        layer: layer.to_string(),
        packets: received.packets,
        octets: received.octets,
        payload_octets: received.payload_octets,
        dropped: received.dropped,
        duration_ns: received.duration.map(Duration::as_nanos),
        bits_per_second: rate.filter(|_| received.packets > 1),
    }
}

fn sent_text(document: &NoiseSource) -> String {
    let mut text = format!(
        "{} sent in {}: {}; requested {}",
        packets_text(document.packets, document.octets, &document.layer),
        Duration::from_nanos(document.duration_ns).rounded(),
        rates_text(document.bits_per_second, document.packets_per_second),
        document.rate.parse().map_or_else(|_| document.rate.clone(), rate_text)
    );
    for (number, what) in [
        (document.refused, "refused by this host"),
        (
            document.skipped,
            "skipped, because their time had passed (the rate is too high for this host, or romer was stopped)",
        ),
    ] {
        if number > 0 {
            text.push_str(&format!(", {} {what}", count(number)));
        }
    }
    text + "\n"
}

fn received_text(document: &NoiseSink) -> String {
    let mut text = packets_text(document.packets, document.octets, &document.layer) + " received";
    if let Some(time) = document.duration_ns {
        text.push_str(&format!(" in {}", Duration::from_nanos(time).rounded()));
    }
    if let Some(bits) = document.bits_per_second {
        text.push_str(&format!(": {}", bit_rate(bits)));
    }
    if document.dropped > 0 {
        text.push_str(&format!(", {} dropped by the kernel of this host", count(document.dropped)));
    }
    text + "\n"
}

fn packets_text(packets: u64, octets: u64, layer: &str) -> String {
    format!("{} ({} B at {layer})", counted(packets, "packet"), count(octets))
}

fn rates_text(bits: Option<f64>, packets: Option<f64>) -> String {
    match (bits, packets) {
        (Some(bits), Some(packets)) => format!("{}, {packets:.1} packets/s", bit_rate(bits)),
        _ => "rate unknown".into(),
    }
}

/// A requested rate.
#[expect(clippy::cast_precision_loss, reason = "four digits are shown")]
pub(crate) fn rate_text(rate: Rate) -> String {
    match rate {
        Rate::Bits(bits) => bit_rate(bits as f64),
        Rate::Packets(packets) => format!("{} packets/s", count(packets)),
    }
}

/// A rate with four digits and its unit.
fn bit_rate(bits: f64) -> String {
    let (scaled, unit) = match bits {
        bits if bits >= 1e9 => (bits / 1e9, "Gbit/s"),
        bits if bits >= 1e6 => (bits / 1e6, "Mbit/s"),
        bits if bits >= 1e3 => (bits / 1e3, "kbit/s"),
        bits => (bits, "bit/s"),
    };
    let digits = if scaled < 10.0 {
        3
    } else if scaled < 100.0 {
        2
    } else {
        1
    };
    format!("{scaled:.digits$} {unit}")
}

#[cfg(test)]
mod tests {
    use romer_units::Dscp;
    use romer_units::random::Seed;

    use super::*;

    /// Rates have four digits and a unit.
    #[test]
    fn rates_have_units() {
        let texts = [999.5, 1_000.0, 99_960.0, 100_040.0, 9_999_000.0, 2.5e9].map(bit_rate);
        let expected =
            ["999.5 bit/s", "1.000 kbit/s", "99.96 kbit/s", "100.0 kbit/s", "9.999 Mbit/s", "2.500 Gbit/s"];
        assert_eq!(texts, expected);
    }

    /// The achieved rate is that of the octets at the layer over the whole time.
    #[test]
    fn sources_report_the_achieved_rate() {
        let options = NoiseOptions {
            target: "192.0.2.1:8890".parse().unwrap(),
            dscp: Dscp::EF,
            layer: Layer::L2,
            duration: None,
            seed: Seed([1; 6]),
        };
        let sent = NoiseSent {
            packets: 1_000,
            octets: 125_000,
            payload_octets: 79_000,
            refused: 2,
            duration: Duration::from_secs(10),
            ..NoiseSent::default()
        };
        let document = NoiseSource { rate: "100000bit".into(), ..sent_document(&options, &sent) };
        assert_eq!(document.bits_per_second, Some(100_000.0));
        assert_eq!(document.packets_per_second, Some(100.0));
        let text = sent_text(&document);
        assert!(text.contains("100.0 kbit/s, 100.0 packets/s; requested 100.0 kbit/s"), "{text}");
        assert_eq!(rate_text(Rate::Packets(148_809)), "148,809 packets/s");
        assert!(text.ends_with(", 2 refused by this host\n"), "{text}");
        let nothing = sent_document(&options, &NoiseSent::default());
        assert_eq!((nothing.bits_per_second, nothing.packets_per_second), (None, None));
    }

    /// The first packet only begins the time of a sink.
    #[test]
    fn sinks_leave_out_the_first_packet() {
        let received = NoiseReceived {
            packets: 3,
            octets: 300,
            payload_octets: 162,
            first_octets: 100,
            dropped: 0,
            duration: Some(Duration::from_secs(1)),
        };
        let document = received_document(&received, 8_890, String::new(), Layer::L2);
        assert_eq!(document.bits_per_second, Some(1_600.0));
        let one = NoiseReceived { packets: 1, octets: 100, ..received };
        assert_eq!(received_document(&one, 8_890, String::new(), Layer::L2).bits_per_second, None);
    }
}
