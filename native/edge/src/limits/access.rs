//! The rules of one access at one edge.

use std::cell::Cell;
use std::sync::Arc;

use crate::limits::table::{ARRIVAL, CHARGED, COLUMNS, LimitTable, Row, add};
use crate::rate::{Clock, Rate, Stale};

const NS_PER_MS: i64 = 1_000_000;

/// The clock is read in milliseconds: a shorter burst would refuse requests that arrive at an even
/// rate.
const BURST_NS_MIN: i64 = NS_PER_MS;

/// Most requests in flight end within this.
const IN_FLIGHT_RETRY_MS: f64 = 1_000.0;

const REQUESTS: usize = 0;
const SOCKETS: usize = 1;

/// The limits of an access.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    pub requests_per_second_max: f64,
    pub requests_burst_max: f64,
    pub requests_in_flight_max: f64,
    pub sockets_max: f64,
}

/// A limit that a request or a WebSocket can exceed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limit {
    RequestsPerSecond,
    RequestsBurst,
    RequestsInFlight,
    Sockets,
}

impl Limit {
    pub fn name(self) -> &'static str {
        match self {
            Limit::RequestsPerSecond => "requestsPerSecondMax",
            Limit::RequestsBurst => "requestsBurstMax",
            Limit::RequestsInFlight => "requestsInFlightMax",
            Limit::Sockets => "socketsMax",
        }
    }
}

/// The limit that was exceeded.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Exceeded {
    pub limit: Limit,
    pub max: f64,
    /// Requests or sockets that are still available now.
    pub remaining: i64,
    /// When to try again; `None` where waiting does not help.
    pub retry_after_ms: Option<f64>,
    /// Calls of the longest batch that is admitted, of one that is longer.
    pub calls_max: Option<i64>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Refusal {
    /// No row for the access: every row is in use.
    Full,
    Over(Exceeded),
}

/// An access at one edge of the table: its limits, and its row. Used by one thread.
pub struct Access {
    table: Arc<LimitTable>,
    key: i64,
    edge: usize,
    limits: Limits,
    rate: Rate,
    /// `None` before the first request, and after another access got the row.
    row: Cell<Option<usize>>,
}

impl Access {
    pub fn new(table: Arc<LimitTable>, key: i64, edge: usize, limits: Limits) -> Access {
        let burst = limits.requests_burst_max.max(1.0);
        let mut rate = Rate::new(limits.requests_per_second_max, burst);
        if limits.requests_per_second_max > 0.0 {
            rate.burst_ns = rate.burst_ns.max(BURST_NS_MIN);
        }
        Access {
            table,
            key,
            edge,
            limits,
            rate,
            row: Cell::new(None),
        }
    }

    /// Whether a request would be within the rate now. Changes nothing.
    pub fn allows(&self, clock: Clock) -> bool {
        let row = self.row();
        row.is_none_or(|row| self.rate.allows(&row.words[ARRIVAL], clock))
    }

    /// Admits one request, which must be released.
    pub fn acquire(&self, clock: Clock) -> Result<(), Refusal> {
        let in_flight = self.add(REQUESTS, 1, clock).ok_or(Refusal::Full)?;
        let max = self.limits.requests_in_flight_max;
        let taken = if in_flight as f64 > max {
            Err(Refusal::Over(over(Limit::RequestsInFlight, max)))
        } else {
            self.take(1, 0, clock)
        };
        if taken.is_err() {
            self.release(1);
        }
        taken
    }

    /// Turns one admitted request into a batch: `calls` count against the rate. Returns how many of
    /// them may be in flight: at most `at_once`, and at least the admitted one. A refused batch
    /// stays charged as the one request.
    pub fn acquire_batch(&self, calls: i64, at_once: i32, clock: Clock) -> Result<i32, Refusal> {
        if calls <= 1 {
            return Ok(1);
        }
        self.take(calls - 1, 1, clock)?;
        let more = at_once.max(1) - 1;
        // The row cannot be missing: the admitted request is counted in it.
        let in_flight = self.add(REQUESTS, more, clock).unwrap_or(0) as f64;
        let over = (in_flight - self.limits.requests_in_flight_max).clamp(0.0, f64::from(more));
        let over = over.ceil() as i32;
        self.release(over);
        Ok(more + 1 - over)
    }

    /// Charges further requests to an admitted one; at most what its burst has beside it.
    pub fn acquire_more(&self, count: i64, clock: Clock) -> Result<(), Refusal> {
        let most = (self.limits.requests_burst_max.ceil() as i64 - 1).max(0);
        match count {
            ..=0 => Ok(()),
            _ => self.take(count.min(most), 1, clock),
        }
    }

