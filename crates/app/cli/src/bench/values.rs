//! Values of `romer bench`'s arguments.

use std::str::FromStr;

use romer_bench::options::{Field, MarkingClaim};
use romer_method::policing::{Profile, TokenUnit};
use romer_port::{PortError, PortName};
use romer_units::{Dscp, Duration, Ecn, FrameSize, LineRate, Rate};
use romer_wire::ethernet::MacAddress;

/// Most sizes, and most loads.
const MAX_LIST_LENGTH: usize = 1_000;
/// The largest frame: jumbo, with header and check sequence.
const MAX_FRAME_OCTETS: u32 = 9_018;
/// The longest trial.
const MAX_TRIAL_TIME: Duration = Duration::from_secs(86_400);

/// To how much of the line rate something is found.
const FINEST: f64 = 1e-5;

/// To how much of the line rate a throughput is found.
pub(crate) fn resolution(text: &str) -> Result<f64, String> {
    let share = crate::values::percent(text)? / 100.0;
    if !(FINEST..=1.0).contains(&share) {
        let shown = romer_units::excerpt(text, 40);
        return Err(format!("{shown:?} is out of range; write from 0.001% to 100%, such as 0.5%"));
    }
    Ok(share)
}

/// How long something in a trial lasts: up to a day.
pub(crate) fn time(text: &str) -> Result<Duration, String> {
    let time = crate::values::seconds(text)?;
    if !(Duration::from_nanos(1)..=MAX_TRIAL_TIME).contains(&time) {
        let shown = romer_units::excerpt(text, 40);
        return Err(format!("{shown:?} is out of range; write a time above 0 and up to 24h, such as 10s"));
    }
    Ok(time)
}

/// What a policer lets through. A frame more or less is the edge.
pub(crate) fn profile(text: &str) -> Result<Profile, String> {
    let shown = romer_units::excerpt(text, 40);
    let wrong =
        || format!("{shown:?} is not a rate and a depth; write 625pps,20 (frames) or 5Mbit,20kB (bytes)");
    let (rate, depth) = text.split_once(',').ok_or_else(wrong)?;
    match rate.parse::<Rate>().map_err(|error| error.to_string())? {
        Rate::Packets(packets) => {
            let depth: u32 = depth.parse().map_err(|_| wrong())?;
            if depth == 0 || packets > 1_000_000_000 {
                return Err(wrong());
            }
            #[expect(clippy::cast_precision_loss, reason = "at most 10^9")]
            let rate = packets as f64;
            Ok(Profile { rate, depth: f64::from(depth), unit: TokenUnit::Frames, tolerance: 1.0 })
        }
        Rate::Bits(bits) => {
            let depth = crate::values::bytes(depth)?;
            if !(1..=1 << 40).contains(&depth) || bits > 400_000_000_000 {
                return Err(wrong());
            }
            #[expect(clippy::cast_precision_loss, reason = "far below 2^53")]
            let (rate, depth) = (bits as f64 / 8.0, depth as f64);
            Ok(Profile { rate, depth, unit: TokenUnit::Octets, tolerance: 1.0 })
        }
    }
}

/// `[CASE:]IN=OUT`, both read by `value`, of which `what` and `example` are said where they are not.
fn claim(
    field: Field,
    text: &str,
    value: fn(&str) -> Result<String, String>,
    [what, example]: [&str; 2],
) -> Result<MarkingClaim, String> {
    let shown = romer_units::excerpt(text, 64);
    let (case, marking) = match text.split_once(':') {
        Some((case, marking)) => (Some(case.to_owned()), marking),
        None => (None, text),
    };
    let (sent, out) = marking.split_once('=').ok_or_else(|| {
        format!("{shown:?} is not two {what}; write IN=OUT or CASE:IN=OUT, such as {example}")
    })?;
    Ok(MarkingClaim { case, field, sent: value(sent)?, out: value(out)? })
}

