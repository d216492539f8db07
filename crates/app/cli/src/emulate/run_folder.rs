//! The folder of an emulation: samples, results, scenario and the page of figures.

use std::fs::{self, File};
use std::io::BufReader;
use std::path::{Path, PathBuf};

use romer_emulate::{delay_distribution, read_departures};
use romer_impair::goodness_of_fit::{
    Goodness, chi_square, jarque_bera, kolmogorov_smirnov, normal_scores, normal_share_up_to, numbers,
};
use romer_impair::{Config, PortId};
use romer_record::emulation::Emulation;
use romer_record::warning::EmulationWarning;
use romer_report::emulation::{Drawn, EmulatedPackets, EmulationRun, Judged, Sampled, charts, report};
use romer_report::escape;
use romer_store::Runs;
use romer_units::random::Seed;

use crate::failure::Failure;
use crate::output;

/// Packets and copies of each direction that the figures show.
const MAX_FIGURE_PACKETS: usize = 1_000_000;
/// Numbers of the generator that are shown and tested.
const TESTED_RANDOM_NUMBERS: u32 = 10_000;
/// Cells of the chi-square test.
const CHI_SQUARE_CELLS: u16 = 100;
/// The files.
pub(super) const SAMPLES: &str = "samples.csv";
pub(super) const DOCUMENT: &str = "emulation.json";
pub(super) const SCENARIO: &str = "scenario.toml";
pub(super) const PAGE: &str = "report.html";
pub(super) const FIGURES: &str = "figures";
/// What the names of the scenario of each period of a followed path begin with; its number follows.
pub(super) const REFIT: &str = "scenario-";
/// The folder of the runs of a followed path: one for each period, named by its number.
pub(super) const MEASUREMENTS: &str = "measurements";

const OWN_FILES: [&str; 6] = [SAMPLES, DOCUMENT, SCENARIO, PAGE, FIGURES, MEASUREMENTS];

/// The scenario with its seed, so that the file alone says what is to be done again.
pub(super) fn seeded(scenario: &str, seed: Seed) -> String {
    let words = seed.0.map(|word| word.to_string()).join(", ");
    let Ok(table) = toml::de::DeTable::parse(scenario) else { return scenario.to_owned() };
    match table.get_ref().get("seed").map(toml::Spanned::span) {
        Some(place) => format!("{}[{words}]{}", &scenario[..place.start], &scenario[place.end..]),
        None => format!("seed = [{words}]\n{scenario}"),
    }
}

/// Whether a file of this name is that of a period of a followed path.
fn is_of_period(name: &str) -> bool {
    name.strip_prefix(REFIT).and_then(|rest| rest.split('.').next()).is_some_and(is_period)
}

/// Whether this is the number of a period.
fn is_period(text: &str) -> bool {
    text.len() >= 3 && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Removes the runs of the periods of a followed path, and their folder if nothing else is in it.
fn remove_runs(folder: &Path) {
    let runs = fs::read_dir(folder).into_iter().flatten().flatten();
    for run in runs.filter(|run| run.file_name().to_str().is_some_and(is_period)) {
        let _ = fs::remove_dir_all(run.path());
    }
    let _ = fs::remove_dir(folder);
}

/// The folder of an emulation.
pub(super) struct RunFolder {
    folder: PathBuf,
    found: FolderState,
}

/// How the folder was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FolderState {
    Missing,
    Empty,
    /// With an emulation in it, which is written over.
    Full,
}

