//! The addon: `#[napi]` functions only. Each checks its arguments, calls the native crates
//! and converts the result.

#![deny(clippy::all)]
#![cfg_attr(
    test,
    allow(dead_code, reason = "nothing is exported in a build of tests")
)]

mod arguments;
mod copy;
mod corrections;
mod failure;
mod fanout;
mod fast_lane;
mod feed;
mod grpc;
mod indexer;
mod js_bytes;
mod limits;
mod loader;
mod message;
mod options;
mod pages;
mod promises;
mod quic;
mod reader;
mod rpc_answer;
mod spool;
mod stats;
mod store_inspector;
mod tasks;
mod transactions;
mod upstream;
mod usage_store;

use std::sync::Mutex;
use std::time::Duration;

use napi::Env;
use napi::bindgen_prelude::{Float64Array, Object, Uint8Array, Uint8ArraySlice};
use napi_derive::napi;
use primitives::encoding;
use sys::process::LockFile;

use failure::{Result, guard};
use js_bytes::Bytes;

/// Decodes a base58 address. Throws `pubkeyDecode` or `pubkeySize`.
#[napi]
pub fn decode_pubkey<'env>(env: &'env Env, text: String) -> Result<Uint8ArraySlice<'env>> {
    guard(|| bytes(env, &encoding::decode_pubkey(&text)?))
}

/// Decodes base58 addresses into 32 bytes each, one after the other. Throws for the first that is
/// none.
#[napi]
pub fn decode_pubkeys<'env>(env: &'env Env, texts: Vec<String>) -> Result<Uint8ArraySlice<'env>> {
    guard(|| bytes(env, encoding::decode_pubkeys(&texts)?.as_flattened()))
}

/// Writes 32 bytes as base58.
#[napi]
pub fn encode_pubkey(#[napi(ts_arg_type = "Uint8Array")] pubkey: Bytes<'_>) -> Result<String> {
    guard(|| Ok(encoding::encode_pubkey(&pubkey.pubkey()?)))
}

/// Decodes `memcmp.bytes`; `encoding` is `base58` or `base64`. Throws `memcmpBytes`.
#[napi]
pub fn decode_memcmp<'env>(
    env: &'env Env,
    text: String,
    encoding: String,
) -> Result<Uint8ArraySlice<'env>> {
    guard(|| {
        let encoding = arguments::bytes_encoding(&encoding)?;
        bytes(env, &encoding::decode_memcmp(&text, encoding)?)
    })
}

/// Copies into JavaScript's memory: an external buffer of a few bytes would cost a finaliser.
fn bytes<'env>(env: &'env Env, bytes: &[u8]) -> sys::error::Result<Uint8ArraySlice<'env>> {
    Uint8ArraySlice::copy_from(env, bytes)
        .map_err(|error| sys::error::Error::Internal(error.reason.to_string()))
}

/// Ends this process with its parent (SIGKILL); false where the parent has ended already.
#[napi]
pub fn die_with_parent(parent_pid: f64) -> Result<bool> {
    guard(|| {
        let parent = arguments::whole(parent_pid, i32::MAX as u32, "a process id")?;
        sys::process::die_with_parent(parent)
    })
}

/// The maximum that Linux accepts.
const SLICE_MICROS_MAX: u32 = 100_000;

/// Milliseconds since the machine was started, by a clock that counts while it is suspended.
#[napi]
pub fn boot_ms() -> f64 {
    sys::boot_clock::boot_ms()
}

/// Asks for turns of at most `micros` of the processor for the calling thread; 0 is the system's
/// own length.
#[napi]
pub fn set_slice(micros: f64) -> Result<()> {
    guard(|| {
        let micros = arguments::whole(micros, SLICE_MICROS_MAX, "microseconds")?;
        sys::process::set_slice(micros.into())
    })
}

/// Gives the calling thread a realtime priority; false where the system does not allow it.
#[napi]
pub fn set_realtime() -> Result<bool> {
    guard(sys::process::set_realtime)
}

/// Bounds what the kernel takes and has not sent for each connection that this process accepts from
/// now on; returns the number of listening sockets.
#[napi]
pub fn bound_unsent(bytes: f64) -> Result<u32> {
    guard(|| {
        let bytes = arguments::whole(bytes, i32::MAX as u32, "bytes")?;
        sys::process::bound_unsent(bytes)
    })
}

/// Takes `setRealtime` back.
#[napi]
pub fn set_ordinary() -> Result<()> {
    guard(sys::process::set_ordinary)
}

/// Sends a message to the service manager's datagram socket.
#[napi]
pub fn notify_service_manager(socket: String, message: String) -> Result<()> {
    guard(|| sys::service_manager::notify(&socket, &message))
}