    /// Charges the length of a reply to an admitted message: it counts as `to` requests, of which
    /// `from` are charged already. It cannot be refused any more, so it may use up to one burst
    /// that the access does not have yet; and it counts as one burst at most.
    pub fn charge_reply(&self, from: i64, to: i64, clock: Clock) {
        let most = self.rate.burst();
        let count = to.min(most) - from.min(most);
        if let Some(row) = self.row().filter(|_| count > 0) {
            let taken = self.rate.charge(&row.words[ARRIVAL], count, clock);
            add(&row.words[CHARGED], 0, taken as i32);
        }
    }

    /// Ends admitted requests.
    pub fn release(&self, count: i32) {
        self.end(REQUESTS, count);
    }

    /// Admits one WebSocket, which must be released.
    pub fn acquire_socket(&self, clock: Clock) -> Result<(), Refusal> {
        let sockets = self.add(SOCKETS, 1, clock).ok_or(Refusal::Full)?;
        let max = self.limits.sockets_max;
        if sockets as f64 <= max {
            return Ok(());
        }
        self.release_socket();
        Err(Refusal::Over(over(Limit::Sockets, max)))
    }

    pub fn release_socket(&self) {
        self.end(SOCKETS, 1);
    }

    /// Open WebSockets of the access, also at other machines.
    pub fn open_sockets(&self) -> i64 {
        let row = self.table.find(self.key);
        row.map_or(0, |row| self.table.row(row).in_use_everywhere()[SOCKETS])
    }

    /// What the access has at this edge: its subscriptions, and those of the WebSocket that has the
    /// most.
    pub fn set_subscriptions(&self, all: i32, of_socket: i32) {
        // Once its last WebSocket is closed, the row may be another access's.
        if let Some(row) = self.row().filter(|row| row.key() == self.key) {
            row.set_subscriptions(self.edge, all, of_socket);
        }
    }

    fn row(&self) -> Option<Row<'_>> {
        self.row.get().map(|index| self.table.row(index))
    }

    /// Adds to a column of this edge. Returns the sum over all edges and other machines, or `None`
    /// if the table has no row left.
    fn add(&self, half: usize, count: i32, clock: Clock) -> Option<i64> {
        loop {
            let row = match self.row() {
                Some(row) => row,
                None => {
                    let now = clock()?;
                    let index = self.table.find_or_assign(self.key, self.edge, now)?;
                    self.row.set(Some(index));
                    let row = self.table.row(index);
                    row.set_rate(self.rate);
                    row
                }
            };
            let own = &row.words[COLUMNS + self.edge];
            add(own, half, count);
            if row.key() == self.key {
                // Summed after the addition: of two edges that take the last unit, at least one
                // sees the other.
                return Some(row.in_use_everywhere()[half]);
            }
            // The access was idle, and its row was assigned to another one.
            add(own, half, -count);
            self.row.set(None);
        }
    }

    fn end(&self, half: usize, count: i32) {
        if let Some(row) = self.row() {
            add(&row.words[COLUMNS + self.edge], half, -count);
        }
    }

    /// `taken` requests of the same message are charged already.
    fn take(&self, count: i64, taken: i64, clock: Clock) -> Result<(), Refusal> {
        let row = self.row().ok_or(Refusal::Full)?;
        let whole = count.saturating_add(taken);
        // A batch longer than the burst is never admitted, however long the client waits, and also
        // not where a part of the burst is there again since its first request was charged.
        let is_never = self.rate.cost_ns(whole) > self.rate.burst_ns;
        let count = if is_never { whole } else { count };
        let left = self
            .rate
            .take(&row.words[ARRIVAL], count, Stale::Spent, clock);
        match left.ok_or(Refusal::Full)? {
            0.. => {
                add(&row.words[CHARGED], 0, count as i32);
                Ok(())
            }
            left => Err(Refusal::Over(self.over_rate(count, is_never, -left))),
        }
    }

    fn over_rate(&self, count: i64, is_never: bool, wait_ns: i64) -> Exceeded {
        let (limits, rate) = (self.limits, self.rate);
        let is_burst = is_never && limits.requests_per_second_max > 0.0;
        let (limit, max) = match is_burst {
            true => (Limit::RequestsBurst, limits.requests_burst_max),
            false => (Limit::RequestsPerSecond, limits.requests_per_second_max),
        };
        Exceeded {
            limit,
            max,
            remaining: ((rate.cost_ns(count) - wait_ns) / rate.interval_ns).max(0),
            retry_after_ms: (!is_never).then_some(wait_ns as f64 / NS_PER_MS as f64),
            calls_max: is_burst.then_some(rate.burst()),
        }
    }
}

/// Over a limit of what is open at once. A limit of 0 admits nothing, however long the client
/// waits.
fn over(limit: Limit, max: f64) -> Exceeded {
    Exceeded {
        limit,
        max,
        remaining: 0,
        retry_after_ms: (max > 0.0).then_some(IN_FLIGHT_RETRY_MS),
        calls_max: None,
    }
}
