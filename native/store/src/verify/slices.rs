//! Verifies a store while it is in use. It walks every table in slices; each slice has its own
//! short read transaction. All comparisons within a slice read the same block, so blocks applied
//! between slices cause no false differences.

use std::ops::Bound;
use std::time::Instant;

use crate::store::Store;
use crate::verify::slice_check::SliceCheck;
use crate::verify::steps::{STEPS, Step, VerifyLimits};
use sys::error::Result;

/// The result of one slice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct VerifySlice {
    pub table: &'static str,
    /// Rows read.
    pub rows: u64,
    /// No rows are left to verify.
    pub is_last: bool,
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
        let mut check = SliceCheck::new(&snapshot, &self.limits, &self.after);
        let mut last = None;
        if let Step::Blocks = step {
            check.sums()?;
        } else {
            let from = match self.after.as_slice() {
                [] => Bound::Unbounded,
                after => Bound::Excluded(after),
            };
            for row in db.range(&snapshot.txn, &(from, Bound::Unbounded))? {
                let (key, value) = row?;
                check.rows += 1;
                check.row(step, key, value)?;
                if check.rows >= self.limits.slice_rows_max || Instant::now() >= until {
                    last = Some(key.to_vec());
                    break;
                }
            }
        }
        let (rows, uncounted) = (check.rows, check.uncounted);
        let found = check.found;
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
