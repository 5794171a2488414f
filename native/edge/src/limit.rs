//! The limits of one access, in the cells that all edges of the machine share. The rules are those
//! of `src/access/limiter/`, which lays out the cells; a limit that is reached is declined.

use std::sync::atomic::Ordering::SeqCst;

use crate::cells::Cells;

/// Cells of a row before its columns: key, theoretical arrival time, requests that were charged and
/// not yet reported to other machines, and the rate.
const ARRIVAL: usize = 1;
const CHARGED: usize = 2;
const COLUMNS: usize = 5;

/// A stored time that lies further ahead than the burst, the largest debt of a burst, and this is
/// stale.
const CLOCK_SKEW_NS: i128 = 1_000_000_000;

/// Unix nanoseconds by the clock that `Date.now` reads; `None` where they do not fit.
pub type Clock<'a> = &'a dyn Fn() -> Option<i64>;

/// The row of an access and its limits.
#[derive(Debug, Clone, Copy)]
pub struct Limit {
    /// The access that the row is assigned to.
    pub key: i64,
    /// Index of the row's first cell.
    pub row: usize,
    pub edge: usize,
    /// Columns of the row: those of all edges, and that of other machines.
    pub columns: usize,
    pub in_flight_max: i64,
    pub interval_ns: i64,
    pub burst_ns: i64,
}

impl Limit {
    /// Whether a request would be within the rate now. Changes nothing.
    pub fn allows(&self, cells: &Cells, clock: Clock) -> bool {
        let arrival = cells.word(self.row + ARRIVAL);
        arrival.is_some_and(|word| self.next_arrival(word.load(SeqCst), clock).is_some())
    }

    /// Takes one request, which must be released; false where it is over a limit or the row is
    /// another access's.
    pub fn take(&self, cells: &Cells, clock: Clock) -> bool {
        let (Some(own), Some(key)) = (cells.half(self.own()), cells.word(self.row)) else {
            return false;
        };
        own.fetch_add(1, SeqCst);
        let is_taken = key.load(SeqCst) == self.key
            && self.in_flight(cells) <= self.in_flight_max
            && self.take_rate(cells, clock);
        if !is_taken {
            own.fetch_sub(1, SeqCst);
        } else if let Some(charged) = cells.half((self.row + CHARGED) * 2) {
            charged.fetch_add(1, SeqCst);
        }
        is_taken
    }

    /// Charges the length of a reply: `requests` in all, of which one was taken. They count
    /// although the burst is used up, as whole requests: one burst at most, and to one burst
    /// beyond it.
    pub fn charge_reply(&self, cells: &Cells, requests: usize, clock: Clock) {
        let (Some(arrival), Some(charged)) = (
            cells.word(self.row + ARRIVAL),
            cells.half((self.row + CHARGED) * 2),
        ) else {
            return;
        };
        let (interval, burst) = (i128::from(self.interval_ns), i128::from(self.burst_ns));
        let most = (requests as i128).min(burst / interval.max(1)) - 1;
        let mut stored = arrival.load(SeqCst);
        while let Some(now_ns) = clock().filter(|_| most > 0) {
            let begins = i128::from(stored.max(now_ns));
            let room = i128::from(now_ns) + 2 * burst - begins;
            let count = most.min(room / interval.max(1));
            let next = i64::try_from(begins + count * interval);
            let (1.., Ok(next)) = (count, next) else {
                return;
            };
            match arrival.compare_exchange(stored, next, SeqCst, SeqCst) {
                Ok(_) => {
                    charged.fetch_add(count as i32, SeqCst);
                    return;
                }
                Err(current) => stored = current,
            }
        }
    }

    pub fn release(&self, cells: &Cells) {
        if let Some(own) = cells.half(self.own()) {
            own.fetch_sub(1, SeqCst);
        }
    }

    /// Index of the half cell that counts this edge's requests in flight.
    fn own(&self) -> usize {
        (self.row + COLUMNS + self.edge) * 2
    }

    /// Requests in flight of all edges and other machines.
    fn in_flight(&self, cells: &Cells) -> i64 {
        let count = |column| cells.half((self.row + COLUMNS + column) * 2);
        (0..self.columns)
            .filter_map(count)
            .map(|count| i64::from(count.load(SeqCst)))
            .sum()
    }

    fn take_rate(&self, cells: &Cells, clock: Clock) -> bool {
        let Some(arrival) = cells.word(self.row + ARRIVAL) else {
            return false;
        };
        let mut stored = arrival.load(SeqCst);
        while let Some(next) = self.next_arrival(stored, clock) {
            match arrival.compare_exchange(stored, next, SeqCst, SeqCst) {
                Ok(_) => return true,
                Err(current) => stored = current,
            }
        }
        false
    }

