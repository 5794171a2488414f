//! Opens a store and reports its statistics.

use std::fs::{self, File, OpenOptions};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use heed::{Env, EnvFlags, EnvOpenOptions, MdbError, RoTxn, RwTxn};

use crate::corrections::queue::Corrections;
use crate::disk_space;
use crate::history::feed_write::FeedWriter;
use crate::indexes::holder_scan::short_count;
use crate::indexes::refill::Refills;
use crate::options::Options;
use crate::readers::{self, OpenRead};
use crate::rows::keys;
use crate::rows::record::{self, Tip};
use crate::tables::{Db, SCHEMA, SCHEMA_MIN, TABLES, Tables};
use sys::error::{Error, Result};

/// One LMDB environment: the accounts as of one block, with their indexes. Dropping it closes it; a
/// process must not open the same folder twice at the same time.
pub struct Store {
    // Dropped before `env`: closing any descriptor of the lock file releases the process's locks on
    // it.
    pub(super) lock_file: File,
    pub(super) env: Env,
    pub(super) tables: Tables,
    pub(super) options: Options,
    pub(super) dir: PathBuf,
    /// The tip as of the transaction with this id: read once per block instead of once per read.
    last_tip: Mutex<(usize, Option<Tip>)>,
    /// Corrections to apply with the next block.
    pub(super) corrections: Mutex<Corrections>,
    pub(super) refills: Mutex<Refills>,
    /// Of a writer.
    pub(super) feed: Mutex<Option<FeedWriter>>,
    pub(super) feed_kept: FeedKept,
    /// Whether the last commits had to wait for the disk.
    pub(super) is_cold: AtomicBool,
}

/// What the segments of the feed contain, as of the last commit of this writer.
#[derive(Debug, Default)]
pub(super) struct FeedKept {
    bytes: AtomicU64,
    first_slot: AtomicU64,
}

impl FeedKept {
    pub fn set(&self, feed: &FeedWriter) {
        self.bytes.store(feed.bytes(), Ordering::Relaxed);
        self.first_slot.store(feed.first_slot(), Ordering::Relaxed);
    }
}

/// Statistics of a store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stats {
    /// Bytes of pages in use, without free pages.
    pub used_bytes: u64,
    /// Size of the file, free pages included.
    pub file_bytes: u64,
    pub map_bytes: u64,
    /// Reader slots with an open transaction.
    pub readers: u32,
    pub readers_max: u32,
    /// Blocks written since the oldest open read began; it prevents the reuse of their pages.
    pub oldest_reader_lag: u64,
    /// Rows by table.
    pub entries: Vec<(&'static str, u64)>,
    /// Mints whose row of `holders` is short: their largest accounts are found by a scan.
    pub short_holders: u64,
    /// Bytes of the segments of the feed, and the slots from its oldest one to the tip; 0 for a
    /// reader.
    pub feed_bytes: u64,
    pub feed_slots: u64,
}

impl Store {
    /// Opens a store for writing, and creates it if absent. Only one process may write; the caller
    /// holds a lock.
    pub fn open_writer(dir: &Path, options: &Options) -> Result<Store> {
        // The error names the folder, because there may be several stores.
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
            .append(true)
            .open(dir.join("lock.mdb"))
            .map_err(heed::Error::Io)?;
        disk_space::for_readers(&lock_file)?;
        env.clear_stale_readers()?;
        let mut txn = env.write_txn()?;
        let tables = Tables::create(&env, &mut txn)?;
        for (word, wanted) in identity(options) {
            match tables.meta.get(&txn, word.as_bytes())? {
                None => tables.meta.put(&mut txn, word.as_bytes(), &wanted)?,
                Some(found) => {
                    check_identity(dir, word, found, &wanted)?;
                    if found != wanted {
                        tables.meta.put(&mut txn, word.as_bytes(), &wanted)?;
                    }
                }
            }
        }
        clear_former_feed(&env, &mut txn)?;
        txn.commit()?;
        let feed = open_feed(&env, &tables, dir, options)?;
        Self::finish(env, lock_file, tables, feed, dir, options)
    }

