//! Reads that run on the native pools.

pub mod fees;
pub mod reads;
pub mod reply;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use napi::Env;
use napi::bindgen_prelude::Object;
use napi_derive::napi;
use sys::error::{Error, Result as Checked};
use sys::pool::{self, Owner, Pool, Share, Turn};
use wire::reply::{InFlight, ReplyWriter, pipe};

use crate::arguments::{count, whole};
use crate::failure::{Failure, Result};
use crate::options::PoolOptions;
use crate::promises::deferred;
use crate::tasks::reply::NativeReply;

/// What a task resolves to: its reply can be read where there is no `failure`.
#[napi(object, object_from_js = false)]
pub struct TaskResult {
    pub failure: Option<Failure>,
}

/// Maximum threads of one pool, against wrong arguments.
pub const THREADS_MAX: u32 = 256;
/// The lowest priority of Linux.
pub const NICENESS_MAX: u32 = 19;

/// The pools, one set per process, created with the first reader's options.
pub struct Pools {
    /// Pages and scans. Niced, so that point reads on the event loop take precedence.
    pub scan: Pool,
    /// Replies of unbounded length. Its threads may wait for slow readers, so an owner holds no
    /// more of them than it leaves free.
    pub stream: Pool,
    pub in_flight: Arc<InFlight>,
    pub stream_bytes_max: usize,
}

impl Pools {
    pub fn new(options: &PoolOptions) -> Checked<Pools> {
        let queue_max = whole(options.queue_max, u32::MAX, "queueMax")? as usize;
        let scan_threads = whole(options.scan_threads, THREADS_MAX, "scanThreads")? as usize;
        let stream_threads = whole(options.stream_threads, THREADS_MAX, "streamThreads")? as usize;
        let niceness = whole(options.scan_niceness, NICENESS_MAX, "scanNiceness")? as i32;
        let in_flight_max = count(options.reply_bytes_in_flight_max, "replyBytesInFlightMax")?;
        let scan = pool::Options {
            threads: scan_threads,
            niceness,
            queue_max,
            share: Share::Whole,
        };
        let stream = pool::Options {
            threads: stream_threads,
            niceness: 0,
            queue_max,
            share: Share::Dynamic,
        };
        Ok(Pools {
            scan: Pool::new("scan", scan)?,
            stream: Pool::new("stream", stream)?,
            in_flight: InFlight::new(in_flight_max as usize),
            stream_bytes_max: count(options.stream_bytes_max, "streamBytesMax")? as usize,
        })
    }
}

static POOLS: Mutex<Option<Arc<Pools>>> = Mutex::new(None);

/// The process's pools. The first reader's options create them, later readers share them.
pub fn pools(options: &PoolOptions) -> Checked<Arc<Pools>> {
    let mut pools = POOLS.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(pools) = pools.as_ref() {
        return Ok(Arc::clone(pools));
    }
    let made = Arc::new(Pools::new(options)?);
    *pools = Some(Arc::clone(&made));
    Ok(made)
}

/// One task: whose it is, its pool, its deadline, and the bytes that may be queued unread.
pub struct Task<'p> {
    pub owner: Owner,
    pub pool: &'p Pool,
    pub in_flight: &'p Arc<InFlight>,
    pub queue_bytes_max: usize,
    pub deadline: Instant,
}

/// Queues `work`, whose reply `reply` takes, and returns a promise of its [`TaskResult`].
pub fn start<'env>(
    env: &'env Env,
    task: Task<'_>,
    reply: &NativeReply,
    work: impl FnOnce(&mut ReplyWriter, &Turn) -> Checked<()> + Send + 'static,
) -> Result<Object<'env>> {
    let (deferred, promise) = deferred::<TaskResult>(env)?;
    let (writer, reader) = pipe(
        task.queue_bytes_max,
        task.deadline,
        task.in_flight,
        task.owner.clone(),
    );
    let reader = Arc::new(reader);
    reply.open(Arc::clone(&reader));
    let taken = Arc::clone(&reader);
    reader.wake(move || {
        deferred.resolve(Box::new(move |_| {
            let failure = taken.failure();
            Ok(TaskResult {
                failure: failure.map(|error| Failure::from(&error)),
            })
        }));
    });
    // An accepted job takes the writer. A refused one leaves it here, to report the error.
    let writer = Arc::new(Mutex::new(Some(writer)));
    let kept = Arc::clone(&writer);
    let deadline = task.deadline;
    let run = move |turn: &Turn| {
        let Some(mut writer) = take(&kept) else {
            return;
        };
        let outcome = if Instant::now() >= deadline {
            Err(Error::ReadTimeout)
        } else {
            work(&mut writer, turn)
        };
        writer.finish(outcome);
    };
    // Refused at once, before it waits for a thread.
    let submitted = if task.in_flight.has_room(&task.owner) {
        task.pool.submit_for(task.owner, run)
    } else {
        Err(Error::Overloaded)
    };
    // Only on refusal: the writer of an accepted job may also still be here.
    if let Err(error) = submitted
        && let Some(writer) = take(&writer)
    {
        writer.finish(Err(error));
    }
    Ok(promise)
}

fn take(writer: &Mutex<Option<ReplyWriter>>) -> Option<ReplyWriter> {
    writer.lock().unwrap_or_else(PoisonError::into_inner).take()
}
