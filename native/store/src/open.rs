//! Opening a store, and what an operator wants to know of it.

use std::fs::{self, File, OpenOptions};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use heed::{Env, EnvFlags, EnvOpenOptions, MdbError, RoTxn};

use super::btree_prefetch::{self, Mapped};
use super::disk_space;
use super::options::Options;
use super::readers::{self, OpenRead};
use super::reconcile::Corrections;
use super::record::Tip;
use super::snapshot::{Snapshot, tip_of};
use super::tables::{SCHEMA, TABLES, Tables};
use sys::error::{Error, Result};

/// One LMDB environment: the accounts as of one block, with their indexes. Dropping it closes it; a
/// process must not open the same folder twice at a time.
pub struct Store {
    // Dropped before `env`: closing any descriptor of the lock file ends the process's locks on it.
    pub(super) lock_file: File,
    pub(super) env: Env,
    pub(super) tables: Tables,
    pub(super) options: Options,
    pub(super) dir: PathBuf,
    /// The mapping for prefetches, if the system exposes it.
    pub(super) mapped: Option<Mapped>,
    /// The tip of the transaction with this id: looked up once a block, not once a read.
    last_tip: Mutex<(usize, Option<Tip>)>,
    /// What the next block corrects.
    pub(super) corrections: Mutex<Corrections>,
}

/// The state of a store in numbers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stats {
    /// Pages that hold something, in bytes; freed pages that wait for reuse are not in it.
    pub used_bytes: u64,
    /// Size of the file, free pages included.
    pub file_bytes: u64,
    pub map_bytes: u64,
    /// Reader slots with a transaction open now.
    pub readers: u32,
    pub readers_max: u32,
    /// Blocks written since the oldest open read began: what it keeps from being reused.
    pub oldest_reader_lag: u64,
    /// Rows by table.
    pub entries: Vec<(&'static str, u64)>,
}

impl Store {
    /// Opens a store for writing, and makes it where there is none. One process at a time; the
    /// caller holds a lock.
    pub fn open_writer(dir: &Path, options: &Options) -> Result<Store> {
        // What cannot be written is refused with the folder's name: there may be many.
        let refuse = |error| match error {
            Error::StoreStopped(text) => unusable(dir, &text),
            other => other,
        };
        Self::make_writer(dir, options).map_err(refuse)
    }

    fn make_writer(dir: &Path, options: &Options) -> Result<Store> {
        fs::create_dir_all(dir).map_err(heed::Error::Io)?;
        disk_space::before_opening(dir)?;
        let env = open_env(dir, options, EnvFlags::empty())?;
        let lock_file = OpenOptions::new()
            .read(true)
            .write(true)
            .open(dir.join("lock.mdb"))
            .map_err(heed::Error::Io)?;
        disk_space::for_readers(&lock_file)?;
        env.clear_stale_readers()?;
        let mut txn = env.write_txn()?;
        let tables = Tables::create(&env, &mut txn)?;
        for (word, wanted) in identity(options) {
            match tables.meta.get(&txn, word.as_bytes())? {
                None => tables.meta.put(&mut txn, word.as_bytes(), &wanted)?,
                Some(found) => check_identity(dir, word, found, &wanted)?,
            }
        }
        txn.commit()?;
        Self::finish(env, lock_file, tables, dir, options)
    }

    /// Opens a store that a writer has made, for reading only.
    pub fn open_reader(dir: &Path, options: &Options) -> Result<Store> {
        if !dir.join("data.mdb").exists() {
            return Err(unusable(
                dir,
                "holds no store yet: start the indexer, which makes it",
            ));
        }
        let env = open_env(dir, options, EnvFlags::READ_ONLY)?;
        env.clear_stale_readers()?;
        let txn = env.read_txn()?;
        let tables = Tables::open(&env, &txn)?;
        for (word, wanted) in identity(options) {
            let found = tables.meta.get(&txn, word.as_bytes())?.unwrap_or_default();
            check_identity(dir, word, found, &wanted)?;
        }
        // LMDB keeps table handles that a committed transaction opened, and forgets those of an
        // aborted one.
        txn.commit()?;
        let lock_file = File::open(dir.join("lock.mdb"))?;
        Self::finish(env, lock_file, tables, dir, options)
    }

    /// `lock_file` must not have been closed meanwhile: that would end LMDB's locks, and other
    /// processes would take this one for dead.
    fn finish(
        env: Env,
        lock_file: File,
        tables: Tables,
        dir: &Path,
        options: &Options,
    ) -> Result<Store> {
        let mapped = Mapped::of(&env, btree_prefetch::TABLE);
        Ok(Store {
            lock_file,
            env,
            tables,
            options: options.clone(),
            dir: dir.to_path_buf(),
            mapped,
            last_tip: Mutex::new((usize::MAX, None)),
            corrections: Mutex::default(),
        })
    }

