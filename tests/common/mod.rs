//! The data folder: graphs with known facts, for any test that uses them. `VXM_DATA` names the folder.

use serde_json::Value;
use std::io::Write;
use std::path::{Path, PathBuf};

/// The data folder, or `None`, with a line on stderr, if there is none.
pub fn data() -> Option<PathBuf> {
    let beside = |package: &str| {
        let around = Path::new(package).ancestors().skip(1).map(|folder| folder.join("shared/data"));
        around.take(3).find(|folder| folder.is_dir()).unwrap_or_else(|| Path::new(package).join("../shared/data"))
    };
    let folder = std::env::var_os("VXM_DATA").map_or_else(|| beside(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
    if folder.is_dir() {
        return Some(folder);
    }
    // written past the test harness' capture, so that a skipped test shows
    let _ = writeln!(std::io::stderr(), "skipped: no folder {} (set VXM_DATA)", folder.display());
    None
}

/// The rows of `facts.json` in a subfolder: the path of a graph's file, and the row itself. Empty if there is no data folder.
pub fn facts(folder: &str) -> Vec<(String, Value)> {
    let Some(folder) = data().map(|data| data.join(folder)) else {
        return Vec::new();
    };
    let text = std::fs::read_to_string(folder.join("facts.json")).unwrap();
    let Ok(Value::Array(rows)) = serde_json::from_str(&text) else {
        panic!("{}: facts.json is no list", folder.display());
    };
    let path = |row: &Value| folder.join(row["file"].as_str().unwrap()).display().to_string();
    rows.into_iter().map(|row| (path(&row), row)).collect()
}
