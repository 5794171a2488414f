//! The fan-out of a reader's store. Its passes run on a separate thread, so neither scans nor the
//! event loop delay frames.

mod transactions;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use fanout::{self, Cursor, Interest, LogsOf, Pass, Place, Resume, Subscription};
use napi::Env;
use napi::bindgen_prelude::{Object, Uint8Array, Uint32Array};
use napi_derive::napi;
use store::Store;
use sys::error::{Error, Result as Checked};
use sys::pool::{self, Pool, Share};
use wire::account_json::View;

use crate::arguments::{count, signature, view, whole, wrong};
use crate::failure::{Failure, Result, guard};
use crate::js_bytes::Bytes;
use crate::pages::{FilterData, to_filter};
use crate::promises::{Deferred, deferred};
use transactions::{
    TransactionFilterData, TransactionViewData, to_filter as to_transaction_filter, to_view,
};

/// Of one fan-out. Its queue has space for one pass and the job that drops the pool.
const THREAD: pool::Options = pool::Options {
    threads: 1,
    niceness: 0,
    queue_max: 2,
    share: Share::Whole,
};

/// Bounds of a fan-out.
#[napi(object, object_to_js = false)]
pub struct FanoutOptions {
    pub subscriptions_max: f64,
    pub chunk_bytes_max: f64,
}

/// Cursors of a subscription: each frame carries one.
#[napi(object, object_to_js = false)]
pub struct CursorsData {
    /// Begins after this cursor.
    pub from: Option<String>,
    /// Whose turn its replay is.
    pub access: String,
    /// The socket, which `hold` names.
    pub socket: f64,
}

/// What a pass resolves to: frames and what follows, or `failure`.
#[napi(object, object_from_js = false)]
pub struct PassData {
    pub slot: Option<f64>,
    pub is_lost: bool,
    /// The last slot found whose changes are damaged.
    pub damaged_slot: Option<f64>,
    pub has_more: bool,
    pub frames: Uint8Array,
    /// For each frame: subscription, length, flags (1: the last of its subscription, 2: replayed).
    pub index: Uint32Array,
    pub failure: Option<Failure>,
}

impl PassData {
    fn of(outcome: Checked<Pass>) -> PassData {
        let failure = outcome.as_ref().err().map(Failure::from);
        let pass = outcome.unwrap_or_default();
        PassData {
            slot: pass.slot.map(|slot| slot as f64),
            is_lost: pass.is_lost,
            damaged_slot: pass.damaged_slot.map(|slot| slot as f64),
            has_more: pass.has_more,
            frames: Uint8Array::new(pass.frames),
            index: Uint32Array::new(pass.index),
            failure,
        }
    }
}

/// A fan-out in numbers.
#[napi(object, object_from_js = false)]
pub struct FanoutStats {
    pub subscriptions: f64,
    pub changes: f64,
    pub comparisons: f64,
    pub frames: f64,
    pub bytes: f64,
}

/// Turns what a store gains into the frames of subscriptions. Adding and removing never waits.
#[napi]
pub struct Fanout {
    fanout: Arc<fanout::Fanout>,
    open: Option<Opened>,
    is_passing: Arc<AtomicBool>,
}

struct Opened {
    store: Arc<Store>,
    pool: Arc<Pool>,
}

#[napi]
impl Fanout {
    /// An account in one encoding; `sliceOffset` is −1 for the whole data.
    #[napi]
    pub fn add_account(
        &self,
        id: f64,
        #[napi(ts_arg_type = "Uint8Array")] key: Bytes<'_>,
        encoding: f64,
        slice_offset: f64,
        slice_length: f64,
        cursors: Option<CursorsData>,
    ) -> Result<()> {
        guard(|| {
            let view = view(encoding, slice_offset, slice_length)?;
            let pubkey = key.pubkey()?;
            self.add(id, Interest::Account { pubkey, view }, cursors)
        })
    }

