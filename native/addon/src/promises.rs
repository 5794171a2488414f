//! Promises that other threads settle.
//!
//! Node-API's standard solution is one thread-safe function per promise. Each creates and closes a
//! handle of the event loop, and wakes the loop while it holds a lock that the loop takes first.
//! The loop has short time slices, so it runs at once and then waits for a niced thread that it has
//! just preempted. Here one handle serves all promises of a loop, and the lock is released before
//! the loop is woken ([`LoopQueue`]).

use std::cell::{Cell, RefCell};
use std::ffi::{c_int, c_void};
use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use ::sys::error::Error;
use ::sys::loop_queue::LoopQueue;
use napi::bindgen_prelude::{FromNapiValue, Object, ToNapiValue};
use napi::{Env, JsError, sys};

use crate::failure::{Result, guard, thrown};

/// What the event loop runs for one promise.
type Settle = Box<dyn FnOnce(&Env) + Send>;
/// Creates the value of a promise, on the event loop's thread.
type Make<T> = Box<dyn FnOnce(&Env) -> napi::Result<T> + Send>;

/// After this time the other promises are settled in the next turn of the event loop: JavaScript
/// may work for more than 1 ms on each.
const TURN: Duration = Duration::from_millis(1);

/// libuv's handle type of `uv_async_init`.
const UV_ASYNC: c_int = 1;

// SAFETY: the declarations of libuv, which Node.js exports.
unsafe extern "C" {
    fn uv_handle_size(kind: c_int) -> usize;
    fn uv_async_init(
        event_loop: *mut sys::uv_loop_s,
        handle: *mut c_void,
        callback: unsafe extern "C" fn(*mut c_void),
    ) -> c_int;
    fn uv_async_send(handle: *mut c_void) -> c_int;
    fn uv_handle_set_data(handle: *mut c_void, data: *mut c_void);
    fn uv_handle_get_data(handle: *const c_void) -> *mut c_void;
    fn uv_ref(handle: *mut c_void);
    fn uv_unref(handle: *mut c_void);
    fn uv_close(handle: *mut c_void, callback: Option<unsafe extern "C" fn(*mut c_void)>);
}

/// A libuv handle that is never freed: threads may still use it after its loop has ended.
#[derive(Clone, Copy)]
struct Handle(*mut c_void);

// SAFETY: other threads use it for `uv_async_send` alone, which libuv allows from any thread.
unsafe impl Send for Handle {}
// SAFETY: as above.
unsafe impl Sync for Handle {}

/// State shared by the loop and the threads that settle.
struct Shared {
    queue: LoopQueue<Settle>,
    handle: Handle,
}

impl Shared {
    /// Has the loop settle what waits; for [`LoopQueue`] alone.
    fn wake_loop(&self) {
        // SAFETY: the handle was made by `uv_async_init`, and is closed only after the queue, which
        // does not wake the loop then.
        unsafe { uv_async_send(self.handle.0) };
    }

    fn push(&self, settle: Settle) {
        self.queue.push(settle, || self.wake_loop());
    }
}

/// The event loop of one JavaScript thread.
struct EventLoop {
    env: sys::napi_env,
    context: sys::napi_async_context,
    shared: Arc<Shared>,
    /// Unsettled promises. They keep the loop alive.
    waiting: Cell<usize>,
}

thread_local! {
    static LOOP: RefCell<Option<&'static EventLoop>> = const { RefCell::new(None) };
}

fn check(status: c_int) -> std::result::Result<(), Error> {
    if status == sys::Status::napi_ok {
        return Ok(());
    }
    Err(Error::Internal(format!("Node-API answered {status}")))
}

