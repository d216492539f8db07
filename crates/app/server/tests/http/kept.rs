//! What lies among the runs besides measurements: listed, opened, taken away.

use romer_store::Runs;
use serde_json::Value;

use super::Console;
use super::fixture::emulation;

/// The name of a folder that needs its octets encoded.
const ODD: &str = "löss & delay #1 (50%)";

fn encoded(name: &str) -> String {
    name.bytes().map(|octet| format!("%{octet:02X}")).collect()
}

#[test]
fn kept_emulations_are_runs_whatever_their_name() {
    let console = Console::start();
    let runs = console.state.path().join("runs");
    let folder = runs.join(ODD);
    std::fs::create_dir_all(folder.join("figures")).unwrap();
    let document = emulation();
    std::fs::write(folder.join("emulation.json"), serde_json::to_string(&document).unwrap()).unwrap();
    std::fs::write(folder.join("report.html"), "<p>the page").unwrap();
    std::fs::write(folder.join("figures/loss.svg"), "<svg/>").unwrap();
    std::fs::create_dir_all(runs.join("broken")).unwrap();
    std::fs::write(runs.join("broken/emulation.json"), "{}").unwrap();
    std::fs::create_dir_all(runs.join("something else")).unwrap();

    let get = |path: &str| console.send(&format!("GET /api/runs{path}"), "");
    let listed: Value = serde_json::from_str(&get("").is(200).body).unwrap();
    let listed = listed.as_array().unwrap();
    let named = |name: &str| listed.iter().find(|run| run["name"] == name).unwrap();
    assert_eq!(listed.len(), 2, "{listed:?}");
    assert_eq!((&named(ODD)["kind"], &named(ODD)["state"]), (&"emulation".into(), &"complete".into()));
    assert_eq!(named("broken")["state"], "damaged");

    let odd = format!("/{}", encoded(ODD));
    let opened: Value = serde_json::from_str(&get(&odd).is(200).body).unwrap();
    assert_eq!(opened["scenario"]["a_to_b"]["delay"]["fixed"], "30ms", "{opened}");
    assert_eq!(opened["emulation"]["seed"], serde_json::json!([1, 2, 3, 4, 5, 6]));
    let page = get(&format!("{odd}/report.html"));
    assert_eq!(page.is(200).body, "<p>the page");
    assert!(page.head.contains("; sandbox allow-scripts") && !page.head.contains("allow-same-origin"));
    assert!(page.head.contains("script-src 'sha256-") && page.head.contains("default-src 'none'"));
    get(&format!("{odd}/packets.csv")).is_problem(422);
    for broken in ["a%0d%0ab", "a%0ab", "a%1bb"] {
        get(&format!("/{broken}/packets.csv")).is_problem(422);
    }
    assert_eq!(opened["frames"], false);
    get(&format!("{odd}/frames.pcapng")).is_problem(404);
    std::fs::write(folder.join("frames.pcapng"), "frames").unwrap();
    let opened: Value = serde_json::from_str(&get(&odd).is(200).body).unwrap();
    assert_eq!(opened["frames"], true);
    let frames = get(&format!("{odd}/frames.pcapng"));
    assert_eq!(frames.is(200).body, "frames");
    assert!(frames.head.contains("content-disposition: attachment"), "{frames:?}");
    get("/something%20else/frames.pcapng").is_problem(404);
    get("/broken").is_problem(422);
    get("/something%20else").is_problem(404);
    get("/%2e%2e").is_problem(404);

    let delete = |name: &str| console.send(&format!("DELETE /api/runs/{}", encoded(name)), "");
    delete(ODD).is(204);
    assert!(!folder.exists());
    delete("something else").is_problem(404);
    delete("..").is_problem(404);
    assert!(runs.join("something else").exists());

    // One that lies elsewhere is listed by its link, and deleting takes away that alone.
    let elsewhere = console.state.path().join("elsewhere");
    std::fs::create_dir(&elsewhere).unwrap();
    std::fs::write(elsewhere.join("emulation.json"), serde_json::to_string(&document).unwrap()).unwrap();
    let link = Runs::at(runs).list_elsewhere(&elsewhere, &document.started).unwrap().unwrap();
    let name = link.file_name().unwrap().to_str().unwrap();
    let listed: Value = serde_json::from_str(&get("").is(200).body).unwrap();
    let one = listed.as_array().unwrap().iter().find(|run| run["name"] == name).unwrap();
    let place = std::fs::canonicalize(&elsewhere).unwrap().display().to_string();
    assert_eq!((&one["link_target"], &one["state"]), (&place.as_str().into(), &"complete".into()));
    let opened: Value = serde_json::from_str(&get(&format!("/{name}")).is(200).body).unwrap();
    assert_eq!(opened["folder"], place.as_str(), "{opened}");
    delete(name).is(204);
    assert!(elsewhere.join("emulation.json").exists() && !link.is_symlink());
}
