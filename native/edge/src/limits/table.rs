//! What accesses have in use at this moment: words that every edge of the machine maps and changes
//! only by atomic operations, so that an edge that ends at any instant leaves no partial change.
//! One row per access in use:
//!
//! ```text
//! word 0      key of the access, 0 where the row was never assigned
//! word 1      theoretical arrival time of its requests (GCRA), Unix nanoseconds
//! word 2      requests that were charged and not yet reported to other machines; those reported
//! words 3, 4  the rate: interval and burst in nanoseconds
//! word 5 + n  of edge n: requests in flight; open sockets
//! last word   the same, of all other machines of the cluster
//! ```
//!
//! What is counted and limits nothing is in a second file, with the same rows:
//!
//! ```text
//! word n      of edge n: subscriptions; those of the WebSocket that has the most
//! ```
//!
//! Two values in a word are counts of 32 bits.

use std::sync::atomic::Ordering::SeqCst;

use sys::error::{Error, Result};

use crate::memory::{AtomicI64, Memory, spin_loop};
use crate::rate::Rate;

const KEY: usize = 0;
pub const ARRIVAL: usize = 1;
pub const CHARGED: usize = 2;
const INTERVAL: usize = 3;
const BURST: usize = 4;
pub const COLUMNS: usize = 5;

/// Before the rows: the edge that assigns a row at this moment (edge + 1, or 0).
const LOCK: usize = 0;
const HEADER: usize = 1;

/// Bound of a file: 8 MiB.
const CELLS_MAX: usize = 1 << 20;

/// Replaces the key of a row while it is assigned to another access.
const ASSIGNING: i64 = -1;

/// A row that was used more recently is assigned to another access only where no other row is idle:
/// what was counted in it since the last sample would be lost.
const REST_NS: i64 = 2_000_000_000;

/// Attempts to take the lock before its owner counts as stopped; each takes far less than a
/// microsecond.
const LOCK_ATTEMPTS: u32 = 100_000;

/// The two counts of a word.
pub fn halves(word: i64) -> [i32; 2] {
    [word as i32, (word >> 32) as i32]
}

fn joined([low, high]: [i32; 2]) -> i64 {
    i64::from(low as u32) | i64::from(high) << 32
}

/// Adds to one of the two counts of a word, which wraps by itself.
pub fn add(word: &AtomicI64, half: usize, count: i32) {
    let change = |word| {
        let mut both = halves(word);
        both[half] = both[half].wrapping_add(count);
        Some(joined(both))
    };
    let _ = word.fetch_update(SeqCst, SeqCst, change);
}

/// Sums of the two counts of words.
fn sums(words: &[AtomicI64]) -> [i64; 2] {
    words.iter().fold([0, 0], |[low, high], word| {
        let [one, other] = halves(word.load(SeqCst)).map(i64::from);
        [low + one, high + other]
    })
}

/// What an access has in use over all edges.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct InUse {
    pub requests: i64,
    pub sockets: i64,
    pub subscriptions: i64,
    /// Of the WebSocket that has the most.
    pub subscriptions_of_socket: i32,
}

/// What is counted of an access with a row.
pub struct RowCounts {
    pub row: usize,
    pub key: i64,
    /// Requests that were charged since the row was assigned, modulo 2³².
    pub charged: u32,
    pub in_use: InUse,
}

pub struct LimitTable {
    limits: Memory,
    activity: Memory,
    edges: usize,
    rows: usize,
}

/// The words of one row in both files.
pub struct Row<'t> {
    pub words: &'t [AtomicI64],
    activity: &'t [AtomicI64],
}

