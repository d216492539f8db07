//! What the figures of a page show, by the numbers that its script draws.
#![expect(clippy::unwrap_used, reason = "a test's helpers fail the test")]

mod common;

use common::{Made, bad, good, make};
use romer_record::document::{ClockEvent, Measurement, ProbeDirection};
use romer_record::finding::{Finding, Pattern};
use romer_record::voice::{BufferChoice, LossBasis, Playout, Rating, VariationBasis, Voice};
use romer_record::{Fate, OneWaySingleton};
use romer_report::comparison::Subject;
use romer_report::html;
use romer_units::{Duration, Timestamp};
use serde_json::Value;

/// The figures in a page.
fn drawn(page: &str) -> Vec<Value> {
    let (_, data) = page.split_once("id=\"figures\">").unwrap();
    serde_json::from_str(data.split_once("</script>").unwrap().0).unwrap()
}

fn of(made: &Made) -> Vec<Value> {
    drawn(&html::report(&[made.stream()]).unwrap())
}

/// What a layer draws of single packets: its points, and those that stand apart from them.
fn singles(layer: &Value) -> Vec<[f64; 2]> {
    let all = ["points", "far"].into_iter().filter_map(|part| layer[part].as_array()).flatten();
    all.map(|point| [0, 1].map(|place| point[place].as_f64().unwrap())).collect()
}

fn named<'a>(figures: &'a [Value], name: &str) -> Option<&'a Value> {
    figures.iter().find(|figure| figure["name"] == name)
}

/// The rectangles of a strip as shares of its length, with their opacity, by the colour of their layer.
fn bars(figure: &Value, ink: &str) -> Vec<[f64; 3]> {
    let end = figure["x"]["to"].as_f64().unwrap();
    let layers = figure["layers"].as_array().unwrap().iter().filter(|layer| layer["ink"] == ink);
    layers
        .flat_map(|layer| layer["points"].as_array().unwrap())
        .map(|bar| {
            let at = |place: usize| bar[place].as_f64().unwrap();
            [at(0) / end, at(1) / end, at(4)]
        })
        .collect()
}

#[test]
fn losses_stand_where_they_were_and_in_the_shade_of_their_share() {
    let mut made = make(&good());
    assert!(named(&of(&made), "loss").is_none(), "nothing is lost");
    // All of the third quarter, and every fourth of the last.
    for singleton in &mut made.forward {
        let gone = (750..1_125).contains(&singleton.sequence)
            || singleton.sequence >= 1_125 && singleton.sequence.is_multiple_of(4);
        if gone {
            (singleton.fate, singleton.arrival, singleton.delay) = (Fate::Lost, None, None);
        }
    }
    let figures = of(&made);
    let there = bars(named(&figures, "loss").unwrap(), "forward");
    assert!(there.iter().all(|[from, ..]| *from >= 0.497), "{there:?}");
    let whole: f64 =
        there.iter().filter(|bar| bar[2] > 0.9 && bar[0] < 0.74).map(|[from, to, _]| to - from).sum();
    assert!((whole - 0.25).abs() < 0.01, "{there:?}");
    assert!(there.iter().any(|bar| bar[0] > 0.8 && bar[2] < 0.9), "a fourth is lighter: {there:?}");
    assert_eq!(bars(named(&figures, "loss").unwrap(), "reverse"), Vec::<[f64; 3]>::new());
}

/// Traffic of Qtcp has a chart of delays by sequence number, with the lost packets; periodic traffic has none.
#[test]
fn delays_of_qtcp_are_drawn_by_number() {
    let mut made = make(&good());
    assert!(named(&of(&made), "delay-by-number").is_none());
    made.measurement.traffic.model = "token-bucket:16kBps,64B".into();
    let lost = &mut made.forward[700];
    (lost.fate, lost.arrival, lost.delay) = (Fate::Lost, None, None);
    let numbers = [lost.sequence, made.forward.last().unwrap().sequence];
    let [lost, last] = numbers.map(|number| f64::from(u32::try_from(number).unwrap()));
    let figures = of(&made);
    let figure = named(&figures, "delay-by-number").unwrap();
    assert_eq!(
        (&figure["x"]["title"], figure["x"]["to"].as_f64()),
        (&Value::from("sequence number"), Some(last))
    );
    let layers = figure["layers"].as_array().unwrap();
    let forward = layers.iter().filter(|layer| layer["ink"] == "forward").flat_map(singles);
    assert!(forward.into_iter().all(|[number, _]| (number - lost).abs() > 0.4));
    assert!(layers.iter().any(|layer| layer["ink"] == "bad"), "{figure}");
}

