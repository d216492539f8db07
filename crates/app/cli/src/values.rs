//! The values of arguments. Each error says why a value cannot be and what to write, as `WHY; what to do`.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::ops::RangeInclusive;
use std::path::PathBuf;

use clap::builder::{PathBufValueParser, TypedValueParser};
use romer_host::thread::MOST_CPUS;
use romer_qtcp_protocol::{HEADER_LEN, MAX_PACKETS, Quota};
use romer_units::{Duration, Rate, Size};

/// What `--duration forever` means: until it is interrupted, or for this long.
const FOREVER: Duration = Duration::from_secs(30 * 86_400);
/// The longest duration that can be asked for.
const LONGEST_DURATION: Duration = Duration::from_secs(100 * 365 * 86_400);
/// Characters of a value that a message shows.
const SHOWN: usize = 64;

/// A value as a message shows it.
fn shown(text: &str) -> String {
    format!("{:?}", text.chars().take(SHOWN).collect::<String>())
}

/// A whole number from `least` to `most`.
fn parse_integer(text: &str, least: u64, most: u64) -> Result<u64, String> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let range = if most == u64::MAX { format!("{least} or more") } else { format!("{least} to {most}") };
    if digits.is_empty() || !digits.bytes().all(|octet| octet.is_ascii_digit()) {
        return Err(format!("{} is not a whole number; write {range}", shown(text)));
    }
    match text.parse() {
        Ok(number) if (least..=most).contains(&number) => Ok(number),
        _ => Err(format!("{} is out of range; write {range}", shown(text))),
    }
}

/// A value of a type that reads itself.
pub(crate) fn parsed<T: std::str::FromStr<Err: std::fmt::Display>>(text: &str) -> Result<T, String> {
    text.parse().map_err(|error: T::Err| error.to_string())
}

pub(crate) fn count(text: &str) -> Result<u64, String> {
    parse_integer(text, 0, u64::MAX)
}

/// The number of a skew's method (Qtcp, `-k`).
pub(crate) fn skew_number(text: &str) -> Result<u8, String> {
    parse_integer(text, 0, 3).map(|number| u8::try_from(number).unwrap_or(0))
}

/// How many packets the clocks are fitted to: a line needs two.
pub(crate) fn calibration_packets(text: &str) -> Result<u64, String> {
    parse_integer(text, 2, u64::MAX)
}

/// How many packets were sent for calibration; 0, as Qtcp has it, where none were.
pub(crate) fn qtcp_calibration(text: &str) -> Result<u64, String> {
    if text == "0" { Ok(0) } else { calibration_packets(text) }
}

/// A port of a live test of Qtcp.
pub(crate) fn qtcp_port(text: &str) -> Result<u16, String> {
    parse_integer(text, 1, u16::MAX.into()).map(|number| u16::try_from(number).unwrap_or(u16::MAX))
}

/// How many packets are measured, or for how many seconds (Qtcp, `-n`).
pub(crate) fn qtcp_quota(text: &str) -> Result<Quota, String> {
    /// A week.
    const MAX_SECONDS: u64 = 7 * 86_400;
    let Some(seconds) = text.strip_suffix('s') else {
        return parse_integer(text, 1, MAX_PACKETS).map(Quota::Packets);
    };
    let seconds = parse_integer(seconds, 1, MAX_SECONDS)?;
    Ok(Quota::Time(Duration::from_secs(i64::try_from(seconds).unwrap_or(i64::MAX))))
}

/// The payload of a packet: it has room for the header (Qtcp, `-l`), and fits UDP over IPv4.
pub(crate) fn qtcp_payload(text: &str) -> Result<u32, String> {
    parse_integer(text, HEADER_LEN as u64 + 1, 65_507).map(|number| u32::try_from(number).unwrap_or(u32::MAX))
}

/// The depth of a token bucket in bytes.
pub(crate) fn qtcp_depth(text: &str) -> Result<u64, String> {
    parse_integer(text, 1, 1 << 30)
}

/// A token rate in bytes per second, given in thousands of them, or with a `B` (Qtcp, `-R`).
pub(crate) fn qtcp_rate(text: &str) -> Result<u64, String> {
    /// 1000 Gbit/s.
    const MAX_RATE: u64 = 125_000_000_000;
    match text.strip_suffix('B') {
        Some(bytes) => parse_integer(bytes, 1, MAX_RATE),
        None => parse_integer(text, 1, MAX_RATE / 1_000).map(|thousands| thousands * 1_000),
    }
}

/// Every how manieth.
pub(crate) fn every_nth(text: &str) -> Result<u64, String> {
    parse_integer(text, 1, u64::MAX)
}

