//! What can go wrong with a run on disk, told so that the reader knows what to do.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use romer_record::Exit;
use thiserror::Error;

use crate::memory;

/// What went wrong. The text has the form `WHAT (WHERE): WHY; what to do`; nothing in it is printed raw from a
/// file or a path.
#[derive(Debug, Error)]
pub enum StoreError {
    /// The operating system refused.
    #[error("cannot {operation} ({}): {source}; {}", Escaped(.path), advice(.operation, .source))]
    Io {
        /// What was tried, as a verb.
        operation: &'static str,
        /// On which file or folder.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// The folder holds something already.
    #[error(
        "the run's folder is not empty ({}): romer does not overwrite it; choose another folder with --out, or replace the \
         run in it with --force",
        Escaped(.path)
    )]
    Exists {
        /// The folder.
        path: PathBuf,
    },
    /// A file has the name of the folder.
    #[error(
        "the run's folder cannot be made ({}): a file has this name, and nothing is overwritten; choose another \
         folder with --out",
        Escaped(.path)
    )]
    NotAFolder {
        /// The file.
        path: PathBuf,
    },
    /// The folder was to be replaced, but is not a run.
    #[error(
        "the folder will not be replaced ({}): it holds no run of romer's (no manifest.json of its schema), and \
         --force replaces only runs; choose another folder with --out",
        Escaped(.path)
    )]
    NotReplaceable {
        /// The folder.
        path: PathBuf,
    },
    /// Another romer is writing this run now.
    #[error(
        "the run is being written by another romer ({}): its packet log is locked; wait until it has ended, or \
         end it with an interrupt, which keeps what was measured",
        Escaped(.path)
    )]
    InUse {
        /// The run's folder.
        path: PathBuf,
    },
    /// There is nothing of this name.
    #[error("no such {what} ({}): it does not exist; saved runs are in ~/.local/state/romer/runs", Escaped(.path))]
    Missing {
        /// `run` or `benchmark`.
        what: &'static str,
        /// The folder.
        path: PathBuf,
    },
    /// The folder is not a run.
    #[error("this is not a run ({}): {why}; name the folder that has the run's manifest.json", Escaped(.path))]
    NotARun {
        /// The folder or file.
        path: PathBuf,
        /// What is missing.
        why: &'static str,
    },
    /// The folder is not a benchmark's.
    #[error("this is not a benchmark ({}): {why}; name the folder that has the benchmark's plan.json", Escaped(.path))]
    NotABenchmark {
        /// The folder.
        path: PathBuf,
        /// What is missing.
        why: &'static str,
    },
    /// A file's content is not what it must be.
    #[error("the file cannot be read ({}, {place}): {}; restore it from a copy, or measure again", Escaped(.path), Escaped(.why))]
    Malformed {
        /// The file.
        path: PathBuf,
        /// Where in it (byte, line, column).
        place: String,
        /// What is wrong there.
        why: String,
    },
    /// A newer romer wrote it.
    #[error(
        "the file is of a later format ({}, {place}): it is version {found}, and this romer reads up to {known}; \
         use the romer that wrote it, or a later one",
        Escaped(.path)
    )]
    Newer {
        /// The file.
        path: PathBuf,
        /// Where the version stands.
        place: &'static str,
        /// Version found.
        found: u32,
        /// Latest version known here.
        known: u32,
    },
    /// More than this romer will take into memory.
    #[error("the file is too large ({}): it has {found} {unit}, and at most {limit} are read; split the run", Escaped(.path))]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// How many there are.
        found: u64,
        /// Of what.
        unit: &'static str,
        /// How many are allowed.
        limit: u64,
    },
    /// More than the memory of this host holds now.
    #[error(
        "the file does not fit into memory ({}): its {rows} rows take up to {} MB, and this host has {} MB; free memory, or use a \
         host with more",
        Escaped(.path), .rows.saturating_mul(memory::OF_A_ROW) / 1_000_000, .available / 1_000_000
    )]
    NoMemory {
        /// The file.
        path: PathBuf,
        /// How many rows it has.
        rows: u64,
        /// Octets that this host has.
        available: u64,
    },
    /// A part of the packet log could not be kept while measuring.
    #[error(
        "{entries} entries of the packet log were not kept ({}): {}; what was acknowledged before is intact, and {}",
        Escaped(.path), reason(.source), .source.as_ref().map_or(SLOWER, |source| advice("write", source))
    )]
    NotKept {
        /// The log.
        path: PathBuf,
        /// Entries that are missing.
        entries: u64,
        /// What the operating system said; `None` where the log's thread could not keep up.
        source: Option<io::Error>,
    },
    /// There is no folder for runs.
    #[error(
        "there is no folder for runs (environment): neither XDG_STATE_HOME nor HOME is set to an absolute path; \
         set one of them, or name the run's folder with --out"
    )]
    NoHome,
}