#[test]
fn a_column_of_losses_tells_how_many_of_how_many_and_the_caption_what_it_is() {
    let made = make(&common::Path { probes: 20_000, ..bad() });
    let page = html::report(&[made.stream()]).unwrap();
    let figures = drawn(&page);
    let loss = named(&figures, "loss").unwrap();
    let number = figures.iter().position(|one| one["name"] == "loss").unwrap();
    let section = page.split_once(&format!("data-figure=\"{number}\"")).unwrap().1;
    let caption = section.split_once("<figcaption>").unwrap().1.split_once("</figcaption>").unwrap().0;
    assert!(
        caption.contains("up to 50 probes") && caption.contains("1\u{a0}% to 100 % (logarithmic)"),
        "{caption}"
    );
    let [rows, lines] = ["rows", "lines"].map(|part| &loss["y"][part]);
    assert_eq!(rows, 2);
    // Each strip has its decades, from a hundredth to all, and names them; what all begin with is named once.
    let lines = lines.as_array().unwrap();
    let named: Vec<_> =
        lines.iter().filter(|line| line[2] == true).map(|line| line[1].as_i64().unwrap()).collect();
    assert_eq!((lines.len(), &named[..]), (6, &[-2, -1, 0, -1, 0][..]));
    for (ink, singletons) in [("forward", &made.forward), ("reverse", &made.reverse)] {
        let layers = loss["layers"].as_array().unwrap().iter().filter(|layer| layer["ink"] == ink);
        let columns: Vec<_> = layers.flat_map(|layer| layer["points"].as_array().unwrap()).collect();
        let total: u64 = columns.iter().map(|column| column[5].as_u64().unwrap()).sum();
        assert_eq!(total, singletons.iter().filter(|one| one.fate == Fate::Lost).count() as u64, "{ink}");
        for column in columns {
            let at = |place: usize| column[place].as_f64().unwrap();
            let (bottom, high, share) = (at(2), at(3) - at(2), at(5) / at(6));
            let due = (share.log10() + 2.0) / 2.0 * 0.42;
            assert!((high - due).abs() < 1e-3, "{share} is {high} high over {bottom}, and {due} is due");
        }
    }
    // In the chart on paper each strip has a scale, too.
    let drawing = section.split_once("<svg").unwrap().1.split_once("</svg>").unwrap().0;
    assert_eq!(drawing.matches("100 %").count() + drawing.matches("100\u{a0}%").count(), 2, "{drawing}");
}

#[test]
fn a_tail_is_drawn_as_the_steps_that_it_is() {
    let figures = of(&make(&good()));
    let tail = named(&figures, "tail").unwrap();
    for layer in tail["layers"].as_array().unwrap() {
        let points = layer["points"].as_array().unwrap();
        assert!(points.windows(2).all(|pair| pair[0][0] == pair[1][0] || pair[0][1] == pair[1][1]));
        assert_eq!(points[0][1], 0.0, "all took at least as long as the quickest");
        assert_eq!(points.last().unwrap()[1], tail["y"]["from"], "none took longer than the slowest");
    }
}

