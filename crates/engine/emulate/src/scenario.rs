//! Scenario files and presets, opened: with the files that they name, and the seed that they lack.

use std::fs::{self, File};
use std::io::Read;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

use romer_impair::Config;
use romer_record::Exit;
use romer_scenario::{About, LARGEST, Scenario};
use romer_units::random::Seed;

use crate::error::EmulateError;

/// The most octets of a trace that a scenario names.
pub(crate) const LARGEST_TRACE: u64 = 1 << 28;

/// A scenario and its text.
#[derive(Clone, Debug)]
pub struct Opened {
    /// What it says; with a seed.
    pub scenario: Scenario,
    /// As it was written.
    pub text: String,
}

impl From<Config> for Opened {
    /// What a caller made in code, without a text.
    fn from(config: Config) -> Self {
        let scenario = Scenario { config, about: About::default(), notes: Vec::new() };
        Self { scenario, text: String::new() }
    }
}

/// Reads a scenario that came otherwise than by a file, over a network for instance. It cannot name files: whoever
/// sent it would read them.
///
/// # Errors
/// The scenario's; `name` is what they call it.
pub fn read_scenario(text: &str, name: &str) -> Result<Opened, EmulateError> {
    let mut load =
        |_: &str| Err("cannot be read from here: only a scenario in a file may name files".to_owned());
    let scenario = romer_scenario::parse(text, name, &mut load)?;
    Ok(Opened { scenario, text: text.into() })
}

/// Opens the scenario in a file. Names of files in it count from its folder.
///
/// # Errors
/// The file's, or the scenario's.
pub fn open_scenario(path: &Path) -> Result<Opened, EmulateError> {
    not_anybodys(path, "the scenario")?;
    let octets = contents(path, "the scenario", LARGEST)?;
    let content = |why: String| EmulateError::Content { what: "the scenario", path: path.into(), why };
    let text = romer_scenario::decode(&octets).map_err(content)?;
    let folder = path.parent().unwrap_or(Path::new(""));
    // Whether it is the environment that keeps a named file from being read.
    let mut is_kept_away = false;
    let mut load = |file: &str| {
        let named = folder.join(file);
        if Path::new(file).is_relative() && leaves(folder, &named) {
            return Err(format!(
                "names {file:?}, which is outside of the scenario's folder: refused; put the file into the folder"
            ));
        }
        let octets = not_anybodys(&named, "the file")
            .and_then(|()| contents(&named, "the file", LARGEST_TRACE))
            .map_err(|error| {
                is_kept_away = error.exit() == Exit::Environment && !error.is_missing();
                error.to_string()
            })?;
        romer_scenario::named_file(&octets)
    };
    let parsed = romer_scenario::parse(text, &path.display().to_string(), &mut load);
    match parsed {
        Ok(scenario) => Ok(Opened { scenario, text: text.into() }),
        Err(error) if is_kept_away => Err(EmulateError::Named(error)),
        Err(error) => Err(error.into()),
    }
}

/// Whether a file is there that is not in `folder` or below it, whatever links lead to it.
fn leaves(folder: &Path, named: &Path) -> bool {
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    match (folder.canonicalize(), named.canonicalize()) {
        (Ok(folder), Ok(named)) => !named.starts_with(folder),
        _ => false,
    }
}

/// Refuses a file that anybody may write where it is root who reads it.
fn not_anybodys(path: &Path, what: &'static str) -> Result<(), EmulateError> {
    match fs::metadata(path) {
        Ok(found) if found.is_file() => match writable_by_all(found.permissions().mode(), is_root()) {
            Some(why) => Err(EmulateError::NoFile { what, path: path.into(), why }),
            None => Ok(()),
        },
        _ => Ok(()),
    }
}

/// Why root does not take a file of this mode: anybody could have written it.
fn writable_by_all(mode: u32, is_root: bool) -> Option<String> {
    let mode = mode & 0o7777;
    (is_root && mode & 0o002 != 0).then(|| {
        format!(
            "refused: mode {mode:04o}, anybody may write it, and this is run as root; chmod {:04o}",
            mode & !0o022
        )
    })
}

fn is_root() -> bool {
    fs::metadata("/proc/self").is_ok_and(|own| own.uid() == 0)
}

/// Opens a scenario that comes with romer.
///
/// # Errors
/// A name that is none.
pub fn open_preset(name: &str) -> Result<Opened, EmulateError> {
    let preset = romer_scenario::preset(name)
        .map_err(|why| EmulateError::Usage(format!("unknown preset (--preset): {why}")))?;
    Ok(Opened { scenario: preset.scenario()?, text: preset.text.into() })
}

