//! What an emulation that followed a path leaves in its folder: a scenario for each refit with its data, and a timeline that names them.

use std::path::{Path, PathBuf};

use romer_emulate::model_fit::Fitted;
use romer_impair::{Config, Nanos};
use romer_report::escape;
use romer_scenario::{LARGEST, MOST_OCTETS, MOST_STEP_PROCESSES, quoted};
use romer_units::Duration;

use crate::emulate::run_folder::SCENARIO;
use crate::failure::Failure;
use crate::output;

/// A timeline of refits, and what the reader of scenarios limits of it.
pub(super) struct Recording {
    folder: PathBuf,
    text: String,
    /// Delays in time of all scenarios, and the octets of their files.
    processes: usize,
    octets: usize,
    is_full: bool,
}

impl Recording {
    /// A timeline in `folder`, of the path to `target`, that begins with the scenario `start`.
    pub(super) fn new(folder: &Path, start: &str, target: &str) -> Self {
        let text = format!(
            "# Recorded by `romer emulate --follow`.\n{start}[about]\ntitle = {}\n\
             source = \"romer emulate --follow\"\n",
            quoted(&format!("Path to {target}"))
        );
        Self { folder: folder.into(), text, processes: 0, octets: 0, is_full: false }
    }

    /// Writes the scenario of a refit, and gives the name of its file. `stem` is that name without its ending.
    pub(super) fn save(&self, stem: &str, fitted: &Fitted) -> Result<String, Failure> {
        for (name, content) in &fitted.files {
            self.put(name, content)?;
        }
        let name = format!("{stem}.toml");
        self.put(&name, &fitted.text)?;
        Ok(name)
    }

    /// Adds the step of a scenario that was saved as `name` and holds from `at` on, nanoseconds after the start, and writes the timeline.
    /// Gives whether the timeline is full since this step, which is then left out as are all later ones.
    pub(super) fn add(
        &mut self,
        name: &str,
        at: Nanos,
        fitted: &Fitted,
        config: &Config,
    ) -> Result<bool, Failure> {
        if self.is_full {
            return Ok(false);
        }
        let step = format!("\n[[timeline]]\nat = \"{}\"\nscenario = \"{name}\"\n", Duration::from_nanos(at));
        let files = fitted.files.iter().map(|(_, content)| content.len()).sum::<usize>();
        self.processes += processes(config);
        self.octets += fitted.text.len() + files;
        self.is_full = (self.text.len() + step.len()) as u64 > LARGEST
            || self.processes > MOST_STEP_PROCESSES
            || self.octets > MOST_OCTETS;
        if self.is_full {
            return Ok(true);
        }
        self.text.push_str(&step);
        self.put(SCENARIO, &self.text)?;
        Ok(false)
    }

    /// Writes a file of this name, whole or not at all.
    fn put(&self, name: &str, text: &str) -> Result<(), Failure> {
        let path = self.folder.join(name);
        output::put_file(&path, text.as_bytes()).map_err(|error| {
            Failure::environment(format!(
                "cannot write a refit ({}): {error}; free space on the disk, and start again",
                escape::path(&path)
            ))
        })
    }
}

/// The delays in time of a scenario, as its reader counts them.
fn processes(config: &Config) -> usize {
    let delays = config.paths().flat_map(|path| path.delay.all());
    delays.filter(|delay| delay.variable.as_ref().is_some_and(|one| one.process().is_some())).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A step that the reader would refuse is left out, and so are all later ones; that is said once.
    #[test]
    fn full_timelines_end() {
        let folder = tempfile::tempdir().unwrap();
        let text = "[a_to_b.delay]\nvariable = { model = \"correlated\", distribution = { model = \"exponential\", mean = \"1ms\" }, \
                    time = \"50ms\" }\n";
        let fitted =
            Fitted { text: text.into(), files: Vec::new(), directions: Vec::new(), warnings: Vec::new() };
        let config = fitted.config().unwrap();
        let mut recording = Recording::new(folder.path(), "seed = [1, 2, 3, 4, 5, 6]\n", "far");
        recording.processes = MOST_STEP_PROCESSES - 1;
        let name = recording.save("scenario-001", &fitted).unwrap();
        let mut add = |at| recording.add(&name, at, &fitted, &config).unwrap();
        assert_eq!([1, 2, 3].map(&mut add), [false, true, false]);
        let written = std::fs::read_to_string(folder.path().join(SCENARIO)).unwrap();
        assert_eq!(written.matches("[[timeline]]").count(), 1, "{written}");
        let opened = romer_emulate::open_scenario(&folder.path().join(SCENARIO)).unwrap();
        assert_eq!(opened.scenario.config.timeline.len(), 1);
        assert_eq!(opened.scenario.about.title.as_deref(), Some("Path to far"));
    }
}
