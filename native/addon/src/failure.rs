//! Converts kernel errors for JavaScript: `error.code` is a row of the error table, the message
//! its detail.

use std::panic::{AssertUnwindSafe, catch_unwind};

use sys::error::Error;

/// The `code` of a thrown error.
pub struct Code(&'static str);

impl AsRef<str> for Code {
    fn as_ref(&self) -> &str {
        self.0
    }
}

/// The result of an exported function. The napi macro requires this name.
pub type Result<T> = std::result::Result<T, napi::Error<Code>>;

pub fn thrown(error: &Error) -> napi::Error<Code> {
    napi::Error::new(Code(error.name()), error.detail())
}

/// Runs a kernel call. A panic becomes an `internal` error of this call.
pub fn guard<T>(call: impl FnOnce() -> sys::error::Result<T>) -> Result<T> {
    match catch_unwind(AssertUnwindSafe(call)) {
        Ok(Ok(value)) => Ok(value),
        Ok(Err(error)) => Err(thrown(&error)),
        Err(_) => Err(thrown(&Error::Internal("panic in the native layer".into()))),
    }
}
