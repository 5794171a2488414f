//! Collects versions of accounts.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use super::account_sorter::AccountSorter;
use super::checkpoint::{Checkpoint, Checkpoints, Ended, EndedArchive, Part, Reading};
use super::options::LoadOptions;
use super::record::{self, Kind, VersionOrder};
use super::scope_filter::ScopeFilter;
use super::sorted::{Base, Counts, Loaded, Sorted};
use super::spill::Span;
use super::spill::SpillWriter;
use super::{build, estimate};
use crate::archive::{ArchiveEnd, ArchiveName};
use crate::progress::Progress;
use primitives::Pubkey;
use store::{ACCOUNT_DATA_BYTES_MAX, AccountRef, Options, Scope, Store};
use sys::error::{Error, Result};

/// The file of sorted runs.
const RUNS: &str = "accounts";

/// Collects versions of accounts and builds a store from the newest ones.
pub struct Loader {
    work_dir: PathBuf,
    options: LoadOptions,
    scope: Scope,
    filter: ScopeFilter,
    sorter: AccountSorter,
    counts: Counts,
    /// Total lamports of all accounts according to the bank.
    capitalization: Option<u64>,
    /// The last blockhashes of the chain whose changes were pushed.
    recent_blockhashes: Option<Vec<[u8; 32]>>,
    checkpoints: Option<Checkpoints>,
    /// The state after the last archive that was read to its end.
    ended: Ended,
    /// What another process has read of the next archive.
    part: Option<Part>,
}

impl Loader {
    /// Starts a load in a dedicated folder, which is emptied. Runs are in unnamed files, so that
    /// the system frees their space when the process ends, even after a crash. With
    /// `checkpoint_every` they are kept, and the load continues from the last checkpoint of the
    /// folder, if it has one of this scope.
    pub fn create(work_dir: &Path, scope: &Scope, options: &LoadOptions) -> Result<Loader> {
        let every = options.checkpoint_every;
        let checkpoints = every.map(|every| Checkpoints::new(work_dir, scope, every));
        let known = checkpoints.as_ref().and_then(|of| of.read(RUNS));
        if known.is_none() {
            remove(work_dir)?;
            fs::create_dir_all(work_dir)?;
        }
        let at = known.as_ref().map_or(0, Checkpoint::run_bytes);
        let reserve_bytes = options.disk_reserve_bytes;
        let spill = if checkpoints.is_some() {
            SpillWriter::keep(work_dir, RUNS, at, reserve_bytes)?
        } else {
            SpillWriter::create(work_dir, RUNS, reserve_bytes)?
        };
        let (spans, ended, part) = known.map_or_else(Default::default, |known| {
            (known.spans, known.ended, known.part)
        });
        let mut loader = Loader {
            work_dir: work_dir.to_path_buf(),
            scope: scope.clone(),
            filter: ScopeFilter::new(scope, ended.seen.clone()),
            sorter: AccountSorter::start(spill, spans, options.sort_memory_bytes)?,
            counts: ended.counts,
            capitalization: None,
            recent_blockhashes: None,
            options: options.clone(),
            checkpoints,
            ended,
            part,
        };
        if let Some(last) = loader.ended.archives.last() {
            let end = last.end.clone();
            loader.expect(&end);
        }
        Ok(loader)
    }

    /// Adds a version of an account as of its slot. The newest version wins: the highest slot, then
    /// the highest `order`, then the last pushed. `lamports` 0 is a closed account.
    pub fn push(&mut self, order: u8, pubkey: &Pubkey, account: &AccountRef<'_>) -> Result<()> {
        let (version_order, kind) = self.note(order, pubkey, account)?;
        self.sorter.push(pubkey, version_order, kind, account)
    }

    /// Counts a version.
    fn note(
        &mut self,
        order: u8,
        pubkey: &Pubkey,
        account: &AccountRef<'_>,
    ) -> Result<(VersionOrder, Kind)> {
        if account.data.len() > ACCOUNT_DATA_BYTES_MAX {
            return Err(Error::LoadFailed(format!(
                "an account of {} bytes of data; the chain allows {ACCOUNT_DATA_BYTES_MAX}",
                account.data.len()
            )));
        }
        let version_order = VersionOrder::new(account.slot, order, self.counts.versions);
        let kind = self.filter.kind_of(pubkey, version_order, account);
        let counts = &mut self.counts;
        counts.versions += 1;
        counts.run_bytes += record::bytes_of(kind, account) as u64;
        match kind {
            Kind::Kept => counts.kept += 1,
            Kind::Gone if account.lamports == 0 => counts.tombstones += 1,
            Kind::Gone | Kind::Mint => counts.out_of_scope += 1,
        }
        Ok((version_order, kind))
    }

    /// The base slot and the summary of the archive of this order, if it was read to its end, by
    /// this process or one before it.
    pub fn ended_archive(&self, order: u8) -> Option<(Option<u64>, ArchiveEnd)> {
        let mut archives = self.ended.archives.iter();
        let found = archives.find(|archive| archive.order == order)?;
        Some((found.base, found.end.clone()))
    }

    /// Begins an archive. Entries that another process has sorted of it are passed over.
    pub(super) fn begin(&mut self, order: u8, name: &ArchiveName) -> Result<Reading> {
        let known = self.part.take();
        let part = known.clone().filter(|part| part.is_of(order, name));
        if known.is_some() && part.is_none() {
            self.forget_part()?;
        }
        Ok(Reading::new(order, name, part))
    }

