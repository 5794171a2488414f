//! An access at one edge: what admits its requests and WebSockets.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;

use ::sys::error::Result as Checked;
use edge::{Access, Limits, Refusal};
use napi::bindgen_prelude::{BigInt, Either, Either3, Function};
use napi_derive::napi;

use crate::arguments::{count, integer, signed, whole, wrong};
use crate::failure::{Result, guard};
use crate::limits::numbers::{count_of, to_ns};
use crate::limits::table::LimitTable;

/// Milliseconds by some clock.
type Now<'c> = Function<'c, (), f64>;

/// The limits of an access.
#[napi(object, object_to_js = false)]
pub struct AccessLimits {
    pub requests_per_second_max: f64,
    pub requests_burst_max: f64,
    pub requests_in_flight_max: f64,
    pub sockets_max: f64,
}

impl AccessLimits {
    fn checked(&self) -> Checked<Limits> {
        let checked = |limit| count(limit, "a limit").map(|_| limit);
        Ok(Limits {
            requests_per_second_max: checked(self.requests_per_second_max)?,
            requests_burst_max: checked(self.requests_burst_max)?,
            requests_in_flight_max: checked(self.requests_in_flight_max)?,
            sockets_max: checked(self.sockets_max)?,
        })
    }
}

/// The limit that was exceeded.
#[napi(object, object_from_js = false)]
pub struct Exceeded {
    #[napi(
        ts_type = "'requestsPerSecondMax' | 'requestsBurstMax' | 'requestsInFlightMax' | 'socketsMax'"
    )]
    pub limit: String,
    pub max: f64,
    /// Requests or sockets that are still available now.
    pub remaining: f64,
    /// When to try again; undefined where waiting does not help.
    pub retry_after_ms: Option<f64>,
    /// Calls of the longest batch that is admitted, of one that is longer.
    pub calls_max: Option<f64>,
}

/// Undefined where it is admitted, `'full'` where every row of the table is in use.
type Verdict = Either3<(), Exceeded, &'static str>;

fn verdict(taken: std::result::Result<(), Refusal>) -> Verdict {
    match taken {
        Ok(()) => Either3::A(()),
        Err(Refusal::Full) => Either3::C("full"),
        Err(Refusal::Over(over)) => Either3::B(Exceeded {
            limit: over.limit.name().to_string(),
            max: over.max,
            remaining: over.remaining as f64,
            retry_after_ms: over.retry_after_ms,
            calls_max: over.calls_max.map(|calls| calls as f64),
        }),
    }
}

thread_local! {
    /// The accesses of this thread by their ids. A call that finds one by its id takes a fifth of
    /// the time of a method of an object.
    static ACCESSES: RefCell<HashMap<u32, Rc<Access>>> = RefCell::default();
    static LAST_ID: Cell<u32> = const { Cell::new(0) };
}

fn access_of(id: f64) -> Checked<Rc<Access>> {
    let id = whole(id, u32::MAX, "an access")?;
    let found = ACCESSES.with_borrow(|all| all.get(&id).cloned());
    found.ok_or_else(|| wrong("an access of this thread"))
}

/// Admits one request of an access, or returns the limit it exceeds. Admitted ones must be
/// released.
/// `now_ms` is the time at the call; a refusal is decided by reading `now` again.
#[napi(ts_return_type = "undefined | Exceeded | 'full'")]
pub fn acquire_request(
    id: f64,
    now_ms: f64,
    #[napi(ts_arg_type = "() => number")] now: Now,
) -> Result<Verdict> {
    guard(|| {
        let first = Cell::new(Some(now_ms));
        let clock = || to_ns(first.take().or_else(|| now.call(()).ok())?);
        Ok(verdict(access_of(id)?.acquire(&clock)))
    })
}

/// Ends admitted requests of an access.
#[napi]
pub fn release_requests(id: f64, count: f64) -> Result<()> {
    guard(|| {
        access_of(id)?.release(count_of(count)?);
        Ok(())
    })
}

/// The limits of an access at one edge, and what it has in use there.
#[napi]
pub struct LimitedAccess {
    access: Rc<Access>,
    id: u32,
}

