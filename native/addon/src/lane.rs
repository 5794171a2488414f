//! The fast lane as one bare Node-API function. Generated glue (class look-up, borrow tracking,
//! converters) costs as much as the read itself, so this one function is written by hand;
//! everything else goes through `#[napi]`.

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

/// Bits of a reply's length in what the function returns.
pub const METHOD_SHIFT: u32 = 24;

/// What a reader and its function share. Both live on JavaScript's one thread.
pub struct Lane {
    /// Gone once the reader is closed.
    pub store: Option<Arc<Store>>,
    /// Reused: a reply is built here and copied out, so that one which does not fit harms nothing.
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
    /// The reply's length plus 2^24 times the method's number, or 0 where the ordinary way must
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

/// Makes the JavaScript function `(body: Uint8Array) => number` of a lane.
pub fn create_function(env: &Env, lane: SharedLane) -> Checked<sys::napi_value> {
    let data = Box::into_raw(Box::new(lane)).cast::<c_void>();
    let mut function = ptr::null_mut();
    // SAFETY: `env` is the calling environment. `data` lives until the finaliser, which runs once,
    // when the function is collected; where one of the calls fails it is freed here, and nothing
    // holds it.
    let status = unsafe {
        let created = sys::napi_create_function(
            env.raw(),
            c"fast".as_ptr(),
            4,
            Some(call),
            data,
            &mut function,
        );
        if created == sys::Status::napi_ok {
            sys::napi_add_finalizer(
                env.raw(),
                function,
                data,
                Some(finalize),
                ptr::null_mut(),
                ptr::null_mut(),
            )
        } else {
            created
        }
    };
    if status == sys::Status::napi_ok {
        return Ok(function);
    }
    // SAFETY: made above by `Box::into_raw`, and handed to nobody.
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
    let mut argument_count = 1;
    let mut argument = ptr::null_mut();
    let mut data = ptr::null_mut();
    let (mut kind, mut length, mut bytes) = (0, 0, ptr::null_mut());
    let mut result = ptr::null_mut();
    // SAFETY: Node-API calls with out-pointers to locals. `data` is the box of `create_function`,
    // alive as long as the function that is being called. The body's memory is JavaScript's and
    // stands still during this call.
    unsafe {
        let is_read = sys::napi_get_cb_info(
            env,
            info,
            &mut argument_count,
            &mut argument,
            ptr::null_mut(),
            &mut data,
        ) == sys::Status::napi_ok
            && argument_count >= 1
            && sys::napi_get_typedarray_info(
                env,
                argument,
                &mut kind,
                &mut length,
                &mut bytes,
                ptr::null_mut(),
                ptr::null_mut(),
            ) == sys::Status::napi_ok
            && kind == sys::TypedarrayType::uint8_array
            && !bytes.is_null();
        let answered = if is_read {
            let lane = &*data.cast::<SharedLane>();
            let body = std::slice::from_raw_parts(bytes.cast::<u8>(), length);
            // Nothing here calls JavaScript, so the lane is never borrowed twice.
            lane.try_borrow_mut()
                .map_or(0, |mut lane| lane.answer(body))
        } else {
            0
        };
        sys::napi_create_uint32(env, answered, &mut result);
    }
    result
}
