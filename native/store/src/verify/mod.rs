//! Verifies a store while it is in use. It walks every table in slices; each slice has its own
//! short read transaction. All comparisons within a slice read the same block, so blocks applied
//! between slices cause no false differences.

mod look;

use std::ops::Bound;
use std::time::{Duration, Instant};

use super::check::indexes;
use super::open::Store;
use super::tables::{Db, Tables};
use look::Look;
use sys::error::Result;

/// Limits of one verification.
#[derive(Debug, Clone)]
pub struct VerifyLimits {
    /// Maximum rows per slice.
    pub slice_rows_max: u64,
    /// Maximum duration of a slice; only counting one program's accounts may exceed it.
    pub slice_max: Duration,
    /// Programs with more accounts are not counted, to avoid a long read transaction.
    pub program_rows_max: u64,
    /// The verification ends after this many differences.
    pub differences_max: usize,
}

/// The result of one slice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct VerifySlice {
    pub table: &'static str,
    /// Rows read.
    pub rows: u64,
    /// No rows are left to verify.
    pub is_last: bool,
}

#[derive(Debug, Clone, Copy)]
enum Step {
    Accounts,
    /// An index into [`indexes`].
    Index(usize),
    Holders,
    Changed,
    Programs,
    /// The blocks, and totals that must match within one snapshot.
    Blocks,
    Feed,
    Signatures,
}

/// The entry of [`indexes`] that contains the mints' accounts.
const BY_MINT: usize = 2;

const STEPS: [Step; 11] = [
    Step::Accounts,
    Step::Index(0),
    Step::Index(1),
    Step::Index(BY_MINT),
    Step::Index(3),
    Step::Holders,
    Step::Changed,
    Step::Programs,
    Step::Blocks,
    Step::Feed,
    Step::Signatures,
];

impl Step {
    fn table(self, tables: &Tables) -> (&'static str, Db) {
        match self {
            Step::Accounts => ("accounts", tables.accounts),
            Step::Index(i) => match indexes(tables).get(i) {
                Some((name, db, _)) => (name, *db),
                None => ("by_program", tables.by_program),
            },
            Step::Holders => ("holders", tables.holders),
            Step::Changed => ("changed", tables.changed),
            Step::Programs => ("programs", tables.programs),
            Step::Blocks => ("blocks", tables.blocks),
            Step::Feed => ("feed", tables.feed),
            Step::Signatures => ("signatures", tables.signatures),
        }
    }
}

/// The state of a running verification.
pub struct Verifier {
    limits: VerifyLimits,
    step: usize,
    /// The last row verified in this step; empty before the first.
    after: Vec<u8>,
    found: Vec<String>,
    uncounted: u64,
}

impl Verifier {
    pub fn new(limits: VerifyLimits) -> Verifier {
        Verifier {
            limits,
            step: 0,
            after: Vec::new(),
            found: Vec::new(),
            uncounted: 0,
        }
    }

    /// The number of rows to verify; applied blocks change it.
    pub fn rows_total(store: &Store) -> Result<u64> {
        let txn = store.env.read_txn()?;
        // Programs' accounts are counted by a second walk over this index.
        let mut rows = store.tables.by_program.len(&txn)?;
        for step in STEPS {
            rows += step.table(&store.tables).1.len(&txn)?;
        }
        Ok(rows)
    }

    /// The differences found, as sentences without duplicates.
    pub fn found(&self) -> &[String] {
        &self.found
    }

    /// The number of programs with too many accounts to count; for these only the total over all
    /// programs was compared.
    pub fn uncounted(&self) -> u64 {
        self.uncounted
    }

    /// Verifies the next rows.
    pub fn slice(&mut self, store: &Store) -> Result<VerifySlice> {
        let snapshot = store.snapshot()?;
        let Some(step) = STEPS.get(self.step).copied() else {
            return Ok(VerifySlice {
                table: "",
                rows: 0,
                is_last: true,
            });
        };
        let until = Instant::now() + self.limits.slice_max;
        let (table, db) = step.table(&store.tables);
        let mut look = Look::new(&snapshot, &self.limits, &self.after);
        let mut last = None;
        if let Step::Blocks = step {
            look.sums()?;
        } else {
            let from = match self.after.as_slice() {
                [] => Bound::Unbounded,
                after => Bound::Excluded(after),
            };
            for row in db.range(&snapshot.txn, &(from, Bound::Unbounded))? {
                let (key, value) = row?;
                look.rows += 1;
                look.row(step, key, value)?;
                if look.rows >= self.limits.slice_rows_max || Instant::now() >= until {
                    last = Some(key.to_vec());
                    break;
                }
            }
        }
        let (rows, uncounted) = (look.rows, look.uncounted);
        let found = look.found;
        self.uncounted += uncounted;
        for sentence in found {
            if self.found.len() < self.limits.differences_max && !self.found.contains(&sentence) {
                self.found.push(sentence);
            }
        }
        match last {
            Some(key) => self.after = key,
            None => {
                self.after.clear();
                self.step += 1;
            }
        }
        if self.found.len() >= self.limits.differences_max {
            self.step = STEPS.len();
        }
        let is_last = self.step >= STEPS.len();
        Ok(VerifySlice {
            table,
            rows,
            is_last,
        })
    }
}