#[test]
fn what_came_out_of_order_or_twice_stands_where_it_was_sent() {
    let mut made = make(&good());
    assert!(named(&of(&made), "order").is_none(), "all in order, each once");
    // Of the second quarter every tenth comes 50 ms late, after the two behind it.
    for singleton in &mut made.forward {
        if (375..750).contains(&singleton.sequence) && singleton.sequence.is_multiple_of(10) {
            singleton.arrival = singleton.arrival.map(|time| time + Duration::from_millis(50));
        }
    }
    // Of the last quarter some replies come twice.
    let twice: Vec<_> =
        made.reverse.iter().filter(|one| one.sequence >= 1_200 && one.sequence < 1_210).copied().collect();
    for copy in twice {
        let place = made.reverse.iter().position(|one| one.sequence == copy.sequence).unwrap();
        made.reverse.insert(place + 1, OneWaySingleton { copy: 1, ..copy });
    }
    // One comes twice there, in the first quarter.
    let twice = *made.forward.iter().find(|one| one.sequence >= 150 && one.arrival.is_some()).unwrap();
    let place = made.forward.iter().position(|one| one.sequence == twice.sequence).unwrap();
    made.forward.insert(place + 1, OneWaySingleton { copy: 1, ..twice });
    let figures = of(&made);
    let order = named(&figures, "order").unwrap();
    let mut inks: Vec<_> =
        order["legend"].as_array().unwrap().iter().map(|one| one[1].as_str().unwrap()).collect();
    inks.sort_unstable();
    assert_eq!(inks, ["faint", "forward", "round"], "a colour each");
    let there = bars(order, "round");
    assert!(there.len() == 1 && there[0][0] < 0.11 && there[0][1] > 0.09, "{there:?}");
    let late = bars(order, "forward");
    assert!(!late.is_empty() && late.iter().all(|[from, to, _]| *from >= 0.245 && *to <= 0.505), "{late:?}");
    let copies = bars(order, "faint");
    assert!(
        !copies.is_empty() && copies.iter().all(|[from, to, _]| *from >= 0.79 && *to <= 0.82),
        "{copies:?}"
    );
}

#[test]
fn times_between_packets_are_drawn_one_by_one_and_the_longest_stays() {
    let mut made = make(&good());
    // One departure an interval late: 40 ms before it, none after.
    let late = made.forward[700].departure.unwrap();
    made.forward[700].departure = Some(Timestamp::from_nanos(late.as_nanos() + 19_000_000));
    let figures = of(&made);
    for (name, layers) in [("inter-transmission", 1), ("inter-reception", 2)] {
        let figure = named(&figures, name).unwrap();
        let clouds: Vec<_> =
            figure["layers"].as_array().unwrap().iter().filter(|layer| layer["kind"] == "points").collect();
        assert_eq!(clouds.len(), layers, "{name}");
        let near = clouds[0]["points"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|point| (point[1].as_f64().unwrap() - 20.0).abs() < 1.0);
        assert!(near.count() > 250, "most are the interval of 20 ms apart: {name}");
    }
    let left = named(&figures, "inter-transmission").unwrap();
    let (above, to) = (&left["layers"][1], left["y"]["to"].as_f64().unwrap());
    let drawn = left["layers"][0]["points"].as_array().unwrap();
    let longest = drawn.iter().map(|point| point[1].as_f64().unwrap()).fold(0.0, f64::max);
    assert!(
        longest > 38.0 || (to < 39.0 && !above["points"].as_array().unwrap().is_empty()),
        "{longest} of {to}"
    );
    let shape = named(&figures, "location-shape").unwrap();
    assert_eq!(shape["legend"].as_array().unwrap().len(), 4, "both ends, both ways");
}

/// Delay variation keeps its sign: one packet that is 30 ms late makes one value of +30 ms and one of -30 ms, over time and in
/// the histogram; the four histograms stand together.
#[test]
fn delay_variation_is_signed() {
    let mut made = make(&good());
    let late = Duration::from_millis(30);
    let packet = &mut made.forward[700];
    packet.delay = packet.delay.map(|delay| delay + late);
    packet.arrival = packet.arrival.map(|arrival| arrival + late);
    let figures = of(&made);
    let ipdv = named(&figures, "ipdv").unwrap();
    let forward = ipdv["layers"].as_array().unwrap().iter().filter(|layer| layer["ink"] == "forward");
    let values: Vec<f64> = forward.flat_map(singles).map(|[_, y]| y).collect();
    let [least, most] =
        [values.iter().copied().fold(0.0, f64::min), values.iter().copied().fold(0.0, f64::max)];
    assert!((-31.0..-28.0).contains(&least) && (28.0..31.0).contains(&most), "{least}, {most}");
    let axis = &named(&figures, "histogram-ipdv").unwrap()["x"];
    assert!(axis["from"].as_f64().unwrap() < 0.0 && axis["to"].as_f64().unwrap() > 0.0, "{axis}");
    let names: Vec<&str> = figures.iter().filter_map(|figure| figure["name"].as_str()).collect();
    let four = ["histogram", "histogram-ipdv", "histogram-departures", "histogram-arrivals"];
    assert!(names.windows(4).any(|window| window == four), "{names:?}");
}

