//! `--service` and `--marks`: the marks of a service level.

use std::io;
use std::path::Path;
use std::process::ExitCode;

use romer_endpoint::remarking::{REMARKING_GUARD_ARGUMENT, remarking_guard_main};
use romer_record::Exit;
use romer_record::service::{MarkTable, Marks, Service};
use romer_scenario::nearest;
use romer_store::untrusted;
use romer_units::Dscp;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::failure::Failure;

/// Octets of the largest table.
const MAX_TABLE_OCTETS: u64 = 1 << 16;
/// Keys of a level.
const DSCP: &str = "dscp";
const PRIORITY: &str = "priority";

/// The marks of `service` by the table in `file`, or by the default.
///
/// # Errors
/// The file cannot be read, or is no table of marks.
pub(crate) fn marks(service: Service, file: Option<&Path>) -> Result<Marks, Failure> {
    Ok(table(file)?.marks(service))
}

/// The marks of all levels by the table in `file`, or the defaults.
///
/// # Errors
/// As of [`marks`].
pub(crate) fn table(file: Option<&Path>) -> Result<MarkTable, Failure> {
    Ok(file.map(read).transpose()?.unwrap_or_default())
}

/// Removes the rules that mark packets, if this process was started for that.
pub(crate) fn guard() -> Option<ExitCode> {
    let arguments: Vec<_> = std::env::args_os().skip(1).collect();
    let [guard, table] = arguments.as_slice() else { return None };
    (guard == REMARKING_GUARD_ARGUMENT).then(|| {
        remarking_guard_main(&table.to_string_lossy());
        ExitCode::SUCCESS
    })
}

fn read(path: &Path) -> Result<MarkTable, Failure> {
    let shown = romer_report::escape::path(path);
    let text = untrusted::read_named(path, MAX_TABLE_OCTETS).map_err(|error| match error.kind() {
        io::ErrorKind::FileTooLarge => Failure::with_exit(
            Exit::BadData,
            format!("the table of marks is too long (--marks {shown}): {error}; name a table of marks"),
        ),
        _ => Failure::environment(format!(
            "cannot read the table of marks (--marks {shown}): {error}; check its path and rights"
        )),
    })?;
    parse(&text).map_err(|fault| {
        let before = text.get(..fault.at).unwrap_or_default();
        let line = before.iter().filter(|octet| **octet == b'\n').count() + 1;
        Failure::with_exit(
            Exit::BadData,
            format!("bad table of marks (--marks {shown}:{line}): {}", fault.why),
        )
    })
}

/// What is wrong with a table, and where.
#[derive(Debug, PartialEq, Eq)]
struct TableFault {
    /// Octets before it.
    at: usize,
    why: String,
}

fn fault(at: usize, why: impl Into<String>) -> TableFault {
    TableFault { at, why: why.into() }
}

/// Reads a table: one TOML table for a level, with `dscp` and `priority`. What it does not name has its default.
fn parse(text: &[u8]) -> Result<MarkTable, TableFault> {
    let text = std::str::from_utf8(text)
        .map_err(|error| fault(error.valid_up_to(), "this is no UTF-8; write the file in UTF-8"))?;
    let levels = DeTable::parse(text).map_err(|error| {
        let why = error.message().lines().next().unwrap_or_default().to_owned();
        fault(error.span().map_or(0, |span| span.start), format!("{why}; write TOML"))
    })?;
    let mut table = MarkTable::default();
    for (name, value) in levels.get_ref() {
        let level: &str = name.get_ref().as_ref();
        let service: Service = level
            .parse()
            .map_err(|_| fault(name.span().start, unknown(level, Service::ALL.map(Service::name))))?;
        let DeValue::Table(keys) = value.get_ref() else {
            return Err(fault(
                value.span().start,
                format!(
                    "{service} is no table; write [{service}], and below it {DSCP} = 40 and {PRIORITY} = 5"
                ),
            ));
        };
        let mut marks = table.marks(service);
        for (key, value) in keys {
            let key_name: &str = key.get_ref().as_ref();
            match key_name {
                DSCP => marks.dscp = dscp(value)?,
                PRIORITY => marks.priority = priority(value)?,
                other => return Err(fault(key.span().start, unknown(other, [DSCP, PRIORITY]))),
            }
        }
        table.set(service, marks);
    }
    Ok(table)
}

