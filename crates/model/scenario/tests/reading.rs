//! What a scenario's words become, and what is wrong with the wrong ones.
#![expect(clippy::unwrap_used, reason = "a test's helpers fail the test")]

mod follows;

use romer_impair::config::{Discipline, Displacement, Model, Order};
use romer_impair::trace::{Between, Trace};
use romer_impair::{Decision, DelayDistribution, Generator, PortId};
use romer_record::warning::{Absorption, EmulationWarning};
use romer_scenario::{Scenario, Supported, decode, parse};
use romer_units::random::Seed;
use romer_units::{Layer, Rate};

fn read(text: &str) -> Result<Scenario, String> {
    parse(text, "s.toml", &mut |file| match file {
        "t.csv" => Ok("1,0,1,0,30000\n2,1,0,2,0\n2,0,0,0,5\n".into()),
        "t.up" => Ok("0\n5\n5\n20\n".into()),
        "m.csv" => Ok("sequence,size,t1_ns,t2_ns,t3_ns,t4_ns\n0,9,1000,500,600,1900\n1,9,2000,,,\n".into()),
        "one-way.csv" => {
            Ok("sequence,size,sent_ns,received_ns\n0,9,1000,5500\n1,9,2000,6600\n2,9,3000,\n".into())
        }
        "late.up" => Ok("10800000\n".into()),
        "delays" => Ok("1ms\n2ms\n".into()),
        "evening.toml" => Ok("about.title=\"evening\"\na_to_b.delay.fixed=\"40ms\"\n".into()),
        "recorded.toml" => Ok("b_to_a.trace={file=\"m.csv\", format=\"measurement\", by=\"time\"}\n".into()),
        "mistyped.toml" => Ok("\na_to_b.los={}\n".into()),
        "seeded.toml" => Ok("seed=[1,2,3,4,5,6]\n".into()),
        "steps.toml" => Ok("[[timeline]]\nat=\"1s\"\n".into()),
        "large.toml" => Ok("#".repeat(1 << 20) + "\n"),
        _ => Err(format!("cannot be read: {file} is not there")),
    })
    .map_err(|error| error.to_string())
    .inspect(|_| assert_eq!(follows::faults(text), [""; 0], "{text}"))
}

/// The whole of the published form.
const WHOLE: &str = r#"
seed=[1,2,3,4,5,6]
generator="mrg"
[a_to_b.loss]
model="gilbert-elliott"
p=0.01
r=0.25
loss_good=0.0
loss_bad="100%"
[a_to_b.duplicate]
model="bernoulli"
probability=0.01
delay="7us"
[a_to_b.reorder]
model="bernoulli"
probability=0.02
displacement={model="uniform", low=1, high=3}
flush="50ms"
[a_to_b.delay]
fixed="30ms"
variable={model="normal", mean="50us", stddev="10us"}
order="fifo"
[a_to_b.corrupt]
model="bernoulli"
probability=0.001
bits=2
repair_checksum=true
[a_to_b.rate]
limit="10Mbit"
layer="l2"
queue={bytes="64KiB", discipline="codel"}
[b_to_a.loss]
model="markov"
step="packets"
transition=[[0.97,0.03],[0.99,0.01]]
initial=2
state=[ {duration=1, probability=0.0}, {duration=10, probability=1.0} ]
[b_to_a.trace]
file="t.up"
format="mahimahi"
[[flow]]
match={dscp="ef", protocol="udp", destination_port=5001}
a_to_b.delay.fixed="1ms"
[[timeline]]
at="10s"
ramp="1s"
a_to_b.delay={fixed="40ms", variable={model="normal", mean="50us", stddev="10us"}, order="fifo"}
[timeline_repeat]
every="60s"
"#;