impl LimitedAccess {
    pub fn access(&self) -> Rc<Access> {
        self.access.clone()
    }
}

impl Drop for LimitedAccess {
    fn drop(&mut self) {
        // They are gone at the end of the thread.
        let _ = ACCESSES.try_with(|all| all.borrow_mut().remove(&self.id));
    }
}

#[napi]
impl LimitedAccess {
    #[napi(constructor)]
    pub fn new(
        table: &LimitTable,
        key: BigInt,
        edge: f64,
        limits: AccessLimits,
    ) -> Result<LimitedAccess> {
        guard(|| {
            let limits = limits.checked()?;
            let (key, edge) = (signed(&key)?, table.edge(edge)?);
            let access = Rc::new(Access::new(table.table(), key, edge, limits));
            let id = LAST_ID.get().wrapping_add(1);
            LAST_ID.set(id);
            ACCESSES.with_borrow_mut(|all| all.insert(id, access.clone()));
            Ok(LimitedAccess { access, id })
        })
    }

    /// For the functions that take one.
    #[napi(getter)]
    pub fn id(&self) -> u32 {
        self.id
    }

    /// Turns one admitted request into a batch: `calls` count against the rate. Returns how many of
    /// them may be in flight: at most `at_once`, and at least the admitted one. A refused batch
    /// stays charged as the one request.
    #[napi(ts_return_type = "number | Exceeded | 'full'")]
    pub fn acquire_batch(
        &self,
        calls: f64,
        at_once: f64,
        #[napi(ts_arg_type = "() => number")] now: Now,
    ) -> Result<Either<u32, Verdict>> {
        guard(|| {
            let calls = integer(calls, "a count of calls")? as i64;
            let at_once = count_of(at_once)?;
            let clock = || to_ns(now.call(()).ok()?);
            Ok(match self.access.acquire_batch(calls, at_once, &clock) {
                Ok(granted) => Either::A(granted as u32),
                Err(refusal) => Either::B(verdict(Err(refusal))),
            })
        })
    }

    /// Charges further requests to an admitted one; at most what its burst has beside it.
    #[napi(ts_return_type = "undefined | Exceeded | 'full'")]
    pub fn acquire_more(
        &self,
        count: f64,
        #[napi(ts_arg_type = "() => number")] now: Now,
    ) -> Result<Verdict> {
        guard(|| {
            let count = integer(count, "a count of requests")? as i64;
            let clock = || to_ns(now.call(()).ok()?);
            Ok(verdict(self.access.acquire_more(count, &clock)))
        })
    }

    /// Charges the length of a reply to an admitted message: it counts as `to` requests, of which
    /// `from` are charged already. It cannot be refused any more, so it may use up to one burst
    /// that the access does not have yet; and it counts as one burst at most.
    #[napi]
    pub fn charge_reply(
        &self,
        from: f64,
        to: f64,
        #[napi(ts_arg_type = "() => number")] now: Now,
    ) -> Result<()> {
        guard(|| {
            let clock = || to_ns(now.call(()).ok()?);
            let [from, to] = [from, to].map(|requests| count(requests, "requests"));
            self.access.charge_reply(from? as i64, to? as i64, &clock);
            Ok(())
        })
    }

    /// Admits one WebSocket, or returns the limit it exceeds. Each admitted one must be released.
    #[napi(ts_return_type = "undefined | Exceeded | 'full'")]
    pub fn acquire_socket(&self, now_ms: f64) -> Result<Verdict> {
        guard(|| Ok(verdict(self.access.acquire_socket(&|| to_ns(now_ms)))))
    }

    #[napi]
    pub fn release_socket(&self) {
        self.access.release_socket();
    }

    /// Open WebSockets of the access, also at other machines.
    #[napi]
    pub fn open_sockets(&self) -> f64 {
        self.access.open_sockets() as f64
    }

    /// What the access has at this edge: its subscriptions, and those of the WebSocket that has the
    /// most.
    #[napi]
    pub fn set_subscriptions(&self, subscriptions: f64, of_socket: f64) -> Result<()> {
        guard(|| {
            let (all, most) = (count_of(subscriptions)?, count_of(of_socket)?);
            self.access.set_subscriptions(all, most);
            Ok(())
        })
    }
}
