//! Copies a store that is in use, in steps with a short read each: no page that a block frees has
//! to wait for the end of the copy before it is used again.
//!
//! After each step the copy has, of every table, all rows up to some key, exactly as the store had
//! them at one commit. The next step reads a newer one. It first brings what is there up to that
//! commit, with the accounts that the segments of the feed name for the slots between, and then
//! adds the next range of rows, of the same commit. So the last step leaves the store as of one
//! commit, and no state of a row that is older than the step is ever written.

use std::fs::{self, File};
use std::path::Path;

use heed::EnvFlags;

use crate::apply::prefault::FAULTS_MIN;
use crate::bulk::writer::Bulk;
use crate::copy::bounds::{BOUNDS, Bounds, Step, Stop};
use crate::copy::follow::{follow, prefault};
use crate::copy::ranges::{add_rows, begin_meta, finish_meta};
use crate::copy::written::written_since;
use crate::disk_space;
use crate::rows::record::Tip;
use crate::snapshot::Snapshot;
use crate::store::Store;
use crate::tables::{Extent, PerTable};
use sys::error::{Error, Result};
use sys::process;

/// How often a copy begins at most: again once if it cannot follow the store.
const ATTEMPTS: usize = 2;

impl Store {
    /// Writes the store as of one commit to a new file in an existing folder, without free pages,
    /// and syncs it. Blocks may be applied during the copy, which follows them to its end. Without
    /// segments of the feed it cannot, and is one long read. The caller removes the incomplete file
    /// after a failure; it does not open as a store.
    pub fn copy_to(&self, dir: &Path) -> Result<()> {
        self.copy_by(dir, BOUNDS, &mut || ())
    }

    /// The same with other bounds; calls `between` after each step but the last one.
    pub(crate) fn copy_by(
        &self,
        dir: &Path,
        bounds: Bounds,
        between: &mut dyn FnMut(),
    ) -> Result<()> {
        let copied = self.copy_attempts(dir, bounds, between);
        copied.map_err(|error| match error {
            Error::DiskReserve(free) => Error::StoreStopped(format!(
                "cannot be written, its disk is full: {free} bytes are free and \
                 store.diskReserveBytes is {}, free some of it",
                self.options.disk_reserve_bytes
            )),
            other => other,
        })
    }

    fn copy_attempts(&self, dir: &Path, bounds: Bounds, between: &mut dyn FnMut()) -> Result<()> {
        let file = dir.join("data.mdb");
        let mut reason = String::new();
        for _ in 0..ATTEMPTS {
            disk_space::keep_reserve(dir, self.options.disk_reserve_bytes)?;
            disk_space::before_opening(dir)?;
            File::options().write(true).create_new(true).open(&file)?;
            match Copy::begin(self, dir, bounds)?.run(between) {
                Ok(()) => return Ok(()),
                Err(Stop::Failed(error)) => return Err(error),
                Err(Stop::Lost(lost)) => reason = lost,
            }
            fs::remove_file(&file)?;
            fs::remove_file(dir.join("lock.mdb"))?;
        }
        Err(Error::LoadFailed(format!(
            "cannot follow the blocks that are applied meanwhile: {reason}"
        )))
    }
}

/// The commit that a copy is of.
#[derive(Debug, Clone, Copy)]
struct At {
    commit: usize,
    tip: Option<Tip>,
}

/// A copy in progress.
struct Copy<'s> {
    store: &'s Store,
    bulk: Bulk,
    bounds: Bounds,
    /// What is there of each table.
    there: PerTable<Extent>,
    at: Option<At>,
    /// The one read of a store without segments.
    held: Option<Snapshot<'s>>,
    /// Whether the last steps had to wait for the disk to follow.
    is_cold: bool,
}

impl<'s> Copy<'s> {
    fn begin(store: &'s Store, dir: &Path, bounds: Bounds) -> Result<Copy<'s>> {
        // What was written is in memory, or so large that the pages around a row would be in vain.
        let bulk = Bulk::create_with(dir, &store.options, EnvFlags::NO_READ_AHEAD)?;
        let mut txn = bulk.env.write_txn()?;
        begin_meta(&bulk.tables, &mut txn)?;
        txn.commit()?;
        let is_followed = store.options.feed_bytes_max > 0;
        Ok(Copy {
            store,
            bulk,
            bounds,
            there: PerTable::default(),
            at: None,
            is_cold: false,
            held: if is_followed {
                None
            } else {
                Some(store.snapshot()?)
            },
        })
    }

    /// Copies everything, or leaves a closed file that is no store.
    fn run(mut self, between: &mut dyn FnMut()) -> Step<()> {
        let outcome = loop {
            match self.step() {
                Ok(true) => break Ok(()),
                Ok(false) => between(),
                Err(stop) => break Err(stop),
            }
        };
        match outcome {
            Ok(()) => {
                self.bulk.close()?;
                Ok(())
            }
            Err(stop) => {
                self.bulk.abandon();
                Err(stop)
            }
        }
    }

    /// Brings what is there up to date, and adds rows; whether all of them are there then.
    fn step(&mut self) -> Step<bool> {
        self.look_ahead()?;
        let of_step = match &self.held {
            Some(_) => None,
            None => Some(self.store.snapshot()?),
        };
        let Some(snapshot) = of_step.as_ref().or(self.held.as_ref()) else {
            return Err(Error::Internal("a step without a snapshot".to_string()).into());
        };
        let now = At {
            commit: snapshot.commit(),
            tip: snapshot.tip().copied(),
        };
        let (copy, there) = (&self.bulk.tables, &mut self.there);
        let mut txn = self.bulk.env.write_txn()?;
        if let Some(before) = &self.at
            && before.commit != now.commit
        {
            let since = before.tip.as_ref();
            let touched = written_since(since, snapshot, &there.accounts, &self.bounds)?;
            let faults = process::major_faults_of_thread();
            follow((snapshot, copy, there), &mut txn, since, touched)?;
            let faults = process::major_faults_of_thread().saturating_sub(faults);
            self.is_cold |= faults >= FAULTS_MIN;
        }
        let is_whole = add_rows(snapshot, copy, &mut txn, there, &self.bounds)?;
        if is_whole {
            finish_meta(snapshot, copy, &mut txn)?;
        }
        // What it needs of the store is in memory, and a busy disk may take seconds.
        drop(of_step);
        txn.commit()?;
        self.bulk.committed()?;
        self.at = Some(now);
        Ok(is_whole)
    }

    /// If the last steps had to wait for the disk: reads the pages of the copy that the next one
    /// needs, many at once, and keeps no page of the store meanwhile.
    fn look_ahead(&mut self) -> Step<()> {
        let Some(before) = self.at.as_ref().filter(|_| self.is_cold) else {
            return Ok(());
        };
        let snapshot = self.store.snapshot()?;
        if before.commit == snapshot.commit() {
            return Ok(());
        }
        let (since, there) = (before.tip.as_ref(), &self.there.accounts);
        let touched = written_since(since, &snapshot, there, &self.bounds)?;
        drop(snapshot);
        self.is_cold = prefault(self.store, &self.bulk, &touched.accounts) >= FAULTS_MIN;
        Ok(())
    }
}
