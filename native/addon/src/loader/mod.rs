//! A new store out of versions of accounts. One thread does one thing after the other, in the order of the calls.

use std::mem;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use kernel::bootstrap::archive::{ArchiveEnd, SourceOptions, open_source};
use kernel::bootstrap::load::{
    Base, Counts, LoadOptions, Loaded, Loader, SORT_MEMORY_BYTES_MIN, load_source,
};
use kernel::bootstrap::packed::PackedRows;
use kernel::bootstrap::progress::Progress;
use kernel::encoding::encode_pubkey;
use kernel::error::{Error, Result as Checked};
use kernel::store::Options;
use napi::Env;
use napi::bindgen_prelude::{Object, Uint8Array};
use napi_derive::napi;

use crate::arguments::{count, integer, pubkey, whole, wrong};
use crate::failure::{Result, guard, thrown};
use crate::options::StoreOptions;
use crate::promises::{Deferred, deferred};

/// Calls that may wait for the ones before. Whoever waits for each promise has one.
const JOBS_MAX: usize = 64;
/// What tells sources apart that hold the same slot.
const ORDER_MAX: u32 = 255;

/// Bounds of a load.
#[napi(object)]
pub struct LoaderOptions {
    pub sort_memory_bytes: f64,
    pub transaction_bytes: f64,
    pub disk_reserve_bytes: f64,
}

/// The block that a loaded store begins with.
#[napi(object)]
pub struct LoaderBase {
    pub slot: f64,
    pub parent_slot: f64,
    pub blockhash: Uint8Array,
    pub block_height: f64,
    /// Seconds since 1970, where they are known.
    pub block_time: Option<f64>,
    /// The newest finalized slot: of a snapshot its own. Absent is none.
    pub root: Option<f64>,
}

/// What a loader was given so far.
#[napi(object, object_from_js = false)]
pub struct LoaderCounts {
    pub versions: f64,
    pub kept: f64,
    pub tombstones: f64,
    pub out_of_scope: f64,
    pub run_bytes: f64,
}

/// How far a loader is.
#[napi(object, object_from_js = false)]
pub struct LoaderProgress {
    /// Bytes of archives as they came.
    pub bytes_read: f64,
    pub entries: f64,
    /// Rows that go into the store, and those that are through. The total grows once.
    pub rows_total: f64,
    pub rows_merged: f64,
}

/// What a store was loaded with.
#[napi(object, object_from_js = false)]
pub struct LoadedData {
    pub accounts: f64,
    pub data_bytes: f64,
    pub superseded: f64,
    pub file_bytes: f64,
    pub run_bytes: f64,
}

/// What an archive was.
#[napi(object, object_from_js = false)]
pub struct LoadedArchive {
    /// The slot that an incremental one builds on; absent is a full one.
    pub base_slot: Option<f64>,
    pub slot: f64,
    pub parent_slot: f64,
    pub block_height: f64,
    pub blockhash: String,
    pub epoch: f64,
    /// Accounts and tombstones.
    pub entries: f64,
}

/// How a call ended: without an error, or with a row of the error table and its detail.
#[napi(object, object_from_js = false)]
pub struct LoaderReply {
    pub error: Option<String>,
    pub detail: Option<String>,
    pub loaded: Option<LoadedData>,
    pub archive: Option<LoadedArchive>,
}

/// What a job answers.
enum Done {
    Pushed,
    Read(Option<u64>, Box<ArchiveEnd>),
    Made(Loaded),
}

type Answer = Checked<Done>;

/// What a call has the loader's thread do.
type Work = Box<dyn FnOnce(&mut Option<Loader>) -> Answer + Send>;

struct Job {
    work: Work,
    done: Deferred<LoaderReply>,
}

/// Sorts versions of accounts and makes a store of the newest ones.
#[napi]
pub struct StoreLoader {
    jobs: Option<SyncSender<Job>>,
    counts: Arc<Mutex<Counts>>,
    progress: Arc<Progress>,
    store: Options,
}

#[napi]
impl StoreLoader {
    /// `work_dir` is the loader's own, is emptied, and must lie on the disk of the store to come.
    #[napi(constructor)]
    pub fn new(work_dir: String, store: StoreOptions, options: LoaderOptions) -> Result<Self> {
        guard(|| {
            let store = store.to_kernel()?;
            if store.readers_max == 0 {
                return Err(wrong("readersMax"));
            }
            let options = options.to_kernel()?;
            let loader = Loader::create(work_dir.as_ref(), &store.scope, &options)?;
            let (jobs, queue) = sync_channel(JOBS_MAX);
            let counts = Arc::new(Mutex::new(Counts::default()));
            let progress = Arc::new(Progress::default());
            let (of_thread, watched) = (Arc::clone(&counts), Arc::clone(&progress));
            thread::Builder::new()
                .name("load".into())
                .spawn(move || work(&queue, loader, &of_thread, &watched))?;
            Ok(StoreLoader {
                jobs: Some(jobs),
                counts,
                progress,
                store,
            })
        })
    }

