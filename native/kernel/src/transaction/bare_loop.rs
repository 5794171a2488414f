//! What a bench compares the checks with: `verify_strict` in a loop, and nothing around it.

use std::time::{Duration, Instant};

use ed25519_dalek::{Signature, VerifyingKey};

use super::frames::frame_batch;
use super::parse::{View, parse};

/// Checks the signatures of a batch one by one on this thread. Says how many were right, and how long it took:
/// framing and parsing are done before the clock starts.
pub fn bare_loop(body: &[u8]) -> (usize, Duration) {
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
    let start = Instant::now();
    let is_right = |(key, message, signature): &&(&[u8; 32], &[u8], &[u8; 64])| {
        VerifyingKey::from_bytes(key).is_ok_and(|key| {
            key.verify_strict(message, &Signature::from_bytes(signature))
                .is_ok()
        })
    };
    let right = pairs.iter().filter(is_right).count();
    (right, start.elapsed())
}
