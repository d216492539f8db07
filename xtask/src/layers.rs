//! The order of the rooms.
//!
//! A crate uses only crates of the layers above its own, or of its own layer; within `model` only those that
//! stand before it in [`MODEL`]. Tests of a model crate may besides use those of [`FOR_TESTS`].

use std::collections::BTreeMap;

use crate::Finding;
use crate::workspace::{Package, Workspace};

/// The layers, from what is true without a computer down to the programs.
const LAYERS: [&str; 5] = ["model", "sys", "io", "engine", "app"];

/// The rooms of `model`, each using only those before it.
const MODEL: [&str; 11] = [
    "units", "wire", "record", "clock", "metrics", "passages", "traffic", "impair", "session", "method",
    "scenario",
];

/// The last rooms of `model`, which the tests of every other may use: the simulated network, and what tests share.
const FOR_TESTS: [&str; 2] = ["sim", "testing"];

/// Where a package stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Standing<'a> {
    /// A room of `crates/LAYER/ROOM`, by the layer's number.
    Room { layer: usize, room: &'a str },
    /// Beside the house (xtask, validation): may use every room, and no room may use it.
    Tool,
    /// In `crates/`, but in no layer.
    Lost,
}

fn standing(folder: &str) -> Standing<'_> {
    let mut parts = folder.split('/');
    if parts.next() != Some("crates") {
        return Standing::Tool;
    }
    let layer = parts.next().and_then(|name| LAYERS.iter().position(|layer| *layer == name));
    match (layer, parts.next(), parts.next()) {
        (Some(layer), Some(room), None) => Standing::Room { layer, room },
        _ => Standing::Lost,
    }
}

/// The place of a room in its own layer; only `model` has an order.
fn rank(layer: usize, room: &str) -> Option<usize> {
    if layer > 0 {
        return Some(0);
    }
    if FOR_TESTS.contains(&room) { Some(MODEL.len()) } else { MODEL.iter().position(|known| *known == room) }
}

/// Whether a package that stands at `user` may use one that stands at `used`.
fn may_use(user: Standing<'_>, used: Standing<'_>, for_tests: bool) -> bool {
    let (user_layer, user_room, used_layer, used_room) = match (user, used) {
        (Standing::Lost, _) | (_, Standing::Lost) => return false,
        (Standing::Tool, _) => return true,
        (_, Standing::Tool) => return false,
        (Standing::Room { layer: a, room: b }, Standing::Room { layer: c, room: d }) => (a, b, c, d),
    };
    if user_layer != used_layer || user_layer > 0 {
        return used_layer <= user_layer;
    }
    (for_tests && FOR_TESTS.contains(&used_room)) || rank(0, used_room) < rank(0, user_room)
}

/// Every room in its place, every use in order.
pub(crate) fn check(workspace: &Workspace) -> Vec<Finding> {
    let folders: BTreeMap<&str, String> =
        workspace.packages.iter().map(|package| (package.name.as_str(), workspace.folder(package))).collect();
    workspace.packages.iter().flat_map(|package| check_package(package, &folders)).collect()
}