pub(crate) fn bundle(text: &str) -> Result<u32, String> {
    parse_integer(text, 0, u32::MAX.into()).map(|number| u32::try_from(number).unwrap_or(u32::MAX))
}

pub(crate) fn sessions(text: &str) -> Result<usize, String> {
    parse_integer(text, 1, 1 << 16).map(|number| usize::try_from(number).unwrap_or(usize::MAX))
}

pub(crate) fn rounds(text: &str) -> Result<u32, String> {
    parse_integer(text, 1, 1_000).map(|number| u32::try_from(number).unwrap_or(u32::MAX))
}

/// The number of common events of two hosts.
pub(crate) fn common_events(text: &str) -> Result<u64, String> {
    parse_integer(text, 1, 1_000_000)
}

/// The address and port of packets to many hosts.
pub(crate) fn group(text: &str) -> Result<SocketAddr, String> {
    let address: Option<SocketAddr> = text.parse().ok();
    address.filter(|address| address.port() > 0 && !address.ip().is_unspecified()).ok_or_else(|| {
        format!("{} is no address with a port; write 239.255.136.62:8863 or [ff02::8863]:8863", shown(text))
    })
}

pub(crate) fn calibration_probes(text: &str) -> Result<u32, String> {
    parse_integer(text, 100, 1_000_000).map(|number| u32::try_from(number).unwrap_or(u32::MAX))
}

pub(crate) fn ttl(text: &str) -> Result<u8, String> {
    parse_integer(text, 1, u8::MAX.into()).map(|number| u8::try_from(number).unwrap_or(u8::MAX))
}

pub(crate) fn cpu(text: &str) -> Result<u16, String> {
    parse_integer(text, 0, u64::from(MOST_CPUS) - 1).map(|number| u16::try_from(number).unwrap_or(u16::MAX))
}

/// The number of a UDP port.
pub(crate) fn port(text: &str) -> Result<u16, String> {
    parse_integer(text, 1, u16::MAX.into()).map(|number| u16::try_from(number).unwrap_or(u16::MAX))
}

pub(crate) fn stream_number(text: &str) -> Result<u16, String> {
    parse_integer(text, 0, u16::MAX.into()).map(|number| u16::try_from(number).unwrap_or(u16::MAX))
}

pub(crate) fn interface(text: &str) -> Result<String, String> {
    // IFNAMSIZ, 16, counts the octet that ends the name.
    if text.is_empty() || text.len() > 15 {
        return Err(format!(
            "{} is not the name of an interface; write one of 1 to 15 characters",
            shown(text)
        ));
    }
    Ok(text.into())
}

/// Whether many hosts may listen to it.
fn is_group(address: IpAddr) -> bool {
    let address = address.to_canonical();
    address.is_multicast() || matches!(address, IpAddr::V4(v4) if v4.is_broadcast())
}

pub(crate) fn source(text: &str) -> Result<IpAddr, String> {
    let address: IpAddr = text.parse().map_err(|_| {
        format!("{} is not an address; write one of this host's, such as 192.0.2.1", shown(text))
    })?;
    if address.is_unspecified() || is_group(address) {
        return Err(format!(
            "{address} cannot be the address of a host; write one of this host's, or leave it out"
        ));
    }
    Ok(address)
}

/// A time whose only natural unit is the second, so that a number alone is seconds: how long something runs or waits.
pub(crate) fn seconds(text: &str) -> Result<Duration, String> {
    parsed(&in_seconds(text))
}

/// A number alone as seconds.
fn in_seconds(text: &str) -> String {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let is_number = digits.bytes().any(|byte| byte.is_ascii_digit())
        && digits.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    if is_number { format!("{text}s") } else { text.to_owned() }
}

pub(crate) fn duration(text: &str) -> Result<Duration, String> {
    if text == "forever" {
        return Ok(FOREVER);
    }
    match seconds(text)? {
        duration if duration == Duration::ZERO => {
            Err("0 is too short; write a time such as 10s, or `forever`".into())
        }
        duration if duration < Duration::ZERO => {
            Err(format!("{} is negative; write a time such as 10s", shown(text)))
        }
        duration if duration > LONGEST_DURATION => {
            Err(format!("{} is over 100 years; write `forever`", shown(text)))
        }
        duration => Ok(duration),
    }
}

/// Where a page is served.
pub(crate) fn console(text: &str) -> Result<SocketAddr, String> {
    address(text, 8_800)
}

/// Where an emulator is watched and changed.
pub(crate) fn api(text: &str) -> Result<SocketAddr, String> {
    address(text, 8_870)
}