    /// The accounts of a program for which all filters hold.
    #[napi]
    #[allow(clippy::too_many_arguments)]
    pub fn add_program(
        &self,
        id: f64,
        #[napi(ts_arg_type = "Uint8Array")] program: Bytes<'_>,
        filters: Vec<FilterData>,
        encoding: f64,
        slice_offset: f64,
        slice_length: f64,
        cursors: Option<CursorsData>,
    ) -> Result<()> {
        guard(|| {
            let view: View = view(encoding, slice_offset, slice_length)?;
            let filters = filters.iter().map(to_filter).collect::<Checked<_>>()?;
            let program = program.pubkey()?;
            self.add(
                id,
                Interest::Program {
                    program,
                    filters,
                    view,
                },
                cursors,
            )
        })
    }

    /// Logs of transactions that name a key.
    #[napi]
    pub fn add_mentions(
        &self,
        id: f64,
        #[napi(ts_arg_type = "Uint8Array")] key: Bytes<'_>,
        cursors: Option<CursorsData>,
    ) -> Result<()> {
        guard(|| {
            let interest = Interest::Logs(LogsOf::Mentions(key.pubkey()?));
            self.add(id, interest, cursors)
        })
    }

    /// Logs of all transactions, or of all but votes.
    #[napi]
    pub fn add_logs(&self, id: f64, with_votes: bool, cursors: Option<CursorsData>) -> Result<()> {
        guard(|| {
            let of = if with_votes {
                LogsOf::AllWithVotes
            } else {
                LogsOf::All
            };
            self.add(id, Interest::Logs(of), cursors)
        })
    }

    /// Transactions.
    #[napi]
    pub fn add_transactions(
        &self,
        id: f64,
        filter: TransactionFilterData,
        view: TransactionViewData,
        cursors: Option<CursorsData>,
    ) -> Result<()> {
        guard(|| {
            let filter = Arc::new(to_transaction_filter(&filter)?);
            let view = to_view(&view)?;
            self.add(id, Interest::Transactions { filter, view }, cursors)
        })
    }

    /// The outcome of a transaction.
    #[napi]
    pub fn add_signature(
        &self,
        id: f64,
        #[napi(ts_arg_type = "Uint8Array")] bytes: Bytes<'_>,
        is_finalized: bool,
        wants_received: bool,
    ) -> Result<()> {
        guard(|| {
            let signature = bytes.read(signature)?;
            self.add(
                id,
                Interest::Signature {
                    signature,
                    is_finalized,
                    wants_received,
                },
                None,
            )
        })
    }

    #[napi]
    pub fn add_slot(&self, id: f64, cursors: Option<CursorsData>) -> Result<()> {
        guard(|| self.add(id, Interest::Slot, cursors))
    }

    #[napi]
    pub fn add_root(&self, id: f64, cursors: Option<CursorsData>) -> Result<()> {
        guard(|| self.add(id, Interest::Root, cursors))
    }

    /// Ends a subscription; an unknown id is no fault.
    #[napi]
    pub fn remove(&self, id: f64) -> Result<()> {
        guard(|| {
            self.fanout.remove(to_id(id)?);
            Ok(())
        })
    }

    /// Pauses the replays of a socket, or lets them go on.
    #[napi]
    pub fn hold(&self, socket: f64, is_held: bool) -> Result<()> {
        guard(|| {
            self.fanout.hold(to_socket(socket)?, is_held);
            Ok(())
        })
    }

