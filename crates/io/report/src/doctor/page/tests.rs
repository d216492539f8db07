use super::*;
use romer_record::doctor::{DoctorCheck, DoctorFinding, DoctorText, Facts, PortUse};
use romer_record::document;

/// A finding with this text. Commands have no full stop.
fn finding(
    check: DoctorCheck,
    verdict: CheckVerdict,
    observed: &str,
    consequence: &str,
    fix: Option<&str>,
) -> ExplainedFinding {
    let typed = |fix: &str| match fix.ends_with('.') {
        true => DoctorFix::TryAgain,
        false => DoctorFix::Command { command: fix.into() },
    };
    ExplainedFinding {
        finding: DoctorFinding { check, verdict, fix: fix.map(typed) },
        text: DoctorText {
            observed: observed.into(),
            consequence: consequence.into(),
            fix: fix.map(str::to_owned),
        },
    }
}

fn doctor() -> Doctor {
    let unknown = || "not permitted".to_owned();
    let findings = vec![
        finding(
            DoctorCheck::KernelStamps(Facts::Unknown { error: unknown() }),
            CheckVerdict::Good,
            "The kernel stamped departure and arrival of all 200 datagrams over loopback.",
            "Delays do not include scheduling delays of romer.",
            None,
        ),
        finding(
            DoctorCheck::StolenTime(Facts::Unknown { error: unknown() }),
            CheckVerdict::Limited,
            "In 300 ms, host and interrupts took 2.10 % of the time, at most 4.00 ms at once.",
            "Medians are reliable.",
            Some("Measure on a machine that nobody else shares; here, judge by medians."),
        ),
        finding(
            DoctorCheck::StampPort { ipv4: PortUse::Forbidden, ipv6: PortUse::Forbidden, holder: None },
            CheckVerdict::Missing,
            "This user may not bind UDP port 862.",
            "romer respond ends with exit code 4 unless it is given another port.",
            Some("sudo setcap cap_net_bind_service,cap_sys_nice,cap_net_admin+ep /usr/local/bin/romer"),
        ),
        finding(
            DoctorCheck::Cores { cores: 2, quota_ns: None, period_ns: None },
            CheckVerdict::Good,
            "This process may use 2 cores.",
            "Nobody waits.",
            None,
        ),
        finding(
            DoctorCheck::Kernel { release: None, oldest: "5.10".into(), error: None },
            CheckVerdict::Good,
            "Linux 6.18.44.",
            "It is new enough.",
            None,
        ),
    ];
    Doctor { schema: document::DOCTOR.into(), software: "romer 0.1.0".into(), findings }
}

fn style(width: usize) -> TextStyle {
    TextStyle { color: false, unicode: true, width }
}

#[test]
fn at_80_columns_names_have_a_column_of_their_own() {
    assert_eq!(text(&doctor(), &style(80)), include_str!("80.txt"));
}

#[test]
fn at_50_columns_text_stands_under_its_name() {
    assert_eq!(text(&doctor(), &style(50)), include_str!("50.txt"));
}

#[test]
fn without_unicode_everything_is_ascii_and_equally_placed() {
    for width in [50, 80] {
        let plain = text(&doctor(), &TextStyle { unicode: false, ..style(width) });
        assert!(plain.is_ascii(), "{plain}");
        let marks = [('✓', "+"), ('✗', "x")];
        let expected =
            marks.iter().fold(text(&doctor(), &style(width)), |text, (from, to)| text.replace(*from, to));
        assert_eq!(plain, expected);
    }
}

#[test]
fn colours_change_nothing_but_the_colour() {
    let coloured = text(&doctor(), &TextStyle { color: true, ..style(80) });
    assert!(coloured.contains("\x1b[1;31m✗\x1b[0m"), "{coloured}");
    let mut plain = String::new();
    let mut parts = coloured.split('\x1b');
    plain.push_str(parts.next().unwrap());
    for part in parts {
        plain.push_str(part.split_once('m').unwrap().1);
    }
    let trimmed: Vec<&str> = plain.lines().map(str::trim_end).collect();
    assert_eq!(trimmed, text(&doctor(), &style(80)).lines().collect::<Vec<_>>());
}

#[test]
fn names_from_the_machine_cannot_move_the_cursor() {
    let mut doctor = doctor();
    doctor.findings[2].text.observed = "UDP port 862 is taken by a\x1b[2J\u{202e}b.".into();
    doctor.findings[2].finding.fix =
        Some(DoctorFix::Command { command: "ethtool -K 'e\x07 0' gro off".into() });
    doctor.findings[1].text.fix = Some("Stop\x1b[2J it.".into());
    let shown = text(&doctor, &style(80));
    assert!(!shown.contains(['\x1b', '\x07', '\u{202e}']), "{shown}");
}

#[test]
fn a_long_command_can_be_pasted_as_it_is_broken() {
    let command = "sudo setcap cap_net_bind_service,cap_sys_nice,cap_net_admin+ep /usr/local/bin/romer";
    let lines = command_lines(command, 46);
    let shown: Vec<&str> = lines.iter().map(|(line, _)| line.as_str()).collect();
    let joined = shown.join("\n").replace("\\\n", "");
    let words: Vec<&str> = joined.trim_start_matches("$ ").split_whitespace().collect();
    assert_eq!(words.join(" "), command);
    assert!(lines.len() > 1);
    let quoted = format!("{command} '/opt/a  place with spaces/romer'");
    assert_eq!(command_lines(&quoted, 46), [(format!("$ {quoted}"), Paint::Command)]);
}

#[test]
fn a_number_stays_with_its_unit() {
    assert_eq!(wrap("a reading takes 17 ns, no more", 18), ["a reading takes", "17 ns, no more"]);
    assert_eq!(wrap("", 10), Vec::<String>::new());
}