fn check_package(package: &Package, folders: &BTreeMap<&str, String>) -> Vec<Finding> {
    let mut findings = Vec::new();
    let folder = &folders[package.name.as_str()];
    let user = standing(folder);
    match user {
        Standing::Lost => findings.push(Finding::error(
            folder,
            format!("lies in no layer: crates go to crates/LAYER/NAME, and the layers are {LAYERS:?}"),
        )),
        Standing::Room { layer, room } => {
            if rank(layer, room).is_none() {
                let what =
                    "is a room of model without a place in the order: give it one in xtask/src/layers.rs";
                findings.push(Finding::error(folder, what));
            }
            let expected = if room == "cli" { "romer".to_owned() } else { format!("romer-{room}") };
            if package.name != expected {
                findings.push(Finding::error(folder, format!("is called {}, not {expected}", package.name)));
            }
        }
        Standing::Tool => {}
    }
    for dependency in &package.dependencies {
        let Some(used) = folders.get(dependency.name.as_str()) else { continue };
        let for_tests = dependency.kind.as_deref() == Some("dev");
        if !may_use(user, standing(used), for_tests) {
            findings.push(Finding::error(folder, format!("must not use {used}, which stands below it")));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    /// A package's name, its folder, and what it uses by name and kind.
    type Made<'a> = (&'a str, &'a str, &'a [(&'a str, Value)]);

    /// A workspace of made-up packages.
    fn workspace(packages: &[Made<'_>]) -> Workspace {
        let packages: Vec<Value> = packages
            .iter()
            .map(|(name, folder, uses)| {
                let uses: Vec<Value> =
                    uses.iter().map(|(name, kind)| json!({"name": name, "kind": kind})).collect();
                json!({"name": name, "version": "0.1.0", "dependencies": uses,
                       "manifest_path": format!("/house/{folder}/Cargo.toml")})
            })
            .collect();
        let whole = json!({"workspace_root": "/house", "packages": packages});
        serde_json::from_value(whole).unwrap()
    }

    fn places(workspace: &Workspace) -> Vec<String> {
        check(workspace).into_iter().map(|finding| finding.place).collect()
    }

    #[test]
    fn a_graph_in_order_passes() {
        let house = workspace(&[
            ("romer-units", "crates/model/units", &[("serde", Value::Null)]),
            ("romer-sim", "crates/model/sim", &[("romer-units", Value::Null)]),
            (
                "romer-session",
                "crates/model/session",
                &[("romer-units", Value::Null), ("romer-sim", json!("dev"))],
            ),
            ("romer-host", "crates/sys/host", &[("romer-units", Value::Null)]),
            (
                "romer-measure",
                "crates/engine/measure",
                &[("romer-host", Value::Null), ("romer-lab", Value::Null)],
            ),
            ("romer-lab", "crates/engine/lab", &[]),
            ("romer", "crates/app/cli", &[("romer-measure", Value::Null)]),
            ("xtask", "xtask", &[("romer-units", Value::Null)]),
        ]);
        assert_eq!(places(&house), Vec::<String>::new());
    }

    #[test]
    fn a_use_of_a_lower_layer_is_found() {
        let house = workspace(&[
            ("romer-host", "crates/sys/host", &[("romer-store", Value::Null)]),
            ("romer-store", "crates/io/store", &[]),
        ]);
        assert_eq!(places(&house), ["crates/sys/host"]);
    }

    #[test]
    fn a_use_against_the_order_within_model_is_found() {
        let house = workspace(&[
            ("romer-impair", "crates/model/impair", &[("romer-scenario", Value::Null)]),
            ("romer-scenario", "crates/model/scenario", &[("romer-impair", Value::Null)]),
        ]);
        assert_eq!(places(&house), ["crates/model/impair"]);
    }

    #[test]
    fn the_simulator_is_for_tests_only() {
        let normal = workspace(&[
            ("romer-session", "crates/model/session", &[("romer-sim", Value::Null)]),
            ("romer-sim", "crates/model/sim", &[]),
        ]);
        assert_eq!(places(&normal), ["crates/model/session"]);
    }

    #[test]
    fn tests_obey_the_order_but_for_the_simulator() {
        let house = workspace(&[
            ("romer-units", "crates/model/units", &[("romer-wire", json!("dev"))]),
            ("romer-wire", "crates/model/wire", &[]),
        ]);
        assert_eq!(places(&house), ["crates/model/units"]);
    }

    #[test]
    fn rooms_without_a_place_and_with_a_wrong_name_are_found() {
        let house = workspace(&[
            ("romer-magic", "crates/model/magic", &[]),
            ("stray", "crates/stray", &[]),
            ("romer-disk", "crates/io/store", &[]),
            ("romer-net", "crates/net/net", &[]),
        ]);
        assert_eq!(
            places(&house),
            ["crates/model/magic", "crates/stray", "crates/io/store", "crates/net/net"]
        );
    }

    #[test]
    fn no_room_uses_a_tool() {
        let house = workspace(&[
            ("romer-measure", "crates/engine/measure", &[("romer-validation", Value::Null)]),
            ("romer-validation", "validation", &[]),
        ]);
        assert_eq!(places(&house), ["crates/engine/measure"]);
    }
}
