//! The way of verdicts to JavaScript: one channel for all checks of a route. A promise of its own for each would open
//! and close a channel of the event loop each time, which costs the loop more than everything else of a check.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use kernel::error::Result as Checked;
use kernel::transaction::{Check, Verdict};
use napi::bindgen_prelude::{ToNapiValue, Uint8Array};
use napi::threadsafe_function::{ThreadsafeFunction, ThreadsafeFunctionCallMode};
use napi::{Env, Status, sys};

use crate::transactions::VerdictData;

/// Weak: it does not keep the process alive of itself, see [`Settlements::expect`]. What may wait in it is bounded by
/// the checks that may wait and run.
pub type OnSettled = ThreadsafeFunction<Settlement, (), Settlement, Status, false, true>;

/// The channel of one route.
pub struct Settlements {
    on_settled: OnSettled,
    /// Checks that have begun and not settled; changed on JavaScript's thread alone.
    expected: AtomicUsize,
}

/// One verdict on its way.
pub struct Settlement {
    ticket: u32,
    outcome: Checked<Verdict>,
    /// Let go on JavaScript's own thread: it may hold a buffer of JavaScript's.
    check: Check<Uint8Array>,
    settlements: Arc<Settlements>,
}

impl Settlements {
    pub fn new(on_settled: OnSettled) -> Settlements {
        Settlements {
            on_settled,
            expected: AtomicUsize::new(0),
        }
    }

    /// A check begins: until it has settled, the process does not end for want of anything to do.
    pub fn expect(&self, env: &Env) {
        if self.expected.fetch_add(1, Ordering::Relaxed) == 0 {
            self.keep_alive(env.raw(), true);
        }
    }

    pub fn settle(&self, settlement: Settlement) {
        // Fails only where JavaScript has ended.
        self.on_settled
            .call(settlement, ThreadsafeFunctionCallMode::NonBlocking);
    }

    fn keep_alive(&self, env: sys::napi_env, is_alive: bool) {
        self.on_settled.handle.with_read_aborted(|is_aborted| {
            if is_aborted {
                return;
            }
            let raw = self.on_settled.raw();
            // SAFETY: called on JavaScript's thread with its own environment, and the function is not aborted while
            // the guard is held.
            let _ = unsafe {
                if is_alive {
                    sys::napi_ref_threadsafe_function(env, raw)
                } else {
                    sys::napi_unref_threadsafe_function(env, raw)
                }
            };
        });
    }
}

impl Settlement {
    pub fn new(
        ticket: u32,
        outcome: Checked<Verdict>,
        check: Check<Uint8Array>,
        settlements: &Arc<Settlements>,
    ) -> Settlement {
        Settlement {
            ticket,
            outcome,
            check,
            settlements: Arc::clone(settlements),
        }
    }
}

impl ToNapiValue for Settlement {
    /// The argument of `onSettled`.
    unsafe fn to_napi_value(env: sys::napi_env, val: Self) -> napi::Result<sys::napi_value> {
        let Settlement {
            ticket,
            outcome,
            check,
            settlements,
        } = val;
        drop(check);
        if settlements.expected.fetch_sub(1, Ordering::Relaxed) == 1 {
            settlements.keep_alive(env, false);
        }
        // SAFETY: the caller's own promise, for the same environment.
        unsafe { VerdictData::to_napi_value(env, VerdictData::of(ticket, outcome)) }
    }
}
