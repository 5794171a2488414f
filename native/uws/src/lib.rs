//! The HTTP and WebSocket server: uWebSockets, compiled from source with the patches in `patches/`,
//! and its binding to JavaScript in `cpp/`.

#![deny(clippy::all)]

use std::ffi::{c_char, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;

// Of the build script, tested with the crate.
#[cfg(test)]
#[path = "../headers.rs"]
mod headers;

/// Answers requests before any JavaScript runs.
pub trait Answer {
    /// The whole reply to a request with this token; `None` where JavaScript must handle it.
    fn answer(&mut self, token: &[u8], body: &[u8]) -> Option<&[u8]>;
}

/// What an app's requests are answered with.
type Mounted = Box<dyn Answer>;

type Call = unsafe extern "C" fn(
    data: *mut c_void,
    token: *const c_char,
    token_length: usize,
    body: *const c_char,
    body_length: usize,
    reply: *mut *const c_char,
) -> usize;

unsafe extern "C" {
    fn slotline_server_functions(env: *mut c_void) -> *mut c_void;
    fn slotline_mount_answer(
        app: f64,
        answer: Call,
        data: *mut c_void,
        type_lines: *const c_char,
        type_lines_length: usize,
        body_bytes_max: usize,
    ) -> bool;
}

/// The object with the server's functions as a `napi_value`; `None` where the environment has no
/// event loop.
///
/// # Safety
///
/// `env` must be the `napi_env` of the running call from JavaScript.
pub unsafe fn functions(env: *mut c_void) -> Option<*mut c_void> {
    // SAFETY: the caller passes the environment of the running call.
    let functions = unsafe { slotline_server_functions(env) };
    (!functions.is_null()).then_some(functions)
}

/// Answers requests of an app of this thread with up to `body_bytes_max` bytes. `type_lines` is the
/// value of the reply's Content-Type, and the header lines after it. False where there is no such
/// app. Apps are never freed, so what is mounted is not either.
pub fn mount(
    app: f64,
    answer: impl Answer + 'static,
    type_lines: &str,
    body_bytes_max: usize,
) -> bool {
    let mounted: Mounted = Box::new(answer);
    let data = Box::into_raw(Box::new(mounted));
    let (lines, length) = (type_lines.as_ptr().cast(), type_lines.len());
    // SAFETY: `call` gets `data` back, which lives on unless it is freed below; the lines are
    // copied.
    let is_mounted =
        unsafe { slotline_mount_answer(app, call, data.cast(), lines, length, body_bytes_max) };
    if !is_mounted {
        // SAFETY: made above, and kept by nothing else.
        drop(unsafe { Box::from_raw(data) });
    }
    is_mounted
}

/// Called by the server on its thread, never from within itself.
unsafe extern "C" fn call(
    data: *mut c_void,
    token: *const c_char,
    token_length: usize,
    body: *const c_char,
    body_length: usize,
    reply: *mut *const c_char,
) -> usize {
    // SAFETY: what `mount` made, used by one call at a time.
    let mounted = unsafe { &mut *data.cast::<Mounted>() };
    // SAFETY: bytes of the request, which do not change during the call.
    let token = unsafe { bytes(token, token_length) };
    // SAFETY: the same.
    let body = unsafe { bytes(body, body_length) };
    let answer = || {
        let reply = mounted.answer(token, body)?;
        Some((reply.as_ptr(), reply.len()))
    };
    let Ok(Some((first, length))) = catch_unwind(AssertUnwindSafe(answer)) else {
        return 0;
    };
    // SAFETY: an out-pointer to a local of the caller.
    unsafe { ptr::write(reply, first.cast()) };
    length
}

/// # Safety
///
/// `length` bytes that live and do not change as long as the slice, unless there are none.
unsafe fn bytes<'a>(first: *const c_char, length: usize) -> &'a [u8] {
    if length == 0 {
        return &[];
    }
    // SAFETY: as the caller says.
    unsafe { std::slice::from_raw_parts(first.cast(), length) }
}
