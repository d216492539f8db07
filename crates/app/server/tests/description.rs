//! The description of the interface is published as it is.

use std::path::Path;

/// `docs/openapi.json` is what the server gives at `/api/openapi.json`, and the console's types are made of it.
#[test]
fn the_published_description_is_that_of_the_server() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../docs/openapi.json");
    let mut now = serde_json::to_string_pretty(&romer_server::openapi()).unwrap();
    now.push('\n');
    if std::env::var_os("ROMER_GOLDEN").is_some_and(|value| value == "write") {
        std::fs::write(&path, &now).unwrap();
    }
    let published = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        published == now,
        "docs/openapi.json is not current; write it with ROMER_GOLDEN=write cargo test -p romer-server, and then the \
         types of console/ with npm run types"
    );
}
