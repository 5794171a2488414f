//! Refills rows of `holders` between commits.

use std::collections::BTreeMap;
use std::sync::MutexGuard;
use std::time::{Duration, Instant};

use crate::indexes::holder_scan::short_after;
use crate::indexes::holders;
use crate::indexes::refill::Refills;
use crate::store::Store;
use sys::error::Result;

/// A deadline that is not met.
const FOREVER: Duration = Duration::from_secs(86_400);

impl Store {
    /// Runs a commit with the refills, which are dropped if it fails: they may have followed
    /// changes that were not written.
    pub(crate) fn with_refills<T>(
        &self,
        commit: impl FnOnce(&mut Refills) -> Result<T>,
    ) -> Result<T> {
        let mut refills = self.lock_refills();
        let outcome = commit(&mut refills);
        if outcome.is_err() {
            *refills = Refills::default();
        }
        outcome
    }

    fn lock_refills(&self) -> MutexGuard<'_, Refills> {
        self.refills.lock().unwrap_or_else(|poisoned| {
            // A panic is a failed commit, too.
            self.refills.clear_poison();
            let mut refills = poisoned.into_inner();
            *refills = Refills::default();
            refills
        })
    }

    /// Refills rows of `holders` until the deadline; whether something is left to do. The rows are
    /// written with the next commit. Only the thread that applies blocks may call this.
    pub fn refill_holders(&self, deadline: Instant) -> Result<bool> {
        let mut refills = self.lock_refills();
        let txn = self.env.read_txn()?;
        refills.work(&self.tables, &txn, deadline)
    }

    /// Refills every short row, in transactions of their own.
    pub(crate) fn refill_all_holders(&self) -> Result<()> {
        loop {
            let txn = self.env.read_txn()?;
            let has_short = short_after(&self.tables, &txn, None)?.is_some();
            drop(txn);
            if !has_short {
                return Ok(());
            }
            self.refill_holders(Instant::now() + FOREVER)?;
            self.with_refills(|refills| {
                let mut txn = self.env.write_txn()?;
                holders::write(&self.tables, &mut txn, BTreeMap::new(), refills)?;
                Ok(txn.commit()?)
            })?;
        }
    }
}
