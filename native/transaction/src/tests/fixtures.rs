//! Real transactions and signatures from a folder beside the checkout. Tests are skipped where the
//! folder is missing.

use std::fs;
use std::path::PathBuf;

use serde_json::Value;

/// The path of a fixture. Where it is missing, prints a note.
pub fn path(part: &str) -> Option<PathBuf> {
    let shared = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/fixtures");
    let path = shared.join(part);
    if !path.exists() {
        println!("skipped: the fixtures hold no {part}");
        return None;
    }
    Some(path)
}

pub fn json(part: &str) -> Option<Value> {
    let text = fs::read_to_string(path(part)?).unwrap();
    Some(serde_json::from_str(&text).unwrap())
}

/// A transaction of the fixtures and its expected result.
pub struct Fixture {
    pub name: String,
    pub text: String,
    pub file: Value,
}

pub fn transactions() -> Option<Vec<Fixture>> {
    let read = |entry: fs::DirEntry| {
        let name = entry.file_name().to_string_lossy().into_owned();
        let file = json(&format!("transactions/{name}")).unwrap();
        let text = file["tx"].as_str().unwrap().to_string();
        Fixture { name, text, file }
    };
    let entries = fs::read_dir(path("transactions")?).unwrap();
    let fixtures: Vec<Fixture> = entries.map(|entry| read(entry.unwrap())).collect();
    assert!(fixtures.len() > 100);
    Some(fixtures)
}
