//! A stream of test frames as an option says it.

use std::ops::RangeInclusive;
use std::str::FromStr;

use romer_bench::options::{AddressRange, Protocol, StreamOptions};
use romer_method::Frames;
use romer_method::schedule::Pace;
use romer_scenario::nearest;
use romer_units::{Dscp, Duration, Ecn};
use romer_wire::ethernet::{Tag, TagProtocol};

use super::values::{Sizes, profile};
use crate::values;

/// All that can be said of a stream.
pub(crate) const KEYS: [&str; 17] = [
    "name",
    "protocol",
    "dscp",
    "ecn",
    "vlan",
    "pcp",
    "source",
    "destination",
    "source-ports",
    "ports",
    "share",
    "weight",
    "frame-size",
    "imix",
    "pace",
    "profile",
    "expect",
];

/// `name=voice,dscp=ef,share=20%`; what is left out is as of a benchmark without streams.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct StreamArgument {
    pub(crate) options: StreamOptions,
    /// Its share of the load was given.
    pub(crate) has_share: bool,
    /// Its pace was given.
    pub(crate) has_pace: bool,
    /// Its weight was given.
    pub(crate) has_weight: bool,
}

impl FromStr for StreamArgument {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut stream = StreamOptions { name: String::new(), ..StreamOptions::default() };
        let (mut vlan, mut priority) = (None, None);
        let pairs = pairs(text)?;
        let has = |wanted: &str| pairs.iter().any(|(key, _)| key == wanted);
        let [has_share, has_pace, has_weight] = ["share", "pace", "weight"].map(has);
        let port = ["source-ports", "ports"].into_iter().find(|key| has(key));
        for (key, value) in &pairs {
            let explain = |why: String| format!("{key}: {why}");
            match key.as_str() {
                "vlan" => vlan = Some(number(value, 1, 4_094).map_err(explain)?),
                "pcp" => priority = Some(number(value, 0, 7).map_err(explain)?),
                _ => set(&mut stream, key, value).map_err(explain)?,
            }
        }
        if has("imix") && has("frame-size") {
            return Err("imix: a stream has a mixture or one size (frame-size); leave one of them out".into());
        }
        if let Some(key) = port.filter(|_| stream.protocol == Protocol::Ip) {
            return Err(format!("{key}: a stream of plain IP (protocol=ip) has no ports; leave it out"));
        }
        if vlan.is_some() || priority.is_some() {
            let priority = u8::try_from(priority.unwrap_or(0)).unwrap_or(0);
            // VLAN 0 is a tag with a priority and no VLAN (IEEE 802.1Q).
            stream.tag = Tag::new(TagProtocol::Customer, priority, false, vlan.unwrap_or(0));
        }
        Ok(Self { options: stream, has_share, has_pace, has_weight })
    }
}

/// The keys and their values. A comma within a value (of a mixture, of a token bucket) is not followed by a key.
fn pairs(text: &str) -> Result<Vec<(String, String)>, String> {
    let mut pairs: Vec<(String, String)> = Vec::new();
    for part in text.split(',') {
        let key = part.split_once('=').filter(|(key, _)| key.len() > 1 && *key != "random");
        match (key, pairs.last_mut()) {
            (Some((key, value)), _) => {
                let key = key.trim();
                if !KEYS.contains(&key) {
                    let shown = romer_units::excerpt(key, 40);
                    let hint = nearest(key, KEYS).map_or_else(
                        || format!("write one of {}", KEYS.join(", ")),
                        |name| format!("did you mean {name}?"),
                    );
                    return Err(format!("a stream has no {shown:?}; {hint}"));
                }
                if pairs.iter().any(|(other, _)| other == key) {
                    return Err(format!("{key} is given twice; give it once"));
                }
                pairs.push((key.into(), value.into()));
            }
            (None, Some((_, value))) => {
                value.push(',');
                value.push_str(part);
            }
            (None, None) => {
                let shown = romer_units::excerpt(part, 40);
                return Err(format!(
                    "{shown:?} is no KEY=VALUE; write name=voice,dscp=ef,share=20%,ports=5001"
                ));
            }
        }
    }
    Ok(pairs)
}

fn set(stream: &mut StreamOptions, key: &str, value: &str) -> Result<(), String> {
    let text = |error: &dyn std::fmt::Display| error.to_string();
    match key {
        "name" if value.is_empty() || value.len() > 64 => {
            return Err("a name has 1 to 64 bytes; write one".into());
        }
        "name" => stream.name = value.into(),
        "protocol" => {
            stream.protocol = match value {
                "udp" => Protocol::Udp,
                "tcp" => Protocol::Tcp,
                "ip" => Protocol::Ip,
                _ => return Err("it is udp, tcp or ip; choose one".into()),
            };
        }
        "dscp" => stream.dscp = value.parse::<Dscp>().map_err(|error| text(&error))?,
        "ecn" => stream.ecn = value.parse::<Ecn>().map_err(|error| text(&error))?,
        "source" => stream.source = Some(addresses(value)?),
        "destination" => stream.destination = Some(addresses(value)?),
        "source-ports" => stream.source_ports = ports(value)?,
        "ports" => stream.destination_ports = ports(value)?,
        "share" => {
            stream.share = values::share(value)?;
            if stream.share <= 0.0 {
                return Err(
                    "a stream without a share sends nothing; write one above 0, or leave the stream out"
                        .into(),
                );
            }
        }
        "weight" => {
            let weight = value.parse::<f64>().ok().filter(|weight| (1e-6..=1e6).contains(weight));
            stream.weight = weight.ok_or("a weight is a number above 0, such as 3; write one")?;
        }
        "frame-size" => {
            let Sizes(sizes) = value.parse()?;
            let [size] = sizes[..] else {
                return Err("a stream has one size; write 512, or imix=simple".into());
            };
            stream.frames = Some(Frames::Size(size));
        }
        "imix" => stream.frames = Some(Frames::Mixture(value.parse().map_err(|error| text(&error))?)),
        "pace" => stream.pace = pace(value)?,
        "profile" => stream.profile = Some(profile(value)?),
        "expect" => {
            stream.expect_drop = match value {
                "pass" => false,
                "drop" => true,
                _ => return Err("it is pass or drop; choose one".into()),
            };
        }
        _ => {}
    }
    Ok(())
}

