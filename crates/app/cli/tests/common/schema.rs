//! Documents compared with the published schemas.

use std::fs;

use romer_testing::schema::assert_follows;
use serde_json::Value;

/// Asserts that `document` is as `docs/schema/NAME.json` says.
pub(crate) fn assert_valid(document: &Value, name: &str) {
    let path = super::repository().join("docs/schema").join(format!("{name}.json"));
    let root = serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap();
    assert_follows(document, &root, name);
}
