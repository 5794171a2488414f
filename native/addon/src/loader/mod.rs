//! Makes a new store from versions of accounts. One thread runs the calls in their order.

mod answers;
mod archive;
mod jobs;
mod options;

use std::path::PathBuf;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use ingest::archive::ArchiveEnd;
use ingest::load::{Counts, Loader, load_archive_with};
use ingest::progress::Progress;
use napi::Env;
use napi::bindgen_prelude::Object;
use napi_derive::napi;
use primitives::encoding::decode_pubkey;
use store::Options;
use store::row_codec::PackedRows;
use sys::error::{Error, Result as Checked};

use crate::arguments::{integer, whole, wrong};
use crate::failure::{Result, guard, thrown};
use crate::js_bytes::Bytes;
use crate::options::StoreOptions;
use crate::promises::deferred;
use answers::{Answer, Done, LoadedArchive, LoaderCounts, LoaderProgress, LoaderReply};
use archive::ArchiveOptions;
use jobs::{Job, work};
use options::{LoaderBase, LoaderOptions};

/// Maximum queued calls. A caller that awaits each promise has one.
const JOBS_MAX: usize = 64;
/// Orders sources with the same slot.
const ORDER_MAX: u32 = 255;

/// Sorts versions of accounts and makes a store of the newest ones.
#[napi]
pub struct StoreLoader {
    jobs: Option<SyncSender<Job>>,
    counts: Arc<Mutex<Counts>>,
    progress: Arc<Progress>,
    store: Options,
    /// The archives that an earlier process has read, by their order.
    ended: Vec<Option<(Option<u64>, ArchiveEnd)>>,
}

#[napi]
impl StoreLoader {
    /// `work_dir` is the loader's own, and must lie on the disk of the store to come. It is
    /// emptied, unless `checkpointMs` is given and it has a checkpoint of this scope.
    #[napi(constructor)]
    pub fn new(work_dir: String, store: StoreOptions, options: LoaderOptions) -> Result<Self> {
        guard(|| {
            let store = store.to_native()?;
            if store.readers_max == 0 {
                return Err(wrong("readersMax"));
            }
            let options = options.to_native()?;
            let loader = Loader::create(work_dir.as_ref(), &store.scope, &options)?;
            let ended = (0..=u8::MAX).map(|order| loader.ended_archive(order));
            let ended = ended.collect();
            let (jobs, queue) = sync_channel(JOBS_MAX);
            let counts = Arc::new(Mutex::new(loader.counts()));
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
                ended,
            })
        })
    }

    /// The archive of this order, if an earlier process has read it to its end: `loadArchive`
    /// returns it without opening anything.
    #[napi]
    pub fn ended_archive(&self, order: f64) -> Result<Option<LoadedArchive>> {
        guard(|| {
            let order = whole(order, ORDER_MAX, "an order")? as usize;
            let ended = self.ended.get(order).and_then(Option::as_ref);
            Ok(ended.map(|(base, end)| LoadedArchive::of(*base, end)))
        })
    }

    /// Takes versions of accounts, each packed as slot 8 ‖ pubkey 32 ‖ owner 32 ‖ lamports 8 ‖
    /// rentEpoch 8 ‖ executable 1 ‖ length 4 ‖ data, integers little-endian. Of equal slots the
    /// higher `order` wins, then the later one. Wait for the promise before the next call: it is
    /// where the disk may be waited for.
    #[napi(ts_return_type = "Promise<LoaderReply>")]
    pub fn push<'env>(
        &self,
        env: &'env Env,
        order: f64,
        #[napi(ts_arg_type = "Uint8Array")] rows: Bytes<'_>,
    ) -> Result<Object<'env>> {
        let order = checked(|| whole(order, ORDER_MAX, "an order"))? as u8;
        let rows = checked(|| rows.to_vec())?;
        self.start(env, move |loader| {
            let loader = open(loader)?;
            for row in PackedRows::new(&rows) {
                let row = row?;
                loader.push(order, row.pubkey, &row.account)?;
            }
            Ok(Done::Pushed)
        })
    }

    /// Takes every account of a snapshot archive, at a path or an `http(s)://` address. `order` as
    /// in `push`.
    #[napi(ts_return_type = "Promise<LoaderReply>")]
    pub fn load_archive<'env>(
        &self,
        env: &'env Env,
        location: String,
        order: f64,
        options: ArchiveOptions,
    ) -> Result<Object<'env>> {
        let order = checked(|| whole(order, ORDER_MAX, "an order"))? as u8;
        let (options, limits) = checked(|| options.to_native())?;
        let progress = Arc::clone(&self.progress);
        self.start(env, move |loader| {
            let loader = open(loader)?;
            let bounds = (&options, &limits);
            let (base, end) = load_archive_with(loader, &location, order, bounds, &progress)?;
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
        let base = checked(|| base.to_native())?;
        let (store, progress) = (self.store.clone(), Arc::clone(&self.progress));
        let dir = PathBuf::from(dir);
        self.start(env, move |loader| {
            let loader = loader.take().ok_or_else(used_up)?;
            loader
                .finish(&dir, &store, &base, &progress)
                .map(Done::Made)
        })
    }

    /// Makes the store at `dir` of the copy at `copy_dir`, which no process has opened, and of what
    /// was pushed: every change after `from_slot`, as an incremental archive has it. The copy must
    /// not be older. It must end with a block that the archive names, or with `known_blockhash`, of
    /// which the caller knows that the chain has it. The loader is used up.
    #[napi(ts_return_type = "Promise<LoaderReply>")]
    pub fn update<'env>(
        &self,
        env: &'env Env,
        copy_dir: String,
        dir: String,
        from_slot: f64,
        base: LoaderBase,
        known_blockhash: Option<String>,
    ) -> Result<Object<'env>> {
        let base = checked(|| base.to_native())?;
        let known = checked(|| known_blockhash.as_deref().map(decode_pubkey).transpose())?;
        let from_slot = checked(|| integer(from_slot, "fromSlot"))?;
        let (store, progress) = (self.store.clone(), Arc::clone(&self.progress));
        let (copy, dir) = (PathBuf::from(copy_dir), PathBuf::from(dir));
        self.start(env, move |loader| {
            let mut loader = loader.take().ok_or_else(used_up)?;
            if let Some(blockhash) = known {
                loader.accept_tip(blockhash);
            }
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

    /// Frees everything once the calls have ended.
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

/// Runs a check before a call starts, and throws its error.
fn checked<T>(check: impl FnOnce() -> Checked<T>) -> Result<T> {
    check().map_err(|error| thrown(&error))
}

fn used_up() -> Error {
    wrong("this loader has made its store")
}

fn open(loader: &mut Option<Loader>) -> Checked<&mut Loader> {
    loader.as_mut().ok_or_else(used_up)
}