#[test]
fn the_published_form_becomes_what_it_says() {
    let config = read(WHOLE).unwrap().config;
    assert_eq!((config.seed, config.generator), (Some(Seed([1, 2, 3, 4, 5, 6])), Generator::Mrg));
    let path = config.base.paths[PortId::A.index()][0].clone().unwrap();
    assert_eq!(path.loss, Model::Plain(Decision::GilbertElliott { p: 0.01, r: 0.25, good: 0.0, bad: 1.0 }));
    let Model::Plain(duplicate) = &path.duplicate else { panic!("plain") };
    assert_eq!(duplicate.delay, 7_000);
    let Model::Plain(reorder) = &path.reorder else { panic!("plain") };
    assert_eq!(reorder.displacement, Displacement::Uniform { low: 1, high: 3 });
    assert_eq!((path.flush, path.order), (50_000_000, Order::Fifo));
    let Model::Plain(delay) = &path.delay else { panic!("plain") };
    assert_eq!(delay.fixed, 30_000_000);
    assert_eq!(delay.variable.as_ref().unwrap().law(), &DelayDistribution::Normal { mean: 5e4, stddev: 1e4 });
    assert_eq!((path.corrupt.bits, path.corrupt.repair_checksum), (2, true));
    let rate = path.rate.unwrap();
    assert_eq!((rate.limit, rate.layer, rate.queue), (Rate::Bits(10_000_000), Layer::L2, 65_536));
    assert_eq!(rate.discipline, Discipline::CoDel { target: 5_000_000, interval: 100_000_000 });
    let back = config.base.paths[PortId::B.index()][0].clone().unwrap();
    assert!(matches!(&back.loss, Model::Markov { states, .. } if states.len() == 2));
    assert!(matches!(back.trace.as_deref(), Some(Trace::Opportunities(_))));
    assert_eq!(config.flows[0].dscp, Some(46));
    assert!(config.base.paths[0][1].is_some() && config.base.paths[1][1].is_none());
    assert_eq!(config.repeat, Some(60_000_000_000));
    // The ramp goes from 30 to 40 ms in a thousand steps.
    assert_eq!(config.timeline.len(), 1_000);
    let halfway = config.timeline[499].setting.paths[0][0].clone().unwrap();
    let Model::Plain(delay) = &halfway.delay else { panic!("plain") };
    assert_eq!((config.timeline[499].at, delay.fixed), (10_500_000_000, 35_000_000));
    assert_eq!(config.timeline[999].at, 11_000_000_000);
}

#[test]
fn an_empty_scenario_changes_nothing_and_seeds_of_zeros_ask_for_a_random_one() {
    let config = read("").unwrap().config;
    assert_eq!((config.seed, config.longest_hold()), (None, 0));
    assert_eq!(read("seed=[0,0,0,0,0,0]").unwrap().config.seed, None);
    assert_eq!(read("\r\n# only words\r\n").unwrap().config, config);
    assert_eq!(decode(b"\xef\xbb\xbf[a_to_b]").unwrap(), "[a_to_b]");
}

#[test]
fn traces_and_measured_delays_are_read_from_the_files_that_are_named() {
    let scenario = read("[trace]\nfile=\"t.csv\"\nformat=\"pham\"\n").unwrap();
    for (port, number) in [(0, 1), (1, 2)] {
        let path = scenario.config.base.paths[port][0].clone().unwrap();
        assert!(matches!(path.trace.as_deref(), Some(Trace::ByPacket(entries)) if entries.len() == number));
        assert_eq!(path.order, Order::Fifo);
    }
    let measured = "[a_to_b.trace]\nfile=\"m.csv\"\nformat=\"measurement\"\nby=\"time\"\nfixed=\"3ms\"\n";
    let path = read(measured).unwrap().config.base.paths[0][0].clone().unwrap();
    assert_eq!(path.longest_hold(), 3_000_000);
    for (between, expected) in [("linear", Between::Linear), ("hold", Between::Hold)] {
        let path =
            read(&format!("{measured}between=\"{between}\"\n")).unwrap().config.base.paths[0][0].clone();
        let trace = path.unwrap().trace.clone().unwrap();
        assert!(matches!(*trace, Trace::ByTime { between, .. } if between == expected));
    }
    let by_packet = measured.replace("time", "packet") + "between=\"hold\"\n";
    assert!(read(&by_packet).unwrap_err().to_string().contains("write by = \"time\""));
    let empirical = "[a_to_b.delay]\nvariable={model=\"empirical\", file=\"delays\"}\n";
    let path = read(empirical).unwrap().config.base.paths[0][0].clone().unwrap();
    assert_eq!(path.longest_hold(), 2_000_000);
}