fn code_point(text: &str) -> Result<String, String> {
    text.parse::<Dscp>().map(|dscp| dscp.to_string()).map_err(|error| error.to_string())
}

/// A number of a tag from 0 to the greatest, or that there is no tag.
fn of_tag(text: &str, most: u16, what: &str) -> Result<String, String> {
    let number = text.parse::<u16>().ok().filter(|number| *number <= most).map(|number| number.to_string());
    let shown = romer_units::excerpt(text, 40);
    number.or_else(|| (text == Field::UNTAGGED).then(|| text.to_owned())).ok_or_else(|| {
        format!("{shown:?} is not a {what} of 0 to {most}, nor `{}`; write one of these", Field::UNTAGGED)
    })
}

/// Code points that frames go in and come out with.
pub(crate) fn marking(text: &str) -> Result<MarkingClaim, String> {
    claim(Field::CodePoint, text, code_point, ["code points", "remark:cs0=ef"])
}

/// VLANs, likewise.
pub(crate) fn vlan(text: &str) -> Result<MarkingClaim, String> {
    claim(Field::Vlan, text, |text| of_tag(text, 4_094, "VLAN"), ["VLANs", "10=20 or 10=untagged"])
}

/// Priorities of tags, likewise.
pub(crate) fn priority(text: &str) -> Result<MarkingClaim, String> {
    claim(Field::Priority, text, |text| of_tag(text, 7, "priority"), ["priorities", "5=5"])
}

/// Code points of congestion notification, likewise.
pub(crate) fn ecn(text: &str) -> Result<MarkingClaim, String> {
    let value =
        |text: &str| text.parse::<Ecn>().map(|ecn| ecn.to_string()).map_err(|error| error.to_string());
    claim(Field::Ecn, text, value, ["code points of ECN", "ect0=ce"])
}

/// A port.
pub(crate) fn port(text: &str) -> Result<PortName, String> {
    text.parse().map_err(|error: PortError| {
        format!("{error}; write an interface, or NETNS/IF for one of another network namespace")
    })
}

/// A link-layer address of one host.
pub(crate) fn mac(text: &str) -> Result<MacAddress, String> {
    let shown = romer_units::excerpt(text, 40);
    let wrong =
        || format!("{shown:?} is not a link-layer address; write six octets such as 02:00:00:18:00:01");
    let mut octets = [0; 6];
    let mut parts = text.split(':');
    for octet in &mut octets {
        let part = parts.next().filter(|part| part.len() == 2).ok_or_else(wrong)?;
        *octet = u8::from_str_radix(part, 16).map_err(|_| wrong())?;
    }
    let mac = MacAddress(octets);
    if parts.next().is_some() || mac.is_group() || octets == [0; 6] {
        return Err(wrong());
    }
    Ok(mac)
}

/// Bits a second at layer 1.
pub(crate) fn line_rate(text: &str) -> Result<LineRate, String> {
    let bits = match text.parse::<Rate>().map_err(|error| error.to_string())? {
        Rate::Bits(bits) if bits <= 400_000_000_000 => bits,
        Rate::Bits(_) => {
            return Err("it is over 400Gbit; write the rate of the line, such as 1000Mbit".into());
        }
        Rate::Packets(_) => {
            return Err("it counts packets, and a line's rate is in bits; write 100Mbit or 1000Mbit".into());
        }
    };
    LineRate::new(bits).ok_or_else(|| "it is 0; write the rate of the line, such as 100Mbit".into())
}

/// Frame sizes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Sizes(pub(crate) Vec<FrameSize>);

impl FromStr for Sizes {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let one = |part: &str| {
            let digits = part.strip_suffix('B').unwrap_or(part);
            let shown = romer_units::excerpt(part, 40);
            let octets = digits.parse::<u32>().ok().filter(|octets| *octets <= MAX_FRAME_OCTETS);
            octets.and_then(FrameSize::new).ok_or_else(|| {
                format!("{shown:?} is not a frame size of 64 to {MAX_FRAME_OCTETS} bytes; write 64,512,1518")
            })
        };
        let mut sizes = text.split(',').map(one).collect::<Result<Vec<_>, _>>()?;
        sizes.sort_unstable();
        sizes.dedup();
        Ok(Self(sizes))
    }
}

