//! Reads of one store by an edge: those that the event loop makes itself.

use std::cell::RefCell;
use std::rc::{Rc, Weak};
use std::sync::Arc;

use napi::Env;
use napi::bindgen_prelude::Object;
use napi_derive::napi;
use store::{Snapshot, Store};
use sys::error::Result as Checked;
use wire::fast_lane::Recent;
use wire::fees::FeeWindow;
use wire::reads::{self, Commitment, ReadLimits};

use crate::arguments::{pubkeys, slot_or_none, wanted, whole, wrong};
use crate::failure::{Result, guard};
use crate::fanout::{Fanout, FanoutOptions};
use crate::fast_lane::direct_reads::PointReadLane;
use crate::fast_lane::lane::{self, Lane};
use crate::js_bytes::{Bytes, Output};
use crate::message::{MessageLimits, pack_later};
use crate::options::{PoolOptions, StoreOptions};
use crate::stats::{PoolStats, StoreStats, TipData};
use crate::tasks::{Pools, pools};

/// Reads of one store. The point reads write into the caller's buffer and never wait; the tasks of
/// `tasks` run on pools.
#[napi]
pub struct Reader {
    store: Option<Arc<Store>>,
    pub(crate) pools: Arc<Pools>,
    /// The fees of recent blocks, as they were last asked for.
    pub(crate) fees: Arc<FeeWindow>,
    /// Reused: a reply is built here, and copied out whole or not at all.
    scratch: Vec<u8>,
    /// Functions that must close the store when this reader is closed.
    lanes: Vec<Weak<RefCell<Lane>>>,
}

fn commitment(is_finalized: bool) -> Commitment {
    match is_finalized {
        true => Commitment::Finalized,
        false => Commitment::Confirmed,
    }
}

#[napi]
impl Reader {
    /// Opens the store that an indexer wrote at `dir`. Throws `storeUnusable` where that cannot
    /// be, `storeOutdated` where it must be rebuilt.
    #[napi(constructor)]
    pub fn new(dir: String, store: StoreOptions, pools: PoolOptions) -> Result<Reader> {
        guard(|| {
            let opened = Store::open_reader(dir.as_ref(), &store.to_native()?)?;
            Reader::of(Arc::new(opened), &pools)
        })
    }

    /// The newest block, or null before the first.
    #[napi]
    pub fn tip(&self) -> Result<Option<TipData>> {
        guard(|| Ok(self.store()?.tip()?.map(|tip| TipData::of(&tip))))
    }

    /// The newest finalized block, or the tip where none is known (contract: commitment).
    #[napi]
    pub fn finalized(&self) -> Result<Option<TipData>> {
        guard(|| {
            let snapshot = self.store()?.snapshot()?;
            Ok(snapshot.finalized()?.map(|block| TipData::of(&block)))
        })
    }

    /// The time of a slot of this chain, in milliseconds: 200 before its blocks show it.
    #[napi]
    pub fn slot_ms(&self) -> Result<f64> {
        guard(|| Ok(self.store()?.snapshot()?.slot_ms()? as f64))
    }

    /// Whether the store has every account of its scope.
    #[napi]
    pub fn is_complete(&self) -> Result<bool> {
        guard(|| Ok(self.store()?.is_complete()? != Some(false)))
    }

    /// The fast lane. Up to `recent_max` results are kept until the next commit.
    #[napi]
    pub fn fast_lane(&mut self, recent_max: f64) -> Result<PointReadLane> {
        guard(|| {
            let recent_max = whole(recent_max, u32::MAX, "recentMax")? as usize;
            let lane = lane::shared_lane(self.shared_store()?, Recent::new(recent_max));
            self.lanes.push(Rc::downgrade(&lane));
            Ok(PointReadLane::of(lane))
        })
    }