/// A step that names a scenario has its stages and no others, and later steps go on from there; flows stay.
#[test]
fn steps_name_scenarios() {
    let text = "a_to_b.loss.probability=0.1\nb_to_a.delay.fixed=\"7ms\"\n[[flow]]\nmatch.dscp=\"ef\"\n\
        a_to_b.delay.fixed=\"1ms\"\n[[timeline]]\nat=\"1s\"\nscenario=\"evening.toml\"\n[[timeline]]\nat=\"2s\"\n\
        scenario=\"recorded.toml\"\n[[timeline]]\nat=\"3s\"\na_to_b.delay.fixed=\"5ms\"\n[[timeline]]\nat=\"4s\"\n\
        scenario=\"evening.toml\"\n";
    let config = read(text).unwrap().config;
    let evening = read("a_to_b.delay.fixed=\"40ms\"\n").unwrap().config.base;
    let steps: Vec<_> = config.timeline.iter().map(|step| (step.at, &step.setting.paths)).collect();
    assert_eq!(steps.iter().map(|(at, _)| at / 1_000_000_000).collect::<Vec<_>>(), [1, 2, 3, 4]);
    for place in [0, 3] {
        let paths = steps[place].1;
        assert_eq!([&paths[0][0], &paths[1][0]], [&evening.paths[0][0], &evening.paths[1][0]]);
    }
    assert!(steps.iter().all(|(_, paths)| paths[0][1] == config.base.paths[0][1]), "flows stay");
    let recorded = |place: usize| steps[place].1[1][0].as_ref().unwrap().trace.is_some();
    assert_eq!([0, 1, 2, 3].map(recorded), [false, true, true, false]);
    assert_eq!(steps[1].1[0][0].as_ref().unwrap().loss, Model::default());
    let Model::Plain(delay) = &steps[2].1[0][0].as_ref().unwrap().delay else { panic!("plain") };
    assert_eq!(delay.fixed, 5_000_000);
}

/// What is wrong with a scenario of a step is told with its own file and place.
#[test]
fn wrong_step_scenarios_are_refused() {
    let step = |more: &str| read(&format!("[[timeline]]\nat=\"1s\"\n{more}\n")).unwrap_err();
    for (more, place, words) in [
        ("scenario=\"mistyped.toml\"", "mistyped.toml:2:8", "did you mean loss?"),
        ("scenario=\"seeded.toml\"", "seeded.toml:1:6", "take it out"),
        ("scenario=\"steps.toml\"", "steps.toml:1:", "take it out"),
        ("scenario=\"large.toml\"", "s.toml:3:10", "larger than 1024 KiB"),
        ("scenario=\"gone.toml\"", "s.toml:3:10", "is not there"),
        ("scenario=\"evening.toml\"\nb_to_a.loss.probability=0.1", "s.toml:3:10", "write one of them"),
    ] {
        let error = step(more);
        assert!(error.contains(place) && error.contains(words), "{more}: {error}");
    }
}