impl Row<'_> {
    pub fn key(&self) -> i64 {
        self.words[KEY].load(SeqCst)
    }

    pub fn set_rate(&self, rate: Rate) {
        self.words[INTERVAL].store(rate.interval_ns, SeqCst);
        self.words[BURST].store(rate.burst_ns, SeqCst);
    }

    fn rate(&self) -> Rate {
        let [interval, burst] = [INTERVAL, BURST].map(|at| self.words[at].load(SeqCst));
        Rate::of(interval, burst)
    }

    /// Requests in flight and open sockets of all edges and other machines.
    pub fn in_use_everywhere(&self) -> [i64; 2] {
        sums(&self.words[COLUMNS..])
    }

    /// Requests in flight and open sockets of the edges.
    fn columns(&self) -> [i64; 2] {
        sums(&self.words[COLUMNS..self.words.len() - 1])
    }

    fn is_idle(&self) -> bool {
        self.columns() == [0, 0]
    }

    fn in_use(&self) -> InUse {
        let [requests, sockets] = self.columns();
        let edges = self.activity.iter();
        let most = edges.map(|word| halves(word.load(SeqCst))[1]).max();
        InUse {
            requests,
            sockets,
            subscriptions: sums(self.activity)[0],
            subscriptions_of_socket: most.unwrap_or(0),
        }
    }

    pub fn set_subscriptions(&self, edge: usize, all: i32, of_socket: i32) {
        self.activity[edge].store(joined([all, of_socket]), SeqCst);
    }

    fn set_others(&self, requests: i32, sockets: i32) {
        self.words[self.words.len() - 1].store(joined([requests, sockets]), SeqCst);
    }
}

impl LimitTable {
    /// Words of the two files. They must be the same for every process that maps them.
    pub fn words(edges: usize, rows: usize) -> Result<[usize; 2]> {
        let rows_max = (CELLS_MAX - HEADER) / (COLUMNS + edges + 1);
        if rows == 0 || rows > rows_max {
            return Err(Error::Internal(format!(
                "access.limits.accessesMax: at most {rows_max} with {edges} edges, not {rows}"
            )));
        }
        Ok([HEADER + rows * (COLUMNS + edges + 1), rows * edges])
    }

    /// The table in memory of as many words.
    pub fn new([limits, activity]: [Memory; 2], edges: usize, rows: usize) -> LimitTable {
        LimitTable {
            limits,
            activity,
            edges,
            rows,
        }
    }

    pub fn edges(&self) -> usize {
        self.edges
    }

