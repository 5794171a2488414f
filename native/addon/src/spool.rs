//! Stores a feed on disk until a loaded store can continue it.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use ingest::spool::{self as ingest_spool, ReplayLimits, Replayed, Replaying};
use napi::Env;
use napi::bindgen_prelude::{Object, Uint8Array};
use napi_derive::napi;
use primitives::encoding::encode_pubkey;
use store::{Options, Store};
use sys::error::Result as Checked;

use crate::arguments::{count, integer, wrong};
use crate::failure::{Failure, Result, guard, thrown};
use crate::feed::{FeedOptions, OnEvent, start, to_config};
use crate::indexer::Indexer;
use crate::options::StoreOptions;
use crate::promises::on_own_thread;

/// Bounds of a spool and of its replay.
#[napi(object)]
pub struct SpoolOptions {
    pub bytes_max: f64,
    pub ms_max: f64,
    pub segment_bytes_max: f64,
    pub group_blocks_max: f64,
    pub group_bytes_max: f64,
}

/// The state of a spool. Members are absent where there is no block yet.
#[napi(object, object_from_js = false)]
pub struct SpoolStats {
    pub first_slot: Option<f64>,
    pub first_parent_slot: Option<f64>,
    pub first_block_height: Option<f64>,
    /// Base58.
    pub first_parent_blockhash: Option<String>,
    pub first_parent_blockhash_bytes: Option<Uint8Array>,
    pub last_slot: Option<f64>,
    pub applied_slot: Option<f64>,
    pub blocks: f64,
    pub bytes: f64,
    /// Why it took no further block.
    pub failure: Option<String>,
}

/// How a replay ended: with `slot`, the tip at the hand-over, or with `failure`.
#[napi(object, object_from_js = false)]
pub struct ReplayResult {
    pub slot: f64,
    pub blocks: f64,
    pub failure: Option<Failure>,
}

/// Takes a feed's blocks, and later hands the feed over to a store.
#[napi]
pub struct Spool {
    spool: Option<Arc<ingest_spool::Spool>>,
    feed: Option<ingest::geyser::FeedReader>,
    limits: ReplayLimits,
    store: Options,
    is_cancelled: Arc<AtomicBool>,
    /// Of the replay that was done.
    replayed: Arc<Mutex<Option<Arc<Store>>>>,
}

#[napi]
impl Spool {
    /// Opens a spool with its blocks, or makes one. The feed asks for what is in the scope of
    /// `store`.
    #[napi(constructor)]
    pub fn new(dir: String, options: SpoolOptions, store: StoreOptions) -> Result<Spool> {
        guard(|| {
            let store = store.to_native()?;
            let bounds = ingest_spool::SpoolOptions {
                bytes_max: count(options.bytes_max, "bytesMax")?,
                ms_max: count(options.ms_max, "msMax")?,
                segment_bytes_max: count(options.segment_bytes_max, "segmentBytesMax")?,
                disk_reserve_bytes: store.disk_reserve_bytes,
            };
            Ok(Spool {
                spool: Some(Arc::new(ingest_spool::Spool::open(dir.as_ref(), bounds)?)),
                feed: None,
                limits: ReplayLimits {
                    blocks_max: count(options.group_blocks_max, "groupBlocksMax")? as usize,
                    bytes_max: count(options.group_bytes_max, "groupBytesMax")?,
                },
                store,
                is_cancelled: Arc::new(AtomicBool::new(false)),
                replayed: Arc::new(Mutex::new(None)),
            })
        })
    }

    /// Begins to read a feed into the spool; it continues when the spool is handed over.
    #[napi(ts_args_type = "options: FeedOptions, onEvent: (event: FeedEvent) => void")]
    pub fn start_feed(&mut self, options: FeedOptions, on_event: OnEvent) -> Result<()> {
        guard(|| {
            let config = to_config(options, &self.store.scope)?;
            let spool = Arc::clone(self.spool()?);
            self.feed = Some(start(config, spool, on_event)?);
            Ok(())
        })
    }

    #[napi]
    pub fn stop_feed(&mut self) -> Result<()> {
        guard(|| self.feed.take().map_or(Ok(()), |feed| feed.stop()))
    }