impl EventLoop {
    /// Creates this thread's. It is never freed: there is one per JavaScript thread.
    fn open(env: &Env) -> std::result::Result<&'static EventLoop, Error> {
        let raw = env.raw();
        let mut event_loop = ptr::null_mut();
        let mut name = ptr::null_mut();
        let mut context = ptr::null_mut();
        // SAFETY: an out-pointer to a local, on the thread of `env`.
        check(unsafe { sys::napi_get_uv_event_loop(raw, &mut event_loop) })?;
        // SAFETY: a text of 8 bytes and an out-pointer to a local, on the thread of `env`.
        check(unsafe { sys::napi_create_string_utf8(raw, c"slotline".as_ptr(), 8, &mut name) })?;
        // SAFETY: a null resource is allowed; an out-pointer to a local, on the thread of `env`.
        check(unsafe { sys::napi_async_init(raw, ptr::null_mut(), name, &mut context) })?;
        // SAFETY: takes a number.
        let bytes = unsafe { uv_handle_size(UV_ASYNC) };
        // libuv's own numbers are at most eight bytes wide.
        let memory = vec![0u64; bytes.div_ceil(8)].leak();
        let handle = Handle(memory.as_mut_ptr().cast());
        let opened: &'static EventLoop = Box::leak(Box::new(EventLoop {
            env: raw,
            context,
            shared: Arc::new(Shared {
                queue: LoopQueue::default(),
                handle,
            }),
            waiting: Cell::new(0),
        }));
        let data = ptr::from_ref(opened).cast_mut().cast();
        // SAFETY: memory of the size that libuv asks for, which is never freed. The loop is this
        // thread's, and so is every further use of the handle but `uv_async_send`.
        if unsafe { uv_async_init(event_loop, handle.0, settle_all) } != 0 {
            return Err(Error::Internal("the event loop takes no handle".into()));
        }
        // SAFETY: an initialised handle; `opened` is never freed.
        unsafe { uv_handle_set_data(handle.0, data) };
        // SAFETY: an initialised handle of this thread's loop.
        unsafe { uv_unref(handle.0) };
        // SAFETY: `opened` is never freed, so the hook may use it at any time.
        check(unsafe { sys::napi_add_env_cleanup_hook(raw, Some(close), data) })?;
        Ok(opened)
    }

    fn of(env: &Env) -> std::result::Result<&'static EventLoop, Error> {
        LOOP.with_borrow_mut(|known| match known {
            Some(known) => Ok(*known),
            None => {
                let opened = EventLoop::open(env)?;
                *known = Some(opened);
                Ok(opened)
            }
        })
    }

    fn begin(&self) {
        let waiting = self.waiting.get();
        if waiting == 0 {
            // SAFETY: the handle of this thread's loop.
            unsafe { uv_ref(self.shared.handle.0) };
        }
        self.waiting.set(waiting + 1);
    }

    fn end(&self) {
        let waiting = self.waiting.get().saturating_sub(1);
        if waiting == 0 {
            // SAFETY: the handle of this thread's loop.
            unsafe { uv_unref(self.shared.handle.0) };
        }
        self.waiting.set(waiting);
    }

    /// Settles what other threads have finished, for about [`TURN`] in each turn of the loop.
    fn settle(&self) {
        let began = Instant::now();
        while began.elapsed() < TURN {
            let Some(settle) = self.shared.queue.take() else {
                return;
            };
            self.settle_one(settle);
        }
        let shared = &self.shared;
        shared.queue.wake_for_rest(|| shared.wake_loop());
    }

    /// Its microtasks run before this returns.
    fn settle_one(&self, settle: Settle) {
        let mut handles = ptr::null_mut();
        // SAFETY: an out-pointer to a local, on the thread of `env` and outside of JavaScript.
        let opened = unsafe { sys::napi_open_handle_scope(self.env, &mut handles) };
        if opened != sys::Status::napi_ok {
            return self.end();
        }
        let scope = self.open_callback_scope();
        // When the environment ends, JavaScript no longer runs and no promise can be settled.
        if scope.is_some() {
            let env = Env::from_raw(self.env);
            // A panic must not leave a scope open.
            let _ = catch_unwind(AssertUnwindSafe(|| settle(&env)));
        }
        self.end();
        if let Some(scope) = scope {
            // SAFETY: opened above on this thread; scopes are closed in the opposite order.
            unsafe { sys::napi_close_callback_scope(self.env, scope) };
        }
        // SAFETY: opened above on this thread, and every later scope is closed.
        unsafe { sys::napi_close_handle_scope(self.env, handles) };
    }

    /// Opens a callback scope; `None` when the environment ends.
    fn open_callback_scope(&self) -> Option<sys::napi_callback_scope> {
        let mut resource = ptr::null_mut();
        // SAFETY: an out-pointer to a local, within the handle scope of `settle`.
        let created = unsafe { sys::napi_create_object(self.env, &mut resource) };
        if created != sys::Status::napi_ok {
            return None;
        }
        let mut scope = ptr::null_mut();
        // SAFETY: an out-pointer to a local; `context` was made by `napi_async_init`.
        let opened =
            unsafe { sys::napi_open_callback_scope(self.env, resource, self.context, &mut scope) };
        (opened == sys::Status::napi_ok).then_some(scope)
    }
}

unsafe extern "C" fn settle_all(handle: *mut c_void) {
    // SAFETY: the handle of this thread's loop.
    let data = unsafe { uv_handle_get_data(handle) };
    // SAFETY: set once, to memory that is never freed, before the loop could call this.
    let event_loop = unsafe { &*data.cast::<EventLoop>() };
    // A panic must not unwind into libuv.
    let _ = catch_unwind(AssertUnwindSafe(|| event_loop.settle()));
}