    pub fn row(&self, index: usize) -> Row<'_> {
        let index = index % self.rows;
        let (width, counts) = (COLUMNS + self.edges + 1, self.edges);
        Row {
            words: &self.limits.words()[HEADER + index * width..][..width],
            activity: &self.activity.words()[index * counts..][..counts],
        }
    }

    /// Rows in the order in which a key is sought.
    fn probe(&self, key: i64) -> impl Iterator<Item = usize> {
        let home = key as u32 as usize % self.rows;
        (home..home + self.rows).map(|index| index % self.rows)
    }

    /// The row of an access.
    pub fn find(&self, key: i64) -> Option<usize> {
        for index in self.probe(key) {
            match self.row(index).key() {
                found if found == key => return Some(index),
                // A row that was assigned once is never empty again, so no later row of the
                // sequence has the key.
                0 => return None,
                _ => {}
            }
        }
        None
    }

    /// The row of an access, assigned to it if it has none; `None` while every row is in use.
    pub fn find_or_assign(&self, key: i64, edge: usize, now: i64) -> Option<usize> {
        if let Some(found) = self.find(key) {
            return Some(found);
        }
        self.lock(edge);
        let found = self.find(key);
        let found = found
            .or_else(|| self.assign_idle(key, now, now - REST_NS))
            .or_else(|| self.assign_idle(key, now, now));
        self.unlock(edge);
        found
    }

    /// Assigns a row that was not used since `idle`.
    fn assign_idle(&self, key: i64, now: i64, idle: i64) -> Option<usize> {
        self.probe(key).find(|&index| {
            let row = self.row(index);
            let word = &row.words[KEY];
            let last = word.load(SeqCst);
            let is_free = last == 0 || last == ASSIGNING;
            // An idle row whose arrival time has passed has the same effect as a new one.
            let is_expired = row.words[ARRIVAL].load(SeqCst) <= idle;
            if !(is_free || is_expired && row.is_idle()) {
                return false;
            }
            let taken = word.compare_exchange(last, ASSIGNING, SeqCst, SeqCst);
            if taken.is_err() {
                return false;
            }
            // Edges add to their column before they compare the key: one that was in time keeps the
            // row.
            if !is_free && !row.is_idle() {
                word.store(last, SeqCst);
                return false;
            }
            row.words[ARRIVAL].store(now, SeqCst);
            row.words[CHARGED].store(0, SeqCst);
            row.set_others(0, 0);
            row.activity.iter().for_each(|word| word.store(0, SeqCst));
            word.store(key, SeqCst);
            true
        })
    }

    /// Continues without the lock if its owner is stopped; the worst result is a second row for one
    /// access.
    pub(super) fn lock(&self, edge: usize) {
        let word = &self.limits.words()[LOCK];
        for _ in 0..LOCK_ATTEMPTS {
            let taken = word.compare_exchange(0, edge as i64 + 1, SeqCst, SeqCst);
            if taken.is_ok() {
                return;
            }
            spin_loop();
        }
    }

    fn unlock(&self, edge: usize) {
        let word = &self.limits.words()[LOCK];
        let _ = word.compare_exchange(edge as i64 + 1, 0, SeqCst, SeqCst);
    }

    /// Every row that is assigned.
    pub fn assigned(&self) -> impl Iterator<Item = RowCounts> {
        let rows = (0..self.rows).map(|index| (index, self.row(index)));
        let assigned = rows.filter(|(_, row)| !matches!(row.key(), 0 | ASSIGNING));
        assigned.map(|(index, row)| {
            let [charged, reported] = halves(row.words[CHARGED].load(SeqCst));
            RowCounts {
                row: index,
                key: row.key(),
                charged: charged.wrapping_add(reported) as u32,
                in_use: row.in_use(),
            }
        })
    }

    /// What an access has in use on this machine.
    pub fn in_use(&self, key: i64) -> InUse {
        let row = self.find(key).map(|index| self.row(index));
        row.map_or(InUse::default(), |row| row.in_use())
    }

    /// The requests that were charged since the last call; from now on they count as reported.
    pub fn take_charged(&self, key: i64) -> u32 {
        let Some(index) = self.find(key) else {
            return 0;
        };
        let report = |word| {
            let [charged, reported] = halves(word);
            Some(joined([0, reported.wrapping_add(charged)]))
        };
        let word = &self.row(index).words[CHARGED];
        let before = word.fetch_update(SeqCst, SeqCst, report);
        before.map_or(0, |word| halves(word)[0] as u32)
    }

    /// What accesses have in use on other machines, by key; of all others that is nothing.
    pub fn set_others(&self, found: impl Fn(i64) -> [i32; 2]) {
        for RowCounts { row, key, .. } in self.assigned() {
            let [requests, sockets] = found(key);
            self.row(row).set_others(requests, sockets);
        }
    }

    /// Nanoseconds that so many requests cost an access; 0 without a row: then its whole burst is
    /// free.
    pub fn cost_ns(&self, key: i64, requests: i64) -> i64 {
        let row = self.find(key).map(|index| self.row(index));
        row.map_or(0, |row| row.rate().cost_ns(requests))
    }

    /// Charges an access requests of other machines, and returns what must be charged later.
    pub fn owe(&self, key: i64, owed_ns: i64, now: i64) -> i64 {
        let row = self.find(key).map(|index| self.row(index));
        row.map_or(0, |row| row.rate().owe(&row.words[ARRIVAL], owed_ns, now))
    }

    /// Clears the counts of an edge. Only after it has ended, or by itself before it starts.
    pub fn clear_edge(&self, edge: usize) {
        for row in (0..self.rows).map(|index| self.row(index)) {
            let counts = [&row.words[COLUMNS + edge], &row.activity[edge]];
            for word in counts.into_iter().filter(|word| word.load(SeqCst) != 0) {
                word.store(0, SeqCst);
            }
        }
        self.unlock(edge);
    }
}
