//! Runs a check on a thread pool.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use super::check::{Check, Verdict};
use super::tips::Rules;
use sys::error::{Error, Result};
use sys::pool::Pool;

type Settle<B> = Box<dyn FnOnce(Check<B>, Result<Verdict>) + Send>;

/// Runs a check on `pool`. Calls `settle` once, with the check and its verdict, on the thread that
/// finishes last. A full queue is [`Error::ChecksOverloaded`].
pub fn submit<B: AsRef<[u8]> + Send + Sync + 'static>(
    pool: &Arc<Pool>,
    rules: &Arc<Rules>,
    check: Check<B>,
    settle: impl FnOnce(Check<B>, Result<Verdict>) + Send + 'static,
) {
    let job = Arc::new(Job {
        ends: Some((check, Mutex::new(Box::new(settle)))),
        rules: Arc::clone(rules),
        has_begun: AtomicBool::new(false),
    });
    let weak_pool = Arc::downgrade(pool);
    // A refused job settles when it is dropped, so its error needs no handling here.
    let _ = pool.submit(move || Job::run(job, &weak_pool));
}

/// A job that settles when the last thread drops it. So a job that panics or is refused settles
/// too, and no thread reads the given bytes after `settle` gets them back.
struct Job<B: AsRef<[u8]>> {
    /// Taken only in `drop`. The lock is never contended; it makes the job `Sync`.
    ends: Option<(Check<B>, Mutex<Settle<B>>)>,
    rules: Arc<Rules>,
    has_begun: AtomicBool,
}

impl<B: AsRef<[u8]> + Send + Sync + 'static> Job<B> {
    fn run(job: Arc<Job<B>>, pool: &Weak<Pool>) {
        job.has_begun.store(true, Ordering::Relaxed);
        let Some((check, _)) = &job.ends else { return };
        check.run(&job.rules, || {
            // A weak reference, so that a helper that starts late does not delay the verdict.
            let job = Arc::downgrade(&job);
            if let Some(pool) = pool.upgrade() {
                pool.submit_if_free(move || {
                    let job = job.upgrade();
                    if let Some((check, _)) = job.as_ref().and_then(|job| job.ends.as_ref()) {
                        check.help();
                    }
                });
            }
        });
    }
}

impl<B: AsRef<[u8]>> Drop for Job<B> {
    fn drop(&mut self) {
        let Some((mut check, settle)) = self.ends.take() else {
            return;
        };
        let outcome = if *self.has_begun.get_mut() {
            let verdict = check.finish();
            verdict.ok_or_else(|| Error::Internal("panic in a check".into()))
        } else {
            Err(Error::ChecksOverloaded)
        };
        let settle = settle.into_inner().unwrap_or_else(PoisonError::into_inner);
        settle(check, outcome);
    }
}
