//! Copies a store that is in use.

use std::sync::Arc;

use napi::Env;
use napi::bindgen_prelude::Object;
use napi_derive::napi;
use store::Store;

use crate::failure::{Failure, Result};
use crate::promises::on_own_thread;

/// How a copy ended.
#[napi(object, object_from_js = false)]
pub struct CopyResult {
    pub failure: Option<Failure>,
}

/// Writes the store as of one commit into a new file of a folder, on a thread of its own. Promises
/// a `CopyResult`.
pub(crate) fn copy<'env>(env: &'env Env, store: Arc<Store>, dir: String) -> Result<Object<'env>> {
    let work = move || store.copy_to(dir.as_ref()).err();
    on_own_thread(env, "copy", work, |failed| CopyResult {
        failure: failed.as_ref().map(Failure::from),
    })
}