    /// Adds the next entry of an archive. Returns false if the archive is another one than that of
    /// the entries that another process has sorted.
    pub(super) fn read(
        &mut self,
        reading: &mut Reading,
        pubkey: &Pubkey,
        account: &AccountRef<'_>,
    ) -> Result<bool> {
        let (version_order, kind) = self.note(reading.order, pubkey, account)?;
        if !reading.is_before_end() {
            let bytes = record::bytes_of(kind, account);
            if self.sorter.make_room(bytes)? {
                self.save_part(reading)?;
            }
            self.sorter.push(pubkey, version_order, kind, account)?;
        }
        Ok(reading.count(pubkey, account))
    }

    /// Forgets what was read since the last archive that was read to its end.
    pub(super) fn forget_part(&mut self) -> Result<()> {
        self.counts = self.ended.counts;
        self.filter = ScopeFilter::new(&self.scope, self.ended.seen.clone());
        let mut spans = self.sorter.sync()?;
        spans.truncate(self.ended.runs);
        // First: a checkpoint is not continued without the runs that it names.
        self.save(spans, None)?;
        self.sorter.keep_runs(self.ended.runs)
    }

    /// Ends an archive.
    pub(super) fn end(&mut self, order: u8, base: Option<u64>, end: &ArchiveEnd) -> Result<()> {
        self.expect(end);
        if self.checkpoints.is_none() {
            return Ok(());
        }
        let spans = self.sorter.sync()?;
        let ended = &mut self.ended;
        ended.archives.push(EndedArchive {
            order,
            base,
            end: end.clone(),
        });
        (ended.runs, ended.counts) = (spans.len(), self.counts);
        ended.seen = self.filter.seen();
        self.save(spans, None)
    }

    fn save_part(&mut self, reading: &Reading) -> Result<()> {
        if !self.checkpoints.as_ref().is_some_and(Checkpoints::is_due) {
            return Ok(());
        }
        let spans = self.sorter.sync()?;
        self.save(spans, Some(reading.part()))
    }

    fn save(&mut self, spans: Vec<Span>, part: Option<Part>) -> Result<()> {
        let Some(checkpoints) = &mut self.checkpoints else {
            return Ok(());
        };
        checkpoints.write(&Checkpoint {
            spans,
            ended: self.ended.clone(),
            part,
        })
    }

    fn expect(&mut self, end: &ArchiveEnd) {
        self.expect_lamports(end.manifest.capitalization);
        self.expect_tip_in(end.manifest.recent_blockhashes.clone());
    }

    /// Sets the capitalization of the bank whose accounts are all pushed. A load of every account
    /// fails with [`Error::SnapshotInvalid`] if their sum differs. 0 means unknown.
    pub fn expect_lamports(&mut self, capitalization: u64) {
        self.capitalization = Some(capitalization).filter(|lamports| *lamports > 0);
    }

    /// Sets the last blockhashes of the bank whose changes are pushed. [`Loader::update`] then
    /// refuses a store whose tip is not among them: it may be a block that the chain does not have.
    pub fn expect_tip_in(&mut self, recent_blockhashes: Vec<[u8; 32]>) {
        self.recent_blockhashes = Some(recent_blockhashes);
    }

    /// Adds a block to them of which the caller knows that the chain has it.
    pub fn accept_tip(&mut self, blockhash: [u8; 32]) {
        if let Some(recent) = &mut self.recent_blockhashes {
            recent.push(blockhash);
        }
    }

    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// Builds a store at `store_dir`, which must be empty and on the disk of the work folder. The
    /// operation is atomic and durable: the store is renamed to `store_dir` last.
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
        // Of a process that was killed.
        remove(&draft)?;
        let loaded = build::build(&sorted, &draft, options, base, progress)?;
        sorted.check_lamports(&loaded)?;
        publish(&draft, store_dir)?;
        Ok(loaded)
    }

    /// Updates a store and renames it to `store_dir`, which must be empty. `copy_dir` is a copy on
    /// the same disk that no other process has open. The pushed versions must include every change
    /// after `from_slot`, as in an incremental snapshot, and the copy must not be older than
    /// `from_slot`. After a failure the copy is unusable.
    pub fn update(
        self,
        copy_dir: &Path,
        store_dir: &Path,
        options: &Options,
        (from_slot, base): (u64, &Base),
        progress: &Progress,
    ) -> Result<Loaded> {
        self.check_scope(options)?;
        let copy = Store::open_writer(copy_dir, options)?;
        self.check_chain(&copy)?;
        let sorted = self.sort()?;
        let loaded = build::update(&sorted, &copy, from_slot, base, progress)?;
        drop(copy);
        publish(copy_dir, store_dir)?;
        Ok(loaded)
    }

    /// Counts what [`Loader::finish`] would write, without writing.
    pub fn finish_dry(self, progress: &Progress) -> Result<Loaded> {
        let sorted = self.sort()?;
        let loaded = estimate::estimate(&sorted, progress)?;
        sorted.check_lamports(&loaded)?;
        Ok(loaded)
    }

    /// A store with another scope would miss accounts, or keep some that are never updated.
    fn check_scope(&self, options: &Options) -> Result<()> {
        if options.scope == self.scope {
            return Ok(());
        }
        Err(Error::Internal(
            "a load was begun for another scope than the store's".into(),
        ))
    }

    /// Changes of the chain do not undo what another fork wrote.
    fn check_chain(&self, copy: &Store) -> Result<()> {
        let (Some(recent), Some(tip)) = (&self.recent_blockhashes, copy.tip()?) else {
            return Ok(());
        };
        if recent.contains(&tip.blockhash) {
            return Ok(());
        }
        Err(Error::LoadFailed(format!(
            "the store ends with slot {}, which is not among the last {} blocks of the snapshot",
            tip.slot,
            recent.len()
        )))
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

fn remove(dir: &Path) -> Result<()> {
    match fs::remove_dir_all(dir) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error.into()),
        _ => Ok(()),
    }
}

/// Renames a complete store to its final path, durably.
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
