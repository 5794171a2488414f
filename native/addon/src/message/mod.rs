//! Long messages: packed on a pool.

use std::sync::Arc;

use napi::Env;
use napi::bindgen_prelude::{Object, Uint8Array, Uint32Array};
use napi_derive::napi;
use sys::error::Error;
use wire::message::{AddressList, Limits, Packed, Refusal, pack};

use crate::arguments::whole;
use crate::failure::{Failure, Result, guard};
use crate::js_bytes::Bytes;
use crate::promises::deferred;
use crate::tasks::Pools;

/// Bounds of a long message.
#[napi(object, object_to_js = false)]
pub struct MessageLimits {
    pub calls_max: f64,
    pub nesting_max: f64,
    /// Bytes that may be left beside the addresses.
    pub text_bytes_max: f64,
}

/// The addresses of one list, 32 bytes each, or the failure of the first invalid one.
#[napi(object, object_from_js = false)]
pub struct PackedList {
    pub keys: Option<Uint8Array>,
    pub failure: Option<Failure>,
}

/// A message without its lists of addresses, or why it is refused.
#[napi(object, object_from_js = false)]
pub struct PackedMessage {
    #[napi(ts_type = "'parseError' | 'batchTooLong' | 'messageTooLong'")]
    pub refusal: Option<String>,
    /// In place of each list that is the first parameter of a call is an array with one text, `#`
    /// and the index in `lists`.
    pub text: Uint8Array,
    pub lists: Vec<PackedList>,
    /// Begin and end of each element of a batch in the original message.
    pub elements: Uint32Array,
}

impl PackedList {
    fn of(list: AddressList) -> PackedList {
        match list {
            Ok(keys) => PackedList {
                keys: Some(Uint8Array::new(keys.into_flattened())),
                failure: None,
            },
            Err(error) => PackedList {
                keys: None,
                failure: Some(Failure::from(&error)),
            },
        }
    }
}

impl PackedMessage {
    fn of(outcome: std::result::Result<Packed, Refusal>) -> PackedMessage {
        let refusal = outcome.as_ref().err().map(|refusal| match refusal {
            Refusal::ParseError => "parseError",
            Refusal::BatchTooLong => "batchTooLong",
            Refusal::MessageTooLong => "messageTooLong",
        });
        let (text, lists, elements) = match outcome {
            Ok(packed) => (packed.text, packed.lists, packed.elements),
            Err(_) => (Vec::new(), Vec::new(), Vec::new()),
        };
        let positions = elements.iter().flat_map(|(start, end)| [start, end]);
        PackedMessage {
            refusal: refusal.map(String::from),
            text: Uint8Array::new(text),
            lists: lists.into_iter().map(PackedList::of).collect(),
            elements: Uint32Array::new(positions.map(|at| *at as u32).collect()),
        }
    }
}

/// Packs a copy of `body` on the pool of scans. Throws `overloaded` if too many tasks wait.
pub fn pack_later<'env>(
    env: &'env Env,
    pools: &Arc<Pools>,
    body: &Bytes<'_>,
    limits: &MessageLimits,
) -> Result<Object<'env>> {
    let limits = guard(|| {
        let count = |number, what| whole(number, u32::MAX, what).map(|count| count as usize);
        Ok(Limits {
            calls_max: count(limits.calls_max, "callsMax")?,
            nesting_max: count(limits.nesting_max, "nestingMax")?,
            text_bytes_max: count(limits.text_bytes_max, "textBytesMax")?,
        })
    })?;
    guard(|| {
        let has_room = pools.scan.has_room();
        has_room.then_some(()).ok_or(Error::Overloaded)
    })?;
    let (deferred, promise) = deferred::<PackedMessage>(env)?;
    let body = guard(|| body.to_vec())?;
    let job = move || {
        let outcome = pack(&body, &limits);
        deferred.resolve(Box::new(move |_| Ok(PackedMessage::of(outcome))));
    };
    guard(|| pools.scan.submit(job))?;
    Ok(promise)
}
