//! Pauses between attempts to connect.

use std::hash::{BuildHasher, RandomState};
use std::time::Duration;

/// Pauses that double, each shortened at random by up to a half, so that many machines do not
/// return at the same instant.
pub struct Backoff {
    min: Duration,
    max: Duration,
    next: Duration,
}

impl Backoff {
    pub fn new(min: Duration, max: Duration) -> Backoff {
        Backoff {
            min,
            max: max.max(min),
            next: min,
        }
    }

    /// The pause before the next attempt.
    pub fn pause(&mut self) -> Duration {
        let pause = self.next;
        self.next = (pause * 2).min(self.max);
        // The hasher's keys are random. 53 bits make a fraction below 1.
        let random = (RandomState::new().hash_one(0u8) >> 11) as f64 / (1u64 << 53) as f64;
        pause.mul_f64(1.0 - random / 2.0)
    }

    /// A connection lasted.
    pub fn reset(&mut self) {
        self.next = self.min;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_up_to_the_longest_and_begin_anew() {
        let (min, max) = (Duration::from_millis(250), Duration::from_secs(2));
        let mut backoff = Backoff::new(min, max);
        for longest in [250, 500, 1_000, 2_000, 2_000].map(Duration::from_millis) {
            let pause = backoff.pause();
            assert!(pause <= longest && pause >= longest / 2, "{pause:?}");
        }
        backoff.reset();
        assert!(backoff.pause() <= min);
    }

    #[test]
    fn a_longest_pause_below_the_first_is_the_first() {
        let mut backoff = Backoff::new(Duration::from_secs(1), Duration::ZERO);
        backoff.pause();
        assert!(backoff.pause() >= Duration::from_millis(500));
    }
}