/// Where metrics are served: an address, or a port of this machine alone.
pub(crate) fn metrics(text: &str) -> Result<SocketAddr, String> {
    match text.parse() {
        Ok(port) => Ok(SocketAddr::new(Ipv4Addr::LOCALHOST.into(), port)),
        Err(_) => address(text, 9_862),
    }
}

fn address(text: &str, port: u16) -> Result<SocketAddr, String> {
    let bare = text.strip_prefix('[').and_then(|text| text.strip_suffix(']')).unwrap_or(text);
    text.parse().or_else(|_| bare.parse().map(|address| SocketAddr::new(address, port))).map_err(|_| {
        format!("{} is not an address; write one such as 127.0.0.1:{port} or [::1]:{port}", shown(text))
    })
}

/// A name by which browsers call a server, as they send it.
pub(crate) fn host(text: &str) -> Result<String, String> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-.".contains(c);
    if text.is_empty() || text.len() > 253 || !text.chars().all(plain) {
        return Err(format!(
            "{} is not a host name; write one such as lab.example, without a port",
            shown(text)
        ));
    }
    Ok(text.to_ascii_lowercase())
}

/// A time within `range`, which is called `words`.
fn within(text: &str, range: RangeInclusive<Duration>, words: &str) -> Result<Duration, String> {
    limited(text, parsed(text)?, range, words)
}

fn limited(
    text: &str,
    time: Duration,
    range: RangeInclusive<Duration>,
    words: &str,
) -> Result<Duration, String> {
    if range.contains(&time) {
        Ok(time)
    } else {
        Err(format!("{} is out of range; write {words}", shown(text)))
    }
}

/// How long the emulator holds a packet.
pub(crate) fn delay(text: &str) -> Result<Duration, String> {
    within(text, Duration::ZERO..=Duration::from_secs(3_600), "from 0s to 1h")
}

/// A file for packets: not standard output, where the words are.
pub(crate) fn packet_file() -> impl TypedValueParser<Value = PathBuf> {
    PathBufValueParser::new().try_map(|file| match file.as_os_str() == "-" {
        true => Err("packets cannot be written to standard output, which has the summary; name a file"),
        false => Ok(file),
    })
}

/// The name of a codec.
pub(crate) fn codec(text: &str) -> Result<String, String> {
    text.parse::<romer_record::voice::Codec>().map(|codec| codec.name)
}

/// An equipment impairment factor.
pub(crate) fn ie(text: &str) -> Result<f64, String> {
    factor(text, "Ie", 0.0, 132.0)
}

/// A packet-loss robustness factor.
pub(crate) fn bpl(text: &str) -> Result<f64, String> {
    factor(text, "Bpl", 0.1, 1_000.0)
}

fn factor(text: &str, name: &str, least: f64, most: f64) -> Result<f64, String> {
    match text.parse() {
        Ok(value) if (least..=most).contains(&value) => Ok(value),
        _ => Err(format!("{} is no {name}; write a number from {least} to {most}", shown(text))),
    }
}

/// A number in decimal digits.
fn decimal(digits: &str) -> Option<f64> {
    let plain = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    digits.parse().ok().filter(|_| plain)
}

/// A ratio, as `1%` or `0.01`, by the rule of limits.
pub(crate) fn share(text: &str) -> Result<f64, String> {
    let digits = text.strip_suffix('%').map_or(text, str::trim_end);
    let not_a_ratio = || format!("{} is not a ratio from 0 to 1; write 1% or 0.01", shown(text));
    if decimal(digits).is_none_or(|number| number > 100.0) {
        return Err(not_a_ratio());
    }
    let ratio = romer_record::limit::ratio(text)?;
    if ratio <= 1.0 { Ok(ratio) } else { Err(not_a_ratio()) }
}

/// A percentage, as `10%` or `10`. Below 1 it has its sign: `0.5` alone could be 50 %.
pub(crate) fn percent(text: &str) -> Result<f64, String> {
    let text = text.trim();
    let signed = text.strip_suffix('%').map(str::trim_end);
    match (signed.and_then(decimal), decimal(text)) {
        (Some(percent), _) => Ok(percent),
        (None, Some(percent)) if percent >= 1.0 || percent <= 0.0 => Ok(percent),
        (None, Some(number)) => {
            Err(format!("{} is ambiguous; write {text}% or {}%", shown(text), number * 100.0))
        }
        (None, None) => Err(format!("{} is not a percentage; write 10% or 0.5%", shown(text))),
    }
}

