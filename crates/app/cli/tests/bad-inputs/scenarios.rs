//! Scenarios, traces and arrivals with one fault each.

use std::fs;
use std::path::Path;

use romer_testing::pcap;

/// A scenario with this fault. Where the fault is a trace's, `pham-FAULT` or `mahimahi-FAULT`, the trace stands beside it
/// as `t.trace`.
pub(crate) fn scenario(fault: &str, folder: &Path) -> Vec<u8> {
    if let Some((format, fault)) =
        fault.split_once('-').filter(|(format, _)| ["pham", "mahimahi"].contains(format))
    {
        let place = folder.join("t.trace");
        if fault == "loop" {
            std::os::unix::fs::symlink(&place, &place).unwrap();
        } else if fault != "missing" {
            fs::write(place, trace(format, fault)).unwrap();
        }
        let table = if format == "pham" { "trace" } else { "a_to_b.trace" };
        return format!("[{table}]\nfile = \"t.trace\"\nformat = \"{format}\"\n").into();
    }
    let loss = |line: &str| format!("[a_to_b.loss]\nmodel = \"bernoulli\"\n{line}\n").into_bytes();
    let delay = |variable: &str| format!("[a_to_b.delay]\nvariable = {{ {variable} }}\n").into_bytes();
    let chain = |rows: &str, states: &str| {
        format!(
            "[a_to_b.loss]\nmodel = \"markov\"\nstep = \"packets\"\ntransition = {rows}\nstate = {states}\n"
        )
        .into_bytes()
    };
    match fault {
        "good" => loss("probability = 0.5"),
        "empty" => Vec::new(),
        "binary" => (0..=255).collect(),
        "utf16" => b"\xff\xfes\0e\0e\0d\0".into(),
        "mark" => [b"\xef\xbb\xbf", loss("probability = 0.5").as_slice()].concat(),
        "returns" => String::from_utf8(loss("probability = 0.5")).unwrap().replace('\n', "\r\n").into(),
        "syntax" => loss("probability = = 1"),
        "twice" => loss("probability = 0.1\nprobability = 0.2"),
        "mistyped" => loss("probabilty = 0.1"),
        "words" => b"[a_to_b.rate]\nlimit = \"fast\"\n".into(),
        "number-for-words" => b"[a_to_b.rate]\nlimit = 7\n".into(),
        "overflow" => b"[a_to_b.reorder]\nmodel = \"bernoulli\"\nprobability = 0.1\n\
                        displacement = { model = \"uniform\", low = 1, high = 9999999999999999999 }\n"
            .into(),
        "fraction" => b"[a_to_b.corrupt]\nmodel = \"bernoulli\"\nprobability = 0.1\nbits = 1.5\n".into(),
        "nan" => loss("probability = nan"),
        "infinite" => loss("probability = inf"),
        "negative" => loss("probability = -0.1"),
        "above-one" => loss("probability = \"101%\""),
        "deep" => format!("seed = {}{}\n", "[".repeat(10_000), "]".repeat(10_000)).into(),
        "huge" => vec![b'#'; (1 << 20) + 1],
        "unknown-law" => delay("model = \"gausian\", mean = \"1ms\", stddev = \"1us\""),
        "law-without" => delay("model = \"normal\", mean = \"1ms\""),
        "ends-exchanged" => delay("model = \"uniform\", low = \"2ms\", high = \"1ms\""),
        "correlation" => {
            b"[a_to_b.loss]\nmodel = \"correlated\"\nprobability = 0.1\ncorrelation = 1.5\n".into()
        }
        "nul" => loss("probability = \"1\0%\""),
        "escape" => loss("\"\x1b[31m\" = 1"),
        "escaped" => loss("\"\\u001b[31m\" = 1"),
        "date" => b"seed = 2026-13-45\n".into(),
        "seed" => b"seed = [1, 2, 3]\n".into(),
        "rows" => chain(
            "[[0.5, 0.6], [1, 0]]",
            "[{ duration = 1, probability = 0 }, { duration = 1, probability = 1 }]",
        ),
        "ragged" => {
            chain("[[1], [1, 0]]", "[{ duration = 1, probability = 0 }, { duration = 1, probability = 1 }]")
        }
        "states" => chain("[[0.5, 0.5], [1, 0]]", "[{ duration = 1, probability = 0 }]"),
        "no-duration" => chain("[[1]]", "[{ duration = 0, probability = 0 }]"),
        "rate-zero" => b"[a_to_b.rate]\nlimit = \"0bit\"\n".into(),
        "no-file" => delay("model = \"empirical\", file = \"nowhere.txt\""),
        "timeline-back" => b"[[timeline]]\nat = \"5s\"\n[[timeline]]\nat = \"1s\"\n".into(),
        "ramps" => {
            let ramp = |number| {
                format!(
                    "[[timeline]]\nat = \"{number}s\"\nramp = \"1s\"\na_to_b.delay.fixed = \"{number}ms\"\n"
                )
            };
            (0..70).map(ramp).collect::<String>().into_bytes()
        }
        "delay-too-long" => b"[a_to_b.delay]\nfixed = \"2h\"\n".into(),
        "bare-number" => b"[a_to_b.delay]\nfixed = 30\n".into(),
        _ => panic!("no scenario has the fault {fault}"),
    }
}