#[test]
fn what_draws_some_points_for_many_tells_what_is_in_each_stretch() {
    let made = make(&common::Path { probes: 20_000, interval_ns: 200_000_000, ..bad() });
    let figures = of(&made);
    let arrived =
        |singletons: &[OneWaySingleton]| singletons.iter().filter(|one| one.fate == Fate::Arrived).count();
    let first = |singletons: &[OneWaySingleton]| {
        singletons.iter().filter(|one| one.fate == Fate::Arrived && one.copy == 0).count()
    };
    for (name, counts) in [
        ("delay-one-way", [first(&made.forward), first(&made.reverse)]),
        ("clock-forward", [arrived(&made.forward); 2]),
        ("inter-transmission", [made.forward.iter().filter(|one| one.copy == 0).count() - 1; 2]),
        ("inter-reception", [first(&made.forward) - 1, first(&made.reverse) - 1]),
    ] {
        let figure = named(&figures, name).unwrap();
        let clouds = figure["layers"].as_array().unwrap().iter().filter(|layer| layer["kind"] == "points");
        for (cloud, count) in clouds.zip(counts) {
            assert!(cloud["of"].as_u64().is_some(), "{name} draws some for all");
            let stretches = cloud["stretches"].as_array().unwrap_or_else(|| panic!("{name}"));
            let there: u64 = stretches.iter().map(|one| one[0].as_u64().unwrap()).sum();
            assert_eq!((stretches.len(), there), (400, count as u64), "{name}");
            let most = stretches.iter().filter_map(|one| one[3].as_f64()).fold(0.0, f64::max);
            let drawn = cloud["points"].as_array().unwrap().iter().map(|point| point[1].as_f64().unwrap());
            assert!(drawn.fold(0.0, f64::max) <= most + 1e-3, "{name}: {most}");
        }
    }
}

#[test]
fn a_spike_that_comes_again_and_again_is_in_every_chart_as_often_as_it_came() {
    let mut made = make(&common::Path { probes: 20_000, interval_ns: 200_000_000, lost_one_in: 0, ..bad() });
    // Far more than anything else varies, once in 128 packets.
    let spike = Duration::from_millis(150);
    for singleton in made.forward.iter_mut().filter(|singleton| singleton.sequence % 128 == 64) {
        singleton.delay = singleton.delay.map(|delay| delay + spike);
        singleton.arrival = singleton.arrival.map(|arrival| arrival + spike);
    }
    let figures = of(&made);
    // Above what nothing else is: delays, and arrivals so long after the one before.
    for (name, least) in [("delay-one-way", 130.0), ("clock-forward", 130.0), ("inter-reception", 310.0)] {
        let figure = named(&figures, name).unwrap();
        let layers = figure["layers"].as_array().unwrap().iter();
        let layers = layers.filter(|layer| layer["ink"] == "forward");
        let high: Vec<f64> = layers.flat_map(singles).filter(|[_, y]| *y > least).map(|[x, _]| x).collect();
        let missing = (0..20_000 / 128u32).filter(|number| {
            let at = (f64::from(*number) * 128.0 + 64.0) * 0.2;
            !high.iter().any(|x| (x - at).abs() < 2.0)
        });
        assert_eq!(missing.collect::<Vec<_>>(), [] as [u32; 0], "{name}");
    }
}

#[test]
fn a_chart_of_some_points_for_many_says_how_many_and_which() {
    let made = make(&bad());
    let page = html::report(&[made.stream()]).unwrap();
    let figures = drawn(&page);
    let mut sampled = 0;
    for (number, figure) in figures.iter().enumerate() {
        let layers = figure["layers"].as_array().unwrap().iter().filter(|layer| layer["kind"] == "points");
        let counts: Vec<(u64, Option<u64>)> =
            layers.map(|layer| (singles(layer).len() as u64, layer["of"].as_u64())).collect();
        let title = figure["title"].as_str().unwrap();
        let section = page.split_once(&format!("data-figure=\"{number}\"")).unwrap().1;
        let caption = section.split_once("</figure>").unwrap().0;
        let drawn: u64 = counts.iter().map(|(points, _)| points).sum();
        let all: u64 = counts.iter().map(|(points, of)| of.unwrap_or(*points)).sum();
        assert_eq!(caption.contains("Thinned to"), drawn < all, "{title}");
        if drawn < all {
            let number = |text: &str| text.replace(',', "").parse::<u64>().unwrap();
            let words = caption.split_once("Thinned to ").unwrap().1;
            let mut words = words.split(' ');
            let (points, _, of) = (words.next().unwrap(), words.next(), words.next().unwrap());
            assert_eq!((number(points), number(of)), (drawn, all), "{title}");
            sampled += 1;
        }
    }
    assert!(sampled >= 3, "spacings and clocks: {sampled}");
}