#[test]
fn what_is_wrong_is_told_with_its_place_and_what_to_do() {
    let cases: &[(&str, &str, &str)] = &[
        ("[a_to_b.loss]\nmodel=\"bernoulli\"\nprobabilty=0.1\n", "s.toml:3:1", "did you mean probability?"),
        ("[a_to_b.los]\n", "s.toml:1:9", "did you mean loss?"),
        ("[atob]\n", "s.toml:1:2", "did you mean a_to_b?"),
        ("a=\n", "s.toml:1:", "is not TOML"),
        ("generator=\"mrg\"\ngenerator=\"mrg\"\n", "s.toml:2:1", "not TOML"),
        ("[a_to_b.rate]\nlimit=\"fast\"\nlayer=\"l2\"\n", "s.toml:2:7", "10Mbit"),
        ("[a_to_b.rate]\nlimit=\"10MB\"\nlayer=\"l2\"\n", "s.toml:2:7", "10Mbit"),
        ("[a_to_b.rate]\nlimit=\"10Mbit\"\n", "s.toml:1:", "has no layer"),
        ("[a_to_b.rate]\nlimit=\"10Mbit\"\nlayer=\"l2\"\nqueue={bytes=64}\n", "s.toml:4:14", "64KiB"),
        ("[a_to_b.rate]\nlimit=\"10Mbit\"\nlayer=\"l2\"\nqueue={bytes=\"10B\"}\n", "s.toml:4:14", "from 64B"),
        ("[a_to_b.delay]\nfixed=30\n", "s.toml:2:7", "is the whole number 30"),
        ("[a_to_b.delay]\nfixed=\"30\"\n", "s.toml:2:7", "no unit"),
        ("[a_to_b.delay]\nfixed=\"2h\"\n", "s.toml:2:7", "from 0ns to 3600s"),
        ("[a_to_b.delay]\nfixed=\"-1ms\"\n", "s.toml:2:7", "from 0ns"),
        ("[a_to_b.delay]\nmodel=\"normal\"\nmean=\"1ms\"\n", "s.toml:2:7", "variable"),
        ("[a_to_b.delay]\nvariable={model=\"gausian\"}\n", "s.toml:2:17", "known are uniform, normal"),
        (
            "[a_to_b.delay]\nvariable={model=\"uniform\", low=\"2ms\", high=\"1ms\"}\n",
            "s.toml:2:10",
            "exchange",
        ),
        ("[a_to_b.delay]\nvariable={model=\"gamma\", scale=\"2ms\", shape=nan}\n", "s.toml:2:45", "above 0"),
        ("[a_to_b.loss]\nprobability=-0.1\n", "s.toml:2:13", "from 0 to 1"),
        ("[a_to_b.loss]\nprobability=inf\n", "s.toml:2:13", "from 0 to 1"),
        ("[a_to_b.loss]\nmodel=\"correlated\"\nprobability=0.1\ncorrelation=1.5\n", "s.toml:4:13", "-1 to 1"),
        (
            "[a_to_b.loss]\nmodel=\"correlated\"\nprobability=0.1\ncorrelation=-0.9\n",
            "s.toml:1:",
            "nothing below",
        ),
        ("[a_to_b.duplicate]\nmodel=\"four-state\"\n", "s.toml:2:7", "known are bernoulli"),
        ("[a_to_b.corrupt]\nmodel=\"markov\"\nprobability=0.1\n", "s.toml:2:7", "known are bernoulli"),
        (
            "[a_to_b.delay]\nvariable={model=\"correlated\", coefficient=0.5, distribution={model=\"correlated\", coefficient=0.5, \
             distribution={model=\"exponential\", mean=\"1ms\"}}}\n",
            "s.toml:2:61",
            "one coefficient",
        ),
        (
            "[a_to_b.trace]\nfile=\"t.up\"\nformat=\"mahimahi\"\ndirection=\"reverse\"\n",
            "s.toml:1:",
            "direction have no effect",
        ),
        ("[a_to_b.corrupt]\nprobability=0.1\nbits=1.5\n", "s.toml:3:6", "a whole number from 1 to 64"),
        ("[a_to_b.corrupt]\nprobability=0.1\nbits=9999999999999999999\n", "s.toml:3:6", "1 to 64"),
        (
            "[a_to_b.reorder]\nprobability=0.1\ndisplacement={model=\"uniform\", low=3, high=1}\n",
            "s.toml:3:14",
            "exchange",
        ),
        ("seed=[1,2,3]\n", "s.toml:1:6", "has 3 numbers"),
        ("seed=[1,2,3,4,5,-6]\n", "s.toml:1:", "from 0 to 4294967295"),
        ("generator=\"mrg\"\nseed=[0,0,0,4,5,6]\n", "s.toml:2:6", "never leaves 0"),
        ("[trace]\nfile=\"gone\"\nformat=\"pham\"\n", "s.toml:2:6", "is not there"),
        ("[trace]\nfile=\"t.up\"\nformat=\"pham\"\n", "s.toml:2:6", "line 1: has 1 column"),
        (
            "[trace]\nfile=\"t.csv\"\nformat=\"pham\"\n[a_to_b.loss]\nprobability=0.1\n",
            "s.toml:1:",
            "both set the fate of packets",
        ),
        (
            "[a_to_b.trace]\nfile=\"t.up\"\nformat=\"mahimahi\"\n[a_to_b.rate]\nlimit=\"1Mbit\"\nlayer=\"l2\"\n",
            "s.toml:1:",
            "both set the departure times",
        ),
        ("[[timeline]]\nat=\"2s\"\n[[timeline]]\nat=\"1s\"\n", "s.toml:4:4", "later"),
        ("[timeline_repeat]\nevery=\"2s\"\n", "s.toml:2:7", "no steps"),
        ("[[timeline]]\nat=\"2s\"\n[timeline_repeat]\nevery=\"2s\"\n", "s.toml:4:7", "longer"),
        ("[[flow]]\nmatch={}\n", "s.toml:2:7", "every packet"),
        ("[[flow]]\nmatch={dscp=64}\na_to_b.delay.fixed=\"1ms\"\n", "s.toml:2:13", "0 to 63"),
        ("[[flow]]\nmatch={dscp=4}\n", "s.toml:1:", "has no direction"),
        ("[[flow]]\nmatch={protocol=\"icmp\", source_port=7}\n", "s.toml:2:7", "only UDP and TCP have ports"),
        ("[[flow]]\nmatch={source=\"::1\", destination=\"192.0.2.1\"}\n", "s.toml:2:7", "different families"),
        ("[[flow]]\nmatch={ethertype=0x0806, dscp=46}\n", "s.toml:2:7", "hold no IP packet"),
        ("[[flow]]\nmatch={ethertype=0x0800, source=\"::1\"}\n", "s.toml:2:7", "other family"),
        (
            "[[flow]]\nmatch={source=\"2001:db8::/32\", destination=\"192.0.2.0/24\"}\n",
            "s.toml:2:7",
            "different families",
        ),
        ("[[flow]]\nmatch={ethertype=0x86dd, source=\"10.0.0.0/8\"}\n", "s.toml:2:7", "other family"),
        ("[[flow]]\nmatch={source=\"192.0.2.0/33\"}\n", "s.toml:2:15", "192.0.2.0/24"),
        ("[[flow]]\nmatch={destination=\"192.0.2.0/\"}\n", "s.toml:2:20", "192.0.2.0/24"),
    ];
    let mut wrong = Vec::new();
    for (text, place, words) in cases {
        let error = read(text).expect_err(text);
        if !error.contains(place) || !error.contains(words) || error.contains('\n') {
            wrong.push(format!("{text:?} at {place} ({words}): {error}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let chain = |states: &str, rows: &str| {
        read(&format!(
            "[a_to_b.loss]\nmodel=\"markov\"\nstep=\"time\"\nstate=[{states}]\ntransition={rows}\n"
        ))
    };
    let two = "{duration=\"5s\", probability=0}, {duration=\"5s\", probability=1}";
    assert!(chain(two, "[[0,1],[1,0]]").is_ok());
    for (states, rows, words) in [
        (two, "[[0.5,0.4],[1,0]]", "row 1 of transition sums to 0.9"),
        (two, "[[0,1]]", "2 states, and 1 rows"),
        ("{duration=\"0s\", probability=0}", "[[1]]", "from 1us"),
        ("{duration=5, probability=0}", "[[1]]", "write a length of time"),
        ("", "[]", "0 states"),
        ("{duration=\"5s\", probability=0, fixed=\"1ms\"}", "[[1]]", "unknown key \"fixed\""),
    ] {
        let error = chain(states, rows).expect_err(rows);
        assert!(error.contains(words), "{error}");
    }
}

#[test]
fn files_that_are_no_text_are_refused_and_deep_ones_do_not_overflow() {
    assert!(decode(b"\xff\xfea\0").unwrap_err().contains("UTF-16"));
    assert!(decode(b"\x00\xc3\x28").unwrap_err().contains("byte 1"));
    let deep = format!("a={}{}", "[".repeat(10_000), "]".repeat(10_000));
    assert!(read(&deep).unwrap_err().contains("not TOML"));
    assert!(read("a=\"\u{1}\"\n").unwrap_err().contains("not TOML"));
}

proptest::proptest! {
    #[test]
    fn whatever_is_written_is_read_or_refused_with_a_place(text in "[a-z_.=\\[\\]{}\"0-9,\\n #-]{0,200}") {
        if let Err(error) = read(&text) {
            proptest::prop_assert!(error.contains("(s.toml:"), "{}", error);
        }
    }

    #[test]
    fn a_scenario_with_one_letter_changed_is_read_or_refused(at in 0..WHOLE.len(), letter in "[ -~]") {
        let mut text = WHOLE.to_owned();
        text.replace_range(at..=at, &letter);
        if let Err(error) = read(&text) {
            proptest::prop_assert!(error.contains("(s.toml:"), "{}", error);
        }
    }
}

#[test]
fn a_log_of_one_way_is_replayed_whichever_way_it_is_put() {
    for way in ["a_to_b", "b_to_a"] {
        let text = format!("[{way}.trace]\nfile=\"one-way.csv\"\nformat=\"measurement\"\nfixed=\"1us\"\n");
        let scenario = read(&text).unwrap();
        let path = scenario
            .config
            .base
            .paths
            .iter()
            .find_map(|flows| flows[0].clone().filter(|path| path.trace.is_some()))
            .unwrap();
        let Some(Trace::ByPacket(entries)) = path.trace.as_deref() else { panic!("{path:?}") };
        let told: Vec<_> = entries.iter().map(|entry| (entry.lost, entry.delay)).collect();
        assert_eq!(told, [(false, 1_000), (false, 1_100), (true, 0)], "above the least, {way}");
    }
}

#[test]
fn a_key_that_is_missing_beside_one_that_looks_like_it_is_told_as_missing() {
    for (keys, missing) in [
        ("model=\"gilbert-elliott\", r=0.1", "p"),
        ("model=\"gilbert-elliott\", p=0.1", "r"),
        ("model=\"four-state\", p31=0.1, p32=0.1, p23=0.1, p14=0.1", "p13"),
        ("model=\"four-state\", p13=0.1, p31=0.1, p32=0.1, p23=0.1", "p14"),
    ] {
        let error = read(&format!("a_to_b.loss={{{keys}}}")).expect_err(keys);
        assert!(error.contains(&format!("has no {missing};")), "{error}");
    }
    let mistyped = read("a_to_b.loss={model=\"gilbert-elliott\", p=0.1, rr=0.1}").unwrap_err();
    assert!(mistyped.contains("unknown key \"rr\"; did you mean r?"), "{mistyped}");
    let of_another = read("a_to_b.loss={probability=0.1, p=0.3}").unwrap_err();
    assert!(of_another.ends_with("unknown key \"p\"; known are model, probability"), "{of_another}");
}

#[test]
fn measured_delays_that_nothing_was_added_to_are_told() {
    let notes = |fixed: &str| {
        let text = format!("[b_to_a.trace]\nfile=\"m.csv\"\nformat=\"measurement\"\n{fixed}");
        read(&text).unwrap().notes
    };
    let relative = EmulationWarning::TraceRelative { setting: "b_to_a.trace".into() };
    assert!(notes("").contains(&relative), "{:?}", notes(""));
    assert_eq!(notes("fixed=\"0s\"\n"), []);
}

#[test]
fn what_is_told_of_a_flow_says_of_which() {
    let normal = "{ variable = { model = \"normal\", mean = \"1ms\", stddev = \"1ms\" } }";
    let flow = "[[flow]]\nmatch = { protocol = \"icmp\" }\n";
    let told = read(&format!(
        "a_to_b.delay={normal}\n{flow}b_to_a.loss.probability=0.5\n{flow}a_to_b.delay={normal}\n"
    ))
    .unwrap()
    .notes;
    let cut = |note: &EmulationWarning| match note {
        EmulationWarning::DelayTruncated { setting, below_zero_ratio } => {
            Some((setting.clone(), format!("{:.4} %", below_zero_ratio * 100.0)))
        }
        _ => None,
    };
    let places: Vec<(String, String)> = told.iter().filter_map(cut).collect();
    let expected = ["a_to_b.delay", "flow[2].a_to_b.delay"];
    assert_eq!(places, expected.map(|setting| (setting.to_owned(), "15.8655 %".to_owned())));
}

#[test]
fn what_of_a_law_lies_above_an_hour_and_what_finds_no_room_are_told() {
    let told = |law: &str| read(&format!("a_to_b.delay = {{ variable = {law} }}\n")).unwrap().notes;
    // (10 ms / 1 h)^shape.
    for (shape, share) in [("0.5", 0.001_667), ("1", 2.778e-6)] {
        let notes = told(&format!("{{ model = \"pareto\", scale = \"10ms\", shape = {shape} }}"));
        let [EmulationWarning::DelayLimited { above_ratio, .. }] = notes[..] else { panic!("{notes:?}") };
        assert!((above_ratio / share - 1.0).abs() < 1e-3, "{above_ratio}");
    }
    assert_eq!(told("{ model = \"exponential\", mean = \"1s\" }"), []);
    let queue = |octets: &str| {
        let rate = format!(
            "a_to_b.rate = {{ limit = \"1Mbit\", layer = \"l2\", queue = {{ bytes = \"{octets}\" }} }}\n"
        );
        read(&rate).unwrap().notes
    };
    let short = EmulationWarning::QueueShort { setting: "a_to_b.rate".into(), queue_bytes: 64 };
    assert_eq!(queue("64B"), [short]);
    assert_eq!(queue("1518B"), []);
}

#[test]
fn a_recorded_link_that_is_silent_for_long_is_told() {
    let notes =
        |file: &str| read(&format!("[a_to_b.trace]\nfile=\"{file}\"\nformat=\"mahimahi\"\n")).unwrap().notes;
    let chain = |row: &str| {
        let text = format!(
            "[a_to_b.loss]\nmodel=\"markov\"\nstep=\"packets\"\ntransition=[[0.5,0.5],{row}]\n[[a_to_b.loss.state]]\n\
             duration=1\nprobability=0.0\n[[a_to_b.loss.state]]\nduration=1\nprobability=1.0\n"
        );
        read(&text).unwrap().notes
    };
    let absorbed = |states: &[usize], certainty, [min, max]: [f64; 2]| EmulationWarning::ChainAbsorbed {
        setting: "a_to_b.loss".into(),
        states: states.to_vec(),
        certainty,
        min_loss_ratio: Some(min),
        max_loss_ratio: Some(max),
    };
    assert_eq!(chain("[0.0,1.0]"), [absorbed(&[2], Absorption::Certain, [1.0; 2])]);
    assert_eq!(chain("[0.1,0.9]"), []);
    // Parts of several states, and several parts.
    let chain = |transition: &str| {
        let state = |share: f64| format!("[[a_to_b.loss.state]]\nduration=1\nprobability={share:?}\n");
        let states: String = [0.0, 0.07, 1.0].map(state).concat();
        let text =
            format!("[a_to_b.loss]\nmodel=\"markov\"\nstep=\"packets\"\ntransition=[{transition}]\n{states}");
        read(&text).unwrap().notes
    };
    assert_eq!(
        chain("[0.9,0.1,0.0],[0.0,0.5,0.5],[0.0,0.5,0.5]"),
        [absorbed(&[2, 3], Absorption::Certain, [0.07, 1.0])]
    );
    assert_eq!(
        chain("[0.0,0.5,0.5],[0.0,1.0,0.0],[0.0,0.0,1.0]"),
        [absorbed(&[2], Absorption::Possible, [0.07; 2]), absorbed(&[3], Absorption::Possible, [1.0; 2])]
    );
    assert_eq!(
        chain("[0.5,0.5,0.0],[0.5,0.5,0.0],[0.0,0.5,0.5]"),
        [absorbed(&[1, 2], Absorption::Initial, [0.0, 0.07])]
    );
    assert_eq!(chain("[0.0,1.0,0.0],[0.0,0.0,1.0],[1.0,0.0,0.0]"), [], "each comes again");
    let silent =
        EmulationWarning::TraceSilent { setting: "a_to_b.trace".into(), silence_ns: 10_800_000_000_000 };
    assert_eq!(notes("late.up"), [silent]);
    assert!(notes("t.up").is_empty());
}

/// Delays that are a process in time have one of two keys, and a note where order does not allow the time.
#[test]
fn delays_in_time_are_read() {
    let text = |keys: &str| {
        format!(
            "[a_to_b.delay]\nvariable={{model=\"correlated\", distribution={{model=\"gamma\", shape=2, scale=\"1ms\"}}{keys}}}\n"
        )
    };
    let scenario = read(&text(", time=\"50ms\"")).unwrap();
    let path = scenario.config.paths().next().unwrap();
    let variable = path.delay.all().next().unwrap().variable.as_ref().unwrap();
    assert_eq!(variable.process().unwrap().time(), 50_000_000);
    assert!(scenario.notes.is_empty(), "{:?}", scenario.notes);
    let notes = read(&text(", time=\"1ms\"")).unwrap().notes;
    assert!(matches!(notes[..], [EmulationWarning::CorrelationTimeRaised { requested_ns: 1_000_000, .. }]));
    let law = "[a_to_b.delay]\nvariable={model=\"correlated\", time=\"1h\", distribution={model=\"uniform\", low=\"1ms\", high=\"2ms\"}}\n";
    let steps = |count: usize| -> String {
        let step = |n| format!("[[timeline]]\nat=\"{n}s\"\n{}", law.replace("[a_", "[timeline.a_"));
        (0..count).map(step).collect()
    };
    assert!(read(&steps(128)).is_ok());
    assert!(read(&steps(129)).unwrap_err().to_string().contains("more than 128"));
    for (keys, words) in [("", "no correlation"), (", time=\"1ms\", coefficient=0", "take one of them out")] {
        assert!(read(&text(keys)).unwrap_err().to_string().contains(words), "{keys}");
    }
}

/// Regimes have the stages of the direction and their own, and a step of the timeline does not change them by halves.
#[test]
fn regimes_are_read() {
    let text = "[a_to_b.delay]\nfixed=\"1ms\"\n[a_to_b.regimes]\nstep=\"10ms\"\ntransition=[[0.9,0.1],[0.5,0.5]]\n\
                state=[{}, {delay={fixed=\"9ms\"}, loss={probability=1}, rate={limit=\"1Mbit\", layer=\"l2\"}}]\n";
    let scenario = read(text).unwrap();
    let paths: Vec<_> = scenario.config.paths().filter(|path| path.delay != Model::default()).collect();
    let fixed: Vec<_> = paths.iter().flat_map(|path| path.delay.all()).map(|delay| delay.fixed).collect();
    assert_eq!(fixed, [1_000_000, 9_000_000]);
    assert!(paths[0].rate.is_none() && paths[1].rate.is_some());
    assert_eq!(scenario.config.longest_hold(), 9_000_000);
    assert!(
        matches!(&scenario.notes[..], [EmulationWarning::StateChangesWait { setting }] if setting == "a_to_b.regimes")
    );
    for (wrong, words) in [
        (text.replace("[0.5,0.5]", "[0.5,0.4]"), "the sum 0.9"),
        (text.replace("[0.9,0.1],[0.5,0.5]", "[0,1],[1,0]"), "does not forget"),
        (format!("{text}[[timeline]]\nat=\"1s\"\na_to_b.loss.probability=0\n"), "write its regimes, too"),
        (format!("{text}[a_to_b.trace]\nfile=\"m.csv\"\nformat=\"measurement\"\n").replace("[a_to_b.delay]\nfixed=\"1ms\"\n", ""), "has a trace"),
        (format!("{text}[[timeline]]\nat=\"1s\"\na_to_b.regimes={{model=\"none\", step=\"1s\"}}\n"), "step"),
        (
            text.replace("state=[{}", "state=[{loss={model=\"markov\", step=\"packets\", transition=[[1]], state=[{duration=1, probability=1}]}}"),
            "chain of its own in loss",
        ),
    ] {
        let told = read(&wrong).unwrap_err().to_string();
        assert!(told.contains(words), "{told}");
    }
}

/// A step of the timeline ends regimes, and its direction may then have chains of single stages.
#[test]
fn regimes_end() {
    let chain = "model=\"markov\", step=\"time\", transition=[[0.5,0.5],[0.5,0.5]], \
                 state=[{duration=\"1s\", probability=0}, {duration=\"1s\", probability=1}]";
    let text = format!(
        "[a_to_b.regimes]\nstep=\"10ms\"\ntransition=[[0.9,0.1],[0.5,0.5]]\nstate=[{{}}, {{loss={{probability=1}}}}]\n\
         [[timeline]]\nat=\"1s\"\na_to_b.loss={{{chain}}}\na_to_b.regimes.model=\"none\"\n"
    );
    let config = read(&text).unwrap().config;
    let path = config.timeline[0].setting.paths[0][0].as_ref().unwrap();
    assert!(path.regimes.is_none() && matches!(path.loss, Model::Markov { .. }));
    assert!(config.base.paths[0][0].as_ref().unwrap().regimes.is_some());
}

/// The limits of a measurement are read, and what is not stated is unknown.
#[test]
fn supported_traffic_is_read() {
    let text = "[about.supported]\nmin_spacing=\"5ms\"\nmax_size=\"228B\"\nmax_load=\"64kbit\"\n[a_to_b.loss]\nprobability=0.1\n";
    let expected = Supported {
        min_spacing: Some(5_000_000),
        max_size: Some(228),
        max_load: Some(Rate::Bits(64_000)),
        ..Supported::default()
    };
    assert_eq!(read(text).unwrap().about.supported, expected);
}