fn trace(format: &str, fault: &str) -> Vec<u8> {
    let good = if format == "pham" { "1,0,0,0,1000\n2,0,0,0,1000\n" } else { "1\n5\n" };
    let with = |line: &str| format!("{good}{line}\n").into_bytes();
    match fault {
        "good" => good.into(),
        "empty" => Vec::new(),
        "comments" => b"# nothing\n# at all\n".into(),
        "header" => b"delay,loss\n1,0,0,0,1\n".into(),
        "millis" => b"port,loss,duplication,reorder_distance,delay_ms\n1,0,0,0,30\n".into(),
        "unitless" => b"port,loss,duplication,reorder_distance,delay\n1,0,0,0,30\n".into(),
        "columns" => with("1,0,0,0"),
        "port" => with("3,0,0,0,1"),
        "negative" => with("1,0,0,0,-1"),
        "nan" => with("1,0,0,0,NaN"),
        "far" => with("1,0,0,0,1e300"),
        "hour" => with("1,0,0,0,3600000001"),
        "maybe" => with("1,maybe,0,0,1"),
        "copies" => with("1,0,1000000000,0,1"),
        "distance" => with("1,0,0,9,1"),
        "semicolons" => b"1;0;0;0;1,5\n".into(),
        "utf16" => b"\xff\xfe1\0".into(),
        "nul" => with("1,0,0,0,\0"),
        "escape" => with("1,0,0,0,\x1b[31m"),
        "long" => with(&"7".repeat(100_000)),
        "returns" => good.replace('\n', "\r").into(),
        "back" => with("3"),
        "same" => with("5\n5"),
        "zero" => b"0\n0\n".into(),
        "fraction" => with("7.5"),
        "word" => with("soon"),
        _ => panic!("no trace has the fault {fault}"),
    }
}

/// A capture in pcap: its link type, and of each packet seconds, octets kept and octets in all.
fn capture(link: u32, packets: &[(u32, u32, u32)]) -> Vec<u8> {
    snapped(65_535, link, packets)
}

/// The same, of a file that says it keeps so many octets of a packet at most.
fn snapped(snap: u32, link: u32, packets: &[(u32, u32, u32)]) -> Vec<u8> {
    let mut file = pcap::file(snap, link);
    for (seconds, kept, whole) in packets {
        let there = vec![2; usize::try_from(*kept).unwrap().min(1_000)];
        pcap::add(&mut file, i64::from(*seconds) * 1_000_000_000, [*kept, *whole], &there);
    }
    file
}

/// A block of pcapng.
fn block(kind: u32, body: &[u8]) -> Vec<u8> {
    let length = u32::try_from(body.len() + 12).unwrap().to_le_bytes();
    [&kind.to_le_bytes(), &length, body, &length].concat()
}

