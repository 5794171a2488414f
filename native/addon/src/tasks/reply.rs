//! The reply of a task, which the event loop reads chunk by chunk.

use std::cell::RefCell;
use std::sync::Arc;

use ::sys::error::Result as Checked;
use napi::Env;
use napi::bindgen_prelude::Object;
use napi_derive::napi;
use wire::reply::{Read, ReplyReader};

use crate::arguments::wrong;
use crate::failure::{Result, guard, thrown};
use crate::js_bytes::Output;
use crate::promises::deferred;

/// A reply in transfer from a pool thread. `close` frees the rest of it; dropping it does so
/// too, but late. Reused for other tasks after that: V8 keeps an object with a finalizer until it
/// collects the old generation, and then runs thousands of finalizers in one turn.
#[napi]
pub struct NativeReply {
    reader: RefCell<Option<Arc<ReplyReader>>>,
}

#[napi]
impl NativeReply {
    #[napi(constructor)]
    #[allow(clippy::new_without_default, reason = "called by JavaScript alone")]
    pub fn new() -> NativeReply {
        NativeReply {
            reader: RefCell::new(None),
        }
    }

    /// Bytes that are left, where the whole reply has been produced; otherwise undefined.
    #[napi(getter)]
    pub fn byte_length(&self) -> Option<f64> {
        let left = self.reader().ok()?.bytes_left();
        left.map(|bytes| bytes as f64)
    }

    /// Copies the next bytes into `into` and returns their number. 0 is the end; −1 is nothing yet:
    /// `wait`. Throws where the rest cannot come.
    #[napi]
    pub fn read(&self, #[napi(ts_arg_type = "Uint8Array")] into: Output<'_>) -> Result<i32> {
        guard(|| {
            let reader = self.reader()?;
            match into.write(|into| reader.read(into))? {
                Read::Bytes(count) => Ok(i32::try_from(count).unwrap_or(i32::MAX)),
                Read::Pending => Ok(-1),
                Read::End => Ok(0),
            }
        })
    }

    /// How often replies found no room in the budget, since the process started.
    #[napi(getter)]
    pub fn refused_count(&self) -> f64 {
        self.reader()
            .map_or(0.0, |reader| reader.refused_count() as f64)
    }

    /// Resolves when there is something to read.
    #[napi(ts_return_type = "Promise<void>")]
    pub fn wait<'env>(&self, env: &'env Env) -> Result<Object<'env>> {
        let reader = self.reader().map_err(|error| thrown(&error))?;
        let (deferred, promise) = deferred::<()>(env)?;
        reader.wake(move || deferred.resolve(Box::new(|_| Ok(()))));
        Ok(promise)
    }

    /// Frees the rest and stops its producer.
    #[napi]
    pub fn close(&self) {
        if let Some(reader) = self.reader.take() {
            reader.close();
        }
    }
}

impl NativeReply {
    /// Takes the reply of another task; what is left of the last one is freed.
    pub fn open(&self, reader: Arc<ReplyReader>) {
        if let Some(last) = self.reader.replace(Some(reader)) {
            last.close();
        }
    }

    fn reader(&self) -> Checked<Arc<ReplyReader>> {
        let reader = self.reader.borrow();
        reader.clone().ok_or_else(|| wrong("this reply is closed"))
    }
}