/// A key that there is not, with the one that is meant, or all.
fn unknown<const N: usize>(key: &str, known: [&'static str; N]) -> String {
    let shown = romer_units::excerpt(key, 40);
    match nearest(key, known) {
        Some(near) => format!("unknown key {shown:?}; did you mean {near}?"),
        None => format!("unknown key {shown:?}; write {}", known.join(" or ")),
    }
}

/// The text of a string or a number; `None` of anything else.
fn scalar(value: &Spanned<DeValue<'_>>) -> Option<String> {
    match value.get_ref() {
        DeValue::String(text) => Some(text.to_string()),
        DeValue::Integer(number) if number.radix() == 10 => Some(number.as_str().to_owned()),
        _ => None,
    }
}

fn dscp(value: &Spanned<DeValue<'_>>) -> Result<Dscp, TableFault> {
    let wrong = || fault(value.span().start, "a DSCP is a name or a number; write \"cs5\" or 40");
    let text = scalar(value).ok_or_else(wrong)?;
    text.parse().map_err(|error: romer_units::QuantityError| fault(value.span().start, error.to_string()))
}

fn priority(value: &Spanned<DeValue<'_>>) -> Result<u8, TableFault> {
    let number: Option<u8> = scalar(value).and_then(|text| text.parse().ok());
    number.filter(|number| *number <= Marks::HIGHEST_PRIORITY).ok_or_else(|| {
        let why = format!("a priority is a number; write 0 to {}", Marks::HIGHEST_PRIORITY);
        fault(value.span().start, why)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn marked(text: &str, service: Service) -> (u8, u8) {
        let marks = parse(text.as_bytes()).unwrap().marks(service);
        (marks.dscp.value(), marks.priority)
    }

    /// A table replaces what it names, by names or numbers of code points, and nothing else.
    #[test]
    fn tables_replace_what_they_name() {
        let text = "[guaranteed]\ndscp = \"ef\"\npriority = 6\n\n[controlled-load]\ndscp = 26\n";
        assert_eq!(marked(text, Service::Guaranteed), (46, 6));
        assert_eq!(marked(text, Service::ControlledLoad), (26, 3));
        assert_eq!(marked(text, Service::BestEffort), (0, 0));
        assert_eq!(marked("", Service::Guaranteed), (40, 5));
        assert_eq!(marked("[non-conforming]\ndscp = 8", Service::NonConforming), (8, 1));
        assert_eq!(marked("best-effort = { priority = 1 }", Service::BestEffort), (0, 1));
    }

    /// What is wrong is stated with its place and what to write.
    #[test]
    fn faults_have_a_place() {
        for (text, at, part) in [
            ("[guarantied]\n", 1, "did you mean guaranteed?"),
            ("[gold]\n", 1, "write guaranteed or controlled-load or best-effort or non-conforming"),
            ("guaranteed = 5\n", 13, "write [guaranteed]"),
            ("[guaranteed]\ndcsp = 40\n", 13, "did you mean dscp?"),
            ("[guaranteed]\ndscp = 65\n", 20, "write a code point from 0 to 63"),
            ("[guaranteed]\ndscp = 4.0\n", 20, "write \"cs5\" or 40"),
            ("[guaranteed]\npriority = 8\n", 24, "write 0 to 7"),
            ("[guaranteed]\npriority = -1\n", 24, "write 0 to 7"),
        ] {
            let found = parse(text.as_bytes()).unwrap_err();
            assert!(found.why.contains(part), "{text:?}: {found:?}");
            assert_eq!(found.at, at, "{text:?}: {found:?}");
        }
        assert_eq!(parse(b"[guaranteed]\n\xff").unwrap_err().at, 13);
        assert!(parse(b"[guaranteed\n").unwrap_err().why.ends_with("; write TOML"));
    }

    /// A table that is missing is an error of the environment, a bad one of its data, with its line.
    #[test]
    fn files_are_read_or_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("marks.toml");
        let absent = marks(Service::Guaranteed, Some(&path)).unwrap_err();
        assert_eq!(absent.exit(), Exit::Environment);
        std::fs::write(&path, "[guaranteed]\ndscp = 46\npriority = 9\n").unwrap();
        let bad = marks(Service::Guaranteed, Some(&path)).unwrap_err();
        assert!(bad.exit() == Exit::BadData && bad.text().contains("marks.toml:3): "), "{bad:?}");
        std::fs::write(&path, "[guaranteed]\ndscp = 46\n").unwrap();
        assert_eq!(marks(Service::Guaranteed, Some(&path)).unwrap().dscp, Dscp::EF);
        assert_eq!(marks(Service::BestEffort, None).unwrap().priority, 0);
    }
}
