//! The only writer of a store.

use std::slice;
use std::sync::Arc;
use std::time::Instant;

use napi::Env;
use napi::bindgen_prelude::{BigInt, Object};
use napi_derive::napi;
use store::{AccountUpdate, Applied, Block, BlockParts, Store};
use store::{TransactionCost, TransactionDetails, TransactionUpdate};

use crate::arguments::{exact, integer, pubkey, pubkeys, signature, whole, wrong};
use crate::copy::copy;
use crate::failure::{Result, guard, thrown};
use crate::js_bytes::CopiedBytes;
use crate::options::{PoolOptions, StoreOptions};
use crate::reader::Reader;
use crate::stats::{OpenReadData, StoreStats, TipData};

/// One account at the end of a block. `lamports` 0 deletes it.
#[napi(object, object_to_js = false)]
pub struct AccountData {
    #[napi(ts_type = "Uint8Array")]
    pub pubkey: CopiedBytes,
    pub lamports: BigInt,
    pub rent_epoch: BigInt,
    pub executable: bool,
    #[napi(ts_type = "Uint8Array")]
    pub owner: CopiedBytes,
    #[napi(ts_type = "Uint8Array")]
    pub data: CopiedBytes,
}

/// One transaction of a block. Without `keys`, only its outcome is known.
#[napi(object, object_to_js = false)]
pub struct TransactionData {
    #[napi(ts_type = "Uint8Array")]
    pub signature: CopiedBytes,
    /// Bincode of a TransactionError; absent is success.
    #[napi(ts_type = "Uint8Array")]
    pub error: Option<CopiedBytes>,
    pub is_vote: Option<bool>,
    /// Every account that it names, 32 bytes each.
    #[napi(ts_type = "Uint8Array")]
    pub keys: Option<CopiedBytes>,
    pub logs: Option<Vec<String>>,
    /// The whole transaction, which has the lines: protobuf of SubscribeUpdateTransactionInfo.
    #[napi(ts_type = "Uint8Array")]
    pub full: Option<CopiedBytes>,
    /// In micro-lamports per compute unit.
    pub price: Option<f64>,
    /// Positions in `keys` of the accounts that it locks for writing.
    #[napi(ts_type = "Uint8Array")]
    pub writable: Option<CopiedBytes>,
    /// Accounts that had more lamports after it.
    pub gains: Option<Vec<GainData>>,
}

/// An account by its position in `keys`, and the lamports that it gained.
#[napi(object, object_to_js = false)]
pub struct GainData {
    pub position: f64,
    pub lamports: BigInt,
}

/// One confirmed block.
#[napi(object, object_to_js = false)]
pub struct BlockData {
    pub slot: f64,
    pub parent_slot: f64,
    #[napi(ts_type = "Uint8Array")]
    pub blockhash: CopiedBytes,
    #[napi(ts_type = "Uint8Array")]
    pub parent_blockhash: CopiedBytes,
    pub block_height: f64,
    pub block_time: Option<f64>,
    pub accounts: Vec<AccountData>,
    pub transactions: Option<Vec<TransactionData>>,
    /// The newest finalized slot.
    pub root: Option<f64>,
    /// Whether the feed sends more than outcomes of transactions; absent is no.
    pub has_details: Option<bool>,
}

/// What applying blocks did.
#[napi(object)]
pub struct AppliedData {
    /// False where no block was newer than the tip: nothing was written.
    pub is_new: bool,
    pub accounts: f64,
    pub deleted: f64,
    /// From the call to the commit, without the Node-API call, which a feed does not make.
    pub micros: f64,
}

impl AppliedData {
    fn of(applied: &Applied, micros: f64) -> AppliedData {
        AppliedData {
            is_new: applied.is_new,
            accounts: applied.accounts as f64,
            deleted: applied.deleted as f64,
            micros,
        }
    }
}

/// Writes blocks into a store. One per store on the whole machine: the caller holds the lock file.
#[napi]
pub struct Indexer {
    pub(crate) store: Option<Arc<Store>>,
    pub(crate) feed: Option<ingest::geyser::FeedReader>,
}

#[napi]
impl Indexer {
    /// Opens the store at `dir`, and makes it where there is none. Throws `storeOutdated` for an
    /// older layout, another scope or other programs, `storeUnusable` for what is no store.
    #[napi(constructor)]
    pub fn new(dir: String, store: StoreOptions) -> Result<Indexer> {
        guard(|| {
            let store = Store::open_writer(dir.as_ref(), &store.to_native()?)?;
            Ok(Indexer {
                store: Some(Arc::new(store)),
                feed: None,
            })
        })
    }

    /// The newest block, or null before the first.
    #[napi]
    pub fn tip(&self) -> Result<Option<TipData>> {
        guard(|| Ok(self.store()?.tip()?.map(|tip| TipData::of(&tip))))
    }

    /// Whether the store has every account of its scope; null where an older build made it.
    #[napi]
    pub fn is_complete(&self) -> Result<Option<bool>> {
        guard(|| self.store()?.is_complete())
    }

    /// Records that, durably. A copy of the store has the same mark.
    #[napi]
    pub fn set_complete(&self, is_complete: bool) -> Result<()> {
        guard(|| self.store()?.set_complete(is_complete))
    }

    /// Applies one block, durably. Throws `notNextBlock` where it does not continue the tip's
    /// chain.
    #[napi]
    pub fn apply_block(&self, block: BlockData) -> Result<AppliedData> {
        guard(|| self.apply(slice::from_ref(&block)))
    }