pub(crate) fn interval(text: &str) -> Result<Duration, String> {
    let interval = parsed::<Duration>(text)?;
    if interval < Duration::from_micros(1) {
        return Err(format!("{} is less than this program can keep; write at least 1us", shown(text)));
    }
    if interval > Duration::from_secs(86_400) {
        return Err(format!("{} is more than a day between two probes; write at most 24h", shown(text)));
    }
    Ok(interval)
}

/// How long a pretended clock is looked at.
pub(crate) fn proof_duration(text: &str) -> Result<Duration, String> {
    limited(text, seconds(text)?, Duration::from_secs(2)..=Duration::from_secs(3_600), "from 2s to 1h")
}

/// Parts in a million, as clocks differ by.
pub(crate) fn ppm(text: &str) -> Result<f64, String> {
    let number = text.strip_suffix("ppm").unwrap_or(text);
    match number.parse::<f64>() {
        Ok(value) if value.abs() <= 500.0 => Ok(value),
        Ok(_) => Err(format!("{} is more than clocks differ by; write from -500ppm to 500ppm", shown(text))),
        Err(_) => Err(format!("{} is not a number of ppm; write for instance 37.25ppm", shown(text))),
    }
}

/// When a clock is set, and by how much.
pub(crate) fn clock_step(text: &str) -> Result<(Duration, Duration), String> {
    let (at, size) = text.split_once(':').ok_or_else(|| {
        format!("{} has no size; write when and by how much, such as 7s:-2.5ms", shown(text))
    })?;
    let at = parsed::<Duration>(at)?;
    let size = parsed::<Duration>(size.strip_prefix('+').unwrap_or(size))?;
    if at <= Duration::ZERO {
        return Err(format!("{} is set before anything is seen; write a moment after 0s", shown(text)));
    }
    let magnitude = size.max(-size);
    if !(Duration::from_micros(100)..=Duration::from_secs(3_600)).contains(&magnitude) {
        return Err(format!(
            "{} is out of range; write a size from 100us to 1h, of either sign",
            shown(text)
        ));
    }
    Ok((at, size))
}

pub(crate) fn waiting(text: &str) -> Result<Duration, String> {
    limited(text, seconds(text)?, Duration::from_millis(1)..=Duration::from_secs(600), "from 1ms to 10m")
}

pub(crate) fn path_minimum(text: &str) -> Result<Duration, String> {
    within(text, Duration::from_nanos(1)..=Duration::from_secs(600), "from 1ns to 10m")
}

pub(crate) fn clock_offset(text: &str) -> Result<Duration, String> {
    const MOST: Duration = Duration::from_secs(366 * 86_400);
    within(text, Duration::ZERO - MOST..=MOST, "from -366d to 366d")
}

pub(crate) fn stamp_unit(text: &str) -> Result<Duration, String> {
    within(text, Duration::from_nanos(1)..=Duration::from_secs(1), "from 1ns to 1s")
}

pub(crate) fn json_lines_interval(text: &str) -> Result<Duration, String> {
    within(text, Duration::from_millis(20)..=Duration::from_secs(3_600), "from 20ms to 1h")
}

/// How old something may be. A number alone could be days as well as seconds, and is refused.
pub(crate) fn age(text: &str) -> Result<Duration, String> {
    within(text, Duration::from_secs(1)..=LONGEST_DURATION, "from 1s to 100 years")
}

pub(crate) fn every(text: &str) -> Result<Duration, String> {
    within(
        &in_seconds(text),
        Duration::from_millis(10)..=Duration::from_secs(366 * 86_400),
        "from 10ms to 366d",
    )
}

/// How long after the start of an agent its measurement begins.
pub(crate) fn offset(text: &str) -> Result<Duration, String> {
    within(&in_seconds(text), Duration::ZERO..=Duration::from_secs(366 * 86_400), "from 0s to 366d")
}

/// How long a followed path is measured for a fit.
pub(crate) fn refit_period(text: &str) -> Result<Duration, String> {
    within(&in_seconds(text), Duration::from_secs(2)..=Duration::from_secs(86_400), "from 2s to 24h")
}

pub(crate) fn times(text: &str) -> Result<u64, String> {
    parse_integer(text, 1, u64::MAX)
}

/// A size in bytes, whose unit may be left out.
pub(crate) fn bytes(text: &str) -> Result<u64, String> {
    match text.parse() {
        Ok(number) if text.bytes().all(|byte| byte.is_ascii_digit()) => Ok(number),
        _ => parsed::<Size>(text).map(|size| size.octets()),
    }
}