    /// The theoretical arrival time after one more request; `None` where it exceeds the burst, or
    /// the stored time is stale, which the ordinary way repairs. Reads the clock after the stored
    /// time, which others may have moved while this process was stopped.
    fn next_arrival(&self, stored: i64, clock: Clock) -> Option<i64> {
        let now_ns = clock()?;
        let latest = i128::from(now_ns) + i128::from(self.burst_ns);
        if i128::from(stored) > latest + i128::from(self.burst_ns) + CLOCK_SKEW_NS {
            return None;
        }
        let next = i128::from(stored.max(now_ns)) + i128::from(self.interval_ns);
        (next <= latest).then(|| i64::try_from(next).ok())?
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;
    use crate::cells::owned;

    const ROW: usize = 1;
    const NOW: i64 = 1_700_000_000_000_000_000;

    fn at(now_ns: i64) -> impl Fn() -> Option<i64> {
        move || Some(now_ns)
    }

    fn limit() -> Limit {
        Limit {
            key: 7,
            row: ROW,
            edge: 1,
            columns: 3,
            in_flight_max: 2,
            interval_ns: 1_000,
            burst_ns: 3_000,
        }
    }

    fn cells() -> Cells {
        let cells = owned(9);
        cells.word(ROW).unwrap().store(7, SeqCst);
        cells
    }

    #[test]
    fn the_burst_then_the_rate() {
        let (limit, cells) = (limit(), cells());
        for _ in 0..3 {
            assert!(limit.allows(&cells, &at(NOW)));
            assert!(limit.take(&cells, &at(NOW)));
            limit.release(&cells);
        }
        assert!(!limit.allows(&cells, &at(NOW)));
        assert!(!limit.take(&cells, &at(NOW)));
        assert!(limit.take(&cells, &at(NOW + 1_000)));
        let own = cells.half(limit.own()).unwrap();
        assert_eq!(own.load(SeqCst), 1, "what was not taken is not in flight");
    }

    #[test]
    fn a_reply_is_charged_one_burst_at_most_and_one_beyond_it() {
        let (limit, cells) = (limit(), cells());
        let arrival = cells.word(ROW + ARRIVAL).unwrap();
        let charged = cells.half((ROW + CHARGED) * 2).unwrap();
        let take = |requests: usize| {
            limit.charge_reply(&cells, requests, &at(NOW));
            (arrival.load(SeqCst) - NOW, charged.load(SeqCst))
        };
        assert!(limit.take(&cells, &at(NOW)));
        limit.release(&cells);
        assert_eq!(take(0), (1_000, 1));
        assert_eq!(take(1), (1_000, 1), "it was taken");
        assert_eq!(take(2), (2_000, 2));
        assert_eq!(take(usize::MAX), (4_000, 4), "one burst, into debt");
        assert!(!limit.take(&cells, &at(NOW + 1_000)));
        assert_eq!(take(3), (6_000, 6), "one burst beyond it");
        assert_eq!(take(3), (6_000, 6), "and no further");
        assert!(!limit.take(&cells, &at(NOW + 3_999)));
        assert!(limit.take(&cells, &at(NOW + 4_000)), "a burst later");
    }

    #[test]
    fn requests_in_flight_of_all_edges_and_machines() {
        let (limit, cells) = (limit(), cells());
        let other = cells.half((ROW + COLUMNS) * 2).unwrap();
        other.store(1, SeqCst);
        assert!(limit.take(&cells, &at(NOW)));
        assert!(!limit.take(&cells, &at(NOW)));
        limit.release(&cells);
        assert!(limit.take(&cells, &at(NOW)));
    }

    #[test]
    fn rows_of_others_and_stale_times_are_declined() {
        let (limit, cells) = (limit(), cells());
        cells.word(ROW).unwrap().store(8, SeqCst);
        assert!(!limit.take(&cells, &at(NOW)));
        cells.word(ROW).unwrap().store(7, SeqCst);
        let arrival = cells.word(ROW + ARRIVAL).unwrap();
        arrival.store(NOW + 6_000 + CLOCK_SKEW_NS as i64 + 1, SeqCst);
        assert!(!limit.allows(&cells, &at(NOW)));
        assert!(!limit.take(&cells, &at(NOW)));
        let stored = arrival.load(SeqCst);
        assert_eq!(stored, NOW + 6_000 + CLOCK_SKEW_NS as i64 + 1, "not reset");
        let outside = Limit { row: 100, ..limit };
        assert!(!outside.take(&cells, &at(NOW)));
    }

    #[test]
    fn a_time_that_others_store_meanwhile_is_not_stale() {
        let (limit, cells) = (limit(), cells());
        let arrival = cells.word(ROW + ARRIVAL).unwrap();
        let later = NOW + 10 * CLOCK_SKEW_NS as i64;
        let now = Cell::new(NOW);
        // After the first reading this process is stopped, and other edges admit requests.
        let clock = || {
            let read = now.replace(later);
            if read == NOW {
                arrival.store(later, SeqCst);
            }
            Some(read)
        };
        assert!(limit.take(&cells, &clock));
        assert_eq!(arrival.load(SeqCst), later + 1_000);
    }
}
