//! The fast lane as one plain Node-API function. Generated glue (class look-up, borrow tracking,
//! conversions) costs as much as the read itself, so only this function is written by hand. All
//! others use `#[napi]`.

use std::cell::RefCell;
use std::ffi::c_void;
use std::ptr;
use std::rc::Rc;
use std::sync::Arc;

use ::sys::error::{Error, Result as Checked};
use napi::bindgen_prelude::Uint8Array;
use napi::{Env, sys};
use store::Store;
use wire::fast_lane::{self, Recent};

use crate::failure::guard;

/// Bits for a reply's length in the function's result. The method's number is above them.
pub const METHOD_SHIFT: u32 = 24;

/// State shared by a reader and its function. Both are used on JavaScript's thread only.
pub struct Lane {
    /// `None` once the reader is closed.
    pub store: Option<Arc<Store>>,
    /// A reused buffer. Replies are built here and copied out, so one that does not fit changes
    /// nothing.
    scratch: Vec<u8>,
    recent: Recent,
    out: Uint8Array,
}

pub type SharedLane = Rc<RefCell<Lane>>;

pub fn shared_lane(store: Arc<Store>, recent: Recent, out: Uint8Array) -> SharedLane {
    Rc::new(RefCell::new(Lane {
        store: Some(store),
        scratch: Vec::new(),
        recent,
        out,
    }))
}

impl Lane {
    /// Appends the whole reply and returns the method's number; `None`, with nothing appended,
    /// where the general path must answer.
    pub fn answer_into(&mut self, body: &[u8], out: &mut Vec<u8>) -> Option<usize> {
        let store = self.store.as_deref()?;
        fast_lane::answer_method(body, store, &mut self.recent, out).map(|method| method as usize)
    }

    /// The reply's length plus 2^24 times the method's number, or 0 where the general path must
    /// answer.
    fn answer(&mut self, body: &[u8]) -> u32 {
        let Some(store) = self.store.as_deref() else {
            return 0;
        };
        let (scratch, recent) = (&mut self.scratch, &mut self.recent);
        scratch.clear();
        let answered = guard(|| Ok(fast_lane::answer_method(body, store, recent, scratch)));
        // SAFETY: the lane holds the buffer alive, and only this thread touches it.
        let out = unsafe { self.out.as_mut() };
        match (answered, out.get_mut(..scratch.len())) {
            (Ok(Some(method)), Some(out)) => {
                out.copy_from_slice(scratch);
                ((method as u32) << METHOD_SHIFT) | out.len() as u32
            }
            _ => 0,
        }
    }
}

/// Creates the JavaScript function `(body: Uint8Array) => number` of a lane.
pub fn create_function(env: &Env, lane: SharedLane) -> Checked<sys::napi_value> {
    let data = Box::into_raw(Box::new(lane)).cast::<c_void>();
    let mut function = ptr::null_mut();
    let name = c"fast".as_ptr();
    // SAFETY: `env` is the calling environment, and the name has 4 bytes. `data` lives until the
    // finaliser runs; where one of the two calls fails it is freed below, and nothing holds it.
    let mut status =
        unsafe { sys::napi_create_function(env.raw(), name, 4, Some(call), data, &mut function) };
    if status == sys::Status::napi_ok {
        let none = ptr::null_mut();
        // SAFETY: `function` was made above. Its finaliser runs once, when it is collected.
        status = unsafe {
            sys::napi_add_finalizer(
                env.raw(),
                function,
                data,
                Some(finalize),
                none,
                ptr::null_mut(),
            )
        };
    }
    if status == sys::Status::napi_ok {
        return Ok(function);
    }
    // SAFETY: made above by `Box::into_raw`, and owned by nothing else.
    drop(unsafe { Box::from_raw(data.cast::<SharedLane>()) });
    Err(Error::Internal(format!(
        "the fast lane's function cannot be made: status {status}"
    )))
}

unsafe extern "C" fn finalize(_env: sys::napi_env, data: *mut c_void, _hint: *mut c_void) {
    // SAFETY: the pointer that `create_function` made, given back once.
    drop(unsafe { Box::from_raw(data.cast::<SharedLane>()) });
}

unsafe extern "C" fn call(env: sys::napi_env, info: sys::napi_callback_info) -> sys::napi_value {
    let answered = argument_of(env, info).map_or(0, |(lane, body)| {
        // Nothing here calls JavaScript, so the lane is never borrowed twice.
        lane.try_borrow_mut()
            .map_or(0, |mut lane| lane.answer(body))
    });
    let mut result = ptr::null_mut();
    // SAFETY: an out-pointer to a local, within a call from JavaScript.
    unsafe { sys::napi_create_uint32(env, answered, &mut result) };
    result
}

/// The lane of the current call and its body; `None` if the argument is not a `Uint8Array`. Neither
/// may be used after the call.
fn argument_of<'c>(
    env: sys::napi_env,
    info: sys::napi_callback_info,
) -> Option<(&'c SharedLane, &'c [u8])> {
    let none = ptr::null_mut();
    let (mut count, mut argument, mut data) = (1, ptr::null_mut(), ptr::null_mut());
    // SAFETY: out-pointers to locals, of which `argument` holds the one value that `count` allows.
    let status =
        unsafe { sys::napi_get_cb_info(env, info, &mut count, &mut argument, none, &mut data) };
    if status != sys::Status::napi_ok || count == 0 {
        return None;
    }
    let (mut kind, mut length, mut bytes) = (0, 0, ptr::null_mut());
    let (buffer, offset) = (ptr::null_mut(), ptr::null_mut());
    // SAFETY: out-pointers to locals, or null where a value is not wanted.
    let status = unsafe {
        sys::napi_get_typedarray_info(
            env,
            argument,
            &mut kind,
            &mut length,
            &mut bytes,
            buffer,
            offset,
        )
    };
    let is_bytes = kind == sys::TypedarrayType::uint8_array && !bytes.is_null();
    if status != sys::Status::napi_ok || !is_bytes {
        return None;
    }
    // SAFETY: the box of `create_function`, which lives as long as the function.
    let lane = unsafe { &*data.cast::<SharedLane>() };
    // SAFETY: JavaScript's memory, which does not move or change during this call.
    let body = unsafe { std::slice::from_raw_parts(bytes.cast::<u8>(), length) };
    Some((lane, body))
}
