//! Scenarios that come with romer: networks that others measured or agreed on, each with its source and year.

use crate::{Load, Scenario, ScenarioError, parse};

/// A scenario by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Preset {
    /// What `--preset` takes.
    pub name: &'static str,
    /// The scenario; its `[about]` table names source and year.
    pub text: &'static str,
}

macro_rules! presets {
    ($($name:literal),+ $(,)?) => {
        &[$(Preset { name: $name, text: include_str!(concat!("../../../../presets/", $name, ".toml")) }),+]
    };
}

/// All, by name.
pub const PRESETS: &[Preset] = presets![
    "4g-download",
    "5g-download",
    "5g-midband",
    "adsl2",
    "atc-2g-rural",
    "atc-3g",
    "atc-dsl",
    "atc-edge-lossy",
    "cable",
    "cellular-moving",
    "demo",
    "devtools-fast-3g",
    "devtools-fast-4g",
    "devtools-slow-3g",
    "fibre",
    "measured-802.11a",
    "measured-802.11b",
    "measured-802.11b-on-g",
    "measured-802.11g",
    "measured-802.11g-on-b",
    "measured-adsl",
    "measured-adsl-alternative",
    "measured-bluetooth",
    "measured-cable",
    "measured-cdma",
    "measured-connection-sharing",
    "measured-edge",
    "starlink",
    "starlink-moving",
    "str0m-geo",
    "str0m-wifi-lossy",
    "vdsl",
    "wifi-campus",
    "wifi-congested",
    "wpt-2g",
    "wpt-3g",
    "wpt-3g-fast",
    "wpt-4g",
    "wpt-cable",
    "wpt-dsl",
    "wpt-edge",
    "wpt-fios",
    "wpt-lte",
];

impl Preset {
    /// The scenario, read.
    ///
    /// # Errors
    /// None, for those that come with romer: a test reads them all.
    pub fn scenario(&self) -> Result<Scenario, ScenarioError> {
        let load: &mut Load<'_> = &mut |_| Err("a preset names no files".into());
        parse(self.text, &format!("presets/{}.toml", self.name), load)
    }
}

/// The preset of that name.
///
/// # Errors
/// In words, with the nearest name.
pub fn preset(name: &str) -> Result<&'static Preset, String> {
    PRESETS.iter().find(|preset| preset.name == name).ok_or_else(|| {
        let names: Vec<&str> = PRESETS.iter().map(|preset| preset.name).collect();
        let shown = romer_units::excerpt(name, 60);
        match crate::reader::nearest(&name.to_lowercase(), names.iter().copied()) {
            Some(near) => format!("no preset is called {shown:?}; did you mean {near}?"),
            None => format!("no preset is called {shown:?}; there are {}", names.join(", ")),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_preset_can_be_read_and_names_its_source_and_year() {
        for preset in PRESETS {
            let scenario = preset.scenario().unwrap_or_else(|error| panic!("{error}"));
            let about = scenario.about;
            assert!(
                about.title.is_some() && about.source.is_some() && about.year.is_some(),
                "{}",
                preset.name
            );
            assert!(scenario.config.longest_hold() > 0, "{} delays nothing", preset.name);
        }
    }

    #[test]
    fn a_mistyped_name_gets_the_nearest_one() {
        assert!(preset("wpt-3g").is_ok());
        assert!(preset("measured-blutooth").unwrap_err().contains("measured-bluetooth"));
        assert!(preset("WPT-3G").unwrap_err().ends_with("did you mean wpt-3g?"));
        assert!(preset("mars").unwrap_err().contains("starlink"), "all are listed");
    }
}
