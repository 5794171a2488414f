//! Copies a store that is in use.

use std::sync::Arc;
use std::thread;

use napi::Env;
use napi::bindgen_prelude::Object;
use napi_derive::napi;
use store::Store;

use crate::failure::{Failure, Result, guard};
use crate::promises::deferred;

/// How a copy ended.
#[napi(object, object_from_js = false)]
pub struct CopyResult {
    pub failure: Option<Failure>,
}

/// Writes the store as of its last commit into a new file, on a thread of its own. Promises a
/// `CopyResult`.
pub(crate) fn copy<'env>(env: &'env Env, store: Arc<Store>, path: String) -> Result<Object<'env>> {
    let (deferred, promise) = deferred::<CopyResult>(env)?;
    let work = move || {
        let failed = store.copy_to(path.as_ref()).err();
        // Release the store before the promise settles: the caller may then close it.
        drop(store);
        deferred.resolve(Box::new(move |_| {
            Ok(CopyResult {
                failure: failed.as_ref().map(Failure::from),
            })
        }));
    };
    guard(|| Ok(thread::Builder::new().name("copy".into()).spawn(work)?))?;
    Ok(promise)
}
