//! Compares a store with rows of an upstream RPC and corrects it.

use napi::Env;
use napi::bindgen_prelude::Uint8ArraySlice;
use napi_derive::napi;
use store::row_codec::PackedRows;

use crate::arguments::{count, pubkey};
use crate::bytes;
use crate::failure::{Result, guard};
use crate::indexer::Indexer;
use crate::js_bytes::{Bytes, CopiedBytes};

/// The result of a comparison of rows with the store.
#[napi(object, object_from_js = false)]
pub struct ComparedRows {
    pub equal: f64,
    /// Written, or removed, after the slot that the row is of.
    pub newer: f64,
    /// Other than the row: corrected with the next block, unless a block before it explains it.
    pub different: f64,
    /// Different, but too many corrections wait.
    pub dropped: f64,
}

/// The corrections since the store was opened.
#[napi(object, object_from_js = false)]
pub struct CorrectionCounts {
    pub waiting: f64,
    pub corrected: f64,
}

#[napi]
impl Indexer {
    /// The next stored addresses after one, or from the first on, 32 bytes each; none is the end.
    /// Their data together is at most `bytesMax`, but for the first.
    #[napi]
    pub fn stored_keys<'env>(
        &self,
        env: &'env Env,
        #[napi(ts_arg_type = "Uint8Array | undefined | null")] after: Option<CopiedBytes>,
        keys_max: f64,
        bytes_max: f64,
    ) -> Result<Uint8ArraySlice<'env>> {
        guard(|| {
            let after = after.map(|after| pubkey(&after)).transpose()?;
            let keys_max = count(keys_max, "keysMax")? as usize;
            let bytes_max = count(bytes_max, "bytesMax")? as usize;
            let snapshot = self.store()?.snapshot()?;
            let keys = snapshot.keys_after(after.as_ref(), keys_max, bytes_max)?;
            bytes(env, keys.as_flattened())
        })
    }

    /// Compares packed rows with the store. What differs waits for the next block, at most
    /// `bytesMax`.
    #[napi]
    pub fn compare_rows(
        &self,
        #[napi(ts_arg_type = "Uint8Array")] rows: Bytes<'_>,
        bytes_max: f64,
    ) -> Result<ComparedRows> {
        guard(|| {
            let bytes_max = count(bytes_max, "bytesMax")? as usize;
            let store = self.store()?;
            let compared = rows.read(|rows| store.compare(PackedRows::new(rows), bytes_max))?;
            Ok(ComparedRows {
                equal: compared.equal as f64,
                newer: compared.newer as f64,
                different: compared.different as f64,
                dropped: compared.dropped as f64,
            })
        })
    }

    #[napi]
    pub fn correction_counts(&self) -> Result<CorrectionCounts> {
        guard(|| {
            let stats = self.store()?.correction_stats();
            Ok(CorrectionCounts {
                waiting: stats.waiting as f64,
                corrected: stats.corrected as f64,
            })
        })
    }
}