    /// Opens an existing store read-only.
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
        // LMDB keeps table handles opened by a committed transaction, and discards those of an
        // aborted one.
        txn.commit()?;
        let lock_file = File::open(dir.join("lock.mdb"))?;
        Self::finish(env, lock_file, tables, None, dir, options)
    }

    /// No descriptor of the lock file may have been closed since LMDB opened the environment: that
    /// would release LMDB's locks, and other processes would treat this one as dead.
    fn finish(
        env: Env,
        lock_file: File,
        tables: Tables,
        feed: Option<FeedWriter>,
        dir: &Path,
        options: &Options,
    ) -> Result<Store> {
        let feed_kept = FeedKept::default();
        if let Some(feed) = &feed {
            feed_kept.set(feed);
        }
        Ok(Store {
            lock_file,
            env,
            tables,
            options: options.clone(),
            dir: dir.to_path_buf(),
            last_tip: Mutex::new((usize::MAX, None)),
            corrections: Mutex::default(),
            refills: Mutex::default(),
            feed: Mutex::new(feed),
            feed_kept,
            is_cold: AtomicBool::default(),
        })
    }

    /// The newest block, or `None` in an empty store.
    pub fn tip(&self) -> Result<Option<Tip>> {
        let txn = self.env.read_txn()?;
        self.tables.tip(&txn)
    }

    /// The number of the store's last commit. A snapshot taken after this call sees that commit or
    /// a later one, except while a commit is being published, when it may see the previous one.
    pub fn last_commit(&self) -> usize {
        self.env.info().last_txn_id
    }

    /// The tip as this transaction sees it. A transaction's id is that of the last commit it sees,
    /// so transactions with equal ids see the same tip.
    pub(super) fn tip_at(&self, txn: &RoTxn<'_>) -> Result<Option<Tip>> {
        let id = txn.id();
        let mut last = self.last_tip.lock().unwrap_or_else(PoisonError::into_inner);
        if last.0 != id {
            *last = (id, self.tables.tip(txn)?);
        }
        Ok(last.1)
    }

    /// The options the store was opened with.
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// Frees the reader slots of ended processes, and returns their number.
    pub fn clear_stale_readers(&self) -> Result<usize> {
        Ok(self.env.clear_stale_readers()?)
    }

    /// The open read transactions of all processes, with the commit that each one sees.
    pub fn open_reads(&self) -> Result<Vec<OpenRead>> {
        readers::open_reads(&self.lock_file, self.env.info().number_of_readers)
    }

    /// Statistics of the store, for metrics.
    pub fn stats(&self) -> Result<Stats> {
        // Read before our own transaction opens, which would count as a reader.
        let info = self.env.info();
        let readers = self.open_reads()?;
        let newest = info.last_txn_id as u64;
        // heed opens its own transaction here, and a thread may have only one.
        let used_bytes = self.env.non_free_pages_size()?;
        let txn = self.env.read_txn()?;
        let feed_bytes = self.feed_kept.bytes.load(Ordering::Relaxed);
        let feed_first = self.feed_kept.first_slot.load(Ordering::Relaxed);
        let tip_slot = self.tables.tip(&txn)?.map_or(0, |tip| tip.slot);
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
            short_holders: short_count(&self.tables, &txn)?,
            feed_bytes,
            feed_slots: if feed_bytes == 0 {
                0
            } else {
                (tip_slot + 1).saturating_sub(feed_first)
            },
        })
    }
}

/// Schemas before 5 have the changes of slots in a table, of up to 256 MiB.
fn clear_former_feed(env: &Env, txn: &mut RwTxn<'_>) -> Result<()> {
    let former: Option<Db> = env.open_database(txn, Some("feed"))?;
    match former {
        Some(former) if !former.is_empty(txn)? => Ok(former.clear(txn)?),
        _ => Ok(()),
    }
}

fn open_feed(
    env: &Env,
    tables: &Tables,
    dir: &Path,
    options: &Options,
) -> Result<Option<FeedWriter>> {
    let txn = env.read_txn()?;
    let mut locations = Vec::new();
    for row in tables.blocks.iter(&txn)? {
        let (key, value) = row?;
        if let Some(location) = record::decode_location(value) {
            locations.push((keys::slot_of(key), location));
        }
    }
    let feed = FeedWriter::open(dir, options.feed_bytes_max, locations.into_iter());
    Ok(Some(feed.map_err(heed::Error::Io)?))
}

/// Whether a store has so much more bytes than there is memory that most pages which the system
/// reads ahead would be dropped before they are used.
fn exceeds_memory(dir: &Path, options: &Options) -> bool {
    let file = dir.join("data.mdb");
    match (options.memory_bytes, fs::metadata(file)) {
        (Some(memory), Ok(found)) => found.len() > memory / 2,
        _ => false,
    }
}

pub(super) fn open_env(dir: &Path, options: &Options, mut flags: EnvFlags) -> Result<Env> {
    let mut open = EnvOpenOptions::new();
    if exceeds_memory(dir, options) {
        flags |= EnvFlags::NO_READ_AHEAD;
    }
    // SAFETY: of those flags that concern writes there are none, so LMDB keeps its locks and its
    // write ordering; or they are those of a bulk load, whose file no other process opens before
    // it is synced.
    unsafe { open.flags(flags) };
    open.map_size(options.map_bytes)
        .max_readers(options.readers_max)
        .max_dbs(TABLES.len() as u32 + 1);
    // SAFETY: only Slotline uses the folder (a store generation); it is local, and changed only
    // through LMDB.
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

/// The options a store was built for. With different ones its tables would be wrong or incomplete.
pub(super) fn identity(options: &Options) -> [(&'static str, Vec<u8>); 3] {
    [
        ("schema", SCHEMA.to_be_bytes().to_vec()),
        ("scope", options.scope.identity()),
        ("changed", options.changed.identity()),
    ]
}

fn check_identity(dir: &Path, word: &str, found: &[u8], wanted: &[u8]) -> Result<()> {
    if found == wanted || word == "schema" && is_readable(found) {
        return Ok(());
    }
    let outdated = |says: &str| {
        let text = format!(
            "{} {says}, or start the service, which rebuilds it",
            dir.display()
        );
        Err(Error::StoreOutdated(text))
    };
    match word {
        "schema" => {
            let version = found
                .first_chunk()
                .map_or(0, |bytes| u32::from_be_bytes(*bytes));
            let says = format!(
                "was written in schema {version} and this build reads schema {SCHEMA}: run the build that wrote it"
            );
            if version < SCHEMA_MIN {
                return outdated(&says);
            }
            Err(unusable(
                dir,
                &format!("{says}, or remove it and let the indexer build it anew"),
            ))
        }
        "scope" => outdated("was built for another scope: set the scope back"),
        _ => outdated("was built with another list of programs for `changed`: set the list back"),
    }
}

fn is_readable(schema: &[u8]) -> bool {
    let schema = schema.first_chunk().map(|bytes| u32::from_be_bytes(*bytes));
    schema.is_some_and(|schema| (SCHEMA_MIN..=SCHEMA).contains(&schema))
}

fn unusable(dir: &Path, says: &str) -> Error {
    Error::StoreUnusable(format!("{} {says}", dir.display()))
}