    /// Reads what the store has gained since the last pass. Throws where one is under way.
    #[napi(ts_return_type = "Promise<PassData>")]
    pub fn pass<'env>(&self, env: &'env Env) -> Result<Object<'env>> {
        let (store, pool) = guard(|| {
            let open = self.open.as_ref().ok_or_else(closed)?;
            if self.is_passing.swap(true, Ordering::AcqRel) {
                return Err(wrong("a pass is under way"));
            }
            Ok((Arc::clone(&open.store), Arc::clone(&open.pool)))
        })?;
        let is_passing = Arc::clone(&self.is_passing);
        let made = deferred::<PassData>(env);
        let Ok((deferred, promise)) = made else {
            is_passing.store(false, Ordering::Release);
            return made.map(|(_, promise)| promise);
        };
        let answer = Answer {
            deferred: Some(deferred),
            outcome: Err(closed()),
            is_passing,
        };
        let fanout = Arc::clone(&self.fanout);
        // A refused job is dropped, which settles its `Answer`, so the error needs no handling
        // here.
        let _ = pool.submit(move || answer.run(|| fanout.pass(&store)));
        Ok(promise)
    }

    #[napi]
    pub fn stats(&self) -> FanoutStats {
        let stats = self.fanout.stats();
        FanoutStats {
            subscriptions: stats.subscriptions as f64,
            changes: stats.changes as f64,
            comparisons: stats.comparisons as f64,
            frames: stats.frames as f64,
            bytes: stats.bytes as f64,
        }
    }

    /// Closes the store as soon as the pass that runs has ended. Later passes throw.
    #[napi]
    pub fn close(&mut self) {
        if let Some(Opened { store, pool }) = self.open.take() {
            drop(store);
            // The pool's own thread drops the pool last: dropping it here would wait for the pass.
            let own = Arc::clone(&pool);
            let _ = pool.submit(move || drop(own));
        }
    }
}

impl Drop for Fanout {
    fn drop(&mut self) {
        self.close();
    }
}

impl Fanout {
    pub fn of(store: Arc<Store>, options: &FanoutOptions) -> Checked<Fanout> {
        let options = fanout::FanoutOptions {
            subscriptions_max: whole(options.subscriptions_max, u32::MAX, "subscriptionsMax")?
                as usize,
            chunk_bytes_max: count(options.chunk_bytes_max, "chunkBytesMax")? as usize,
        };
        Ok(Fanout {
            fanout: Arc::new(fanout::Fanout::new(options)),
            open: Some(Opened {
                store,
                pool: Arc::new(Pool::new("fanout", THREAD)?),
            }),
            is_passing: Arc::default(),
        })
    }

    fn add(&self, id: f64, interest: Interest, cursors: Option<CursorsData>) -> Checked<()> {
        self.open.as_ref().ok_or_else(closed)?;
        let has_cursors = cursors.is_some();
        let resume = cursors.map(to_resume).transpose()?.flatten();
        let subscription = Subscription {
            interest,
            has_cursors,
            resume,
        };
        self.fanout.add(to_id(id)?, subscription)
    }
}

/// Whether a text is a cursor, of roots or of the others.
#[napi]
pub fn is_cursor(text: String, is_of_roots: bool) -> bool {
    Cursor::parse(&text).is_some_and(|cursor| (cursor.place == Place::Root) == is_of_roots)
}

fn to_resume(cursors: CursorsData) -> Checked<Option<Resume>> {
    let Some(from) = cursors.from else {
        return Ok(None);
    };
    Ok(Some(Resume {
        cursor: Cursor::parse(&from).ok_or_else(|| wrong("a cursor"))?,
        access: Arc::from(cursors.access),
        socket: to_socket(cursors.socket)?,
    }))
}

fn to_socket(number: f64) -> Checked<u32> {
    whole(number, u32::MAX, "the number of a socket")
}

fn closed() -> Error {
    wrong("this fan-out is closed")
}

fn to_id(id: f64) -> Checked<u32> {
    match whole(id, u32::MAX, "a subscription id")? {
        0 => Err(wrong("a subscription id")),
        id => Ok(id),
    }
}

/// Settles its promise in `drop`, so that passes which panic or are refused settle too.
struct Answer {
    deferred: Option<Deferred<PassData>>,
    outcome: Checked<Pass>,
    is_passing: Arc<AtomicBool>,
}

impl Answer {
    fn run(mut self, pass: impl FnOnce() -> Checked<Pass>) {
        self.outcome = Err(Error::Internal("panic in a pass".into()));
        self.outcome = pass();
    }
}

impl Drop for Answer {
    fn drop(&mut self) {
        let Some(deferred) = self.deferred.take() else {
            return;
        };
        let outcome = std::mem::replace(&mut self.outcome, Err(closed()));
        let is_passing = Arc::clone(&self.is_passing);
        deferred.resolve(Box::new(move |_| {
            // On JavaScript's thread, before the promise settles: the caller may then start the
            // next pass at once.
            is_passing.store(false, Ordering::Release);
            Ok(PassData::of(outcome))
        }));
    }
}
