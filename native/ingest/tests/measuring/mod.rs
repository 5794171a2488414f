//! Memory measurement in a child process that runs a single test of the test binary.

use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

/// Prefix of the figures in the child's output.
const MARK: &str = "figures: ";

/// Anonymous memory of this process, in bytes.
pub fn anonymous_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("RssAnon:"));
    let kib: u64 = line
        .unwrap()
        .trim()
        .trim_end_matches(" kB")
        .parse()
        .unwrap();
    kib * 1024
}

/// Returns the result of `run` and the peak anonymous memory in bytes during it.
pub fn peak_of<T>(run: impl FnOnce() -> T) -> (T, u64) {
    let peak = AtomicU64::new(0);
    let answer = std::thread::scope(|scope| {
        // Also dropped when `run` panics, because the scope waits for its thread.
        let (over, is_over) = mpsc::channel::<()>();
        let peak = &peak;
        scope.spawn(move || {
            let mut waited = Err(RecvTimeoutError::Timeout);
            while waited == Err(RecvTimeoutError::Timeout) {
                peak.fetch_max(anonymous_bytes(), Ordering::Relaxed);
                waited = is_over.recv_timeout(Duration::from_millis(1));
            }
        });
        let answer = run();
        drop(over);
        answer
    });
    (answer, peak.into_inner())
}

/// Prints the figures for the caller of `measure`.
pub fn report(figures: &[u64]) {
    let words: Vec<String> = figures.iter().map(u64::to_string).collect();
    println!("{MARK}{}", words.join(" "));
}

/// Runs one test of this binary in a child process with these variables and returns its figures.
pub fn measure(test: &str, variables: &[(&str, String)]) -> Vec<u64> {
    let child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", test, "--nocapture"])
        .envs(variables.iter().map(|(name, value)| (name, value)))
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&child.stdout);
    let errors = String::from_utf8_lossy(&child.stderr);
    assert!(child.status.success(), "{text}{errors}");
    let (_, printed) = text.split_once(MARK).unwrap();
    let figures = printed.lines().next().unwrap().split_whitespace();
    let figures = figures.map(|word| word.parse().unwrap()).collect();
    println!("{variables:?}: {figures:?}");
    figures
}
