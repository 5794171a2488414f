//! Point reads that the compiled server answers before any JavaScript runs.

use std::cell::RefCell;
use std::rc::Rc;

use edge::{Answers, Counts, Entry, PointReads, Slot, now_ns};
use napi::Env;
use napi::bindgen_prelude::{Float64Array, Object};
use napi_derive::napi;
use wire::fast_lane::{Blockhashes, METHODS};

use crate::arguments::{whole, wrong};
use crate::failure::{Result, guard};
use crate::fast_lane::cells;
use crate::fast_lane::lane::{self, SharedLane};
use crate::limits::access::LimitedAccess;

/// The cell of the shared memory of the processes that has the accessVersion.
#[napi]
pub const ACCESS_VERSION_CELL: u32 = edge::ACCESS_VERSION as u32;
/// The cell of the end of the lease, in milliseconds of the boot clock.
#[napi]
pub const LEASE_END_CELL: u32 = edge::LEASE_END as u32;

/// The point reads of one open store, for `DirectReads`.
#[napi]
pub struct PointReadLane(SharedLane);

impl PointReadLane {
    pub fn of(lane: SharedLane) -> PointReadLane {
        PointReadLane(lane)
    }
}

#[napi]
impl PointReadLane {
    /// The lane as a function. It takes the body of one canonical point read and writes the whole
    /// reply into `out`; it returns the reply's length plus 2^24 times the method's
    /// number, or 0 where the ordinary way must answer.
    #[napi(ts_return_type = "(body: Uint8Array, out: Uint8Array) => number")]
    pub fn as_function<'env>(&self, env: &'env Env) -> Result<Object<'env>> {
        guard(|| {
            let function = lane::create_function(env, self.0.clone())?;
            Ok(Object::from_raw(env.raw(), function))
        })
    }

    /// Whether getLatestBlockhash is answered. Where not, the ordinary way must refuse it.
    #[napi]
    pub fn answer_blockhashes(&self, is_answered: bool) -> Result<()> {
        guard(|| {
            self.0.borrow_mut().blockhashes = match is_answered {
                true => Blockhashes::Answered,
                false => Blockhashes::Declined,
            };
            Ok(())
        })
    }
}

struct LaneReads(SharedLane);

impl PointReads for LaneReads {
    fn answer(&mut self, body: &[u8], out: &mut Vec<u8>) -> Option<usize> {
        // Borrowed already only within a call of JavaScript, in which no request is read.
        self.0.try_borrow_mut().ok()?.answer_into(body, out)
    }
}

type Shared = Rc<RefCell<Answers<LaneReads>>>;

struct Mounted(Shared, Vec<u8>);

impl uws::Answer for Mounted {
    fn answer(&mut self, token: &[u8], body: &[u8]) -> Option<&[u8]> {
        let mut answers = self.0.try_borrow_mut().ok()?;
        let reply = answers.answer(token, body, &now_ns)?;
        self.1.clear();
        self.1.extend_from_slice(reply);
        Some(&self.1)
    }
}

/// What was decided when a request with a token was admitted.
#[napi(object, object_to_js = false)]
pub struct Admission {
    /// Value of accessVersion that it was decided at.
    pub version: f64,
    /// Unix milliseconds.
    pub valid_from_ms: f64,
    pub valid_until_ms: f64,
    /// The edge's cells of usage; in them the first cell of the slot of this minute and the cell
    /// of its state, the first cell of the slot of each method of the fast lane, or 0, and the end
    /// of the minute.
    pub usage: Float64Array,
    pub minute_at: f64,
    pub state_at: f64,
    pub methods_at: Vec<f64>,
    pub minute_ends_ms: f64,
}

fn cells_at(given: Vec<f64>) -> sys::error::Result<Box<[usize]>> {
    let at = given.into_iter();
    at.map(|at| Ok(whole(at, u32::MAX, "a cell")? as usize))
        .collect()
}

/// Direct reads of one location at one edge.
#[napi]
pub struct DirectReads(Shared);

#[napi]
impl DirectReads {
    /// `version`: cells, of which the first are accessVersion and the end of the lease.
    /// `bounds`: upper bounds of the buckets of histograms in seconds. `reply_bytes`: bytes of a
    /// reply that count as one request.
    #[napi(constructor)]
    pub fn new(
        version: Float64Array,
        bounds: Vec<f64>,
        tokens_max: f64,
        reply_bytes: f64,
    ) -> Result<DirectReads> {
        guard(|| {
            let tokens_max = whole(tokens_max, u32::MAX, "a count of tokens")? as usize;
            let counts = Counts::new(bounds, METHODS);
            let version = cells::of(version)?;
            let reply_bytes = whole(reply_bytes, u32::MAX, "bytes of a reply")? as usize;
            let answers = Answers::new(version, (tokens_max, reply_bytes), counts);
            Ok(DirectReads(Rc::new(RefCell::new(answers))))
        })
    }

    /// Answers requests of an app of the compiled server. `type_lines` is the value of the reply's
    /// Content-Type, with the header lines after it. False where there is no such app.
    #[napi]
    pub fn mount(&self, app: f64, type_lines: String, body_bytes_max: f64) -> Result<bool> {
        guard(|| {
            let bytes = whole(body_bytes_max, u32::MAX, "a bound of bodies")? as usize;
            let answer = Mounted(self.0.clone(), Vec::new());
            Ok(uws::mount(app, answer, &type_lines, bytes))
        })
    }

    /// Answers requests with this token as long as what was decided holds.
    #[napi]
    pub fn register(
        &self,
        token: String,
        given: Admission,
        access: &LimitedAccess,
        reads: &PointReadLane,
    ) -> Result<()> {
        guard(|| {
            let usage = cells::of(given.usage)?;
            let minute_at = whole(given.minute_at, u32::MAX, "a cell")? as usize;
            let state_at = whole(given.state_at, u32::MAX, "a cell")? as usize;
            let minute = Slot::new(&usage, minute_at, state_at);
            let entry = Entry {
                methods_at: cells_at(given.methods_at)?,
                minute: minute.ok_or_else(|| wrong("a cell of a state"))?,
                version: given.version,
                valid_from_ms: given.valid_from_ms,
                valid_until_ms: given.valid_until_ms,
                access: access.access(),
                minute_ends_ms: given.minute_ends_ms,
                usage,
                reads: LaneReads(reads.0.clone()),
            };
            self.0.borrow_mut().register(token.as_bytes(), entry);
            Ok(())
        })
    }

    /// What was answered since the last call: for each method of the fast lane the cells of its
    /// histogram.
    #[napi]
    pub fn take_counts(&self) -> Result<Vec<f64>> {
        guard(|| Ok(self.0.borrow_mut().take_counts()))
    }

    /// Answers nothing any more.
    #[napi]
    pub fn close(&self) -> Result<()> {
        guard(|| {
            self.0.borrow_mut().close();
            Ok(())
        })
    }
}