unsafe extern "C" fn close(event_loop: *mut c_void) {
    // SAFETY: given to `napi_add_env_cleanup_hook` with memory that is never freed.
    let event_loop = unsafe { &*event_loop.cast::<EventLoop>() };
    let shared = &event_loop.shared;
    shared.queue.close();
    // SAFETY: the handle of this thread's loop, closed once.
    unsafe { uv_close(shared.handle.0, None) };
}

/// The thread-safe handle that settles a promise. Dropped unsettled, it rejects.
pub struct Deferred<T: ToNapiValue + 'static> {
    raw: Option<Raw>,
    shared: Arc<Shared>,
    value: PhantomData<fn() -> T>,
}

struct Raw(sys::napi_deferred);

impl Raw {
    /// Takes `self`, so that a closure captures the whole struct, which is `Send`.
    fn unwrap(self) -> sys::napi_deferred {
        self.0
    }
}

// SAFETY: only carried; it is used on the thread that made it.
unsafe impl Send for Raw {}

impl<T: ToNapiValue + 'static> Deferred<T> {
    /// Settles with the value that `make` creates on the event loop's thread.
    pub fn resolve(mut self, make: Make<T>) {
        self.settle(make);
    }

    fn settle(&mut self, make: Make<T>) {
        let Some(raw) = self.raw.take() else {
            return;
        };
        self.shared.push(Box::new(move |env| {
            let deferred = raw.unwrap();
            let made = make(env).and_then(|value| {
                // SAFETY: on the thread of `env`, within a handle scope.
                unsafe { T::to_napi_value(env.raw(), value) }
            });
            match made {
                // SAFETY: on the thread of `env`; this is the one use of the deferred.
                Ok(value) => unsafe { sys::napi_resolve_deferred(env.raw(), deferred, value) },
                Err(error) => {
                    // SAFETY: on the thread of `env`, within a handle scope.
                    let reason = unsafe { JsError::from(error).into_value(env.raw()) };
                    // SAFETY: on the thread of `env`; this is the one use of the deferred.
                    unsafe { sys::napi_reject_deferred(env.raw(), deferred, reason) }
                }
            };
        }));
    }
}

impl<T: ToNapiValue + 'static> Drop for Deferred<T> {
    fn drop(&mut self) {
        self.settle(Box::new(|_| {
            Err(napi::Error::from_reason("work ended without an answer"))
        }));
    }
}

/// Creates a promise and the handle that settles it from any thread.
pub fn deferred<T: ToNapiValue + 'static>(env: &Env) -> Result<(Deferred<T>, Object<'_>)> {
    let event_loop = EventLoop::of(env).map_err(|error| thrown(&error))?;
    let mut raw = ptr::null_mut();
    let mut promise = ptr::null_mut();
    // SAFETY: out-pointers to locals, on the thread of `env`.
    check(unsafe { sys::napi_create_promise(env.raw(), &mut raw, &mut promise) })
        .map_err(|error| thrown(&error))?;
    // SAFETY: `promise` was made above, and a promise is an object.
    let object = unsafe { Object::from_napi_value(env.raw(), promise) }
        .map_err(|error| thrown(&Error::Internal(error.reason.clone())))?;
    event_loop.begin();
    let deferred = Deferred {
        raw: Some(Raw(raw)),
        shared: Arc::clone(&event_loop.shared),
        value: PhantomData,
    };
    Ok((deferred, object))
}

/// Runs `work` on a thread of its own and promises what `make` makes of its result. Another thread
/// waits for its end before the promise settles: LMDB gives the slot of a reader back at the very
/// end of its thread, and the caller may close the store as soon as the promise has settled.
pub fn on_own_thread<'env, R: Send + 'static, T: ToNapiValue + 'static>(
    env: &'env Env,
    name: &str,
    work: impl FnOnce() -> R + Send + 'static,
    make: impl FnOnce(R) -> T + Send + 'static,
) -> Result<Object<'env>> {
    let (deferred, promise) = deferred::<T>(env)?;
    guard(|| {
        let thread = thread::Builder::new().name(name.into()).spawn(work)?;
        thread::Builder::new()
            .name(format!("{name}-end"))
            .spawn(move || {
                // After a panic `deferred` is dropped, which rejects.
                if let Ok(result) = thread.join() {
                    deferred.resolve(Box::new(move |_| Ok(make(result))));
                }
            })?;
        Ok(())
    })?;
    Ok(promise)
}