#[test]
fn what_no_number_can_say_is_not_said_with_one() {
    let mut made = make(&bad());
    let m = &mut made.measurement;
    m.voice = vec![Voice {
        direction: ProbeDirection::Forward,
        codec: "g711".parse().unwrap(),
        jitter_buffer: BufferChoice::Fixed,
        delay_basis: None,
        loss_basis: LossBasis::OneWay,
        variation_basis: VariationBasis::OneWay,
        playout: Playout {
            jitter_buffer_ns: 5_000_000,
            mouth_to_ear_ns: None,
            loss_ratio: 0.6,
            discard_ratio: 0.0,
            burst_ratio: 3.0,
            r: Some(-25.5),
            mos: Some(1.0),
            rating: Some(Rating::NotRecommended),
            delay_and_loss: None,
        },
        jitter_buffers: Vec::new(),
        adaptive: None,
    }];
    m.round_trip = Default::default();
    m.reverse = Default::default();
    let delay = &mut m.forward.delay_ns;
    (delay.count, delay.min, delay.median, delay.p99) = (1, Some(0.0), Some(0.0), Some(0.0));
    let page = html::report(&[made.stream()]).unwrap();
    let prose = page.split_once("<script type=\"application/json\"").unwrap().0;
    assert!(prose.contains("(R at most 0.0, not recommended)") && !prose.contains("R at most -"));
    let verdict = page.split_once("class=\"verdict\">").unwrap().1.split_once("</p>").unwrap().0;
    assert!(verdict.contains("delay unknown (1 packet)") && !verdict.contains("p99"), "{verdict}");
}

#[test]
fn one_late_packet_does_not_flatten_what_was_taken_out_for_the_clock() {
    let mut made = make(&bad());
    let far = made.forward.iter_mut().filter(|singleton| singleton.delay.is_some()).nth(900).unwrap();
    far.delay = far.delay.map(|delay| delay + Duration::from_millis(360));
    let figures = of(&made);
    let figure = named(&figures, "clock-forward").unwrap();
    let end = figure["y"]["to"].as_f64().unwrap();
    assert!(end < 60.0, "a step of 3 ms is not seen on an axis to {end} ms");
    let marks = |ink: &str| -> usize {
        let layers = figure["layers"].as_array().unwrap().iter();
        let marks = layers.filter(|layer| layer["kind"] == "above" && layer["ink"] == ink);
        marks.map(|layer| layer["points"].as_array().unwrap().len()).sum()
    };
    assert!(marks("forward") >= 1 && marks("faint") >= 1, "what lies beyond is marked");
    let bands = bars(figure, "bad");
    assert!(!bands.is_empty());
    assert!(
        figure["layers"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|layer| layer["kind"] == "points")
            .flat_map(|layer| layer["points"].as_array().unwrap())
            .all(|point| point[1].as_f64().unwrap() <= end * 1.000_001),
        "no point lies beyond the axis"
    );
}

#[test]
fn the_page_of_several_runs_judges_as_the_comparison_does() {
    let made = [make(&good()), make(&bad())];
    let [a, b] = ["a", "b"].map(String::from);
    let subjects =
        [Subject { name: &a, stream: made[0].stream() }, Subject { name: &b, stream: made[1].stream() }];
    let page = html::overlay(&subjects, "romer report --overlay a b --html <here>").unwrap();
    assert!(page.contains("Reproduce") && page.contains("--overlay a b --html &lt;here&gt;</code>"));
    assert!(page.contains("median delay") && !page.contains("(delay_ns."), "figures are named in words");
    let compared = romer_report::comparison::compare(&subjects[0], &subjects[1], None).unwrap();
    assert!(!compared.directions.is_empty());
    for direction in &compared.directions {
        let words = direction.text.replace('<', "&lt;");
        // A capital begins it.
        assert!(page.contains(&words[1..]), "{words}");
    }
}

