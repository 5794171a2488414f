//! Benchmarks one size of the data set: writes a snapshot archive, loads it, reads the store and
//! updates it. Checks answers before it times them. `cargo run --release -p ingest --example
//! scale_bench -- <folder> <accounts> [wait|cold|copy]` creates the folder and deletes it at the
//! end. Each line on standard output is one figure as JSON.
//!
//! With `wait` it pauses once before the updates, so that another process can read the loaded
//! store: `<folder>/store`, all of it in memory, and `<folder>/sample.json`. The figure `loaded`
//! announces the pause, and a line on standard input ends it.
//!
//! With `cold` it only applies blocks, after two pauses: at `loaded` as with `wait`, and at
//! `forgotten`, when the file is in no process's memory, so that who started it can bound that.
//!
//! With `copy` it only copies the store beside blocks, after the same two pauses.

#![allow(clippy::too_many_lines, reason = "a list of measurements")]

mod apply;
mod cold;
mod copy;
mod data;
mod load;
mod machine;
mod reads;
mod sample;
use fixtures::seeded;
#[path = "../../src/archive/tests/writer.rs"]
#[allow(dead_code)]
mod writer;

use std::path::{Path, PathBuf};

use serde_json::json;
use store::{Options, Store};

use data::Set;

/// Part of the store that fits in memory with `cold`: who started this sees to that.
const MEMORY_PART: u64 = 5;

/// Prints one figure, with the better direction and the target of the contract.
pub fn report(name: &str, value: f64, unit: &str, better: &str, target: Option<f64>) {
    println!(
        "{}",
        json!({ "name": name, "value": value, "unit": unit, "better": better, "target": target })
    );
}

/// A folder that is deleted on drop.
struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        if let Err(error) = std::fs::remove_dir_all(&self.0) {
            eprintln!("{} stays: {error}", self.0.display());
        }
    }
}

fn main() {
    let mut args = std::env::args().skip(1);
    let (Some(dir), Some(count), mode) = (args.next(), args.next(), args.next()) else {
        eprintln!("scale_bench <folder> <accounts> [wait|cold|copy]");
        std::process::exit(2);
    };
    let mode = mode.as_deref();
    let is_known = matches!(mode, None | Some("wait" | "cold" | "copy"));
    assert!(is_known, "wait, cold or copy");
    let set = Set::of(count.parse().expect("a number of accounts"));
    let dir = Folder(PathBuf::from(dir));
    std::fs::create_dir(&dir.0).expect("a folder that is not there yet");
    let options = Options {
        disk_reserve_bytes: 0,
        ..Options::default()
    };
    let archive = load::write_archive(&dir.0, &set);
    let store_dir = dir.0.join("store");
    load::load(&archive, &dir.0, &store_dir, &set, &options);
    std::fs::remove_file(&archive).expect("the archive");

    match mode {
        Some("cold") => return apply_cold(&dir.0, &store_dir, &options, &set, cold::run),
        Some("copy") => return apply_cold(&dir.0, &store_dir, &options, &set, cold::copy),
        _ => {}
    }
    reads::cold(&store_dir, &options, &set);
    let store = Store::open_writer(&store_dir, &options).expect("the loaded store");
    reads::pages(&store, &store_dir, &set);
    reads::warm(&store, &set);
    if mode == Some("wait") {
        sample::write(&dir.0.join("sample.json"), &set);
        machine::recall_pages(&store_dir);
        if !pause("loaded", &set) {
            return;
        }
    }
    apply::apply(&store, &store_dir, &set);
    if set.accounts() <= 1_100_000 {
        let differences = store.check().expect("a store that can be read");
        assert_eq!(differences, Vec::<String>::new());
    }
    drop(store);
    let grown = machine::file_bytes(&store_dir) as f64 / set.accounts() as f64;
    report("file after updates", grown, "bytes/account", "lower", None);
}

/// Announces a pause, and waits for its end. False if nobody receives the rest.
fn pause(name: &str, set: &Set) -> bool {
    report(name, set.accounts() as f64, "accounts", "higher", None);
    let mut line = String::new();
    let bytes = std::io::stdin().read_line(&mut line).expect("a line");
    if bytes == 0 {
        eprintln!("no receiver for the rest");
    }
    bytes > 0
}

fn apply_cold(
    dir: &Path,
    store_dir: &Path,
    options: &Options,
    set: &Set,
    run: impl Fn(&Store, &Path, &Set),
) {
    sample::write(&dir.join("sample.json"), set);
    if !pause("loaded", set) {
        return;
    }
    machine::forget_pages(store_dir);
    cold::measure_disk(store_dir);
    if !pause("forgotten", set) {
        return;
    }
    let options = Options {
        memory_bytes: Some(machine::file_bytes(store_dir) / MEMORY_PART),
        ..options.clone()
    };
    let store = Store::open_writer(store_dir, &options).expect("the loaded store");
    run(&store, store_dir, set);
}
