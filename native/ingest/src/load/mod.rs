//! Versions of accounts, in any order and more than memory holds, into a new store: sorted on the
//! disk, the newest version of each kept, and every table written from its begin to its end.

mod account_sorter;
mod build;
mod estimate;
mod from_archive;
mod indexes;
mod merge;
mod options;
mod record;
mod row_run;
mod scope_filter;
mod spill;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod update_tests;

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

use account_sorter::AccountSorter;
use build::LatestVersions;
use record::{Kind, VersionOrder};
use scope_filter::ScopeFilter;
use spill::{Span, SpillFile, SpillWriter};

pub use from_archive::{load_archive, load_source};
pub use options::{LoadOptions, SORT_MEMORY_BYTES_MIN};

use super::progress::Progress;
use primitives::Pubkey;
use store::{ACCOUNT_DATA_BYTES_MAX, AccountRef, Options, Scope, Store, Tip};
use sys::error::{Error, Result};

/// The block that a loaded store begins with: what its tip will be.
pub type Base = Tip;

/// What was pushed so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// Versions of accounts, those that a scope leaves out included.
    pub versions: u64,
    /// Those that would be kept, were each the newest of its account.
    pub kept: u64,
    /// Closed accounts.
    pub tombstones: u64,
    /// Versions that the scope leaves out.
    pub out_of_scope: u64,
    /// Bytes of the sorted runs.
    pub run_bytes: u64,
}

/// What a store was loaded with, or would be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Loaded {
    pub accounts: u64,
    pub lamports: u128,
    /// Bytes of their data.
    pub data_bytes: u64,
    /// Versions that a newer one replaced.
    pub superseded: u64,
    /// Bytes of the store's file; of one that was not made, the most that it would have.
    pub file_bytes: u64,
    /// Bytes that the sorted runs took on the disk, those of indexes included.
    pub run_bytes: u64,
}

impl Loaded {
    /// Takes one account of the store into the sums.
    fn count(&mut self, account: &AccountRef<'_>) {
        self.accounts += 1;
        self.lamports += u128::from(account.lamports);
        self.data_bytes += account.data.len() as u64;
    }
}

/// Takes versions of accounts and makes a store of the newest ones.
pub struct Loader {
    work_dir: PathBuf,
    options: LoadOptions,
    scope: Scope,
    filter: ScopeFilter,
    sorter: AccountSorter,
    counts: Counts,
    /// Lamports of all accounts together, as a bank says them.
    capitalization: Option<u64>,
}

impl Loader {
    /// Begins in a folder of the load's own; it is emptied. Runs lie there in files without a name,
    /// so that their room is free again as soon as the process has ended, however it does.
    pub fn create(work_dir: &Path, scope: &Scope, options: &LoadOptions) -> Result<Loader> {
        remove(work_dir)?;
        fs::create_dir_all(work_dir)?;
        let spill = SpillWriter::create(work_dir, "accounts", options.disk_reserve_bytes)?;
        Ok(Loader {
            work_dir: work_dir.to_path_buf(),
            scope: scope.clone(),
            filter: ScopeFilter::new(scope),
            sorter: AccountSorter::start(spill, options.sort_memory_bytes)?,
            counts: Counts::default(),
            capitalization: None,
            options: options.clone(),
        })
    }

    /// Takes a version of an account, as of its slot. The newest one wins: the highest slot, then
    /// the highest `order`, then the one that came last. `lamports` 0 is a closed account.
    pub fn push(&mut self, order: u8, pubkey: &Pubkey, account: &AccountRef<'_>) -> Result<()> {
        if account.data.len() > ACCOUNT_DATA_BYTES_MAX {
            return Err(Error::LoadFailed(format!(
                "an account of {} bytes of data; the chain allows {ACCOUNT_DATA_BYTES_MAX}",
                account.data.len()
            )));
        }
        let version_order = VersionOrder::new(account.slot, order, self.counts.versions);
        let kind = self.filter.kind_of(pubkey, version_order, account);
        self.sorter.push(pubkey, version_order, kind, account)?;
        let counts = &mut self.counts;
        counts.versions += 1;
        counts.run_bytes += record::bytes_of(kind, account) as u64;
        match kind {
            Kind::Kept => counts.kept += 1,
            Kind::Gone if account.lamports == 0 => counts.tombstones += 1,
            Kind::Gone | Kind::Mint => counts.out_of_scope += 1,
        }
        Ok(())
    }