/// Opens the scenario in a file, or the preset of this name: a file before a preset. `origin` says in errors where the name was given.
///
/// # Errors
/// The file's, the scenario's, or a name of neither.
pub fn open_named(name: &Path, origin: &str) -> Result<Opened, EmulateError> {
    let preset = name.to_str().filter(|_| !name.exists());
    match preset.map(|preset| (preset, romer_scenario::preset(preset))) {
        Some((preset, Ok(_))) => open_preset(preset),
        Some((preset, Err(why))) if !preset.contains(['/', '.']) => {
            Err(EmulateError::Usage(format!("no such scenario ({origin} {preset}): no file, and {why}")))
        }
        _ => open_scenario(name),
    }
}

/// The seed of an emulation: the one that is `asked` for (`origin` says in errors how), else the scenario's, else a random one.
///
/// # Errors
/// A seed from which the generator of the scenario cannot start; the system gives no random numbers.
pub fn choose_seed(config: &Config, asked: Option<Seed>, origin: &str) -> Result<Seed, EmulateError> {
    if let Some(seed) = asked.filter(|seed| !config.generator.accepts(*seed)) {
        return Err(EmulateError::Usage(format!(
            "invalid seed ({origin} {seed}): three of its numbers are 0 modulo the generator's modulus; give other numbers"
        )));
    }
    asked.or(config.seed).map_or_else(random_seed, Ok)
}

/// A random seed: six numbers of the system's, never all zero.
///
/// # Errors
/// The system gives none.
pub fn random_seed() -> Result<Seed, EmulateError> {
    let path = Path::new("/dev/urandom");
    let failed = |source| EmulateError::File { action: "drawing a random seed", path: path.into(), source };
    let mut octets = [0; 24];
    File::open(path).and_then(|mut file| file.read_exact(&mut octets)).map_err(failed)?;
    let mut words = [0; 6];
    for (word, four) in words.iter_mut().zip(octets.chunks_exact(4)) {
        *word = four.iter().fold(0_u32, |word, octet| (word << 8) | u32::from(*octet)).max(1);
    }
    Ok(Seed(words))
}

/// The octets of a regular file that is not too large.
pub(crate) fn contents(path: &Path, what: &'static str, largest: u64) -> Result<Vec<u8>, EmulateError> {
    let failed = |source| EmulateError::File { action: "reading", path: path.into(), source };
    let none = |why: &str| EmulateError::NoFile { what, path: path.into(), why: why.into() };
    // Looked at before it is opened: opening a pipe would wait for its writer.
    let kind = fs::metadata(path).map_err(failed)?;
    if kind.is_dir() {
        return Err(none("it is a directory; name a file"));
    }
    if !kind.is_file() {
        return Err(none("it is not a regular file; name one"));
    }
    let mut octets = Vec::new();
    let file = File::open(path).map_err(failed)?;
    file.take(largest + 1).read_to_end(&mut octets).map_err(failed)?;
    if octets.len() as u64 > largest {
        let why = format!("it is larger than {} KiB; make it smaller", largest >> 10);
        return Err(EmulateError::Content { what, path: path.into(), why });
    }
    Ok(octets)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn named_files_are_of_the_folder_and_are_text_whatever_ends_their_lines() {
        let folder = std::env::temp_dir().join(format!("romer-outside-{}", std::process::id()));
        let inner = folder.join("inner");
        fs::create_dir_all(&inner).unwrap();
        fs::write(folder.join("secret"), "secret:words\n").unwrap();
        fs::write(inner.join("here"), "1ms\n").unwrap();
        std::os::unix::fs::symlink(folder.join("secret"), inner.join("link")).unwrap();
        let open = |file: &str| {
            let path = inner.join("s.toml");
            let text = format!("[a_to_b.delay]\nvariable = {{ model = \"empirical\", file = \"{file}\" }}\n");
            fs::write(&path, text).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
            open_scenario(&path).map_err(|error| (error.exit(), error.to_string()))
        };
        fs::write(inner.join("cr"), "delay_us\r1\r2\r").unwrap();
        fs::write(inner.join("packed"), [0x1f, 0x8b, 8, 0, 0]).unwrap();
        let (ended, packed) = (open("cr"), open("packed"));
        let outside = [open("../secret"), open("link"), open("../inner/../secret")];
        let inside = [open("here"), open("../inner/here")];
        fs::remove_dir_all(&folder).unwrap();
        for refused in outside {
            let (exit, words) = refused.unwrap_err();
            assert!(
                exit == Exit::BadData && words.contains("outside") && !words.contains("words"),
                "{exit:?} {words}"
            );
        }
        assert!(ended.is_ok(), "lines may end with a carriage return: {ended:?}");
        assert!(packed.unwrap_err().1.contains("gunzip"));
        assert!(inside.iter().all(Result::is_ok), "{inside:?}");
    }

    #[test]
    fn root_takes_no_scenario_that_anybody_may_write() {
        let why = writable_by_all(0o100_666, true).unwrap();
        assert!(why.contains("refused: mode 0666") && why.contains("chmod 0644"), "{why}");
        assert_eq!(writable_by_all(0o100_644, true), None);
        assert_eq!(writable_by_all(0o100_666, false), None);
    }
}
