//! Verifies or copies a store for an operator's command while its indexer runs.

use std::sync::Arc;
use std::time::Duration;

use napi::Env;
use napi::bindgen_prelude::Object;
use napi_derive::napi;
use store::{Store, Verifier, VerifyLimits};
use sys::error::Result as Checked;

use crate::arguments::{count, wrong};
use crate::copy::copy;
use crate::failure::{Result, guard, thrown};
use crate::options::StoreOptions;
use crate::stats::{StoreStats, TipData};

/// Bounds of a verification.
#[napi(object)]
pub struct VerifyOptions {
    pub slice_rows_max: f64,
    pub slice_ms: f64,
    pub program_rows_max: f64,
    pub differences_max: f64,
}

/// What a slice of a verification did.
#[napi(object, object_from_js = false)]
pub struct VerifyProgress {
    pub table: String,
    pub rows: f64,
    pub is_last: bool,
}

/// One store, opened for reading by a process that does nothing else.
#[napi]
pub struct StoreInspector {
    store: Option<Arc<Store>>,
    verifier: Option<Verifier>,
}

#[napi]
impl StoreInspector {
    /// Throws `storeOutdated` for an older layout or another scope, `storeUnusable` where there is
    /// no store.
    #[napi(constructor)]
    pub fn new(dir: String, store: StoreOptions) -> Result<StoreInspector> {
        guard(|| {
            let store = Store::open_reader(dir.as_ref(), &store.to_native()?)?;
            Ok(StoreInspector {
                store: Some(Arc::new(store)),
                verifier: None,
            })
        })
    }

    /// The newest block, or null before the first.
    #[napi]
    pub fn tip(&self) -> Result<Option<TipData>> {
        guard(|| Ok(self.store()?.tip()?.map(|tip| TipData::of(&tip))))
    }

    #[napi]
    pub fn stats(&self) -> Result<StoreStats> {
        guard(|| StoreStats::of(self.store()?))
    }

    /// Begins a verification, and answers the number of rows to verify.
    #[napi]
    pub fn begin_verify(&mut self, options: VerifyOptions) -> Result<f64> {
        guard(|| {
            let limits = VerifyLimits {
                slice_rows_max: count(options.slice_rows_max, "sliceRowsMax")?,
                slice_max: Duration::from_millis(count(options.slice_ms, "sliceMs")?),
                program_rows_max: count(options.program_rows_max, "programRowsMax")?,
                differences_max: count(options.differences_max, "differencesMax")? as usize,
            };
            let rows = Verifier::rows_total(self.store()?)?;
            self.verifier = Some(Verifier::new(limits));
            Ok(rows as f64)
        })
    }

    /// Verifies the next rows, in one short read transaction.
    #[napi]
    pub fn verify_slice(&mut self) -> Result<VerifyProgress> {
        guard(|| {
            let store = Arc::clone(self.store()?);
            let slice = self.verifier_mut()?.slice(&store)?;
            Ok(VerifyProgress {
                table: slice.table.into(),
                rows: slice.rows as f64,
                is_last: slice.is_last,
            })
        })
    }

    /// The differences so far, as sentences.
    #[napi]
    pub fn differences(&mut self) -> Result<Vec<String>> {
        guard(|| Ok(self.verifier_mut()?.found().to_vec()))
    }

    /// Programs that own too many accounts to be counted.
    #[napi]
    pub fn uncounted_programs(&mut self) -> Result<f64> {
        guard(|| Ok(self.verifier_mut()?.uncounted() as f64))
    }

    /// Writes the store as of one commit into a new file of an existing folder, on a thread of its
    /// own, while blocks are applied.
    #[napi(ts_return_type = "Promise<CopyResult>")]
    pub fn copy_to<'env>(&self, env: &'env Env, dir: String) -> Result<Object<'env>> {
        let store = Arc::clone(self.store().map_err(|error| thrown(&error))?);
        copy(env, store, dir)
    }

    #[napi]
    pub fn close(&mut self) -> Result<()> {
        guard(|| {
            self.verifier = None;
            self.store = None;
            Ok(())
        })
    }
}

impl StoreInspector {
    fn store(&self) -> Checked<&Arc<Store>> {
        self.store
            .as_ref()
            .ok_or_else(|| wrong("this store inspector is closed"))
    }

    fn verifier_mut(&mut self) -> Checked<&mut Verifier> {
        self.verifier
            .as_mut()
            .ok_or_else(|| wrong("no verification has begun"))
    }
}