fn pace(text: &str) -> Result<Pace, String> {
    let (name, setting) = text.split_once(':').unwrap_or((text, ""));
    Ok(match (name, setting) {
        ("constant", "") => Pace::Constant,
        ("poisson", "") => Pace::Poisson,
        ("burst", frames) => Pace::Burst(u32::from(number(frames, 1, u16::MAX)?)),
        ("token-bucket", bucket) => Pace::Bucket(bucket.parse()?),
        ("gap", gap) => {
            let gap = gap.parse::<Duration>().map_err(|error| error.to_string())?;
            if !(Duration::from_nanos(100)..=Duration::from_secs(60)).contains(&gap) {
                return Err("a gap is 100ns to 1m; write one in between, such as 100us".into());
            }
            Pace::Gap(gap)
        }
        _ => {
            return Err(
                "it is constant, poisson, burst:16, token-bucket:16kBps,64B or gap:100us; write one".into()
            );
        }
    })
}

fn addresses(text: &str) -> Result<AddressRange, String> {
    let Some((first, last)) = text.split_once('-') else { return Ok(values::source(text)?.into()) };
    let (first, last) = (values::source(first)?, values::source(last)?);
    AddressRange::new(first, last).ok_or_else(|| {
        format!("{first} to {last} is no range of 1 to 65536 addresses; write FIRST-LAST, such as 198.19.0.10-198.19.0.99")
    })
}

fn ports(text: &str) -> Result<RangeInclusive<u16>, String> {
    let (low, high) = text.split_once('-').unwrap_or((text, text));
    let (low, high) = (number(low, 1, u16::MAX)?, number(high, 1, u16::MAX)?);
    if low > high {
        return Err(format!("the range is empty, {low} to {high}; exchange them"));
    }
    Ok(low..=high)
}

fn number(text: &str, least: u16, most: u16) -> Result<u16, String> {
    let found = text.parse::<u16>().ok().filter(|number| (least..=most).contains(number));
    let shown = romer_units::excerpt(text, 40);
    found.ok_or_else(|| format!("{shown:?} is not a number from {least} to {most}; write one"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<StreamOptions, String> {
        text.parse::<StreamArgument>().map(|stream| stream.options)
    }

    #[test]
    fn a_stream_says_what_it_says_and_is_else_as_any() {
        let stream =
            read("name=voice,dscp=ef,share=20%,ports=5001-5010,pcp=5,vlan=10,pace=burst:16").unwrap();
        assert_eq!(
            (stream.name.as_str(), stream.dscp, stream.destination_ports),
            ("voice", Dscp::EF, 5_001..=5_010)
        );
        assert_eq!(stream.tag.map(|tag| (tag.priority(), tag.vlan())), Some((5, 10)));
        assert_eq!(stream.pace, Pace::Burst(16));
        assert_eq!(stream.protocol, Protocol::Udp);
    }

    #[test]
    fn commas_within_values_stay() {
        let stream =
            read("name=a,pace=token-bucket:16kBps,64B,imix=AAG,A=64B,G=1020B,profile=625pps,20,share=1%")
                .unwrap();
        assert_eq!(stream.profile.map(|profile| [profile.rate, profile.depth]), Some([625.0, 20.0]));
        assert!(matches!(stream.pace, Pace::Bucket(_)));
        assert!(
            matches!(&stream.frames, Some(Frames::Mixture(imix)) if imix.to_string() == "AAG,A=64B,G=1020B")
        );
    }

    #[test]
    fn what_cannot_be_is_told_with_its_key() {
        for (text, says) in [
            ("", "KEY=VALUE"),
            ("dcsp=ef", "did you mean dscp?"),
            ("dscp=ef,dscp=cs1", "given twice"),
            ("dscp=64", "dscp: "),
            ("vlan=4095", "vlan: "),
            ("pcp=8", "pcp: "),
            ("share=120%", "share: "),
            ("share=20", "share: \"20\" has no percent sign; write 20% or 0.2"),
            ("share=0%", "share: a stream without a share sends nothing"),
            ("imix=chadda2004,frame-size=64", "imix: a stream has a mixture or one size"),
            ("ports=0", "ports: "),
            ("ports=9-8", "exchange"),
            ("destination=198.19.0.9-198.19.0.8", "destination: 198.19.0.9 to 198.19.0.8 is no range"),
            ("source=198.19.0.9-2001:2::1", "source: "),
            ("protocol=sctp", "udp, tcp or ip"),
            ("pace=fast", "constant, poisson"),
            ("weight=0", "weight: "),
            ("profile=625pps", "profile: "),
            ("frame-size=64,", "frame-size: "),
            ("expect=dropped", "expect: it is pass or drop"),
        ] {
            let why = read(text).unwrap_err();
            assert!(why.contains(says), "{text}: {why}");
        }
    }
}
