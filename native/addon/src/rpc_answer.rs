//! Parses accounts from answers of an upstream RPC while they arrive.

use ingest::rpc_rows::{RpcRows, Wanted};
use napi::Env;
use napi::bindgen_prelude::{Uint8Array, Uint8ArraySlice};
use napi_derive::napi;

use crate::arguments::{integer, pubkeys, wrong};
use crate::bytes;
use crate::failure::{Result, guard};
use crate::js_bytes::{Bytes, CopiedBytes};

/// The upstream's own error.
#[napi(object, object_from_js = false)]
pub struct RpcAnswerError {
    pub code: f64,
    pub message: String,
}

/// How long the data of how many accounts is.
#[napi(object, object_from_js = false)]
pub struct RpcAnswerSize {
    pub bytes: f64,
    pub count: f64,
}

/// A mint among the rows, and its token program.
#[napi(object, object_from_js = false)]
pub struct RpcAnswerMint {
    pub mint: Uint8Array,
    pub program: Uint8Array,
}

/// What an answer was, beside its rows.
#[napi(object, object_from_js = false)]
pub struct RpcAnswerEnd {
    /// The slot of its context, where it has one.
    pub slot: Option<f64>,
    pub rows: f64,
    pub pagination_key: Option<String>,
    pub error: Option<RpcAnswerError>,
    /// For `sizes`; empty where there are too many.
    pub sizes: Vec<RpcAnswerSize>,
    /// For `positional`: the mints of the token accounts, 32 bytes each.
    pub mints: Uint8Array,
    /// For `positional`: the mints themselves.
    pub programs: Vec<RpcAnswerMint>,
}

/// One answer in transfer. It takes the memory of its largest account.
#[napi]
pub struct RpcAnswer {
    rows: Option<RpcRows>,
}

#[napi]
impl RpcAnswer {
    /// `wanted` is `listed`, `positional` (one account for each of `keys`) or `sizes`. `slot`
    /// stamps the rows of an answer without a context.
    #[napi(constructor)]
    pub fn new(
        wanted: String,
        #[napi(ts_arg_type = "Uint8Array | undefined | null")] keys: Option<CopiedBytes>,
        slot: Option<f64>,
    ) -> Result<RpcAnswer> {
        guard(|| {
            let wanted = match wanted.as_str() {
                "listed" => Wanted::Listed,
                "sizes" => Wanted::Sizes,
                "positional" => {
                    let keys = keys.ok_or_else(|| wrong("positional needs keys"))?;
                    Wanted::Positional(pubkeys(&keys)?.to_vec())
                }
                _ => return Err(wrong("wanted must be listed, positional or sizes")),
            };
            let slot = slot.map(|slot| integer(slot, "slot")).transpose()?;
            Ok(RpcAnswer {
                rows: Some(RpcRows::new(wanted, slot)),
            })
        })
    }

    /// Takes the next bytes of the body. Returns the accounts that are whole, packed.
    #[napi]
    pub fn feed<'env>(
        &mut self,
        env: &'env Env,
        #[napi(ts_arg_type = "Uint8Array")] chunk: Bytes<'_>,
    ) -> Result<Uint8ArraySlice<'env>> {
        guard(|| {
            let rows = self.rows.as_mut().ok_or_else(ended)?;
            let mut out = Vec::new();
            chunk.read(|chunk| rows.feed(chunk, &mut out))?;
            bytes(env, &out)
        })
    }

    /// Ends the answer. Throws where it is not whole.
    #[napi]
    pub fn end(&mut self) -> Result<RpcAnswerEnd> {
        guard(|| {
            let end = self.rows.take().ok_or_else(ended)?.end()?;
            Ok(RpcAnswerEnd {
                slot: end.slot.map(|slot| slot as f64),
                rows: end.rows as f64,
                pagination_key: end.pagination_key,
                error: end.error.map(|error| RpcAnswerError {
                    code: error.code as f64,
                    message: error.message,
                }),
                sizes: end
                    .sizes
                    .into_iter()
                    .map(|(bytes, count)| RpcAnswerSize {
                        bytes: bytes as f64,
                        count: count as f64,
                    })
                    .collect(),
                mints: Uint8Array::from(end.mints.concat()),
                programs: end
                    .programs
                    .into_iter()
                    .map(|(mint, program)| RpcAnswerMint {
                        mint: Uint8Array::from(mint.to_vec()),
                        program: Uint8Array::from(program.id().to_vec()),
                    })
                    .collect(),
            })
        })
    }
}

fn ended() -> sys::error::Error {
    wrong("this answer has ended")
}