    /// The newest block, or `None` in an empty store.
    pub fn tip(&self) -> Result<Option<Tip>> {
        let txn = self.env.read_txn()?;
        tip_of(&self.tables, &txn)
    }

    /// One moment of the store: nothing in it changes until it is dropped. Keep it short, and hold
    /// only one per thread: pages that it sees cannot be reused.
    pub fn snapshot(&self) -> Result<Snapshot<'_>> {
        Snapshot::begin(self)
    }

    /// Number of the store's last commit. A snapshot taken after this call sees that one or a later
    /// one, but for the instant in which a commit is being published; then it sees the one before.
    pub fn last_commit(&self) -> usize {
        self.env.info().last_txn_id
    }

    /// The tip as this transaction sees it. A transaction's id is that of the last commit it sees,
    /// so equal ids see equal tips.
    pub(super) fn tip_at(&self, txn: &RoTxn<'_>) -> Result<Option<Tip>> {
        let id = txn.id();
        let mut last = self.last_tip.lock().unwrap_or_else(PoisonError::into_inner);
        if last.0 != id {
            *last = (id, tip_of(&self.tables, txn)?);
        }
        Ok(last.1)
    }

    /// What the store was opened with.
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// Frees the reader slots of processes that died, and answers how many there were.
    pub fn clear_stale_readers(&self) -> Result<usize> {
        Ok(self.env.clear_stale_readers()?)
    }

    /// The reads that are open now, of every process, with the commit that each of them sees.
    pub fn open_reads(&self) -> Result<Vec<OpenRead>> {
        readers::open_reads(&self.lock_file, self.env.info().number_of_readers)
    }

    /// The state of the store in numbers, for metrics.
    pub fn stats(&self) -> Result<Stats> {
        // Before our own transaction, which would count as a reader.
        let info = self.env.info();
        let readers = self.open_reads()?;
        let newest = info.last_txn_id as u64;
        // heed begins a transaction of its own for this, and a thread may hold only one.
        let used_bytes = self.env.non_free_pages_size()?;
        let txn = self.env.read_txn()?;
        Ok(Stats {
            used_bytes,
            file_bytes: self.env.real_disk_size()?,
            map_bytes: info.map_size as u64,
            readers: readers.len() as u32,
            readers_max: info.maximum_number_of_readers,
            oldest_reader_lag: readers
                .iter()
                .map(|read| newest.saturating_sub(read.transaction))
                .max()
                .unwrap_or(0),
            entries: self.tables.entries(&txn)?,
        })
    }
}

pub(super) fn open_env(dir: &Path, options: &Options, flags: EnvFlags) -> Result<Env> {
    let mut open = EnvOpenOptions::new();
    // SAFETY: the flags are READ_ONLY or none, so LMDB keeps its locks and its ordering of writes;
    // or those of a bulk load, whose file is nobody else's until it has waited for the disk.
    unsafe { open.flags(flags) };
    open.map_size(options.map_bytes)
        .max_readers(options.readers_max)
        .max_dbs(TABLES.len() as u32);
    // SAFETY: the folder is ours alone (a store generation), local, and changed through LMDB only.
    match unsafe { open.open(dir) } {
        Ok(env) => Ok(env),
        Err(heed::Error::Mdb(MdbError::Invalid | MdbError::VersionMismatch)) => Err(unusable(
            dir,
            "holds a file that is not a Slotline store: remove it, or name another folder",
        )),
        Err(heed::Error::Mdb(MdbError::Corrupted | MdbError::PageNotFound)) => Err(unusable(
            dir,
            "is damaged: remove it and let the indexer build it anew",
        )),
        Err(error) => Err(error.into()),
    }
}

/// What a store was built for: opened for anything else, its tables would be wrong or incomplete.
pub(super) fn identity(options: &Options) -> [(&'static str, Vec<u8>); 3] {
    [
        ("schema", SCHEMA.to_be_bytes().to_vec()),
        ("scope", options.scope.identity()),
        ("changed", options.changed.identity()),
    ]
}

fn check_identity(dir: &Path, word: &str, found: &[u8], wanted: &[u8]) -> Result<()> {
    if found == wanted {
        return Ok(());
    }
    let says = match word {
        "schema" => {
            let version = found.first_chunk().map_or(0, |bytes| u32::from_be_bytes(*bytes));
            format!(
                "was written in schema {version} and this build reads schema {SCHEMA}: remove it and let \
                 the indexer build it anew, or run the build that wrote it"
            )
        }
        "scope" => "was built for another scope: set the scope back, or remove it and let the indexer \
                    build it anew"
            .to_string(),
        _ => "was built with another list of programs for `changed`: set the list back, or remove it \
              and let the indexer build it anew"
            .to_string(),
    };
    Err(unusable(dir, &says))
}

fn unusable(dir: &Path, says: &str) -> Error {
    Error::StoreUnusable(format!("{} {says}", dir.display()))
}