/// Loads, shares of the line rate.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Loads(pub(crate) Vec<f64>);

impl FromStr for Loads {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut loads = Vec::new();
        for part in text.split(',') {
            let Some((from, rest)) = part.split_once("..") else {
                loads.push(percent(part)?);
                continue;
            };
            let (to, step) = rest.split_once(':').ok_or_else(|| {
                "a range of loads has a step; write 10%..95%:5%, which are 10 %, 15 % and so on to 95 %"
                    .to_owned()
            })?;
            let (from, to, step) = (percent(from)?, percent(to)?, percent(step)?);
            if from > to {
                return Err(format!(
                    "the range goes from {} % down to {} %; exchange them",
                    f64::from(from) / 1e4,
                    f64::from(to) / 1e4
                ));
            }
            let mut load = from;
            while load <= to && loads.len() < MAX_LIST_LENGTH {
                loads.push(load);
                load += step;
            }
            // Both ends are included, whatever the step.
            loads.push(to);
        }
        if loads.len() >= MAX_LIST_LENGTH {
            return Err(format!("these are {MAX_LIST_LENGTH} loads or more; take fewer, or a larger step"));
        }
        loads.sort_unstable();
        loads.dedup();
        Ok(Self(loads.into_iter().map(share).collect()))
    }
}

/// A percentage in ten-thousandths of a percent, exactly.
fn percent(text: &str) -> Result<u32, String> {
    let scaled = (crate::values::percent(text)? * 1e4).round();
    if !(1.0..=2e6).contains(&scaled) {
        let shown = romer_units::excerpt(text, 40);
        return Err(format!(
            "{shown:?} is not a load above 0 % and up to 200 %; write 10%, 12.5% or 10%..95%:5%"
        ));
    }
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "within 1 to 2,000,000")]
    Ok(scaled as u32)
}

fn share(scaled: u32) -> f64 {
    f64::from(scaled) / 1e6
}

/// `NAME=COMMAND`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CaseArgument {
    pub(crate) name: String,
    pub(crate) command: String,
}

impl FromStr for CaseArgument {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let shown = romer_units::excerpt(text, 64);
        let wrong = || {
            format!(
                "{shown:?} is not a name and a command; write NAME=COMMAND, such as remark='romer lab case remark'"
            )
        };
        let (name, command) = text.split_once('=').ok_or_else(wrong)?;
        let legal = |c: char| c.is_ascii_alphanumeric() || "-_. ".contains(c);
        if name.is_empty() || name.len() > 64 || !name.chars().all(legal) || command.trim().is_empty() {
            return Err(wrong());
        }
        Ok(Self { name: name.into(), command: command.into() })
    }
}

/// `KEY=VALUE`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Label {
    pub(crate) key: String,
    pub(crate) value: String,
}