static LOCKS: Mutex<Vec<LockFile>> = Mutex::new(Vec::new());

/// Takes a lock file for the life of this process; false where another process holds it.
#[napi]
pub fn lock_file(path: String) -> Result<bool> {
    guard(|| {
        let Some(lock) = LockFile::take(path.as_ref())? else {
            return Ok(false);
        };
        LOCKS
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
            .push(lock);
        Ok(true)
    })
}

/// Locks the file of a descriptor for this process and those that inherit it; false where another
/// one holds the lock.
#[napi]
pub fn lock_descriptor(descriptor: f64) -> Result<bool> {
    guard(|| {
        let descriptor = arguments::whole(descriptor, i32::MAX as u32, "a descriptor")?;
        sys::process::lock_descriptor(descriptor as i32)
    })
}

/// Opens a listening TCP socket, which is closed by its descriptor only.
#[napi]
pub fn open_listener(host: String, port: f64) -> Result<i32> {
    guard(|| {
        let port = arguments::whole(port, u32::from(u16::MAX), "a port")?;
        sys::listener::open(&host, port as u16)
    })
}

/// Opens a bound UDP socket, which is closed by its descriptor only.
#[napi]
pub fn open_datagrams(host: String, port: f64) -> Result<i32> {
    guard(|| {
        let port = arguments::whole(port, u32::from(u16::MAX), "a port")?;
        sys::datagram::open(&host, port as u16)
    })
}

/// Decides which of the UDP sockets of a port gets a packet, by the slots of the edges: those that
/// have connections, and those that take new ones.
#[napi]
pub fn route_datagrams(
    descriptor: f64,
    #[napi(ts_arg_type = "Uint8Array")] serving: Bytes<'_>,
    #[napi(ts_arg_type = "Uint8Array")] accepting: Bytes<'_>,
) -> Result<()> {
    guard(|| {
        let descriptor = arguments::whole(descriptor, i32::MAX as u32, "a descriptor")?;
        let (serving, accepting) = (serving.to_vec()?, accepting.to_vec()?);
        sys::datagram::route(descriptor as i32, &serving, &accepting)
    })
}

/// As many as the shared cells of a file. Rejects a wrong argument before it fills the disk.
const ALLOCATED_BYTES_MAX: u32 = (sys::shared_cells::CELLS_MAX * size_of::<f64>()) as u32;

/// Allocates disk blocks for the first `bytes` bytes of a file, which is created or extended with
/// zeros where needed. It must not be a file on which this process holds locks.
#[napi]
pub fn allocate_file(path: String, bytes: f64) -> Result<()> {
    guard(|| {
        let bytes = arguments::whole(bytes, ALLOCATED_BYTES_MAX, "a number of bytes")?;
        sys::allocate::allocate_path(path.as_ref(), u64::from(bytes)).map(drop)
    })
}

/// Maps `count` 8-byte cells that every process which maps the same file sees.
#[napi]
pub fn shared_cells(path: String, count: f64) -> Result<Float64Array> {
    guard(|| {
        let count = arguments::whole(count, u32::MAX, "a count of cells")?;
        fast_lane::cells::map(&path, count as usize)
    })
}

/// Certificate authorities of the system, each as DER: those that the feed and transfers of
/// archives trust.
#[napi]
pub fn system_authorities() -> Result<Vec<Uint8Array>> {
    guard(|| {
        let found = ingest::archive::system_authorities();
        Ok(found.iter().map(|der| der.to_vec().into()).collect())
    })
}

/// Functions of the server that is compiled with this addon, for `src/server/compiled/`; null
/// where the environment has no event loop.
#[napi(ts_return_type = "object | null")]
pub fn server_functions<'env>(env: &'env Env) -> Option<Object<'env>> {
    // SAFETY: the environment of this call.
    let functions = unsafe { uws::functions(env.raw().cast()) }?;
    Some(Object::from_raw(env.raw(), functions.cast()))
}

/// Processor time of two loops over the same signatures.
#[napi(object, object_from_js = false)]
pub struct LoopTimes {
    /// Signatures that were right.
    pub signatures: u32,
    pub bare_micros: f64,
    pub checked_micros: f64,
}

/// What the check of a batch costs beside a bare loop over its signatures, on this thread: for a
/// bench.
#[napi]
pub fn compare_loops(#[napi(ts_arg_type = "Uint8Array")] body: Bytes<'_>) -> Result<LoopTimes> {
    guard(|| {
        let loops = body.read(|body| Ok(transaction::compare_loops(body)))?;
        let micros = |time: Duration| time.as_nanos() as f64 / 1_000.0;
        Ok(LoopTimes {
            signatures: loops.signatures as u32,
            bare_micros: micros(loops.bare),
            checked_micros: micros(loops.checked),
        })
    })
}
