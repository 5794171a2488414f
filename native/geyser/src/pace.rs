//! The bytes a second of an access, over all its streams: one that takes more waits.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, Weak};
use std::time::{Duration, Instant};

use crate::calls::lock;

/// Bytes a second of one access, and at once after a pause: several times the feed of a chain.
const BYTES_PER_SECOND: f64 = 64.0 * 1024.0 * 1024.0;

/// What one access may take now.
pub struct Pace(Mutex<(f64, Instant)>);

impl Pace {
    fn new() -> Pace {
        Pace(Mutex::new((BYTES_PER_SECOND, Instant::now())))
    }

    /// Takes bytes, and returns how long to wait before they are sent.
    pub fn take(&self, bytes: usize, now: Instant) -> Duration {
        let mut state = lock(&self.0);
        let (left, filled) = *state;
        let elapsed = now.saturating_duration_since(filled).as_secs_f64();
        let left = (left + elapsed * BYTES_PER_SECOND).min(BYTES_PER_SECOND) - bytes as f64;
        *state = (left, now);
        Duration::from_secs_f64((-left).max(0.0) / BYTES_PER_SECOND)
    }
}

/// Those of the accesses that have streams.
#[derive(Default)]
pub struct Paces(Mutex<HashMap<Arc<str>, Weak<Pace>>>);

impl Paces {
    pub fn of(&self, access: &Arc<str>) -> Arc<Pace> {
        let mut paces = lock(&self.0);
        if let Some(known) = paces.get(access).and_then(Weak::upgrade) {
            return known;
        }
        paces.retain(|_, pace| pace.strong_count() > 0);
        let pace = Arc::new(Pace::new());
        paces.insert(Arc::clone(access), Arc::downgrade(&pace));
        pace
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_access_waits_for_what_it_takes_too_much() {
        let paces = Paces::default();
        let [one, other] = ["one", "other"].map(Arc::<str>::from);
        let (pace, now) = (paces.of(&one), Instant::now());
        let second = BYTES_PER_SECOND as usize;
        assert_eq!(pace.take(second, now), Duration::ZERO);
        let wait = paces.of(&one).take(second / 2, now);
        assert!(wait > Duration::from_millis(400) && wait < Duration::from_millis(600));
        assert_eq!(paces.of(&other).take(second, now), Duration::ZERO);
        assert_eq!(pace.take(0, now + Duration::from_secs(9)), Duration::ZERO);
    }
}