/// Why a file is refused that states a time beyond `romer_record::plausible`.
pub(crate) const IMPLAUSIBLE: &str =
    "a time is outside the years 1957 to 2102, or a length of time is 146 years or more";

const SLOWER: &str = "a lower rate of probes, or a faster disk under --out, leaves the log more time";

impl StoreError {
    pub(crate) fn io(operation: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_path_buf();
        move |source| Self::Io { operation, path, source }
    }

    pub(crate) fn malformed(path: &Path, place: impl Into<String>, why: impl fmt::Display) -> Self {
        Self::Malformed { path: path.to_path_buf(), place: place.into(), why: why.to_string() }
    }

    /// The class of exit code that this error ends the program with.
    pub fn exit(&self) -> Exit {
        match self {
            Self::NotARun { .. }
            | Self::NotABenchmark { .. }
            | Self::Malformed { .. }
            | Self::Newer { .. }
            | Self::TooLarge { .. } => Exit::BadData,
            // A link or a pipe stands where a file should.
            Self::Io { source, .. } if source.kind() == io::ErrorKind::InvalidInput => Exit::BadData,
            Self::Exists { .. } | Self::NotAFolder { .. } | Self::NotReplaceable { .. } => Exit::Usage,
            Self::Missing { .. }
            | Self::NoMemory { .. }
            | Self::Io { .. }
            | Self::InUse { .. }
            | Self::NotKept { .. }
            | Self::NoHome => Exit::Environment,
        }
    }
}

fn reason(source: &Option<io::Error>) -> String {
    match source {
        Some(error) => error.to_string(),
        None => "the log's thread could not keep up with the packets".into(),
    }
}

/// What a person can do about an error of the operating system.
fn advice(operation: &str, error: &io::Error) -> &'static str {
    if ["read", "open", "look"].iter().any(|reading| operation.starts_with(reading)) {
        return match error.kind() {
            io::ErrorKind::PermissionDenied => "ask its owner for the right to read it",
            io::ErrorKind::InvalidInput => "put the file itself in its place, or name another run",
            _ => "check the path, and the disk (dmesg)",
        };
    }
    if operation.starts_with("remove") {
        return "check the rights of the folder";
    }
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            "free some space, or name a folder on another disk with --out"
        }
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
            "name a folder that you may write to with --out"
        }
        io::ErrorKind::NotFound => "check the path",
        _ => "check the disk (dmesg), or name another folder with --out",
    }
}

/// Text from outside with its control characters escaped, so that a path or a file cannot speak to the terminal.
pub(crate) struct Escaped<'a, T: ?Sized>(pub(crate) &'a T);

impl fmt::Display for Escaped<'_, PathBuf> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Escaped(&*self.0.to_string_lossy()).fmt(f)
    }
}

impl fmt::Display for Escaped<'_, String> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Escaped(self.0.as_str()).fmt(f)
    }
}

impl fmt::Display for Escaped<'_, str> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use fmt::Write;
        self.0.chars().try_for_each(|c| {
            // U+2028 and U+2029 break lines; U+202A to U+202E and U+2066 to U+2069 reorder what is shown.
            if c.is_control() || matches!(c, '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}') {
                write!(f, "{}", c.escape_unicode())
            } else {
                f.write_char(c)
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_is_one_line_that_says_what_where_why_and_what_to_do() {
        let full = StoreError::io("write the packet log", Path::new("/runs/a\x1b[31m\nb/packets.log"))(
            io::ErrorKind::StorageFull.into(),
        );
        let text = full.to_string();
        assert!(
            text.starts_with("cannot write the packet log (/runs/a\\u{1b}[31m\\u{a}b/packets.log): "),
            "{text}"
        );
        assert!(text.ends_with("; free some space, or name a folder on another disk with --out"), "{text}");
        assert!(!text.contains(|c: char| c.is_control()), "{text}");
        assert_eq!(full.exit(), Exit::Environment);
    }

    #[test]
    fn bad_data_and_a_bad_environment_have_their_own_exit_codes() {
        let bad = StoreError::malformed(Path::new("m.json"), "line 1, column 2", "expected \u{7}value");
        assert_eq!(bad.exit(), Exit::BadData);
        assert!(bad.to_string().contains("(m.json, line 1, column 2): expected \\u{7}value; "));
        let kept = StoreError::NotKept { path: "p".into(), entries: 3, source: None };
        assert_eq!(kept.exit(), Exit::Environment);
        assert!(kept.to_string().starts_with("3 entries of the packet log were not kept (p): "));
    }
}
