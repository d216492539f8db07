//! The calibration of this machine, kept beside the runs.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use romer_record::calibration::{CALIBRATION, CalibrationRecord};

use crate::durable;
use crate::error::StoreError;
use crate::run::read_json;
use crate::runs::Runs;

const FILE: &str = "calibration.json";

/// Where a calibration is kept: `$XDG_STATE_HOME/romer/calibration.json`, beside the folder of runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CalibrationFile {
    path: PathBuf,
}

impl CalibrationFile {
    /// That of this program's user, by its environment.
    ///
    /// # Errors
    /// [`StoreError::NoHome`].
    pub fn of_user() -> Result<Self, StoreError> {
        Ok(Self::beside(&Runs::of_user()?))
    }

    /// That beside a folder of runs.
    pub fn beside(runs: &Runs) -> Self {
        Self { path: runs.root().with_file_name(FILE) }
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Keeps `record` instead of what was there: whole or not at all, whatever happens.
    ///
    /// # Errors
    /// [`StoreError::Io`].
    pub fn write(&self, record: &CalibrationRecord) -> Result<(), StoreError> {
        if let Some(folder) = self.path.parent() {
            fs::create_dir_all(folder).map_err(StoreError::io("make the folder", folder))?;
        }
        let mut text = serde_json::to_string_pretty(record)
            .map_err(|error| StoreError::io("write the calibration", &self.path)(io::Error::other(error)))?;
        text.push('\n');
        durable::put_bytes(&self.path, text.as_bytes())
    }

    /// What is kept; `None` where this machine was never calibrated.
    ///
    /// # Errors
    /// [`StoreError::Malformed`], [`StoreError::Newer`], [`StoreError::Io`].
    pub fn read(&self) -> Result<Option<CalibrationRecord>, StoreError> {
        // It is the user's own, and may be a link to where it is kept.
        let path = match fs::canonicalize(&self.path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            found => found.map_err(StoreError::io("look at the file", &self.path))?,
        };
        read_json(&path, CALIBRATION).map(Some)
    }
}

#[cfg(test)]
mod tests {
    use romer_record::Exit;

    use super::*;
    use romer_record::calibration::{HostGaps, Machine, TwoRatesMissing};

    fn record() -> CalibrationRecord {
        CalibrationRecord {
            schema: CALIBRATION.into(),
            software: "romer 0".into(),
            measured: "2026-11-22T00:00:00Z".into(),
            machine: Machine::default(),
            rounds: 1,
            probes: 100,
            interval_ns: 2_000_000,
            packet_octets: 128,
            stamp_errors: Vec::new(),
            symmetry: Vec::new(),
            two_rates: Vec::new(),
            two_rates_missing: Some(TwoRatesMissing::NotSlowed { error: "no such queue".into() }),
            host_gaps: HostGaps::default(),
        }
    }

    #[test]
    fn what_was_kept_is_read_again_and_replaced_as_a_whole() {
        let folder = tempfile::tempdir().unwrap();
        let file = CalibrationFile::beside(&Runs::at(folder.path().join("state/romer/runs")));
        assert_eq!(file.path(), folder.path().join("state/romer/calibration.json"));
        assert_eq!(file.read().unwrap(), None);
        file.write(&record()).unwrap();
        assert_eq!(file.read().unwrap(), Some(record()));
        let second = CalibrationRecord { rounds: 7, ..record() };
        file.write(&second).unwrap();
        assert_eq!(file.read().unwrap(), Some(second));
        assert_eq!(fs::read_dir(folder.path().join("state/romer")).unwrap().count(), 1, "nothing unfinished");
    }

    #[test]
    fn a_file_that_is_no_calibration_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let file = CalibrationFile::beside(&Runs::at(folder.path().join("runs")));
        for text in ["", "{}", "{\"schema\": \"romer/doctor/1\"}", "{\"schema\": \"romer/calibration/1\"}"] {
            fs::write(file.path(), text).unwrap();
            let error = file.read().unwrap_err();
            assert_eq!(error.exit(), Exit::BadData, "{text}");
            assert!(error.to_string().contains("calibration.json"), "{error}");
        }
        fs::write(file.path(), "{\"schema\": \"romer/calibration/9\"}").unwrap();
        assert!(matches!(file.read(), Err(StoreError::Newer { found: 9, known: 1, .. })));
    }
}