    /// Result of getLatestBlockhash. Like all point reads it returns the length of what it wrote
    /// into `out`, or −1 where that is too much for the event loop: then the task of the same kind
    /// must do it.
    #[napi]
    pub fn latest_blockhash(
        &mut self,
        is_finalized: bool,
        #[napi(ts_arg_type = "Uint8Array")] out: Output<'_>,
    ) -> Result<i32> {
        self.at_once(&out, |snapshot, scratch| {
            reads::latest_blockhash(snapshot, commitment(is_finalized), scratch)?;
            Ok(reads::Outcome::Written)
        })
    }

    /// Result of getAccountInfo. Of an account that was not written after `changedSince` it is
    /// `{"unchanged":true}`; −1 is no such slot.
    #[napi]
    pub fn account(
        &mut self,
        #[napi(ts_arg_type = "Uint8Array")] key: Bytes<'_>,
        encoding: f64,
        slice_offset: f64,
        slice_length: f64,
        changed_since: f64,
        #[napi(ts_arg_type = "Uint8Array")] out: Output<'_>,
    ) -> Result<i32> {
        self.at_once(&out, |snapshot, scratch| {
            let wanted = wanted(encoding, slice_offset, slice_length, changed_since)?;
            reads::account_info(
                snapshot,
                &key.pubkey()?,
                wanted,
                &ReadLimits::default(),
                scratch,
            )
        })
    }

    /// Result of getMultipleAccounts; `keys` are 32 bytes each.
    #[napi]
    pub fn accounts(
        &mut self,
        #[napi(ts_arg_type = "Uint8Array")] keys: Bytes<'_>,
        encoding: f64,
        slice_offset: f64,
        slice_length: f64,
        changed_since: f64,
        #[napi(ts_arg_type = "Uint8Array")] out: Output<'_>,
    ) -> Result<i32> {
        self.at_once(&out, |snapshot, scratch| {
            let wanted = wanted(encoding, slice_offset, slice_length, changed_since)?;
            keys.read(|keys| {
                let keys = pubkeys(keys)?;
                reads::multiple_accounts(snapshot, keys, wanted, &ReadLimits::default(), scratch)
            })
        })
    }

    /// Result of getBalance.
    #[napi]
    pub fn balance(
        &mut self,
        #[napi(ts_arg_type = "Uint8Array")] key: Bytes<'_>,
        is_finalized: bool,
        #[napi(ts_arg_type = "Uint8Array")] out: Output<'_>,
    ) -> Result<i32> {
        self.at_once(&out, |snapshot, scratch| {
            reads::balance(snapshot, &key.pubkey()?, commitment(is_finalized), scratch)?;
            Ok(reads::Outcome::Written)
        })
    }

    /// Result of isBlockhashValid; a blockhash has 32 bytes, as an address has.
    #[napi]
    pub fn blockhash_validity(
        &mut self,
        #[napi(ts_arg_type = "Uint8Array")] blockhash: Bytes<'_>,
        is_finalized: bool,
        #[napi(ts_arg_type = "Uint8Array")] out: Output<'_>,
    ) -> Result<i32> {
        self.at_once(&out, |snapshot, scratch| {
            let commitment = commitment(is_finalized);
            reads::blockhash_validity(snapshot, &blockhash.pubkey()?, commitment, scratch)?;
            Ok(reads::Outcome::Written)
        })
    }

    /// Result of getTokenAccountBalance.
    #[napi]
    pub fn token_balance(
        &mut self,
        #[napi(ts_arg_type = "Uint8Array")] key: Bytes<'_>,
        changed_since: f64,
        #[napi(ts_arg_type = "Uint8Array")] out: Output<'_>,
    ) -> Result<i32> {
        self.at_once(&out, |snapshot, scratch| {
            let since = slot_or_none(changed_since, "changedSince")?;
            reads::token_account_balance(
                snapshot,
                &key.pubkey()?,
                since,
                &ReadLimits::NONE,
                scratch,
            )
        })
    }