    /// What was pushed is all accounts of a bank that says this of them: a load of every account
    /// ends with [`Error::SnapshotInvalid`] where they hold something else. 0 is not said.
    pub fn expect_lamports(&mut self, capitalization: u64) {
        self.capitalization = Some(capitalization).filter(|lamports| *lamports > 0);
    }

    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// Makes a store at `store_dir`, which must be on the disk of the work folder and hold nothing.
    /// All of it is there, on the disk, or nothing: the folder gets its name last.
    pub fn finish(
        self,
        store_dir: &Path,
        options: &Options,
        base: &Base,
        progress: &Progress,
    ) -> Result<Loaded> {
        self.check_scope(options)?;
        let sorted = self.sort()?;
        let draft = sorted.work_dir.join("store");
        let loaded = build::build(&sorted, &draft, options, base, progress)?;
        sorted.check_lamports(&loaded)?;
        publish(&draft, store_dir)?;
        Ok(loaded)
    }

    /// Brings a store up to date, and makes it the one at `store_dir`: `copy_dir` holds a copy that
    /// nobody else has opened, on the disk of `store_dir`, which must hold nothing. What was pushed
    /// must be every change after `from_slot`, as an incremental snapshot has it, and the copy must
    /// not be older than that. After a failure the copy is of no use.
    pub fn update(
        self,
        copy_dir: &Path,
        store_dir: &Path,
        options: &Options,
        (from_slot, base): (u64, &Base),
        progress: &Progress,
    ) -> Result<Loaded> {
        self.check_scope(options)?;
        let sorted = self.sort()?;
        let copy = Store::open_writer(copy_dir, options)?;
        let loaded = build::update(&sorted, &copy, from_slot, base, progress)?;
        drop(copy);
        publish(copy_dir, store_dir)?;
        Ok(loaded)
    }

    /// Counts what [`Loader::finish`] would write, and writes nothing.
    pub fn finish_dry(self, progress: &Progress) -> Result<Loaded> {
        let sorted = self.sort()?;
        let loaded = estimate::estimate(&sorted, progress)?;
        sorted.check_lamports(&loaded)?;
        Ok(loaded)
    }

    /// A store of another scope would miss accounts, or hold some that are never updated.
    fn check_scope(&self, options: &Options) -> Result<()> {
        if options.scope == self.scope {
            return Ok(());
        }
        Err(Error::Internal(
            "a load was begun for another scope than the store's".into(),
        ))
    }

    fn sort(self) -> Result<Sorted> {
        let (file, spans) = self.sorter.finish()?;
        let is_whole = matches!(self.scope, Scope::All);
        Ok(Sorted {
            capitalization: self.capitalization.filter(|_| is_whole),
            work_dir: self.work_dir,
            options: self.options,
            filter: self.filter,
            counts: self.counts,
            file,
            spans,
        })
    }
}

/// Everything that was pushed, in sorted runs.
struct Sorted {
    work_dir: PathBuf,
    options: LoadOptions,
    filter: ScopeFilter,
    counts: Counts,
    file: SpillFile,
    spans: Vec<Span>,
    /// Only where every account is kept.
    capitalization: Option<u64>,
}

impl Sorted {
    /// Goes through the newest version of each account that is kept.
    fn latest_versions<'s>(&'s self, progress: &'s Progress) -> Result<LatestVersions<'s>> {
        let rows_before = progress.rows_total.load(Ordering::Relaxed);
        let rows = rows_before + self.counts.versions;
        progress.rows_total.store(rows, Ordering::Relaxed);
        LatestVersions::open(self, progress)
    }

    /// Lamports come from nowhere and go nowhere: another sum is accounts that are missing, or too
    /// many.
    fn check_lamports(&self, loaded: &Loaded) -> Result<()> {
        match self.capitalization {
            Some(said) if u128::from(said) != loaded.lamports => {
                Err(Error::SnapshotInvalid(format!(
                    "its accounts hold {} lamports together, and its bank says {said}",
                    loaded.lamports
                )))
            }
            _ => Ok(()),
        }
    }
}

fn remove(dir: &Path) -> Result<()> {
    match fs::remove_dir_all(dir) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error.into()),
        _ => Ok(()),
    }
}

/// Gives a whole store its name, durably.
fn publish(draft: &Path, store_dir: &Path) -> Result<()> {
    File::open(draft)?.sync_all()?;
    fs::rename(draft, store_dir).map_err(|error| {
        Error::LoadFailed(format!(
            "the loaded store cannot be called {}: {error}",
            store_dir.display()
        ))
    })?;
    if let Some(parent) = store_dir.parent() {
        File::open(parent)?.sync_all()?;
    }
    Ok(())
}