#[test]
fn files_on_the_same_axes_are_named_once_and_have_no_command_of_their_own() {
    let command = "romer report --overlay oa.csv ob.csv --html page.html";
    let mut made = [make(&good()), make(&good())];
    for (made, name) in made.iter_mut().zip(["oa.csv", "ob.csv"]) {
        let m = &mut made.measurement;
        (m.source, m.target, m.started) = (Some(name.into()), name.into(), String::new());
        m.metadata.command = command.into();
    }
    let page_of = |made: &[Made; 2]| {
        let subjects = ["oa.csv", "ob.csv"].into_iter().zip(made);
        let subjects: Vec<Subject<'_>> =
            subjects.map(|(name, made)| Subject { name, stream: made.stream() }).collect();
        html::overlay(&subjects, command).unwrap()
    };
    let page = page_of(&made);
    assert!(page.contains("<li>oa.csv</li><li>ob.csv</li>"), "each once");
    assert_eq!(page.matches(&format!("<code>{command}</code>")).count(), 1, "that of the page");
    assert!(page.contains("from the files above") && !page.contains("in its folder"));
    made[0].measurement.source = None;
    made[0].measurement.started = "2026-11-07T10:11:12Z".into();
    let page = page_of(&made);
    assert!(
        page.contains("<li>oa.csv · 2026-11-07 10:11:12 UTC</li>")
            && page.contains("in their folder; values of a file")
    );
}

#[test]
fn the_page_of_a_file_says_that_it_was_analysed_and_that_of_a_run_that_it_was_measured() {
    let mut made = make(&good());
    let measured = html::report(&[made.stream()]).unwrap();
    assert!(measured.contains("<h2>Reproduce</h2>") && measured.contains("<footer>Measured with "));
    let m = &mut made.measurement;
    (m.source, m.target) = (Some("there.csv".into()), "there.csv".into());
    m.metadata.command = "romer analyze there.csv --html page.html".into();
    let analysed = html::report(&[made.stream()]).unwrap();
    assert!(analysed.contains("<h2>Reproduce</h2>") && analysed.contains("<footer>Analysed with "));
    assert!(analysed.contains("<title>there.csv –") && analysed.contains("from the files named above"));
    assert!(!analysed.contains("in the same folder"));
}

/// (Nothing said so, above 26 to 42 of 3,000 packets out of order that were in order.)
#[test]
fn of_a_file_of_one_direction_a_sudden_change_may_be_a_clocks_and_of_no_other_measurement() {
    let event = |size_ns: i64, until_ns| ClockEvent {
        at_ns: 30_000_000_000,
        until_ns,
        kind: "path-change".into(),
        alternative_kind: None,
        direction: Some("forward".into()),
        size_ns: Some(size_ns),
        size_interval_ns: None,
    };
    let page_of = |event: ClockEvent, but: fn(&mut Measurement)| {
        let mut made = make(&good());
        let m = &mut made.measurement;
        (m.source, m.traffic.direction) = (Some("there.csv".into()), ProbeDirection::Forward);
        let pattern = Pattern::DelayStep {
            at_interval_ns: None,
            size_ns: if event.size_ns < Some(0) { -0.7e9 } else { 0.7e9 },
            size_interval_ns: None,
            strength_ratio: 2.0,
        };
        let (at_ns, direction) = (Some(30_000_000_000), ProbeDirection::Forward);
        m.findings =
            vec![Finding { direction, at_ns, until_ns: None, false_alarm_probability: None, pattern }];
        m.clock.method = "piecewise".into();
        m.clock.events = vec![event];
        but(m);
        html::report(&[made.stream()]).unwrap().replace('\u{a0}', " ").replace("&#39;", "'")
    };
    let back = "or the receiver's clock was set back by the same amount without reordering a packet (indistinguishable in one direction)";
    let page = page_of(event(-700_000_000, None), |_| ());
    assert!(!page.contains("Path delay change"), "the finding states it");
    assert!(page.contains(&format!("Delay step: -700 ms at t = 30.0 s, {back}<")));
    let ahead = page_of(event(700_000_000, None), |_| ());
    assert_eq!(ahead.matches("or the receiver's clock was set ahead by the same amount (indist").count(), 1);
    // What came gradually is no clock's that was set; the finding, which is sudden, may be.
    let gradual = page_of(event(700_000_000, Some(34_000_000_000)), |_| ());
    assert_eq!(gradual.matches("or the receiver's clock").count(), 1);
    // Both ways, one clock, and a run, whose hosts' clocks were watched.
    let others: [fn(&mut Measurement); 3] = [
        |m| m.traffic.direction = ProbeDirection::Both,
        |m| m.clock.method = "shared".into(),
        |m| m.source = None,
    ];
    for other in others {
        assert!(!page_of(event(-700_000_000, None), other).contains("or the receiver's clock"));
    }
}

