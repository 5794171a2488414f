//! Options from JavaScript. Their defaults, units and reasons are in `src/`; there are no defaults
//! here.

use napi_derive::napi;
use primitives::Pubkey;
use store::{Changed, Options, Scope};
use sys::error::Result;

use crate::arguments::{count, pubkey, whole};
use crate::js_bytes::CopiedBytes;

/// Maximum read slots: more than the threads of all processes of a machine.
const READERS_MAX: u32 = 32_768;

/// The accounts that a scoped store keeps.
#[napi(object, object_to_js = false)]
pub struct ScopeOptions {
    #[napi(ts_type = "Array<Uint8Array>")]
    pub programs: Vec<CopiedBytes>,
    #[napi(ts_type = "Array<Uint8Array>")]
    pub mints: Vec<CopiedBytes>,
    #[napi(ts_type = "Array<Uint8Array>")]
    pub pubkeys: Vec<CopiedBytes>,
}

/// How a store is opened; the same in every process.
#[napi(object, object_to_js = false)]
pub struct StoreOptions {
    pub map_bytes: f64,
    pub readers_max: f64,
    pub disk_reserve_bytes: f64,
    /// Memory of the machine or the control group; absent is enough for the whole store.
    pub memory_bytes: Option<f64>,
    /// Programs whose changes are indexed by slot; absent is all, empty is none.
    #[napi(ts_type = "Array<Uint8Array>")]
    pub changed_programs: Option<Vec<CopiedBytes>>,
    /// Absent is every account.
    pub scope: Option<ScopeOptions>,
    pub feed_ms: f64,
    pub feed_bytes_max: f64,
    pub signature_slots_max: f64,
}

/// The pools of one process.
#[napi(object)]
pub struct PoolOptions {
    pub scan_threads: f64,
    /// Added to the niceness of scan threads.
    pub scan_niceness: f64,
    pub stream_threads: f64,
    /// Jobs that may wait for each pool.
    pub queue_max: f64,
    /// Bytes of replies that were produced and not yet taken, over all replies.
    pub reply_bytes_in_flight_max: f64,
    /// The same for one streamed reply.
    pub stream_bytes_max: f64,
}

fn pubkeys(list: &[CopiedBytes]) -> Result<Vec<Pubkey>> {
    list.iter().map(|bytes| pubkey(bytes)).collect()
}

impl StoreOptions {
    pub fn to_native(&self) -> Result<Options> {
        let changed = match &self.changed_programs {
            None => Changed::All,
            Some(list) if list.is_empty() => Changed::None,
            Some(list) => Changed::Programs(pubkeys(list)?),
        };
        let scope = match &self.scope {
            None => Scope::All,
            Some(scope) => Scope::Listed {
                programs: pubkeys(&scope.programs)?,
                mints: pubkeys(&scope.mints)?,
                pubkeys: pubkeys(&scope.pubkeys)?,
            },
        };
        Ok(Options {
            map_bytes: count(self.map_bytes, "mapBytes")? as usize,
            readers_max: whole(self.readers_max, READERS_MAX, "readersMax")?,
            disk_reserve_bytes: count(self.disk_reserve_bytes, "diskReserveBytes")?,
            memory_bytes: self
                .memory_bytes
                .map(|bytes| count(bytes, "memoryBytes"))
                .transpose()?,
            changed,
            scope,
            feed_ms: count(self.feed_ms, "feedMs")?,
            feed_bytes_max: count(self.feed_bytes_max, "feedBytesMax")?,
            signature_slots_max: count(self.signature_slots_max, "signatureSlotsMax")?,
        })
    }
}