impl FromStr for Label {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let shown = romer_units::excerpt(text, 64);
        match text.split_once('=') {
            Some((key, value)) if !key.is_empty() => Ok(Self { key: key.into(), value: value.into() }),
            _ => Err(format!("{shown:?} is not a label; write KEY=VALUE, such as model='Example 3000'")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ends_of_a_range_of_loads_are_included() {
        let loads = |text: &str| text.parse::<Loads>().unwrap().0;
        assert_eq!(loads("10%..95%:5%").len(), 18);
        assert_eq!(loads("10%..95%:50%"), [0.1, 0.6, 0.95]);
        assert_eq!(loads("50%,10%,10"), [0.1, 0.5]);
        assert_eq!(loads("10..30:10"), [0.1, 0.2, 0.3]);
        assert_eq!(loads("0.5%"), [0.005]);
        assert_eq!(loads("20%,95%,10%..90%:40%"), [0.1, 0.2, 0.5, 0.9, 0.95]);
        assert_eq!(loads("10%..20%:10%,20%..30%:5%"), [0.1, 0.2, 0.25, 0.3]);
        for bad in [
            "",
            "0.5",
            "0%",
            "-5%",
            "NaN%",
            "10%..95%",
            "95%..10%:5%",
            "10%..95%:0%",
            "300%",
            "1e2%",
            "0.0001%..100%:0.0001%",
        ] {
            assert!(bad.parse::<Loads>().is_err(), "{bad:?} was accepted");
        }
    }

    #[test]
    fn sizes_are_sorted_and_within_bounds() {
        let sizes = |text: &str| {
            text.parse::<Sizes>().map(|sizes| sizes.0.into_iter().map(FrameSize::octets).collect::<Vec<_>>())
        };
        assert_eq!(sizes("1518,64B,64"), Ok(vec![64, 1_518]));
        for bad in ["", "63", "9019", "64,", "-64", "64.5", "x"] {
            assert!(sizes(bad).is_err(), "{bad:?} was accepted");
        }
    }

    #[test]
    fn a_link_layer_address_is_that_of_one_host() {
        assert_eq!(mac("02:00:00:18:00:0a"), Ok(MacAddress([2, 0, 0, 0x18, 0, 10])));
        for bad in [
            "",
            "02:00:00:18:00",
            "02:00:00:18:00:01:02",
            "ff:ff:ff:ff:ff:ff",
            "00:00:00:00:00:00",
            "2:0:0:18:0:1",
            "zz:00:00:18:00:01",
        ] {
            assert!(mac(bad).is_err(), "{bad:?} was accepted");
        }
    }

    #[test]
    fn a_profile_counts_frames_or_octets() {
        let frames = profile("625pps,20").unwrap();
        assert_eq!(
            (frames.unit, frames.rate.to_string(), frames.depth.to_string()),
            (TokenUnit::Frames, "625".into(), "20".into())
        );
        assert_eq!(profile("8Mbit,20kB").unwrap().rate.to_string(), "1000000");
        assert_eq!(profile("8Mbit,20000"), profile("8Mbit,20kB"));
        for bad in ["", "625pps", "625pps,0", "625pps,20B", "8Mbit,20x", "-1pps,2", "8Mbit,0B"] {
            assert!(profile(bad).is_err(), "{bad:?} was accepted");
        }
    }

    #[test]
    fn a_marking_is_of_one_case_or_of_all() {
        let said = |claim: Result<MarkingClaim, String>| claim.unwrap().to_string();
        assert_eq!(
            (said(marking("cs0=46")), said(marking("remark:0=46"))),
            ("cs0=ef".into(), "remark:cs0=ef".into())
        );
        for bad in ["", "ef", "ef=", "ef=64", "a:b=c"] {
            assert!(marking(bad).is_err(), "{bad:?} was accepted");
        }
        assert_eq!(
            (said(vlan("10=untagged")), said(priority("x:untagged=7"))),
            ("10=untagged".into(), "x:untagged=7".into())
        );
        assert_eq!(said(ecn("ect0=3")), "ect0=ce");
        for bad in [
            vlan("10=4095"),
            vlan("10"),
            vlan("-1=2"),
            priority("8=1"),
            priority("5="),
            ecn("ect0=ect9"),
            ecn(""),
        ] {
            assert!(bad.is_err(), "{bad:?} was accepted");
        }
    }

    #[test]
    fn a_case_has_a_name_and_a_command() {
        assert_eq!("a b=x=y".parse(), Ok(CaseArgument { name: "a b".into(), command: "x=y".into() }));
        for bad in ["", "a", "=x", "a=", "a= ", "a\u{1b}=x"] {
            assert!(bad.parse::<CaseArgument>().is_err(), "{bad:?} was accepted");
        }
    }
}
