//! A folder for files that are read by their path.

use std::cell::OnceCell;
use std::fs;
use std::path::Path;

use tempfile::TempDir;

thread_local! {
    static FOLDER: OnceCell<TempDir> = const { OnceCell::new() };
}

/// Hands over the path of a file of this name and content. Each thread writes its files anew in one folder.
pub(crate) fn with_file(name: &str, octets: &[u8], read: impl FnOnce(&Path)) {
    FOLDER.with(|folder| {
        let folder = folder.get_or_init(|| tempfile::tempdir().expect("a folder for the files"));
        let path = folder.path().join(name);
        fs::write(&path, octets).expect("a file in it");
        read(&path);
    });
}