/// A capture in pcapng of one interface with these options, and this block behind it.
fn pcapng(options: &[u8], last: &[u8]) -> Vec<u8> {
    let section =
        block(0x0a0d_0d0a, &[&0x1a2b_3c4d_u32.to_le_bytes()[..], &[1, 0, 0, 0], &[0xff; 8]].concat());
    let interface = block(1, &[&[1, 0, 0, 0, 0, 0, 0, 0], options].concat());
    [section.as_slice(), &interface, last].concat()
}

/// An enhanced packet of interface `number`.
fn enhanced(number: u32) -> Vec<u8> {
    let words = [number, 0, 1_000, 60, 60].map(u32::to_le_bytes).concat();
    block(6, &[words.as_slice(), &[2; 60]].concat())
}

/// Arrivals with this fault.
pub(crate) fn arrivals(fault: &str) -> Vec<u8> {
    match fault {
        "good" => b"time_ns,port,size\n0,a,64\n1000,b,64\n".into(),
        "none" => Vec::new(),
        "letter" => b"a letter to a friend\n".into(),
        "port" => b"0,a,64\n1,c,64\n".into(),
        "negative" => b"-1,a,64\n".into(),
        "size" => b"0,a,0\n".into(),
        "long" => "7".repeat(100_000).into(),
        "binary" => (128..=255).collect(),
        "back" => b"5,a,64\n3,a,64\n".into(),
        "pcap" => capture(1, &[(1, 60, 60), (2, 60, 1_514)]),
        "pcap-back" => capture(1, &[(2, 60, 60), (1, 60, 60)]),
        "pcap-cut" => {
            let whole = capture(1, &[(1, 60, 60), (2, 60, 60)]);
            whole[..whole.len() - 7].into()
        }
        "pcap-sll" => capture(113, &[(1, 60, 60)]),
        "pcap-length" => capture(1, &[(1, 60, 60), (2, u32::MAX, u32::MAX)]),
        "pcap-joined" => capture(1, &[(1, 60, 70_000)]),
        "pcap-gro" => {
            let mut file = capture(1, &[(1, 60, 1_514)]);
            for second in 2_u32..5 {
                let whole = if second == 3 { 65_226_u32 } else { 2_962 };
                for word in [second, 0, 54, whole] {
                    file.extend(word.to_le_bytes());
                }
                file.extend([2; 12]);
                let [high, low] = u16::try_from(whole - 14).unwrap().to_be_bytes();
                file.extend([8, 0, 0x45, 0, high, low, 0, 1, 0x40, 0, 64, 6, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
                file.extend([0, 80, 0, 81, 0, 0, 0, 1, 0, 0, 0, 1, 0x50, 0x10, 1, 0, 0, 0, 0, 0]);
            }
            file
        }
        "pcap-snap" => {
            let mut packets = vec![(1, 60, 60); 16];
            packets.push((2, 61, 61));
            snapped(60, 1, &packets)
        }
        "returns" => b"time_ns,port,size\r0,a,64\r1000,b,64\r".into(),
        "gzip" => vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3],
        "zstd" => vec![0x28, 0xb5, 0x2f, 0xfd, 0x24, 0],
        "wide" => b"0,a,64\n1000,b,65575\n".into(),
        "pcap-header" => capture(1, &[])[..10].into(),
        "pcapng" => pcapng(&[], &enhanced(0)),
        "pcapng-interface" => pcapng(&[], &enhanced(7)),
        // if_tsresol of 2^-127.
        "pcapng-resolution" => pcapng(&[9, 0, 1, 0, 0xff, 0, 0, 0, 0, 0, 0, 0], &enhanced(0)),
        "pcapng-length" => pcapng(&[], &[9, 0, 0, 0, 15, 0, 0, 0, 1, 2, 3, 15, 0, 0, 0]),
        _ => panic!("no arrivals have the fault {fault}"),
    }
}
