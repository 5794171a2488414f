//! The reply of a task, which the event loop reads chunk by chunk.

use std::sync::Arc;

use napi::Env;
use napi::bindgen_prelude::Object;
use napi_derive::napi;
use wire::reply::{Read, ReplyReader};

use crate::failure::{Result, guard};
use crate::js_bytes::Output;
use crate::promises::deferred;

/// A reply in transfer from a pool thread. `close` frees the rest of it; dropping it does so
/// too, but late.
#[napi]
pub struct NativeReply {
    pub(crate) reader: Arc<ReplyReader>,
}

#[napi]
impl NativeReply {
    /// Bytes that are left, where the whole reply has been produced; otherwise undefined.
    #[napi(getter)]
    pub fn byte_length(&self) -> Option<f64> {
        self.reader.bytes_left().map(|bytes| bytes as f64)
    }

    /// Copies the next bytes into `into` and returns their number. 0 is the end; −1 is nothing yet:
    /// `wait`. Throws where the rest cannot come.
    #[napi]
    pub fn read(&self, #[napi(ts_arg_type = "Uint8Array")] into: Output<'_>) -> Result<i32> {
        guard(|| match into.write(|into| self.reader.read(into))? {
            Read::Bytes(count) => Ok(i32::try_from(count).unwrap_or(i32::MAX)),
            Read::Pending => Ok(-1),
            Read::End => Ok(0),
        })
    }

    /// Resolves when there is something to read.
    #[napi(ts_return_type = "Promise<void>")]
    pub fn wait<'env>(&self, env: &'env Env) -> Result<Object<'env>> {
        let (deferred, promise) = deferred::<()>(env)?;
        self.reader
            .wake(move || deferred.resolve(Box::new(|_| Ok(()))));
        Ok(promise)
    }

    /// Frees the rest and stops its producer.
    #[napi]
    pub fn close(&self) {
        self.reader.close();
    }
}
