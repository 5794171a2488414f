//! Compares the checks with a bare loop of `verify_strict`, for a benchmark.

use std::time::Duration;

use super::check::check_batch;
use super::frames::frame_batch;
use super::parse::parse;
use super::signature::{SignatureRule, verify};
use super::tips::Rules;
use super::view::View;
use sys::process::thread_time;

/// Processor time of this thread, which is independent of other load.
#[derive(Debug, Clone, Copy)]
pub struct Loops {
    /// Number of valid signatures.
    pub signatures: usize,
    /// Only signature checks, over transactions framed and parsed before.
    pub bare: Duration,
    /// The whole check of the body: framing, parsing, tips, duplicates, signatures, texts.
    pub checked: Duration,
}

/// Checks the signatures of a batch on this thread, in a bare loop and as the service does.
pub fn compare_loops(body: &[u8]) -> Loops {
    let rules = Rules {
        tip_classes: Vec::new(),
        exempt_programs: Vec::new(),
        signature_rule: SignatureRule::Strict,
    };
    let mut views: Vec<View<'_>> = Vec::new();
    let _ = frame_batch(body, |range| {
        views.extend(body.get(range).and_then(|bytes| parse(bytes).ok()));
    });
    let mut pairs = Vec::new();
    for view in &views {
        for (key, signature) in view.static_account_keys().iter().zip(view.signatures()) {
            pairs.push((key.as_array(), view.message_data(), signature.as_array()));
        }
    }
    let from = thread_time();
    let right = pairs
        .iter()
        .filter(|(key, message, signature)| verify(SignatureRule::Strict, key, message, signature));
    let signatures = right.count();
    let between = thread_time();
    std::hint::black_box(check_batch(body, &rules));
    Loops {
        signatures,
        bare: between.saturating_sub(from),
        checked: thread_time().saturating_sub(between),
    }
}