impl RunFolder {
    /// Makes the folder that is asked for, with the scenario that begins and its seed. One that is there must be empty, or
    /// with `force` an emulation's, be it of one that was killed, whose files are written anew.
    pub(super) fn make(
        out: Option<&Path>,
        force: bool,
        scenario: &str,
        seed: Seed,
    ) -> Result<Option<Self>, Failure> {
        let Some(folder) = out else { return Ok(None) };
        let shown = escape::terminal(&folder.to_string_lossy());
        let mut kept = Self { folder: folder.into(), found: FolderState::Missing };
        let refused =
            |why: &str| Err(Failure::usage(format!("the folder cannot be used (--out {shown}): {why}")));
        match fs::read_dir(folder) {
            Ok(entries) => {
                let names: Vec<_> = entries.flatten().map(|entry| entry.file_name()).collect();
                let of_period = |name: &&std::ffi::OsString| name.to_str().is_some_and(is_of_period);
                let own =
                    |name: &std::ffi::OsString| OWN_FILES.iter().any(|own| name == own) || of_period(&name);
                let is_emulations = folder.join(DOCUMENT).is_file() || names.iter().all(own);
                if !is_emulations {
                    return refused(
                        "it is not empty, and contains files that are not of an emulation; name another folder",
                    );
                }
                if !names.is_empty() && !force {
                    return refused(
                        "it is not empty; name another folder, or write over the emulation in it with --force",
                    );
                }
                kept.found = if names.is_empty() { FolderState::Empty } else { FolderState::Full };
                // Of one that was killed after another had ended here, the other's would be taken for its own.
                for name in [DOCUMENT, PAGE] {
                    let _ = fs::remove_file(folder.join(name));
                }
                // The periods of an earlier one would be taken for this one's.
                for path in names.iter().filter(of_period).map(|name| folder.join(name)) {
                    let _ = fs::remove_file(&path);
                }
                // Nothing is written through a link.
                for path in OWN_FILES.map(|name| folder.join(name)).iter().filter(|path| path.is_symlink()) {
                    let _ = fs::remove_file(path);
                }
                remove_runs(&folder.join(MEASUREMENTS));
            }
            Err(_) if folder.exists() => return refused("it is not a folder; name another"),
            Err(_) => {}
        }
        fs::create_dir_all(kept.file(FIGURES)).map_err(|error| {
            Failure::environment(format!(
                "cannot make a folder ({shown}): {error}; name one that can be made"
            ))
        })?;
        kept.write(SCENARIO, &seeded(scenario, seed))?;
        Ok(Some(kept))
    }

    /// Leaves the place as it was found, because the emulation does not begin. What was written over is not brought back.
    pub(super) fn give_up(&self) {
        if self.found == FolderState::Full {
            return;
        }
        for name in [SAMPLES, SCENARIO] {
            let _ = fs::remove_file(self.file(name));
        }
        // Only what is empty is removed.
        let _ = fs::remove_dir(self.file(FIGURES));
        if self.found == FolderState::Missing {
            let _ = fs::remove_dir(&self.folder);
        }
    }