#[test]
fn many_lost_packets_below_a_chart_are_lighter_on_paper_than_few() {
    let strength = |made: &Made| {
        let page = html::report(&[made.stream()]).unwrap();
        let drawing =
            page.split_once("data-figure=\"0\"").unwrap().1.split_once("</svg>").unwrap().0.to_owned();
        let marks = drawing
            .split("<path")
            .filter(|one| one.contains("var(--bad)"))
            .find(|one| one.contains("v-"))
            .unwrap();
        let opacity = marks.split_once(" opacity=\"").unwrap().1.split_once('"').unwrap().0;
        (opacity.parse::<f64>().unwrap(), page.contains("(see the chart of losses)"))
    };
    let mut made = make(&bad());
    assert_eq!(strength(&made), (1.0, false));
    // Every third is lost: more than are marked one by one.
    for singleton in made.round_trip.iter_mut().filter(|singleton| singleton.sequence.is_multiple_of(3)) {
        (singleton.fate, singleton.arrival, singleton.delay) = (Fate::Lost, None, None);
    }
    let (light, said) = strength(&made);
    assert!(light < 0.5 && said, "{light} {said}");
}

#[test]
fn a_chart_on_paper_says_where_its_time_ends() {
    // 1,500 probes, one each 20 ms: the last is 29.98 s after the first, and no round place is there.
    let page = html::report(&[make(&good()).stream()]).unwrap();
    let drawing = page.split_once("data-figure=\"0\"").unwrap().1.split_once("</svg>").unwrap().0;
    let texts: Vec<&str> = drawing
        .split("<text")
        .skip(1)
        .filter_map(|one| one.split_once('>')?.1.split('<').next())
        .map(str::trim)
        .collect();
    assert!(texts.contains(&"25") && texts.contains(&"30"), "{texts:?}");
}

