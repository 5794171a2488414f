//! The check of a store that is in use. It goes along every table in slices, each in a read
//! transaction of its own that is short. Within a slice both sides of a comparison are of one
//! block, so whatever differs there is a difference, however many blocks are applied meanwhile.

mod look;

use std::ops::Bound;
use std::time::{Duration, Instant};

use super::check::indexes;
use super::open::Store;
use super::tables::{Db, Tables};
use look::Look;
use sys::error::Result;

/// Bounds of one verification.
#[derive(Debug, Clone)]
pub struct VerifyLimits {
    /// Rows of one slice.
    pub slice_rows_max: u64,
    /// Time of one slice; only the counting of one program may take longer.
    pub slice_max: Duration,
    /// A program with more accounts is not counted: that would be one long read.
    pub program_rows_max: u64,
    /// Differences after which it ends.
    pub differences_max: usize,
}

/// What one slice did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct VerifySlice {
    pub table: &'static str,
    /// Rows that it looked at.
    pub rows: u64,
    /// Nothing is left to look at.
    pub is_last: bool,
}

#[derive(Debug, Clone, Copy)]
enum Step {
    Accounts,
    /// One of [`indexes`].
    Index(usize),
    Holders,
    Changed,
    Programs,
    /// The blocks, and what one moment must hold in sum.
    Blocks,
    Feed,
    Signatures,
}

/// The one of [`indexes`] along which the holders of a mint are looked at.
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

/// A verification under way.
pub struct Verifier {
    limits: VerifyLimits,
    step: usize,
    /// The last row of this step that was looked at; empty before the first.
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

    /// Rows that there are to look at; blocks that are applied change it.
    pub fn rows_total(store: &Store) -> Result<u64> {
        let txn = store.env.read_txn()?;
        // The accounts of programs are counted along this one once more.
        let mut rows = store.tables.by_program.len(&txn)?;
        for step in STEPS {
            rows += step.table(&store.tables).1.len(&txn)?;
        }
        Ok(rows)
    }

    /// The differences so far, as sentences, each once.
    pub fn found(&self) -> &[String] {
        &self.found
    }

    /// Programs that own too many accounts to be counted: only the sum over all was compared.
    pub fn uncounted(&self) -> u64 {
        self.uncounted
    }

    /// Looks at the next rows.
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