/// A run and the rate of its link in bits a second, as `RUN@10Mbit`.
pub(crate) fn run_at_rate(text: &str) -> Result<(PathBuf, u64), String> {
    let parts = text.rsplit_once('@').filter(|(run, _)| !run.is_empty());
    let (run, rate) = parts.ok_or_else(|| format!("{} has no rate; write RUN@10Mbit", shown(text)))?;
    match parsed::<Rate>(rate)? {
        Rate::Bits(bits) => Ok((run.into(), bits)),
        Rate::Packets(_) => Err(format!("{} is not a rate in bits; write RUN@10Mbit", shown(rate))),
    }
}

/// The emulators of a chain.
pub(crate) fn emulators(text: &str) -> Result<u8, String> {
    let most = romer_lab::MOST_EMULATORS;
    parse_integer(text, 1, most.into()).map(|number| u8::try_from(number).unwrap_or(most))
}

/// The size of an emulated queue.
pub(crate) fn queue(text: &str) -> Result<u64, String> {
    let octets = bytes(text)?;
    let is_possible = (64..=1 << 32).contains(&octets);
    is_possible
        .then_some(octets)
        .ok_or_else(|| format!("{} is out of range; write from 64B to 4GiB", shown(text)))
}

pub(crate) fn size(text: &str) -> Result<u32, String> {
    u32::try_from(bytes(text)?).ok().filter(|octets| *octets <= 65_575).ok_or_else(|| {
        format!(
            "{} is more than an IP packet holds; write at most 65507B (IPv4) or 65527B (IPv6) of payload",
            shown(text)
        )
    })
}

/// The largest IP packet of an interface: from what every IPv4 host takes (RFC 791) to what a header can say.
pub(crate) fn mtu(text: &str) -> Result<u32, String> {
    u32::try_from(bytes(text)?).ok().filter(|octets| (68..=65_535).contains(octets)).ok_or_else(|| {
        format!("{} is no MTU; write from 68B to 65535B, without the Ethernet header", shown(text))
    })
}

pub(crate) fn packet_rate(text: &str) -> Result<u64, String> {
    let is_bare = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let unit = if is_bare { "pps" } else { "" };
    match parsed::<Rate>(&format!("{text}{unit}"))? {
        Rate::Packets(packets) => Ok(packets),
        Rate::Bits(_) => {
            Err(format!("{} counts bits; write packets per second, such as 100000pps", shown(text)))
        }
    }
}

/// A rate in bit/s.
pub(crate) fn bit_rate(text: &str) -> Result<u64, String> {
    match parsed::<Rate>(text)? {
        Rate::Bits(bits) => Ok(bits),
        Rate::Packets(_) => {
            Err(format!("{} counts packets; write bits or bytes per second, such as 100kBps", shown(text)))
        }
    }
}

pub(crate) fn ipv4(text: &str) -> Result<Ipv4Addr, String> {
    text.parse().map_err(|_| format!("{} is not an IPv4 address; write one such as 192.0.2.1", shown(text)))
}

/// The port of a rule of `--rule`.
pub(crate) fn stamping_rule(text: &str) -> Result<u16, String> {
    let port = text.strip_prefix("udp:").and_then(|port| port.parse::<u16>().ok());
    port.filter(|port| *port > 0).ok_or_else(|| {
        format!("{} is not a rule; write udp: and a port from 1 to 65535, such as udp:7", shown(text))
    })
}

pub(crate) fn listen_address(text: &str) -> Result<SocketAddr, String> {
    let shown = shown(text);
    if let Some(port) =
        text.rsplit(':').next().filter(|port| !port.is_empty() && port.bytes().all(|b| b.is_ascii_digit()))
        && port.parse::<u16>().is_err()
    {
        return Err(format!("{shown} has no port from 0 to 65535; write 192.0.2.1:862 or [2001:db8::1]:862"));
    }
    let address: SocketAddr = text.parse().map_err(|_| {
        format!("{shown} is not an address and port; write 192.0.2.1:862 or [2001:db8::1]:862")
    })?;
    if is_group(address.ip()) {
        return Err(format!("{shown} is a multicast or broadcast address; write one of this host's"));
    }
    Ok(address)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A port without an address is not reachable from other hosts.
    #[test]
    fn ports_alone_are_of_this_machine() {
        let found = ["9100", "127.0.0.1:9100", "::1", "192.0.2.1", "70000", "host"].map(metrics);
        let address = |text: &str| Some(text.parse::<SocketAddr>().unwrap());
        assert_eq!(
            found.map(Result::ok),
            [
                address("127.0.0.1:9100"),
                address("127.0.0.1:9100"),
                address("[::1]:9862"),
                address("192.0.2.1:9862"),
                None,
                None
            ]
        );
    }
}