    fn file(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// Where the samples go.
    pub(super) fn samples(&self) -> PathBuf {
        self.file(SAMPLES)
    }

    /// Where all of it is.
    pub(super) fn path(&self) -> &Path {
        &self.folder
    }

    /// Writes everything else, from the samples that are there. `scenario` is what held all the time. Where a path was followed, the
    /// file of the scenario is written already.
    pub(super) fn finish(
        &self,
        document: &Emulation,
        scenario: Option<&Config>,
        is_followed: bool,
    ) -> Result<(), Failure> {
        let samples = self.samples();
        let reading = |error: std::io::Error| {
            let shown = escape::terminal(&samples.to_string_lossy());
            Failure::environment(format!(
                "cannot read the samples ({shown}): {error}; the run folder is incomplete"
            ))
        };
        let file = BufReader::with_capacity(1 << 16, File::open(&samples).map_err(reading)?);
        let departures = read_departures(&samples, file, MAX_FIGURE_PACKETS)?;
        let mut document = document.clone();
        if departures.left_out > 0 {
            document.warnings.push(EmulationWarning::ChartsLimited {
                shown: MAX_FIGURE_PACKETS as u64,
                more: departures.left_out,
            });
        }
        let theory = PortId::BOTH.map(|port| scenario.and_then(|config| delay_distribution(config, port)));
        let generator = scenario.map(|config| config.generator).unwrap_or_default();
        let drawn = numbers(generator, Seed(document.seed), TESTED_RANDOM_NUMBERS);
        let judged = test_generator(&drawn.uniform, &drawn.normal);
        let run = EmulationRun {
            document: &document,
            ways: PortId::BOTH.map(|port| EmulatedPackets {
                name: if port == PortId::A { "a to b" } else { "b to a" },
                packets: &departures.packets[port.index()],
                theory: theory[port.index()].as_deref(),
            }),
            numbers: Sampled {
                uniform: &drawn.uniform,
                normal: &drawn.normal,
                scores: &normal_scores(TESTED_RANDOM_NUMBERS),
                judged: &judged,
            },
        };
        let text = output::document_text(&document)?;
        if !is_followed {
            self.write(SCENARIO, &seeded(&document.scenario, Seed(document.seed)))?;
        }
        for chart in charts(&run).map_err(Failure::own)? {
            self.write(&format!("{FIGURES}/{}.svg", chart.name), &chart.svg)?;
        }
        self.write(PAGE, &report(&run).map_err(Failure::own)?)?;
        // The document last: a folder that has it is whole.
        self.write(DOCUMENT, &text)?;
        // The console shows what lies among the runs; without that the folder is as good.
        let listed = Runs::of_user().and_then(|runs| runs.list_elsewhere(&self.folder, &document.started));
        if let Err(error) = listed {
            output::eprint_line(&format!("note: the folder is not listed among the runs: {error}"));
        }
        Ok(())
    }

    /// That it is there, in words.
    pub(super) fn text(&self) -> String {
        kept_in(&self.folder)
    }

    fn write(&self, name: &str, text: &str) -> Result<(), Failure> {
        let path = self.file(name);
        let shown = escape::terminal(&path.to_string_lossy());
        let path = path
            .to_str()
            .ok_or_else(|| Failure::usage(format!("the folder's name is not text ({shown})")))?;
        output::write_document(path, text, true)
    }
}

/// That an emulation is in this folder, in words.
pub(super) fn kept_in(folder: &Path) -> String {
    format!("Saved to {0}; report: {0}/{PAGE}\n", escape::terminal(&folder.to_string_lossy()))
}

/// The tests of Pham 2004's chapter 5.
fn test_generator(uniform: &[f64], normal: &[f64]) -> Vec<Judged> {
    let found: [(Drawn, &'static str, Option<Goodness>); 5] = [
        (Drawn::Uniform, "Kolmogorov-Smirnov distance", kolmogorov_smirnov(uniform, |x| x)),
        (Drawn::Uniform, "Chi-square over 100 cells", chi_square(uniform, CHI_SQUARE_CELLS, |x| x)),
        (Drawn::Normal, "Kolmogorov-Smirnov distance", kolmogorov_smirnov(normal, normal_share_up_to)),
        (
            Drawn::Normal,
            "Chi-square over 100 cells",
            chi_square(normal, CHI_SQUARE_CELLS, normal_share_up_to),
        ),
        (Drawn::Normal, "Jarque-Bera", jarque_bera(normal)),
    ];
    found
        .into_iter()
        .filter_map(|(of, test, found)| {
            found.map(|Goodness { statistic, p_value }| Judged { of, test, statistic, p_value })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Names of periods are those that a follower gives, and no other file of the user's.
    #[test]
    fn names_of_periods_are_numbers() {
        let names = ["scenario-001.toml", "scenario-1234.a_to_b.delays"];
        assert!(names.into_iter().all(is_of_period));
        let others =
            ["scenario.toml", "scenario-01.toml", "scenario-evening.toml", "measurements", "samples.csv"];
        assert!(!others.into_iter().any(is_of_period));
    }

    /// Only runs of periods are removed, and their folder with the last thing in it.
    #[test]
    fn runs_of_periods_are_removed() {
        let place = tempfile::tempdir().unwrap();
        let runs = place.path().join(MEASUREMENTS);
        for name in ["001", "1234", "mine"] {
            fs::create_dir_all(runs.join(name)).unwrap();
            fs::write(runs.join(name).join("manifest.json"), "{}").unwrap();
        }
        remove_runs(&runs);
        assert!(runs.join("mine/manifest.json").exists() && !runs.join("001").exists());
        fs::remove_dir_all(runs.join("mine")).unwrap();
        remove_runs(&runs);
        assert!(!runs.exists());
        // Without a folder there is nothing to do.
        remove_runs(&runs);
    }
}
