//! The fast lane as one plain Node-API function. Generated glue (class look-up, borrow tracking,
//! conversions) costs as much as the read itself, so only this function is written by hand. All
//! others use `#[napi]`.

use std::cell::RefCell;
use std::ffi::c_void;
use std::ptr;
use std::rc::Rc;
use std::sync::Arc;

use ::sys::error::{Error, Result as Checked};
use napi::{Env, sys};
use store::Store;
use wire::fast_lane::{self, Blockhashes, Recent};

use crate::failure::guard;
use crate::js_bytes::{Bytes, Output, pair};

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
    pub blockhashes: Blockhashes,
}

pub type SharedLane = Rc<RefCell<Lane>>;

pub fn shared_lane(store: Arc<Store>, recent: Recent) -> SharedLane {
    Rc::new(RefCell::new(Lane {
        store: Some(store),
        scratch: Vec::new(),
        recent,
        blockhashes: Blockhashes::Answered,
    }))
}

impl Lane {
    /// Appends the whole reply and returns the method's number; `None`, with nothing appended,
    /// where the general path must answer.
    pub fn answer_into(&mut self, body: &[u8], out: &mut Vec<u8>) -> Option<usize> {
        let store = self.store.as_deref()?;
        let recent = &mut self.recent;
        fast_lane::answer_method(body, store, recent, self.blockhashes, out)
            .map(|method| method as usize)
    }

    /// The reply's length plus 2^24 times the method's number, or 0 where the general path must
    /// answer.
    fn answer(&mut self, body: &Bytes<'_>, out: &Output<'_>) -> Checked<u32> {
        let Some(store) = self.store.as_deref() else {
            return Ok(0);
        };
        let (scratch, recent) = (&mut self.scratch, &mut self.recent);
        let blockhashes = self.blockhashes;
        scratch.clear();
        let answered = body.read(|body| {
            Ok(fast_lane::answer_method(
                body,
                store,
                recent,
                blockhashes,
                scratch,
            ))
        });
        let Some(method) = answered? else {
            return Ok(0);
        };
        let written = u32::try_from(out.copy(scratch)?).unwrap_or(0);
        if written == 0 || written >= 1 << METHOD_SHIFT {
            return Ok(0);
        }
        Ok(((method as u32) << METHOD_SHIFT) | written)
    }
}

/// Creates the JavaScript function `(body: Uint8Array, out: Uint8Array) => number` of a lane.
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
    let answered = arguments_of(env, info).map_or(0, |(lane, body, out)| {
        // Nothing here calls JavaScript, so the lane is never borrowed twice.
        lane.try_borrow_mut().map_or(0, |mut lane| {
            guard(|| lane.answer(&body, &out)).unwrap_or(0)
        })
    });
    let mut result = ptr::null_mut();
    // SAFETY: an out-pointer to a local, within a call from JavaScript.
    unsafe { sys::napi_create_uint32(env, answered, &mut result) };
    result
}

/// The lane of the current call and its arguments; `None` if there are fewer than two. None of them
/// may be used after the call.
fn arguments_of<'c>(
    env: sys::napi_env,
    info: sys::napi_callback_info,
) -> Option<(&'c SharedLane, Bytes<'c>, Output<'c>)> {
    let none = ptr::null_mut();
    let (mut count, mut arguments, mut data) = (2, [ptr::null_mut(); 2], ptr::null_mut());
    let first = arguments.as_mut_ptr();
    // SAFETY: out-pointers to locals, of which `arguments` holds the two values that `count`
    // allows.
    let status = unsafe { sys::napi_get_cb_info(env, info, &mut count, first, none, &mut data) };
    if status != sys::Status::napi_ok || count < 2 {
        return None;
    }
    let (body, out) = pair(env, arguments);
    // SAFETY: the box of `create_function`, which lives as long as the function.
    let lane = unsafe { &*data.cast::<SharedLane>() };
    Some((lane, body, out))
}