    /// Applies consecutive blocks in one durable commit, all or none, as a feed does that is
    /// behind. Throws as `applyBlock`.
    #[napi]
    pub fn apply_blocks(&self, blocks: Vec<BlockData>) -> Result<AppliedData> {
        guard(|| self.apply(&blocks))
    }

    /// Recomputes every index from the accounts. Answers the differences, as sentences; none is
    /// well.
    #[napi]
    pub fn check(&self) -> Result<Vec<String>> {
        guard(|| self.store()?.check())
    }

    /// Reads of the same store in this process, which must not open it twice.
    #[napi]
    pub fn open_reader(&self, pools: PoolOptions) -> Result<Reader> {
        guard(|| Reader::of(Arc::clone(self.store()?), &pools))
    }

    /// Frees the reader slots of ended processes; returns their number.
    #[napi]
    pub fn clear_stale_readers(&self) -> Result<u32> {
        guard(|| Ok(self.store()?.clear_stale_readers()? as u32))
    }

    /// Number of the last commit.
    #[napi]
    pub fn last_commit(&self) -> Result<f64> {
        guard(|| Ok(self.store()?.last_commit() as f64))
    }

    /// The reads of this store that are open now, in any process.
    #[napi]
    pub fn open_reads(&self) -> Result<Vec<OpenReadData>> {
        guard(|| {
            let reads = self.store()?.open_reads()?;
            Ok(reads.into_iter().map(OpenReadData::of).collect())
        })
    }

    #[napi]
    pub fn stats(&self) -> Result<StoreStats> {
        guard(|| StoreStats::of(self.store()?))
    }

    /// Writes the store as of one commit into a new file of an existing folder, on a thread of its
    /// own, while blocks are applied.
    #[napi(ts_return_type = "Promise<CopyResult>")]
    pub fn copy_to<'env>(&self, env: &'env Env, dir: String) -> Result<Object<'env>> {
        let store = Arc::clone(self.store().map_err(|error| thrown(&error))?);
        copy(env, store, dir)
    }

    /// Stops the feed and closes the store.
    #[napi]
    pub fn close(&mut self) -> Result<()> {
        guard(|| {
            if let Some(feed) = self.feed.take() {
                feed.stop()?;
            }
            self.store = None;
            Ok(())
        })
    }
}

impl Indexer {
    fn apply(&self, blocks: &[BlockData]) -> sys::error::Result<AppliedData> {
        let blocks = blocks.iter().map(to_block);
        let blocks = blocks.collect::<sys::error::Result<Vec<_>>>()?;
        let start = Instant::now();
        let applied = self.store()?.apply_all(&blocks)?;
        Ok(AppliedData::of(
            &applied,
            start.elapsed().as_micros() as f64,
        ))
    }

    pub(crate) fn store(&self) -> sys::error::Result<&Arc<Store>> {
        self.store
            .as_ref()
            .ok_or_else(|| wrong("this indexer is closed"))
    }
}

fn to_block(block: &BlockData) -> sys::error::Result<Block> {
    Ok(Block {
        slot: integer(block.slot, "slot")?,
        parent_slot: integer(block.parent_slot, "parentSlot")?,
        blockhash: pubkey(&block.blockhash)?,
        parent_blockhash: pubkey(&block.parent_blockhash)?,
        block_height: integer(block.block_height, "blockHeight")?,
        block_time: match block.block_time {
            Some(time) if !time.is_finite() => return Err(wrong("blockTime")),
            time => time.map(|time| time as i64),
        },
        accounts: block
            .accounts
            .iter()
            .map(to_update)
            .collect::<sys::error::Result<_>>()?,
        transactions: block
            .transactions
            .iter()
            .flatten()
            .zip(0..)
            .map(to_transaction)
            .collect::<sys::error::Result<_>>()?,
        parts: BlockParts::default(),
        root: block.root.map(|root| integer(root, "root")).transpose()?,
        has_details: block.has_details == Some(true),
    })
}

fn to_transaction(
    (transaction, index): (&TransactionData, u32),
) -> sys::error::Result<TransactionUpdate> {
    let details = match &transaction.keys {
        Some(keys) => Some(TransactionDetails {
            is_vote: transaction.is_vote == Some(true),
            keys: pubkeys(keys)?.to_vec(),
            logs: transaction.logs.clone().unwrap_or_default(),
            full: transaction.full.as_ref().map(|full| full.to_vec()),
            cost: Box::new(to_cost(transaction)?),
        }),
        None => None,
    };
    Ok(TransactionUpdate {
        signature: signature(&transaction.signature)?,
        index,
        error: transaction.error.as_ref().map(|error| error.to_vec()),
        details,
    })
}

fn to_cost(transaction: &TransactionData) -> sys::error::Result<TransactionCost> {
    let price = transaction.price.map(|price| integer(price, "price"));
    let writable = transaction.writable.as_ref();
    let gains = transaction.gains.iter().flatten().map(|gain| {
        let position = whole(gain.position, 255, "position")? as u8;
        Ok((position, exact(&gain.lamports, "lamports")?))
    });
    Ok(TransactionCost {
        price: price.transpose()?,
        writable: writable
            .map(|positions| positions.to_vec())
            .unwrap_or_default(),
        gains: gains.collect::<sys::error::Result<_>>()?,
    })
}

fn to_update(account: &AccountData) -> sys::error::Result<AccountUpdate> {
    Ok(AccountUpdate {
        is_signed: false,
        pubkey: pubkey(&account.pubkey)?,
        lamports: exact(&account.lamports, "lamports")?,
        rent_epoch: exact(&account.rent_epoch, "rentEpoch")?,
        executable: account.executable,
        owner: pubkey(&account.owner)?,
        data: account.data.to_vec(),
    })
}
