//! A rate limit: the generic cell rate algorithm (GCRA) in one word that processes share.

use std::sync::atomic::Ordering::SeqCst;

use crate::memory::AtomicI64;

const NS_PER_SECOND: f64 = 1e9;

/// The longest interval and burst, about 36 years: a time and two bursts fit a word.
const NS_MAX: i64 = 1 << 60;

/// A stored time that lies further ahead than the burst, a debt of one burst, and this was written
/// before the clock was set back, before the machine was restarted, or under other limits.
/// Processes that share the time read their clocks less far apart.
const CLOCK_SKEW_NS: i64 = 1_000_000_000;

/// How far a debt to other machines may move an arrival time beyond the burst: less than what
/// counts as a stale time.
const DEBT_NS_MAX: i64 = 900_000_000;

/// Nanoseconds of a clock that all processes which share a word read; `None` where it cannot be
/// read. Only its first reading may be older than the call.
pub type Clock<'a> = &'a dyn Fn() -> Option<i64>;

/// What a stale time counts as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stale {
    /// A burst that is used up.
    Spent,
    /// A whole burst.
    Fresh,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rate {
    /// Time between two requests at the highest steady rate; 1 at least.
    pub interval_ns: i64,
    /// How far the theoretical arrival time may lie ahead of the clock: the burst, as a time.
    pub burst_ns: i64,
}

impl Rate {
    /// A rate of 0 allows nothing: every interval is longer than no burst.
    pub fn new(per_second: f64, burst: f64) -> Rate {
        if per_second <= 0.0 {
            return Rate::of(NS_PER_SECOND as i64, 0);
        }
        let interval_ns = (NS_PER_SECOND / per_second).ceil() as i64;
        Rate::of(interval_ns, interval_ns.saturating_mul(burst as i64))
    }

    /// A rate within the bounds of both times.
    pub fn of(interval_ns: i64, burst_ns: i64) -> Rate {
        Rate {
            interval_ns: interval_ns.clamp(1, NS_MAX),
            burst_ns: burst_ns.clamp(0, NS_MAX),
        }
    }

    /// Nanoseconds that so many requests take.
    pub fn cost_ns(&self, count: i64) -> i64 {
        self.interval_ns.saturating_mul(count).min(i64::MAX / 2)
    }

    /// Requests of the burst.
    pub fn burst(&self) -> i64 {
        self.burst_ns / self.interval_ns
    }

    /// Whether `take` would take a request now. Changes nothing.
    pub fn allows(&self, word: &AtomicI64, clock: Clock) -> bool {
        let stored = word.load(SeqCst);
        let begins =
            |now: i64| stored.max(now).saturating_add(self.interval_ns) <= now + self.burst_ns;
        clock().is_some_and(begins)
    }

    /// Takes `count` requests or none. Returns what is then left of the burst in nanoseconds; a
    /// negative time means that nothing was taken, and is how long to wait.
    pub fn take(&self, word: &AtomicI64, count: i64, stale: Stale, clock: Clock) -> Option<i64> {
        let cost = self.cost_ns(count);
        let mut is_first = true;
        loop {
            let stored = word.load(SeqCst);
            let now = clock()?;
            let latest = now + self.burst_ns;
            let is_stale = stored > latest + self.burst_ns + CLOCK_SKEW_NS;
            let arrival = match stale {
                Stale::Fresh if is_stale => now,
                Stale::Spent if is_stale => latest,
                _ => stored.max(now),
            };
            let left = latest - arrival - cost;
            // This process may have been stopped since the clock was read, and others have moved
            // the time: the clock is read again after it.
            if (left < 0 || is_stale) && std::mem::take(&mut is_first) {
                continue;
            }
            // A stale time is replaced even by a refused call: otherwise the limit would stay
            // closed.
            let next = if left < 0 { arrival } else { arrival + cost };
            if left < 0 && !is_stale {
                return Some(left);
            }
            if replace(word, stored, next) {
                return Some(left);
            }
        }
    }

    /// Takes up to `count` whole requests although the burst may be used up: at most to one burst
    /// beyond it, which the next requests wait for. Returns how many.
    pub fn charge(&self, word: &AtomicI64, count: i64, clock: Clock) -> i64 {
        loop {
            let stored = word.load(SeqCst);
            let Some(now) = clock() else { return 0 };
            let arrival = stored.max(now);
            let room = (now + 2 * self.burst_ns - arrival) / self.interval_ns;
            let taken = room.min(count);
            if taken <= 0 {
                return 0;
            }
            if replace(word, stored, arrival + taken * self.interval_ns) {
                return taken;
            }
        }
    }

    /// Charges a debt, although the burst may be used up, to a bound beyond the burst. Returns what
    /// must be charged later.
    pub fn owe(&self, word: &AtomicI64, owed_ns: i64, now: i64) -> i64 {
        let latest = now + self.burst_ns + DEBT_NS_MAX;
        loop {
            let stored = word.load(SeqCst);
            let arrival = stored.max(now);
            let paid = owed_ns.min(latest.saturating_sub(arrival));
            if paid <= 0 {
                return owed_ns;
            }
            if replace(word, stored, arrival + paid) {
                return owed_ns - paid;
            }
        }
    }
}

/// Stores the next time, unless another process was faster.
fn replace(word: &AtomicI64, stored: i64, next: i64) -> bool {
    let replaced = word.compare_exchange(stored, next, SeqCst, SeqCst);
    replaced.is_ok()
}

#[cfg(all(test, not(feature = "model")))]
mod tests;
