//! What is sent, frame by frame; and a device that keeps the tester from it.

use std::time::Duration;

use super::*;

/// What left, as a capture has it: octets with check sequence, and when each frame was due, nanoseconds since 1970.
fn departures(capture: &[u8]) -> Vec<(u32, i64)> {
    const PACKET: u32 = 6;
    let word = |at: usize| u32::from_le_bytes(capture[at..at + 4].try_into().unwrap());
    let (mut at, mut found) = (0, Vec::new());
    while at < capture.len() {
        let length = usize::try_from(word(at + 4)).unwrap();
        if word(at) == PACKET && word(at + 8) == 0 {
            let sent = i64::from(word(at + 12)) << 32 | i64::from(word(at + 16));
            let text = String::from_utf8_lossy(&capture[at + 28..at + length]);
            let late = text.split(" us late").next().unwrap().rsplit(' ').next().unwrap();
            let (us, nanos) = late.split_once('.').unwrap_or_else(|| panic!("{text}"));
            let late = us.parse::<i64>().unwrap() * 1_000 + nanos.parse::<i64>().unwrap();
            found.push((word(at + 24) + 4, sent - late));
        }
        at += length;
    }
    found
}

#[test]
fn bursts_of_a_mixture_are_due_one_frame_after_the_other() {
    let lab = Lab::router();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("trial.pcapng");
    let load =
        ["--imix", "simple", "--loads", "50%", "--line-rate", "2Mbit", "--stream", "name=all,pace=burst:16"];
    let times = ["--trial", "1s", "--settle", "100ms", "--pcapng", file.to_str().unwrap()];
    let found = document(bench(&lab, &[&["load-sweep"], &load[..], &times].concat()));
    let left = departures(&std::fs::read(&file).unwrap());
    assert_eq!(left.len() as u64, count(&found, "/trials/0/offered/frames"));
    // A burst begins when the bits before it are due at half of the line; its frames follow one another on all of it. That is
    // when they are due, however late a busy machine has sent them.
    let (mut before, mut within) = (0, 0);
    for (number, (octets, due)) in left.iter().enumerate() {
        if number % 16 == 0 {
            (before, within) = (before + within, 0);
        }
        let expected = before * 1_000 + within * 500;
        assert!((due - left[0].1 - expected).abs() <= 2, "frame {number}: {} {expected}", due - left[0].1);
        within += i64::from(octets + 20) * 8;
    }
    assert!(left.len() > 16 && before > 0, "{}", left.len());
}

#[test]
fn a_router_that_takes_the_link_from_the_sending_port_was_away_and_is_set_again() {
    let lab = Lab::router();
    lab.filter("R", "table ip test { counter seen {} ; chain c { type filter hook forward priority 0 ; counter name seen ; } ; }");
    let folder = tempfile::tempdir().unwrap();
    let [set, run] = ["set", "run"].map(|name| folder.path().join(name));
    let case = format!("x=echo set >> {}", set.display());
    let load = ["--frame-sizes", "128", "--loads", "20%", "--line-rate", "2Mbit", "--trial", "5s"];
    let more = ["--settle", "200ms", "--case", &case, "--skip-self-test", "--quiet"];
    let mut begun = Process::start(&mut command(&lab, &run, &[&["load-sweep"], &load[..], &more].concat()));
    // 338 frames a second: it is in its trial.
    while lab.counted("R", "ip", "seen") < 200 {
        assert!(begun.is_running(), "it ended before its trial was under way");
        std::thread::sleep(Duration::from_millis(20));
    }
    let link =
        |state: &str| process::run(lab.command("R", "ip").args(["link", "set", "r0", state])).with_code(0);
    link("down");
    std::thread::sleep(Duration::from_millis(600));
    link("up");
    let ended = begun.wait();
    let text = std::fs::read_to_string(run.join("benchmark.json")).unwrap_or_else(|_| panic!("{ended:?}"));
    let document: Value = serde_json::from_str(&text).unwrap();
    let events = at(&document, "/events").as_array().unwrap();
    let away =
        events.iter().find(|event| event["code"] == "device-away").unwrap_or_else(|| panic!("{events:#?}"));
    assert!(away["outage"] == "link-lost" && away["port"].as_str().unwrap().ends_with("A/t0"), "{away}");
    let first = &trials(&document)[0];
    assert_eq!((&first["device_unreachable"], is_valid(first)), (&Value::Bool(true), false), "{first:#}");
    assert_eq!(std::fs::read_to_string(set).unwrap().lines().count(), 2, "{events:#?}");
    // What could not leave meanwhile left at once afterwards, which is not laid to the tester's host.
    let at_once = |trial: &Value| trial["longest_catch_up"].as_u64().unwrap();
    assert!(at_once(first) > 64, "{first:#}");
    let warnings = at(&document, "/warnings").to_string();
    let was_away = trials(&document)[1..].iter().any(|trial| at_once(trial) > 64);
    assert_eq!(warnings.contains("host-descheduled"), was_away, "{warnings}");
}
