//! Limits of a load, and the first block of its store, from JavaScript.

use std::time::Duration;

use ingest::load::{Base, LoadOptions, SORT_MEMORY_BYTES_MIN};
use napi_derive::napi;
use sys::error::Result as Checked;

use crate::arguments::{count, integer, pubkey, wrong};
use crate::js_bytes::CopiedBytes;

/// Bounds of a load.
#[napi(object)]
pub struct LoaderOptions {
    pub sort_memory_bytes: f64,
    pub transaction_bytes: f64,
    pub disk_reserve_bytes: f64,
    /// Between two checkpoints of an archive. Absent: none is written, and none is continued.
    pub checkpoint_ms: Option<f64>,
}

/// The block that a loaded store begins with.
#[napi(object, object_to_js = false)]
pub struct LoaderBase {
    pub slot: f64,
    pub parent_slot: f64,
    #[napi(ts_type = "Uint8Array")]
    pub blockhash: CopiedBytes,
    pub block_height: f64,
    /// Seconds since 1970, where they are known.
    pub block_time: Option<f64>,
    /// The newest finalized slot: of a snapshot its own. Absent is none.
    pub root: Option<f64>,
}

impl LoaderOptions {
    pub(super) fn to_native(&self) -> Checked<LoadOptions> {
        let sort_memory_bytes = count(self.sort_memory_bytes, "sortMemoryBytes")? as usize;
        if sort_memory_bytes < SORT_MEMORY_BYTES_MIN {
            return Err(wrong("sortMemoryBytes"));
        }
        Ok(LoadOptions {
            sort_memory_bytes,
            transaction_bytes: count(self.transaction_bytes, "transactionBytes")? as usize,
            disk_reserve_bytes: count(self.disk_reserve_bytes, "diskReserveBytes")?,
            checkpoint_every: match self.checkpoint_ms {
                Some(ms) => Some(Duration::from_millis(integer(ms, "checkpointMs")?)),
                None => None,
            },
        })
    }
}

impl LoaderBase {
    pub(super) fn to_native(&self) -> Checked<Base> {
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
