//! The thread of a loader: runs jobs one at a time, in the order of the calls.

use std::mem;
use std::sync::mpsc::Receiver;
use std::sync::{Mutex, PoisonError};

use ingest::load::{Counts, Loader};
use ingest::progress::Progress;
use sys::error::Error;

use super::answers::{Answer, LoaderReply, reply};
use crate::promises::Deferred;

/// The work of one call, for the loader's thread.
pub(super) type Work = Box<dyn FnOnce(&mut Option<Loader>) -> Answer + Send>;

pub(super) struct Job {
    pub(super) work: Work,
    pub(super) done: Deferred<LoaderReply>,
}

/// Runs jobs until the channel closes.
pub(super) fn work(
    queue: &Receiver<Job>,
    loader: Loader,
    counts: &Mutex<Counts>,
    progress: &Progress,
) {
    let mut loader = Some(loader);
    while let Ok(job) = queue.recv() {
        let run = || progress.check().and_then(|()| (job.work)(&mut loader));
        let answer = std::panic::catch_unwind(std::panic::AssertUnwindSafe(run))
            .unwrap_or_else(|_| Err(Error::Internal("panic in the native layer".into())));
        if answer.is_err() {
            // A partly loaded version set must not become a store.
            drop(mem::take(&mut loader));
        }
        if let Some(loader) = &loader {
            *counts.lock().unwrap_or_else(PoisonError::into_inner) = loader.counts();
        }
        job.done.resolve(Box::new(move |_| Ok(reply(answer))));
    }
}
