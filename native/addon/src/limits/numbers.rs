//! Times and counts of JavaScript for the limits.

use ::sys::error::Result;

use crate::arguments::{whole, wrong};

pub const NS_PER_MS: f64 = 1e6;

/// Further from 0 a clock is not read: a burst after it would not fit a word.
const NS_MAX: i64 = 1 << 61;

/// Nanoseconds. Whole milliseconds are exact, which a product of doubles would not be.
pub fn to_ns(ms: f64) -> Option<i64> {
    let ms = Some(ms).filter(|ms| ms.is_finite())?;
    let ns = (ms.trunc() as i64).checked_mul(NS_PER_MS as i64)?;
    let ns = ns.checked_add((ms.fract() * NS_PER_MS) as i64)?;
    (-NS_MAX..NS_MAX).contains(&ns).then_some(ns)
}

pub fn ns_of(ms: f64) -> Result<i64> {
    to_ns(ms).ok_or_else(|| wrong("a time"))
}

/// A count that fits its half of a word.
pub fn count_of(number: f64) -> Result<i32> {
    whole(number, i32::MAX as u32, "a count").map(|count| count as i32)
}