#[test]
fn runs_on_the_same_axes_are_told_apart_and_held_against_the_first() {
    let made = [make(&good()), make(&bad()), make(&good())];
    let names = ["first", "<b>second", "third"];
    let subjects: Vec<Subject<'_>> =
        names.iter().zip(&made).map(|(name, made)| Subject { name, stream: made.stream() }).collect();
    let page = html::overlay(&subjects, "").unwrap();
    assert!(
        page.contains("3 runs compared") && page.contains("&lt;b&gt;second") && !page.contains("<b>second")
    );
    assert!(
        page.contains("<h2>Comparison: run 2 vs. run 1</h2>")
            && page.contains("<h2>Comparison: run 3 vs. run 1</h2>")
    );
    // What differs has one table for all directions, so that its columns stand below each other.
    let against = page
        .split_once("<h2>Comparison: run 2 vs. run 1</h2>")
        .unwrap()
        .1
        .split_once("</section>")
        .unwrap()
        .0;
    assert_eq!((against.matches("<table>").count(), against.matches("class=\"head\"").count()), (1, 3));
    assert_eq!(page.matches("all delays are above their minimum").count(), 2, "there and back");
    // Each run has its circumstances, and the command that repeats it.
    for (number, (made, target)) in
        (1..).zip(made.iter().zip(["198.18.0.2", "probe-17.example.net", "198.18.0.2"]))
    {
        assert!(page.contains(&format!("<section><h2>{number}. ")), "{number}");
        let command = &made.measurement.metadata.command;
        let section = page.split_once(&format!("<section><h2>{number}. ")).unwrap().1;
        let section = section.split_once("</section>").unwrap().0;
        assert!(
            section.contains(&format!("<dt>Reproduce</dt><dd><code>{command}</code>")),
            "the command stands with what it measured: {section}"
        );
        assert!(command.contains(target) && page.contains(&format!("<code>{command}</code>")), "{command}");
    }
    let figures = drawn(&page);
    for way in ["forward", "reverse", "round-trip"] {
        let delays = named(&figures, &format!("delay-{way}")).unwrap();
        let distribution = named(&figures, &format!("distribution-{way}")).unwrap();
        let all = ["tail", "histogram", "jitter"].map(|kind| {
            named(&figures, &format!("{kind}-{way}")).unwrap_or_else(|| panic!("no {kind} of {way}"))
        });
        for figure in [delays, distribution].into_iter().chain(all) {
            let series = figure["layers"].as_array().unwrap().iter().filter(|layer| layer["kind"] != "above");
            assert_eq!(series.count(), 3, "{way}");
            let legend: Vec<_> =
                figure["legend"].as_array().unwrap().iter().map(|one| one[1].clone()).collect();
            assert_eq!(legend.len(), 3);
            assert!(legend[0] != legend[1] && legend[1] != legend[2], "colours tell them apart");
        }
        // Only the second loses packets: every packet that it lost is in its strip, in its colour.
        let loss = named(&figures, &format!("loss-{way}")).unwrap();
        assert!(bars(loss, "forward").is_empty() && bars(loss, "round").is_empty(), "{way}");
        let strip = bars(loss, "reverse");
        let of_second = match way {
            "forward" => &made[1].forward,
            "reverse" => &made[1].reverse,
            _ => &made[1].round_trip,
        };
        let lost: Vec<f64> = of_second
            .iter()
            .filter(|one| one.fate == Fate::Lost)
            .map(|one| one.sequence as f64 / 3_999.0)
            .collect();
        let column = 1.0 / 400.0;
        let shown = |at: &f64| strip.iter().any(|[from, to, _]| (from - 1e-4..=to + 1e-4).contains(at));
        assert!(!lost.is_empty() && lost.iter().all(shown), "{way}: {lost:?} {strip:?}");
        let dark: f64 = strip.iter().map(|[from, to, _]| to - from).sum();
        assert!(dark < column * (lost.len() as f64 + 0.5), "{way}: only where some were lost");
        // Nothing that lies beyond the axis is dropped: each run's longest is a point or a mark at the edge.
        let end = delays["y"]["to"].as_f64().unwrap();
        for (run, ink) in ["forward", "reverse", "round"].iter().enumerate() {
            let of = |kind: &str| -> Vec<Value> {
                let layers = delays["layers"].as_array().unwrap().iter();
                let layers = layers.filter(|layer| layer["kind"] == kind && layer["ink"] == **ink);
                layers.flat_map(|layer| layer["points"].as_array().unwrap().clone()).collect()
            };
            let singletons = match way {
                "forward" => &made[run].forward,
                "reverse" => &made[run].reverse,
                _ => &made[run].round_trip,
            };
            let took = || singletons.iter().filter_map(|singleton| singleton.delay).map(Duration::as_nanos);
            // The second's one-way delays are known above their least only: so are the others' drawn.
            let levelled = way != "round-trip" && run != 1;
            let floor = if levelled { took().min().unwrap() } else { 0 };
            let longest = (took().max().unwrap() - floor) as f64;
            let unit = match delays["y"]["unit"].as_str().unwrap() {
                "µs" => 1e3,
                "ms" => 1e6,
                other => panic!("{other}"),
            };
            let drawn = of("points").iter().map(|point| point[1].as_f64().unwrap()).fold(0.0, f64::max);
            assert_eq!(of("above").is_empty(), longest / unit <= end, "{way} {run}");
            assert!(
                drawn <= end && (!of("above").is_empty() || (drawn - longest / unit).abs() < 1e-3 * drawn)
            );
        }
        let first = delays["legend"].as_array().unwrap()[0][0].as_str().unwrap();
        assert_eq!(first.contains("above the minimum"), way != "round-trip", "{first}");
        // The slower path lies to the right of the others, which are one path.
        let middle = |run: usize| {
            let line = distribution["layers"][run]["points"].as_array().unwrap();
            let point = line.iter().find(|point| point[1].as_f64().unwrap() >= 50.0).unwrap();
            point[0].as_f64().unwrap()
        };
        assert!(middle(1) > middle(0) && (middle(0) - middle(2)).abs() < 1e-9, "{way}");
    }
}
