//! Converts errors for JavaScript: an object with a code and the fields of that code.

use std::panic::{AssertUnwindSafe, catch_unwind};

use napi_derive::napi;
use serde::Serialize;
use sys::error::Error;

/// A failure: `code` is a row of the error table, the other fields are present where the code has
/// them. A promise resolves to it; a thrown error has it as JSON in its message, because Node-API
/// gives a thrown error no other fields.
#[napi(object, object_from_js = false)]
#[derive(Serialize, Default)]
#[serde(rename_all = "camelCase")]
pub struct Failure {
    pub code: String,
    /// For the operator's log.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// `pubkeyDecode`: the text that is not base58.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
    /// `memcmpBytes`: the encoding that did not decode.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub encoding: Option<String>,
    /// `readBudget`: rows read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scanned: Option<f64>,
    /// `diskReserve`: free bytes of the disk.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub free_bytes: Option<f64>,
    /// `notNextBlock`: the tip's slot.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tip_slot: Option<f64>,
    /// `notNextBlock`: the refused block's slot.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub slot: Option<f64>,
    /// `notNextBlock`: the slot of the refused block's parent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent_slot: Option<f64>,
}

impl From<&Error> for Failure {
    fn from(error: &Error) -> Self {
        let mut failure = Failure {
            code: error.name().to_string(),
            ..Failure::default()
        };
        match error {
            Error::PubkeyDecode(text) => failure.value = Some(text.clone()),
            Error::MemcmpBytes(encoding) => failure.encoding = Some((*encoding).to_string()),
            Error::ReadBudget { scanned } => failure.scanned = Some(*scanned as f64),
            Error::DiskReserve(bytes) => failure.free_bytes = Some(*bytes as f64),
            Error::NotNextBlock(chain_break) => {
                failure.tip_slot = Some(chain_break.tip_slot as f64);
                failure.slot = Some(chain_break.slot as f64);
                failure.parent_slot = Some(chain_break.parent_slot as f64);
            }
            _ => {}
        }
        let reason = error.detail();
        failure.reason = (!reason.is_empty()).then_some(reason);
        failure
    }
}

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
    let failure = serde_json::to_string(&Failure::from(error)).unwrap_or_default();
    napi::Error::new(Code(error.name()), failure)
}

/// Runs a native call. A panic becomes an `internal` error of this call.
pub fn guard<T>(call: impl FnOnce() -> sys::error::Result<T>) -> Result<T> {
    match catch_unwind(AssertUnwindSafe(call)) {
        Ok(Ok(value)) => Ok(value),
        Ok(Err(error)) => Err(thrown(&error)),
        Err(_) => Err(thrown(&Error::Internal("panic in the native layer".into()))),
    }
}