    /// Takes versions of accounts, each packed as slot 8 ‖ pubkey 32 ‖ owner 32 ‖ lamports 8 ‖ rentEpoch 8 ‖
    /// executable 1 ‖ length 4 ‖ data, integers little-endian. Of equal slots the higher `order` wins, then the
    /// later one. Wait for the promise before the next call: it is where the disk may be waited for.
    #[napi(ts_return_type = "Promise<LoaderReply>")]
    pub fn push<'env>(&self, env: &'env Env, order: f64, rows: &[u8]) -> Result<Object<'env>> {
        let order = checked(|| whole(order, ORDER_MAX, "an order"))? as u8;
        let rows = rows.to_vec();
        self.start(env, move |loader| {
            let loader = open(loader)?;
            for row in PackedRows::new(&rows) {
                let row = row?;
                loader.push(order, row.pubkey, &row.account)?;
            }
            Ok(Done::Pushed)
        })
    }

    /// Takes every account of a snapshot archive, at a path or an `http(s)://` address. `order` as in
    /// `push`. `ca_certificate_pem` is a private certificate authority, in place of the system's.
    #[napi(ts_return_type = "Promise<LoaderReply>")]
    pub fn load_archive<'env>(
        &self,
        env: &'env Env,
        place: String,
        order: f64,
        ca_certificate_pem: Option<String>,
    ) -> Result<Object<'env>> {
        let order = checked(|| whole(order, ORDER_MAX, "an order"))? as u8;
        let progress = Arc::clone(&self.progress);
        let options = SourceOptions {
            ca_certificate_pem,
            ..SourceOptions::default()
        };
        self.start(env, move |loader| {
            let source = open_source(&place, &options, &progress)?;
            let (base, end) = load_source(open(loader)?, source, order, &progress)?;
            Ok(Done::Read(base, Box::new(end)))
        })
    }

    /// Makes the store at `dir`, which must hold nothing. The loader is used up.
    #[napi(ts_return_type = "Promise<LoaderReply>")]
    pub fn finish<'env>(
        &self,
        env: &'env Env,
        dir: String,
        base: LoaderBase,
    ) -> Result<Object<'env>> {
        let base = checked(|| base.to_kernel())?;
        let (store, progress) = (self.store.clone(), Arc::clone(&self.progress));
        let dir = PathBuf::from(dir);
        self.start(env, move |loader| {
            let loader = loader.take().ok_or_else(used_up)?;
            loader
                .finish(&dir, &store, &base, &progress)
                .map(Done::Made)
        })
    }

    /// Makes the store at `dir` of the copy at `copy_dir`, which nobody has opened, and what was taken: every change
    /// after `from_slot`, as an incremental archive has it. The copy must not be older. The loader is used up.
    #[napi(ts_return_type = "Promise<LoaderReply>")]
    pub fn update<'env>(
        &self,
        env: &'env Env,
        copy_dir: String,
        dir: String,
        from_slot: f64,
        base: LoaderBase,
    ) -> Result<Object<'env>> {
        let base = checked(|| base.to_kernel())?;
        let from_slot = checked(|| integer(from_slot, "fromSlot"))?;
        let (store, progress) = (self.store.clone(), Arc::clone(&self.progress));
        let (copy, dir) = (PathBuf::from(copy_dir), PathBuf::from(dir));
        self.start(env, move |loader| {
            let loader = loader.take().ok_or_else(used_up)?;
            let onto = (from_slot, &base);
            loader
                .update(&copy, &dir, &store, onto, &progress)
                .map(Done::Made)
        })
    }

    /// Counts what `finish` would write, and writes nothing. The loader is used up.
    #[napi(ts_return_type = "Promise<LoaderReply>")]
    pub fn finish_dry<'env>(&self, env: &'env Env) -> Result<Object<'env>> {
        let progress = Arc::clone(&self.progress);
        self.start(env, move |loader| {
            let loader = loader.take().ok_or_else(used_up)?;
            loader.finish_dry(&progress).map(Done::Made)
        })
    }

    #[napi]
    pub fn counts(&self) -> Result<LoaderCounts> {
        guard(|| {
            let counts = *self.counts.lock().unwrap_or_else(PoisonError::into_inner);
            Ok(LoaderCounts {
                versions: counts.versions as f64,
                kept: counts.kept as f64,
                tombstones: counts.tombstones as f64,
                out_of_scope: counts.out_of_scope as f64,
                run_bytes: counts.run_bytes as f64,
            })
        })
    }

    #[napi]
    pub fn progress(&self) -> Result<LoaderProgress> {
        guard(|| {
            let [bytes_read, entries, rows_total, rows_merged] =
                self.progress.read().map(|count| count as f64);
            Ok(LoaderProgress {
                bytes_read,
                entries,
                rows_total,
                rows_merged,
            })
        })
    }

    /// Has the call that runs, and all later ones, end with `cancelled`.
    #[napi]
    pub fn cancel(&self) -> Result<()> {
        guard(|| {
            self.progress.cancel();
            Ok(())
        })
    }

    /// Lets everything go once the calls have ended.
    #[napi]
    pub fn close(&mut self) -> Result<()> {
        guard(|| {
            self.jobs = None;
            Ok(())
        })
    }
}

