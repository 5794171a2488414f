//! The bytes a second of an access, over all its streams: one that takes or sends more waits.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, Weak};
use std::time::{Duration, Instant};

use crate::calls::lock;

/// Bytes of requests a second of one access, and at once after a pause. One of 4 MiB takes some
/// 20 ms of a processor.
const REQUEST_BYTES: f64 = 8.0 * 1024.0 * 1024.0;

/// A token bucket of bytes.
struct Bucket {
    per_second: f64,
    state: Mutex<(f64, Instant)>,
}

impl Bucket {
    fn new(per_second: f64) -> Bucket {
        Bucket {
            per_second,
            state: Mutex::new((per_second, Instant::now())),
        }
    }

    /// Takes bytes, and returns how long to wait.
    fn take(&self, bytes: usize, now: Instant) -> Duration {
        let mut state = lock(&self.state);
        let (left, filled) = *state;
        let elapsed = now.saturating_duration_since(filled).as_secs_f64();
        let left = (left + elapsed * self.per_second).min(self.per_second) - bytes as f64;
        *state = (left, now);
        Duration::from_secs_f64((-left).max(0.0) / self.per_second)
    }
}

/// What one access may take and send now.
pub struct Pace {
    updates: Bucket,
    requests: Bucket,
}

impl Pace {
    fn new(update_bytes: f64) -> Pace {
        Pace {
            updates: Bucket::new(update_bytes),
            requests: Bucket::new(REQUEST_BYTES),
        }
    }

    /// Takes the bytes of an update, and returns how long to wait before it is sent.
    pub fn take_update(&self, bytes: usize, now: Instant) -> Duration {
        self.updates.take(bytes, now)
    }

    /// Takes the bytes of a request, and returns how long to wait before the next one is read; with
    /// none, before the first one of a stream.
    pub fn take_request(&self, bytes: usize, now: Instant) -> Duration {
        self.requests.take(bytes, now)
    }
}

/// Those of the accesses that have streams.
pub struct Paces {
    /// Of updates of one access, a second and at once after a pause.
    update_bytes: f64,
    open: Mutex<HashMap<Arc<str>, Weak<Pace>>>,
}

impl Paces {
    pub fn new(update_bytes: f64) -> Paces {
        Paces {
            update_bytes: update_bytes.max(1.0),
            open: Mutex::default(),
        }
    }

    pub fn of(&self, access: &Arc<str>) -> Arc<Pace> {
        let mut paces = lock(&self.open);
        if let Some(known) = paces.get(access).and_then(Weak::upgrade) {
            return known;
        }
        paces.retain(|_, pace| pace.strong_count() > 0);
        let pace = Arc::new(Pace::new(self.update_bytes));
        paces.insert(Arc::clone(access), Arc::downgrade(&pace));
        pace
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_access_waits_for_what_it_takes_too_much() {
        let second = 3_000_000;
        let paces = Paces::new(second as f64);
        let [one, other] = ["one", "other"].map(Arc::<str>::from);
        let (pace, now) = (paces.of(&one), Instant::now());
        assert_eq!(pace.take_update(second, now), Duration::ZERO);
        let wait = paces.of(&one).take_update(second / 2, now);
        assert!(wait > Duration::from_millis(400) && wait < Duration::from_millis(600));
        assert_eq!(paces.of(&other).take_update(second, now), Duration::ZERO);
        let later = now + Duration::from_secs(9);
        assert_eq!(pace.take_update(0, later), Duration::ZERO);
        let request = 3 * REQUEST_BYTES as usize;
        assert_eq!(
            pace.take_request(request, later).as_secs_f64().round(),
            2.0,
            "updates and requests do not wait for each other"
        );
    }
}
