//! Numbers for metrics and health.

use napi_derive::napi;
use primitives::encoding::encode_pubkey;
use store::{OpenRead, Store, Tip};
use sys::error::Result;

/// The newest block of a store.
#[napi(object)]
pub struct TipData {
    pub slot: f64,
    pub parent_slot: f64,
    pub block_height: f64,
    pub blockhash: String,
    /// Seconds since 1970.
    pub block_time: Option<f64>,
}

impl TipData {
    pub fn of(tip: &Tip) -> TipData {
        TipData {
            slot: tip.slot as f64,
            parent_slot: tip.parent_slot as f64,
            block_height: tip.block_height as f64,
            blockhash: encode_pubkey(&tip.blockhash),
            block_time: tip.block_time.map(|time| time as f64),
        }
    }
}

/// A store in numbers.
#[napi(object)]
pub struct StoreStats {
    pub used_bytes: f64,
    pub map_bytes: f64,
    pub readers: u32,
    /// Blocks written since the oldest open read began.
    pub oldest_reader_lag: f64,
    pub accounts: f64,
    /// Mints whose largest accounts are found by a scan until their row is refilled.
    pub short_holders: f64,
    /// Bytes of the segments of the feed.
    pub feed_bytes: f64,
    /// Slots from the oldest one of the feed to the tip.
    pub feed_slots: f64,
}

impl StoreStats {
    pub fn of(store: &Store) -> Result<StoreStats> {
        let stats = store.stats()?;
        let accounts = stats.entries.iter().find(|(table, _)| *table == "accounts");
        Ok(StoreStats {
            used_bytes: stats.used_bytes as f64,
            map_bytes: stats.map_bytes as f64,
            readers: stats.readers,
            oldest_reader_lag: stats.oldest_reader_lag as f64,
            accounts: accounts.map_or(0.0, |(_, rows)| *rows as f64),
            short_holders: stats.short_holders as f64,
            feed_bytes: stats.feed_bytes as f64,
            feed_slots: stats.feed_slots as f64,
        })
    }
}

/// A read transaction that is open now.
#[napi(object)]
pub struct OpenReadData {
    pub process_id: i32,
    pub thread: f64,
    /// The last commit that it sees.
    pub transaction: f64,
}

impl OpenReadData {
    pub fn of(read: OpenRead) -> OpenReadData {
        OpenReadData {
            process_id: read.process_id,
            thread: read.thread as f64,
            transaction: read.transaction as f64,
        }
    }
}

/// The process's pools in numbers.
#[napi(object)]
pub struct PoolStats {
    pub scan_waiting: u32,
    pub scan_running: u32,
    pub stream_waiting: u32,
    pub stream_running: u32,
    pub reply_bytes_in_flight: f64,
}
