//! Refills the rows of `holders` whose accounts have left them, between commits: an authority may
//! empty the largest accounts of a mint in every slot, and a mint may have millions of them.
//!
//! A refill looks at all accounts of a mint in slices and keeps many more of the largest than a row
//! has. From then on its list follows each commit, and the row is taken from it.

use std::collections::{BTreeMap, VecDeque};
use std::time::Instant;

use heed::RoTxn;

use crate::indexes::holder_row::{HOLDERS_MIN, Move, Row};
use crate::indexes::holder_scan::{each_holder, short_after};
use crate::indexes::largest::Largest;
use crate::rows::keys::MintId;
use crate::tables::Tables;
use primitives::Pubkey;
use sys::error::Result;

/// Entries of a list: two million accounts take some 2 s to look at, and the largest hundred may be
/// emptied five times meanwhile. About 1 MB each.
const LIST_MAX: usize = 20_000;
/// A list with fewer entries is made anew.
const LIST_MIN: usize = LIST_MAX / 2;
/// Maximum lists. The oldest is dropped first; its row is as valid without it.
const LISTS_MAX: usize = 16;
/// A row with fewer entries asks for a list, so that it does not become short.
const ROW_MIN: usize = 60;
/// Mints that wait, those with a short row not counted.
const ASKED_MAX: usize = 64;
/// Accounts between two reads of the clock.
const ROWS_PER_LOOK: u64 = 256;

/// The refills of one store. Everything is lost with the process but the marks of short rows.
#[derive(Default)]
pub(crate) struct Refills {
    lists: BTreeMap<MintId, Largest>,
    /// The mints of `lists`, oldest first.
    order: VecDeque<MintId>,
    /// Mints whose rows are to be written from their lists.
    finished: VecDeque<MintId>,
    asked: VecDeque<MintId>,
    /// The mint with a short row that was refilled last.
    short: Option<MintId>,
    current: Option<Refill>,
}

/// A mint whose accounts are being looked at.
struct Refill {
    mint: MintId,
    /// The largest of the accounts up to `last`.
    largest: Largest,
    last: Option<Pubkey>,
}

impl Refills {
    /// Follows the changes of a commit.
    pub fn follow(&mut self, mint: &MintId, changes: &[Move]) {
        if let Some(list) = self.lists.get_mut(mint) {
            changes.iter().for_each(|change| list.apply(change));
        }
        if let Some(Refill {
            mint: of,
            largest,
            last: Some(last),
        }) = &mut self.current
            && of == mint
        {
            // Later accounts are looked at as they are then.
            let is_seen = |change: &&Move| {
                let entry = change.old.or(change.new);
                entry.is_some_and(|(_, pubkey)| pubkey <= *last)
            };
            let seen = changes.iter().filter(is_seen);
            seen.for_each(|change| largest.apply(change));
        }
    }

    /// The row of a mint that has a list.
    pub fn row(&self, mint: &MintId) -> Option<Row> {
        self.lists.get(mint).map(Largest::row)
    }

    /// Asks for a refill if a row or its list has few entries.
    pub fn ask(&mut self, mint: &MintId, row: &Row) {
        let is_low = match self.lists.get(mint) {
            Some(list) => !list.is_complete() && list.len() < LIST_MIN,
            None => !row.is_complete && row.entries.len() < ROW_MIN,
        };
        let is_current = self.current.as_ref().is_some_and(|of| of.mint == *mint);
        if is_low && !is_current && self.asked.len() < ASKED_MAX && !self.asked.contains(mint) {
            self.asked.push_back(*mint);
        }
    }

    /// The mints whose rows the next commit writes from their lists, whatever it changes.
    pub fn finished(&self) -> Vec<MintId> {
        self.finished.iter().copied().collect()
    }

    /// The next mint whose list is new.
    pub fn take_finished(&mut self) -> Option<MintId> {
        self.finished.pop_front()
    }

    /// Looks at accounts until the deadline; whether something is left to do.
    pub fn work(&mut self, tables: &Tables, txn: &RoTxn<'_>, deadline: Instant) -> Result<bool> {
        while self.begin(tables, txn)? {
            let Some(current) = &mut self.current else {
                break;
            };
            if !current.look(tables, txn, deadline)? {
                return Ok(true);
            }
            self.end();
        }
        Ok(false)
    }

    fn begin(&mut self, tables: &Tables, txn: &RoTxn<'_>) -> Result<bool> {
        if self.current.is_none() && self.finished.len() < LISTS_MAX {
            let mint = match self.asked.pop_front() {
                Some(mint) => Some(mint),
                None => self.next_short(tables, txn)?,
            };
            self.current = mint.map(|mint| Refill {
                mint,
                largest: Largest::new(LIST_MAX),
                last: None,
            });
        }
        Ok(self.current.is_some())
    }

    fn next_short(&mut self, tables: &Tables, txn: &RoTxn<'_>) -> Result<Option<MintId>> {
        let mut found = short_after(tables, txn, self.short.as_ref())?;
        if found.is_none() && self.short.is_some() {
            found = short_after(tables, txn, None)?;
        }
        self.short = found;
        // The row of a finished list is written with the next commit.
        Ok(found.filter(|mint| !self.finished.contains(mint)))
    }

    fn end(&mut self) {
        let Some(Refill { mint, largest, .. }) = self.current.take() else {
            return;
        };
        if self.lists.insert(mint, largest).is_none() {
            self.order.push_back(mint);
        }
        if self.order.len() > LISTS_MAX
            && let Some(oldest) = self.order.pop_front()
        {
            self.lists.remove(&oldest);
        }
        self.finished.push_back(mint);
    }
}

impl Refill {
    /// Looks at further accounts until the deadline; whether there are no more.
    fn look(&mut self, tables: &Tables, txn: &RoTxn<'_>, deadline: Instant) -> Result<bool> {
        let (mut rows, mut is_last) = (0u64, true);
        let (largest, mut last) = (&mut self.largest, self.last);
        each_holder(
            tables,
            txn,
            &self.mint,
            self.last.as_ref(),
            &mut |key, entry| {
                entry.into_iter().for_each(|entry| largest.insert(entry));
                last = Some(*key);
                rows += 1;
                is_last = !rows.is_multiple_of(ROWS_PER_LOOK) || Instant::now() < deadline;
                Ok(is_last)
            },
        )?;
        self.last = last;
        Ok(is_last)
    }
}

const _: () = assert!(HOLDERS_MIN < ROW_MIN);