    /// Result of getTokenSupply.
    #[napi]
    pub fn token_supply(
        &mut self,
        #[napi(ts_arg_type = "Uint8Array")] mint: Bytes<'_>,
        changed_since: f64,
        #[napi(ts_arg_type = "Uint8Array")] out: Output<'_>,
    ) -> Result<i32> {
        self.at_once(&out, |snapshot, scratch| {
            let since = slot_or_none(changed_since, "changedSince")?;
            reads::token_supply(snapshot, &mint.pubkey()?, since, &ReadLimits::NONE, scratch)
        })
    }

    /// Result of getTokenLargestAccounts.
    #[napi]
    pub fn largest_holders(
        &mut self,
        #[napi(ts_arg_type = "Uint8Array")] mint: Bytes<'_>,
        #[napi(ts_arg_type = "Uint8Array")] out: Output<'_>,
    ) -> Result<i32> {
        self.at_once(&out, |snapshot, scratch| {
            reads::token_largest_accounts(snapshot, &mint.pubkey()?, &ReadLimits::NONE, scratch)
        })
    }

    /// Takes the lists of addresses out of a long message, of which it keeps a copy.
    #[napi(ts_return_type = "Promise<PackedMessage>")]
    pub fn pack_message<'env>(
        &self,
        env: &'env Env,
        #[napi(ts_arg_type = "Uint8Array")] body: Bytes<'_>,
        limits: MessageLimits,
    ) -> Result<Object<'env>> {
        guard(|| self.store().map(drop))?;
        pack_later(env, &self.pools, &body, &limits)
    }

    #[napi]
    pub fn stats(&self) -> Result<StoreStats> {
        guard(|| StoreStats::of(self.store()?))
    }

    /// Load of the process's pools.
    #[napi]
    pub fn pool_stats(&self) -> PoolStats {
        let (scan, stream) = (self.pools.scan.depth(), self.pools.stream.depth());
        PoolStats {
            scan_waiting: scan.waiting as u32,
            scan_running: scan.running as u32,
            stream_waiting: stream.waiting as u32,
            stream_running: stream.running as u32,
            reply_bytes_in_flight: self.pools.in_flight.used() as f64,
        }
    }

    /// The fan-out of this store to subscribers. It holds the store until it is closed itself.
    #[napi]
    pub fn open_fanout(&self, options: FanoutOptions) -> Result<Fanout> {
        guard(|| Fanout::of(self.shared_store()?, &options))
    }

    /// Closes the store as soon as the reads that run have ended. Later calls throw.
    #[napi]
    pub fn close(&mut self) {
        self.store = None;
        for lane in self.lanes.drain(..).filter_map(|lane| lane.upgrade()) {
            lane.borrow_mut().store = None;
        }
    }
}

impl Reader {
    pub fn of(store: Arc<Store>, options: &PoolOptions) -> Checked<Reader> {
        Ok(Reader {
            store: Some(store),
            pools: pools(options)?,
            fees: Arc::default(),
            scratch: Vec::new(),
            lanes: Vec::new(),
        })
    }

    fn store(&self) -> Checked<&Store> {
        self.store
            .as_deref()
            .ok_or_else(|| wrong("this reader is closed"))
    }

    pub(crate) fn shared_store(&self) -> Checked<Arc<Store>> {
        self.store
            .clone()
            .ok_or_else(|| wrong("this reader is closed"))
    }

    fn at_once(
        &mut self,
        out: &Output<'_>,
        read: impl FnOnce(&Snapshot<'_>, &mut Vec<u8>) -> Checked<reads::Outcome>,
    ) -> Result<i32> {
        guard(|| {
            let store = self
                .store
                .as_deref()
                .ok_or_else(|| wrong("this reader is closed"))?;
            let scratch = &mut self.scratch;
            scratch.clear();
            match read(&store.snapshot()?, scratch)? {
                reads::Outcome::Written => out.copy(scratch),
                reads::Outcome::TooLarge => Ok(-1),
            }
        })
    }
}
