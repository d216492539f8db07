//! The layers of the crates.
//!
//! A crate depends only on crates of lower layers or of its own layer. Within `model` it depends only on those
//! before it in [`MODEL`]. The tests of a model crate may also use those of [`FOR_TESTS`].

use std::collections::BTreeMap;

use crate::finding::Violation;
use crate::workspace::{Package, Workspace};

/// The layers from bottom to top.
const LAYERS: [&str; 5] = ["model", "sys", "io", "engine", "app"];

/// The crates of `model` in order: each depends only on those before it.
const MODEL: [&str; 15] = [
    "units",
    "wire",
    "rsvp",
    "record",
    "clock",
    "metrics",
    "singletons",
    "traffic",
    "qtcp-protocol",
    "impair",
    "fit",
    "session",
    "method",
    "scenario",
    "fleet",
];

/// The last crates of `model`, which the tests of every other crate may use.
const FOR_TESTS: [&str; 2] = ["sim", "testing"];

/// The place of a package in the layers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Standing<'a> {
    /// `crates/LAYER/NAME`; `layer` is an index of [`LAYERS`].
    Crate { layer: usize, name: &'a str },
    /// Outside `crates/` (xtask, fuzz, validation): may depend on every crate, and no crate on it.
    Tool,
    /// In `crates/`, but in no layer.
    NoLayer,
}

fn standing(folder: &str) -> Standing<'_> {
    let mut parts = folder.split('/');
    if parts.next() != Some("crates") {
        return Standing::Tool;
    }
    let layer = parts.next().and_then(|name| LAYERS.iter().position(|layer| *layer == name));
    match (layer, parts.next(), parts.next()) {
        (Some(layer), Some(name), None) => Standing::Crate { layer, name },
        _ => Standing::NoLayer,
    }
}

/// The position of a crate in its layer; only `model` has an order.
fn rank(layer: usize, name: &str) -> Option<usize> {
    if layer > 0 {
        return Some(0);
    }
    if FOR_TESTS.contains(&name) { Some(MODEL.len()) } else { MODEL.iter().position(|known| *known == name) }
}

/// Whether a package at `user` may depend on one at `used`.
fn may_use(user: Standing<'_>, used: Standing<'_>, for_tests: bool) -> bool {
    let (user_layer, user_name, used_layer, used_name) = match (user, used) {
        (Standing::NoLayer, _) | (_, Standing::NoLayer) => return false,
        (Standing::Tool, _) => return true,
        (_, Standing::Tool) => return false,
        (Standing::Crate { layer: a, name: b }, Standing::Crate { layer: c, name: d }) => (a, b, c, d),
    };
    if user_layer != used_layer || user_layer > 0 {
        return used_layer <= user_layer;
    }
    (for_tests && FOR_TESTS.contains(&used_name)) || rank(0, used_name) < rank(0, user_name)
}

/// Finds packages in no layer, wrong names, and dependencies on higher layers.
pub(crate) fn check(workspace: &Workspace) -> Vec<Violation> {
    let folders: BTreeMap<&str, String> =
        workspace.packages.iter().map(|package| (package.name.as_str(), workspace.folder(package))).collect();
    workspace.packages.iter().flat_map(|package| check_package(package, &folders)).collect()
}

fn check_package(package: &Package, folders: &BTreeMap<&str, String>) -> Vec<Violation> {
    let mut findings = Vec::new();
    let folder = &folders[package.name.as_str()];
    let user = standing(folder);
    match user {
        Standing::NoLayer => findings.push(Violation::error(
            folder,
            format!("is in no layer; move it to crates/LAYER/NAME, where LAYER is one of {LAYERS:?}"),
        )),
        Standing::Crate { layer, name } => {
            if rank(layer, name).is_none() {
                let what = "has no place in the order of model; add it to MODEL in xtask/src/layers.rs";
                findings.push(Violation::error(folder, what));
            }
            let expected = if name == "cli" { "romer".to_owned() } else { format!("romer-{name}") };
            if package.name != expected {
                findings.push(Violation::error(
                    folder,
                    format!("has the package name {}, not {expected}", package.name),
                ));
            }
        }
        Standing::Tool => {}
    }
    for dependency in &package.dependencies {
        let Some(used) = folders.get(dependency.name.as_str()) else { continue };
        let for_tests = dependency.kind.as_deref() == Some("dev");
        if !may_use(user, standing(used), for_tests) {
            findings.push(Violation::error(folder, format!("depends on {used}, which is in a higher layer or later in the order of model; remove the dependency")));
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
                       "manifest_path": format!("/repo/{folder}/Cargo.toml")})
            })
            .collect();
        let whole = json!({"workspace_root": "/repo", "packages": packages});
        serde_json::from_value(whole).unwrap()
    }

    fn places(workspace: &Workspace) -> Vec<String> {
        check(workspace).into_iter().map(|finding| finding.place).collect()
    }

    #[test]
    fn a_graph_in_order_passes() {
        let graph = workspace(&[
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
        assert_eq!(places(&graph), Vec::<String>::new());
    }

    #[test]
    fn a_use_of_a_higher_layer_is_found() {
        let graph = workspace(&[
            ("romer-host", "crates/sys/host", &[("romer-store", Value::Null)]),
            ("romer-store", "crates/io/store", &[]),
        ]);
        assert_eq!(places(&graph), ["crates/sys/host"]);
    }

    #[test]
    fn a_use_against_the_order_within_model_is_found() {
        let graph = workspace(&[
            ("romer-impair", "crates/model/impair", &[("romer-scenario", Value::Null)]),
            ("romer-scenario", "crates/model/scenario", &[("romer-impair", Value::Null)]),
        ]);
        assert_eq!(places(&graph), ["crates/model/impair"]);
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
        let graph = workspace(&[
            ("romer-units", "crates/model/units", &[("romer-wire", json!("dev"))]),
            ("romer-wire", "crates/model/wire", &[]),
        ]);
        assert_eq!(places(&graph), ["crates/model/units"]);
    }

    #[test]
    fn crates_without_a_place_or_name_are_found() {
        let graph = workspace(&[
            ("romer-magic", "crates/model/magic", &[]),
            ("stray", "crates/stray", &[]),
            ("romer-disk", "crates/io/store", &[]),
            ("romer-net", "crates/net/net", &[]),
        ]);
        assert_eq!(
            places(&graph),
            ["crates/model/magic", "crates/stray", "crates/io/store", "crates/net/net"]
        );
    }

    #[test]
    fn no_crate_uses_a_tool() {
        let graph = workspace(&[
            ("romer-measure", "crates/engine/measure", &[("romer-validation", Value::Null)]),
            ("romer-validation", "validation", &[]),
        ]);
        assert_eq!(places(&graph), ["crates/engine/measure"]);
    }
}