impl StoreLoader {
    fn start<'env>(
        &self,
        env: &'env Env,
        work: impl FnOnce(&mut Option<Loader>) -> Answer + Send + 'static,
    ) -> Result<Object<'env>> {
        let jobs = checked(|| {
            let jobs = self.jobs.as_ref();
            jobs.ok_or_else(|| wrong("this loader is closed"))
        })?;
        let (done, promise) = deferred::<LoaderReply>(env)?;
        let job = Job {
            work: Box::new(work),
            done,
        };
        checked(|| {
            jobs.try_send(job)
                .map_err(|_| wrong("too many calls wait for a loader"))
        })?;
        Ok(promise)
    }
}

/// What stops a call before it has begun.
fn checked<T>(check: impl FnOnce() -> Checked<T>) -> Result<T> {
    check().map_err(|error| thrown(&error))
}

fn used_up() -> Error {
    wrong("this loader has made its store")
}

fn open(loader: &mut Option<Loader>) -> Checked<&mut Loader> {
    loader.as_mut().ok_or_else(used_up)
}

fn work(queue: &Receiver<Job>, loader: Loader, counts: &Mutex<Counts>, progress: &Progress) {
    let mut loader = Some(loader);
    while let Ok(job) = queue.recv() {
        let run = || progress.check().and_then(|()| (job.work)(&mut loader));
        let answer = std::panic::catch_unwind(std::panic::AssertUnwindSafe(run))
            .unwrap_or_else(|_| Err(Error::Internal("panic in the native layer".into())));
        if answer.is_err() {
            // What is half taken must not become a store.
            drop(mem::take(&mut loader));
        }
        if let Some(loader) = &loader {
            *counts.lock().unwrap_or_else(PoisonError::into_inner) = loader.counts();
        }
        job.done.resolve(Box::new(move |_| Ok(reply(answer))));
    }
}

fn reply(answer: Answer) -> LoaderReply {
    let mut reply = LoaderReply {
        error: None,
        detail: None,
        loaded: None,
        archive: None,
    };
    match answer {
        Ok(Done::Pushed) => {}
        Ok(Done::Made(loaded)) => {
            reply.loaded = Some(LoadedData {
                accounts: loaded.accounts as f64,
                data_bytes: loaded.data_bytes as f64,
                superseded: loaded.superseded as f64,
                file_bytes: loaded.file_bytes as f64,
                run_bytes: loaded.run_bytes as f64,
            });
        }
        Ok(Done::Read(base_slot, end)) => {
            let manifest = &end.manifest;
            reply.archive = Some(LoadedArchive {
                base_slot: base_slot.map(|slot| slot as f64),
                slot: manifest.slot as f64,
                parent_slot: manifest.parent_slot as f64,
                block_height: manifest.block_height as f64,
                blockhash: encode_pubkey(&manifest.blockhash),
                epoch: manifest.epoch as f64,
                entries: end.entries as f64,
            });
        }
        Err(error) => {
            reply.error = Some(error.name().into());
            reply.detail = Some(error.detail());
        }
    }
    reply
}

impl LoaderOptions {
    fn to_kernel(&self) -> Checked<LoadOptions> {
        let sort_memory_bytes = count(self.sort_memory_bytes, "sortMemoryBytes")? as usize;
        if sort_memory_bytes < SORT_MEMORY_BYTES_MIN {
            return Err(wrong("sortMemoryBytes"));
        }
        Ok(LoadOptions {
            sort_memory_bytes,
            transaction_bytes: count(self.transaction_bytes, "transactionBytes")? as usize,
            disk_reserve_bytes: count(self.disk_reserve_bytes, "diskReserveBytes")?,
        })
    }
}

impl LoaderBase {
    fn to_kernel(&self) -> Checked<Base> {
        let slot = integer(self.slot, "slot")?;
        Ok(Base {
            slot,
            parent_slot: integer(self.parent_slot, "parentSlot")?,
            blockhash: pubkey(&self.blockhash)?,
            block_height: integer(self.block_height, "blockHeight")?,
            block_time: match self.block_time {
                Some(time) if !time.is_finite() => return Err(wrong("blockTime")),
                time => time.map(|time| time as i64),
            },
            root: match self.root {
                Some(root) => integer(root, "root")?.min(slot),
                None => 0,
            },
        })
    }
}