    #[napi]
    pub fn stats(&self) -> Result<SpoolStats> {
        guard(|| {
            let stats = self.spool()?.stats();
            let first = stats.first.as_ref();
            Ok(SpoolStats {
                first_slot: first.map(|first| first.slot as f64),
                first_parent_slot: first.map(|first| first.parent_slot as f64),
                first_block_height: first.map(|first| first.block_height as f64),
                first_parent_blockhash: first.map(|first| encode_pubkey(&first.parent_blockhash)),
                first_parent_blockhash_bytes: first
                    .map(|first| Uint8Array::from(first.parent_blockhash.to_vec())),
                last_slot: stats.last_slot.map(|slot| slot as f64),
                applied_slot: stats.applied_slot.map(|slot| slot as f64),
                blocks: stats.blocks as f64,
                bytes: stats.bytes as f64,
                failure: stats.failure,
            })
        })
    }

    /// Applies the spool to the store at `dir`, which was loaded as of `base_slot`, follows the
    /// feed, and hands it over, on a thread of its own. `rows_slot` is the newest slot that rows of
    /// the store are of.
    #[napi(ts_return_type = "Promise<ReplayResult>")]
    pub fn replay<'env>(
        &self,
        env: &'env Env,
        dir: String,
        base_slot: f64,
        rows_slot: Option<f64>,
    ) -> Result<Object<'env>> {
        let spool = Arc::clone(self.spool().map_err(|error| thrown(&error))?);
        let base_slot = guard(|| integer(base_slot, "baseSlot"))?;
        let rows_slot = guard(|| rows_slot.map(|slot| integer(slot, "rowsSlot")).transpose())?;
        let (limits, options) = (self.limits, self.store.clone());
        let is_cancelled = Arc::clone(&self.is_cancelled);
        let replayed = Arc::clone(&self.replayed);
        is_cancelled.store(false, Ordering::Relaxed);
        let work = move || {
            let dir = PathBuf::from(dir);
            Store::open_writer(&dir, &options).and_then(|store| {
                let store = Arc::new(store);
                let done = spool.replay(&Replaying {
                    store: Arc::clone(&store),
                    base_slot,
                    rows_slot,
                    limits,
                    is_cancelled: &is_cancelled,
                })?;
                *replayed.lock().unwrap_or_else(PoisonError::into_inner) = Some(store);
                Ok(done)
            })
        };
        on_own_thread(env, "replay", work, |outcome| {
            let done: Replayed = outcome.as_ref().copied().unwrap_or_default();
            ReplayResult {
                slot: done.slot as f64,
                blocks: done.blocks as f64,
                failure: outcome.as_ref().err().map(Failure::from),
            }
        })
    }

    /// Ends the replay that runs; its promise says so.
    #[napi]
    pub fn cancel(&self) {
        self.is_cancelled.store(true, Ordering::Relaxed);
    }

    /// After a replay: the store with the feed that continues into it. The spool is closed.
    #[napi]
    pub fn hand_over(&mut self) -> Result<Indexer> {
        guard(|| {
            let mut replayed = self.replayed.lock().unwrap_or_else(PoisonError::into_inner);
            let store = replayed
                .take()
                .ok_or_else(|| wrong("nothing was replayed yet"))?;
            self.spool = None;
            Ok(Indexer {
                store: Some(store),
                feed: self.feed.take(),
            })
        })
    }

    /// Ends the feed and closes the files; they stay on the disk.
    #[napi]
    pub fn close(&mut self) -> Result<()> {
        guard(|| {
            self.is_cancelled.store(true, Ordering::Relaxed);
            let feed = self.feed.take();
            self.spool = None;
            *self.replayed.lock().unwrap_or_else(PoisonError::into_inner) = None;
            feed.map_or(Ok(()), |feed| feed.stop())
        })
    }
}

impl Spool {
    fn spool(&self) -> Checked<&Arc<ingest_spool::Spool>> {
        self.spool
            .as_ref()
            .ok_or_else(|| wrong("this spool is closed"))
    }
}
